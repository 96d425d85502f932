package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// Member is a process in one of its roles, as it announces itself to the others.
type Member struct {
	Role string
	// Address is host:port. Role and address together are one member's, whatever process is behind
	// them.
	Address string
	// Holder is the process: the identity of its data directory, which survives a restart.
	Holder string
	// Epoch grows when another process takes the member over.
	Epoch int64
	// Payload describes the member. Others read it.
	Payload json.RawMessage
	// Held is whether the announcement has not run out, by the database's clock at the time of
	// reading, and Left how long it lasts from then on.
	Held bool
	Left time.Duration
}

// forgetMembers is how long after its end an announcement is still shown, as one that ran out.
const forgetMembers = time.Hour

// Announce tells that a process is there in some roles, for a time, and in no others. An address
// that another process has announced in the same role, and still holds, is refused.
func (s *Store) Announce(ctx context.Context, holder string, members []Member, ttl time.Duration) error {
	defer s.joined.raise()
	return s.onLease(ctx, func(ctx context.Context, c conn) error {
		now := s.dialect.now
		_, err := c.exec(ctx, "DELETE FROM members WHERE holder = ? OR expires < "+now+" - ?", holder, forgetMembers.Milliseconds())
		if err != nil {
			return err
		}
		for _, m := range members {
			var epoch int64
			err := c.row(ctx, []any{&epoch}, "INSERT INTO members (role, address, holder, epoch, expires, payload) VALUES (?, ?, ?, 1, "+now+" + ?, ?) "+
				"ON CONFLICT (role, address) DO UPDATE SET holder = excluded.holder, epoch = members.epoch + 1, expires = excluded.expires, "+
				"payload = excluded.payload WHERE members.expires <= "+now+" RETURNING epoch",
				m.Role, m.Address, holder, ttl.Milliseconds(), jsonText(m.Payload))
			if errors.Is(err, errNoRow) {
				return fault.Conflict("Another process is the [%s] at [%s]. Stop it, or give this one another service.host or port.", m.Role, m.Address)
			}
			if err != nil {
				return err
			}
		}
		return c.tell(ctx, toldMembers)
	})
}

// RenewMembers extends the announcements of a process and returns how many it has.
func (s *Store) RenewMembers(ctx context.Context, holder string, ttl time.Duration) (count int64, err error) {
	err = s.onLease(ctx, func(ctx context.Context, c conn) error {
		count, err = c.exec(ctx, "UPDATE members SET expires = "+s.dialect.now+" + ? WHERE holder = ?", ttl.Milliseconds(), holder)
		return err
	})
	return count, err
}

// Withdraw ends the announcements of a process.
func (s *Store) Withdraw(ctx context.Context, holder string) error {
	defer s.joined.raise()
	return s.onLease(ctx, func(ctx context.Context, c conn) error {
		if _, err := c.exec(ctx, "DELETE FROM members WHERE holder = ?", holder); err != nil {
			return err
		}
		return c.tell(ctx, toldMembers)
	})
}

// MembersChanged returns a channel that is closed when a process announces itself or withdraws. One
// that shares the database only and can't tell (listen.go) is found by looking.
func (s *Store) MembersChanged() <-chan struct{} { return s.joined.next() }

// Members returns what was announced, by role and address, also what has run out not long ago.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	var out []Member
	err := s.read().each(ctx, func(rows *sql.Rows) error {
		var m Member
		var payload string
		var left int64
		if err := rows.Scan(&m.Role, &m.Address, &m.Holder, &m.Epoch, &payload, &left); err != nil {
			return err
		}
		m.Payload, m.Held, m.Left = json.RawMessage(payload), left > 0, leftOf(left)
		out = append(out, m)
		return nil
	}, "SELECT role, address, holder, epoch, payload, expires - "+s.dialect.now+" FROM members ORDER BY role, address")
	return out, err
}
