package plan

import (
	"cmp"

	"github.com/hengedb/henge/internal/expr"
)

// semiJoinReduction reads of a large side of a join only what has the keys of a small one: a semi
// join with the small side, which is computed once and kept, stands on the scans below the large
// side's groups. The mean of each part's quantities is then taken for the few parts that are asked
// for, and EXISTS looks among the rows of the few that ask (magic sets, Bancilhon and others 1986;
// semi-join reducers, Bernstein and Chiu 1981).
//
// What a join streams over a scan it narrows by itself, when it runs: inner joins need this only
// where the large side groups.
func (o *optimizer) semiJoinReduction(n Node) Node {
	r := reducer{o: o}
	Walk(n, func(n Node) bool {
		if x, ok := n.(*Shared); ok {
			r.last = max(r.last, x.ID)
		}
		return true
	})
	return r.reduce(n)
}

// reducer numbers what it has computed once.
type reducer struct {
	o    *optimizer
	last int
}

func (r *reducer) reduce(n Node) Node {
	if _, ok := n.(*Shared); ok {
		return n // equal inputs stay equal
	}
	n = MapInputs(n, r.reduce)
	x, ok := n.(*Join)
	if !ok || len(x.Keys) == 0 {
		return n
	}
	switch {
	case x.Kind == Semi, x.Kind == Anti, x.Kind == Single, (x.Kind == Left || x.Kind == Inner) && grouped(x.Right):
		return r.reduceInput(x, 1)
	case (x.Kind == Right || x.Kind == Inner) && grouped(x.Left):
		return r.reduceInput(x, 0)
	}
	return n
}

// grouped reports whether the rows of n are made of groups, so that no join above narrows what is
// read for them.
func grouped(n Node) bool {
	switch x := n.(type) {
	case *Aggregate, *Window:
		return true
	case *Project, *Filter:
		return grouped(n.Inputs()[0])
	case *Join:
		return grouped(x.Left)
	}
	return false
}

// reduceInput reads of the large side of a join, 0 or 1, what has the keys of the other one.
func (r *reducer) reduceInput(x *Join, large int) Node {
	sides := []Node{x.Left, x.Right}
	few := r.o.rows(sides[1-large])
	const selective = 0.5 // of the keys there are: others leave too many rows of the large side
	if few < 0 || few > selective*r.o.distinct(sides[1-large]) {
		return x
	}
	small, shared := sides[1-large].(*Shared)
	if !shared {
		small = &Shared{ID: r.last + 1, Input: sides[1-large]}
	}
	on := make([]reduction, len(x.Keys))
	for i, k := range x.Keys {
		on[i] = reduction{column: k.Right, key: k.Left, nullSafe: k.NullSafe}
		if large == 0 {
			on[i].column, on[i].key = k.Left, k.Right
		}
	}
	reduced := r.below(sides[large], on, small, few)
	if reduced == sides[large] {
		return x
	}
	r.o.fired()
	r.last = max(r.last, small.ID)
	sides[large], sides[1-large] = reduced, small
	return WithInputs(x, sides)
}

// reduction asks that a column is one of the values of a key of the small side.
type reduction struct {
	column, key int
	nullSafe    bool
}

// below returns n without rows, some of them, that have no key of the small side, which has about
// so many rows. Each of on holds by itself.
func (r *reducer) below(n Node, on []reduction, small *Shared, rows float64) Node {
	if len(on) == 0 {
		return n
	}
	in := func(input int, pass func(column int) int) Node {
		inputs := append([]Node(nil), n.Inputs()...)
		inputs[input] = r.below(inputs[input], through(on, pass), small, rows)
		return WithInputs(n, inputs)
	}
	same := func(column int) int { return column }
	switch x := n.(type) {
	case *Scan:
		const (
			worthwhile = 4 // times as many rows
			least      = 10_000
		)
		read := r.o.rows(x)
		if x.Limit >= 0 || read < cmp.Or(r.o.options.SemiJoinMinRows, least) || read < worthwhile*rows {
			return n
		}
		return semiJoin(x, on, small)
	case *Filter:
		return in(0, same)
	case *Sort:
		if x.Limit < 0 && x.Offset == 0 {
			return in(0, same)
		}
	case *Project:
		return in(0, func(column int) int {
			if c, ok := x.Exprs[column].(*expr.Column); ok {
				return c.Index
			}
			return -1
		})
	case *Aggregate:
		if x.Sets == nil {
			return in(0, func(column int) int {
				if column < len(x.Keys) {
					return x.Keys[column]
				}
				return -1
			})
		}
	case *Join:
		width := Width(x.Left)
		ofLeft := func(column int) int {
			if column < width {
				return column
			}
			return -1
		}
		switch x.Kind {
		case Inner:
			n = in(0, ofLeft)
			return in(1, func(column int) int { return max(column-width, -1) })
		case Left, Semi, Anti, Single:
			return in(0, ofLeft)
		}
	}
	return n
}

// through returns where the columns are below an operator; those that are not there, -1, are left
// out.
func through(on []reduction, pass func(column int) int) []reduction {
	var out []reduction
	for _, x := range on {
		if x.column = pass(x.column); x.column >= 0 {
			out = append(out, x)
		}
	}
	return out
}

// semiJoin keeps the rows of n whose columns have, together, a partner on the small side.
func semiJoin(n Node, on []reduction, small *Shared) Node {
	keep := make([]int, len(on))
	keys := make([]EquiKey, len(on))
	for i, x := range on {
		keep[i] = x.key
		keys[i] = EquiKey{Left: x.column, Right: i, NullSafe: x.nullSafe}
	}
	return &Join{Kind: Semi, Left: n, Right: Select(small, keep), Keys: keys}
}
