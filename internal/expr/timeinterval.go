package expr

import (
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// TIME_IN_INTERVAL is bound as two comparisons, so that whoever prunes segments by comparisons
// needs to know nothing of it. The bounds are casts and shifts of constants, which Fold computes
// once the query's zone is known.
var timeInIntervalFunction = &Function{
	Name: "TIME_IN_INTERVAL", Min: 2, Max: 2, RefusesNull: true,
	Summary: "Returns whether a timestamp is in an ISO 8601 interval: its start belongs to it, its end does not.",
	Forms:   []string{"$F(<TIMESTAMP>, <LITERAL ISO8601 INTERVAL>)"},
	Bind: func(b *binding) (Expr, error) {
		b.instant(0)
		text := b.constantText(1, "interval")
		if b.err != nil {
			return nil, b.err
		}
		from, to, err := intervalBounds(text, b.at)
		if err != nil {
			return nil, err
		}
		after, err := NewCompare(">=", b.args[0], from, b.at)
		if err != nil {
			return nil, err
		}
		before, err := NewCompare("<", b.args[0], to, b.at)
		if err != nil {
			return nil, err
		}
		return NewAnd([]Expr{after, before}, b.at)
	},
}

func intervalBounds(text string, at fault.Span) (from, to Expr, err error) {
	first, second, found := strings.Cut(text, "/")
	instant := func(s string) Expr {
		if _, ok := chrono.ParseTimestamp(s, nil); !ok {
			found = false
		}
		return &Cast{X: textLiteral(s), T: Of(Timestamp)}
	}
	shifted := func(x Expr, period string, n int64) Expr {
		if _, err := chrono.ParsePeriod(period); err != nil {
			found = false
		}
		e, err := NewCall(timeShiftFunction, []Expr{x, textLiteral(period), &Literal{Value: n, T: Of(BigInt).NotNull()}}, at)
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
