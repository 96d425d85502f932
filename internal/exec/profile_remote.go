package exec

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/plan"
)

// ServerProfile contains the counters of the operator of a node on another server, for the server
// that merged its results.
type ServerProfile struct {
	Server string
	NodeProfile
	// Others contains the counters of the servers whose results this server merged, and Silent the
	// number of those that did not report counters.
	Others []ServerProfile
	Silent int
}

// PartProfile contains the counters of the operators of a fragment on one server, and on the
// servers whose results it merged.
type PartProfile struct {
	Server string
	// Did has an entry for each node of the fragment from its root along the first inputs; nil: the
	// node has no operator.
	Did    []*NodeProfile
	Others []PartProfile
	// Silent is the number of merged servers that did not report counters. They are not in Others.
	Silent int
}

// RemoteProfile collects the counters of the operators of a fragment from the servers that ran it.
// It is safe for use by many goroutines; a nil RemoteProfile ignores them.
type RemoteProfile struct {
	nodes []plan.Node // the query's, for those of the fragment from its root along the first inputs

	mu struct {
		sync.Mutex
		parts []PartProfile
		// asked is how many servers have not come to the end of their work, silent how many have without
		// a report.
		asked, silent int
	}
}

// remoteProfiles are those of a query.
type remoteProfiles struct {
	sync.Mutex
	list []*RemoteProfile
}

// remoteProfile returns the profile of a fragment over nodes, nil without a profile of the query.
func (e *Env) remoteProfile(nodes []plan.Node) *RemoteProfile {
	if e.Profile == nil {
		return nil
	}
	f := &RemoteProfile{nodes: nodes}
	e.Profile.remote.Lock()
	defer e.Profile.remote.Unlock()
	e.Profile.remote.list = append(e.Profile.remote.list, f)
	return f
}

// Ask records that so many servers run a part of the fragment: the server of the request, and the
// servers whose results it merges.
func (f *RemoteProfile) Ask(servers int) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.asked += servers
}

// Done records that the part of so many servers is complete, regardless of which server completed
// it.
func (f *RemoteProfile) Done(servers int) { f.Ask(-servers) }

// Add adds the counters of a complete part. servers is the number of servers that ran it. Without
// counters, the server counts as silent.
func (f *RemoteProfile) Add(part PartProfile, servers int) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if part.Did == nil {
		f.mu.silent += servers
		return
	}
	reported, silent := fitting([]PartProfile{part}, len(f.nodes))
	f.mu.parts, f.mu.silent = append(f.mu.parts, reported...), f.mu.silent+silent
}

// fitting returns the parts that tell of so many nodes, and how many servers tell of others: what
// they ran can't be laid beside the query's. What those gave that such a server merged is told as
// if nobody had.
func fitting(parts []PartProfile, nodes int) (reported []PartProfile, silent int) {
	for _, p := range parts {
		others, unfit := fitting(p.Others, nodes)
		if len(p.Did) != nodes {
			reported, silent = append(reported, others...), silent+unfit+p.Silent+1
			continue
		}
		p.Others, p.Silent = others, p.Silent+unfit
		reported = append(reported, p)
	}
	return reported, silent
}

// Servers returns the counters of the operator of a node on other servers, by name, and the number
// of missing servers: those that did not report, or were stopped before the end.
func (p *Profile) Servers(n plan.Node) (did []ServerProfile, silent int) {
	p.remote.Lock()
	defer p.remote.Unlock()
	for _, f := range p.remote.list {
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

// missingLocked is how many servers have reported neither to this process nor to one that it asked.
func (f *RemoteProfile) missingLocked() int { return max(f.mu.asked, 0) + f.mu.silent }

// untold is how many servers have not reported to those that merge what they gave.
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

// Part returns the counters of the operators of a fragment in this process, and on the servers
// whose results it has merged. It is called after the operator of the fragment is closed. The
// server name is empty, because the requester knows it.
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
	p.remote.Lock()
	defer p.remote.Unlock()
	for _, f := range p.remote.list {
		f.mu.Lock()
		out.Others, out.Silent = append(out.Others, f.mu.parts...), out.Silent+f.missingLocked()
		f.mu.Unlock()
	}
	return out
}

// Computed records the CPU time of a fragment in its counters.
func Computed(did []*NodeProfile, took time.Duration) {
	for _, d := range did {
		if d != nil {
			d.CPU = took
			return
		}
	}
}

// MergeAll adds the counters of a server and of all servers whose results it merged.
func (p *NodeProfile) MergeAll(s *ServerProfile) {
	p.Merge(&s.NodeProfile)
	for i := range s.Others {
		p.MergeAll(&s.Others[i])
	}
}

// Merge adds the counters of another operator of the same node.
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
