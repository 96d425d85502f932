package auth

import (
	"net/http"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// noop leaves internal requests without credentials.
type noop struct{}

// Escalate implements Escalator.
func (noop) Escalate(*http.Request) error { return nil }

// Identity implements Escalator.
func (noop) Identity() *Identity {
	return &Identity{Name: AllowAll, Authorizer: AllowAll, By: AllowAll}
}

// basicEscalator sends a user and a password.
type basicEscalator struct {
	id     Identity
	secret secret.Text
}

func newBasicEscalator(p Part) (Escalator, error) {
	user, err := p.Required("internalClientUsername")
	if err != nil {
		return nil, err
	}
	if _, err := p.Required("internalClientPassword"); err != nil {
		return nil, err
	}
	authorizer, err := p.Required("authorizerName")
	if err != nil {
		return nil, err
	}
	password, err := p.Secret("internalClientPassword")
	if err != nil {
		return nil, err
	}
	if password.IsZero() {
		return nil, fault.InvalidInput("Setting [%sinternalClientPassword] is an empty password", p.Prefix)
	}
	return &basicEscalator{Identity{Name: user, Authorizer: authorizer, By: "escalator"}, password}, nil
}

// Escalate implements Escalator.
func (b *basicEscalator) Escalate(r *http.Request) error {
	r.SetBasicAuth(b.id.Name, b.secret.Reveal())
	return nil
}

// Identity implements Escalator.
func (b *basicEscalator) Identity() *Identity { return &b.id }

// Escalated adds the credentials of the internal identity to the requests that a process sends to
// other processes.
type Escalated struct {
	http.RoundTripper
	By Escalator
}

// RoundTrip implements http.RoundTripper.
func (e Escalated) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context()) // the caller's request must stay as it is
	if err := e.By.Escalate(r); err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // a transport closes the body in any case
		}
		return nil, err
	}
	resp, err := e.RoundTripper.RoundTrip(r)
	if by, ok := e.By.(learner); ok && err == nil {
		by.Answered(r, resp)
	}
	return resp, err
}

// learner is an Escalator that looks at answers, for what saves it credentials at the next request.
type learner interface {
	Answered(r *http.Request, resp *http.Response)
}

// CloseIdleConnections closes the idle connections of the underlying transport.
func (e Escalated) CloseIdleConnections() {
	if c, ok := e.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
