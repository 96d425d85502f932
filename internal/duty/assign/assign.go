// Package assign decides which Historical holds which segment, and sends the commands.
//
// The central type is Duty, which the leading Coordinator runs. It follows the published timeline
// and the retention rules (duty.Follower). A segment with too few copies on a tier is loaded by the
// cheapest server of the tier. A segment with too many copies is dropped where it costs most, and a
// segment without a rule is dropped everywhere. When no copies are missing, the fullest servers
// move some segments to the emptiest. A round handles the datasources that changed; it handles all
// datasources once per period and when servers join or leave.
//
//	assign.go       the duty: rounds, commands, their outcomes
//	clusterstate.go the servers, with the segments that they will hold after all commands
//	sight.go        the visible segments of a datasource
//	place.go        copies of a segment
//	strategy.go     the choice of the server for a copy
//	move.go         balancing
//	clone.go        servers that mirror another server
//	rate.go         how fast servers load
//	measure.go      metrics
//
// Elsewhere: the meaning of rules (duty/rule), the inventory of servers (cluster.Inventory),
// loading itself (historical).
package assign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// Inventory lists the segments of Historicals.
type Inventory interface {
	Stocks(ids bool) []cluster.Stock
	Holders(segment string) []*cluster.Server
	Changed() <-chan struct{}
}

// Commander sends commands to Historicals.
type Commander interface {
	Send(ctx context.Context, to cluster.Member, c cluster.Command) (cluster.QueueState, error)
}

// Settings returns the Coordinator's dynamic configuration.
type Settings interface {
	Setting(ctx context.Context, name string) (json.RawMessage, bool, error)
}

// Options are the dependencies and settings of a Duty.
type Options struct {
	Follow    *duty.Follower
	Inventory Inventory
	Commander Commander
	Settings  Settings
	// Strategy selects the server of a segment; empty: Cost.
	Strategy Strategy
	// LoadTimeout is the maximum time for loading one segment; 0: no limit.
	LoadTimeout time.Duration
	Clock       clock.Clock
	Log         *slog.Logger
}

// Duty assigns segments to Historicals. Run is called by one goroutine, the other methods by any.
type Duty struct {
	o     Options
	epoch int64
	known map[string]*known                 // by datasource; of the goroutine that runs rounds
	debug atomic.Pointer[map[string]string] // DebugDimensions of the last round

	mu struct {
		sync.Mutex
		pending   map[string]map[string]assignment // by server, the ids that it was assigned
		drops     map[string]map[string]string     // by server, the ids that it was ordered to drop
		loading   map[string]bool                  // the servers that were assigned segments since they said that nothing is left to load
		rates     map[string]rate                  // by server
		moves     map[string]move                  // by id
		failed    map[string]string                // by id, why no server could load it
		refused   map[string]map[string]int64      // by id, the servers that could not load it, with when in milliseconds
		processes map[string]process               // by server, to see when they are others, or answer again
		config    duty.Settings                    // of the last round
		state     *timeline.State                  // likewise
		late      bool                             // drops wait for loads that were ordered: with the last of these all is looked at again
	}
}

// process is which one is a server, and whether it answers. A new process at the address of an old
// one knows nothing of what that was told.
type process struct {
	holder  string
	started int64
	down    bool
}

// assignment is a segment that a server was ordered to load.
type assignment struct {
	reason string
	// begun is when the server was first seen to be at it, in milliseconds; 0: it waits for its turn
	// there.
	begun int64
	// since is when it was told, and late that somebody was told of its waiting.
	since int64
	late  bool
}

// New returns the duty.
func New(o Options) *Duty { return &Duty{o: o} }

// Run assigns segments until ctx is done. All commands contain the epoch.
func (d *Duty) Run(ctx context.Context, epoch int64) error {
	d.reset(epoch)
	wake := make(chan struct{}, 1)
	follow := *d.o.Follow
	follow.Wake = wake
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { d.watch(ctx, wake); return nil })
	group.Go(func() error { return follow.Run(ctx, d.round) })
	return group.Wait()
}

// reset forgets what an earlier leadership knew.
func (d *Duty) reset(epoch int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch = epoch
	d.known, d.mu.pending = map[string]*known{}, map[string]map[string]assignment{}
	d.mu.drops, d.mu.moves, d.mu.failed = map[string]map[string]string{}, map[string]move{}, map[string]string{}
	d.mu.refused, d.mu.loading, d.mu.rates = map[string]map[string]int64{}, map[string]bool{}, map[string]rate{}
	d.mu.processes, d.mu.late = nil, false
	d.mu.config, d.mu.state = duty.Settings{}, nil
}

// watch sees commands obeyed, and wakes the duty for everything when servers came or went.
func (d *Duty) watch(ctx context.Context, wake chan<- struct{}) {
	for {
		changed := d.o.Inventory.Changed()
		stocks := d.o.Inventory.Stocks(false)
		all := d.settle(ctx, stocks)
		if err := d.followSources(ctx, stocks); err != nil && ctx.Err() == nil {
			d.o.Log.WarnContext(ctx, "failed to assign segments to a clone", "error", err)
		}
		if all {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
		if d.o.Clock.Sleep(ctx, settlePause) != nil {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// settlePause is how long changes gather before they are looked at: while servers load, there are
// many, and each look asks all of them.
const settlePause = 300 * time.Millisecond

// settle takes what was obeyed off the lists and ends moves whose copy has arrived. It reports
// whether all is to be looked at: the servers are others than before, or what drops have waited for
// is loaded.
func (d *Duty) settle(ctx context.Context, stocks []cluster.Stock) bool {
	d.mu.Lock()
	look := d.meetLocked(stocks)
	out := commands{}
	for _, s := range stocks {
		address := s.Member.Address()
		for id := range d.mu.pending[address] {
			if holds(d.o.Inventory.Holders(id), address) {
				delete(d.mu.pending[address], id)
				d.count("segment/loadQueue/success", 1, "server", address)
			}
		}
		for id := range d.mu.drops[address] {
			if !holds(d.o.Inventory.Holders(id), address) {
				delete(d.mu.drops[address], id)
			}
		}
	}
	loads := func(ids map[string]assignment) bool { return len(ids) > 0 }
	if d.mu.late && !slices.ContainsFunc(slices.Collect(maps.Values(d.mu.pending)), loads) {
		d.mu.late, look = false, true
	}
	for id, m := range d.mu.moves {
		if holds(d.o.Inventory.Holders(id), m.to) {
			delete(d.mu.moves, id)
			out.drop(m.from, id, "it was moved to server ["+m.to+"]")
		}
	}
	for id := range d.mu.failed {
		if len(d.o.Inventory.Holders(id)) > 0 {
			delete(d.mu.failed, id)
		}
	}
	d.mu.Unlock()
	if err := d.send(ctx, stocks, out); err != nil && ctx.Err() == nil {
		d.o.Log.WarnContext(ctx, "failed to make a server drop moved segments", "error", err)
	}
	return look
}

// meetLocked notes which processes there are, forgets what those were told that are no more, and
// reports whether they are others than before or answer where they did not.
func (d *Duty) meetLocked(stocks []cluster.Stock) (others bool) {
	processes := make(map[string]process, len(stocks))
	for _, s := range stocks {
		processes[s.Member.Address()] = process{s.Member.Holder, s.Member.Started, s.Down}
	}
	for address, was := range d.mu.processes {
		now := processes[address]
		if now.holder == was.holder && now.started == was.started {
			continue
		}
		delete(d.mu.pending, address)
		delete(d.mu.drops, address)
		delete(d.mu.loading, address)
		maps.DeleteFunc(d.mu.moves, func(_ string, m move) bool { return m.to == address })
	}
	others = !maps.Equal(processes, d.mu.processes)
	d.mu.processes = processes
	return others
}

func holds(servers []*cluster.Server, address string) bool {
	return slices.ContainsFunc(servers, func(s *cluster.Server) bool { return s.Name == address })
}

// round brings what Historicals hold in line with the rules; the error says that something is left
// to do.
func (d *Duty) round(ctx context.Context, v duty.Visit) error {
	config, err := duty.ReadSettings(ctx, d.o.Settings)
	if err != nil || config.PauseCoordination {
		return err
	}
	d.mu.Lock()
	d.mu.config, d.mu.state = config, v.State
	d.mu.Unlock()
	d.debug.Store(&config.DebugDimensions)
	stocks := d.o.Inventory.Stocks(false)
	now := clock.Millis(d.o.Clock)
	out := commands{}
	if v.All {
		d.tellLate(ctx, now, config)
		d.giveUp(ctx, now, config, out)
	}
	state := d.clusterState(stocks, config)
	var failed []error
	for _, dataSource := range v.DataSources {
		if err := d.follow(state, v, dataSource, now, out); err != nil {
			failed = append(failed, err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	if v.All {
		d.dropOthers(state, v.State, out)
		if len(failed) == 0 && d.o.Strategy != Random {
			d.even(state, v.State, config, out)
		}
	}
	if v.All { // in between it is what sources load that tells
		d.mirror(state, v.State, out)
	}
	if state.postponed {
		d.mu.Lock()
		d.mu.late = true
		d.mu.Unlock()
	}
	failed = append(failed, d.send(ctx, stocks, out))
	return errors.Join(failed...)
}

// commands are what servers are to be told, by address.
type commands map[string]*order

type order struct {
	load    []cluster.LoadItem
	drop    []string
	reasons map[string]string
}

func (c commands) of(server string) *order {
	if c[server] == nil {
		c[server] = &order{reasons: map[string]string{}}
	}
	return c[server]
}

func (c commands) load(server string, s *timeline.Segment, id, reason string) {
	o := c.of(server)
	o.drop = slices.DeleteFunc(o.drop, func(dropped string) bool { return dropped == id }) // nobody else can load what it is late with
	o.load = append(o.load, cluster.LoadItem{ID: id, LoadSpec: s.LoadSpec(), Size: s.Size})
	o.reasons[id] = reason
}

func (c commands) drop(server, id, reason string) {
	o := c.of(server)
	if _, twice := o.reasons[id]; twice {
		return
	}
	o.drop = append(o.drop, id)
	o.reasons[id] = reason
}

// commandTime bounds how long a Historical may take to accept a command.
const commandTime = 30 * time.Second

// send tells the servers, all at once, and notes what they are to do.
func (d *Duty) send(ctx context.Context, stocks []cluster.Stock, out commands) error {
	var group errgroup.Group
	group.SetLimit(32)
	errs := make([]error, len(stocks))
	for i, s := range stocks {
		address := s.Member.Address()
		d.mu.Lock()
		waits := d.mu.loading[address]
		d.mu.Unlock()
		if out[address] == nil && !waits || s.Down { // with nothing new it is asked what became of the old
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, commandTime)
			defer cancel()
			errs[i] = d.tell(ctx, s.Member, out[address])
			return nil
		})
	}
	_ = group.Wait() // the failures are in errs
	return errors.Join(errs...)
}

// tell gives a server its order; nil: it has none, and only says what became of the last.
func (d *Duty) tell(ctx context.Context, to cluster.Member, o *order) error {
	if o == nil {
		o = &order{}
	}
	address := to.Address()
	d.mu.Lock()
	if d.mu.pending[address] == nil {
		d.mu.pending[address], d.mu.drops[address] = map[string]assignment{}, map[string]string{}
	}
	for _, l := range o.load {
		d.mu.pending[address][l.ID] = assignment{reason: o.reasons[l.ID], since: clock.Millis(d.o.Clock)}
	}
	for _, id := range o.drop {
		d.mu.drops[address][id] = o.reasons[id]
	}
	c := cluster.Command{Epoch: d.epoch, Load: o.load, Drop: o.drop, Turbo: slices.Contains(d.mu.config.TurboLoadingNodes, address)}
	d.mu.Unlock()
	state, err := d.o.Commander.Send(ctx, to, c)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		for _, l := range o.load {
			delete(d.mu.pending[address], l.ID)
		}
		return fault.Unavailable("Segments could not be assigned to Historical [%s]", address).WithCause(err)
	}
	d.measureLocked(address, o)
	d.mu.loading[address] = len(state.Pending) > 0 || len(o.load) > 0
	d.mu.rates[address] = d.mu.rates[address].and(state.LoadedBytes, state.LoadingMicros)
	waits := map[string]bool{}
	for _, id := range state.Pending {
		waits[id] = true
	}
	now := clock.Millis(d.o.Clock)
	for _, id := range state.Loading {
		if t, there := d.mu.pending[address][id]; there && t.begun == 0 {
			t.begun = now
			d.mu.pending[address][id] = t
		}
	}
	for id := range d.mu.pending[address] {
		if waits[id] {
			continue
		}
		delete(d.mu.pending[address], id) // done, or failed
		if state.Failed[id] == "" {
			d.count("segment/loadQueue/success", 1, "server", address)
		}
	}
	d.count("segment/loadQueue/failed", len(state.Failed), "server", address)
	for id, reason := range state.Failed {
		d.refuseLocked(address, id, reason, now)
		d.o.Log.WarnContext(ctx, "failed to load a segment", "server", address, "segment", id, "reason", reason)
	}
	if len(state.Failed) > 0 {
		return fault.Runtime("[%d] segments could not be loaded by Historical [%s]", len(state.Failed), address)
	}
	return nil
}

// refuseLocked notes that a server did not load a segment, and why.
func (d *Duty) refuseLocked(address, id, reason string, now int64) {
	d.mu.failed[id] = "server [" + address + "]: " + reason
	if d.mu.refused[id] == nil {
		d.mu.refused[id] = map[string]int64{}
	}
	d.mu.refused[id][address] = now
	if m, ok := d.mu.moves[id]; ok && m.to == address {
		delete(d.mu.moves, id)
	}
}

// tellLate warns of segments that servers were told to load many periods ago, of each once.
func (d *Duty) tellLate(ctx context.Context, now int64, c duty.Settings) {
	most := int64(c.Lifetime()) * d.o.Follow.Period.Milliseconds()
	d.mu.Lock()
	defer d.mu.Unlock()
	for address, ids := range d.mu.pending {
		late := 0
		for id, t := range ids {
			if most > 0 && !t.late && now-t.since >= most {
				t.late = true
				ids[id] = t
				late++
			}
		}
		if late > 0 {
			d.o.Log.WarnContext(ctx, "segments have waited to be loaded for longer than replicantLifetime", "server", address, "segments", late,
				"periods", c.Lifetime())
		}
	}
}

// giveUp counts as failed what servers are at loading for longer than they may, so that others are
// told to. The servers are told to leave it, unless both are to go on.
func (d *Duty) giveUp(ctx context.Context, now int64, c duty.Settings, out commands) {
	if d.o.LoadTimeout <= 0 {
		return
	}
	reason := fmt.Sprintf("it did not load it within [%s] (service.coordinator.load.timeout)", d.o.LoadTimeout)
	d.mu.Lock()
	defer d.mu.Unlock()
	for address, ids := range d.mu.pending {
		for id, t := range ids {
			if t.begun == 0 || now-t.begun < d.o.LoadTimeout.Milliseconds() {
				continue
			}
			delete(ids, id)
			d.refuseLocked(address, id, reason, now)
			d.count("segment/loadQueue/failed", 1, "server", address)
			if !c.ReplicateAfterLoadTimeout {
				out.drop(address, id, reason)
			}
			d.o.Log.WarnContext(ctx, "segment was not loaded in time; assigning it to another server", "server", address, "segment", id)
		}
	}
}

// refusedFor is how long a server that could not load a segment is passed over for it while another
// has room, in milliseconds: its disk may be full, or smaller than it says, and what it does not
// get it seems to have room for.
const refusedFor = 10 * 60 * 1000

// refusingLocked returns by id the servers that could not load it of late, and forgets the others.
func (d *Duty) refusingLocked() map[string][]string {
	out := map[string][]string{}
	now := clock.Millis(d.o.Clock)
	for id, servers := range d.mu.refused {
		for address, since := range servers {
			if now-since < refusedFor {
				out[id] = append(out[id], address)
			} else {
				delete(servers, address)
			}
		}
		if len(servers) == 0 {
			delete(d.mu.refused, id)
		}
	}
	return out
}

// Queue contains the pending commands of a Historical, by segment id, with their reasons, and its
// loading rate in kilobits per second; 0: not known.
type Queue struct {
	Load, Drop map[string]string
	Kbps       int64
}

// Queues returns the queues of all servers with pending commands, by address.
func (d *Duty) Queues() map[string]Queue {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := map[string]Queue{}
	for server, ids := range d.mu.pending {
		if len(ids) == 0 {
			continue
		}
		load := make(map[string]string, len(ids))
		for id, t := range ids {
			load[id] = t.reason
		}
		out[server] = Queue{Load: load, Kbps: d.mu.rates[server].kbps()}
	}
	for server, ids := range d.mu.drops {
		if len(ids) == 0 {
			continue
		}
		q := out[server]
		q.Drop = maps.Clone(ids)
		out[server] = q
	}
	return out
}

// Failures returns, by segment id, why no server could load the segment.
func (d *Duty) Failures() map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.mu.failed)
}
