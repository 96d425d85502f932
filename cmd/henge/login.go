package main

import (
	"net/http"
	"net/url"
	"os"

	"github.com/hengedb/henge/internal/clock"
)

// keyVariable names the variable of the environment with the API key of this program's requests.
const keyVariable = "HENGE_API_KEY"

// signed sends requests to a server with what says who sends them.
type signed struct {
	http.RoundTripper
	base *url.URL
	// token returns a bearer token; "": there is none.
	token func(r *http.Request) (string, error)
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
	return &signed{next, parsed, func(r *http.Request) (string, error) {
		if key := os.Getenv(keyVariable); key != "" {
			return key, nil
		}
		return kept.token(r)
	}}
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
	if token != "" {
		r = r.Clone(r.Context()) // the caller's request must stay as it is
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return s.RoundTripper.RoundTrip(r)
}
