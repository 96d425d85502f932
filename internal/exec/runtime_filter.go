package exec

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/exec/join"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// pushRuntimeFilters pushes the keys of the right side of a join into the scan, which tests them
// before it reads other columns: of a star join most rows never leave the scan. It is called before
// the join is appended. It reports whether the join is fully filtered, which means that the scan
// does all of its work: the join only asks for existence, or no column of its right side is looked
// at and each key is there once. Of a RIGHT join it never does: the right rows without a partner
// have to be known.
func (p *Pipeline) pushRuntimeFilters(n *plan.Join, b *join.Build, need []bool) (fullyFiltered bool) {
	if n.Kind != plan.Inner && n.Kind != plan.Semi && n.Kind != plan.Right || !p.scans() {
		return false
	}
	for _, k := range n.Keys {
		if k.NullSafe && b.Rows().Cols[k.Right].HasNulls() {
			continue
		}
		keys := b.Keys(k.Right)
		if keys == nil {
			continue
		}
		exact := len(n.Keys) == 1 && n.On == nil && (n.Kind == plan.Semi || n.Kind == plan.Inner && b.Unique() && none(need[len(n.Left.Columns()):]))
		added := p.addRuntimeFilter(k.Left, n.Right.Columns()[k.Right].Type.Runtime(), keySetFilter{keys: keys, exact: exact})
		fullyFiltered = fullyFiltered || added && exact
	}
	return fullyFiltered
}

// scans reports whether rows of scans may be left out. A limit counts rows before the join.
func (p *Pipeline) scans() bool {
	if arms, ok := p.parted.(*unionArms); ok {
		return slices.ContainsFunc(arms.arms, func(a unionArm) bool { return a.pipeline != nil && a.pipeline.scans() })
	}
	return p.scan != nil && p.scan.Limit < 0
}

// addRuntimeFilter has the scan, or the scans of a union, keep rows that have one of some keys in
// the column with the value of column c of the chain's rows. It reports whether all of them do.
func (p *Pipeline) addRuntimeFilter(c int, of vector.Type, keys keySetFilter) bool {
	if c = p.origin(c); c < 0 || !p.scans() {
		return false
	}
	arms, ok := p.parted.(*unionArms)
	if !ok {
		if p.reads.Out[c].Type.Runtime() != of {
			return false
		}
		keys.column = c
		p.conditions = append(p.conditions, &keys)
		return true
	}
	all := true
	for _, a := range arms.arms {
		all = a.pipeline != nil && a.pipeline.addRuntimeFilter(c, of, keys) && all
	}
	return all
}

// shareRuntimeFilters gives the right side of a join, which is not read yet, the runtime filters of
// the left side's scan: of other keys there is no left row.
func (p *Pipeline) shareRuntimeFilters(n *plan.Join, right *Pipeline) {
	if p.scan == nil || n.Kind != plan.Inner && n.Kind != plan.Left && n.Kind != plan.Semi && n.Kind != plan.Anti {
		return
	}
	for _, k := range n.Keys {
		column := p.origin(k.Left)
		if column < 0 {
			continue
		}
		for _, c := range p.conditions {
			if in, ok := c.(*keySetFilter); ok && in.column == column {
				right.addRuntimeFilter(k.Right, p.reads.Out[column].Type.Runtime(), keySetFilter{keys: in.keys})
			}
		}
	}
}

func none(set []bool) bool {
	for _, x := range set {
		if x {
			return false
		}
	}
	return true
}

// origin returns which column of the scan has the value that column c of the chain's rows has, -1:
// none. After RIGHT and FULL joins none has: there are rows that come from no row of the scan.
func (p *Pipeline) origin(c int) int {
	for i := len(p.steps) - 1; i >= 0 && c >= 0; i-- {
		if p.steps[i].outer != nil {
			return -1
		}
		switch n := p.steps[i].runs().(type) {
		case *plan.Project:
			x, ok := n.Exprs[c].(*expr.Column)
			if !ok {
				return -1
			}
			c = x.Index
		case *plan.Join:
			if width := len(n.Left.Columns()); c >= width {
				c = leftOf(n, c-width)
			}
		case *plan.Unnest:
			if c >= len(n.Input.Columns()) {
				return -1
			}
		}
	}
	return c
}

// leftOf returns the left column of a join that has the value of a right one in each row, -1: there
// is none.
func leftOf(n *plan.Join, right int) int {
	if n.Kind == plan.Inner {
		for _, k := range n.Keys {
			if k.Right == right {
				return k.Left
			}
		}
	}
	return -1
}

// scanNeed returns which columns of the scan are looked at by the steps and by who takes their
// rows, nil: all.
func (p *Pipeline) scanNeed() []bool {
	need := p.need
	for _, v := range slices.Backward(p.steps) {
		switch n := v.runs().(type) {
		case *plan.Filter:
			need = and(need, newColumnSet(n).addExpr(n.Cond))
		case *plan.Project:
			used := newColumnSet(n.Input)
			for _, e := range n.Exprs {
				used.addExpr(e)
			}
			need = used
		case *plan.Join:
			if v.fullyFiltered {
				need = need[:min(len(need), len(n.Left.Columns()))]
			} else {
				need, _, _ = joinNeeds(n, need)
			}
		case *plan.Unnest:
			need = unnestNeeds(n, need)
		default:
			need = nil
		}
	}
	return need
}

// fullyFilteredJoin stands for a join that the scan below has done: it gives the left rows, with
// nulls for the columns of the right side, which nobody looks at.
type fullyFilteredJoin struct {
	input Operator
	width int // columns of the result
	right []vector.Type
}

func (o *fullyFilteredJoin) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := o.input.Next(ctx)
	if err != nil || len(b.Cols) == o.width {
		return b, err
	}
	out := &vector.Batch{N: b.N, Sel: b.Sel, Cols: append(make([]*vector.Vector, 0, o.width), b.Cols...)}
	for _, t := range o.right {
		out.Cols = append(out.Cols, vector.Nulls(t, b.N))
	}
	return out, nil
}

func (o *fullyFilteredJoin) Close() { o.input.Close() }
