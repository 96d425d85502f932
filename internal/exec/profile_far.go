package exec

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/plan"
)

// ServerProfile is what the operator of a node did on another server.
type ServerProfile struct {
	Server string
	NodeProfile
}

// farProfiles are what operators did on other servers.
type farProfiles struct {
	sync.Mutex
	// asked is how many parts of a node's work were given to servers, and told how many of them said what they did.
	asked, told map[plan.Node]int
	nodes       map[plan.Node][]ServerProfile // each server once
}

// FarProfile takes what the operators of a fragment did on the servers that ran it. It is safe for use by many goroutines; nil takes
// nothing.
type FarProfile struct {
	p     *Profile
	nodes []plan.Node // the query's, for those of the fragment from its root along the first inputs
}

// far returns what is told of a fragment over nodes, nil without a profile.
func (e *Env) far(nodes []plan.Node) *FarProfile {
	if e.Profile == nil {
		return nil
	}
	return &FarProfile{e.Profile, nodes}
}

// ask notes that so many parts were given to servers.
func (f *FarProfile) ask(parts int) {
	if f == nil {
		return
	}
	f.p.away.Lock()
	defer f.p.away.Unlock()
	for _, n := range f.nodes {
		f.p.away.asked[n] += parts
	}
}

// Add counts a part that a server has done whole. did is what Chain returned there; nil: the server did not tell, as releases before this
// one don't.
func (f *FarProfile) Add(server string, did []*NodeProfile) {
	if f == nil || len(did) != len(f.nodes) {
		return
	}
	a := &f.p.away
	a.Lock()
	defer a.Unlock()
	for i, n := range f.nodes {
		a.told[n]++
		if did[i] == nil {
			continue
		}
		list := a.nodes[n]
		at, known := slices.BinarySearchFunc(list, server, func(s ServerProfile, name string) int { return cmp.Compare(s.Server, name) })
		if !known {
			a.nodes[n] = slices.Insert(list, at, ServerProfile{Server: server, NodeProfile: *did[i]})
			continue
		}
		list[at].Merge(did[i])
	}
}

// Servers returns what the operator of a node did on other servers, by their names, and how many parts of its work are not in it: their
// servers did not tell, or were stopped before the end.
func (p *Profile) Servers(n plan.Node) (did []ServerProfile, silent int) {
	p.away.Lock()
	defer p.away.Unlock()
	return slices.Clone(p.away.nodes[n]), max(p.away.asked[n]-p.away.told[n], 0)
}

// Chain returns what the operators of a fragment did, from its root along the first inputs; those that have no operator are nil. It is
// called when the fragment's operator is closed.
func (p *Profile) Chain(n plan.Node) []*NodeProfile {
	var out []*NodeProfile
	for {
		out = append(out, p.Of(n))
		inputs := n.Inputs()
		if len(inputs) == 0 {
			return out
		}
		n = inputs[0]
	}
}

// Computed notes how long cores computed for a fragment whose operators did as much.
func Computed(did []*NodeProfile, took time.Duration) {
	for _, d := range did {
		if d != nil {
			d.CPU = took
			return
		}
	}
}

// Merge adds what another operator of the same node did.
func (p *NodeProfile) Merge(o *NodeProfile) {
	p.Rows, p.Batches, p.Bytes, p.Time, p.Workers = p.Rows+o.Rows, p.Batches+o.Batches, p.Bytes+o.Bytes, p.Time+o.Time, p.Workers+o.Workers
	p.Memory, p.Spilled, p.CPU = p.Memory+o.Memory, p.Spilled+o.Spilled, p.CPU+o.CPU
	switch {
	case o.Scan == nil:
	case p.Scan == nil:
		scan := *o.Scan
		p.Scan = &scan
	default:
		scan := *p.Scan
		scan.Segments, scan.Scanned, scan.Pruned, scan.Rows = scan.Segments+o.Scan.Segments, scan.Scanned+o.Scan.Scanned, scan.Pruned+o.Scan.Pruned, scan.Rows+o.Scan.Rows
		p.Scan = &scan
	}
}
