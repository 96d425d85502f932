package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// keepsRows are the clauses that keep the rows for which a condition is true.
var keepsRows = []string{clauseFilter, "HAVING", "ON", "QUALIFY", "WHERE"}

// byValues makes of each MV_CONTAINS and MV_OVERLAP with constants, in a condition that is about to
// be negated, the comparisons of single values that it stands for. They are UNKNOWN where a value
// is NULL or there is none, so that the row is not kept, as in Druid; as output the functions are
// never NULL. See quirk Q009.
func (x exprs) byValues(e expr.Expr, at fault.Span) (expr.Expr, error) {
	if !slices.Contains(keepsRows, x.clause) || !x.b.form.testsValues() {
		return e, nil
	}
	b := boolBuilder{at: at}
	switch c := e.(type) {
	case *expr.And:
		terms, err := x.allByValues(c.Terms, at)
		return b.and(terms), err
	case *expr.Or:
		terms, err := x.allByValues(c.Terms, at)
		return b.or(terms), err
	case *expr.Call:
		return x.valueTests(c, at)
	}
	return e, nil
}

func (x exprs) allByValues(terms []expr.Expr, at fault.Span) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(terms))
	for i, t := range terms {
		var err error
		if out[i], err = x.byValues(t, at); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// valueTests returns the comparisons that a call of MV_CONTAINS or MV_OVERLAP with constants stands
// for, and every other call as it is.
func (x exprs) valueTests(c *expr.Call, at fault.Span) (expr.Expr, error) {
	all := c.Fn.HasValues == expr.AllOfThem
	if c.Fn.HasValues == expr.NoneOfThem || !expr.IsConstant(c.Args[1]) || expr.MadeOfValues(c.Args[0]) {
		return c, nil
	}
	wanted, err := expr.Fold(c.Args[1], &x.b.env)
	if err != nil {
		return nil, err
	}
	l, _ := wanted.(*expr.Literal)
	if l == nil {
		return c, nil
	}
	list, _ := l.Value.([]any)
	if len(list) == 0 {
		return c, nil
	}
	b := boolBuilder{at: at}
	source := withoutCasts(c.Args[0])
	if !source.Type().IsCharacter() {
		return b.or([]expr.Expr{c, b.call("IS NULL", source)}), b.err
	}
	var tests, texts []expr.Expr
	for _, v := range list {
		text, ok := v.(string)
		switch {
		case !ok:
			tests = append(tests, b.call("IS NULL", source))
		case all:
			tests = append(tests, b.keep(expr.NewIn(source, []expr.Expr{stringLiteral(text)}, at)))
		default:
			texts = append(texts, stringLiteral(text))
		}
	}
	if len(texts) > 0 {
		tests = append(tests, b.keep(expr.NewIn(source, texts, at)))
	}
	if all {
		return b.and(tests), b.err
	}
	return b.or(tests), b.err
}

// withoutCasts returns what e casts.
func withoutCasts(e expr.Expr) expr.Expr {
	for {
		c, ok := e.(*expr.Cast)
		if !ok {
			return e
		}
		e = c.X
	}
}
