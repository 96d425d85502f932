package exec

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/join"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// morselRows is how many rows of a segment a worker takes at once: small enough that workers end
// together, large enough that taking one costs nothing.
const morselRows = 16 * vector.BatchRows

// singleWorkerMorsels is the number of morsels up to which a query need not have several workers
// when others wait.
const singleWorkerMorsels = 32

// Pipeline is a chain of filters, projections, unnests and joins with small right sides over a
// scan, or over the parts of an aggregation or a window, which runs on many workers.
type Pipeline struct {
	env    *Env
	parted partedRows // or
	scan   *plan.Scan
	reads  *reading // of scan
	steps  []step
	leaves []*leafScan
	// remote reads the segments that other servers hold; nil: there are none. Who consumes the
	// pipeline opens its fragment.
	remote Remote
	// conditions are what the rows of the scan must satisfy: its filter, and keys that joins above ask
	// for.
	conditions []condition
	// need says which columns of the chain's rows are looked at, nil: all.
	need []bool
	// rowsLeft counts down a limit of the scan; nil: no limit, or the consumer of an ordered stream
	// counts.
	rowsLeft  *atomic.Int64
	backwards bool
	// blocks, if not nil, is offered the rows from up to, not including, to that a worker would scan
	// next, and returns how many of the first of them it has dealt with: they are not read.
	blocks func(ctx context.Context, worker int, s *scanner, from, to int) (rows int, err error)

	morsels []morsel // in the order of the rows
	opened  time.Time

	begun atomic.Int64 // how many morsels or parts were begun, as far as somebody asked to be told

	mu   sync.Mutex
	next int // morsels before were taken, when they are taken in order
	left int // not taken yet
	at   int // segments before were begun, when they are taken in any order
}

// step is one operator of the chain: what is shared, and how each worker makes its own.
type step struct {
	node plan.Node
	// local is the projection over what is read of a scan in this process; nil: it is the node.
	local *plan.Project
	build *join.Build     // joins: the right side, in memory
	need  []bool          // joins: the columns of both sides that are looked at; unnests: the output columns
	outer *join.Unmatched // RIGHT and FULL joins: what workers share of the right rows without a partner
	// fullyFiltered says of a join that the scan's conditions do all of its work.
	fullyFiltered bool
}

// morsel is a run of rows of one segment. Its number is its position in the order of the rows.
type morsel struct {
	leaf     *leafScan
	from, to int
	number   int
}

// runs returns the node that workers of this process run.
func (s *step) runs() plan.Node {
	if s.local != nil {
		return s.local
	}
	return s.node
}

// openScan opens the pipeline of a scan alone, which is read in some way; bounds says that its
// Bounds are all that is wanted. The caller closes it.
func openScan(ctx context.Context, scan *plan.Scan, reads *reading, env *Env, bounds bool) (*Pipeline, error) {
	asked := scan
	if bounds {
		asked = scan.OnlyBounds()
	}
	leaves, remote, err := env.leaves(ctx, asked, reads.names())
	if err != nil {
		return nil, err
	}
	p, err := newPipeline(scan, reads, leaves, env)
	if err != nil {
		return nil, err
	}
	p.remote = remote
	return p, nil
}

// newPipeline takes over leaves.
func newPipeline(scan *plan.Scan, reads *reading, leaves []Leaf, env *Env) (*Pipeline, error) {
	p := &Pipeline{env: env, scan: scan, reads: reads, conditions: conditionsOf(reads.Scan), opened: env.Times.now()}
	if scan.Limit >= 0 {
		p.rowsLeft = &atomic.Int64{}
		p.rowsLeft.Store(scan.Limit)
	}
	names := reads.names()
	for _, leaf := range leaves { // all are ours now, also when one fails
		p.leaves = append(p.leaves, &leafScan{scan: reads, leaf: leaf})
		leaf.Reader.Advise(names)
	}
	for _, l := range p.leaves {
		if err := p.cut(l); err != nil {
			p.Close()
			return nil, err
		}
		env.Progress.Expect(&l.progress, int64(l.rows), l.bytes(names))
	}
	p.left = len(p.morsels)
	return p, nil
}

// reverse makes rows come backwards, the last row of the last segment first.
func (p *Pipeline) reverse() {
	p.backwards = true
	slices.Reverse(p.morsels)
	for i := range p.morsels {
		p.morsels[i].number = i
	}
}

// cut makes morsels of the rows of a segment that can count.
func (p *Pipeline) cut(l *leafScan) error {
	ranges, err := l.rowRanges()
	if err != nil {
		return err
	}
	l.next = len(p.morsels)
	for _, r := range ranges {
		l.rows += r[1] - r[0]
		for from, to := r[0], 0; from < r[1]; from = to {
			to = min((from/morselRows+1)*morselRows, r[1]) // what follows begins with a block
			p.morsels = append(p.morsels, morsel{l, from, to, len(p.morsels)})
		}
	}
	l.end = len(p.morsels)
	return nil
}

// take returns the next morsel; ok is false when there are no more.
//
// A worker that does not care for the order names the segment it has been at. It stays there as
// long as that has rows, then begins another, and helps elsewhere when all were begun: what is
// learnt of a segment's dictionaries is then learnt by few workers. All workers of a pipeline do it
// one way or the other.
func (p *Pipeline) take(at *leafScan, anyOrder bool) (m morsel, ok bool) {
	if p.rowsLeft != nil && p.rowsLeft.Load() <= 0 {
		return morsel{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return morsel{}, false
	}
	p.left--
	if !anyOrder {
		p.next++
		return p.morsels[p.next-1], true
	}
	if at == nil || at.next == at.end {
		at = p.choose()
	}
	at.next++
	return p.morsels[at.next-1], true
}

// choose returns a segment with morsels left, the next that was not begun if there is one.
func (p *Pipeline) choose() *leafScan {
	for ; p.at < len(p.leaves); p.at++ {
		if l := p.leaves[p.at]; l.next < l.end {
			p.at++
			return l
		}
	}
	var most *leafScan
	for _, l := range p.leaves {
		if most == nil || l.end-l.next > most.end-most.next {
			most = l
		}
	}
	return most
}

// partedRows are rows in parts, each of which is for one worker.
type partedRows interface {
	// run makes the parts, if that was not done.
	run(ctx context.Context) error
	// workers returns how many workers are worth starting, once there are parts.
	workers() int
	// short reports whether one worker would take all rows at a time.
	short() bool
	// source returns the reader of one worker. With fresh its batches stay valid until the parts are
	// closed.
	source(fresh bool) partSource
	Close()
}

// partSource takes one part after the other. Who has the parts closes it.
type partSource interface {
	Operator
	// onTake has f told the number of each part that is begun.
	onTake(f func(number int))
}

// prepare does what comes before the workers can start: it makes the parts of what is no scan.
func (p *Pipeline) prepare(ctx context.Context) error {
	if p.parted == nil {
		return nil
	}
	return p.env.profile.ofWorkers().timed(func() error { return p.parted.run(ctx) })
}

// Workers returns the number of workers that are worthwhile now. It depends on the current load, so
// a caller that divides work among workers calls it once. The pipeline must be prepared.
func (p *Pipeline) Workers() int {
	if p.parted != nil {
		return max(1, p.parted.workers())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(p.env.Threads, p.left)
	if n > 1 && p.left <= singleWorkerMorsels && p.env.Share.Crowded() {
		return 1
	}
	return max(1, n)
}

// short reports whether a worker would take all rows of the scan at a time, were they in one
// segment.
func (p *Pipeline) short() bool {
	if p.parted != nil {
		return p.parted.short()
	}
	return p.rows() <= morselRows
}

// rows returns how many rows of the segments of the scan can count.
func (p *Pipeline) rows() int {
	rows := 0
	for _, l := range p.leaves {
		rows += l.rows
	}
	return rows
}

// Close releases the segments and the right sides of joins. Vectors from the pipeline are invalid
// afterwards.
func (p *Pipeline) Close() {
	p.env.profile.scanned(p.leaves)
	p.env.Times.tell(p.leaves)
	for _, l := range p.leaves {
		l.leaf.Reader.Release()
	}
	p.leaves = nil
	if p.parted != nil {
		p.parted.Close()
		p.parted = nil
	}
	for _, s := range p.steps {
		if s.build != nil {
			s.build.Close()
		}
	}
	p.steps = nil
}

// Worker runs morsels through the chain with its own programs and buffers. It is an Operator for
// one goroutine.
type Worker struct {
	p      *Pipeline
	take   func(number int) // nil: nobody asks
	source morselSource
	parts  partSource // or
	top    Operator
}

// onTake has f told the number of each morsel, or part, that the worker begins. Rows of the right
// sides of joins that come after all of them have the next numbers.
func (w *Worker) onTake(f func(number int)) {
	w.take = func(number int) {
		w.p.begun.Add(1)
		f(number)
	}
	if w.parts != nil {
		w.parts.onTake(w.take)
	}
	w.source.onTake = w.take
}

// begins begins rows that are of no morsel, and come after all that are.
func (w *Worker) begins() {
	if w.take != nil {
		w.take(int(w.p.begun.Load()))
	}
}

// NewWorker returns a worker. If fresh is set, its batches remain valid until the pipeline is
// closed.
func (p *Pipeline) NewWorker(fresh bool) (*Worker, error) {
	w := &Worker{p: p}
	if p.parted != nil {
		w.parts = p.parted.source(fresh)
		w.top = w.parts
	} else {
		w.source = morselSource{p: p, fresh: fresh, need: p.scanNeed(), programs: &termPrograms{}}
		w.top = &w.source
	}
	w.top = p.env.profile.ofWorkers().over(w.top)
	if !fresh {
		w.top = operator.CheckLifetime(w.top)
	}
	exprs := *p.env.Expr
	exprs.Reuse = !fresh
	// From the top: of a worker that may give the right rows without a partner of one join the joins
	// above must know before, since these rows may be partners there.
	for _, s := range slices.Backward(p.steps) {
		if s.outer != nil {
			s.outer.Expect()
		}
	}
	for _, s := range p.steps {
		var err error
		switch n := s.runs().(type) {
		case *plan.Filter:
			op := &filterOp{input: w.top}
			op.cond, err = expr.Compile(n.Cond, &exprs)
			w.top = op
		case *plan.Project:
			op := &projectOp{input: w.top, memory: budget.NewAccount(p.env.Budget)}
			op.exprs, err = compileProjection(n.Exprs, &exprs)
			w.top = op
		case *plan.Unnest:
			w.top = newUnnest(n, s.need, w.top, p.env)
		case *plan.Join:
			if s.fullyFiltered {
				w.top = &fullyFilteredJoin{input: w.top, width: len(n.Columns()), right: types(n.Right.Columns())}
				break
			}
			var begins func()
			if s.outer != nil {
				begins = w.begins
			}
			w.top, err = s.build.Probe(w.top, s.need, s.outer, begins, !fresh)
		}
		if err != nil {
			return nil, err
		}
		if p.env.Profile != nil {
			w.top = p.env.Profile.node(s.node).over(w.top)
		}
		if !fresh {
			w.top = operator.CheckLifetime(w.top)
		}
	}
	return w, nil
}

// Next returns the next batch of any morsel.
func (w *Worker) Next(ctx context.Context) (*vector.Batch, error) { return w.top.Next(ctx) }

// Close implements Operator; the pipeline owns the segments.
func (w *Worker) Close() {}

// morselSource is the bottom of a worker: it takes morsels and scans them.
type morselSource struct {
	p       *Pipeline
	scanner *scanner  // of the present morsel's segment
	morsel  morsel    // what is left of it
	size    int       // rows of the whole of it
	at      *leafScan // its segment
	since   time.Time // when the worker came to it
	fresh   bool
	need    []bool // columns of the scan that are looked at after its conditions, nil: all
	// programs are compiled when a segment needs them.
	programs *termPrograms
	// anyOrder lets the worker choose its morsels.
	anyOrder bool
	worker   int
	// onTake, if not nil, is told the number of each morsel that is begun.
	onTake func(number int)
}

func (s *morselSource) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		if s.morsel.from == s.morsel.to {
			if s.scanner != nil {
				if b, err := s.scanner.flush(); b != nil || err != nil {
					return b, err
				}
			}
			m, ok := s.p.take(s.at, s.anyOrder)
			s.since = s.p.env.Times.turn(s.p.opened, s.since, s.at, m.leaf)
			if s.at != nil {
				s.p.env.Progress.Did(&s.at.progress, int64(s.size))
			}
			s.size = m.to - m.from
			if !ok {
				s.at = nil
				return nil, io.EOF
			}
			s.at = m.leaf
			if s.onTake != nil {
				s.onTake(m.number)
			}
			if s.scanner == nil || s.scanner.leaf != m.leaf {
				if err := m.leaf.plan(ctx, s.p.conditions, s.p.env); err != nil {
					return nil, err
				}
				scanner, err := newScanner(m.leaf, s.need, s.programs, s.p.env, s.fresh, s.scanner)
				if err != nil {
					return nil, err
				}
				scanner.gathers = s.anyOrder && s.p.rowsLeft == nil
				s.scanner = scanner
			}
			if m.leaf.planned.empty {
				continue
			}
			s.morsel = m
		}
		if striped, err := s.offer(ctx); striped || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		b, err := s.scanner.read(s.part())
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		if s.p.backwards {
			b = backwards(b)
		}
		if b = s.limit(b); b == nil {
			return nil, io.EOF
		}
		return b, nil
	}
}

// offer offers what is left of the present morsel to the pipeline's blocks.
func (s *morselSource) offer(ctx context.Context) (striped bool, err error) {
	if s.p.blocks == nil {
		return false, nil
	}
	n, err := s.p.blocks(ctx, s.worker, s.scanner, s.morsel.from, s.morsel.to)
	s.morsel.from += n
	return n > 0, err
}

// part takes the rows of a batch off the present morsel.
func (s *morselSource) part() (from, to int) {
	if s.p.backwards {
		n := min(s.p.env.BatchRows, s.morsel.to-s.morsel.from)
		s.morsel.to -= n
		return s.morsel.to, s.morsel.to + n
	}
	n := min(s.p.env.BatchRows-s.morsel.from%s.p.env.BatchRows, s.morsel.to-s.morsel.from) // batches end where blocks do
	s.morsel.from += n
	return s.morsel.from - n, s.morsel.from
}

// backwards returns the rows of b that count, the last first.
func backwards(b *vector.Batch) *vector.Batch {
	rows := make([]uint32, b.Rows())
	for i := range rows {
		r := len(rows) - 1 - i
		if b.Sel != nil {
			rows[i] = b.Sel[r]
		} else {
			rows[i] = uint32(r)
		}
	}
	out := &vector.Batch{N: len(rows), Cols: make([]*vector.Vector, len(b.Cols))}
	for i, c := range b.Cols {
		out.Cols[i] = c.Gather(rows)
	}
	return out
}

// limit takes rows off the scan's limit and cuts b to what is left.
func (s *morselSource) limit(b *vector.Batch) *vector.Batch {
	if s.p.rowsLeft == nil {
		return b
	}
	n := int64(b.Rows())
	left := s.p.rowsLeft.Add(-n) + n
	switch {
	case left <= 0:
		return nil
	case left < n:
		return b.Slice(0, int(left))
	}
	return b
}

func (s *morselSource) Close() {}

// Run starts n workers and calls consume with each batch, from the worker's goroutine; worker
// numbers begin at 0. A batch is valid during the call. The pipeline must be prepared.
func (p *Pipeline) Run(ctx context.Context, n int, consume func(ctx context.Context, worker int, b *vector.Batch) error) error {
	return p.runMorsels(ctx, n, nil, consume)
}

// runMorsels is Run for whoever wants to be told of each morsel that a worker begins.
func (p *Pipeline) runMorsels(ctx context.Context, n int, begins func(worker, number int), consume func(ctx context.Context, worker int, b *vector.Batch) error) error {
	return p.env.atOnce(ctx, n, func(ctx context.Context, i int) error { return p.runWorker(ctx, i, begins, consume) })
}

func (p *Pipeline) runWorker(ctx context.Context, number int, begins func(int, int), consume func(context.Context, int, *vector.Batch) error) error {
	w, err := p.NewWorker(false)
	if err != nil {
		return err
	}
	if begins != nil {
		w.onTake(func(morsel int) { begins(number, morsel) })
	}
	w.source.anyOrder, w.source.worker = true, number
	return segment.Guard(func() error {
		return Drain(ctx, w, func(b *vector.Batch) error { return consume(ctx, number, b) })
	})
}
