package assign

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
)

// simulation is a large cluster whose clock goes on by steps: between two rounds of the duty each
// Historical obeys a bounded number of commands.
type simulation struct {
	t        testing.TB
	stocks   []cluster.Stock
	servers  []*cluster.Server
	held     []map[string]int64 // sizes by id, by server
	waiting  [][]cluster.LoadItem
	at       map[string]int // servers by address
	holders  map[string][]*cluster.Server
	perStep  int // segments that a server loads in a step
	settings string
	duty     *Duty
	clock    *fakeclock.Clock

	mu      sync.Mutex // servers are told all at once
	changes int        // loads and drops
}

func newSimulation(t testing.TB, servers, perStep int) *simulation {
	s := &simulation{t: t, at: map[string]int{}, holders: map[string][]*cluster.Server{}, perStep: perStep, settings: "{}",
		clock: fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))}
	for range servers {
		s.add()
	}
	s.duty = New(Options{Follow: &duty.Follower{}, Inventory: s, Commander: s, Settings: s, Clock: s.clock, Log: slog.New(slog.DiscardHandler)})
	s.duty.reset(7)
	return s
}

func (s *simulation) add() {
	m := cluster.Member{Role: cluster.Historical, Host: fmt.Sprintf("historical%03d", len(s.stocks)), Port: 1, Tier: rule.DefaultTier, MaxBytes: 1 << 43}
	s.at[m.Address()] = len(s.stocks)
	s.stocks, s.servers = append(s.stocks, cluster.Stock{Member: m}), append(s.servers, &cluster.Server{Name: m.Address()})
	s.held, s.waiting = append(s.held, map[string]int64{}), append(s.waiting, nil)
}

// Stocks implements Inventory.
func (s *simulation) Stocks(ids bool) []cluster.Stock {
	out := slices.Clone(s.stocks)
	for i := range out {
		out[i].Segments = len(s.held[i])
		if ids {
			out[i].IDs = slices.Sorted(maps.Keys(s.held[i]))
		}
	}
	return out
}

// Holders implements Inventory.
func (s *simulation) Holders(id string) []*cluster.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holders[id]
}

// Changed implements Inventory.
func (s *simulation) Changed() <-chan struct{} { return nil }

// Setting implements Settings.
func (s *simulation) Setting(context.Context, string) (json.RawMessage, bool, error) {
	return json.RawMessage(s.settings), true, nil
}

// Send implements Commander: commands wait until the next step.
func (s *simulation) Send(_ context.Context, to cluster.Member, c cluster.Command) (cluster.QueueState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.at[to.Address()]
	s.waiting[i] = append(s.waiting[i], c.Load...)
	for _, id := range c.Drop {
		s.stocks[i].Used -= s.held[i][id]
		delete(s.held[i], id)
		s.holders[id] = slices.DeleteFunc(slices.Clone(s.holders[id]), func(o *cluster.Server) bool { return o == s.servers[i] })
		s.changes++
	}
	state := cluster.QueueState{}
	for _, l := range s.waiting[i] {
		state.Pending = append(state.Pending, l.ID)
	}
	return state, nil
}

// step lets a minute pass.
func (s *simulation) step() {
	s.clock.Advance(time.Minute)
	for i := range s.waiting {
		n := min(s.perStep, len(s.waiting[i]))
		for _, l := range s.waiting[i][:n] {
			s.held[i][l.ID] = l.Size
			s.stocks[i].Used += l.Size
			s.holders[l.ID] = append(slices.Clip(s.holders[l.ID]), s.servers[i])
			s.changes++
		}
		s.waiting[i] = s.waiting[i][n:]
	}
	s.duty.settle(s.t.Context(), s.Stocks(false))
}

// round lets the duty look at everything, or at some datasources.
func (s *simulation) round(state *timeline.State, list rule.List, dataSources ...string) {
	s.t.Helper()
	v := duty.Visit{State: state, Rules: map[string]rule.List{rule.Default: list}, DataSources: dataSources, All: len(dataSources) == 0}
	if v.All {
		v.DataSources = state.DataSources()
	}
	if err := s.duty.round(s.t.Context(), v); err != nil {
		s.t.Fatal(err)
	}
}

// spread returns how full the fullest and the emptiest server are in relation to the mean.
func (s *simulation) spread() (fullest, emptiest float64) {
	least, most, sum := s.stocks[0].Used, int64(0), int64(0)
	for _, o := range s.stocks {
		least, most, sum = min(least, o.Used), max(most, o.Used), sum+o.Used
	}
	mean := float64(sum) / float64(len(s.stocks))
	return float64(most) / mean, float64(least) / mean
}

// manySegments returns a state with that many segments: 100 datasources of different weight, a
// chunk an hour, segments of different size.
func manySegments(n int) *timeline.State {
	rnd := uint64(1)
	next := func() uint64 { rnd ^= rnd << 13; rnd ^= rnd >> 7; rnd ^= rnd << 17; return rnd }
	base := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	return timeline.NewState(1, func(yield func(*timeline.Segment) bool) {
		for i := range n {
			dataSource, rest := fmt.Sprintf("datasource%02d", i%100), i/100
			partition, hour := rest%4, int64(rest/4)
			s := &timeline.Segment{
				ID: timeline.SegmentID{DataSource: dataSource, Version: "2026-03-01T00:00:00.000Z", Partition: partition,
					Interval: chrono.Interval{Start: base + hour*chrono.Hour, End: base + (hour+1)*chrono.Hour}},
				Shard: timeline.Numbered{Partition: partition}, Size: int64(100<<20 + next()%(600<<20)),
			}
			if !yield(s) {
				return
			}
		}
	})
}

func rulesOf(t testing.TB, text string) rule.List {
	t.Helper()
	list, err := rule.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const onceAndTwice = `[{"type":"loadForever","tieredReplicants":{"_default_tier":2}}]`

// The size of the cluster that has to come to rest; of the largest one that is thought of: -args
// -segments 1000000 -servers 200.
var (
	restSegments = flag.Int("segments", 20_000, "segments of the simulated cluster that comes to rest")
	restServers  = flag.Int("servers", 40, "its Historicals")
)

// TestALargeClusterComesToRest has a cluster load all of its segments, then gives it more servers
// and takes one: everything ends where the rules want it, evenly, and then nothing moves any more.
func TestALargeClusterComesToRest(t *testing.T) {
	servers := *restServers
	state, list := manySegments(*restSegments), rulesOf(t, onceAndTwice)
	s := newSimulation(t, servers, *restSegments/100)
	given := -1
	rest := func(what string) {
		t.Helper()
		for quiet, rounds := 0, 0; quiet < 3; rounds++ {
			if rounds > 500 {
				t.Fatalf("%s: still moving after [%d] rounds", what, rounds)
			}
			before := s.changes
			s.round(state, list)
			s.step()
			if quiet++; s.changes != before {
				quiet = 0
			}
		}
		for name := range slices.Values(state.DataSources()) {
			for seg := range state.Timeline(name).All() {
				if n := len(s.holders[seg.ID.String()]); n != 2 {
					t.Fatalf("%s: segment [%s] has [%d] copies", what, seg.ID, n)
				}
			}
		}
		if given >= 0 {
			if n := len(s.held[given]); n > 0 {
				t.Errorf("%s: a server that is to give all it has still holds [%d]", what, n)
			}
			return
		}
		if fullest, emptiest := s.spread(); fullest > 1.05 || emptiest < 0.95 {
			t.Errorf("%s: servers hold from [%.3f] to [%.3f] of the mean", what, emptiest, fullest)
		}
	}
	rest("loaded")
	for range servers / 10 {
		s.add()
	}
	rest("more servers")
	given = 3
	s.settings = fmt.Sprintf(`{"decommissioningNodes":[%q]}`, s.stocks[given].Member.Address())
	rest("a server less")
}

// BenchmarkCycle looks at everything once, and at one changed datasource, in a cluster of 200
// Historicals that has come to rest.
func BenchmarkCycle(b *testing.B) {
	const segments, servers = 1_000_000, 200
	state, list := manySegments(segments), rulesOf(b, onceAndTwice)
	s := newSimulation(b, servers, segments)
	began := time.Now()
	s.round(state, list)
	b.Logf("the first round took [%s]", time.Since(began))
	s.step()
	b.Run("everything", func(b *testing.B) {
		for b.Loop() {
			s.round(state, list)
		}
	})
	b.Run("one datasource", func(b *testing.B) {
		for b.Loop() {
			s.round(state, list, "datasource07")
		}
	})
}
