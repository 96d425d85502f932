package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/hengedb/henge/internal/fault"
)

// Device is what a program needs to log in its user with the device flow.
type Device struct {
	Issuer   string   `json:"issuer"`
	ClientID string   `json:"clientId"`
	Scopes   []string `json:"scopes"`
}

// Device returns what a program needs for the device flow.
func (a *Authenticator) Device() Device { return Device{a.o.Issuer, a.o.DeviceClientID, a.o.Scopes} }

// config returns the client that this process is at the provider.
func (a *Authenticator) config() (*oauth2.Config, error) {
	p, err := a.ready()
	if err != nil {
		return nil, err
	}
	return &oauth2.Config{
		ClientID: a.o.ClientID, ClientSecret: a.o.ClientSecret.Reveal(), Endpoint: p.endpoint, RedirectURL: a.o.RedirectURI, Scopes: a.o.Scopes,
	}, nil
}

// attempt is a log in that has begun. The browser keeps it, sealed, so that it may come back to
// another process.
type attempt struct{ State, Nonce, Verifier, Return string }

// kindAttempt is the kind of sealed log ins, with the name of their cookie behind it.
const kindAttempt = "henge log in "

// Login begins a login. It returns the URL to redirect the browser to, and a cookie. back is the
// path to return to after the login.
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
	at := attempt{State: random(), Nonce: random(), Verifier: oauth2.GenerateVerifier(), Return: back}
	name := attemptName(at.State)
	text, err := a.sealer.SealText(kindAttempt+a.o.Name+name, at, loginTime)
	if err != nil {
		return "", nil, err
	}
	// SameSite=Lax: the browser comes back from the provider's site, and has to bring it along.
	cookie = a.cookie(name, text, int(loginTime.Seconds()), http.SameSiteLaxMode)
	return config.AuthCodeURL(at.State, oidc.Nonce(at.Nonce), oauth2.S256ChallengeOption(at.Verifier)), cookie, nil
}

// attemptName is the name of the cookie of a log in: several may be under way in one browser.
func attemptName(state string) string { return "henge_login_" + state[:min(12, len(state))] }

// cookie returns a cookie with what all have in common; a negative age removes it.
func (a *Authenticator) cookie(name, value string, age int, site http.SameSite) *http.Cookie {
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: a.https(), SameSite: site}
}

// Mine reports whether this browser began the login from which the provider redirects it.
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
	var at attempt
	if _, ok := a.sealer.OpenText(kindAttempt+a.o.Name+name, cookie.Value, &at); !ok ||
		subtle.ConstantTimeCompare([]byte(at.State), []byte(state)) != 1 {
		return nil, errBegun
	}
	return &at, nil
}

// Callback completes a login. It returns the path to continue at, and the cookies. A previous
// session of the browser ends.
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
	claims, _, err := a.verify(ctx, raw)
	if err != nil {
		return "", nil, err
	}
	if subtle.ConstantTimeCompare([]byte(claims.Nonce), []byte(at.Nonce)) != 1 {
		return "", nil, invalid(errors.New("the token is of another log in"))
	}
	if _, _, err := a.Logout(r); err != nil {
		return "", nil, err
	}
	v := &session{Subject: claims.Subject, ID: raw, Expires: claims.expires().UnixMilli(), Refresh: token.RefreshToken}
	value, err := a.sessions.add(ctx, v)
	if err != nil {
		return "", nil, err
	}
	return at.Return, []*http.Cookie{
		a.cookie(a.cookieName(), value, 0, http.SameSiteStrictMode), a.cookie(attemptName(at.State), "", -1, http.SameSiteLaxMode),
	}, nil
}

// Logout ends the session of a browser in all processes. It returns the cookie that deletes the
// session cookie, and the URL to log out at the provider; "": there was no session, or the provider
// has no such URL. After an error the session continues.
func (a *Authenticator) Logout(r *http.Request) (removed *http.Cookie, to string, err error) {
	if cookie := a.cookieOf(r.Header); cookie != "" {
		v, err := a.sessions.drop(r.Context(), cookie)
		if err != nil {
			return nil, "", err
		}
		if v != nil {
			to = a.logoutAt(v)
		}
	}
	return a.cookie(a.cookieName(), "", -1, http.SameSiteStrictMode), to, nil
}

// logoutAt returns the address at which the provider ends its own session (OpenID Connect
// RP-Initiated Logout 1.0). The token says which one, and may have expired.
func (a *Authenticator) logoutAt(v *session) string {
	p, err := a.ready()
	if err != nil || p.logout == "" {
		return ""
	}
	u, err := url.Parse(p.logout)
	if err != nil {
		return ""
	}
	q := u.Query()
	q.Set("client_id", a.o.ClientID)
	q.Set("id_token_hint", v.ID)
	if a.o.LogoutURI != "" {
		q.Set("post_logout_redirect_uri", a.o.LogoutURI)
	}
	u.RawQuery = q.Encode()
	return u.String()
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
