package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
)

// outerJoins makes an outer join narrower where a join above it finds no partner for its rows of
// NULLs: in `(a LEFT JOIN b) JOIN c ON c.y = b.x` the first one is an inner join. Inner joins are
// put in order together then, and read only what their small sides have. What conditions over a
// single join say of it is seen when they are pushed (strengthen).
func (o *optimizer) outerJoins(n Node) Node {
	outer := false
	Walk(n, func(n Node) bool {
		x, ok := n.(*Join)
		outer = outer || ok && isOuter(x.Kind)
		return !outer
	})
	if !outer {
		return n
	}
	return o.narrow(n, nil)
}

func isOuter(k JoinKind) bool { return k == Left || k == Right || k == Full }

// narrower returns the kind of an outer join of which only those rows count that have a partner on
// the sides needed.
func narrower(kind JoinKind, leftNeeded, rightNeeded bool) JoinKind {
	switch {
	case kind == Full && leftNeeded && rightNeeded, kind == Left && rightNeeded, kind == Right && leftNeeded:
		return Inner
	case kind == Full && leftNeeded:
		return Left
	case kind == Full && rightNeeded:
		return Right
	}
	return kind
}

// narrow does this in n, of whose rows only those count that have values in the columns given.
func (o *optimizer) narrow(n Node, given []int) Node {
	switch x := n.(type) {
	case *Filter:
		return WithInputs(n, []Node{o.narrow(x.Input, withValues(given, x.Cond))})
	case *Project:
		var below []int
		for _, i := range given {
			if c, ok := x.Exprs[i].(*expr.Column); ok {
				below = append(below, c.Index)
			}
		}
		return WithInputs(n, []Node{o.narrow(x.Input, below)})
	case *Join:
		return o.narrowJoin(x, given)
	}
	return MapInputs(n, func(in Node) Node { return o.narrow(in, nil) })
}

func (o *optimizer) narrowJoin(x *Join, given []int) Node {
	width := Width(x.Left)
	ofLeft := func(c int) bool { return c < width }
	ofRight := func(c int) bool { return c >= width }
	if kind := narrower(x.Kind, slices.ContainsFunc(given, ofLeft), slices.ContainsFunc(given, ofRight)); kind != x.Kind {
		o.fired()
		c := *x
		c.Kind = kind
		x = &c
	}
	// What counts of the left side has values where the pairs have, unless rows without a partner
	// count, too; of the right side likewise.
	met := metBy(x)
	left, right := slices.Clone(given), slices.Clone(given)
	switch x.Kind {
	case Inner, Semi:
		left, right = append(left, met...), append(right, met...)
	case Left, Anti:
		right = append(right, met...)
	case Right:
		left = append(left, met...)
	case Single: // a second partner is an error whatever it has
		right = met
	}
	left, right = slices.DeleteFunc(left, ofRight), slices.DeleteFunc(right, ofLeft)
	for i := range right {
		right[i] -= width
	}
	return WithInputs(x, []Node{o.narrow(x.Left, left), o.narrow(x.Right, right)})
}

// metBy returns the columns, of both sides of a join, that have values in every pair which it
// finds.
func metBy(x *Join) []int {
	var met []int
	width := Width(x.Left)
	for _, k := range x.Keys {
		if !k.NullSafe {
			met = append(met, k.Left, width+k.Right)
		}
	}
	if x.On == nil {
		return met
	}
	return withValues(met, x.On)
}

// withValues returns columns and those that have values wherever cond is true.
func withValues(columns []int, cond expr.Expr) []int {
	out := slices.Clone(columns)
	for term := range Terms(cond) {
		expr.Walk(term, func(e expr.Expr) bool {
			c, ok := e.(*expr.Column)
			if ok && !slices.Contains(out, c.Index) && RejectsNull(term, func(i int) bool { return i == c.Index }) {
				out = append(out, c.Index)
			}
			return true
		})
	}
	return out
}
