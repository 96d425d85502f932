package plan

import "github.com/hengedb/henge/internal/expr"

// pushSemiJoins asks for the existence of a partner where there are fewest rows: a semi or anti
// join over an inner join that looks at one of its sides only is made of that side, unless the join
// leaves fewer rows to ask for.
func (o *optimizer) pushSemiJoins(n Node) Node {
	if x, ok := n.(*Join); ok && (x.Kind == Semi || x.Kind == Anti) {
		if pushed := o.pushSemi(x); pushed != nil {
			o.fired()
			n = pushed
		}
	}
	return MapInputs(n, o.pushSemiJoins)
}

// pushSemi returns x with its join on one side of the one below it, nil if it stays.
func (o *optimizer) pushSemi(x *Join) Node {
	if p, ok := x.Left.(*Project); ok && passes(p) {
		return o.pushSemiThrough(x, p)
	}
	below, ok := x.Left.(*Join)
	if !ok || !isInner(below) {
		return nil
	}
	width, all := Width(below.Left), Width(below)
	left := readsLeft(x, all, func(c int) bool { return c < width })
	right := !left && readsLeft(x, all, func(c int) bool { return c >= width })
	if !left && !right {
		return nil
	}
	side, first := below.Left, 0
	if right {
		side, first = below.Right, width
	}
	if rows, joined := o.rows(side), o.rows(below); rows < 0 || rows > joined {
		return nil
	}
	// The right side's columns follow those of the one side only.
	to := make([]int, all+Width(x.Right))
	for i := range to {
		to[i] = i - first // what is not read may be anything
		if i >= all {
			to[i] = i - all + Width(side)
		}
	}
	sides := []Node{below.Left, below.Right}
	if right {
		sides[1] = semiOver(x, side, to)
	} else {
		sides[0] = semiOver(x, side, to)
	}
	return WithInputs(below, sides)
}

// semiOver returns the join with another left side; to says where the columns that it reads are
// there.
func semiOver(x *Join, left Node, to []int) *Join {
	c := *x
	c.Left, c.Keys = left, make([]EquiKey, len(x.Keys))
	for i, k := range x.Keys {
		c.Keys[i] = EquiKey{Left: to[k.Left], Right: k.Right, NullSafe: k.NullSafe}
	}
	if x.On != nil {
		c.On = renumber(x.On, to)
	}
	return &c
}

// pushSemiThrough moves the join below a projection that picks columns, if it can go on there.
func (o *optimizer) pushSemiThrough(x *Join, p *Project) Node {
	to := make([]int, len(p.Exprs)+Width(x.Right))
	width := Width(p.Input)
	for i := range to {
		if i < len(p.Exprs) {
			to[i] = p.Exprs[i].(*expr.Column).Index
		} else {
			to[i] = i - len(p.Exprs) + width
		}
	}
	pushed := o.pushSemi(semiOver(x, p.Input, to))
	if pushed == nil {
		return nil
	}
	return WithInputs(p, []Node{pushed})
}

// readsLeft reports whether ok holds for all columns of the left side, which has width of them,
// that a join looks at, and there are some.
func readsLeft(x *Join, width int, ok func(int) bool) bool {
	for _, k := range x.Keys {
		if !ok(k.Left) {
			return false
		}
	}
	if x.On == nil {
		return len(x.Keys) > 0
	}
	return !IsVolatile(x.On) && ReadsOnly(x.On, func(c int) bool { return c >= width || ok(c) })
}
