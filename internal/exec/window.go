package exec

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/exec/extsort"
	"github.com/hengedb/henge/internal/exec/window"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// openWindow computes a window in parts where that pays, else over all rows in order.
func openWindow(ctx context.Context, n *plan.Window, env *Env, w wants) (*Pipeline, Operator, error) {
	// Rows that the window's order leaves equal stay as they come, and frames of rows tell them apart.
	w = w.needing(nil)
	input, inner, groups := n.Input, w.inOrder(), []plan.SortKey(nil)
	if inParts(n, env, w) {
		if below, keys := groupsBelow(n); below != nil {
			input, inner, groups = below, w.unordered(), keys
		}
	}
	p, in, err := openParts(ctx, input, env, inner)
	switch {
	case err != nil:
		return nil, nil, err
	case p != nil && inParts(n, env, w) && (groups != nil || manyRows(p)):
		return &Pipeline{env: env, parted: newWindowParts(n, p, groups, env)}, nil, nil
	case p != nil:
		in = newGather(p)
	}
	o, err := window.New(n, in, groups, env.windowOptions())
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return nil, o, nil
}

// windowParts computes a window in parts. The workers of a scan, or of an aggregation, spread its
// rows by a hash of their partition; each part is then sorted and computed by one worker, which
// goes on with what stands on the window.
//
// Rows that the window's order leaves equal keep the order of the scan: each row has its position
// there as a last column, by which it is sorted in the end. Groups are sorted as they were asked
// for, and by their keys.
type windowParts struct {
	node   *plan.Window
	env    *Env
	input  *Pipeline
	groups []plan.SortKey // what tells the groups of the input apart; nil: it is a scan's
	parts  []windowPart
	ready  bool
	next   atomic.Int32 // the part that is taken next

	mu      sync.Mutex
	sources []*windowSource
}

// windowPart is the rows of some partitions.
type windowPart struct {
	mu     sync.Mutex
	sorter *extsort.Sorter // nil: there are no rows, or they were taken
}

// partsOfWindow is into how many parts a window is cut for each worker: so many that workers end
// together, and that the rows of one are sorted at once.
const partsOfWindow = 8

// inParts reports whether a window may be computed in parts. Whoever wants the partitions in order
// gets them in order.
func inParts(n *plan.Window, env *Env, w wants) bool {
	return w.anyOrder && len(n.Partition) > 0 && env.Threads > 1
}

// manyRows reports whether the rows of a scan are worth being computed in parts.
func manyRows(input *Pipeline) bool {
	const batches = 16 // that one worker computes as fast
	return input.scan != nil && input.remote == nil && input.rowsLeft == nil && input.rows() > batches*input.env.BatchRows
}

// groupColumns returns which columns of n's rows tell them apart as groups of an aggregation, by
// which these are ordered; nil: n gives no groups, or not with all of their keys.
func groupColumns(n plan.Node) []int {
	switch n := n.(type) {
	case *plan.Aggregate:
		if len(n.Keys) == 0 || n.Sets != nil {
			return nil
		}
		out := make([]int, len(n.Keys))
		for i := range out {
			out[i] = i
		}
		return out
	case *plan.Filter:
		return groupColumns(n.Input)
	case *plan.Project:
		below := groupColumns(n.Input)
		if below == nil {
			return nil
		}
		out := make([]int, len(below))
		for i, column := range below {
			out[i] = slices.IndexFunc(n.Exprs, func(e expr.Expr) bool {
				x, ok := e.(*expr.Column)
				return ok && x.Index == column
			})
			if out[i] < 0 {
				return nil
			}
		}
		return out
	}
	return nil
}

// groupsBelow returns what gives a window its rows and their order if they are groups: a sort below
// is part of the order. Nil: they are not.
func groupsBelow(n *plan.Window) (plan.Node, []plan.SortKey) {
	input, keys := n.Input, []plan.SortKey(nil)
	if s, ok := input.(*plan.Sort); ok && s.Limit < 0 && s.Offset == 0 {
		input, keys = s.Input, slices.Clone(s.Keys)
	}
	groups := groupColumns(input)
	if groups == nil {
		return nil, nil
	}
	for _, c := range groups {
		keys = append(keys, plan.SortKey{Column: c, NullsFirst: true})
	}
	return input, keys
}

// windowOptions is what windows take from the query.
func (e *Env) windowOptions() window.Options {
	return window.Options{Resources: e.resources(), MaxRows: e.MaxWindowRows}
}

// newWindowParts takes over input.
func newWindowParts(n *plan.Window, input *Pipeline, groups []plan.SortKey, env *Env) *windowParts {
	return &windowParts{node: n, env: env, input: input, groups: groups}
}

// run spreads the rows of the input, if that was not done.
func (o *windowParts) run(ctx context.Context) error {
	if o.ready {
		return nil
	}
	o.ready = true
	if err := o.input.prepare(ctx); err != nil {
		return err
	}
	types, keys := types(o.node.Input.Columns()), window.Order(o.node, o.groups)
	if o.groups == nil {
		types, keys = append(types, vector.Long), append(keys, plan.SortKey{Column: len(types)})
	}
	spreaders := make([]windowPartitioner, o.input.Workers())
	o.parts = make([]windowPart, 1)
	if len(spreaders) > 1 {
		o.parts = make([]windowPart, partsOfWindow*o.env.Threads)
	}
	for i := range o.parts {
		o.parts[i].sorter = extsort.NewSorter(&extsort.Spec{Resources: o.env.resources(), Types: types, Keys: keys, Limit: -1})
	}
	return o.input.runMorsels(ctx, len(spreaders), func(worker, number int) { spreaders[worker].at = int64(number) << 32 },
		func(_ context.Context, worker int, b *vector.Batch) error { return spreaders[worker].add(o, b) })
}

// windowPartitioner is one worker's.
type windowPartitioner struct {
	at     int64 // the position of the next row
	hashes []uint64
	rows   [][]uint32 // by part
}

func (s *windowPartitioner) add(o *windowParts, b *vector.Batch) error {
	b = b.Compact()
	keys := make([]*vector.Vector, len(o.node.Partition))
	for i, c := range o.node.Partition {
		keys[i] = b.Cols[c]
	}
	s.hashes = vector.Sized(s.hashes, b.N)
	vector.HashRows(keys, s.hashes)
	if s.rows == nil {
		s.rows = make([][]uint32, len(o.parts))
	}
	for i := range s.rows {
		s.rows[i] = s.rows[i][:0]
	}
	for i, h := range s.hashes {
		part := (h >> 32) * uint64(len(o.parts)) >> 32
		s.rows[part] = append(s.rows[part], uint32(i))
	}
	if o.groups == nil {
		b = s.withPositions(b)
	}
	for i, rows := range s.rows {
		if len(rows) == 0 {
			continue
		}
		if err := o.parts[i].add(&vector.Batch{N: b.N, Cols: b.Cols, Sel: rows}); err != nil {
			return err
		}
	}
	return nil
}

// withPositions returns b with the places of its rows.
func (s *windowPartitioner) withPositions(b *vector.Batch) *vector.Batch {
	positions := make([]int64, b.N)
	for i := range positions {
		positions[i] = s.at + int64(i)
	}
	s.at += int64(b.N)
	return &vector.Batch{N: b.N, Cols: append(append(make([]*vector.Vector, 0, len(b.Cols)+1), b.Cols...), vector.FromLongs(positions))}
}

func (p *windowPart) add(b *vector.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sorter.Add(b)
}

// workers returns how many workers are worth starting.
func (o *windowParts) workers() int {
	n := 0
	for i := range o.parts {
		if s := o.parts[i].sorter; s != nil && !s.Empty() {
			n++
		}
	}
	return max(1, min(n, o.env.Threads))
}

func (o *windowParts) short() bool { return false }

// source returns a reader of some of the parts.
func (o *windowParts) source(bool) partSource {
	s := &windowSource{of: o}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sources = append(o.sources, s)
	return s
}

func (o *windowParts) Close() {
	for _, s := range o.sources {
		s.end()
	}
	for i := range o.parts {
		if s := o.parts[i].sorter; s != nil {
			s.Close()
		}
	}
	o.parts = nil
	o.input.Close()
}

// windowSource takes one part after the other.
type windowSource struct {
	of      *windowParts
	take    func(number int)
	present Operator
	sorter  *extsort.Sorter // of the present part
}

func (s *windowSource) onTake(f func(number int)) { s.take = f }

func (s *windowSource) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if s.present == nil {
			if err := s.begin(ctx); err != nil {
				return nil, err
			}
		}
		b, err := s.present.Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		s.end()
	}
}

// begin begins with the next part, io.EOF if there is none.
func (s *windowSource) begin(ctx context.Context) error {
	number := int(s.of.next.Add(1)) - 1
	if number >= len(s.of.parts) {
		return io.EOF
	}
	if s.take != nil {
		s.take(number)
	}
	s.sorter, s.of.parts[number].sorter = s.of.parts[number].sorter, nil
	runs, err := s.sorter.Finish(ctx)
	if err == nil {
		rows := s.sorter.Merge(runs)
		if s.of.groups == nil {
			rows = &withoutPlaces{rows}
		}
		s.present, err = window.NewOver(s.of.node, rows, s.of.env.windowOptions())
	}
	if err != nil {
		s.end()
	}
	return err
}

// end is done with the present part.
func (s *windowSource) end() {
	if s.present != nil {
		s.present.Close()
		s.present = nil
	}
	if s.sorter != nil {
		s.sorter.Close()
		s.sorter = nil
	}
}

// Close is part of Operator; the parts end their sources.
func (s *windowSource) Close() {}

// withoutPlaces drops the last column.
type withoutPlaces struct{ input Operator }

func (o *withoutPlaces) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.input.Next(ctx)
	if err != nil {
		return nil, err
	}
	return &vector.Batch{N: b.N, Sel: b.Sel, Cols: b.Cols[:len(b.Cols)-1]}, nil
}

func (o *withoutPlaces) Close() { o.input.Close() }
