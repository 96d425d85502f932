package syntax

// Rewrite returns e with f applied to every expression in it, operands first. A node whose parts
// change is copied, so e itself does not change; unchanged nodes are shared. Rewrite does not enter
// queries, which are separate scopes, but enters the windows and other clauses of calls.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	if e == nil {
		return nil
	}
	r := rewriter{f}
	return f(r.parts(e))
}

type rewriter struct{ f func(Expr) Expr }

// expr rewrites *e, which may be nil, and reports whether that changed it.
func (r rewriter) expr(e *Expr) bool {
	if *e == nil {
		return false
	}
	old := *e
	*e = Rewrite(old, r.f)
	return *e != old
}

// exprs rewrites a list; a changed list is a copy.
func (r rewriter) exprs(list *[]Expr) bool {
	var out []Expr
	for i, e := range *list {
		v := Rewrite(e, r.f)
		if v != e && out == nil {
			out = append(make([]Expr, 0, len(*list)), (*list)[:i]...)
		}
		if out != nil {
			out = append(out, v)
		}
	}
	if out == nil {
		return false
	}
	*list = out
	return true
}

func (r rewriter) order(list *[]OrderItem) bool {
	var out []OrderItem
	for i, o := range *list {
		changed := r.expr(&o.X)
		if changed && out == nil {
			out = append(make([]OrderItem, 0, len(*list)), (*list)[:i]...)
		}
		if out != nil {
			out = append(out, o)
		}
	}
	if out == nil {
		return false
	}
	*list = out
	return true
}

func (r rewriter) whens(list *[]When) bool {
	var out []When
	for i, w := range *list {
		conds, then := r.exprs(&w.Conds), r.expr(&w.Then)
		if (conds || then) && out == nil {
			out = append(make([]When, 0, len(*list)), (*list)[:i]...)
		}
		if out != nil {
			out = append(out, w)
		}
	}
	if out == nil {
		return false
	}
	*list = out
	return true
}

func (r rewriter) window(w **Window) bool {
	if *w == nil {
		return false
	}
	c := **w
	changed := r.exprs(&c.PartitionBy)
	changed = r.order(&c.OrderBy) || changed
	if c.Frame != nil {
		f := *c.Frame
		start, end := r.expr(&f.Start.Offset), r.expr(&f.End.Offset)
		if start || end {
			c.Frame = &f
			changed = true
		}
	}
	if changed {
		*w = &c
	}
	return changed
}

func (r rewriter) json(j **JSONClauses) bool {
	if *j == nil {
		return false
	}
	c := **j
	changed := r.behavior(&c.OnEmpty)
	changed = r.behavior(&c.OnError) || changed
	if changed {
		*j = &c
	}
	return changed
}

func (r rewriter) behavior(b **JSONBehavior) bool {
	if *b == nil {
		return false
	}
	c := **b
	if !r.expr(&c.Value) {
		return false
	}
	*b = &c
	return true
}

// parts returns e with its parts rewritten.
func (r rewriter) parts(e Expr) Expr {
	switch e := e.(type) {
	case *Name, *Star, *Number, *String, *Bytes, *Bool, *Unknown, *Null, *Temporal, *Interval, *Param, *Default, *Symbol, *Subquery, *Exists:
	case *NamedArg:
		if c := *e; r.expr(&c.X) {
			return &c
		}
	case *Unary:
		if c := *e; r.expr(&c.X) {
			return &c
		}
	case *Binary:
		c := *e
		if left, right := r.expr(&c.Left), r.expr(&c.Right); left || right {
			return &c
		}
	case *Chain:
		if c := *e; r.exprs(&c.Args) {
			return &c
		}
	case *Is:
		if c := *e; r.expr(&c.X) {
			return &c
		}
	case *Between:
		c := *e
		if x, low, high := r.expr(&c.X), r.expr(&c.Low), r.expr(&c.High); x || low || high {
			return &c
		}
	case *InList:
		c := *e
		if x, list := r.expr(&c.X), r.exprs(&c.List); x || list {
			return &c
		}
	case *InQuery:
		if c := *e; r.expr(&c.X) {
			return &c
		}
	case *Like:
		c := *e
		if x, pattern, escape := r.expr(&c.X), r.expr(&c.Pattern), r.expr(&c.Escape); x || pattern || escape {
			return &c
		}
	case *Quantified:
		c := *e
		if x, set := r.expr(&c.X), r.expr(&c.Set); x || set {
			return &c
		}
	case *Case:
		c := *e
		if operand, whens, other := r.expr(&c.Operand), r.whens(&c.Whens), r.expr(&c.Else); operand || whens || other {
			return &c
		}
	case *Cast:
		if c := *e; r.expr(&c.X) {
			return &c
		}
	case *Call:
		c := *e
		changed := r.exprs(&c.Args)
		changed = r.order(&c.OrderBy) || changed
		changed = r.order(&c.WithinGroup) || changed
		changed = r.expr(&c.Filter) || changed
		changed = r.window(&c.Over) || changed
		if r.json(&c.JSON) || changed {
			return &c
		}
	case *Row:
		if c := *e; r.exprs(&c.Items) {
			return &c
		}
	case *Array:
		if c := *e; r.exprs(&c.Items) {
			return &c
		}
	case *Item:
		c := *e
		if x, index := r.expr(&c.X), r.expr(&c.Index); x || index {
			return &c
		}
	case *Field:
		if c := *e; r.expr(&c.X) {
			return &c
		}
	}
	return e
}
