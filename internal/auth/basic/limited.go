package basic

import (
	"context"

	"github.com/hengedb/henge/internal/clock"
)

// Limited is a Validator that rejects attempts of a peer for a user after many failures, as
// Authenticator does for users of the credential store. It is safe for concurrent use.
type Limited struct {
	by     Validator
	limit  *limiter
	clock  clock.Clock
	passOn bool
}

// NewLimited returns a Limited. With passOn, attempts for users that by does not know are not
// counted, because the next authenticator handles them.
func NewLimited(by Validator, passOn bool, c clock.Clock) *Limited {
	return &Limited{by, newLimiter(c), c, passOn}
}

// Validate implements Validator.
func (l *Limited) Validate(ctx context.Context, user, password, peer string) (Outcome, Entry, error) {
	if l.limit.blocked(user, peer) {
		return Wrong, Entry{}, l.clock.Sleep(ctx, refusalDelay)
	}
	outcome, entry, err := l.by.Validate(ctx, user, password, peer)
	if err == nil && (outcome == Wrong || outcome == Unknown && !l.passOn) {
		l.limit.failed(user, peer)
	}
	if outcome == Undecided {
		outcome = Unknown
	}
	return outcome, entry, err
}
