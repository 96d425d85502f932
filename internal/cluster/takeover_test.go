package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
)

// lapsing is a lease that a process holds which is gone, by a clock that the test moves.
type lapsing struct {
	clock   clock.Clock
	expires time.Time
	asked   chan bool // whether it was given
}

func (l *lapsing) AcquireLease(_ context.Context, name, holder, address string, _ time.Duration) (metastore.Lease, bool, error) {
	given := !l.clock.Now().Before(l.expires)
	lease := metastore.Lease{Name: name, Holder: "gone", Epoch: 1, Held: true}
	if given {
		lease = metastore.Lease{Name: name, Holder: holder, Address: address, Epoch: 2, Held: true}
	}
	l.asked <- given
	return lease, given, nil
}

func (l *lapsing) RenewLease(context.Context, metastore.Lease, time.Duration) (bool, error) {
	return true, nil
}

func (l *lapsing) ReleaseLease(context.Context, metastore.Lease) error { return nil }

func (l *lapsing) Leader(_ context.Context, name string) (metastore.Lease, error) {
	return metastore.Lease{Name: name, Holder: "gone", Epoch: 1, Held: true}, nil
}

// A leader that is gone without a word is followed when its lease has run out and the next look is due, a third of a lease later, whenever in between it renewed
// it last: with the lease of service.leader.leaseDuration that is below five seconds (role, TestALeaderIsFollowedInTime).
func TestALeaderIsFollowedWithinALeaseAndALook(t *testing.T) {
	const ttl = 3 * time.Second
	for _, renewed := range []time.Duration{0, time.Millisecond, 500 * time.Millisecond, ttl/3 - 1} {
		fake := clock.NewFake(time.Unix(0, 0))
		leases := &lapsing{clock: fake, expires: fake.Now().Add(renewed + ttl), asked: make(chan bool)}
		led := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- NewLeadership(leases, LeaderOptions{Name: Coordinator, Holder: "b", Address: "http://b", TTL: ttl, Clock: fake, Log: quiet}).
				Run(ctx, func(ctx context.Context) error {
					close(led)
					<-ctx.Done()
					return nil
				})
		}()
		took := -renewed // since the last that was heard of the first
		for !<-leases.asked {
			if took > ttl+ttl/3 {
				t.Fatalf("renewed after %s: nobody leads after %s", renewed, took)
			}
			fake.Advance(ttl / 3)
			took += ttl / 3
		}
		<-led
		if took < ttl || took > ttl+ttl/3 {
			t.Errorf("renewed after %s: another leads after %s", renewed, took)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
