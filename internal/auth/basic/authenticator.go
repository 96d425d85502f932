package basic

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Outcome is what became of an attempt to log in.
type Outcome uint8

// The outcomes. Absent and Malformed are those of a header, Right is that of one that can be read;
// Unknown, Wrong and Right are those of a password.
const (
	// Absent: there are no basic credentials in the request.
	Absent Outcome = iota
	// Malformed: there are, but nobody can read them.
	Malformed
	// Unknown: there is no such user, or the user has no password.
	Unknown
	// Wrong: the password is not the user's.
	Wrong
	// Right: it is.
	Right
)

// ParseHeader reads the credentials of an Authorization header (spec/security.md, section 2). The
// user's name ends before the first colon; the password may have colons.
func ParseHeader(header string) (user, password string, outcome Outcome) {
	const scheme = "basic "
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", "", Absent
	}
	encoded := strings.TrimRight(strings.TrimSpace(header[len(scheme):]), "=")
	text, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil || !utf8.Valid(text) {
		return "", "", Malformed
	}
	user, password, found := strings.Cut(string(text), ":")
	if !found {
		return "", "", Malformed
	}
	return user, password, Right
}

// Options of an authenticator.
type Options struct {
	// Iterations are those of the hash that is computed for users that don't exist.
	Iterations int
	// PassOn says that attempts of unknown users go on to the next authenticator.
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

// NewAuthenticator returns an authenticator that knows no users yet.
func NewAuthenticator(name string, o Options) *Authenticator {
	return &Authenticator{
		name: name, o: o, hasher: newHasher(o.Clock), limit: newLimiter(o.Clock),
		dummy: &Credential{Salt: random(saltBytes), Hash: random(hashBytes), Iterations: o.Iterations},
	}
}

// Name returns the name of the authenticator.
func (a *Authenticator) Name() string { return a.name }

// Loaded reports whether the users are known.
func (a *Authenticator) Loaded() bool { return a.users.Load() != nil }

// Load takes new users, as Users.Read returns them.
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

// Verify tells whether a password is that of a user. Peer is the address that the attempt comes
// from: after many failures for one user its attempts for that user are refused for a while. An
// error says that nothing can be told, as before the users are loaded.
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
