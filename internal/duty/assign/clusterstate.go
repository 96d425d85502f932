package assign

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/timeline"
)

// clusterState is the Historicals as they will be when all commands are obeyed.
type clusterState struct {
	inventory Inventory
	by        map[string]*server
	known     map[*cluster.Server]*server // by by name, for those that were looked up; nil: not a server of the state
	tiers     []*tier                     // by name
	clones    []clone                     // by address; they are in neither
	// pending are the servers that were told to load a segment, leaving those told to drop it.
	pending, leaving map[string][]string
	strategy         Strategy
	// refused are the servers that could not load a segment of late.
	refused map[string][]string
	// moving are the segments on their way from one server to another.
	moving map[string]bool
	// postponed says that something is to be dropped when what was told to load has arrived.
	postponed bool

	// chunk is the segments of the time chunk that is looked at. Those of one chunk are asked
	// together, and should not be on one server: when a segment of it needs a place they are counted
	// by server, once. Servers know by the number of the chunk whether their count is of this one.
	chunk   []string // ids; empty: tombstones
	number  int
	counted bool

	ids           map[string][]string // what servers hold, by address; nil until it is asked for
	there, coming []*server           // of the segment that is looked at; kept for the next
}

// tier is the Historicals of one name, the emptiest first.
type tier struct {
	name    string
	servers []*server
	// order is servers as they were at the beginning, turn whose turn it is; nil: the strategy
	// chooses.
	order []*server
	turn  int
	// replicas is how many copies beyond the first of their segments it may be given in this round.
	replicas int
}

// server is one Historical.
type server struct {
	cluster.Stock
	address string
	tier    *tier
	at      int // in tier.servers
	// bytes and count are what it holds and was told to load; full is the part of its room that bytes
	// take.
	bytes int64
	count int
	// queue is how many it is told to load and does not hold, most how many that may be; 0: any
	// number.
	queue, most int
	full        float64
	// known is how many of the segments that it holds were seen to be visible in this round.
	known int
	// near is how many segments of chunk number it has, or was given.
	near, chunk int
	closed      bool // it is to give all it has
	// rest is what it holds, without what was thought of being moved; nil: nothing was.
	rest []string
}

// clusterState returns the servers as they are known to be.
func (d *Duty) clusterState(stocks []cluster.Stock, c duty.Settings) *clusterState {
	f := &clusterState{inventory: d.o.Inventory, strategy: d.o.Strategy, by: map[string]*server{}, known: map[*cluster.Server]*server{}, pending: map[string][]string{}, leaving: map[string][]string{}, moving: map[string]bool{}}
	tiers := map[string]*tier{}
	for _, s := range stocks {
		o := &server{Stock: s, address: s.Member.Address(), bytes: s.Used, count: s.Segments}
		o.closed = slices.Contains(c.DecommissioningNodes, o.address)
		o.full = o.fill(0)
		if source, ok := c.CloneServers[o.address]; ok {
			f.clones = append(f.clones, clone{o, source})
			continue
		}
		t := tiers[s.Member.Tier]
		if t == nil {
			t = &tier{name: s.Member.Tier, replicas: math.MaxInt}
			if !c.SmartSegmentLoading {
				t.replicas = c.ReplicationThrottleLimit
			}
			tiers[t.name] = t
		}
		if !c.SmartSegmentLoading {
			o.most = c.MaxSegmentsInNodeLoadingQueue
		}
		o.tier, t.servers = t, append(t.servers, o)
		f.by[o.address] = o
	}
	for _, name := range slices.Sorted(maps.Keys(tiers)) {
		t := tiers[name]
		slices.SortStableFunc(t.servers, (*server).emptier)
		for i, o := range t.servers {
			o.at = i
		}
		if !c.SmartSegmentLoading && c.UseRoundRobinSegmentAssignment {
			t.order = slices.Clone(t.servers)
		}
		f.tiers = append(f.tiers, t)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f.refused = d.refusingLocked()
	for id := range d.mu.moves {
		f.moving[id] = true
	}
	for server, ids := range d.mu.pending {
		for id := range ids {
			f.pending[id] = append(f.pending[id], server)
		}
		o := f.by[server]
		if o == nil {
			continue
		}
		o.queue = len(ids)
		for id := range ids {
			if !c.SmartSegmentLoading && len(f.inventory.Holders(id)) > 0 {
				o.tier.replicas--
			}
		}
	}
	for server, ids := range d.mu.drops {
		for id := range ids {
			f.leaving[id] = append(f.leaving[id], server)
		}
	}
	return f
}

// held returns what a server holds.
func (f *clusterState) held(s *server) []string {
	if f.ids == nil {
		f.ids = map[string][]string{}
		for _, stock := range f.inventory.Stocks(true) {
			f.ids[stock.Member.Address()] = stock.IDs
		}
	}
	return f.ids[s.address]
}

// verdict returns how many copies a rule wants on each tier, never more than it has servers. Those
// on tiers without any are wanted all the same: until there are servers, as many copies stay where
// they are.
func (f *clusterState) verdict(r rule.Rule) *verdict {
	v := &verdict{rule: r, copies: make([]int, len(f.tiers))}
	there := map[string]bool{}
	for i, t := range f.tiers {
		there[t.name] = true
		v.copies[i] = max(0, min(r.Copies(t.name, len(t.servers)), len(t.servers)))
		v.sum += v.copies[i]
	}
	if r.Action != rule.Load {
		return v
	}
	for _, name := range slices.Sorted(maps.Keys(r.Replicas)) {
		if n := r.Replicas[name]; n > 0 && !there[name] {
			v.absent = append(v.absent, name)
			v.sum += min(n, len(f.by))
		}
	}
	return v
}

// find notes which servers hold the segment that is looked at.
func (f *clusterState) find(holders []*cluster.Server) {
	f.there = f.there[:0]
	for _, server := range holders {
		o, met := f.known[server]
		if !met {
			o = f.by[server.Name]
			f.known[server] = o
		}
		if o != nil {
			o.known++
			f.there = append(f.there, o)
		}
	}
}

// look goes on to another time chunk.
func (f *clusterState) look(chunk []string) {
	f.chunk, f.counted = chunk, false
	f.number++
}

// neighbours counts the segments of the chunk by server.
func (f *clusterState) neighbours() {
	if f.counted {
		return
	}
	f.counted = true
	for _, id := range f.chunk {
		for _, server := range f.inventory.Holders(id) {
			if o := f.by[server.Name]; o != nil {
				o.meet(f.number)
			}
		}
	}
}

// meet counts a segment of a chunk.
func (s *server) meet(chunk int) {
	if s.chunk != chunk {
		s.chunk, s.near = chunk, 0
	}
	s.near++
}

// fill is the part of a server's room that is taken, with size bytes more.
func (s *server) fill(size int64) float64 {
	if s.Member.MaxBytes <= 0 {
		return 0
	}
	return float64(s.bytes+size) / float64(s.Member.MaxBytes)
}

// emptier compares servers by what they hold.
func (s *server) emptier(o *server) int {
	return cmp.Or(cmp.Compare(s.full, o.full), cmp.Compare(s.count, o.count))
}

// fits reports whether a server has room for a segment.
func (s *server) fits(seg *timeline.Segment) bool {
	return !s.closed && !s.Down && !s.busy() && (s.Member.MaxBytes <= 0 || s.bytes+seg.Size <= s.Member.MaxBytes)
}

// busy reports whether a server has so much to load that it is to get nothing more.
func (s *server) busy() bool { return s.most > 0 && s.queue >= s.most }

// cost is what it costs to have a segment of the chunk on a server: room, and work that falls on it
// together with that of its neighbours in time.
func (f *clusterState) cost(s *server, size int64) float64 {
	cost := s.fill(size)
	if s.chunk == f.number && f.strategy != DiskNormalized {
		cost += neighbourCost * float64(s.near)
	}
	return cost
}

// neighbourCost is that of another segment of the same time chunk: as much as a hundredth of the
// server.
const neighbourCost = 0.01

// give notes that a server gets a segment, or with -1 that it loses one, and keeps the tier in
// order.
func (f *clusterState) give(s *server, size int64, n int) {
	s.bytes += int64(n) * size
	s.count += n
	s.full = s.fill(0)
	servers := s.tier.servers
	for s.at+1 < len(servers) && s.emptier(servers[s.at+1]) > 0 {
		servers[s.at], servers[s.at+1] = servers[s.at+1], s
		servers[s.at].at--
		s.at++
	}
	for s.at > 0 && s.emptier(servers[s.at-1]) < 0 {
		servers[s.at], servers[s.at-1] = servers[s.at-1], s
		servers[s.at].at++
		s.at--
	}
}

// refusing are the servers that could not load a segment of late.
func (f *clusterState) refusing(id string) (out []*server) {
	for _, address := range f.refused[id] {
		if o := f.by[address]; o != nil {
			out = append(out, o)
		}
	}
	return out
}

// next returns the server whose turn it is, or the first after it that is fit, or nil.
func (t *tier) next(unfit func(*server) bool) *server {
	for i := range t.order {
		at := (t.turn + i) % len(t.order)
		if o := t.order[at]; !unfit(o) {
			t.turn = at + 1
			return o
		}
	}
	return nil
}

// cheapest returns the server of a tier with the lowest cost, or as settings or the strategy say
// the next one or any, of those that have room for a segment and are not among others, or nil. A
// server costs at least what it holds: those behind one that holds more than the best costs need no
// look.
func (f *clusterState) cheapest(t *tier, seg *timeline.Segment, others ...[]*server) *server {
	unfit := func(s *server) bool {
		return !s.fits(seg) || slices.ContainsFunc(others, func(list []*server) bool { return slices.Contains(list, s) })
	}
	if t.order != nil {
		return t.next(unfit)
	}
	if f.strategy == Random {
		return anyOf(slices.DeleteFunc(slices.Clone(t.servers), unfit))
	}
	f.neighbours()
	var best *server
	least := 0.0
	for _, s := range t.servers {
		if best != nil && s.full > least {
			break
		}
		if unfit(s) {
			continue
		}
		if cost := f.cost(s, seg.Size); best == nil || cost < least {
			best, least = s, cost
		}
	}
	return best
}
