package plan

import "github.com/hengedb/henge/internal/expr"

// antiJoins makes anti joins of LEFT joins of which only the rows without a partner are kept, by
// the NULL of a key that partners have a value in: the way of asking for them in systems without
// NOT EXISTS.
func (o *optimizer) antiJoins(n Node) Node {
	n = MapInputs(n, o.antiJoins)
	f, ok := n.(*Filter)
	if !ok {
		return n
	}
	x, ok := f.Input.(*Join)
	if !ok || x.Kind != Left {
		return n
	}
	width := Width(x.Left)
	terms, found := []expr.Expr(nil), false
	for _, t := range Split(f.Cond) {
		if c := nullColumn(t); c >= width && x.hasKey(c-width) {
			found = true
			continue
		}
		terms = append(terms, t)
	}
	if !found {
		return n
	}
	o.fired()
	anti := *x
	anti.Kind = Anti
	p := &Project{Input: &anti}
	for i, c := range x.Columns() {
		var e expr.Expr = &expr.Column{Index: i, Name: c.Name, T: c.Type}
		if i >= width {
			e = &expr.Literal{T: c.Type}
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, c.Name)
	}
	return filter(p, terms)
}

// nullColumn returns the column that a term asks to be NULL, -1: it is no such term.
func nullColumn(term expr.Expr) int {
	if call, ok := term.(*expr.Call); ok && call.Fn.Name == fnIsNull {
		if c, ok := call.Args[0].(*expr.Column); ok {
			return c.Index
		}
	}
	return -1
}

// hasKey reports whether partners are equal in a right column, and so have a value there.
func (n *Join) hasKey(right int) bool {
	for _, k := range n.Keys {
		if k.Right == right && !k.NullSafe {
			return true
		}
	}
	return false
}
