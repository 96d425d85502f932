package workbench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/secret"
)

// Store stores saved queries, like metastore.Store.
type Store interface {
	CreateSavedQuery(ctx context.Context, q metastore.SavedQuery) (metastore.SavedQuery, error)
	SavedQuery(ctx context.Context, id string) (metastore.SavedQuery, bool, error)
	SavedQueries(ctx context.Context, owner, text string, limit, offset int) (page []metastore.SavedQuery, total int, err error)
	UpdateSavedQuery(
		ctx context.Context, id string, next func(stored *metastore.SavedQuery) error,
	) (q metastore.SavedQuery, found bool, err error)
	DeleteSavedQuery(ctx context.Context, id string, may func(stored *metastore.SavedQuery) error) (found bool, err error)
}

// kept is what the payload of a saved query has.
type kept struct {
	Statement string `json:"statement"`
	// View is how the answer is shown: an object of the console's own.
	View json.RawMessage `json:"view,omitempty"`
}

// savedQuery is a saved query as the endpoints show it.
type savedQuery struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Statement string          `json:"statement"`
	View      json.RawMessage `json:"view"`
	Shared    bool            `json:"shared"`
	Owner     string          `json:"owner"`
	// Own says that the caller may change it.
	Own     bool   `json:"own"`
	Version int64  `json:"version"`
	Created string `json:"created"`
	Updated string `json:"updated"`
}

// savedRequest is a saved query as it is sent. Version is the one that is to be replaced; a header
// If-Match says it, too.
type savedRequest struct {
	Name      string          `json:"name"`
	Statement string          `json:"statement"`
	View      json.RawMessage `json:"view"`
	Shared    bool            `json:"shared"`
	Version   *int64          `json:"version"`
}

func (a *API) savedRoutes(mux *edge.Mux) {
	mux.On("GET "+Base+"/queries", a.listSaved)
	mux.On("POST "+Base+"/queries", edge.JSONOnly(a.createSaved))
	mux.On("GET "+Base+"/queries/{id}", a.getSaved)
	mux.On("PUT "+Base+"/queries/{id}", edge.JSONOnly(a.updateSaved))
	mux.On("DELETE "+Base+"/queries/{id}", a.deleteSaved)
}

// person is who saves queries: without security whoever a request claims to be.
func person(r *http.Request) string {
	auth.Of(r.Context()).Pass()
	return edge.UserOf(r)
}

func shownSaved(q *metastore.SavedQuery, by string) (savedQuery, error) {
	var k kept
	if err := json.Unmarshal(q.Payload, &k); err != nil {
		return savedQuery{}, fault.Defensive("Saved query [%s] can't be read", q.ID).WithCause(err)
	}
	if k.View == nil {
		k.View = json.RawMessage("{}")
	}
	at := func(ms int64) string { return chrono.FormatMillis(ms, chrono.UTC) }
	return savedQuery{
		ID: q.ID, Name: q.Name, Statement: k.Statement, View: k.View, Shared: q.Shared, Owner: q.Owner, Own: q.Owner == by,
		Version: q.Version, Created: at(q.Created), Updated: at(q.Updated),
	}, nil
}

func (a *API) listSaved(w http.ResponseWriter, r *http.Request) error {
	by, values := person(r), r.URL.Query()
	if err := edge.OnlyParameters(r, "text", "limit", "offset"); err != nil {
		return err
	}
	limit, err := number(values.Get("limit"), "limit", savedPage, 1, maxSavedPage)
	if err != nil {
		return err
	}
	offset, err := number(values.Get("offset"), "offset", 0, 0, 1<<31-1)
	if err != nil {
		return err
	}
	page, total, err := a.o.Store.SavedQueries(r.Context(), by, values.Get("text"), limit, offset)
	if err != nil {
		return err
	}
	out := struct {
		Queries []savedQuery `json:"queries"`
		Total   int          `json:"total"`
	}{[]savedQuery{}, total}
	for i := range page {
		q, err := shownSaved(&page[i], by)
		if err != nil {
			return err
		}
		out.Queries = append(out.Queries, q)
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// number reads a parameter that is a whole number; "": usual.
func number(text, name string, usual, least, most int) (int, error) {
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fault.InvalidInput("Value [%s] of [%s] is not a number between [%d] and [%d]", text, name, least, most)
	}
	return n, nil
}

func notSaved(id string) error { return fault.NotFound("Saved query [%s] does not exist", id) }

func (a *API) getSaved(w http.ResponseWriter, r *http.Request) error {
	by, id := person(r), r.PathValue("id")
	q, found, err := a.o.Store.SavedQuery(r.Context(), id)
	if err != nil {
		return err
	}
	if !found || !q.Shared && q.Owner != by { // whether somebody else has one is not told
		return notSaved(id)
	}
	return writeSaved(w, http.StatusOK, &q, by)
}

func writeSaved(w http.ResponseWriter, status int, q *metastore.SavedQuery, by string) error {
	out, err := shownSaved(q, by)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", `"`+strconv.FormatInt(q.Version, 10)+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	edge.WriteJSON(w, status, out)
	return nil
}

// readSaved reads a saved query that is sent, with its payload.
func readSaved(w http.ResponseWriter, r *http.Request) (q savedRequest, payload json.RawMessage, err error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSavedBody))
	edge.Decoded(r.Context())
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return q, nil, fault.InvalidInput("The body of the request has more than [%d] bytes", maxSavedBody)
	}
	if err != nil {
		return q, nil, err
	}
	secret.Hold(r.Context(), string(text))
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return q, nil, fault.InvalidInput("The body of the request can't be read: %s", fault.JSONProblem(err))
	}
	q.Name = strings.TrimSpace(q.Name)
	view := bytes.TrimSpace(q.View)
	switch {
	case q.Name == "" || utf8.RuneCountInString(q.Name) > maxSavedName || strings.ContainsFunc(q.Name, unicode.IsControl):
		return q, nil, fault.InvalidInput("The name of a saved query has between 1 and [%d] characters, and no control characters", maxSavedName)
	case strings.TrimSpace(q.Statement) == "" || len(q.Statement) > maxSavedStatement:
		return q, nil, fault.InvalidInput("The statement of a saved query has between 1 and [%d] bytes", maxSavedStatement)
	case len(view) > maxSavedView:
		return q, nil, fault.InvalidInput("Member [view] has more than [%d] bytes", maxSavedView)
	case len(view) > 0 && view[0] != '{' && string(view) != "null":
		return q, nil, fault.InvalidInput("Member [view] is not a JSON object")
	}
	k := kept{Statement: q.Statement}
	if len(view) > 0 && view[0] == '{' {
		k.View = view
	}
	payload, err = jsontext.Marshal(k)
	return q, payload, err
}

func (a *API) createSaved(w http.ResponseWriter, r *http.Request) error {
	by := person(r)
	sent, payload, err := readSaved(w, r)
	if err != nil {
		return err
	}
	id := strings.ToLower(rand.Text()[:savedID])
	q, err := a.o.Store.CreateSavedQuery(r.Context(), metastore.SavedQuery{
		ID: id, Owner: by, Name: sent.Name, Shared: sent.Shared, Payload: payload,
	})
	if err != nil {
		return err
	}
	w.Header().Set("Location", Base+"/queries/"+id)
	return writeSaved(w, http.StatusCreated, &q, by)
}

// mine refuses a change of a query that somebody else has saved. Of one that is not shared it is
// not told that it is there.
func mine(q *metastore.SavedQuery, by string) error {
	switch {
	case q.Owner == by:
		return nil
	case !q.Shared:
		return notSaved(q.ID)
	}
	return fault.Forbidden("Saved query [%s] belongs to [%s]; save a copy instead", q.ID, q.Owner)
}

func (a *API) updateSaved(w http.ResponseWriter, r *http.Request) error {
	by, id := person(r), r.PathValue("id")
	sent, payload, err := readSaved(w, r)
	if err != nil {
		return err
	}
	version, err := replaced(r, &sent)
	if err != nil {
		return err
	}
	q, found, err := a.o.Store.UpdateSavedQuery(r.Context(), id, func(stored *metastore.SavedQuery) error {
		if err := mine(stored, by); err != nil {
			return err
		}
		if stored.Version != version {
			return fault.Conflict("Saved query [%s] has changed: it has version [%d], not [%d]; load it again", id, stored.Version, version)
		}
		stored.Name, stored.Shared, stored.Payload = sent.Name, sent.Shared, payload
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		return notSaved(id)
	}
	return writeSaved(w, http.StatusOK, &q, by)
}

// replaced returns the version that a request replaces.
func replaced(r *http.Request, sent *savedRequest) (int64, error) {
	if match := r.Header.Get("If-Match"); match != "" {
		version, err := strconv.ParseInt(strings.Trim(match, `"`), 10, 64)
		if err != nil {
			return 0, fault.InvalidInput("Header [If-Match] is [%s], which is not the ETag of a saved query", match)
		}
		return version, nil
	}
	if sent.Version == nil {
		return 0, fault.InvalidInput("A change of a saved query needs the [version] that it replaces, or a header If-Match with its ETag")
	}
	return *sent.Version, nil
}

func (a *API) deleteSaved(w http.ResponseWriter, r *http.Request) error {
	by, id := person(r), r.PathValue("id")
	// What people who are gone have shared is for administrators to clear away.
	administers := auth.Of(r.Context()).May(r.Context(), auth.Writes(auth.Config, string(auth.Config)))
	found, err := a.o.Store.DeleteSavedQuery(r.Context(), id, func(stored *metastore.SavedQuery) error {
		if stored.Shared && administers {
			return nil
		}
		return mine(stored, by)
	})
	if err != nil {
		return err
	}
	if !found {
		return notSaved(id)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
