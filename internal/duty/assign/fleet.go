package assign

import (
	"cmp"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/timeline"
)

// fleet is the Historicals as they will be when all commands are obeyed.
type fleet struct {
	servers []*ship
	by      map[string]*ship
	tiers   map[string][]*ship
	// pending are the servers that were told to load a segment, leaving those told to drop it.
	pending, leaving map[string][]string
	// moving are the segments on their way from one server to another.
	moving map[string]bool
}

// ship is one Historical.
type ship struct {
	cluster.Stock
	address string
	// bytes is what it holds and was told to load.
	bytes int64
	// chunks is how many segments of a time chunk it was given in this round: those of one chunk are asked together and should not be.
	chunks map[chunk]int
	closed bool // it is to give all it has
}

type chunk struct {
	dataSource string
	interval   chrono.Interval
}

// fleet returns the servers as they are known to be.
func (d *Duty) fleet(stocks []cluster.Stock, c configuration) *fleet {
	f := &fleet{by: map[string]*ship{}, tiers: map[string][]*ship{}, pending: map[string][]string{}, leaving: map[string][]string{}, moving: map[string]bool{}}
	for _, s := range stocks {
		o := &ship{Stock: s, address: s.Member.Address(), bytes: s.Used, chunks: map[chunk]int{}}
		o.closed = slices.Contains(c.Decommissioning, o.address)
		f.servers = append(f.servers, o)
		f.by[o.address] = o
		f.tiers[s.Member.Tier] = append(f.tiers[s.Member.Tier], o)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.mu.moves {
		f.moving[id] = true
	}
	for server, ids := range d.mu.pending {
		for id := range ids {
			f.pending[id] = append(f.pending[id], server)
		}
	}
	for server, ids := range d.mu.drops {
		for id := range ids {
			f.leaving[id] = append(f.leaving[id], server)
		}
	}
	return f
}

// fill is the part of a server's room that is taken, with size bytes more.
func (s *ship) fill(size int64) float64 {
	if s.Member.MaxBytes <= 0 {
		return 0
	}
	return float64(s.bytes+size) / float64(s.Member.MaxBytes)
}

// fits reports whether a server has room for a segment.
func (s *ship) fits(seg *timeline.Segment) bool {
	return !s.closed && !s.Down && (s.Member.MaxBytes <= 0 || s.bytes+seg.Size <= s.Member.MaxBytes)
}

// cost is what it costs to have a segment on a server: room, and work that falls on it together with that of its neighbours in time.
func (s *ship) cost(seg *timeline.Segment) float64 {
	return s.fill(seg.Size) + neighbourCost*float64(s.chunks[chunk{seg.ID.DataSource, seg.ID.Interval}])
}

// neighbourCost is that of another segment of the same time chunk: as much as a hundredth of the server.
const neighbourCost = 0.01

// take gives a server a segment.
func (s *ship) take(seg *timeline.Segment) {
	s.bytes += seg.Size
	s.chunks[chunk{seg.ID.DataSource, seg.ID.Interval}]++
}

// cheapest returns the server with the lowest cost of those that may have a segment, or nil.
func cheapest(servers []*ship, seg *timeline.Segment, may func(*ship) bool) *ship {
	var best *ship
	for _, s := range servers {
		if may(s) && (best == nil || cmp.Or(cmp.Compare(s.cost(seg), best.cost(seg)), cmp.Compare(s.Segments, best.Segments)) < 0) {
			best = s
		}
	}
	return best
}
