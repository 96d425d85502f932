package cluster

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
)

// Leases elects leaders.
type Leases interface {
	AcquireLease(ctx context.Context, name, holder, address string, ttl time.Duration) (metastore.Lease, bool, error)
	RenewLease(ctx context.Context, lease metastore.Lease, ttl time.Duration) (bool, error)
	ReleaseLease(ctx context.Context, lease metastore.Lease) error
	Leader(ctx context.Context, name string) (metastore.Lease, error)
}

// looksPerLease is how often in the time of a lease those who don't hold it look whether somebody
// does.
const looksPerLease = 6

// LeaderOptions configure a Leadership.
type LeaderOptions struct {
	// Name is the led role: coordinator or overlord.
	Name string
	// Holder is this process, Address its URL in that role. Without an address, the process only
	// observes the leader.
	Holder, Address string
	// TTL is the duration of a lease that is not renewed.
	TTL   time.Duration
	Clock clock.Clock
	Log   *slog.Logger
}

// Leadership tracks the leader of a name, and makes this process the leader if there is none. All
// methods are safe for use by many goroutines.
type Leadership struct {
	o      LeaderOptions
	leases Leases // nil: this process leads, and no other could
	seen   sighting

	mu struct {
		sync.Mutex
		lease   metastore.Lease // the newest seen
		leading bool            // this process holds it
		lost    bool            // it is not given up at the end
	}
}

// sighting is a leadership as it was seen last. The database's clock may go forward by any time,
// and then every lease has run out for it: what was left of one when it was read lasts for as long
// by this process's clock, unless its holder has given it up.
type sighting struct {
	holder string
	epoch  int64
	until  time.Time
}

// believe returns a lease, read at an instant, as held if it still is by what was seen of it.
func (l *Leadership) believe(lease metastore.Lease, at time.Time) metastore.Lease {
	if lease.Holder != l.seen.holder || lease.Epoch != l.seen.epoch || lease.Released {
		l.seen = sighting{holder: lease.Holder, epoch: lease.Epoch, until: at}
	}
	// More than a whole lease is a clock that has gone backward.
	if until := at.Add(min(lease.Left, l.o.TTL)); until.After(l.seen.until) {
		l.seen.until = until
	}
	lease.Held = lease.Held || at.Before(l.seen.until)
	return lease
}

// NewLeadership returns the leadership of o.Name. Nothing happens before Run.
func NewLeadership(leases Leases, o LeaderOptions) *Leadership {
	return &Leadership{o: o, leases: leases}
}

// Run leads whenever possible until ctx is done. It calls lead with a context that ends with the
// leadership and fences all writes under it; lead must return soon afterwards. The lease is
// released when lead has returned.
func (l *Leadership) Run(ctx context.Context, lead func(ctx context.Context) error) error {
	if l.leases == nil {
		l.set(metastore.Lease{Name: l.o.Name, Holder: l.o.Holder, Address: l.o.Address, Held: true}, true)
		return lead(ctx)
	}
	ticker := l.o.Clock.NewTicker(l.o.TTL / looksPerLease)
	defer ticker.Stop()
	for {
		asked := l.o.Clock.Now()
		lease, acquired, err := l.acquire(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			l.o.Log.WarnContext(ctx, "leader is unknown", "role", l.o.Name, "error", err)
		case acquired:
			l.o.Log.InfoContext(ctx, "became leader", "role", l.o.Name, "epoch", lease.Epoch)
			if err := l.lead(ctx, lease, asked, lead); err != nil {
				return err
			}
			l.o.Log.InfoContext(ctx, "lost leadership", "role", l.o.Name, "epoch", lease.Epoch)
		default:
			l.set(lease, false)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// acquire looks who leads, and takes the lease if nobody does.
func (l *Leadership) acquire(ctx context.Context) (metastore.Lease, bool, error) {
	at := l.o.Clock.Now()
	lease, err := l.leases.Leader(ctx, l.o.Name)
	if err != nil {
		return lease, false, err
	}
	lease = l.believe(lease, at)
	if l.o.Address == "" || lease.Held && lease.Holder != l.o.Holder {
		return lease, false, nil
	}
	at = l.o.Clock.Now()
	lease, acquired, err := l.leases.AcquireLease(ctx, l.o.Name, l.o.Holder, l.o.Address, l.o.TTL)
	if err == nil && !acquired {
		lease = l.believe(lease, at)
	}
	return lease, acquired, err
}

// lead leads until the lease is lost or ctx is done.
func (l *Leadership) lead(ctx context.Context, lease metastore.Lease, renewed time.Time, lead func(context.Context) error) error {
	ticker := l.o.Clock.NewTicker(l.o.TTL / 3)
	defer ticker.Stop()
	leading, cancel := context.WithCancel(metastore.WithFence(ctx, lease.Fence()))
	done := make(chan error, 1)
	l.set(lease, true)
	go func() { done <- lead(leading) }()
	var failed error
	for ended := false; !ended; {
		select {
		case failed = <-done:
			done <- nil
			ended = true
		case <-ctx.Done():
			ended = true
		case <-ticker.C():
			asked := l.o.Clock.Now()
			ask, stop := context.WithTimeout(ctx, l.o.TTL)
			still, err := l.leases.RenewLease(ask, lease, l.o.TTL)
			stop()
			switch {
			case err == nil && still:
				renewed = asked
			case err == nil:
				ended = true
			default: // nobody else can lead before the lease has run out
				l.o.Log.WarnContext(ctx, "failed to renew leadership", "role", l.o.Name, "error", err)
				ended = l.o.Clock.Now().Sub(renewed) >= l.o.TTL
			}
		}
	}
	l.set(metastore.Lease{Name: l.o.Name}, false)
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		l.o.Log.WarnContext(ctx, "leader duties ended with an error", "role", l.o.Name, "error", err)
	}
	if l.abandoned() {
		return failed
	}
	if err := l.leases.ReleaseLease(context.WithoutCancel(ctx), lease); err != nil {
		l.o.Log.WarnContext(ctx, "failed to release leadership; the lease will expire", "role", l.o.Name, "error", err)
	}
	return failed
}

func (l *Leadership) set(lease metastore.Lease, leading bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.lease, l.mu.leading = lease, leading
}

// Abandon makes Run leave the lease to expire, as a crash of the process would.
func (l *Leadership) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.lost = true
}

func (l *Leadership) abandoned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.lost
}

// Leads reports whether this process is the leader.
func (l *Leadership) Leads() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.leading
}

// Leader returns the URL of the leader; empty: not known.
func (l *Leadership) Leader() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.mu.lease.Held {
		return ""
	}
	return l.mu.lease.Address
}

// Epoch returns the newest epoch seen; 0 if this process is alone.
func (l *Leadership) Epoch() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.lease.Epoch
}

// Fence returns a context for work of the leader, under which writes are rejected once another
// process leads. It returns ctx itself if this process is alone.
func (l *Leadership) Fence(ctx context.Context) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leases == nil {
		return ctx
	}
	return metastore.WithFence(ctx, l.mu.lease.Fence())
}
