package flight

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/grpc"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/secret"
)

// tokenPrefix begins the bearer tokens that a Handshake gives.
const tokenPrefix = "hgf1."

// token is what a bearer token holds: the credentials it was given for. Each call is
// authenticated by them anew, so that what was taken away from a user is gone.
type token struct {
	user     string
	password secret.Text
}

// seal returns the bearer token, which only this package can open.
func (t token) seal(a *API) (string, error) {
	data, err := a.seal.Seal(kindToken, [2]string{t.user, t.password.Reveal()}, tokenLife)
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(data), err
}

// openToken opens what seal has made of a token; false: it is none, or was.
func (a *API) openToken(bearer string) (t token, expired, ok bool) {
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(bearer, tokenPrefix))
	if err != nil {
		return t, false, false
	}
	var held [2]string
	expired, ok = a.seal.Open(kindToken, data, &held)
	return token{held[0], secret.NewText(held[1])}, expired, ok
}

// caller is who calls.
type caller struct {
	name   string
	access *auth.Access
	// header has the credentials, as HTTP takes them.
	header http.Header
}

var errUnknown = &grpc.Error{Code: grpc.Unauthenticated, Message: "Authentication failed: credentials are missing or wrong"}

// identify finds out who calls: by a token of a Handshake, or by the same headers as HTTP.
func (a *API) identify(ctx context.Context, r *http.Request) (*caller, error) {
	from := auth.RequestOf(r, http.Header{})
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && strings.HasPrefix(bearer, tokenPrefix) {
		t, expired, ok := a.openToken(bearer)
		if expired {
			return nil, &grpc.Error{Code: grpc.Unauthenticated, Message: "The token has expired; log in again"}
		}
		if !ok {
			return nil, errUnknown
		}
		from = auth.BasicRequest(t.user, t.password.Reveal(), from.Peer, from.TLS)
	}
	if a.o.Security == nil {
		name, _, _ := (&http.Request{Header: from.Header}).BasicAuth() // whose it says it is
		return &caller{name, auth.Unlimited(auth.AllowAll), from.Header}, nil
	}
	access, err := a.o.Security.Authenticate(ctx, from)
	if err != nil {
		return nil, err
	}
	if access == nil {
		return nil, errUnknown
	}
	return &caller{access.Name(), access, from.Header}, nil
}

// handshake gives a token for a user and a password. Clients send what follows with it.
func (a *API) handshake(ctx context.Context, s *grpc.Stream) error {
	r := s.Request()
	user, password, basic := r.BasicAuth()
	if _, err := a.identify(ctx, r); err != nil {
		return err
	}
	if basic {
		sealed, err := token{user, secret.NewText(password)}.seal(a)
		if err != nil {
			return err
		}
		s.Header().Set("Authorization", "Bearer "+sealed)
	} else if given := r.Header.Get("Authorization"); given != "" {
		s.Header().Set("Authorization", given)
	}
	_, err := s.Recv() // clients that send none have closed their side
	if fault.Find(err) != nil {
		return err
	}
	return s.Send(nil)
}
