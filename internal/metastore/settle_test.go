package metastore

import (
	"context"
	"strconv"
	"testing"

	"github.com/hengedb/henge/internal/clock"
)

// What became of a transaction is not told by its number alone: PostgreSQL gives the numbers that a
// crash has undone to other transactions.
func TestWhatBecameOfATransaction(t *testing.T) {
	url := postgresURL(t)
	var stores [2]*Store
	for i := range stores {
		s, err := Open(t.Context(), Options{URL: url, Clock: clock.System()})
		if err != nil {
			t.Fatal(err)
		}
		stores[i] = s
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
	}
	write := func(s *Store) (id transaction) {
		t.Helper()
		err := s.write(t.Context(), func(ctx context.Context, tx *tx) error {
			return tx.row(ctx, []any{&id.name, &id.token},
				"SELECT CAST(pg_current_xact_id() AS TEXT), value FROM counters WHERE name = ?", s.tokenRow)
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	s := stores[0]
	earlier, own, other := write(s), write(s), write(stores[1])
	number, err := strconv.ParseInt(other.name, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if earlier.token == own.token {
		t.Errorf("two transactions have the token [%d]", own.token)
	}
	for what, c := range map[string]struct {
		id        transaction
		committed bool
	}{
		"committed":                              {own, true},
		"undone, its number is another's":        {transaction{other.name, newToken(0)}, false},
		"undone, its number is an earlier one's": {transaction{earlier.name, newToken(0)}, false},
		"undone, its number is not given yet":    {transaction{strconv.FormatInt(number+1000000, 10), newToken(0)}, false},
	} {
		committed, ended, err := s.outcome(t.Context(), c.id)
		if committed != c.committed || !ended || err != nil {
			t.Errorf("%s: committed [%t], ended [%t], %v", what, committed, ended, err)
		}
	}
	// Of a transaction that is under way nothing is known yet.
	err = stores[1].write(t.Context(), func(ctx context.Context, tx *tx) error {
		var id transaction
		if err := tx.row(ctx, []any{&id.name}, "SELECT CAST(pg_current_xact_id() AS TEXT)"); err != nil {
			return err
		}
		if committed, ended, err := stores[1].outcome(ctx, id); committed || ended || err != nil {
			t.Errorf("under way: committed [%t], ended [%t], %v", committed, ended, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Rows of processes that ended long ago go when a store is opened.
func TestOldTokensAreForgotten(t *testing.T) {
	url := postgresURL(t)
	s, err := Open(t.Context(), Options{URL: url, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // it was read
	now := s.now()
	for name, at := range map[string]int64{"old": now - tokenAge.Milliseconds() - 1000, "young": now - 1000} {
		if _, err := s.read().exec(t.Context(), "INSERT INTO counters (name, value) VALUES (?, ?)", tokenRows+name, newToken(at)); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Open(t.Context(), Options{URL: url, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close() //nolint:errcheck // it was read
	left, err := list(t.Context(), s.read(), scanText, "SELECT name FROM counters WHERE name IN (?, ?)", tokenRows+"old", tokenRows+"young")
	if err != nil || len(left) != 1 || left[0] != tokenRows+"young" {
		t.Errorf("%v, %v are left", left, err)
	}
}
