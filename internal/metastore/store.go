package metastore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/timeline"
)

// Store is an open metadata store. All methods are safe for use by many goroutines.
type Store struct {
	options Options
	clock   clock.Clock
	dialect *dialect
	readers *sql.DB
	writers *sql.DB // SQLite: one connection. PostgreSQL: the same as readers.

	tokenRow string // the counter that this process writes its tokens to (settle)

	queue  chan *operation
	done   chan struct{} // closed when the writer goroutine has ended
	cancel context.CancelFunc

	changed  signal // a new number in the change stream
	unlocked signal // a lock was released or revoked
	joined   signal // a process announced itself, or withdrew
	settled  signal // a setting was written or forgotten

	listener *pgx.ConnConfig // of the connection that listens; nil: there are no other processes
	listened chan struct{}   // closed when nobody listens any more
	heard    atomic.Bool     // what other processes tell arrives

	schemas sync.Map // fingerprint to *timeline.Schema

	mu struct {
		sync.RWMutex
		closed bool
	}
}

// Open opens the store, creates it if it does not exist, and migrates its schema to this release.
// It rejects a store that a newer release wrote, unless that release permits older ones to share
// it. The caller closes the store.
func Open(ctx context.Context, options Options) (*Store, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	s := &Store{
		options:  options,
		clock:    options.Clock,
		tokenRow: tokenRows + rand.Text(),
		queue:    make(chan *operation, maxGroup),
		done:     make(chan struct{}),
	}
	open := s.openSQLite
	if options.URL != "" {
		open = s.openPostgres
	}
	if err := open(ctx); err != nil {
		_ = s.closeDatabases() // the reason for not opening is the better error
		return nil, err
	}
	for _, prepare := range []func(context.Context) error{s.migrate, s.reseal, s.forgetTokens} {
		if err := prepare(ctx); err != nil {
			_ = s.closeDatabases() // the reason for not opening is the better error
			return nil, err
		}
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.runWriter(background)
	s.listened = make(chan struct{})
	if s.listener == nil {
		close(s.listened)
	} else {
		go s.listen(background)
	}
	return s, nil
}

// Close waits for running operations and closes the store. Later operations fail.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.mu.closed
	s.mu.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	close(s.queue) // No sender is left: write holds the read lock while it sends.
	<-s.done
	s.cancel()
	<-s.listened
	s.changed.raise()
	s.unlocked.raise()
	return s.closeDatabases()
}

func (s *Store) closeDatabases() error {
	var err error
	if s.writers != nil && s.writers != s.readers {
		err = s.writers.Close()
	}
	if s.readers != nil {
		if e := s.readers.Close(); err == nil {
			err = e
		}
	}
	return err
}

func (s *Store) now() int64 { return clock.Millis(s.clock) }

// read is the connection for statements that only read, each on its own.
func (s *Store) read() conn {
	return conn{dialect: s.dialect, sealer: s.options.Sealer, store: s, db: s.readers}
}

// view runs fn on one snapshot of the store. If the connection breaks on the way, fn runs again for
// who is patient, on another snapshot: it must begin anew.
func (s *Store) view(ctx context.Context, fn func(conn) error) (err error) {
	ctx, span := s.beginSpan(ctx)
	defer func() { endSpan(span, err) }()
	options := &sql.TxOptions{ReadOnly: true}
	if s.dialect.numbered {
		options.Isolation = sql.LevelRepeatableRead
	}
	return s.patiently(ctx, func() error {
		t, err := s.readers.BeginTx(ctx, options)
		if err != nil {
			return s.dialect.failed(ctx, err)
		}
		defer t.Rollback() //nolint:errcheck // nothing was written
		c := conn{dialect: s.dialect, sealer: s.options.Sealer, db: t}
		if s.options.repeat {
			if err := fn(c); err != nil {
				return err
			}
		}
		return fn(c)
	})
}

// schema returns the schema with a fingerprint, which must be stored.
func (s *Store) schema(ctx context.Context, c conn, fingerprint string) (*timeline.Schema, error) {
	if known, ok := s.schemas.Load(fingerprint); ok {
		return known.(*timeline.Schema), nil
	}
	var payload string
	if err := c.row(ctx, []any{&payload}, "SELECT payload FROM schemas WHERE fingerprint = ?", fingerprint); err != nil {
		return nil, err
	}
	parsed, err := timeline.ParseSchema([]byte(payload))
	if err != nil {
		return nil, err
	}
	kept, _ := s.schemas.LoadOrStore(fingerprint, parsed)
	return kept.(*timeline.Schema), nil
}

// await returns when a signal of this process comes or, where other processes write too, a poll is
// due.
func (s *Store) await(ctx context.Context, raised <-chan struct{}, poll time.Duration) error {
	s.mu.RLock()
	closed := s.mu.closed
	s.mu.RUnlock()
	if closed {
		return storeClosed()
	}
	var due <-chan time.Time
	if s.dialect.lockWriter != "" {
		if s.heard.Load() {
			poll = max(poll, pollHeard)
		}
		timer := s.clock.NewTimer(poll)
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-raised:
	case <-due:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// signal wakes all who wait for it.
type signal struct {
	mu      sync.Mutex
	waiting chan struct{}
}

// next returns a channel that is closed when the signal is raised after this call.
func (g *signal) next() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = make(chan struct{})
	}
	return g.waiting
}

func (g *signal) raise() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting != nil {
		close(g.waiting)
		g.waiting = nil
	}
}
