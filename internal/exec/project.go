package exec

import (
	"context"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// projectOp computes one column per expression.
type projectOp struct {
	input Operator
	exprs projection
	// memory is of what the functions make for a batch, where that is much.
	memory budget.Account
	// rest has the rows of the input's batch that were not projected yet, nil: none. Where texts are
	// long, atOnce rows are projected at a time; 0: all.
	rest   *vector.Batch
	atOnce int
	// wide has the rows of a batch of long texts that were not given yet, nil: none; width is how many
	// are given at a time.
	wide  *vector.Batch
	width int
}

func (o *projectOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.wide == nil {
		b, err := o.project(ctx)
		if err != nil || o.exprs.made <= uncounted || b.Rows() <= 1 {
			return b, err
		}
		// What is above looks whether the query goes on from batch to batch.
		o.wide, o.width = b, max(1, int(int64(b.Rows())*uncounted/o.exprs.made))
	}
	if err := stop(ctx); err != nil {
		return nil, err
	}
	if o.width >= o.wide.Rows() {
		b := o.wide
		o.wide = nil
		return b, nil
	}
	first, rest := o.wide.Cut(o.width)
	o.wide = rest
	return first, nil
}

// project computes the next rows of the input.
func (o *projectOp) project(ctx context.Context) (*vector.Batch, error) {
	b := o.rest
	if b == nil {
		var err error
		if b, err = o.input.Next(ctx); err != nil {
			o.memory.Close() // nobody closes what a worker runs
			return nil, err
		}
		o.atOnce *= 2 // those of the batch before may have been an exception
	}
	for {
		part, rest := b, (*vector.Batch)(nil)
		if o.atOnce > 0 && o.atOnce < b.Rows() {
			part, rest = b.Cut(o.atOnce)
		}
		out, err := o.exprs.apply(part, &o.memory)
		if err == nil {
			o.rest = rest
			return out, nil
		}
		if part.Rows() == 1 || !expr.IsForFewerRows(err) {
			return nil, err
		}
		o.atOnce = part.Rows() / 2
	}
}

func (o *projectOp) Close() {
	o.input.Close()
	o.memory.Close()
}

// projection is a list of expressions; those that are plain columns pass their vector on.
type projection struct {
	columns  []int // the column passed on; that many below 0: computed by a program, -1 by the first
	programs *expr.Programs
	computes bool
	made     int64 // bytes of texts and lists for the last batch
}

func compileProjection(exprs []expr.Expr, ctx *expr.Context) (projection, error) {
	p := projection{columns: make([]int, len(exprs))}
	var computed []expr.Expr
	for i, e := range exprs {
		if c, ok := e.(*expr.Column); ok {
			p.columns[i] = c.Index
			continue
		}
		computed = append(computed, e)
		p.columns[i] = -len(computed)
	}
	var err error
	p.computes = len(computed) > 0
	p.programs, err = expr.CompileTogether(computed, ctx)
	return p, err
}

// uncounted is how much the expressions of a projection may make for a batch without reserving it:
// every operator has a batch.
const uncounted = 16 << 20

// apply returns the projected rows of b, and accounts for what is made for them until the next
// ones. When nothing is computed b's selection stays; otherwise the rows that count become dense.
func (p *projection) apply(b *vector.Batch, memory *budget.Account) (*vector.Batch, error) {
	out := &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(p.columns)), Sel: b.Sel}
	if p.computes && b.Sel != nil {
		out.N, out.Sel = b.Rows(), nil
	}
	p.made = 0
	p.programs.Begin(b)
	defer p.programs.End()
	for i, c := range p.columns {
		switch {
		case c < 0:
			v, err := p.programs.Eval(-c-1, b)
			if err != nil {
				return nil, err
			}
			if p.made = p.programs.Made(); p.made > uncounted {
				if err := memory.Set(p.made); err != nil {
					return nil, err
				}
			}
			out.Cols[i] = v
		case p.computes && b.Sel != nil:
			out.Cols[i] = b.Cols[c].Gather(b.Sel)
		default:
			out.Cols[i] = b.Cols[c]
		}
	}
	if p.made <= uncounted {
		memory.Close()
	}
	return out, nil
}
