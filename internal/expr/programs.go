package expr

import (
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Programs evaluate several expressions over the same batches. Common subexpressions are computed
// once per batch. Only one goroutine at a time may use them.
type Programs struct {
	list   []*Program
	shared *made
	shares bool
	rows   *frame // those of the present batch, before any selection; nil: nothing has looked at it yet
	at     *frame // those that count
}

// CompileTogether compiles a list of expressions.
func CompileTogether(list []Expr, ctx *Context) (*Programs, error) {
	if ctx == nil {
		ctx = &Context{}
	}
	for _, e := range list {
		if depthExceeds(e, maxDepth) {
			return nil, fault.InvalidInput("The expression is nested deeper than [%d] levels", maxDepth)
		}
	}
	g := &Programs{list: make([]*Program, len(list)), shared: &made{}}
	c := &compiler{ctx: ctx, slots: map[int]int{}, madeShared: g.shared, repeats: findRepeats(list)}
	g.shares = c.repeats != nil
	for i, e := range list {
		c.made = &made{}
		root, err := c.compile(e)
		if err != nil {
			return nil, err
		}
		g.list[i] = &Program{root: root, e: e, ctx: ctx, made: c.made, shared: g.shared}
	}
	for _, p := range g.list {
		p.columns = c.columns
	}
	return g, nil
}

// Begin starts the evaluation over the rows of b, which must not change until End or the next
// Begin.
func (g *Programs) Begin(b *vector.Batch) {
	g.shared.bytes = 0
	g.rows, g.at = nil, nil
	if len(g.list) > 0 {
		g.rows = g.list[0].whole(b)
		g.at = g.rows.selected(b.Sel)
	}
}

// Narrow restricts the rows of Begin to those of sel; later batches contain only these rows.
func (g *Programs) Narrow(sel []uint32) {
	if g.rows != nil {
		g.rows = g.rows.narrow(slices.Clone(sel))
		g.at = g.rows
	}
}

// Shares reports whether the expressions have common subexpressions.
func (g *Programs) Shares() bool { return g.shares }

// End drops the results for the current batch.
func (g *Programs) End() { g.rows, g.at = nil, nil }

// Eval computes expression i for the rows of b, the batch of Begin, like Program.Eval.
func (g *Programs) Eval(i int, b *vector.Batch) (*vector.Vector, error) {
	p := g.list[i]
	p.made.bytes = 0
	v, err := p.root.eval(g.at)
	if err != nil && p.inHalves(b, err) {
		kept := g.shared.bytes
		v, err = p.evalHalves(b)
		g.shared.bytes = kept
	}
	return v, err
}

// Filter is Program.Filter for expression i. The selection of b may differ from that of Begin, and
// columns that no earlier expression has read may be new in b.
func (g *Programs) Filter(i int, b *vector.Batch) ([]uint32, error) {
	p := g.list[i]
	p.made.bytes = 0
	for slot, c := range p.columns {
		g.rows.cols[slot] = b.Cols[c]
	}
	sel, err := filter(p.root, g.rows.selected(b.Sel))
	if err != nil && b.Rows() > 1 && IsForFewerRows(err) {
		kept := g.shared.bytes
		sel, err = p.filterHalves(b)
		g.shared.bytes = kept
		return sel, err
	}
	return selected(sel, b.Sel, err)
}

// Made returns the bytes of strings and array elements that the functions of the evaluated
// expressions created for the current batch.
func (g *Programs) Made() int64 {
	sum := g.shared.bytes
	for _, p := range g.list {
		sum += p.made.bytes
	}
	return sum
}
