package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// Member is the announcement of a process in one of its roles.
type Member struct {
	Role string
	// Address is host:port. Role and address identify a member, regardless of the process behind them.
	Address string
	// Holder is the process: the identity of its data directory, which survives a restart.
	Holder string
	// Epoch increases when another process takes over the member.
	Epoch int64
	// Payload describes the member for other processes.
	Payload json.RawMessage
	// Held is true if the announcement had not expired by the database clock when it was read, and
	// Left is the remaining time at that moment.
	Held bool
	Left time.Duration
}

// forgetMembers is how long after its end an announcement is still shown, as one that ran out.
const forgetMembers = time.Hour

// Announce announces a process in the given roles for some time, and withdraws its other roles. It
// rejects an address that another process has announced in the same role and still holds.
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
				return fault.Conflict("Another process is already the [%s] at [%s]. Stop it, or set another service.host or port for this "+
					"process.", m.Role, m.Address)
			}
			if err != nil {
				return err
			}
		}
		return c.tell(ctx, notifyMembers)
	})
}

// RenewMembers extends the announcements of a process and returns their number.
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
		return c.tell(ctx, notifyMembers)
	})
}

// MembersChanged returns a channel that is closed when a process announces itself or withdraws.
// Changes by processes that cannot notify this one (listen.go) are found by polling.
func (s *Store) MembersChanged() <-chan struct{} { return s.joined.next() }

// Members returns the announcements by role and address, including recently expired ones.
func (s *Store) Members(ctx context.Context) ([]Member, error) {
	var out []Member
	err := s.read().gather(ctx, func() { out = nil }, func(rows *sql.Rows) error {
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
