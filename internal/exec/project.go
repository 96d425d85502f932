package exec

import (
	"context"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// projectOp computes one column per expression.
type projectOp struct {
	input Operator
	exprs projection
}

func (o *projectOp) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.input.Next(ctx)
	if err != nil {
		return nil, err
	}
	return o.exprs.apply(b)
}

func (o *projectOp) Close() { o.input.Close() }

// projection is a list of expressions; those that are plain columns pass their vector on.
type projection struct {
	columns  []int // the column passed on, -1: computed by the program
	programs []*expr.Program
	computes bool
}

func compileProjection(exprs []expr.Expr, ctx *expr.Context) (projection, error) {
	p := projection{columns: make([]int, len(exprs)), programs: make([]*expr.Program, len(exprs))}
	for i, e := range exprs {
		if c, ok := e.(*expr.Column); ok {
			p.columns[i] = c.Index
			continue
		}
		program, err := expr.Compile(e, ctx)
		if err != nil {
			return projection{}, err
		}
		p.columns[i], p.programs[i], p.computes = -1, program, true
	}
	return p, nil
}

// apply returns the projected rows of b. When nothing is computed b's selection stays; otherwise the rows that count become dense.
func (p *projection) apply(b *vector.Batch) (*vector.Batch, error) {
	out := &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(p.columns)), Sel: b.Sel}
	if p.computes && b.Sel != nil {
		out.N, out.Sel = b.Rows(), nil
	}
	for i, c := range p.columns {
		switch {
		case c < 0:
			v, err := p.programs[i].Eval(b)
			if err != nil {
				return nil, err
			}
			out.Cols[i] = v
		case p.computes && b.Sel != nil:
			out.Cols[i] = b.Cols[c].Gather(b.Sel)
		default:
			out.Cols[i] = b.Cols[c]
		}
	}
	return out, nil
}
