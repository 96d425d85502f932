package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

var operatorNames = [...]string{
	syntax.Add: "+", syntax.Sub: "-", syntax.Mul: "*", syntax.Div: "/", syntax.Mod: "%",
	syntax.Equal: "=", syntax.NotEqual: "<>", syntax.Less: "<", syntax.LessEqual: "<=", syntax.Greater: ">", syntax.GreaterEqual: ">=",
	syntax.IsDistinct: "IS DISTINCT FROM", syntax.IsNotDistinct: "IS NOT DISTINCT FROM",
	syntax.Overlaps: "OVERLAPS", syntax.Contains: "CONTAINS", syntax.Equals: "EQUALS", syntax.Precedes: "PRECEDES",
	syntax.Succeeds: "SUCCEEDS", syntax.ImmediatelyPrecedes: "IMMEDIATELY PRECEDES", syntax.ImmediatelySucceeds: "IMMEDIATELY SUCCEEDS",
}

func (x exprs) unary(e *syntax.Unary) (expr.Expr, error) {
	if isConstant(e) {
		return x.literal(e)
	}
	inner, err := x.bind(e.X)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case syntax.Not:
		return x.not(inner, e.At)
	case syntax.Neg:
		return expr.NewCall(catalog.MustLookup("-"), []expr.Expr{inner}, e.At)
	}
	return expr.NewCall(catalog.MustLookup("+"), []expr.Expr{inner}, e.At)
}

// inverse are the comparisons that hold of single values where the keys do not.
var inverse = map[string]string{"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

// not negates a condition. Of a multi-value string NOT (mv < 'a') is mv >= 'a', as in Druid: some
// value is not below it. That of equality is of the whole row. See quirk Q009.
func (x exprs) not(e expr.Expr, at fault.Span) (expr.Expr, error) {
	if some, ok := e.(*expr.Any); ok {
		c, _ := some.Body.(*expr.Call)
		if c != nil && inverse[c.Fn.Name] != "" {
			body, err := expr.NewCompare(inverse[c.Fn.Name], c.Args[0], c.Args[1], at)
			return &expr.Any{Source: some.Source, Body: body}, err
		}
	}
	e, err := x.byValues(e, at)
	if err != nil {
		return nil, err
	}
	return expr.NewNot(e, at)
}

// dateParam makes milliseconds of a parameter of type DATE that is compared with a number: what
// drivers send for a number column is taken as that.
func dateParam(node syntax.Expr, bound, other expr.Expr) expr.Expr {
	l, ok := bound.(*expr.Literal)
	if _, param := node.(*syntax.Param); !ok || !param || l.T.Base != expr.Date || !other.Type().IsNumeric() {
		return bound
	}
	return &expr.Literal{Value: l.Value, T: expr.Of(expr.BigInt).OrNull(l.T.Nullable)}
}

func (x exprs) binary(e *syntax.Binary) (expr.Expr, error) {
	if l, ok := e.Left.(*syntax.Row); ok {
		if r, ok := e.Right.(*syntax.Row); ok {
			return x.compareRows(e, l, r)
		}
	}
	left, err := x.bind(e.Left)
	if err != nil {
		return nil, err
	}
	right, err := x.bind(e.Right)
	if err != nil {
		return nil, err
	}
	x.b.alike([]syntax.Expr{e.Left, e.Right}, []expr.Expr{left, right})
	switch {
	case e.Op >= syntax.Equal && e.Op <= syntax.IsNotDistinct:
		left, right = dateParam(e.Left, left, right), dateParam(e.Right, right, left)
		out, err := expr.NewCompare(operatorNames[e.Op], left, right, e.At)
		if err != nil || e.Op == syntax.Equal {
			return out, err // a text that is no time equals none
		}
		return out, x.checkTimes(out, e.At)
	case e.Op >= syntax.Overlaps:
		return nil, notYet(e.At, "Operator ["+operatorNames[e.Op]+"]")
	}
	return x.callOf(operatorNames[e.Op], []expr.Expr{left, right}, e.At)
}

// compareRows binds comparisons of rows, and OVERLAPS.
func (x exprs) compareRows(e *syntax.Binary, l, r *syntax.Row) (expr.Expr, error) {
	if len(l.Items) != len(r.Items) {
		return nil, fault.InvalidSQL(e.At, "Rows with [%d] and [%d] columns can't be compared", len(l.Items), len(r.Items))
	}
	left, err := x.list(l.Items)
	if err != nil {
		return nil, err
	}
	right, err := x.list(r.Items)
	if err != nil {
		return nil, err
	}
	op := operatorNames[e.Op]
	switch e.Op {
	case syntax.Equal, syntax.NotEqual, syntax.IsDistinct, syntax.IsNotDistinct:
	case syntax.Less, syntax.LessEqual, syntax.Greater, syntax.GreaterEqual:
		return x.orderRows(op, left, right, e.At)
	case syntax.Overlaps:
		return x.overlaps(left, right, e.At)
	default:
		return nil, fault.InvalidSQL(e.At, "Operator [%s] can't be applied to rows", op)
	}
	terms := make([]expr.Expr, len(left))
	for i := range left {
		if terms[i], err = expr.NewCompare(op, left[i], right[i], e.At); err != nil {
			return nil, err
		}
	}
	if e.Op == syntax.NotEqual || e.Op == syntax.IsDistinct {
		return expr.NewOr(terms, e.At)
	}
	return expr.NewAnd(terms, e.At)
}

func (x exprs) chain(e *syntax.Chain) (expr.Expr, error) {
	args, err := x.list(e.Args)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case syntax.And:
		return expr.NewAnd(args, e.At)
	case syntax.Or:
		return expr.NewOr(args, e.At)
	}
	return x.callOf("||", args, e.At)
}

func (x exprs) is(e *syntax.Is) (expr.Expr, error) {
	inner, err := x.bind(e.X)
	if err != nil {
		return nil, err
	}
	var name string
	switch e.Test {
	case syntax.IsNull, syntax.IsUnknown:
		name = "NULL"
	case syntax.IsTrue:
		name = "TRUE"
	case syntax.IsFalse:
		name = "FALSE"
	default:
		return nil, fault.InvalidSQL(e.At, "No match found for function signature IS JSON: test with TRY_PARSE_JSON(x) IS NOT NULL")
	}
	if e.Test == syntax.IsUnknown {
		if b := inner.Type().Base; b != expr.Boolean && b != expr.Null {
			return nil, fault.InvalidSQL(e.At, "Cannot apply 'IS UNKNOWN' to arguments of type '<%s> IS UNKNOWN'. Supported form(s): '<BOOLEAN> IS UNKNOWN'",
				inner.Type())
		}
	}
	if e.Not {
		name = "NOT " + name
	}
	if name == "NULL" || name == "NOT NULL" {
		if nullable := dividends(inner, nil); nullable != nil {
			return x.someNull(nullable, e.Not, e.At)
		}
	}
	return x.callOf("IS "+name, []expr.Expr{inner}, e.At)
}

// dividends returns the expressions one of which must be NULL for a quotient of whole numbers, or
// what is computed from one, to be NULL; nil if e is no such thing. The quotient need not be
// computed then, so that it can't fail.
func dividends(e expr.Expr, found []expr.Expr) []expr.Expr {
	c, ok := e.(*expr.Call)
	if !ok || c.T.Multi || len(c.Args) != 2 {
		return nil
	}
	switch c.Fn.Name {
	case "/":
		if c.Args[0].Type().Runtime() == vector.Long {
			return append(found, c.Args...)
		}
	case "+", "-", "*", "=", "<>", "<", "<=", ">", ">=":
		for i, a := range c.Args {
			if more := dividends(a, found); more != nil {
				return append(more, c.Args[1-i])
			}
		}
	}
	return nil
}

// someNull binds the condition that one of several expressions is NULL, or that none is.
func (x exprs) someNull(list []expr.Expr, not bool, at fault.Span) (expr.Expr, error) {
	terms := make([]expr.Expr, len(list))
	for i, e := range list {
		var err error
		if terms[i], err = x.callOf("IS NULL", []expr.Expr{e}, at); err != nil {
			return nil, err
		}
	}
	some, err := expr.NewOr(terms, at)
	return negated(some, err, not, at)
}

func (x exprs) between(e *syntax.Between) (expr.Expr, error) {
	args, err := x.list([]syntax.Expr{e.X, e.Low, e.High})
	if err != nil {
		return nil, err
	}
	x.b.alike([]syntax.Expr{e.X, e.Low, e.High}, args)
	out, err := expr.NewBetween(args[0], args[1], args[2], e.Symmetric, e.Not, e.At)
	if err != nil {
		return nil, err
	}
	return out, x.checkTimes(out, e.At)
}

func negated(e expr.Expr, err error, not bool, at fault.Span) (expr.Expr, error) {
	if err != nil || !not {
		return e, err
	}
	return expr.NewNot(e, at)
}

func (x exprs) inList(e *syntax.InList) (expr.Expr, error) {
	if row, ok := e.X.(*syntax.Row); ok && len(row.Items) > 1 {
		return x.inRows(e, row)
	}
	inner, err := x.bind(e.X)
	if err != nil {
		return nil, err
	}
	if len(e.List) > expr.ManyConstants && !slices.ContainsFunc(e.List, isNoConstant) {
		if out, err := x.inConstants(inner, e); out != nil || err != nil {
			return out, err
		}
	}
	list, err := x.list(e.List)
	if err != nil {
		return nil, err
	}
	x.b.alike(append([]syntax.Expr{e.X}, e.List...), append([]expr.Expr{inner}, list...))
	if slices.ContainsFunc(list, func(e expr.Expr) bool { return !expr.IsConstant(e) }) { // it becomes comparisons
		if err := expr.CheckRepeated(inner, len(list), e.At); err != nil {
			return nil, err
		}
	}
	out, err := expr.NewIn(inner, list, e.At)
	if err != nil {
		return nil, incompatibleIn(e.At, inner)
	}
	if inner.Type().IsTime() {
		if err := x.checkTimes(out, e.At); err != nil {
			return nil, err
		}
	}
	return negated(out, nil, e.Not, e.At)
}

// inConstants is inList for many constants, nil where it can't be done.
func (x exprs) inConstants(inner expr.Expr, e *syntax.InList) (expr.Expr, error) {
	var bad error // of a constant
	out, err := expr.NewInConstants(inner, len(e.List), func(i int, l *expr.Literal) error {
		*l, bad = x.constant(e.List[i])
		return bad
	}, e.At)
	switch {
	case bad != nil:
		return nil, bad
	case err != nil:
		return nil, incompatibleIn(e.At, inner)
	case out == nil:
		return nil, nil
	case inner.Type().IsTime():
		if err := x.checkTimes(out, e.At); err != nil {
			return nil, err
		}
	}
	return negated(out, nil, e.Not, e.At)
}

func incompatibleIn(at fault.Span, of ...expr.Expr) error {
	err := fault.InvalidSQL(at, "Values passed to IN operator must have compatible types")
	if len(of) == 1 && of[0].Type().Base == expr.Array {
		return advised(err, "ARRAY_OVERLAP(array, ARRAY[values])")
	}
	return err
}

// inRows binds (a, b) IN ((1, 2), (3, 4)).
func (x exprs) inRows(e *syntax.InList, row *syntax.Row) (expr.Expr, error) {
	left, err := x.list(row.Items)
	if err != nil {
		return nil, err
	}
	for _, l := range left {
		if err := expr.CheckRepeated(l, len(e.List), e.At); err != nil {
			return nil, err
		}
	}
	alternatives := make([]expr.Expr, len(e.List))
	for i, item := range e.List {
		r, ok := item.(*syntax.Row)
		if !ok || len(r.Items) != len(left) {
			return nil, incompatibleIn(e.At, left[0])
		}
		if err := x.b.spend(len(left), item); err != nil { // each is a comparison
			return nil, err
		}
		right, err := x.list(r.Items)
		if err != nil {
			return nil, err
		}
		terms := make([]expr.Expr, len(left))
		for j := range left {
			if terms[j], err = expr.NewCompare("=", left[j], right[j], item.Span()); err != nil {
				return nil, incompatibleIn(e.At)
			}
			if left[j].Type().IsTime() {
				if err := x.checkTimes(terms[j], e.At); err != nil {
					return nil, err
				}
			}
		}
		if alternatives[i], err = expr.NewAnd(terms, item.Span()); err != nil {
			return nil, err
		}
	}
	out, err := expr.NewOr(alternatives, e.At)
	return negated(out, err, e.Not, e.At)
}

func (x exprs) like(e *syntax.Like) (expr.Expr, error) {
	if e.Kind == syntax.LikeSimilar {
		return x.similar(e)
	}
	args, err := x.list([]syntax.Expr{e.X, e.Pattern})
	if err != nil {
		return nil, err
	}
	if e.Escape != nil {
		escape, err := x.bind(e.Escape)
		if err != nil {
			return nil, err
		}
		args = append(args, escape)
	}
	name := "LIKE"
	if e.Kind == syntax.LikeIgnoreCase {
		name = "ILIKE"
	}
	fn := catalog.MustLookup(name)
	if e.Not {
		fn = fn.Negation()
	}
	out, err := expr.NewCall(fn, args, e.At)
	return negated(out, err, e.Not, e.At)
}

func (x exprs) caseOf(e *syntax.Case) (expr.Expr, error) {
	var operand expr.Expr
	var err error
	if e.Operand != nil {
		if operand, err = x.bind(e.Operand); err != nil {
			return nil, err
		}
		if err := expr.CheckRepeated(operand, len(e.Whens), e.Operand.Span()); err != nil {
			return nil, err
		}
	}
	whens := make([]expr.When, len(e.Whens))
	for i, w := range e.Whens {
		conds, err := x.list(w.Conds)
		if err != nil {
			return nil, err
		}
		if operand != nil {
			for j, c := range conds {
				if conds[j], err = expr.NewCompare("=", operand, c, w.Conds[j].Span()); err != nil {
					return nil, err
				}
			}
		}
		cond := conds[0]
		if len(conds) > 1 {
			if cond, err = expr.NewOr(conds, w.At); err != nil {
				return nil, err
			}
		}
		then, err := x.bind(w.Then)
		if err != nil {
			return nil, err
		}
		whens[i] = expr.When{Cond: cond, Then: then}
	}
	var other expr.Expr
	if e.Else != nil {
		if other, err = x.bind(e.Else); err != nil {
			return nil, err
		}
	}
	ofRows := x.inAggregate && !x.inGrouping || x.clause == "WHERE" || x.clause == clauseFilter || x.clause == "ON"
	if x.in.arm || ofRows {
		return expr.NewCase(whens, other, e.At) // whose conditions ask of rows
	}
	return expr.NewCaseOfValues(whens, other, e.At)
}

func (x exprs) array(e *syntax.Array) (expr.Expr, error) {
	items, err := x.list(e.Items)
	if err != nil {
		return nil, err
	}
	return x.callOf("ARRAY", items, e.At)
}

// item binds a[i], whose index counts from 1.
func (x exprs) item(e *syntax.Item) (expr.Expr, error) {
	args, err := x.list([]syntax.Expr{e.X, e.Index})
	if err != nil {
		return nil, err
	}
	list, index := args[0].Type(), args[1].Type()
	if list.Base != expr.Array && list.Base != expr.Null || !index.IsInteger() && index.Base != expr.Null {
		return nil, fault.InvalidSQL(e.At, "Cannot apply 'ITEM' to arguments of type 'ITEM(<%s>, <%s>)'. Supported form(s): <ARRAY>[<INTEGER>]\n<MAP>[<VALUE>]",
			expr.TypeText(args[0]), expr.TypeText(args[1]))
	}
	return x.callOf("ARRAY_ORDINAL", args, e.At)
}
