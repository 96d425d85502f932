package oidc

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hengedb/henge/internal/fault"
)

// Device is what a program needs to know to log its user in by the device flow.
type Device struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientId"`
	Scopes   []string `json:"scopes"`
}

// Device returns it.
func (a *Authenticator) Device() Device { return Device{a.o.Issuer, a.o.DeviceClientID, a.o.Scopes} }

// config returns the client that this process is at the provider.
func (a *Authenticator) config() (*oauth2.Config, error) {
	p, err := a.ready()
	if err != nil {
		return nil, err
	}
	return &oauth2.Config{
		ClientID: a.o.ClientID, ClientSecret: a.o.ClientSecret, Endpoint: p.endpoint, RedirectURL: a.o.RedirectURI, Scopes: a.o.Scopes,
	}, nil
}

// attempt is a log in that has begun. The browser keeps it, sealed.
type attempt struct {
	State, Nonce, Verifier, Return string
	Expires                        time.Time
}

// Login begins a log in: it returns where to send the browser, and a cookie. Back is the path that
// it comes back to after it.
func (a *Authenticator) Login(back string) (to string, cookie *http.Cookie, err error) {
	if a.o.RedirectURI == "" {
		return "", nil, fault.NotFound("Browsers can't log in: the setting [redirectUri] of authenticator [%s] is missing", a.o.Name)
	}
	if back == "" {
		back = "/"
	}
	if !local(back) {
		return "", nil, fault.InvalidInput("Path [%s] to come back to is not one of this server", back)
	}
	config, err := a.config()
	if err != nil {
		return "", nil, err
	}
	at := attempt{State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(), Return: back, Expires: a.o.Clock.Now().Add(loginTime)}
	text, err := json.Marshal(at)
	if err != nil {
		return "", nil, err
	}
	name := attemptName(at.State)
	// SameSite=Lax: the browser comes back from the provider's site, and has to bring it along.
	cookie = a.cookie(name, a.sealer.seal(text, name), int(loginTime.Seconds()), http.SameSiteLaxMode)
	return config.AuthCodeURL(at.State, oidc.Nonce(at.Nonce), oauth2.S256ChallengeOption(at.Verifier)), cookie, nil
}

// attemptName is the name of the cookie of a log in: several may be under way in one browser.
func attemptName(state string) string { return "henge_login_" + state[:min(12, len(state))] }

// cookie returns a cookie with what all have in common; a negative age removes it.
func (a *Authenticator) cookie(name, value string, age int, site http.SameSite) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: a.https(), SameSite: site}
}

// Mine tells whether a browser that comes back from the provider has begun its log in here.
func (a *Authenticator) Mine(r *http.Request) bool {
	_, err := a.begun(r)
	return err == nil
}

// errBegun is the fault of a log in that nobody has begun in this browser, or too long ago.
var errBegun = fault.Unauthorized("The log in was not begun in this browser, or too long ago; begin again")

// begun returns the log in that a browser comes back from.
func (a *Authenticator) begun(r *http.Request) (*attempt, error) {
	state := r.URL.Query().Get("state")
	name := attemptName(state)
	cookie, err := r.Cookie(name)
	if state == "" || err != nil {
		return nil, errBegun
	}
	text, err := a.sealer.open(cookie.Value, name)
	var at attempt
	if err != nil || json.Unmarshal(text, &at) != nil || !a.o.Clock.Now().Before(at.Expires) ||
		subtle.ConstantTimeCompare([]byte(at.State), []byte(state)) != 1 {
		return nil, errBegun
	}
	return &at, nil
}

// Callback ends a log in: it returns the path to go on to, and the cookies. Whatever session the
// browser had before ends.
func (a *Authenticator) Callback(ctx context.Context, r *http.Request) (to string, cookies []*http.Cookie, err error) {
	at, err := a.begun(r)
	if err != nil {
		return "", nil, err
	}
	query := r.URL.Query()
	if problem := query.Get("error"); problem != "" {
		return "", nil, fault.Unauthorized("The provider of OpenID Connect has not let you in").WithCause(errors.New(problem))
	}
	if issuer := query.Get("iss"); issuer != "" && issuer != a.o.Issuer {
		return "", nil, invalid(errors.New("the answer is of another provider"))
	}
	config, err := a.config()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	token, err := config.Exchange(oidc.ClientContext(ctx, a.client), query.Get("code"), oauth2.VerifierOption(at.Verifier))
	if err != nil {
		if f := unavailable(exchangeFault(err)); f != nil {
			return "", nil, f
		}
		return "", nil, fault.Unauthorized("The provider of OpenID Connect does not take the code").WithCause(err)
	}
	raw, _ := token.Extra("id_token").(string)
	claims, id, err := a.verify(ctx, raw)
	if err != nil {
		return "", nil, err
	}
	if subtle.ConstantTimeCompare([]byte(claims.Nonce), []byte(at.Nonce)) != 1 {
		return "", nil, invalid(errors.New("the token is of another log in"))
	}
	id.Token = raw
	a.Logout(r)
	value := a.sessions.add(&session{subject: claims.Subject, id: id, expires: claims.expires(), refresh: token.RefreshToken})
	return at.Return, []*http.Cookie{
		a.cookie(a.cookieName(), value, 0, http.SameSiteStrictMode), a.cookie(attemptName(at.State), "", -1, http.SameSiteLaxMode),
	}, nil
}

// Logout ends the session of a browser, and returns the cookie that removes its cookie.
func (a *Authenticator) Logout(r *http.Request) *http.Cookie {
	if cookie := a.cookieOf(r.Header); cookie != "" {
		a.sessions.drop(cookie)
	}
	return a.cookie(a.cookieName(), "", -1, http.SameSiteStrictMode)
}

// local tells whether a text is a path of this server, which no browser takes for an address of
// another one.
func local(path string) bool {
	u, err := url.Parse(path)
	return err == nil && len(path) <= maxReturn && u.Scheme == "" && u.Host == "" && u.User == nil && strings.HasPrefix(path, "/") &&
		!strings.HasPrefix(path, "//") &&
		!strings.Contains(u.Path, "//") && !strings.Contains(u.Path, "/..") && !strings.Contains(path, `\`) && !strings.Contains(u.Path, `\`) &&
		!strings.ContainsFunc(path+u.Path, func(c rune) bool { return c <= ' ' || c == 0x7f })
}

// sealer keeps what a browser holds secret and unchanged, until the process ends.
type sealer struct{ cipher.AEAD }

func newSealer() sealer {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("oidc: " + err.Error()) // the length is right
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("oidc: " + err.Error()) // likewise
	}
	return sealer{aead}
}

func (s sealer) seal(text []byte, name string) string {
	nonce := make([]byte, s.NonceSize())
	_, _ = rand.Read(nonce) // it never fails
	return base64.RawURLEncoding.EncodeToString(s.Seal(nonce, nonce, text, []byte(name)))
}

func (s sealer) open(sealed, name string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(b) < s.NonceSize() {
		return nil, errors.New("not sealed here")
	}
	return s.Open(nil, b[:s.NonceSize()], b[s.NonceSize():], []byte(name))
}
