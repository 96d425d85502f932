package timefn

import (
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// TIME_IN_INTERVAL is bound as two comparisons, so that whoever prunes segments by comparisons
// needs to know nothing of it. The bounds are casts and shifts of constants, which Fold computes
// once the query's zone is known.
var timeInIntervalFunction = &expr.Function{
	Name: "TIME_IN_INTERVAL", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Returns whether a timestamp is in an ISO 8601 interval. The start is part of the interval, the end is not.",
	Forms:   []string{"$F(<TIMESTAMP>, <LITERAL ISO8601 INTERVAL>)"},
	Bind: func(b *expr.Binding) (expr.Expr, error) {
		b.Instant(0)
		text := b.ConstantText(1, "interval")
		if b.Err != nil {
			return nil, b.Err
		}
		from, to, err := intervalBounds(text, b.At)
		if err != nil {
			return nil, err
		}
		after, err := expr.NewCompare(">=", b.Args[0], from, b.At)
		if err != nil {
			return nil, err
		}
		before, err := expr.NewCompare("<", b.Args[0], to, b.At)
		if err != nil {
			return nil, err
		}
		return expr.NewAnd([]expr.Expr{after, before}, b.At)
	},
}

func intervalBounds(text string, at fault.Span) (from, to expr.Expr, err error) {
	first, second, found := strings.Cut(text, "/")
	instant := func(s string) expr.Expr {
		if _, ok := chrono.ParseTimestamp(s, nil); !ok {
			found = false
		}
		return &expr.Cast{X: expr.TextLiteral(s), T: expr.Of(expr.Timestamp)}
	}
	shifted := func(x expr.Expr, period string, n int64) expr.Expr {
		if _, err := chrono.ParsePeriod(period); err != nil {
			found = false
		}
		e, err := expr.NewCall(timeShiftFunction, []expr.Expr{x, expr.TextLiteral(period),
			&expr.Literal{Value: n, T: expr.Of(expr.BigInt).NotNull()}}, at)
		if err != nil {
			found = false
		}
		return e
	}
	switch {
	case strings.HasPrefix(first, "P"):
		to = instant(second)
		from = shifted(to, first, -1)
	case strings.HasPrefix(second, "P"):
		from = instant(first)
		to = shifted(from, second, 1)
	default:
		from, to = instant(first), instant(second)
	}
	if !found {
		return nil, nil, fault.InvalidSQL(at,
			"Function [TIME_IN_INTERVAL] needs an interval such as [2000-01-01/2000-02-01] or [2000-01-01/P1M], not [%s]", text)
	}
	return from, to, nil
}
