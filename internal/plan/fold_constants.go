package plan

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/vector"
)

// foldConstants computes what reads no column, drops terms that decide nothing, and turns what can
// have no rows into an empty relation.
func (o *optimizer) foldConstants(n Node) Node {
	n = MapInputs(n, o.foldConstants)
	folded := MapExprs(n, o.fold)
	if folded != n {
		o.fired()
		n = folded
	}
	empty := FoldNode(n)
	if empty != n {
		o.fired()
	}
	return empty
}

// FoldNode simplifies a node whose expressions are folded: it removes a condition that is always
// true, and returns an empty relation if a condition is never true.
func FoldNode(n Node) Node {
	switch x := n.(type) {
	case *Scan:
		if IsNever(x.Filter) {
			return Empty(x.Out)
		}
		if isAlways(x.Filter) {
			c := *x
			c.Filter, c.Guarded = nil, false // no row is hidden
			return &c
		}
	case *Filter:
		if isAlways(x.Cond) {
			return x.Input
		}
		if IsNever(x.Cond) || isEmpty(x.Input) {
			return Empty(x.Columns())
		}
	case *Project:
		if isEmpty(x.Input) {
			return Empty(x.Columns())
		}
	case *Sort:
		if isEmpty(x.Input) || x.Limit == 0 {
			return Empty(x.Columns())
		}
	case *Limit:
		if isEmpty(x.Input) || x.Count == 0 {
			return Empty(x.Columns())
		}
	case *Unnest:
		if isEmpty(x.Input) {
			return Empty(x.Columns())
		}
	case *Window:
		if isEmpty(x.Input) {
			return Empty(x.Columns())
		}
	case *Aggregate:
		if isEmpty(x.Input) && len(x.Keys) > 0 && x.Sets == nil {
			return Empty(x.Columns())
		}
	case *Join:
		return foldJoin(x)
	case *Union:
		return foldUnion(x)
	}
	return n
}

func foldJoin(x *Join) Node {
	if isAlways(x.On) {
		c := *x
		c.On = nil
		return &c
	}
	left, right := isEmpty(x.Left), isEmpty(x.Right)
	never := IsNever(x.On)
	switch x.Kind {
	case Inner, Semi:
		if left || right || never {
			return Empty(x.Columns())
		}
	case Left, Single:
		if left {
			return Empty(x.Columns())
		}
	case Right:
		if right {
			return Empty(x.Columns())
		}
	case Full:
		if left && right {
			return Empty(x.Columns())
		}
	case Anti, AntiNull:
		if left {
			return Empty(x.Columns())
		}
		if right || never {
			return x.Left
		}
	}
	return x
}

func foldUnion(x *Union) Node {
	var ins []Node
	for _, in := range x.Ins {
		if !isEmpty(in) {
			ins = append(ins, in)
		}
	}
	switch {
	case len(ins) == len(x.Ins):
		return x
	case len(ins) == 0:
		return Empty(x.Out)
	}
	return &Union{Ins: ins, Out: x.Out}
}

// Empty returns a relation of no rows with the columns cols.
func Empty(cols []Column) *Inline {
	b := &vector.Batch{Cols: make([]*vector.Vector, len(cols))}
	for i, c := range cols {
		b.Cols[i] = vector.NewBuilder(c.Type.Runtime(), 0).Build()
	}
	return &Inline{Out: cols, Rows: b}
}

func isEmpty(n Node) bool {
	x, ok := n.(*Inline)
	return ok && x.Rows.Rows() == 0
}

// isAlways reports whether e is the constant TRUE.
func isAlways(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	v, isInt := valueOf(l, ok).(int64)
	return isInt && v != 0
}

// IsNever reports whether e is the constant FALSE or NULL.
func IsNever(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	if !ok {
		return false
	}
	v, isInt := l.Value.(int64)
	return l.Value == nil || isInt && v == 0
}

func valueOf(l *expr.Literal, ok bool) any {
	if !ok {
		return nil
	}
	return l.Value
}

// Bool returns the literal TRUE or FALSE.
func Bool(b bool) *expr.Literal {
	v := int64(0)
	if b {
		v = 1
	}
	return &expr.Literal{Value: v, T: expr.Of(expr.Boolean).NotNull()}
}

func (o *optimizer) fold(e expr.Expr) expr.Expr { return FoldExpr(e, &o.options.Context) }

// FoldExpr computes constant subexpressions of e and drops terms without effect. An expression
// whose evaluation fails stays: if a row evaluates it, the query gets the error.
func FoldExpr(e expr.Expr, c *expr.Context) expr.Expr {
	if folded, err := expr.Fold(e, c); err == nil {
		e = folded
	}
	return expr.Rewrite(e, simplify)
}

func simplify(e expr.Expr) expr.Expr {
	switch x := e.(type) {
	case *expr.And:
		return foldTerms(x, x.Terms, true)
	case *expr.Or:
		return foldTerms(x, x.Terms, false)
	case *expr.Not:
		switch y := x.X.(type) {
		case *expr.Not:
			return y.X
		case *expr.And:
			return simplify(&expr.Or{Terms: negate(y.Terms)})
		case *expr.Or:
			return simplify(&expr.And{Terms: negate(y.Terms)})
		case *expr.Call:
			if op, ok := opposite[y.Fn.Name]; ok {
				c := *y
				c.Fn = catalog.MustLookup(op)
				return &c
			}
		case *expr.Literal:
			if y.Value == nil {
				return y
			}
			return Bool(IsNever(y))
		}
	case *expr.Case:
		return foldCase(x)
	}
	return e
}

// opposite are the operators that are true where another is false, and NULL where it is NULL.
var opposite = map[string]string{"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<", fnIsNull: fnIsNotNull, fnIsNotNull: fnIsNull,
	fnNotDistinct: "IS DISTINCT FROM", "IS DISTINCT FROM": fnNotDistinct}

// negate returns the negation of every term, already simplified.
func negate(terms []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(terms))
	for i, t := range terms {
		out[i] = simplify(&expr.Not{X: t})
	}
	return out
}

// foldTerms simplifies a conjunction, or a disjunction if and is false.
func foldTerms(e expr.Expr, terms []expr.Expr, and bool) expr.Expr {
	out := make([]expr.Expr, 0, len(terms))
	changed := false
	for _, t := range terms {
		if inner := sameKind(t, and); inner != nil {
			out = append(out, inner...)
			changed = true
			continue
		}
		l, ok := t.(*expr.Literal)
		switch {
		case ok && l.Value != nil && isAlways(l) == and:
			changed = true // TRUE in a conjunction, FALSE in a disjunction
		case ok && l.Value != nil:
			return Bool(!and)
		case containsSame(out, t):
			changed = true
		default:
			out = append(out, t)
		}
	}
	switch {
	case len(out) == 0:
		return Bool(and)
	case len(out) == 1:
		return out[0]
	case !changed:
		return e
	case and:
		return &expr.And{Terms: out}
	}
	return &expr.Or{Terms: out}
}

func sameKind(e expr.Expr, and bool) []expr.Expr {
	switch x := e.(type) {
	case *expr.And:
		if and {
			return x.Terms
		}
	case *expr.Or:
		if !and {
			return x.Terms
		}
	}
	return nil
}

// containsSame looks for t among the last few terms only, so that a filter of thousands of terms
// stays linear.
func containsSame(list []expr.Expr, t expr.Expr) bool {
	const window = 32
	for _, x := range list[max(0, len(list)-window):] {
		if expr.Equal(x, t) {
			return true
		}
	}
	return false
}

// foldCase drops arms that are never taken and what follows one that always is.
func foldCase(x *expr.Case) expr.Expr {
	var whens []expr.When
	other := x.Else
	changed := false
	for _, w := range x.Whens {
		if IsNever(w.Cond) {
			changed = true
			continue
		}
		if isAlways(w.Cond) {
			other, changed = w.Then, true
			break
		}
		whens = append(whens, w)
	}
	switch {
	case !changed:
		return x
	case len(whens) > 0:
		return &expr.Case{Whens: whens, Else: other, T: x.T}
	case other == nil:
		return &expr.Literal{T: x.T}
	case other.Type().NotNull() == x.T.NotNull():
		return other
	}
	return &expr.Cast{X: other, T: x.T}
}
