package exec

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// morselRows is how many rows of a segment a worker takes at once: small enough that workers end together, large enough that taking one
// costs nothing.
const morselRows = 16 * vector.BatchRows

// Pipeline is a chain of filters and projections over a scan, which runs on many workers.
type Pipeline struct {
	env    *Env
	scan   *plan.Scan
	steps  []plan.Node // Filter and Project nodes, lowest first
	tables []*leafScan
	// rowsLeft counts down a limit of the scan; nil: no limit.
	rowsLeft *atomic.Int64

	mu      sync.Mutex
	morsels []morsel
}

// morsel is a run of rows of one segment.
type morsel struct {
	leaf     *leafScan
	from, to int
}

// pipelineOf returns the pipeline that node is, if it is one.
func pipelineOf(node plan.Node) (scan *plan.Scan, steps []plan.Node, ok bool) {
	for {
		switch n := node.(type) {
		case *plan.Scan:
			if n.Time != 0 {
				return nil, nil, false
			}
			for i, j := 0, len(steps)-1; i < j; i, j = i+1, j-1 {
				steps[i], steps[j] = steps[j], steps[i]
			}
			return n, steps, true
		case *plan.Filter:
			steps, node = append(steps, n), n.Input
		case *plan.Project:
			steps, node = append(steps, n), n.Input
		default:
			return nil, nil, false
		}
	}
}

// OpenPipeline opens the pipeline that node is; ok is false if it is none. The caller closes it.
func OpenPipeline(ctx context.Context, node plan.Node, env *Env) (p *Pipeline, ok bool, err error) {
	scan, steps, ok := pipelineOf(node)
	if !ok {
		return nil, false, nil
	}
	env = env.withDefaults()
	if env.Tables == nil {
		return nil, false, fmt.Errorf("scan of [%s]: no tables", scan.DataSource)
	}
	p = &Pipeline{env: env, scan: scan, steps: steps}
	if scan.Limit >= 0 {
		p.rowsLeft = &atomic.Int64{}
		p.rowsLeft.Store(scan.Limit)
	}
	leaves, err := env.Tables.Leaves(ctx, scan)
	if err != nil {
		return nil, false, err
	}
	for _, leaf := range leaves { // all are ours now, also when one fails
		p.tables = append(p.tables, &leafScan{scan: scan, leaf: leaf})
	}
	for _, t := range p.tables {
		if err := p.plan(t); err != nil {
			p.Close()
			return nil, false, err
		}
	}
	return p, true, nil
}

// plan cuts the rows of a segment that can count into morsels.
func (p *Pipeline) plan(t *leafScan) error {
	ranges, err := t.rowRanges()
	if err != nil {
		return err
	}
	for _, r := range ranges {
		for from := r[0]; from < r[1]; from += morselRows {
			p.morsels = append(p.morsels, morsel{t, from, min(from+morselRows, r[1])})
		}
	}
	return nil
}

// take returns the next morsel; ok is false when there are no more.
func (p *Pipeline) take() (m morsel, ok bool) {
	if p.rowsLeft != nil && p.rowsLeft.Load() <= 0 {
		return morsel{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.morsels) == 0 {
		return morsel{}, false
	}
	m, p.morsels = p.morsels[0], p.morsels[1:]
	return m, true
}

// Workers returns how many workers are worth starting.
func (p *Pipeline) Workers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(1, min(p.env.Threads, len(p.morsels)))
}

// Columns returns the output columns.
func (p *Pipeline) Columns() []plan.Column {
	if len(p.steps) > 0 {
		return p.steps[len(p.steps)-1].Columns()
	}
	return p.scan.Columns()
}

// Close releases the segments. Vectors that came from the pipeline are invalid from then on.
func (p *Pipeline) Close() {
	for _, t := range p.tables {
		t.leaf.Reader.Release()
	}
	p.tables = nil
}

// Worker runs morsels through the chain with programs and buffers of its own. It is an Operator of one goroutine.
type Worker struct {
	p       *Pipeline
	scanner *scanner // of the present morsel's segment
	next    int      // row of the present morsel to read next
	morsel  morsel
	active  bool
	conds   []*expr.Program
	project []projection
	// fresh makes every batch use memory of its own, for batches that go to another goroutine.
	fresh bool
}

// NewWorker returns a worker. With fresh its batches stay valid until the pipeline is closed.
func (p *Pipeline) NewWorker(fresh bool) (*Worker, error) {
	w := &Worker{p: p, fresh: fresh, conds: make([]*expr.Program, len(p.steps)), project: make([]projection, len(p.steps))}
	for i, s := range p.steps {
		var err error
		switch s := s.(type) {
		case *plan.Filter:
			w.conds[i], err = expr.Compile(s.Cond, p.env.Expr)
		case *plan.Project:
			w.project[i], err = compileProjection(s.Exprs, p.env.Expr)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// Next returns the next batch of any morsel.
func (w *Worker) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := stop(ctx); err != nil {
			return nil, err
		}
		if !w.active {
			m, ok := w.p.take()
			if !ok {
				return nil, io.EOF
			}
			if w.scanner == nil || w.scanner.leaf != m.leaf {
				s, err := newScanner(m.leaf, w.p.env, w.fresh)
				if err != nil {
					return nil, err
				}
				w.scanner = s
			}
			w.morsel, w.next, w.active = m, m.from, true
		}
		to := min(w.next+w.p.env.BatchRows, w.morsel.to)
		b, err := w.scanner.read(w.next, to)
		if err != nil {
			return nil, err
		}
		w.next = to
		w.active = to < w.morsel.to
		if b == nil {
			continue
		}
		if b = w.limit(b); b == nil {
			return nil, io.EOF
		}
		if b, err = w.steps(b); err != nil || b != nil {
			return b, err
		}
	}
}

// limit takes rows off the scan's limit and cuts b to what is left.
func (w *Worker) limit(b *vector.Batch) *vector.Batch {
	if w.p.rowsLeft == nil {
		return b
	}
	n := int64(b.Rows())
	left := w.p.rowsLeft.Add(-n) + n
	switch {
	case left <= 0:
		return nil
	case left < n:
		return b.Slice(0, int(left))
	}
	return b
}

func (w *Worker) steps(b *vector.Batch) (*vector.Batch, error) {
	for i := range w.conds {
		var err error
		if w.conds[i] != nil {
			b, err = applyFilter(b, w.conds[i])
		} else {
			b, err = w.project[i].apply(b)
		}
		if err != nil || b == nil {
			return nil, err
		}
	}
	return b, nil
}

// Close is part of Operator; the pipeline owns the segments.
func (w *Worker) Close() {}

// Run starts the workers and calls consume with each batch, from the worker's goroutine; worker numbers begin at 0. A batch is valid
// during the call.
func (p *Pipeline) Run(ctx context.Context, consume func(worker int, b *vector.Batch) error) error {
	n := p.Workers()
	if n == 1 {
		return p.runWorker(ctx, 0, consume)
	}
	g := NewGroup(ctx)
	for i := range n {
		g.Go(func(ctx context.Context) error { return p.runWorker(ctx, i, consume) })
	}
	return g.Wait()
}

func (p *Pipeline) runWorker(ctx context.Context, number int, consume func(int, *vector.Batch) error) error {
	w, err := p.NewWorker(false)
	if err != nil {
		return err
	}
	return segment.Guard(func() error {
		return Drain(ctx, w, func(b *vector.Batch) error { return consume(number, b) })
	})
}
