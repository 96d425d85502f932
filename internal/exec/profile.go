package exec

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Profile collects the counters of the operators of one query, for EXPLAIN ANALYZE. It is set in
// Env before Build and read after the query is closed. Queries without a profile have no overhead.
// The counters of other servers are in profile_remote.go.
type Profile struct {
	clock clock.Clock

	mu struct {
		sync.Mutex
		nodes  map[plan.Node]*nodeProfile
		shared map[int]plan.Node
	}
	remote remoteProfiles
	// memory and spill are those of the query: each node reserves from children of its own.
	memory *budget.Budget
	spill  *budget.SpillDir
}

// NodeProfile contains the counters of an operator.
type NodeProfile struct {
	// Rows, Batches and Bytes count its output; bytes are those of flat columns.
	Rows, Batches, Bytes int64
	// Time is the time until its rows were computed, including its inputs. For operators with several
	// workers, it is the sum over all workers.
	Time    time.Duration
	Workers int
	// Memory is its peak memory in bytes, Spilled the number of bytes that it wrote to disk.
	Memory, Spilled int64
	// CPU is the CPU time of a fragment on another server, which its topmost operator reports; 0 for
	// other operators, or if not known.
	CPU time.Duration
	// Scan is set for scans.
	Scan *ScanProfile
}

// ScanProfile contains the counters of a scan.
type ScanProfile struct {
	// Segments is the number of segments that overlap the intervals of the scan. Scanned segments were
	// read. Pruned segments had no matching row according to time or indexes. The query completed
	// before it reached the remaining segments.
	Segments, Scanned, Pruned int64
	// Rows is the number of rows of the scanned segments in the intervals.
	Rows int64
}

// NewProfile returns an empty profile for one query.
func NewProfile(c clock.Clock) *Profile {
	p := &Profile{clock: c}
	p.mu.nodes, p.mu.shared = map[plan.Node]*nodeProfile{}, map[int]plan.Node{}
	return p
}

// computes notes of which of its equal inputs a plan.Shared is computed: that of the reader that
// came first.
func (p *Profile) computes(id int, input plan.Node) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.shared[id] = input
}

// InputOf returns the input from which this process computed the rows of n. It can be the input of
// another node with the same ID. If the rows were not computed here, it is the input of n.
func (p *Profile) InputOf(n *plan.Shared) plan.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if input := p.mu.shared[n.ID]; input != nil {
		return input
	}
	return n.Input
}

// Of returns the counters of the operator of a node in this process, or nil if the operator above
// did the work of the node.
func (p *Profile) Of(n plan.Node) *NodeProfile {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.mu.nodes[n]
	if s == nil || s.workers.Load() == 0 {
		return nil
	}
	out := &NodeProfile{
		Rows: s.rows.Load(), Batches: s.batches.Load(), Bytes: s.bytes.Load(), Time: time.Duration(s.nanos.Load()), Workers: int(s.workers.Load()),
		Memory: s.memory.Peak(), Spilled: s.disk.Peak(),
	}
	if _, ok := n.(*plan.Scan); ok {
		scan := s.scan
		out.Scan = &scan
	}
	return out
}

// nodeProfile counts what the operator of one node does, from any goroutine.
type nodeProfile struct {
	clock                                clock.Clock
	rows, batches, bytes, nanos, workers atomic.Int64
	memory, disk                         *budget.Budget
	spill                                *budget.SpillDir

	mu   sync.Mutex
	scan ScanProfile
	// whole says that the node's operator is counted as a whole, and not what its workers do.
	whole bool
}

// begin takes over the memory and the folder of the query.
func (p *Profile) begin(env *Env) {
	if p.memory == nil {
		p.memory, p.spill = env.Budget, env.Spill
	}
}

// profiling returns e for the operator of a node, which then reserves and spills on its own
// account.
func (e *Env) profiling(n plan.Node) *Env {
	if e.Profile == nil {
		return e
	}
	c := *e
	c.profile = e.Profile.node(n)
	c.Budget, c.Spill = c.profile.memory, c.profile.spill
	return &c
}

func (p *Profile) node(n plan.Node) *nodeProfile {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.mu.nodes[n]
	if s == nil {
		s = &nodeProfile{clock: p.clock, memory: p.memory.Child("an operator of the query", budget.Unlimited)}
		s.spill, s.disk = p.spill.Child("an operator of the query")
		p.mu.nodes[n] = s
	}
	return s
}

// countWhole has the rows and the time counted of the operator that puts in order what its workers
// give, and not of them.
func (s *nodeProfile) countWhole() {
	if s != nil {
		s.whole = true
	}
}

// ofWorkers is the profile that the operator's workers count in, nil if it is counted as a whole.
func (s *nodeProfile) ofWorkers() *nodeProfile {
	if s == nil || s.whole {
		return nil
	}
	return s
}

// over counts what op gives; without a profile it is op.
func (s *nodeProfile) over(op Operator) Operator {
	if s == nil {
		return op
	}
	s.workers.Add(1)
	return &profiledOp{Operator: op, profile: s}
}

// timed counts what f takes.
func (s *nodeProfile) timed(f func() error) error {
	if s == nil {
		return f()
	}
	began := s.clock.Now()
	err := f()
	s.nanos.Add(int64(s.clock.Now().Sub(began)))
	return err
}

// scanned counts the segments of a scan at its end.
func (s *nodeProfile) scanned(leaves []*leafScan) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range leaves {
		s.scan.Segments++
		switch {
		case l.rows == 0 || l.planned.done && l.planned.empty:
			s.scan.Pruned++
		case l.planned.done:
			s.scan.Scanned++
			s.scan.Rows += int64(l.rows)
		}
	}
}

// profiledOp counts what an operator gives.
type profiledOp struct {
	Operator
	profile *nodeProfile
}

func (o *profiledOp) Next(ctx context.Context) (*vector.Batch, error) {
	var b *vector.Batch
	err := o.profile.timed(func() (err error) {
		b, err = o.Operator.Next(ctx)
		return err
	})
	if err == nil {
		o.profile.rows.Add(int64(b.Rows()))
		o.profile.batches.Add(1)
		o.profile.bytes.Add(b.Bytes())
	}
	return b, err
}
