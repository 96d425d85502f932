package metastore

import (
	"context"
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/fault"
)

// operation is one caller's part of a write transaction.
type operation struct {
	ctx context.Context
	run func(context.Context, *tx) error

	tx       tx
	err      error
	panicked any
	finished chan struct{}
}

// tx is an operation inside its transaction.
type tx struct {
	conn
	store *Store
	now   int64 // the clock when the operation began

	entries  []changeEntry // of the change stream, numbered at the end of the operation
	number   int64         // of the change stream; 0 while it has no entry
	released bool          // a lock was released or revoked
	settled  bool          // a setting was written or forgotten
	audited  []AuditEntry  // what was written to the audit history
}

// errCrashed is what a store answers after a fault point said that the process crashed.
var errCrashed = errors.New("the process crashed")

// errClosed marks the fault of a store that is closed: nobody waits for it.
var errClosed = errors.New("closed")

func storeClosed() error {
	return fault.Unavailable("The metadata store is closed").WithCause(errClosed)
}

// write runs an operation in a transaction. It returns when the transaction is on disk or has
// failed: nil is a promise. Operations of many callers share a transaction; each is undone alone if
// it fails. run does no I/O besides statements and must not keep t. It may run several times, each
// but the last in vain: it begins its results anew.
func (s *Store) write(ctx context.Context, run func(ctx context.Context, t *tx) error) error {
	ctx, span := s.beginSpan(ctx)
	err := s.patiently(ctx, func() error { return s.writeOnce(ctx, run) })
	endSpan(span, err)
	return err
}

func (s *Store) writeOnce(ctx context.Context, run func(ctx context.Context, t *tx) error) error {
	op := &operation{ctx: ctx, run: run, finished: make(chan struct{})}
	if err := s.enqueue(op); err != nil {
		return err
	}
	// Not interrupted by ctx: an operation that has begun has an outcome, and the caller is told it.
	<-op.finished
	if op.panicked != nil {
		panic(op.panicked)
	}
	return op.err
}

func (s *Store) enqueue(op *operation) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.mu.closed {
		return storeClosed()
	}
	select {
	case s.queue <- op:
		return nil
	case <-op.ctx.Done():
		return op.ctx.Err()
	}
}

// runWriter is the goroutine that writes. It ends when the queue is closed and empty.
func (s *Store) runWriter(ctx context.Context) {
	defer close(s.done)
	var dead error
	for op := range s.queue {
		group := []*operation{op}
		for more := true; more && len(group) < maxGroup; {
			select {
			case next, ok := <-s.queue:
				if more = ok; ok {
					group = append(group, next)
				}
			default:
				more = false
			}
		}
		if dead == nil {
			if err := s.writeGroup(ctx, group); errors.Is(err, errCrashed) {
				dead = err
			}
		} else {
			failAll(group, dead)
		}
		for _, op := range group {
			close(op.finished)
		}
	}
}

func failAll(group []*operation, err error) {
	for _, op := range group {
		op.err = err
	}
}

// writeGroup runs operations in one transaction. Each sees what those before it wrote, so none is
// answered before the commit: what it saw, and why it failed, is only true from then on.
func (s *Store) writeGroup(ctx context.Context, group []*operation) error {
	err := s.tryGroup(ctx, group)
	if err != nil && isFull(err) && s.options.MakeRoom != nil && s.options.MakeRoom() {
		err = s.tryGroup(ctx, group)
	}
	if err != nil {
		failAll(group, err)
		return err
	}
	for _, word := range written(group) {
		s.wake(word)
	}
	for _, op := range group {
		if op.err == nil && s.options.Audited != nil {
			for _, e := range op.tx.audited {
				s.options.Audited(e)
			}
		}
	}
	return s.afterCommit(group)
}

// written says what of that others wait for a group has written, in the words that processes tell
// each other.
func written(group []*operation) (words []string) {
	changed, released, settled := false, false, false
	for _, op := range group {
		changed = changed || op.err == nil && op.tx.number > 0
		released = released || op.err == nil && op.tx.released
		settled = settled || op.err == nil && op.tx.settled
	}
	for word, is := range map[string]bool{notifyChange: changed, notifyUnlock: released, notifySettings: settled} {
		if is {
			words = append(words, word)
		}
	}
	return words
}

func (s *Store) tryGroup(ctx context.Context, group []*operation) error {
	t, err := s.writers.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.explain(err)
	}
	defer t.Rollback() //nolint:errcheck // after a commit it does nothing
	c := conn{dialect: s.dialect, sealer: s.options.Sealer, db: t}
	var id transaction
	if s.dialect.lockWriter != "" {
		id.token = newToken(s.now())
		if err := c.row(ctx, []any{&id.name}, s.dialect.lockWriter, s.tokenRow, id.token); err != nil {
			return err
		}
	}
	for _, op := range group {
		if op.err = op.ctx.Err(); op.err != nil {
			continue
		}
		if _, err := c.exec(ctx, "SAVEPOINT operation"); err != nil {
			return err
		}
		if s.options.repeat {
			op.tx = tx{conn: c, store: s, now: s.now()}
			op.call(ctx)
			if errors.Is(op.err, errCrashed) {
				return op.err
			}
			if _, err := c.exec(ctx, "ROLLBACK TO SAVEPOINT operation"); err != nil {
				return err
			}
		}
		op.tx = tx{conn: c, store: s, now: s.now()}
		op.call(ctx)
		if errors.Is(op.err, errCrashed) {
			return op.err
		}
		if op.err != nil || op.panicked != nil {
			if _, err := c.exec(ctx, "ROLLBACK TO SAVEPOINT operation"); err != nil {
				// The database gave the transaction up, for example because the disk is full.
				return errors.Join(op.err, err)
			}
		}
		if _, err := c.exec(ctx, "RELEASE SAVEPOINT operation"); err != nil {
			return err
		}
	}
	if err := c.tell(ctx, written(group)...); err != nil {
		return err
	}
	if err := t.Commit(); err != nil {
		err = s.dialect.explain(err)
		if id.name == "" || !away(err) {
			return fmt.Errorf("committing to the metadata store: %w", err)
		}
		committed, unknown := s.settle(ctx, id)
		if unknown != nil {
			return fault.Runtime("The connection to the metadata store broke, and whether the last change was made is not known").WithCause(errors.Join(err, unknown))
		}
		if !committed {
			return fmt.Errorf("committing to the metadata store: %w", err)
		}
	}
	return nil
}

// call runs the operation. A panic is carried to the goroutine of the caller, whose bug it is.
func (op *operation) call(ctx context.Context) {
	defer func() { op.panicked = recover() }()
	if op.err = FenceOf(op.ctx).check(ctx, &op.tx); op.err != nil {
		return
	}
	op.err = op.run(ctx, &op.tx)
	if op.err == nil {
		op.err = op.tx.writeChanges(ctx)
	}
}

// afterCommit is the last fault point of publishing: the transaction is on disk and nobody has been
// told.
func (s *Store) afterCommit(group []*operation) error {
	for _, op := range group {
		if op.err == nil && op.tx.number > 0 {
			if err := s.step(stepCommitted); err != nil {
				failAll(group, err)
				return err
			}
		}
	}
	return nil
}

// step tells the fault point where the process is.
func (s *Store) step(name string) error {
	if s.options.FaultPoint == nil {
		return nil
	}
	if err := s.options.FaultPoint(name); err != nil {
		return fmt.Errorf("%w at step [%s]: %w", errCrashed, name, err)
	}
	return nil
}

// counter adds n to a counter and returns the new value.
func (t *tx) counter(ctx context.Context, name string, n int64) (value int64, err error) {
	err = t.row(ctx, []any{&value}, "UPDATE counters SET value = value + ? WHERE name = ? RETURNING value", n, name)
	if errors.Is(err, errNoRow) {
		value = n
		_, err = t.exec(ctx, "INSERT INTO counters (name, value) VALUES (?, ?)", name, n)
	}
	return value, err
}
