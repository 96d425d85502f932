package basic

import (
	"context"
	"net"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// Entry is what is known of a user beside the name.
type Entry struct {
	// Groups are the distinguished names of the user's groups, Attributes what its entry says.
	Groups     []string
	Attributes map[string][]string
}

// Validator verifies the passwords of users. It is safe for concurrent use.
type Validator interface {
	// Validate tells whether a password is that of a user: Unknown, Wrong or Right. Peer is the host
	// that the attempt comes from. An error says that nothing can be told; fault.Unavailable becomes
	// status 503.
	Validate(ctx context.Context, user, password, peer string) (Outcome, Entry, error)
}

// Filter reads the basic credentials of requests and has them validated.
type Filter struct {
	// Name is that of the authenticator, Authorizer the one that decides for its users.
	Name, Authorizer string
	// PassOn has requests of unknown users go on to the next authenticator.
	PassOn    bool
	Validator Validator
}

// Authenticate implements auth.Authenticator. What it says does not tell unknown users from wrong
// passwords.
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
