package dispatch

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// Server is a process that reads segments.
type Server struct {
	// Name is its host:port, by which users know it.
	Name string
	// URL is its address in front of paths.
	URL string
	// Priority decides among those that hold a segment: the highest is asked.
	Priority int
	// Protocol is the newest version of requests that it knows; 0: that of this process.
	Protocol int
	// Here says that the server is this process.
	Here bool

	down atomic.Bool
}

// Down reports whether the server does not answer at the moment, though it has not left.
func (s *Server) Down() bool { return s.down.Load() }

// SetDown notes that it does not, or does again.
func (s *Server) SetDown(down bool) { s.down.Store(down) }

// Segment is a segment of a scan.
type Segment struct {
	Of *timeline.Segment
	// ID is that of the segment as text.
	ID string
	// Visible is the part of time in which its rows count.
	Visible chrono.Interval
	// Holders are the servers that have announced it. Callers share the slice.
	Holders []*Server
}

// placement divides segments among servers.
type placement struct {
	// live are all servers there are.
	live []*Server
	// load is the work that a server has, in rows; the placement adds to it.
	load map[string]int64
	// avoid are servers that are passed over while others are left; never are not asked at all.
	avoid, never map[string]bool
}

// share is what one server reads.
type share struct {
	server   *Server
	segments []Segment
	// others are what the server has other servers read and merges with its own (tree.go).
	others []share
}

// place returns each server's share; segments keep their order. Of the servers that hold a segment it takes the one of the highest priority
// that has the least to do. A segment that none holds goes where its name points to, so that the next query finds it there.
func (p *placement) place(segments []Segment) ([]share, error) {
	var out []share
	at := map[string]int{}
	for _, s := range segments {
		server := p.choose(&s)
		if server == nil {
			return nil, fault.Unavailable("Segment [%s] can't be read: no Historical is there that could", s.ID)
		}
		p.load[server.Name] += max(s.Of.Rows, 1)
		i, ok := at[server.Name]
		if !ok {
			i = len(out)
			at[server.Name] = i
			out = append(out, share{server: server})
		}
		out[i].segments = append(out[i].segments, s)
	}
	return out, nil
}

func (p *placement) choose(s *Segment) *Server {
	for _, all := range []bool{false, true} { // with those to avoid if nobody else is left
		usable := func(o *Server) bool { return !p.never[o.Name] && !o.Down() && (all || !p.avoid[o.Name]) }
		if held := p.best(s.Holders, usable); len(held) > 0 {
			return slices.MinFunc(held, func(a, b *Server) int {
				return cmp.Or(cmp.Compare(p.load[a.Name], p.load[b.Name]), cmp.Compare(score(s.ID, b.Name), score(s.ID, a.Name)))
			})
		}
		if !all && slices.ContainsFunc(s.Holders, func(o *Server) bool { return !p.never[o.Name] && !o.Down() }) {
			continue // a server to avoid that holds it is better than one that does not
		}
		if any := p.best(p.live, usable); len(any) > 0 {
			return slices.MaxFunc(any, func(a, b *Server) int { return cmp.Compare(score(s.ID, a.Name), score(s.ID, b.Name)) })
		}
	}
	return nil
}

// best returns the usable servers of the highest priority.
func (p *placement) best(servers []*Server, usable func(*Server) bool) []*Server {
	var out []*Server
	for _, s := range servers {
		if !usable(s) {
			continue
		}
		if len(out) > 0 && s.Priority > out[0].Priority {
			out = out[:0]
		}
		if len(out) == 0 || s.Priority == out[0].Priority {
			out = append(out, s)
		}
	}
	return out
}

// score is the rank of a server for a segment that none holds (rendezvous hashing, Thaler and Ravishankar 1998).
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
