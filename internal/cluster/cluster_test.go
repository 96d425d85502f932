package cluster

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ttl is how long leases last here. They run on the database's clock, so tests wait for some of
// them.
const ttl = 300 * time.Millisecond

var quiet = slog.New(slog.DiscardHandler)

// candidate is a process that wants to lead.
type candidate struct {
	*Leadership
	led    chan context.Context // what it does as the leader
	cancel context.CancelFunc
	done   chan error
}

func newCandidate(t *testing.T, leases Leases, holder string) *candidate {
	ctx, cancel := context.WithCancel(context.Background())
	c := &candidate{led: make(chan context.Context, 1), cancel: cancel, done: make(chan error, 1), Leadership: NewLeadership(leases, LeaderOptions{
		Name: Overlord, Holder: holder, Address: "http://" + holder, TTL: ttl, Clock: clock.System(), Log: quiet,
	})}
	go func() {
		c.done <- c.Run(ctx, func(ctx context.Context) error {
			c.led <- ctx
			<-ctx.Done()
			return nil
		})
	}()
	t.Cleanup(cancel)
	return c
}

func (c *candidate) stop(t *testing.T) {
	t.Helper()
	c.cancel()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

// stuck lets a leader believe that it renews its lease until it is told otherwise, as one whose
// process was stopped does.
type stuck struct {
	Leases
	free chan struct{}
}

func (s stuck) RenewLease(ctx context.Context, l metastore.Lease, ttl time.Duration) (bool, error) {
	select {
	case <-s.free:
		return s.Leases.RenewLease(ctx, l, ttl)
	default:
		return true, nil
	}
}

func TestAStaleLeaderWritesNothing(t *testing.T) {
	store := store.Open(t, clock.System())
	free := make(chan struct{})
	first := newCandidate(t, stuck{store, free}, "a:1")
	stale := <-first.led
	began := time.Now()
	second := newCandidate(t, store, "b:1")
	fresh := <-second.led
	t.Logf("the second leader took over after [%s]", time.Since(began)) // how long it may take says TestALeaderIsFollowedWithinALeaseAndALook
	if stale.Err() != nil {
		t.Fatal("the first leader knows already")
	}
	err := store.InsertTask(stale, metastore.Fence{}, metastore.Task{ID: "t", GroupID: "t", Type: "noop", Active: true}, nil)
	if !errors.Is(err, metastore.ErrDeposed) {
		t.Errorf("a write of the first leader: %v", err)
	}
	if err := store.InsertTask(fresh, metastore.Fence{}, metastore.Task{ID: "t", GroupID: "t", Type: "noop", Active: true}, nil); err != nil {
		t.Errorf("a write of the second leader: %v", err)
	}
	close(free)
	<-stale.Done() // the next renewal tells it
	if got := second.Leader(); got != "http://b:1" || !second.Leads() {
		t.Errorf("the leader is [%s]", got)
	}
	first.stop(t)
	second.stop(t)
}

func TestALeaderThatStopsHandsOver(t *testing.T) {
	store := store.Open(t, clock.System())
	first := newCandidate(t, store, "a:1")
	<-first.led
	second := newCandidate(t, store, "b:1")
	first.stop(t)
	<-second.led
	second.stop(t)
	if first.Leads() || second.Leads() {
		t.Error("somebody leads who stopped")
	}
}

func member(role, host string, port int) Member { return Member{Role: role, Host: host, Port: port} }

func TestProcessesSeeEachOther(t *testing.T) {
	store := store.Open(t, clock.System())
	join := func(holder string, own ...Member) (*Membership, error) {
		m := &Membership{Store: store, Holder: holder, Own: own, TTL: time.Minute, View: NewView(), Clock: clock.System(), Log: quiet}
		return m, m.Join(t.Context())
	}
	a, err := join("a", member(Broker, "h", 1), member(Historical, "h", 2))
	if err != nil || !a.Discovered() {
		t.Fatal(err)
	}
	if _, err := join("b", member(Historical, "h", 2)); err == nil {
		t.Error("two processes have one name")
	}
	b, err := join("b", member(Historical, "h", 3))
	if err != nil {
		t.Fatal(err)
	}
	again, err := join("b", member(Historical, "h", 4)) // restarted, on another port
	if err != nil {
		t.Fatal(err)
	}
	if err := a.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	names := func(v *View) (out []string) {
		for _, m := range v.Members("") {
			out = append(out, m.Role+" "+m.Address())
		}
		return out
	}
	if diff := cmp.Diff([]string{"broker h:1", "historical h:2", "historical h:4"}, names(a.View)); diff != "" {
		t.Error(diff)
	}
	changed := a.View.Changed()
	if err := again.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 { // while it ends what is under way it still follows the others
		if err := again.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody is told that a process has left")
	}
	if diff := cmp.Diff([]string{"broker h:1", "historical h:2"}, names(a.View)); diff != "" {
		t.Error(diff)
	}
	_ = b
}

// A process has a new term whenever others may have taken it for gone, and none while they may do
// so.
func TestTermsOfAMembership(t *testing.T) {
	store, now := store.Open(t, clock.System()), fakeclock.New(time.Unix(0, 0))
	m := &Membership{Store: store, Holder: "a", Own: []Member{member(Broker, "h", 1)}, TTL: ttl, View: NewView(), Clock: now, Log: quiet}
	for _, step := range []struct {
		name string
		do   func() error
		want int64
	}{
		{"it meets others", func() error { return m.Meet(t.Context()) }, 0},
		{"it joins", func() error { return m.Join(t.Context()) }, 1},
		{"it is in time", func() error { now.Advance(ttl / 3); return m.round(t.Context()) }, 1},
		{"others look", func() error { return m.Look(t.Context()) }, 1},
		{"it is late", func() error { now.Advance(ttl + 1); return m.round(t.Context()) }, 2},
		{"the metastore is down", func() error {
			m.Store = down{store}
			if m.round(t.Context()) == nil {
				return errors.New("it is not")
			}
			m.Store = store
			return nil
		}, 2},
		{"it is taken for lost", func() error { return errors.Join(store.Withdraw(t.Context(), "a"), m.round(t.Context())) }, 3},
		{"it leaves", func() error { return m.Leave(t.Context()) }, 0},
		{"it has left", func() error { return m.round(t.Context()) }, 0},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := m.Term(); got != step.want {
			t.Errorf("%s: term [%d], want [%d]", step.name, got, step.want)
		}
	}
}

// down is a store that can't be reached.
type down struct{ Announcements }

func (down) RenewMembers(context.Context, string, time.Duration) (int64, error) {
	return 0, errors.New("the metastore is down")
}

func TestWhatWasKnownStaysWhileTheMetastoreIsDown(t *testing.T) {
	store := store.Open(t, clock.System())
	now := fakeclock.New(time.Unix(0, 0))
	other := &Membership{Store: store, Holder: "b", Own: []Member{member(Historical, "h", 3)}, TTL: ttl, View: NewView(), Clock: now, Log: quiet}
	m := &Membership{Store: store, Holder: "a", Own: []Member{member(Broker, "h", 1)}, TTL: ttl, View: NewView(), Clock: now, Log: quiet}
	for _, m := range []*Membership{other, m} {
		if err := m.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m.Store = down{store}
	if err := m.round(t.Context()); err == nil {
		t.Fatal("the store is not down")
	}
	// Nobody could renew while it was down: all have run out when it is back.
	if _, err := store.RenewMembers(t.Context(), "b", -time.Second); err != nil {
		t.Fatal(err)
	}
	m.Store = store
	for i, want := range []int{2, 2, 1} { // until they had the time to come back
		if err := m.round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := len(m.View.Members("")); got != want {
			t.Errorf("look [%d] behind the outage: [%d] members instead of [%d]", i, got, want)
		}
		now.Advance(ttl * 3 / 4)
	}
}

func TestAnInventoryFollowsALog(t *testing.T) {
	var mu sync.Mutex
	held := map[string]bool{"one": true}
	log := NewLog(7, func() (ids []string, used int64) {
		mu.Lock()
		defer mu.Unlock()
		for id := range held {
			ids = append(ids, id)
		}
		return ids, int64(len(held))
	})
	h := member(Historical, "h", 2)
	view := NewView(h)
	i := NewInventory(InventoryOptions{View: view, Client: http.DefaultClient, Here: &Local{h.Address(), log}, Clock: clock.System(), Log: quiet})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- i.Run(ctx) }()
	until := func(what string, ok func() bool) {
		t.Helper()
		for {
			changed := i.Changed()
			if ok() {
				return
			}
			select {
			case <-changed:
			case <-time.After(5 * time.Second):
				t.Fatalf("it never came to this: %s", what)
			}
		}
	}
	if err := i.Synced(ctx); err != nil {
		t.Fatal(err)
	}
	until("what was there", func() bool { return i.Held("one") && len(i.Live()) == 1 && i.Live()[0].Here })
	mu.Lock()
	held["two"] = true
	mu.Unlock()
	log.Loaded("two")
	until("what came", func() bool { return i.Held("two") })
	log.Dropped("one")
	until("what went", func() bool { return !i.Held("one") })
	view.set(nil)
	until("a server that left", func() bool { return !i.Held("two") && len(i.Live()) == 0 && len(i.Stocks(true)) == 0 })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestALogTellsWhoIsTooFarBehind(t *testing.T) {
	log := NewLog(7, func() ([]string, int64) { return []string{"a"}, 1 })
	log.Loaded("a")
	for name, tc := range map[string]struct {
		at    Counter
		reset bool
		n     int
	}{
		"from the beginning": {Beginning, false, 1},
		"one behind":         {Counter{0, 7}, false, 1},
		"of another process": {Counter{0, 8}, true, 0},
		"ahead":              {Counter{5, 7}, true, 0},
	} {
		d, err := log.Since(t.Context(), tc.at, time.Nanosecond, clock.System())
		if err != nil || d.Reset != tc.reset || len(d.Changes) != tc.n {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
	if d, err := log.Since(t.Context(), Counter{1, 7}, time.Nanosecond, clock.System()); d != nil || err != nil {
		t.Errorf("nothing new: %+v, %v", d, err)
	}
}
