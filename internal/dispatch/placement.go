package dispatch

import (
	"cmp"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// Server is a process that reads segments.
type Server struct {
	// Name is its host:port, which users see.
	Name string
	// URL is its base URL.
	URL string
	// Rank selects among the servers of a segment: the highest rank wins (Tiers).
	Rank int
	// Unasked says that queries of this process pass the server over (Tiers).
	Unasked bool
	// Protocol is the newest version of requests that it supports; 0: the version of this process.
	Protocol int
	// Here says that the server is this process.
	Here bool

	down atomic.Bool
}

// Down reports whether the server currently does not respond, although it has not left.
func (s *Server) Down() bool { return s.down.Load() }

// SetDown sets whether the server does not respond.
func (s *Server) SetDown(down bool) { s.down.Store(down) }

// Segment is a segment of a scan.
type Segment struct {
	Of *timeline.Segment
	// ID is the text of the id.
	ID string
	// Visible is its visible interval.
	Visible chrono.Interval
	// Holders are the servers that have announced it. Callers must not change the slice.
	Holders []*Server
	// Live is true if the segment is growing, or is not used in the state that the query pins: only
	// its holders can read it.
	Live bool

	// fingerprint is that of the file where Of does not say where it is.
	fingerprint string
}

// file returns the fingerprint of the segment's file; empty: its name has none.
func (s *Segment) file() string {
	if s.fingerprint != "" || s.Of == nil {
		return s.fingerprint
	}
	return segment.FingerprintOf(s.Of)
}

// Balance is the strategy that chooses among equivalent servers of a segment.
type Balance string

// The ways to choose one.
const (
	LeastRows       Balance = "leastRows"       // the server with the fewest rows to read for queries; the default
	ConnectionCount Balance = "connectionCount" // the server with the fewest parts of queries, then the fewest rows
	Random          Balance = "random"          // any
)

// placement divides segments among servers.
type placement struct {
	// live are all servers there are.
	live []*Server
	// load is the work that a server has, in rows; the placement adds to it. open is how many parts of
	// queries it is asked for.
	load, open map[string]int64
	// balance is how one is chosen of several that could read a segment alike.
	balance Balance
	// avoid are servers that are passed over while others are left; never are not asked at all.
	avoid, never map[string]bool
}

// share is what one server reads.
type share struct {
	server   *Server
	segments []Segment
	// others are what the server has other servers read and merges with its own (tree.go).
	others []share
	// located says to tell the server where the files of all segments are, those included that it is
	// known to hold.
	located bool
}

// place returns each server's share; segments keep their order. Of the servers that hold a segment
// it takes the one of the highest rank that has the least to do, or as balance says. A segment that
// none holds goes where its name points to, so that the next query finds it there.
func (p *placement) place(segments []Segment) ([]share, error) {
	var out []share
	at := map[string]int{}
	for _, s := range segments {
		server := p.choose(&s)
		if server == nil && s.Live {
			return nil, lost(s.ID)
		}
		if server == nil {
			return nil, fault.Unavailable("Segment [%s] can't be read: there is no Historical", s.ID)
		}
		p.load[server.Name] += max(s.Of.Rows, 1)
		i, ok := at[server.Name]
		if !ok {
			i = len(out)
			at[server.Name] = i
			out = append(out, share{server: server})
			if p.balance == ConnectionCount {
				p.open[server.Name]++
			}
		}
		out[i].segments = append(out[i].segments, s)
	}
	return out, nil
}

func (p *placement) choose(s *Segment) *Server {
	for _, all := range []bool{false, true} { // with those to avoid if nobody else is left
		usable := func(o *Server) bool { return !p.never[o.Name] && !o.Down() && (all || !p.avoid[o.Name]) }
		if held := p.best(s.Holders, usable); len(held) > 0 {
			if s.Live { // they may have read more or less of the same: the first has what was there before
				return held[0]
			}
			return p.pick(s, held)
		}
		if !all && slices.ContainsFunc(s.Holders, func(o *Server) bool { return !p.never[o.Name] && !o.Down() }) {
			continue // a server to avoid that holds it is better than one that does not
		}
		if s.Live {
			continue
		}
		if any := p.best(p.live, usable); len(any) > 0 {
			return slices.MaxFunc(any, func(a, b *Server) int { return cmp.Compare(score(s.ID, a.Name), score(s.ID, b.Name)) })
		}
	}
	return nil
}

// pick returns one of several servers of the same rank that hold a segment.
func (p *placement) pick(s *Segment, held []*Server) *Server {
	if p.balance == Random {
		return held[rand.IntN(len(held))]
	}
	return slices.MinFunc(held, func(a, b *Server) int {
		less := cmp.Or(cmp.Compare(p.load[a.Name], p.load[b.Name]), cmp.Compare(score(s.ID, b.Name), score(s.ID, a.Name)))
		if p.balance == ConnectionCount {
			return cmp.Or(cmp.Compare(p.open[a.Name], p.open[b.Name]), less)
		}
		return less
	})
}

// best returns the usable servers of the highest rank.
func (p *placement) best(servers []*Server, usable func(*Server) bool) []*Server {
	var out []*Server
	for _, s := range servers {
		if !usable(s) {
			continue
		}
		if len(out) > 0 && s.Rank > out[0].Rank {
			out = out[:0]
		}
		if len(out) == 0 || s.Rank == out[0].Rank {
			out = append(out, s)
		}
	}
	return out
}

// score is the rank of a server for a segment that none holds (rendezvous hashing, Thaler and
// Ravishankar 1998).
func score(segment, server string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, segment) // a hash does not fail
	_, _ = io.WriteString(h, "\x00")
	_, _ = io.WriteString(h, server)
	x := h.Sum64()
	x ^= x >> 33 // fnv mixes the last bytes little
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
