package assign

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/timeline"
)

// world is Historicals that obey at once. It is the inventory, the commander and the settings of a
// duty.
type world struct {
	t        *testing.T
	servers  map[string]*simulated
	settings string
	duty     *Duty
	segments []*timeline.Segment
}

type simulated struct {
	member cluster.Member
	server *cluster.Server
	held   map[string]int64 // sizes
	turbo  bool             // as the last command says
	broken bool             // it fails to load anything
	slow   []string         // what it was told and does not get to loading; nil: it loads at once
}

func newWorld(t *testing.T, hosts ...string) *world {
	w := &world{t: t, servers: map[string]*simulated{}, settings: "{}"}
	for _, h := range hosts {
		w.add(h, "hot", 10_000)
	}
	now := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	w.duty = New(Options{Follow: &duty.Follower{}, Inventory: w, Commander: w, Settings: w, Clock: now, Log: slog.New(slog.DiscardHandler)})
	w.duty.reset(7)
	return w
}

func (w *world) add(host, tier string, room int64) {
	m := cluster.Member{Role: cluster.Historical, Host: host, Port: 1, Tier: tier, MaxBytes: room}
	w.servers[m.Address()] = &simulated{member: m, server: &cluster.Server{Name: m.Address()}, held: map[string]int64{}}
}

// Stocks implements Inventory.
func (w *world) Stocks(bool) []cluster.Stock {
	var out []cluster.Stock
	for _, address := range slices.Sorted(maps.Keys(w.servers)) {
		s := w.servers[address]
		stock := cluster.Stock{Member: s.member, Segments: len(s.held), IDs: slices.Sorted(maps.Keys(s.held)), Down: s.server.Down()}
		for _, size := range s.held {
			stock.Used += size
		}
		out = append(out, stock)
	}
	return out
}

// Holders implements Inventory.
func (w *world) Holders(id string) []*cluster.Server {
	var out []*cluster.Server
	for _, address := range slices.Sorted(maps.Keys(w.servers)) {
		if _, ok := w.servers[address].held[id]; ok {
			out = append(out, w.servers[address].server)
		}
	}
	return out
}

// Changed implements Inventory.
func (w *world) Changed() <-chan struct{} { return nil }

// Send implements Commander.
func (w *world) Send(_ context.Context, to cluster.Member, c cluster.Command) (cluster.QueueState, error) {
	s := w.servers[to.Address()]
	state := cluster.QueueState{Failed: map[string]string{}}
	if c.Epoch != 7 {
		w.t.Errorf("a command of epoch [%d]", c.Epoch)
	}
	s.turbo = c.Turbo
	for _, l := range c.Load {
		if s.slow != nil {
			s.slow = append(s.slow, l.ID)
		} else if s.broken {
			state.Failed[l.ID] = "the disk is full"
		} else {
			s.held[l.ID] = l.Size
			state.LoadedBytes, state.LoadingMicros = state.LoadedBytes+l.Size, state.LoadingMicros+1000
		}
	}
	for _, id := range c.Drop {
		s.slow = slices.DeleteFunc(s.slow, func(o string) bool { return o == id })
		delete(s.held, id)
	}
	state.Pending, state.Loading = s.slow, s.slow
	return state, nil
}

// Setting implements Settings.
func (w *world) Setting(context.Context, string) (json.RawMessage, bool, error) {
	return json.RawMessage(w.settings), true, nil
}

// segment adds a segment of a day.
func (w *world) segment(day int, version string, partition int) string {
	start := time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC)
	s := &timeline.Segment{
		ID: timeline.SegmentID{DataSource: "wiki", Interval: chrono.Interval{Start: start.UnixMilli(), End: start.AddDate(0, 0, 1).UnixMilli()},
			Version: version, Partition: partition},
		Shard: timeline.Numbered{Partition: partition, Core: 0}, Size: 100,
	}
	w.segments = append(w.segments, s)
	return s.ID.String()
}

// visit lets the duty look, then see that it was obeyed.
func (w *world) visit(all bool, rules string) error {
	w.t.Helper()
	list, err := rule.Parse([]byte(rules))
	if err != nil {
		w.t.Fatal(err)
	}
	err = w.duty.round(w.t.Context(), duty.Visit{
		State: timeline.NewState(1, slices.Values(w.segments)), Rules: map[string]rule.List{rule.Default: list}, DataSources: []string{"wiki"}, All: all,
	})
	w.duty.settle(w.t.Context(), w.Stocks(false))
	return err
}

// copies returns how many servers hold each segment that is held, by day.
func (w *world) copies() map[string]int {
	out := map[string]int{}
	for _, s := range w.segments {
		if n := len(w.Holders(s.ID.String())); n > 0 {
			out[fmt.Sprintf("%s v%s", time.UnixMilli(s.ID.Interval.Start).UTC().Format("02"), s.ID.Version)] += n
		}
	}
	return out
}

const twice = `[{"type":"loadForever","tieredReplicants":{"hot":2}}]`

func TestServersHoldWhatTheRulesWant(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	for _, day := range []int{1, 7, 8, 9} {
		w.segment(day, "1", 0)
	}
	check := func(what string, all bool, rules string, want map[string]int) {
		t.Helper()
		if err := w.visit(all, rules); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if diff := cmp.Diff(want, w.copies()); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("all twice", true, twice, map[string]int{"01 v1": 2, "07 v1": 2, "08 v1": 2, "09 v1": 2})
	w.segment(8, "2", 0)
	w.segments = slices.DeleteFunc(w.segments, func(s *timeline.Segment) bool {
		return s.ID.Interval.Start == time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC).UnixMilli()
	})
	check("newer versions hide older ones", false, twice, map[string]int{"01 v1": 2, "08 v2": 2, "09 v1": 2})
	recent := `{"type":"loadByPeriod","period":"P3D","tieredReplicants":{"hot":2}}`
	check("what no rule is about stays", true, `[`+recent+`]`, map[string]int{"01 v1": 2, "08 v2": 2, "09 v1": 2})
	check("fewer copies", true, `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`, map[string]int{"01 v1": 1, "08 v2": 1, "09 v1": 1})
	check("another tier's stay as long as it has no server", true, `[`+recent+`,{"type":"loadForever","tieredReplicants":{"cold":2}}]`,
		map[string]int{"01 v1": 1, "08 v2": 2, "09 v1": 2})
	check("what is to be in deep storage only is dropped", true, `[`+recent+`,{"type":"loadForever","tieredReplicants":{}}]`, map[string]int{"08 v2": 2, "09 v1": 2})
	check("everywhere", true, `[{"type":"broadcastForever"}]`, map[string]int{"01 v1": 3, "08 v2": 3, "09 v1": 3})
	check("no copies: deep storage only", false, `[{"type":"loadForever","tieredReplicants":{"hot":0}}]`, map[string]int{})
	check("more copies than servers", true, `[{"type":"loadForever","tieredReplicants":{"hot":1000000000}}]`, map[string]int{"01 v1": 3, "08 v2": 3, "09 v1": 3})
	w.segments = nil
	check("a datasource that is gone", false, twice, map[string]int{})
	w.servers["a:1"].held["nobody's"] = 1
	check("nobody's", true, twice, map[string]int{})
	if len(w.servers["a:1"].held) > 0 {
		t.Error("what nobody wants is still held")
	}
}

func TestTheSegmentsOfALostServerAreLoadedElsewhere(t *testing.T) {
	w := newWorld(t, "a", "b", "c")
	for day := 1; day <= 30; day++ {
		w.segment(day, "1", 0)
	}
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	w.servers["a:1"].server.SetDown(true)
	before := len(w.servers["b:1"].held)
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	if len(w.servers["b:1"].held) != before {
		t.Error("a server that may come back was replaced")
	}
	delete(w.servers, "a:1")
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	for day, n := range w.copies() {
		if n != 2 {
			t.Errorf("day %s has [%d] copies", day, n)
		}
	}
}

// TestAnotherProcessAtTheSameAddress knows nothing of what the one before it was told, and holds
// nothing: all is looked at again at once, and it is told.
func TestAnotherProcessAtTheSameAddress(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.add("a", "hot", 10_000)
	a := w.servers["a:1"]
	a.member.Holder, a.slow = "first", []string{}
	for day := 1; day <= 3; day++ {
		w.segment(day, "1", 0)
	}
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	if len(a.slow) != 3 || w.duty.settle(t.Context(), w.Stocks(false)) {
		t.Fatalf("told [%d]; or the fleet is another without a change", len(a.slow))
	}
	a.member.Holder, a.slow = "second", nil
	if !w.duty.settle(t.Context(), w.Stocks(false)) {
		t.Error("another process at the address is not noticed")
	}
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	if len(a.held) != 3 {
		t.Errorf("the new process holds [%d] of 3", len(a.held))
	}
}

// TestATierIsChangedWithoutAGap moves segments to another tier: the old copies go when the new ones
// have come, and not before.
func TestATierIsChangedWithoutAGap(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.add("c", "cold", 10_000)
	id := w.segment(1, "1", 0)
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	const cold = `[{"type":"loadForever","tieredReplicants":{"cold":1}}]`
	w.servers["c:1"].slow = []string{}
	for range 2 { // it was told, and has not loaded yet
		if err := w.visit(false, cold); err != nil {
			t.Fatal(err)
		}
		if n := len(w.Holders(id)); n != 1 {
			t.Fatalf("[%d] copies while the new tier loads, instead of as many as are wanted", n)
		}
	}
	w.servers["c:1"].slow = nil
	w.servers["c:1"].held[id] = 100
	if !w.duty.settle(t.Context(), w.Stocks(false)) {
		t.Error("nothing asks for the drop that has waited for the load")
	}
	if err := w.visit(true, cold); err != nil {
		t.Fatal(err)
	}
	if holders := w.Holders(id); len(holders) != 1 || holders[0].Name != "c:1" {
		t.Errorf("held by %v", holders)
	}
}

// A tier that has no server, as one that is misspelled, takes nothing away from others: as many
// copies as it is to have stay until it has them.
func TestATierWithoutServersTakesNothingAway(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.segment(1, "1", 0)
	expect := func(what, rules string, want map[string]int) {
		t.Helper()
		for range 3 {
			if err := w.visit(true, rules); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		got := map[string]int{}
		for _, s := range w.servers {
			got[s.member.Tier] += len(s.held)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	expect("loaded", twice, map[string]int{"hot": 2})
	expect("ten thousand copies on a tier that is not there", `[{"type":"loadForever","tieredReplicants":{"cold":10000}}]`, map[string]int{"hot": 2})
	expect("one copy there", `[{"type":"loadForever","tieredReplicants":{"cold":1}}]`, map[string]int{"hot": 1})
	expect("one here, one there", `[{"type":"loadForever","tieredReplicants":{"hot":1,"cold":1}}]`, map[string]int{"hot": 1})
	w.add("c", "cold", 10_000)
	expect("the tier is there", `[{"type":"loadForever","tieredReplicants":{"cold":1}}]`, map[string]int{"hot": 0, "cold": 1})
	expect("no copy wanted", `[{"type":"loadForever","tieredReplicants":{"other":0}}]`, map[string]int{"hot": 0, "cold": 0})
}

func TestSegmentsAreSpreadEvenly(t *testing.T) {
	w := newWorld(t, "a", "b", "c", "d")
	for day := 1; day <= 28; day++ {
		for p := range 5 {
			w.segment(day, "1", p)
		}
	}
	if err := w.visit(true, twice); err != nil {
		t.Fatal(err)
	}
	even := func(what string, servers int) {
		t.Helper()
		for address, s := range w.servers {
			if n, want := len(s.held), 280/servers; n < want*95/100 || n > want*105/100 {
				t.Errorf("%s: server [%s] holds [%d] segments instead of about [%d]", what, address, n, want)
			}
		}
	}
	even("at first", 4)
	w.add("e", "hot", 10_000)
	for range 5 {
		if err := w.visit(true, twice); err != nil {
			t.Fatal(err)
		}
	}
	even("with a server more", 5)
	w.settings = `{"decommissioningNodes":["a:1"]}`
	for range 3 {
		if err := w.visit(true, twice); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.servers["a:1"].held); n > 0 {
		t.Errorf("a server that is to give all it has still holds [%d]", n)
	}
	for day, n := range w.copies() {
		if n != 10 {
			t.Errorf("day %s has [%d] copies of its five segments", day, n)
		}
	}
}

// TestAServerThatHasLessRoomThanItSays has one whose disk is full, or smaller than it says, or may
// only be read: it seems to be the emptiest, and fails to load what it is given. The others get it.
func TestAServerThatHasLessRoomThanItSays(t *testing.T) {
	w := newWorld(t, "a", "b")
	w.add("liar", "hot", 1<<50)
	w.servers["liar:1"].broken = true
	for day := 1; day <= 20; day++ {
		w.segment(day, "1", 0)
	}
	if err := w.visit(true, twice); err == nil {
		t.Error("what could not be loaded was not told")
	}
	for range 3 {
		_ = w.visit(true, twice) // until it has been tried with all
	}
	for _, host := range []string{"a:1", "b:1"} {
		if n := len(w.servers[host].held); n != 20 {
			t.Errorf("server [%s] holds [%d] of 20 segments", host, n)
		}
	}
	// When it has got room, and some time has passed, it is a server like the others.
	w.servers["liar:1"].broken = false
	w.duty.o.Clock.(*fakeclock.Clock).Advance(11 * time.Minute)
	w.segment(21, "1", 0)
	if err := w.visit(true, `[{"type":"loadForever","tieredReplicants":{"hot":3}}]`); err != nil {
		t.Error(err)
	}
	if n := len(w.servers["liar:1"].held); n != 21 {
		t.Errorf("it holds [%d] of 21 segments", n)
	}
}

func TestWhatCanNotBeLoadedIsTold(t *testing.T) {
	w := newWorld(t)
	w.add("small", "hot", 150)
	w.segment(1, "1", 0)
	w.segment(2, "1", 0)
	if err := w.visit(true, twice); err == nil {
		t.Error("a segment for which there is no room was not reported")
	}
	if n := len(w.servers["small:1"].held); n != 1 {
		t.Errorf("a server with room for one holds [%d]", n)
	}
	w.add("broken", "hot", 10_000)
	w.servers["broken:1"].broken = true
	if err := w.visit(true, twice); err == nil {
		t.Error("a segment that could not be loaded was not reported")
	}
	if f := w.duty.Failures(); len(f) == 0 {
		t.Error("nobody knows why")
	}
	w.settings = `{"pauseCoordination":true}`
	w.servers["broken:1"].broken = false
	if err := w.visit(true, twice); err != nil || len(w.servers["broken:1"].held) > 0 {
		t.Errorf("a paused Coordinator assigns: %v", err)
	}
}

// TestASegmentThatIsNotLoadedInTimeIsGivenToAnother has the server with most room never come to an
// end.
func TestASegmentThatIsNotLoadedInTimeIsGivenToAnother(t *testing.T) {
	for both, settings := range map[bool]string{false: `{}`, true: `{"replicateAfterLoadTimeout":true}`} {
		w := newWorld(t, "other")
		w.add("slow", "hot", 1<<50)
		w.settings, w.duty.o.LoadTimeout = settings, 15*time.Minute
		slow, other := w.servers["slow:1"], w.servers["other:1"]
		slow.slow = []string{}
		id := w.segment(1, "1", 0)
		const once = `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`
		look := func(after time.Duration, all bool) {
			t.Helper()
			w.duty.o.Clock.(*fakeclock.Clock).Advance(after)
			if err := w.visit(all, once); err != nil {
				t.Fatal(err)
			}
		}
		look(0, true)
		look(14*time.Minute, true)
		if len(slow.slow) != 1 || len(other.held) != 0 || len(w.duty.Failures()) != 0 {
			t.Fatalf("before the time is over: %v, %v", slow.slow, other.held)
		}
		look(time.Minute, true)
		if _, loaded := other.held[id]; !loaded || len(slow.slow) != map[bool]int{true: 1}[both] {
			t.Errorf("when both are to load it is %t: the other one has %v, the slow one is at %v", both, other.held, slow.slow)
		}
		look(time.Minute, true)
		if q := w.duty.Queues(); len(q) != 0 {
			t.Errorf("in the end the servers have %v to do", q)
		}
	}
}

// TestWhatIsGivenUpIsToldWhileNobodyHasIt has one server only: it is asked again.
func TestWhatIsGivenUpIsToldWhileNobodyHasIt(t *testing.T) {
	w := newWorld(t, "slow")
	w.duty.o.LoadTimeout = 15 * time.Minute
	slow := w.servers["slow:1"]
	slow.slow = []string{}
	id := w.segment(1, "1", 0)
	for _, after := range []time.Duration{0, 15 * time.Minute} {
		w.duty.o.Clock.(*fakeclock.Clock).Advance(after)
		if err := w.visit(true, `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`); err != nil {
			t.Fatal(err)
		}
	}
	if why := w.duty.Failures()[id]; why != "server [slow:1]: it did not load it within [15m0s] (service.coordinator.load.timeout)" {
		t.Errorf("why: [%s]", why)
	}
	if len(w.duty.Queues()["slow:1"].Load) != 1 {
		t.Error("it is not asked again")
	}
	slow.held[id], slow.slow = 100, nil
	w.duty.settle(t.Context(), w.Stocks(false))
	if len(w.duty.Failures()) != 0 || len(w.duty.Queues()) != 0 {
		t.Error("it failed though it is loaded")
	}
}

func TestLoadsAreThrottledWhereTheSettingsSaySo(t *testing.T) {
	w := newWorld(t, "a", "b")
	for day := 1; day <= 10; day++ {
		w.segment(day, "1", 0)
	}
	sum := func() (n int) {
		for _, copies := range w.copies() {
			n += copies
		}
		return n
	}
	w.settings = `{"smartSegmentLoading":false,"replicationThrottleLimit":4}`
	for i, want := range []int{14, 18, 20} {
		if err := w.visit(true, twice); err != nil || sum() != want {
			t.Errorf("round %d: [%d] copies instead of [%d], %v", i, sum(), want, err)
		}
	}
	w = newWorld(t, "a", "b")
	for day := 1; day <= 10; day++ {
		w.segment(day, "1", 0)
	}
	w.settings = `{"smartSegmentLoading":false,"maxSegmentsInNodeLoadingQueue":3}`
	for _, s := range w.servers {
		s.slow = []string{}
	}
	for range 2 {
		if err := w.visit(true, twice); err != nil {
			t.Error(err)
		}
	}
	for address, s := range w.servers {
		if len(s.slow) != 3 {
			t.Errorf("server [%s] has [%d] to load", address, len(s.slow))
		}
	}
	w.settings = `{"maxSegmentsInNodeLoadingQueue":3}` // what is smart knows better
	if err := w.visit(true, twice); err != nil || len(w.servers["a:1"].slow) != 10 {
		t.Errorf("[%d] to load, %v", len(w.servers["a:1"].slow), err)
	}
}

func TestStrategiesSpreadSegments(t *testing.T) {
	for name, want := range map[string]string{"cost": "even", "cachingCost": "even", "diskNormalized": "even", "random": "any", "best": "refused"} {
		strategy, err := ParseStrategy(name)
		if (err != nil) != (want == "refused") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		w := newWorld(t)
		w.add("large", "hot", 400_000)
		w.add("small", "hot", 100_000)
		w.duty.o.Strategy = strategy
		for day := 1; day <= 20; day++ {
			for p := range 20 {
				w.segment(day, "1", p)
			}
		}
		if err := w.visit(true, `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`); err != nil {
			t.Fatal(err)
		}
		large, small := len(w.servers["large:1"].held), len(w.servers["small:1"].held)
		if large+small != 400 {
			t.Fatalf("%s: [%d] and [%d]", name, large, small)
		}
		least, most := 60, 100 // of a fifth of the room
		if want == "any" {
			least, most = 140, 260 // half of them, by chance
		}
		if strategy == Cost { // which keeps neighbours apart, too
			most = 200
		}
		if small < least || small > most {
			t.Errorf("%s: the small server has [%d] of 400", name, small)
		}
		w.add("new", "hot", 400_000)
		if err := w.visit(true, `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`); err != nil {
			t.Fatal(err)
		}
		if moved := len(w.servers["new:1"].held) > 0; moved != (want == "even") {
			t.Errorf("%s: something is moved: %t", name, moved)
		}
	}
}

// TestRatesAreOfWhatServersTell has a server say how much it has loaded in which time.
func TestRatesAreOfWhatServersTell(t *testing.T) {
	var r rate
	for _, tc := range []struct{ bytes, micros, want int64 }{
		{0, 0, 0}, {1000, 0, 8_000_000}, {1000, 16_000, 1000}, {0, 16_000, 500}, {40 << 30, 0, 0},
	} {
		if r = r.and(tc.bytes, tc.micros); r.kbps() != tc.want && tc.want != 0 || r.bytes > rateBytes {
			t.Errorf("with [%d] bytes in [%d] microseconds it is %d, of %+v", tc.bytes, tc.micros, r.kbps(), r)
		}
	}
	w := newWorld(t, "a", "b")
	id := w.segment(1, "1", 0)
	for range 2 {
		if err := w.visit(true, `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`); err != nil {
			t.Fatal(err)
		}
	}
	holder := w.Holders(id)[0].Name
	if got := w.duty.Rates(); len(got) != 1 || got[holder] != 800 {
		t.Errorf("the rates are %v", got)
	}
}

// TestNothingIsMovedToAServerThatCouldNotLoadIt has the emptiest server be the one that could not.
func TestNothingIsMovedToAServerThatCouldNotLoadIt(t *testing.T) {
	w := newWorld(t, "a")
	for day := 1; day <= 4; day++ {
		w.segment(day, "1", 0)
	}
	const once = `[{"type":"loadForever","tieredReplicants":{"hot":1}}]`
	if err := w.visit(true, once); err != nil {
		t.Fatal(err)
	}
	w.add("broken", "hot", 10_000)
	broken := w.servers["broken:1"]
	broken.broken = true
	if err := w.visit(true, once); err == nil {
		t.Error("what could not be moved was not told")
	}
	if err := w.visit(true, once); err == nil {
		t.Error("the other two were not tried")
	}
	if err := w.visit(true, once); err != nil {
		t.Errorf("all four have been tried: %v", err)
	}
	w.duty.o.Clock.(*fakeclock.Clock).Advance(11 * time.Minute)
	broken.broken = false
	if err := w.visit(true, once); err != nil || len(broken.held) != 2 {
		t.Errorf("later it holds %v, %v", broken.held, err)
	}
}
