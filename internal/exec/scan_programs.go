package exec

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// termPrograms are the programs of the terms of a scan, for one worker. What comes several times
// in the terms of a segment is computed once for a batch.
type termPrograms struct {
	terms []*programTerm // of the segment before
	of    map[*programTerm]int
	exprs []expr.Expr // those that programs were compiled of
	list  *expr.Programs
	begun bool // list knows the rows of the present batch
	// alone are programs of single terms, if those together can't be compiled: the one at fault is
	// perhaps never asked.
	alone map[*programTerm]*expr.Program
}

// use says which terms the next batches are asked.
func (p *termPrograms) use(terms []term) {
	p.begin()
	p.terms, p.of, p.alone = p.terms[:0], map[*programTerm]int{}, nil
	for _, t := range terms {
		if t, ok := t.(*programTerm); ok {
			p.of[t] = len(p.terms)
			p.terms = append(p.terms, t)
		}
	}
}

// begin says that a batch begins.
func (p *termPrograms) begin() {
	if p.begun {
		p.list.End()
	}
	p.begun = false
}

// narrow says that only the rows of sel are left of the present batch.
func (p *termPrograms) narrow(sel []uint32) {
	if p.begun {
		p.list.Narrow(sel)
	}
}

// share reports whether results are looked at again after rows of the batch were left out.
func (p *termPrograms) share() bool { return p.list != nil && p.list.Shares() }

// filter returns the rows of the present batch for which t is true.
func (p *termPrograms) filter(t *programTerm, s *scanner) ([]uint32, error) {
	b := &vector.Batch{N: s.n, Cols: s.cols, Sel: s.sel}
	if p.alone != nil || p.compile(s.env.Expr) != nil {
		return p.filterAlone(t, b, s.env.Expr)
	}
	if !p.begun {
		p.list.Begin(b)
		p.begun = true
	}
	return p.list.Filter(p.of[t], b)
}

// compile makes the programs, unless those of the segment before are of the same expressions.
func (p *termPrograms) compile(ctx *expr.Context) error {
	if p.begun || p.list != nil && slices.EqualFunc(p.exprs, p.terms, func(e expr.Expr, t *programTerm) bool { return e == t.expr }) {
		return nil
	}
	exprs := make([]expr.Expr, len(p.terms))
	for i, t := range p.terms {
		exprs[i] = t.expr
	}
	list, err := expr.CompileTogether(exprs, ctx)
	if err != nil {
		return err
	}
	p.exprs, p.list = exprs, list
	return nil
}

func (p *termPrograms) filterAlone(t *programTerm, b *vector.Batch, ctx *expr.Context) ([]uint32, error) {
	program := p.alone[t]
	if program == nil {
		var err error
		if program, err = expr.Compile(t.expr, ctx); err != nil {
			return nil, err
		}
		if p.alone == nil {
			p.alone = map[*programTerm]*expr.Program{}
		}
		p.alone[t] = program
	}
	return program.Filter(b)
}
