package auth

import (
	"context"
	"crypto/tls"
	"net/http"
	"unicode/utf8"
)

// Request is the information about a request that authenticators use, regardless of the protocol.
// Protocols other than HTTP fill in what they know: a user and a password become a header
// (BasicRequest).
type Request struct {
	// Header contains the headers of the request. Authenticators must not change it.
	Header http.Header
	// Peer is the address of the client, with or without a port.
	Peer string
	// Method and Path are the method and the path of HTTP; empty for other protocols.
	Method, Path string
	// TLS is the state of the connection; nil: plain text.
	TLS *tls.ConnectionState
	// Answer receives headers for the response, such as cookies. It is never nil.
	Answer http.Header
}

// RequestOf returns the Request of an HTTP request. Headers that authenticators add are written to
// answer.
func RequestOf(r *http.Request, answer http.Header) *Request {
	return &Request{Header: r.Header, Peer: r.RemoteAddr, Method: r.Method, Path: r.URL.Path, TLS: r.TLS, Answer: answer}
}

// Claims returns the unverified user name of basic credentials; "": there are none.
func (r *Request) Claims() string {
	user, _, _ := (&http.Request{Header: r.Header}).BasicAuth()
	return CredentialText(user)
}

// CredentialText decodes a part of basic credentials. It is UTF-8. Invalid UTF-8 is decoded as
// Latin-1, which some clients send.
func CredentialText(part string) string {
	if utf8.ValidString(part) {
		return part
	}
	out := make([]rune, len(part))
	for i := range len(part) {
		out[i] = rune(part[i]) // the first code points are those of Latin-1
	}
	return string(out)
}

// BasicRequest returns the Request of a protocol with user and password, such as JDBC.
func BasicRequest(user, password, peer string, state *tls.ConnectionState) *Request {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return &Request{Header: r.Header, Peer: peer, TLS: state, Answer: http.Header{}}
}

// BearerRequest returns the Request of such a protocol with a token.
func BearerRequest(token, peer string, state *tls.ConnectionState) *Request {
	return &Request{Header: http.Header{"Authorization": {"Bearer " + token}}, Peer: peer, TLS: state, Answer: http.Header{}}
}

// Authenticator identifies the user of a request. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns the identity of the user of a request. If it returns nil without an error,
	// the next authenticator of the chain is called. An error rejects the request: fault.Unauthorized
	// becomes status 401, fault.Forbidden 403, fault.Unavailable 503.
	Authenticate(ctx context.Context, r *Request) (*Identity, error)
	// Challenge returns the scheme for clients without credentials, such as Basic; "": there is none.
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
