package sql

import (
	"math"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

func (x exprs) cast(e *syntax.Cast) (expr.Expr, error) {
	t, err := typeOf(e.Type)
	if err != nil {
		return nil, err
	}
	switch operand := e.X.(type) {
	case *syntax.Call:
		if operand.Name == "JSON_VALUE" && (operand.JSON == nil || operand.JSON.Returning == nil) && t.Base != expr.Array {
			// An enclosing CAST is what JSON_VALUE returns.
			inner, err := x.jsonValue(operand, t)
			if err != nil {
				return nil, err
			}
			return expr.NewCast(inner, t, e.At)
		}
	case *syntax.Interval:
		if n, ok := intervalNumber(operand); ok && (t.IsInteger() || t.Base == expr.Decimal) {
			return expr.NewCast(n, t, e.At)
		}
	}
	inner, err := x.bind(e.X)
	if err != nil {
		return nil, err
	}
	if inner.Type().Base == expr.Array && t.Base != expr.Array {
		return nil, fault.InvalidSQL(e.At, "Cast function cannot convert value of type %s to type %s", expr.TypeText(inner), t)
	}
	out, err := expr.NewCast(inner, t, e.At)
	if err == nil {
		err = x.checkTimes(out, e.At)
	}
	if err != nil || t.Base != expr.Timestamp || len(e.Type.Args) == 0 {
		return out, err
	}
	return x.atPrecision(out, e.Type.Args[0])
}

// intervalNumber returns the number of units in an interval of one unit, which is what SQL casts it
// to.
func intervalNumber(e *syntax.Interval) (expr.Expr, bool) {
	text := strings.TrimSpace(e.Text)
	if e.To != "" || !one.MatchString(text) {
		return nil, false
	}
	n, err := numberLiteral(&syntax.Number{Pos: e.Pos, Text: strings.TrimPrefix(text, "+"), Kind: syntax.Integer}, false)
	if err != nil || !e.Negative {
		return &n, err == nil
	}
	negative, err := expr.NewCall(catalog.MustLookup("-"), []expr.Expr{&n}, e.At)
	return negative, err == nil
}

// atPrecision cuts a constant TIMESTAMP to the given number of digits of its seconds. Columns keep
// their milliseconds whatever precision is asked for, as in Druid: it folds constants by the rules
// of the type and knows no precision while running. See quirk Q003.
func (x exprs) atPrecision(e expr.Expr, digits int) (expr.Expr, error) {
	if digits >= 3 || !expr.IsConstant(e) {
		return e, nil
	}
	folded, err := expr.Fold(e, &x.b.env)
	if err != nil {
		return nil, err
	}
	l, ok := folded.(*expr.Literal)
	if !ok {
		return e, nil
	}
	ms, ok := l.Value.(int64)
	if !ok {
		return l, nil
	}
	unit := int64(math.Pow10(3 - max(0, digits)))
	ms -= (ms%unit + unit) % unit
	return &expr.Literal{Value: ms, T: l.T}, nil
}

// checkTimes refuses a constant text that is cast to a time and is none: in rows that would be
// NULL, but whoever wrote it meant a time. It looks at e itself and, for what binding a comparison
// or BETWEEN made, at its operands; at is where the text of e stands.
func (x exprs) checkTimes(e expr.Expr, at fault.Span) error {
	var operands []expr.Expr
	switch e := e.(type) {
	case *expr.And:
		operands = e.Terms
	case *expr.Or:
		operands = e.Terms
	case *expr.Not:
		return x.checkTimes(e.X, at)
	case *expr.Any:
		return x.checkTimes(e.Body, at)
	case *expr.Call:
		for _, a := range e.Args {
			if c, ok := a.(*expr.Cast); ok {
				if err := x.checkTimes(c, at); err != nil {
					return err
				}
			}
		}
	case *expr.Cast:
		if !e.T.IsTime() || !e.X.Type().IsCharacter() || e.X.Type().Multi || !expr.IsConstant(e.X) {
			return nil
		}
		text, err := expr.Fold(e.X, &x.b.env)
		if err != nil {
			return nil // an error of its own, which the statement meets if it gets there
		}
		l, ok := text.(*expr.Literal)
		if !ok || l.Value == nil {
			return nil
		}
		if _, err := expr.Fold(&expr.Cast{X: l, T: e.T}, &x.b.env); err != nil {
			suffix, instead := "", "'2026-01-31'"
			if e.T.Base == expr.Timestamp {
				suffix, instead = "(3)", "'2026-01-31 13:05:00' or '2026-01-31'"
			}
			return fault.InvalidSQL(at, "Illegal %s constant [CAST('%s'):%s%s NOT NULL]", e.T.Base, l.Value, e.T.Base, suffix).
				With("suggestion", "a time of the form "+instead)
		}
	}
	for _, operand := range operands {
		if err := x.checkTimes(operand, at); err != nil {
			return err
		}
	}
	return nil
}
