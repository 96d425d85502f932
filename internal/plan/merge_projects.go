package plan

import "github.com/hengedb/henge/internal/expr"

// mergeProjects makes a projection of a projection one, where nothing is then computed twice, and
// drops projections that change nothing.
func (o *optimizer) mergeProjects(n Node) Node { return o.merge(n, true) }

// merge works on n; names tells that the names of n's columns matter to the node above.
func (o *optimizer) merge(n Node, names bool) Node {
	passes := false
	switch n.(type) {
	case *Write, *Export:
		passes = true
	case *Sort, *Limit, *Filter: // their columns are their input's
		passes = names
	}
	n = MapInputs(n, func(c Node) Node { return o.merge(c, passes) })
	p, ok := n.(*Project)
	if !ok {
		return n
	}
	for {
		inner, ok := p.Input.(*Project)
		if !ok || !mergeable(p, inner) {
			break
		}
		exprs := make([]expr.Expr, len(p.Exprs))
		for i, e := range p.Exprs {
			exprs[i] = substitute(e, inner.Exprs)
		}
		p = &Project{Input: inner.Input, Exprs: exprs, Names: p.Names}
		o.fired()
	}
	if isIdentity(p, names) {
		o.fired()
		return p.Input
	}
	if n == Node(p) {
		return n
	}
	return p
}

// mergeable reports whether every expression of inner that costs anything is used at most once by
// outer, and nothing volatile moves.
func mergeable(outer, inner *Project) bool {
	uses := make([]int, len(inner.Exprs))
	size := 0
	lazy := false
	for _, e := range outer.Exprs {
		expr.Walk(e, func(x expr.Expr) bool {
			size++
			switch y := x.(type) {
			case *expr.Column:
				uses[y.Index]++
			case *expr.Case, *expr.Each, *expr.Any, *expr.Loop:
				lazy = true // what stands inside may be computed more often than once a row
			}
			return true
		})
	}
	for i, e := range inner.Exprs {
		if isTrivial(e) {
			continue
		}
		if uses[i] > 1 || IsVolatile(e) || lazy && containsEach(e) {
			return false
		}
		expr.Walk(e, func(expr.Expr) bool { size++; return true })
	}
	return size <= maxMergedNodes
}

func containsEach(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x.(type) {
		case *expr.Each, *expr.Any, *expr.Loop:
			found = true
		}
		return !found
	})
	return found
}

// substitute returns e with column i replaced by exprs[i].
func substitute(e expr.Expr, exprs []expr.Expr) expr.Expr {
	return replaceColumns(e, func(c *expr.Column) expr.Expr {
		by := exprs[c.Index]
		if inner, ok := by.(*expr.Column); ok && inner.Name != c.Name {
			return &expr.Column{Index: inner.Index, Name: inner.Name, T: inner.T}
		}
		return by
	})
}

// isIdentity reports whether p gives its input's columns in their order, and under their names if
// names count.
func isIdentity(p *Project, names bool) bool {
	if Width(p.Input) != len(p.Exprs) {
		return false
	}
	for i, e := range p.Exprs {
		c, ok := e.(*expr.Column)
		if !ok || c.Index != i {
			return false
		}
		if in := ColumnAt(p.Input, i); c.T.Runtime() != in.Type.Runtime() || names && p.Names[i] != in.Name {
			return false
		}
	}
	return true
}
