package metastore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hengedb/henge/internal/fault"
)

// A commit whose connection breaks may have happened or not. PostgreSQL's own answer,
// pg_xact_status, does not settle it: a PostgreSQL that crashes forgets transactions that were not
// on disk, and gives their numbers to others. So each write transaction also writes a token into a
// row that only this process writes. The token is there exactly if the transaction was committed,
// since a process writes one transaction after another.

const (
	// settleTime is how long the outcome of a commit is asked for whose connection broke.
	settleTime = time.Minute
	// tokenRows begins the names of the rows of tokens, which are counters.
	tokenRows = "commit:"
	// tokenRandomBits is how many bits of a token are random; the bits above are milliseconds.
	tokenRandomBits = 20
	// tokenAge is how old a row of tokens gets: its process has ended, or writes the row again.
	tokenAge = 24 * time.Hour
)

// transaction is a write transaction of PostgreSQL.
type transaction struct {
	name  string // what PostgreSQL calls it
	token int64  // what it writes into the row of its process
}

// newToken returns a token that no other transaction of the process has.
func newToken(now int64) int64 {
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never fails
	return now<<tokenRandomBits | int64(binary.NativeEndian.Uint32(random[:])>>(32-tokenRandomBits))
}

// settle finds out whether a transaction was committed whose connection broke meanwhile. An error:
// nobody can tell.
func (s *Store) settle(ctx context.Context, t transaction) (committed bool, err error) {
	deadline := s.clock.Now().Add(settleTime)
	for {
		committed, ended, err := s.outcome(ctx, t)
		switch {
		case err == nil && ended:
			return committed, nil
		case err != nil && !away(err):
			return false, err
		case s.clock.Now().After(deadline):
			return false, fault.Unavailable("The metadata store can't be reached; whether the last change was made is not known").WithCause(err)
		}
		if err := s.clock.Sleep(ctx, firstPatience); err != nil {
			return false, err
		}
	}
}

// outcome reports whether a transaction has ended, and whether it was committed. The token is read
// after the transaction has ended, or the commit could come between the two.
func (s *Store) outcome(ctx context.Context, t transaction) (committed, ended bool, err error) {
	status := ""
	err = s.read().row(ctx, []any{&status}, "SELECT COALESCE(pg_xact_status(CAST(? AS xid8)), '')", t.name)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "22023" { // in the future: a crash has undone it
		err = nil
	}
	if err != nil || status == "in progress" {
		return false, false, err
	}
	token := int64(0)
	if err = s.read().row(ctx, []any{&token}, "SELECT value FROM counters WHERE name = ?", s.tokenRow); errors.Is(err, errNoRow) {
		return false, true, nil
	}
	return token == t.token, true, err
}

// forgetTokens deletes the rows of processes that ended long ago.
func (s *Store) forgetTokens(ctx context.Context) error {
	if s.dialect.lockWriter == "" {
		return nil
	}
	_, err := s.read().exec(ctx, "DELETE FROM counters WHERE name LIKE ? AND value < ?",
		tokenRows+"%", (s.now()-tokenAge.Milliseconds())<<tokenRandomBits)
	return err
}
