package plan

import "github.com/hengedb/henge/internal/expr"

// streamingWeight is how many rows the other side must have to stream in place of one that is a
// join itself, of which about so many rows are expected. These are wide, and made by many workers,
// where a table is built by one; estimates of joins are often far too low, and a table of few rows
// costs next to nothing.
func streamingWeight(rows float64) float64 {
	const times, few = 4, 65_536
	return max(times*rows, few)
}

// isJoined reports whether the rows of n come from a join without being grouped.
func isJoined(n Node) bool {
	switch n.(type) {
	case *Join:
		return true
	case *Project, *Filter:
		return isJoined(n.Inputs()[0])
	}
	return false
}

// buildSide makes the side of a join that has fewer rows the right one, which is built into a hash
// table while the left one streams.
func (o *optimizer) buildSide(n Node) Node { return o.sides(n, true) }

// orderedBuildRowLimit is the number of rows up to which a side may be built though the other one
// has fewer, to keep the order of rows.
const orderedBuildRowLimit = 100_000

// sides is buildSide for a node whose rows are read in their order, or in any.
func (o *optimizer) sides(n Node, inOrder bool) Node {
	below := inOrder && passesOrder(n)
	n = MapInputs(n, func(in Node) Node { return o.sides(in, below) })
	x, ok := n.(*Join)
	if !ok {
		return n
	}
	kind, ok := map[JoinKind]JoinKind{Inner: Inner, Left: Right, Right: Left, Full: Full}[x.Kind]
	if !ok {
		return n
	}
	left, right := o.rows(x.Left), o.rows(x.Right)
	// quirk Q007: rows come in the order of the left side, as in Druid
	if inOrder && x.Kind != Right && right >= 0 && right <= orderedBuildRowLimit {
		return n
	}
	// An unknown side is taken to be large. A swap must pay for the projection that restores the order
	// of columns.
	const worthwhile = 1.5
	if left < 0 || right >= 0 && right <= worthwhile*left || isJoined(x.Left) && right <= streamingWeight(left) {
		return n
	}
	o.fired()
	wl, wr := Width(x.Left), Width(x.Right)
	c := &Join{Kind: kind, Left: x.Right, Right: x.Left}
	for _, k := range x.Keys {
		c.Keys = append(c.Keys, EquiKey{Left: k.Right, Right: k.Left, NullSafe: k.NullSafe})
	}
	if x.On != nil {
		c.On = replaceColumns(x.On, func(col *expr.Column) expr.Expr {
			i := col.Index + wr
			if col.Index >= wl {
				i = col.Index - wl
			}
			return &expr.Column{Index: i, Name: col.Name, T: col.T}
		})
	}
	keep := make([]int, 0, wl+wr)
	for i := range wl {
		keep = append(keep, wr+i)
	}
	for i := range wr {
		keep = append(keep, i)
	}
	return Select(c, keep)
}

// passesOrder reports whether the rows of n come in the order of those of its inputs.
func passesOrder(n Node) bool {
	switch n.(type) {
	case *Project, *Filter, *Limit, *Join:
		return true
	}
	return false
}
