package oidc

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/secret/seal"
)

// Store stores the browser sessions of all processes, by name. It is safe for concurrent use.
type Store interface {
	// Get returns the value of a name; nil: there is none.
	Get(ctx context.Context, name string) (json.RawMessage, error)
	// Update atomically replaces the value with the result of next. If next returns an error, Update
	// returns it and changes nothing.
	Update(ctx context.Context, name string, next func(kept json.RawMessage) (json.RawMessage, error)) error
	// Delete deletes the value.
	Delete(ctx context.Context, name string) error
	// DeleteStale deletes, of the names that begin with a prefix, the values that were last written
	// before an instant, and of the remaining values all except the most recently written ones, as
	// many as most.
	DeleteStale(ctx context.Context, prefix string, before time.Time, most int) error
}

// session is a browser that has logged in. Times are in milliseconds.
type session struct {
	Subject string `json:"subject"`
	Begun   int64  `json:"begun"`
	Seen    int64  `json:"seen"` // not much longer ago than sessions.touch
	// ID is the token of the provider, and Expires its expiration. Refresh is the refresh token; "":
	// the session ends with the token.
	ID      string `json:"id"`
	Expires int64  `json:"expires"`
	Refresh string `json:"refresh,omitempty"`
	// Renewing is the time until which a process may be renewing the token. A refresh token can be
	// used once, so only one process tries.
	Renewing int64 `json:"renewing,omitempty"`
}

// sessions are those of one authenticator, which all processes share. A session is kept under a
// hash of what its cookie holds, sealed by another one: neither tells a look-up by its time how
// much of a guess was right, nor does the store let anybody in who can read it.
type sessions struct {
	o     Options
	store Store
}

// errGone says that a session has ended meanwhile.
var errGone = errors.New("the session has ended")

// namesPrefix begins the names of all sessions of an authenticator. Those of others may begin with
// its name, so that a slash ends it, which no name has.
func (s *sessions) namesPrefix() string { return "oidc.session/" + s.o.Name + "/" }

// place is where the session of a cookie is, and what opens it.
func (s *sessions) place(cookie string) (name string, by *seal.Sealer) {
	hash := func(use string) [sha256.Size]byte { return sha256.Sum256([]byte(use + "\x00" + cookie)) }
	id, key := hash("henge name of a session"), hash("henge key of a session")
	by, err := seal.New(key[:], s.o.Clock)
	if err != nil {
		panic("oidc: " + err.Error()) // the length is right
	}
	return s.namesPrefix() + base64.RawURLEncoding.EncodeToString(id[:]), by
}

// kindSession is the kind of sealed sessions.
const kindSession = "henge session"

func (s *sessions) encode(by *seal.Sealer, v *session) (json.RawMessage, error) {
	left := time.UnixMilli(v.Begun).Add(s.o.MaxTime).Sub(s.o.Clock.Now())
	text, err := by.SealText(kindSession, v, left)
	if err != nil {
		return nil, err
	}
	return json.Marshal(text)
}

// decode returns nil for a session that has ended.
func (s *sessions) decode(by *seal.Sealer, kept json.RawMessage) *session {
	var text string
	var v session
	if kept == nil || json.Unmarshal(kept, &text) != nil {
		return nil
	}
	if _, ok := by.OpenText(kindSession, text, &v); !ok {
		return nil
	}
	now := s.o.Clock.Now()
	if now.Sub(time.UnixMilli(v.Seen)) >= s.o.IdleTime || now.Sub(time.UnixMilli(v.Begun)) >= s.o.MaxTime {
		return nil
	}
	return &v
}

// add keeps a session and returns what its cookie holds. Of too many the one goes that was not used
// for longest.
func (s *sessions) add(ctx context.Context, v *session) (string, error) {
	now := s.o.Clock.Now()
	if err := s.store.DeleteStale(ctx, s.namesPrefix(), now.Add(-s.o.IdleTime-clockSlack), s.o.MaxSessions-1); err != nil {
		return "", err
	}
	cookie := random()
	name, by := s.place(cookie)
	v.Begun, v.Seen = now.UnixMilli(), now.UnixMilli()
	text, err := s.encode(by, v)
	if err != nil {
		return "", err
	}
	return cookie, s.store.Update(ctx, name, func(json.RawMessage) (json.RawMessage, error) { return text, nil })
}

// get returns a session that is good now, and notes that it is used; nil: there is none.
func (s *sessions) get(ctx context.Context, cookie string) (*session, error) {
	name, by := s.place(cookie)
	kept, err := s.store.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	v := s.decode(by, kept)
	now := s.o.Clock.Now()
	if v == nil || now.Sub(time.UnixMilli(v.Seen)) < min(touchTime, s.o.IdleTime/10) {
		return v, nil
	}
	err = s.update(ctx, cookie, func(kept *session) error {
		kept.Seen = now.UnixMilli()
		v = kept
		return nil
	})
	if errors.Is(err, errGone) {
		return nil, nil //nolint:nilnil // it has ended meanwhile
	}
	return v, err
}

// update changes a session that is there.
func (s *sessions) update(ctx context.Context, cookie string, change func(kept *session) error) error {
	name, by := s.place(cookie)
	return s.store.Update(ctx, name, func(kept json.RawMessage) (json.RawMessage, error) {
		v := s.decode(by, kept)
		if v == nil {
			return nil, errGone
		}
		if err := change(v); err != nil {
			return nil, err
		}
		return s.encode(by, v)
	})
}

// drop ends the session of a cookie, for all processes, and returns it; nil: there is none.
func (s *sessions) drop(ctx context.Context, cookie string) (*session, error) {
	name, by := s.place(cookie)
	kept, err := s.store.Get(ctx, name)
	if err != nil || kept == nil {
		return nil, err
	}
	return s.decode(by, kept), s.store.Delete(ctx, name)
}

// random returns a text that nobody guesses.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// bySession returns whose session a cookie is of. A token that ends soon is replaced first, so that
// who was locked out at the provider is locked out here.
func (a *Authenticator) bySession(ctx context.Context, cookie string) (*auth.Identity, error) {
	v, err := a.sessions.get(ctx, cookie)
	if err != nil || v == nil {
		return nil, err
	}
	if v.Refresh != "" && !a.before(v.Expires-refreshAhead.Milliseconds()) {
		if v, err = a.renewed(ctx, cookie, v); err != nil || v == nil {
			return nil, err
		}
	}
	if !a.before(v.Expires) {
		_, err := a.sessions.drop(ctx, cookie)
		return nil, err
	}
	return a.identityOf(v)
}

// before tells whether an instant is still to come.
func (a *Authenticator) before(at int64) bool { return clock.Millis(a.o.Clock) < at }

// identityOf returns whom the token of a session is about. The token was verified when it came.
func (a *Authenticator) identityOf(v *session) (*auth.Identity, error) {
	_, rest, _ := strings.Cut(v.ID, ".")
	claims, _, _ := strings.Cut(rest, ".")
	payload, err := base64.RawURLEncoding.DecodeString(claims)
	if err != nil {
		return nil, invalid(err)
	}
	id, err := a.o.identity(payload)
	if err != nil {
		return nil, invalid(err)
	}
	id.Token = secret.NewText(v.ID)
	return id, nil
}

// errBusy means that another request, possibly in another process, is renewing the token. errDone
// means that it has renewed it.
var (
	errBusy = errors.New("the token of the session is being replaced")
	errDone = errors.New("the token of the session was replaced")
)

// renewed returns a session with its token replaced, or, while that can't be done, with the one
// that it has as long as that is good; nil: the session has ended.
func (a *Authenticator) renewed(ctx context.Context, cookie string, v *session) (*session, error) {
	for {
		// What is taken is given back: neither is given up with the request.
		kept := context.WithoutCancel(ctx)
		err := a.sessions.update(kept, cookie, func(now *session) error {
			switch {
			case now.ID != v.ID:
				v = now
				return errDone
			case a.before(now.Renewing):
				return errBusy
			}
			now.Renewing = clock.Millis(a.o.Clock) + renewTime.Milliseconds()
			return nil
		})
		switch {
		case err == nil:
			return a.renew(kept, cookie, v)
		case errors.Is(err, errDone):
			return v, nil
		case errors.Is(err, errGone):
			return nil, nil //nolint:nilnil // the next authenticator is asked
		case !errors.Is(err, errBusy):
			return nil, err
		case a.before(v.Expires):
			return v, nil
		}
		if err := a.o.Clock.Sleep(ctx, renewPause); err != nil {
			return nil, err
		}
	}
}

// renew replaces the token of a session, which no other process does at the same time.
func (a *Authenticator) renew(ctx context.Context, cookie string, v *session) (*session, error) {
	raw, refresh, expires, err := a.exchange(ctx, v)
	switch {
	case unavailable(err) != nil: // the session may go on when the provider is back
		given := a.sessions.update(ctx, cookie, func(now *session) error { now.Renewing = 0; return nil })
		if given != nil && !errors.Is(given, errGone) {
			a.o.Log.WarnContext(ctx, "failed to update a session; it waits before it refreshes its token", "error", given)
		}
		if a.before(v.Expires) {
			return v, nil
		}
		return nil, err
	case err != nil:
		a.o.Log.InfoContext(ctx, "session ends: the provider did not refresh its token", "subject", v.Subject, "error", err)
		_, err := a.sessions.drop(ctx, cookie)
		return nil, err
	}
	err = a.sessions.update(ctx, cookie, func(now *session) error {
		now.ID, now.Expires, now.Renewing = raw, expires, 0
		if refresh != "" {
			now.Refresh = refresh
		}
		v = now
		return nil
	})
	if errors.Is(err, errGone) {
		return nil, nil //nolint:nilnil // it has logged out meanwhile
	}
	return v, err
}

// exchange gets the next token of a session from the provider.
func (a *Authenticator) exchange(ctx context.Context, v *session) (raw, refresh string, expires int64, err error) {
	config, err := a.config()
	if err != nil {
		return "", "", 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	token, err := config.TokenSource(oidc.ClientContext(ctx, a.client), &oauth2.Token{RefreshToken: v.Refresh}).Token()
	if err != nil {
		return "", "", 0, exchangeFault(err)
	}
	raw, _ = token.Extra("id_token").(string)
	claims, _, err := a.verify(ctx, raw)
	switch {
	case err != nil:
		return "", "", 0, err
	case claims.Subject != v.Subject:
		return "", "", 0, errors.New("the token is about another user")
	}
	return raw, token.RefreshToken, claims.expires().UnixMilli(), nil
}

// exchangeFault tells a provider that refuses from one that is away.
func exchangeFault(err error) error {
	refusal, ok := errors.AsType[*oauth2.RetrieveError](err)
	if ok && refusal.Response != nil && refusal.Response.StatusCode < http.StatusInternalServerError {
		return err
	}
	return away(err)
}

// cookieOf returns what the cookie of the session holds; "": there is none.
func (a *Authenticator) cookieOf(h http.Header) string {
	cookie, err := (&http.Request{Header: h}).Cookie(a.cookieName())
	if err != nil {
		return ""
	}
	return cookie.Value
}

// cookieName is that of the session. With https the name itself makes browsers take the cookie only
// from this very host, over https.
func (a *Authenticator) cookieName() string {
	if a.https() {
		return "__Host-henge_session"
	}
	return "henge_session"
}

func (a *Authenticator) https() bool { return strings.HasPrefix(a.o.RedirectURI, "https:") }
