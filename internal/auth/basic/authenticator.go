package basic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Outcome is the outcome of a login attempt.
type Outcome uint8

// The outcomes. Absent, Malformed and Right are outcomes of parsing a header. Unknown, Wrong, Right
// and Undecided are outcomes of verifying a password.
const (
	// Absent: the request has no basic credentials.
	Absent Outcome = iota
	// Malformed: the credentials can't be parsed.
	Malformed
	// Unknown: the user does not exist or has no password.
	Unknown
	// Wrong: the password is wrong.
	Wrong
	// Right: the password is correct.
	Right
	// Undecided: the password can't be verified. This is not a failed attempt, but the login is
	// rejected.
	Undecided
)

// ParseHeader parses the credentials of an Authorization header (docs/security.md). The user name
// ends at the first colon; the password may contain colons. Both are UTF-8 or, if that is invalid,
// Latin-1.
func ParseHeader(header string) (user, password string, outcome Outcome) {
	const scheme = "basic "
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", "", Absent
	}
	encoded := strings.TrimRight(strings.TrimSpace(header[len(scheme):]), "=")
	text, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return "", "", Malformed
	}
	user, password, found := strings.Cut(auth.CredentialText(string(text)), ":")
	if !found {
		return "", "", Malformed
	}
	return user, password, Right
}

// Options are the settings of an authenticator.
type Options struct {
	// Iterations is the number of iterations of the hash that is computed for unknown users.
	Iterations int
	// PassOn passes attempts of unknown users on to the next authenticator.
	PassOn bool
	Clock  clock.Clock
}

// Authenticator verifies the passwords of users of the credential store. It is safe for concurrent
// use.
type Authenticator struct {
	name   string
	o      Options
	hasher *hasher
	limit  *limiter
	dummy  *Credential
	users  atomic.Pointer[map[string]User]
}

// NewAuthenticator returns an authenticator without users.
func NewAuthenticator(name string, o Options) *Authenticator {
	return &Authenticator{
		name: name, o: o, hasher: newHasher(o.Clock), limit: newLimiter(o.Clock),
		dummy: &Credential{Salt: random(saltBytes), Hash: random(hashBytes), Iterations: o.Iterations},
	}
}

// Name returns the name of the authenticator.
func (a *Authenticator) Name() string { return a.name }

// Loaded reports whether users were loaded.
func (a *Authenticator) Loaded() bool { return a.users.Load() != nil }

// Load replaces the users with text, as Users.Read returns it.
func (a *Authenticator) Load(text []byte) error {
	var users map[string]User
	if err := json.Unmarshal(text, &users); err != nil {
		return fmt.Errorf("reading the users of authenticator [%s]: %w", a.name, err)
	}
	if users == nil {
		return fault.InvalidInput("The users of authenticator [%s] are null", a.name)
	}
	for name, u := range users {
		if u.Credential == nil {
			continue
		}
		if err := u.Credential.valid(); err != nil {
			return fmt.Errorf("reading user [%s] of authenticator [%s]: %w", name, a.name, err)
		}
	}
	a.users.Store(&users)
	return nil
}

// Verify verifies the password of a user. peer is the address of the client. After many failures
// for one user, attempts from the address for that user are rejected for a while. An error means
// that the password can't be verified, for example because the users are not loaded yet.
func (a *Authenticator) Verify(ctx context.Context, user, password, peer string) (Outcome, error) {
	users := a.users.Load()
	if users == nil {
		return Unknown, a.notLoaded()
	}
	if a.limit.blocked(user, peer) {
		return Wrong, a.o.Clock.Sleep(ctx, refusalDelay)
	}
	u, found := (*users)[user]
	if !found || u.Credential == nil {
		if err := a.hasher.waste(ctx, user, password, a.dummy, a.o.PassOn); err != nil {
			return Unknown, err
		}
		if !a.o.PassOn {
			a.limit.failed(user, peer)
		}
		return Unknown, nil
	}
	right, err := a.hasher.verify(ctx, user, password, u.Credential)
	switch {
	case err != nil:
		return Wrong, err
	case !right:
		a.limit.failed(user, peer)
		return Wrong, nil
	}
	return Right, nil
}

// notLoaded is why nothing can be told yet.
func (a *Authenticator) notLoaded() error {
	return fault.Unavailable("The users of authenticator [%s] are not loaded yet; try again in a moment", a.name)
}
