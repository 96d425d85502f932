package exec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
)

func TestDomainsOfFilters(t *testing.T) {
	text := expr.Of(expr.Varchar)
	scan := &plan.Scan{Out: []plan.Column{{Name: "a", Type: text}}}
	column := &expr.Column{Name: "a", T: text}
	literal := func(v any) expr.Expr { return &expr.Literal{Value: v, T: text.NotNull()} }
	compare := func(op string, x, y expr.Expr) expr.Expr {
		e, err := expr.NewCompare(op, x, y, fault.Span{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	and := func(terms ...expr.Expr) expr.Expr { return &expr.And{Terms: terms} }
	in := &expr.In{X: column, Values: []any{"x", "y"}}
	x := timeline.Point("x")
	for _, tt := range []struct {
		name   string
		filter expr.Expr
		want   timeline.Domain
	}{
		{"none", nil, timeline.Domain{}},
		{"equal", compare("=", column, literal("x")), timeline.Domain{"a": x}},
		{"a list", in, timeline.Domain{"a": {Ranges: append(timeline.Point("x").Ranges, timeline.Point("y").Ranges...)}}},
		{"the shorter of two lists", and(in, compare("=", column, literal("x"))), timeline.Domain{"a": x}},
		{"equal before a bound", and(compare("<", column, literal("z")), compare("=", column, literal("x"))), timeline.Domain{"a": x}},
		{"bounds", and(compare(">=", column, literal("b")), compare(">", column, literal("b")), compare("<=", column, literal("m"))),
			timeline.Domain{"a": {Ranges: []timeline.ValueRange{{Low: new("b"), LowOpen: true, High: new("m")}}}}},
		{"one of two", &expr.Or{Terms: []expr.Expr{compare("=", column, literal("x")), compare("=", column, literal("y"))}}, timeline.Domain{}},
	} {
		scan.Filter = tt.filter
		if diff := cmp.Diff(tt.want, DomainOf(scan)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
