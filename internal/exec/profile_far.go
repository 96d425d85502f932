package exec

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/plan"
)

// ServerProfile is what the operator of a node did on another server, for who merged what it gave.
type ServerProfile struct {
	Server string
	NodeProfile
	// Others is what it did on the servers whose share this one merged with its own, and Silent how
	// many of these have not told.
	Others []ServerProfile
	Silent int
}

// PartProfile is what the operators of a fragment did on one server, and on those whose shares it
// merged with its own.
type PartProfile struct {
	Server string
	// Did has a place for each node of the fragment from its root along the first inputs; nil: the
	// node has no operator.
	Did    []*NodeProfile
	Others []PartProfile
	// Silent is how many of the servers that this one merges have not told what they did. They are not
	// in Others.
	Silent int
}

// FarProfile takes what the operators of a fragment did on the servers that ran it. It is safe for
// use by many goroutines; nil takes nothing.
type FarProfile struct {
	nodes []plan.Node // the query's, for those of the fragment from its root along the first inputs

	mu struct {
		sync.Mutex
		parts []PartProfile
		// asked is how many servers have not come to the end of their work, silent how many have without
		// telling.
		asked, silent int
	}
}

// farProfiles are those of a query.
type farProfiles struct {
	sync.Mutex
	list []*FarProfile
}

// far returns what is told of a fragment over nodes, nil without a profile.
func (e *Env) far(nodes []plan.Node) *FarProfile {
	if e.Profile == nil {
		return nil
	}
	f := &FarProfile{nodes: nodes}
	e.Profile.away.Lock()
	defer e.Profile.away.Unlock()
	e.Profile.away.list = append(e.Profile.away.list, f)
	return f
}

// Ask notes that so many servers work at a part of the fragment: the one that is asked, and those
// whose shares it merges.
func (f *FarProfile) Ask(servers int) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.asked += servers
}

// Done notes that the part of so many servers is whole, whoever did it in the end.
func (f *FarProfile) Done(servers int) { f.Ask(-servers) }

// Add counts what a server has given whole. Servers is how many worked at it. Without what its
// operators did the server did not tell.
func (f *FarProfile) Add(part PartProfile, servers int) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if part.Did == nil {
		f.mu.silent += servers
		return
	}
	told, silent := fitting([]PartProfile{part}, len(f.nodes))
	f.mu.parts, f.mu.silent = append(f.mu.parts, told...), f.mu.silent+silent
}

// fitting returns the parts that tell of so many nodes, and how many servers tell of others: what
// they ran can't be laid beside the query's. What those gave that such a server merged is told as
// if nobody had.
func fitting(parts []PartProfile, nodes int) (told []PartProfile, silent int) {
	for _, p := range parts {
		others, unfit := fitting(p.Others, nodes)
		if len(p.Did) != nodes {
			told, silent = append(told, others...), silent+unfit+p.Silent+1
			continue
		}
		p.Others, p.Silent = others, p.Silent+unfit
		told = append(told, p)
	}
	return told, silent
}

// Servers returns what the operator of a node did on other servers, by their names, and how many
// servers are not in it: they did not tell, or were stopped before the end.
func (p *Profile) Servers(n plan.Node) (did []ServerProfile, silent int) {
	p.away.Lock()
	defer p.away.Unlock()
	for _, f := range p.away.list {
		at := slices.Index(f.nodes, n)
		if at < 0 {
			continue
		}
		f.mu.Lock()
		did = lay(did, f.mu.parts, at)
		silent += f.missingLocked() + untold(f.mu.parts)
		f.mu.Unlock()
	}
	return did, silent
}

// missingLocked is how many servers have told neither this process nor one that it asked.
func (f *FarProfile) missingLocked() int { return max(f.mu.asked, 0) + f.mu.silent }

// untold is how many servers have not told those that merge what they gave.
func untold(parts []PartProfile) (n int) {
	for i := range parts {
		n += parts[i].Silent + untold(parts[i].Others)
	}
	return n
}

// lay adds what parts did for one of their nodes to a list that has each server once, by name.
func lay(did []ServerProfile, parts []PartProfile, node int) []ServerProfile {
	for _, p := range parts {
		at, known := slices.BinarySearchFunc(did, p.Server, func(s ServerProfile, name string) int { return cmp.Compare(s.Server, name) })
		if !known {
			did = slices.Insert(did, at, ServerProfile{Server: p.Server})
		}
		s := &did[at]
		if p.Did[node] != nil {
			s.Merge(p.Did[node])
		}
		s.Others, s.Silent = lay(s.Others, p.Others, node), s.Silent+p.Silent
	}
	return did
}

// Part returns what the operators of a fragment did in this process, and on the servers whose
// shares it has merged. It is called when the fragment's operator is closed. The server has no
// name: who asked it knows.
func (p *Profile) Part(n plan.Node) PartProfile {
	out := PartProfile{}
	for {
		out.Did = append(out.Did, p.Of(n))
		inputs := n.Inputs()
		if len(inputs) == 0 {
			break
		}
		n = inputs[0]
	}
	p.away.Lock()
	defer p.away.Unlock()
	for _, f := range p.away.list {
		f.mu.Lock()
		out.Others, out.Silent = append(out.Others, f.mu.parts...), out.Silent+f.missingLocked()
		f.mu.Unlock()
	}
	return out
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

// MergeAll adds what the operator did on a server and on all whose shares it merged.
func (p *NodeProfile) MergeAll(s *ServerProfile) {
	p.Merge(&s.NodeProfile)
	for i := range s.Others {
		p.MergeAll(&s.Others[i])
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
