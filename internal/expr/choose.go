package expr

import (
	"math"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// chooseNode is a CASE whose results are columns and constants of numbers. To read them costs
// nothing and can't fail, so they are not evaluated for the rows of their condition alone, but put
// in place from the rows as they are.
type chooseNode struct {
	conds, thens []node
	other        node
	t            vector.Type
	longs        *kernel.Results[int64]
	doubles      *kernel.Results[float64]
}

// chosen returns n as a chooseNode if it can be one.
func (n *caseNode) chosen(ctx *Context) node {
	if n.other == nil || n.t.Kind != vector.KindLong && n.t.Kind != vector.KindDouble {
		return n
	}
	for _, r := range append([]node{n.other}, n.thens...) {
		switch r.(type) {
		case columnNode, *constNode:
		default:
			return n
		}
	}
	return &chooseNode{conds: n.conds, thens: n.thens, other: n.other, t: n.t, longs: kernel.ResultsOf[int64](ctx.Reuse),
		doubles: kernel.ResultsOf[float64](ctx.Reuse)}
}

func (n *chooseNode) eval(f *frame) (*vector.Vector, error) {
	if n.t.Kind == vector.KindLong {
		values := n.longs.Rows(f.n)
		valid, err := choose(n, f, values)
		return &vector.Vector{Type: n.t, Len: f.n, Longs: values, Valid: valid}, err
	}
	values := n.doubles.Rows(f.n)
	valid, err := choose(n, f, values)
	return &vector.Vector{Type: n.t, Len: f.n, Doubles: values, Valid: valid}, err
}

// choose fills out with the values of the rows of f and returns which of them are valid.
func choose[T kernel.Scalar](n *chooseNode, f *frame, out []T) (vector.Bitmap, error) {
	var valid vector.Bitmap
	put := func(result node, rows []uint32) error { // nil: all rows
		v, err := result.eval(f)
		if err != nil {
			return err
		}
		if valid == nil && v.Valid != nil {
			valid = vector.FullBitmap(len(out))
		}
		setValid(valid, v, rows)
		switch {
		case v.AllNull(): // of any type
		case rows == nil:
			fill(out, kernel.ColumnOf[T](v))
		default:
			place(out, kernel.ColumnOf[T](v), rows)
		}
		return nil
	}
	if done, valid, err := blend(n, f, out); done || err != nil {
		return valid, err
	}
	if err := put(n.other, nil); err != nil {
		return nil, err
	}
	sel, at := []uint32(nil), f // rows not taken yet; nil: all
	for i, cond := range n.conds {
		hits, err := filter(cond, at)
		if err != nil {
			return nil, err
		}
		var rest []uint32
		if i+1 < len(n.conds) {
			rest = remaining(at.n, hits, sel)
		}
		if sel != nil {
			for k, r := range hits {
				hits[k] = sel[r]
			}
		}
		if err := put(n.thens[i], hits); err != nil {
			return nil, err
		}
		if len(rest) == 0 {
			break
		}
		sel, at = rest, f.narrow(rest)
	}
	return valid, nil
}

// blend is choose for one condition, a column of whole numbers against a constant, when the results
// are whole numbers. It reports false if that is not so, and nothing was done. Each row gets both
// results and keeps one, so that there is no branch to mispredict.
func blend[T kernel.Scalar](n *chooseNode, f *frame, out []T) (done bool, valid vector.Bitmap, err error) {
	values, whole := any(out).([]int64)
	cond, compares := n.conds[0].(*compareNode)
	if !whole || !compares || len(n.conds) > 1 || cond.op >= opDistinct || cond.kind != vector.KindLong || f.n == 0 {
		return false, nil, nil
	}
	if _, reads := cond.a.(columnNode); !reads {
		return false, nil, nil // it may be evaluated again
	}
	a, b, err := cond.operands(f)
	if err != nil || a.Const || !b.Const || b.Valid != nil {
		return false, nil, err
	}
	then, err := n.thens[0].eval(f)
	if err != nil {
		return false, nil, err
	}
	other, err := n.other.eval(f)
	if err != nil || then.Const && then.Valid != nil || other.Const && other.Valid != nil {
		return false, nil, err
	}
	x, c := a.Longs[:f.n], b.Longs[0]
	if cond.op == opGe || cond.op == opLt {
		if c == math.MinInt64 {
			return false, nil, nil
		}
		c--
	}
	// Of each pair of operators one is the negation of the other.
	equal, negated := cond.op == opEq || cond.op == opNe, cond.op == opNe || cond.op == opLe || cond.op == opLt
	yes, no := kernel.ColumnOf[int64](then), kernel.ColumnOf[int64](other)
	switch {
	case a.Valid != nil || then.Valid != nil || other.Valid != nil:
		taken := holding(x, c, equal, negated, a.Valid)
		for i := range values {
			values[i] = either(taken[i>>6]>>(i&63)&1 != 0, yes.At(i), no.At(i))
		}
		return true, vector.Choose(taken, then.Valid, other.Valid, f.n), nil
	case negated:
		yes, no = no, yes
	}
	if equal {
		for i, v := range x {
			values[i] = either(v == c, yes.At(i), no.At(i))
		}
	} else {
		blendAbove(values, x, c, yes, no)
	}
	return true, nil, nil
}

// holding returns the valid rows whose value is greater than c, or equal to it, or with negated is
// not.
func holding(x []int64, c int64, equal, negated bool, valid vector.Bitmap) vector.Bitmap {
	rows := vector.NewBitmap(len(x))
	flip := uint64(0)
	if negated {
		flip = ^flip
	}
	for w := range rows {
		word := uint64(0)
		values := x[64*w : min(64*w+64, len(x))]
		if equal {
			for i, v := range values {
				word |= uint64(one(v == c)) << i
			}
		} else {
			for i, v := range values {
				word |= uint64(one(v > c)) << i
			}
		}
		rows[w] = word ^ flip
		if valid != nil {
			rows[w] &= valid[w]
		}
	}
	return rows
}

// blendAbove sets each of values to what yes has where x is greater than c, and else to what no
// has. A CASE mostly has a constant for the rows that do not count.
func blendAbove(values, x []int64, c int64, yes, no kernel.Column[int64]) {
	x = x[:len(values)]
	switch {
	case yes.Mask != 0 && no.Mask == 0:
		y, z := yes.Values[:len(values)], no.Values[0]
		for i, v := range x {
			values[i] = either(v > c, y[i], z)
		}
	case yes.Mask == 0 && no.Mask != 0:
		y, z := yes.Values[0], no.Values[:len(values)]
		for i, v := range x {
			values[i] = either(v > c, y, z[i])
		}
	default:
		for i, v := range x {
			values[i] = either(v > c, yes.At(i), no.At(i))
		}
	}
}

func either(first bool, a, b int64) int64 {
	if first {
		return a
	}
	return b
}

// fill copies a column.
func fill[T kernel.Scalar](out []T, from kernel.Column[T]) {
	if from.Mask != 0 {
		copy(out, from.Values)
		return
	}
	x := from.Values[0]
	for i := range out {
		out[i] = x
	}
}

// place copies the given rows of a column.
func place[T kernel.Scalar](out []T, from kernel.Column[T], rows []uint32) {
	if from.Mask == 0 {
		x := from.Values[0]
		for _, r := range rows {
			out[r] = x
		}
		return
	}
	values := from.Values[:len(out)]
	for _, r := range rows {
		out[r] = values[r]
	}
}

// setValid makes the given rows of valid, nil rows: all, those of v; a nil map stays as it is.
func setValid(valid vector.Bitmap, v *vector.Vector, rows []uint32) {
	switch {
	case valid == nil:
	case rows == nil && v.Valid == nil:
	case rows == nil && v.Const:
		if v.IsNull(0) {
			clear(valid)
		}
	case rows == nil:
		for w := range valid {
			valid[w] &= v.Valid[w]
		}
	default:
		for _, r := range rows {
			if v.IsNull(int(r)) {
				valid.Clear(int(r))
			} else {
				valid.Set(int(r))
			}
		}
	}
}
