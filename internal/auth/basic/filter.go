package basic

import (
	"context"
	"net"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// Entry is the information about a user besides the name.
type Entry struct {
	// Groups are the distinguished names of the user's groups. Attributes are the attributes of the
	// user's entry.
	Groups     []string
	Attributes map[string][]string
}

// Validator verifies the passwords of users. It is safe for concurrent use.
type Validator interface {
	// Validate verifies the password of a user and returns Unknown, Wrong or Right. peer is the host
	// of the client. An error means that the password can't be verified; fault.Unavailable becomes
	// status 503.
	Validate(ctx context.Context, user, password, peer string) (Outcome, Entry, error)
}

// Filter parses the basic credentials of requests and validates them.
type Filter struct {
	// Name is the name of the authenticator, Authorizer the authorizer of its users.
	Name, Authorizer string
	// PassOn passes requests of unknown users on to the next authenticator.
	PassOn    bool
	Validator Validator
}

// Authenticate implements auth.Authenticator. Its errors do not distinguish unknown users from
// wrong passwords.
func (f *Filter) Authenticate(ctx context.Context, r *auth.Request) (*auth.Identity, error) {
	user, password, outcome := ParseHeader(r.Header.Get("Authorization"))
	switch outcome {
	case Absent:
		return nil, nil //nolint:nilnil // the next authenticator is asked
	case Malformed:
		return nil, fault.Unauthorized("The credentials of the request are malformed")
	}
	outcome, entry, err := f.Validator.Validate(ctx, user, password, host(r.Peer))
	switch {
	case err != nil:
		return nil, err
	case outcome == Right:
		return &auth.Identity{Name: user, Authorizer: f.Authorizer, By: f.Name, Groups: entry.Groups, Attributes: entry.Attributes}, nil
	case outcome == Unknown && f.PassOn:
		return nil, nil //nolint:nilnil // likewise
	}
	return nil, fault.Unauthorized("User authentication failed.")
}

// Challenge implements auth.Authenticator.
func (*Filter) Challenge() string { return "Basic" }

// host returns an address without its port.
func host(peer string) string {
	if h, _, err := net.SplitHostPort(peer); err == nil {
		return h
	}
	return peer
}

// Validate implements Validator.
func (a *Authenticator) Validate(ctx context.Context, user, password, peer string) (Outcome, Entry, error) {
	outcome, err := a.Verify(ctx, user, password, peer)
	return outcome, Entry{}, err
}
