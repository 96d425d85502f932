package rules

import (
	"slices"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/plan"
)

// Every rule of the lists has the name of one that runs, whose place it has.
func TestRulesHaveNames(t *testing.T) {
	for _, list := range [][]plan.Rule{Native(true), Native(false), Bindable(true), Bindable(false)} {
		for _, r := range list {
			if !slices.Contains(plan.RuleNames(), r.Name) {
				t.Errorf("package plan has no rule [%s]", r.Name)
			}
		}
	}
}

// What the rules that run move or drop, the gentle ones leave where it is.
func TestRulesKeepTheFormOfStatements(t *testing.T) {
	long := expr.Of(expr.BigInt)
	scan := func(name string) plan.Node {
		return &plan.Scan{DataSource: name, Out: []plan.Column{{Name: "a", Type: long}, {Name: "b", Type: long}}, Limit: -1}
	}
	column := func(i int) expr.Expr { return &expr.Column{Index: i, Name: "c", T: long} }
	three := &expr.Literal{Value: int64(3), T: long.NotNull()}
	is := func(i int) expr.Expr {
		return &expr.Call{Fn: catalog.MustLookup("="), Args: []expr.Expr{column(i), three}, T: expr.Of(expr.Boolean)}
	}
	join := &plan.Join{Kind: plan.Left, Left: scan("x"), Right: scan("y"), Keys: []plan.EquiKey{{Left: 0, Right: 0}}}
	union := &plan.Union{Ins: []plan.Node{scan("x"), scan("y")}, Out: scan("x").Columns()}
	for name, c := range map[string]struct {
		rule plan.Rule
		n    plan.Node
	}{
		"conditions over joins":    {keepConditions, &plan.Filter{Input: join, Cond: is(0)}},
		"conditions over unions":   {keepConditions, &plan.Filter{Input: union, Cond: is(0)}},
		"values joins ask for":     {keepConditions, &plan.Join{Kind: plan.Left, Left: scan("x"), Right: scan("y"), On: is(2)}},
		"conditions never met":     {folding(true), &plan.Filter{Input: scan("x"), Cond: plan.Bool(false)}},
		"columns of constant rows": {keepColumns, &plan.Aggregate{Input: plan.Empty(scan("x").Columns())}},
	} {
		before := plan.Format(c.n)
		if after := plan.Format(c.rule.Apply(c.n, expr.Context{})); after != before {
			t.Errorf("%s:\n%sbecame\n%s", name, before, after)
		}
		if running := plan.Format(plan.RuleNamed(c.rule.Name).Apply(c.n, expr.Context{})); running == before {
			t.Errorf("%s: the rule that runs leaves them, too:\n%s", name, before)
		}
	}
}
