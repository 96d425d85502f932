package dispatch

import (
	"iter"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
)

// What very many servers give is not merged in one place only. Beyond a fan-in some of the servers
// merge what others give with their own, each again at most as many as the fan-in, so that the
// Broker is not what a query waits for: of n servers it merges the parts of few, and what it holds
// back is bounded by their groups.
//
//	Broker ── a: own, and of d, g ──► d, g
//	       ── b: own, and of e, h ──► e, h
//	       ── c: own, and of f    ──► f
//
// A server that merges asks the others as a Broker does: a part that breaks there is done again by
// another that holds the segments, and one that is late is asked for a second time. When it breaks
// itself, or finds nobody for a part, the Broker has all of it done anew.

// mergeable reports whether merging the parts of a fragment makes fewer rows of them: groups, or
// the first rows of an order.
func mergeable(f *exec.Fragment) bool {
	if f.Streamed {
		return false
	}
	sort, ok := f.Plan.(*plan.Sort)
	return f.Groups || ok && sort.Limit >= 0
}

// merges reports whether a server understands that it is to merge.
func (d *Dispatcher) merges(s *Server) bool { return spoken(d.o.Protocol, s.Protocol) >= versionOthers }

// tree gives shares that are more than the fan-in to some of the servers, of those that can merge
// the ones with the least rows of their own to read.
func tree(shares []share, fanIn int, merges func(*Server) bool) []share {
	if fanIn < 1 || len(shares) <= fanIn {
		return shares
	}
	sorted := slices.Clone(shares)
	slices.SortStableFunc(sorted, func(a, b share) int {
		if able := merges(a.server); able != merges(b.server) {
			if able {
				return -1
			}
			return 1
		}
		return a.rows() - b.rows()
	})
	heads := 0
	for heads < fanIn && merges(sorted[heads].server) {
		heads++
	}
	if heads == 0 {
		return shares
	}
	out := slices.Clone(sorted[:heads])
	for i, s := range sorted[heads:] {
		head := &out[i%heads]
		head.others = append(head.others, s)
	}
	for i := range out {
		out[i].others = tree(out[i].others, fanIn, merges)
	}
	return out
}

// servers is how many work at the share.
func (s *share) servers() (n int) {
	for range s.all() {
		n++
	}
	return n
}

// rows is how many the server reads itself.
func (s *share) rows() int {
	n := 0
	for _, of := range s.segments {
		n += int(max(of.Of.Rows, 1))
	}
	return n
}

// all yields the share and those below it.
func (s *share) all() iter.Seq[*share] {
	return func(yield func(*share) bool) { s.each(yield) }
}

func (s *share) each(yield func(*share) bool) bool {
	if !yield(s) {
		return false
	}
	for i := range s.others {
		if !s.others[i].each(yield) {
			return false
		}
	}
	return true
}

// everything returns the segments of the share and of those below it.
func (s *share) everything() []Segment {
	if len(s.others) == 0 {
		return s.segments
	}
	var out []Segment
	for below := range s.all() {
		out = append(out, below.segments...)
	}
	return out
}

// roster numbers servers as a request names them.
type roster struct {
	servers []SentServer
	of      map[string]int
}

func (n *roster) add(s *Server) int {
	i, known := n.of[s.Name]
	if !known {
		i = len(n.servers)
		n.of[s.Name] = i
		n.servers = append(n.servers, SentServer{s.Name, s.URL, s.Rank, s.Protocol})
	}
	return i
}

// sent returns the segments that the share's server is to read; with a roster, for one who is to
// ask it.
func (s *share) sent(n *roster) []SentSegment {
	out := make([]SentSegment, len(s.segments))
	for i, of := range s.segments {
		out[i] = SentSegment{ID: of.ID, Visible: [2]int64{of.Visible.Start, of.Visible.End}, Rows: of.Of.Rows, Live: of.Live}
		if of.Live {
			continue
		}
		if s.located || !holds(of.Holders, s.server) {
			out[i].LoadSpec = of.Of.LoadSpec()
		}
		if out[i].LoadSpec == nil {
			out[i].File = of.file()
		}
		if n == nil {
			continue
		}
		for _, holder := range of.Holders {
			out[i].Holders = append(out[i].Holders, n.add(holder))
		}
	}
	return out
}

// sentOthers returns what is below the share as a request has it.
func (s *share) sentOthers() ([]SentServer, []SentShare) {
	n := &roster{of: map[string]int{}}
	var below func([]share) []SentShare
	below = func(shares []share) []SentShare {
		var out []SentShare
		for i := range shares {
			o := &shares[i]
			out = append(out, SentShare{Server: n.add(o.server), Segments: o.sent(n), Others: below(o.others)})
		}
		return out
	}
	shares := below(s.others)
	return n.servers, shares
}

// sound reports whether shares name servers that the request has.
func (r *Request) sound(shares []SentShare, depth int) bool {
	known := func(number int) bool { return number >= 0 && number < len(r.Servers) }
	if len(shares) > 0 && depth > maxDepth {
		return false
	}
	for _, s := range shares {
		if !known(s.Server) || !r.sound(s.Others, depth+1) {
			return false
		}
		for _, of := range s.Segments {
			if slices.ContainsFunc(of.Holders, func(n int) bool { return !known(n) }) {
				return false
			}
		}
	}
	return true
}

// Relay returns the remote part of a request, which other servers read. memory and spill are for
// buffered results that wait to be merged.
func (d *Dispatcher) Relay(req *Request, memory *budget.Budget, spill *budget.SpillDir) exec.Remote {
	servers := make([]*Server, len(req.Servers))
	for i, s := range req.Servers {
		servers[i] = &Server{Name: s.Name, URL: s.URL, Rank: s.Rank, Protocol: s.Protocol}
	}
	holders := map[string][]*Server{}
	var below func([]SentShare) []share
	below = func(shares []SentShare) []share {
		out := make([]share, len(shares))
		for i, s := range shares {
			out[i] = share{server: servers[s.Server], others: below(s.Others)}
			for _, of := range s.Segments {
				segment := Segment{
					Of: (&timeline.Segment{Rows: of.Rows}).Locate(of.LoadSpec), ID: of.ID, Visible: chrono.Interval{Start: of.Visible[0], End: of.Visible[1]},
					fingerprint: of.File,
				}
				for _, n := range of.Holders {
					segment.Holders = append(segment.Holders, servers[n])
				}
				holders[of.ID] = segment.Holders
				out[i].segments = append(out[i].segments, segment)
			}
		}
		return out
	}
	return &remote{d: d, shares: below(req.Others), formed: true, q: &Query{
		ID: req.QueryID, TimeZone: req.TimeZone, Now: req.Now, BatchRows: req.BatchRows, Priority: req.Priority, Lane: req.Lane,
		NoCacheUse: req.NoCacheUse, NoCachePopulate: req.NoCachePopulate, Memory: memory, Spill: spill,
		CPUMillis: req.CPUMillis, CPUOver: req.CPUOver,
		Live:    func() []*Server { return nil }, // a segment that none of its holders reads is the Broker's to place
		Holders: func(id string) []*Server { return holders[id] },
	}}
}
