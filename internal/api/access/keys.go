package access

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/auth/keys"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Base is where the endpoints are.
const Base = "/service-ext/access"

// maxBody bounds a request: a key with the most roles and networks it may have.
const maxBody = 256 << 10

// Keys serves the endpoints of API keys. It is safe for concurrent use.
type Keys struct {
	// Keeper changes the keys; nil: no authenticator of type keys is configured.
	Keeper *keys.Keeper
	// Changed loads keys that were changed into this process.
	Changed func(ctx context.Context)
	Clock   clock.Clock
}

// shownKey is a key as the endpoints show it. The secret is there once, when it is new.
type shownKey struct {
	ID          string   `json:"id"`
	Key         string   `json:"key,omitempty"`
	Description string   `json:"description"`
	Roles       []string `json:"roles"`
	Networks    []string `json:"networks"`
	Expires     *string  `json:"expires"`
	Created     *string  `json:"created"`
	CreatedBy   string   `json:"createdBy"`
	Rotated     *string  `json:"rotated"`
	// PreviousUntil is until when the secret before is good, too.
	PreviousUntil *string `json:"previousUntil"`
	LastUsed      *string `json:"lastUsed"`
	Expired       bool    `json:"expired"`
}

func (k *Keys) shown(key *keys.Key, used *time.Time, text string) shownKey {
	now := k.Clock.Now()
	out := shownKey{
		ID: key.ID, Key: text, Description: key.Description, Roles: key.Roles, Networks: append([]string{}, key.Networks...),
		Expires: instant(key.Expires),
		Created: instant(&key.Created), CreatedBy: key.CreatedBy, Rotated: instant(key.Rotated), LastUsed: instant(used),
		Expired: key.Expires != nil && !now.Before(*key.Expires),
	}
	if key.PreviousUntil != nil && now.Before(*key.PreviousUntil) {
		out.PreviousUntil = instant(key.PreviousUntil)
	}
	return out
}

func instant(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := chrono.FormatMillis(t.UnixMilli(), chrono.UTC)
	return &text
}

// Routes adds the endpoints. Each process answers them: the store orders changes.
func (k *Keys) Routes(mux *edge.Mux) {
	on := func(pattern string, h edge.Handler) {
		mux.On(pattern, func(w http.ResponseWriter, r *http.Request) error {
			if k.Keeper == nil {
				return fault.NotFound("No authenticator of type [keys] is configured")
			}
			return h(w, r)
		})
	}
	on("GET "+Base+"/keys", k.list)
	on("POST "+Base+"/keys", k.create)
	on("GET "+Base+"/keys/{id}", k.get)
	on("DELETE "+Base+"/keys/{id}", k.revoke)
	on("POST "+Base+"/keys/{id}/rotate", k.rotate)
}

func (k *Keys) list(w http.ResponseWriter, r *http.Request) error {
	all, err := k.Keeper.List(r.Context())
	if err != nil {
		return err
	}
	out := make([]shownKey, 0, len(all))
	for _, l := range all {
		out = append(out, k.shown(&l.Key, l.LastUsed, ""))
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

func (k *Keys) get(w http.ResponseWriter, r *http.Request) error {
	all, err := k.Keeper.List(r.Context())
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.ID == r.PathValue("id") {
			edge.WriteJSON(w, http.StatusOK, k.shown(&l.Key, l.LastUsed, ""))
			return nil
		}
	}
	return fault.NotFound("API key [%s] does not exist", r.PathValue("id"))
}

func (k *Keys) create(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Description string   `json:"description"`
		Roles       []string `json:"roles"`
		Networks    []string `json:"networks"`
		Expires     string   `json:"expires"`
		Lifetime    string   `json:"lifetime"`
	}
	if err := read(w, r, &body); err != nil {
		return err
	}
	ask := keys.Request{Description: body.Description, Roles: body.Roles, Networks: body.Networks}
	switch {
	case body.Expires != "" && body.Lifetime != "":
		return fault.InvalidInput("Members [expires] and [lifetime] exclude each other: both say when the key stops to be good")
	case body.Expires != "":
		ms, err := chrono.ParseInstant(body.Expires)
		if err != nil {
			return err
		}
		at := time.UnixMilli(ms).UTC()
		ask.Expires = &at
	case body.Lifetime != "":
		at, err := k.after(body.Lifetime)
		if err != nil {
			return err
		}
		ask.Expires = &at
	}
	key, text, err := k.Keeper.Create(r.Context(), author(r), ask)
	return k.secret(w, r, http.StatusCreated, key, text, err)
}

func (k *Keys) rotate(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Overlap string `json:"overlap"`
	}
	if err := read(w, r, &body); err != nil {
		return err
	}
	var overlap time.Duration
	if body.Overlap != "" {
		until, err := k.after(body.Overlap)
		if err != nil {
			return err
		}
		overlap = until.Sub(k.Clock.Now().UTC().Truncate(time.Millisecond))
	}
	key, text, err := k.Keeper.Rotate(r.Context(), author(r), r.PathValue("id"), overlap)
	return k.secret(w, r, http.StatusOK, key, text, err)
}

func (k *Keys) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := k.Keeper.Revoke(r.Context(), author(r), r.PathValue("id")); err != nil {
		return err
	}
	k.Changed(context.WithoutCancel(r.Context()))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// secret answers with a new secret, which nobody sees again.
func (k *Keys) secret(w http.ResponseWriter, r *http.Request, status int, key *keys.Key, text string, err error) error {
	if err != nil {
		return err
	}
	k.Changed(context.WithoutCancel(r.Context())) // it is stored, whether or not the client waits
	w.Header().Set("Cache-Control", "no-store")
	edge.WriteJSON(w, status, k.shown(key, nil, text))
	return nil
}

// after returns the instant that a period leads to from now.
func (k *Keys) after(period string) (time.Time, error) {
	p, err := chrono.ParsePeriod(period)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(p.Add(clock.Millis(k.Clock), chrono.UTC, 1)).UTC(), nil
}

// read reads the JSON body of a request; none is {}. A member that nobody knows is refused: a key
// without the limit that a misspelt member asked for would be worse than none.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	edge.Decoded(r.Context())
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return fault.InvalidInput("The body of the request has more than [%d] bytes", maxBody)
	case err != nil:
		return err
	case len(text) == 0:
		return nil
	case !edge.IsJSON(r):
		return fault.InvalidInput("The body of the request must be JSON, with the header [Content-Type: application/json]")
	}
	return strict(text, into)
}

// strict decodes one JSON object that has nothing beside the members that are known.
func strict(text []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	err := dec.Decode(into)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the JSON object")
		}
	}
	if err != nil {
		return fault.InvalidInput("The body of the request can't be read: %s", err)
	}
	return nil
}

// author says who sends a request, for the audit history.
func author(r *http.Request) *basic.Author {
	e := coordinator.Audit(r, "", "")
	return &basic.Author{Identity: auth.Of(r.Context()).Name(), Name: e.Author, Comment: e.Comment, Address: e.IP, Request: e.Request}
}
