package oidc

import (
	"container/list"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hengedb/henge/internal/auth"
)

// session is a browser that has logged in.
type session struct {
	key     sessionKey
	subject string
	begun   time.Time
	place   *list.Element

	// renewing is held while the token is replaced, and while it is read.
	renewing sync.Mutex
	id       *auth.Identity
	expires  time.Time // of the token
	refresh  string    // "": the session ends with the token

	seen time.Time // guarded by sessions
}

// sessionKey is the SHA-256 of what the cookie holds, so that neither a look-up tells by its time
// how much of a guess was right, nor a dump of the memory lets anybody in.
type sessionKey [sha256.Size]byte

func keyOf(cookie string) sessionKey { return sha256.Sum256([]byte(cookie)) }

// sessions are those of one authenticator. It is safe for concurrent use.
type sessions struct {
	o  Options
	mu struct {
		sync.Mutex
		known map[sessionKey]*session
		used  *list.List // of *session, the last used one first
	}
}

func newSessions(o Options) *sessions {
	s := &sessions{o: o}
	s.mu.known, s.mu.used = map[sessionKey]*session{}, list.New()
	return s
}

// add keeps a session and returns what its cookie holds. Of too many the one goes that was not used
// for longest.
func (s *sessions) add(v *session) string {
	cookie := random()
	v.key, v.begun = keyOf(cookie), s.o.Clock.Now()
	v.seen = v.begun
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdleLocked()
	for len(s.mu.known) >= s.o.MaxSessions {
		s.dropLocked(s.mu.used.Back().Value.(*session))
	}
	v.place = s.mu.used.PushFront(v)
	s.mu.known[v.key] = v
	return cookie
}

// get returns a session that is good now, and notes that it is used.
func (s *sessions) get(cookie string) *session {
	now := s.o.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	v, found := s.mu.known[keyOf(cookie)]
	if !found {
		return nil
	}
	if now.Sub(v.seen) >= s.o.IdleTime || now.Sub(v.begun) >= s.o.MaxTime {
		s.dropLocked(v)
		return nil
	}
	v.seen = now
	s.mu.used.MoveToFront(v.place)
	return v
}

// drop ends the session of a cookie.
func (s *sessions) drop(cookie string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, found := s.mu.known[keyOf(cookie)]; found {
		s.dropLocked(v)
	}
}

func (s *sessions) dropLocked(v *session) {
	delete(s.mu.known, v.key)
	s.mu.used.Remove(v.place)
}

func (s *sessions) dropIdleLocked() {
	now := s.o.Clock.Now()
	for last := s.mu.used.Back(); last != nil; last = s.mu.used.Back() {
		v := last.Value.(*session)
		if now.Sub(v.seen) < s.o.IdleTime {
			return
		}
		s.dropLocked(v)
	}
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
	v := a.sessions.get(cookie)
	if v == nil {
		return nil, nil //nolint:nilnil // the next authenticator is asked
	}
	v.renewing.Lock()
	defer v.renewing.Unlock()
	now := a.o.Clock.Now()
	if v.refresh != "" && !now.Before(v.expires.Add(-refreshAhead)) {
		err := a.renew(ctx, v)
		if err != nil && (unavailable(err) == nil || !now.Before(v.expires)) {
			if unavailable(err) != nil {
				return nil, err // the session may go on when the provider is back
			}
			a.o.Log.InfoContext(ctx, "a session ends since the provider gives no further token", "user", v.id.Name, "error", err)
			a.sessions.drop(cookie)
			return nil, nil //nolint:nilnil // likewise
		}
	}
	if !a.o.Clock.Now().Before(v.expires) {
		a.sessions.drop(cookie)
		return nil, nil //nolint:nilnil // likewise
	}
	id := *v.id
	return &id, nil
}

// renew replaces the token of a session.
func (a *Authenticator) renew(ctx context.Context, v *session) error {
	config, err := a.config()
	if err != nil {
		return err
	}
	// The refresh token is good once: the exchange is not given up with the request.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	token, err := config.TokenSource(oidc.ClientContext(ctx, a.client), &oauth2.Token{RefreshToken: v.refresh}).Token()
	if err != nil {
		return exchangeFault(err)
	}
	raw, _ := token.Extra("id_token").(string)
	claims, id, err := a.verify(ctx, raw)
	switch {
	case err != nil:
		return err
	case claims.Subject != v.subject:
		return errors.New("the token is about another user")
	}
	id.Token = raw
	v.id, v.expires = id, claims.expires()
	if token.RefreshToken != "" {
		v.refresh = token.RefreshToken
	}
	return nil
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
