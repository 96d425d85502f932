package metastore

import (
	"context"
	"errors"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// ErrDeposed marks the fault of a write by a leader, or by a runner of a task, that has a
// successor.
var ErrDeposed = errors.New("deposed")

// Lease is the leadership of one name, for example "coordinator", until an instant of the database
// clock.
type Lease struct {
	Name string
	// Holder identifies the process, Address is its address.
	Holder, Address string
	// Epoch increases with every acquisition. Zero: the lease was never held.
	Epoch int64
	// Held is true if the lease had not expired by the database clock when it was read, and Left is
	// the remaining time at that moment.
	Held bool
	Left time.Duration
	// Released is true if the holder has released the lease.
	Released bool
}

// Fence returns the fence for the writes of the leader.
func (l Lease) Fence() Fence { return Fence{Lease: l.Name, Holder: l.Holder, Epoch: l.Epoch} }

// Fence permits a write only while an epoch of a lease is the newest, or while a task is active and
// a run of it is the newest. The zero value does not check anything; it is for other writers.
type Fence struct {
	Lease string
	// Holder is the required holder of the lease; empty: any. A database that has lost its last
	// commits can assign an epoch to a second holder.
	Holder string
	// Task is set for writers that run a task; Lease is then empty, and Epoch is the number of the
	// run.
	Task  string
	Epoch int64
}

type fenceKey struct{}

// WithFence returns a context under which every write to the store requires that the epoch of f is
// the newest, in addition to the conditions of the write itself. A leader does all of its work
// under such a context.
func WithFence(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// FenceOf returns the fence of a context; the zero value if there is none.
func FenceOf(ctx context.Context) Fence {
	f, _ := ctx.Value(fenceKey{}).(Fence)
	return f
}

// check refuses the transaction if the epoch is not the newest. The row can't change before the
// transaction ends.
func (f Fence) check(ctx context.Context, t *tx) error {
	if f == (Fence{}) {
		return nil
	}
	if f.Task != "" {
		return f.checkRun(ctx, t)
	}
	var epoch int64
	var holder string
	err := t.row(ctx, []any{&epoch, &holder}, "SELECT epoch, holder FROM leases WHERE name = ?"+t.dialect.lockRow, f.Lease)
	if err != nil && !errors.Is(err, errNoRow) {
		return err
	}
	if epoch != f.Epoch || epoch == 0 { // a lease that was never held has no row that could be locked against its first holder
		return fault.Unavailable("This process is no longer the leader for [%s]: its epoch [%d] was followed by epoch [%d]",
			f.Lease, f.Epoch, epoch).WithCause(ErrDeposed)
	}
	if f.Holder != "" && holder != f.Holder {
		return fault.Unavailable("This process is no longer the leader for [%s]: its epoch [%d] was given to another process", f.Lease, f.Epoch).WithCause(ErrDeposed)
	}
	return nil
}

// checkRun refuses the transaction if the run is not the newest of an active task.
func (f Fence) checkRun(ctx context.Context, t *tx) error {
	var run, active int64
	err := t.row(ctx, []any{&run, &active}, "SELECT run, active FROM tasks WHERE id = ?"+t.dialect.lockRow, f.Task)
	if err != nil && !errors.Is(err, errNoRow) {
		return err
	}
	if run != f.Epoch || active == 0 {
		return fault.Unavailable("This process no longer runs task [%s]: its run [%d] has ended or was followed by another", f.Task, f.Epoch).
			WithCause(ErrDeposed)
	}
	return nil
}

// CheckFence returns the fault of a write under ctx if the fence of ctx no longer holds.
func (s *Store) CheckFence(ctx context.Context) error {
	if FenceOf(ctx) == (Fence{}) {
		return nil
	}
	return s.write(ctx, func(context.Context, *tx) error { return nil })
}

// AcquireLease acquires a lease if it is free, or if the caller already holds it (after a restart;
// the epoch increases too). If another process holds it, the result is the lease of that process
// and false.
func (s *Store) AcquireLease(ctx context.Context, name, holder, address string, ttl time.Duration) (lease Lease, acquired bool, err error) {
	err = s.onLease(ctx, func(ctx context.Context, c conn) error {
		now := s.dialect.now
		lease = Lease{Name: name, Holder: holder, Address: address, Held: true}
		err := c.row(ctx, []any{&lease.Epoch},
			"INSERT INTO leases (name, holder, address, epoch, expires) VALUES (?, ?, ?, 1, "+now+" + ?) "+
				"ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, address = excluded.address, epoch = leases.epoch + 1, "+
				"expires = excluded.expires WHERE leases.expires <= "+now+" OR leases.holder = excluded.holder RETURNING epoch",
			name, holder, address, ttl.Milliseconds())
		if acquired = err == nil; !errors.Is(err, errNoRow) {
			return err
		}
		lease, err = s.lease(ctx, c, name)
		return err
	})
	return lease, acquired, err
}

// RenewLease extends a lease. False: another process has acquired it, and this process must stop
// leading.
func (s *Store) RenewLease(ctx context.Context, lease Lease, ttl time.Duration) (renewed bool, err error) {
	err = s.onLease(ctx, func(ctx context.Context, c conn) error {
		n, err := c.exec(ctx, "UPDATE leases SET expires = "+s.dialect.now+" + ? WHERE name = ? AND holder = ? AND epoch = ?",
			ttl.Milliseconds(), lease.Name, lease.Holder, lease.Epoch)
		renewed = n > 0
		return err
	})
	return renewed, err
}

// ReleaseLease releases a lease, so that another process can acquire it immediately. It does not
// change a lease that was already lost.
func (s *Store) ReleaseLease(ctx context.Context, lease Lease) error {
	return s.onLease(ctx, func(ctx context.Context, c conn) error {
		_, err := c.exec(ctx, "UPDATE leases SET expires = 0 WHERE name = ? AND holder = ? AND epoch = ?", lease.Name, lease.Holder, lease.Epoch)
		return err
	})
}

// Leader returns the newest lease of a name; its epoch is zero if it was never held.
func (s *Store) Leader(ctx context.Context, name string) (Lease, error) {
	return s.lease(ctx, s.read(), name)
}

func (s *Store) lease(ctx context.Context, c conn, name string) (Lease, error) {
	l := Lease{Name: name}
	var left, expires int64
	err := c.row(ctx, []any{&l.Holder, &l.Address, &l.Epoch, &left, &expires},
		"SELECT holder, address, epoch, expires - "+s.dialect.now+", expires FROM leases WHERE name = ?", name)
	if errors.Is(err, errNoRow) {
		return l, nil
	}
	l.Held, l.Left, l.Released = left > 0, leftOf(left), expires == 0
	return l, err
}

// leftOf returns the time that is left of a lease, by its milliseconds.
func leftOf(millis int64) time.Duration { return time.Duration(max(millis, 0)) * time.Millisecond }

// onLease runs statements that change a lease. On PostgreSQL they don't wait for the turn of
// writers, or a long transaction of one process would cost another its lease; the row's lock, which
// Fence.check takes too, is enough.
func (s *Store) onLease(ctx context.Context, run func(context.Context, conn) error) error {
	if s.dialect.lockWriter != "" {
		return run(ctx, s.read())
	}
	return s.write(ctx, func(ctx context.Context, t *tx) error { return run(ctx, t.conn) })
}
