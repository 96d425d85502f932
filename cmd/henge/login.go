package main

import (
	"net/http"
	"net/url"
	"os"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/secret"
)

// keyVariable names the variable of the environment with the API key of this program's requests.
const keyVariable = "HENGE_API_KEY"

// signed sends requests to a server with what says who sends them.
type signed struct {
	http.RoundTripper
	base *url.URL
	// token returns a bearer token; the zero Text: there is none.
	token func(r *http.Request) (secret.Text, error)
}

// newTransport returns what sends the requests of a client through next, with the API key of the
// environment, or else the log in that is kept.
func newTransport(base string, next http.RoundTripper) http.RoundTripper {
	parsed, err := url.Parse(base)
	if err != nil {
		return next // the first request says what is wrong
	}
	parsed.User = nil // log ins are kept by the server alone
	kept := &logins{base: parsed.String(), clock: clock.System()}
	return &signed{next, parsed, func(r *http.Request) (secret.Text, error) {
		if key := os.Getenv(keyVariable); key != "" {
			return secret.NewText(key), nil
		}
		return kept.token(r)
	}}
}

// useKey has the client send an API key, in place of that of the environment or a log in.
func (c *client) useKey(key secret.Text) error {
	parsed, err := url.Parse(c.base)
	if err != nil {
		return nil //nolint:nilerr // the first request says what is wrong
	}
	c.keyed = true
	c.http = &http.Client{Transport: &signed{c.http.Transport, parsed, func(*http.Request) (secret.Text, error) { return key, nil }}}
	return nil
}

// RoundTrip implements http.RoundTripper. Nobody but the server gets the token: other hosts that it
// may refer to don't.
func (s *signed) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" || r.URL.Hostname() != s.base.Hostname() {
		return s.RoundTripper.RoundTrip(r)
	}
	token, err := s.token(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a transport closes the body in any case
		}
		return nil, err
	}
	if !token.IsZero() {
		r = r.Clone(r.Context()) // the caller's request must stay as it is
		r.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	return s.RoundTripper.RoundTrip(r)
}
