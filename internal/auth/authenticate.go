package auth

import (
	"context"
	"crypto/tls"
	"net/http"
)

// Request is what an authenticator sees of a request, whichever door it came in by. Doors that are
// not HTTP fill in what they know: a user and a password become a header (BasicRequest).
type Request struct {
	// Header holds the headers of the request. Authenticators don't change it.
	Header http.Header
	// Peer is the address of the other side of the connection, with or without a port.
	Peer string
	// Method and Path are those of HTTP; empty elsewhere.
	Method, Path string
	// TLS is the state of the connection; nil: plain text.
	TLS *tls.ConnectionState
	// Answer takes headers that the answer gets, such as cookies. It is never nil.
	Answer http.Header
}

// RequestOf returns what authenticators see of an HTTP request. Headers that they add go to answer.
func RequestOf(r *http.Request, answer http.Header) *Request {
	return &Request{Header: r.Header, Peer: r.RemoteAddr, Method: r.Method, Path: r.URL.Path, TLS: r.TLS, Answer: answer}
}

// BasicRequest is the request of a door that takes a user and a password, such as JDBC.
func BasicRequest(user, password, peer string, state *tls.ConnectionState) *Request {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return &Request{Header: r.Header, Peer: peer, TLS: state, Answer: http.Header{}}
}

// Authenticator says who sends a request. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the identity behind a request; nil without an error passes the request on
	// to the next authenticator of the chain. An error ends the request: fault.Unauthorized becomes
	// status 401, fault.Forbidden 403, fault.Unavailable 503.
	Authenticate(ctx context.Context, r *Request) (*Identity, error)
	// Challenge is the scheme that a client without credentials is told to use, such as Basic; "":
	// there is none.
	Challenge() string
}

// allowAll knows everybody under one name.
type allowAll struct{ Identity }

// Authenticate implements Authenticator.
func (a *allowAll) Authenticate(context.Context, *Request) (*Identity, error) {
	return &a.Identity, nil
}

// Challenge implements Authenticator.
func (*allowAll) Challenge() string { return "" }

func newAllowAll(p Part) (Authenticator, error) {
	return &allowAll{Identity{Name: AllowAll, Authorizer: AllowAll, By: p.Name}}, nil
}

// newAnonymous returns an authenticator that gives everybody the same identity. It ends a chain.
func newAnonymous(p Part) (Authenticator, error) {
	authorizer, err := p.Required("authorizerName")
	if err != nil {
		return nil, err
	}
	return &allowAll{Identity{Name: p.Text("identity"), Authorizer: authorizer, By: p.Name}}, nil
}
