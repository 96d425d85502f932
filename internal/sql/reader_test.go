package sql

import (
	"context"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// orders is a catalog of one table.
type orders struct{}

func (orders) Table(_ context.Context, schema Schema, name string) (*Table, error) {
	if schema != SchemaData || name != "orders" {
		return nil, nil
	}
	text := expr.Of(expr.Varchar).OrNull(true)
	return &Table{Columns: []plan.Column{
		{Name: "__time", Type: expr.Of(expr.Timestamp).NotNull()}, {Name: "region", Type: text}, {Name: "card", Type: text},
		{Name: "n", Type: expr.Of(expr.BigInt).OrNull(true)},
	}}, nil
}

func (orders) Names(context.Context, Schema) []string { return []string{"orders"} }

// readBy prepares a statement for a reader with rules and returns its optimized plan.
func readBy(t *testing.T, text string, rules ...*auth.Rule) (string, error) {
	t.Helper()
	s, err := Prepare(t.Context(), Request{Text: text, Catalog: orders{}, Context: map[string]any{}, Reader: Reader{
		Rules:      func(context.Context, string) ([]*auth.Rule, error) { return rules, nil },
		Attributes: map[string][]string{"region": {"it's north"}}, Roles: []string{"clerk"},
	}})
	if err != nil {
		return "", err
	}
	return plan.Format(plan.Optimize(s.Plan, plan.Options{})), nil
}

func TestRowsThatRulesHideAreFilteredByTheScan(t *testing.T) {
	rule := &auth.Rule{Role: "clerk", Rows: "region = CURRENT_USER_ATTRIBUTE('region')", Columns: map[string]auth.Cover{
		"card": {Mask: "'*' || SUBSTRING(card, 3)"}, "n": {Hide: true},
	}}
	on := func(text string) []*auth.Rule { return []*auth.Rule{{Rows: text}} }
	for name, c := range map[string]struct {
		text  string
		rules []*auth.Rule
		// want and not are parts that the plan must have, and must not.
		want, not []string
	}{
		"the rule is the scan's own filter": {
			"SELECT COUNT(*) FROM orders", []*auth.Rule{rule}, []string{"filter =(region#0, 'it''s north')"}, nil,
		},
		"a condition that can't fail goes to it": {
			"SELECT COUNT(*) FROM orders WHERE region IN ('a', 'b')", on("n > 1"), []string{"and region#0 in"}, []string{"Filter "},
		},
		"a condition that may fail stays above": {
			"SELECT COUNT(*) FROM orders WHERE 1 / n > 1", on("n <> 0"), []string{"Filter >(/(1, n#0), 1)", "filter <>(n#0, 0)"}, nil,
		},
		"one over a join stays above": {
			"SELECT COUNT(*) FROM orders a JOIN orders b ON a.n = b.n WHERE 1 / a.n > 1", on("n <> 0"), []string{"Filter >(/(1, n#0), 1)"}, nil,
		},
		"conditions see the mask": {
			"SELECT COUNT(*) FROM orders WHERE card = '*1'", []*auth.Rule{rule}, []string{"SUBSTR"}, nil,
		},
		"groups are those of the mask": {
			"SELECT card, COUNT(*) FROM orders GROUP BY card", []*auth.Rule{rule}, []string{"SUBSTR"}, nil,
		},
		"without rules nothing stays above": {
			"SELECT COUNT(*) FROM orders WHERE 1 / n > 1", nil, []string{"filter >(/(1, n#0), 1)"}, nil,
		},
		"a rule that knows the time": {
			"SELECT COUNT(*) FROM orders", on("__time >= TIMESTAMP '2024-01-01'"), []string{"intervals=[2024-01-01"}, nil,
		},
		"a rule of NULL shows no row": {"SELECT n FROM orders", on("NULL"), nil, []string{"Scan"}},
		"roles": {
			"SELECT n FROM orders", on("ARRAY_CONTAINS(CURRENT_ROLES(), 'clerk') AND n = 1"), []string{"filter =(n#0, 1)"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readBy(t, c.text, c.rules...)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("the plan has no [%s]:\n%s", w, got)
				}
			}
			for _, w := range c.not {
				if strings.Contains(got, w) {
					t.Errorf("the plan has [%s]:\n%s", w, got)
				}
			}
		})
	}
}

func TestHiddenColumnsAreNotThere(t *testing.T) {
	rule := &auth.Rule{Role: "clerk", Columns: map[string]auth.Cover{"n": {Hide: true}}}
	if _, err := readBy(t, "SELECT n FROM orders", rule); err == nil || !strings.Contains(err.Error(), "not found in any table") {
		t.Errorf("the hidden column answers %v", err)
	}
	s, err := Prepare(t.Context(), Request{Text: "SELECT * FROM orders", Catalog: orders{}, Context: map[string]any{}, Reader: Reader{
		Rules: func(context.Context, string) ([]*auth.Rule, error) { return []*auth.Rule{rule}, nil },
	}})
	if err != nil || len(s.Columns) != 3 {
		t.Errorf("* has %d columns: %v", len(s.Columns), err)
	}
}

// A rule that can't be applied refuses the query and names the role; it never shows more.
func TestRulesThatCannotBeAppliedRefuse(t *testing.T) {
	all := map[string]auth.Cover{"__time": {Hide: true}, "region": {Hide: true}, "card": {Hide: true}, "n": {Hide: true}}
	for name, c := range map[string]struct {
		rule auth.Rule
		want string
	}{
		"a column that is gone":    {auth.Rule{Rows: "gone = 1"}, "rows: "},
		"no condition":             {auth.Rule{Rows: "n"}, "not chosen by a condition"},
		"no expression":            {auth.Rule{Rows: "n = 1) OR (1 = 1"}, "rows: "},
		"a query":                  {auth.Rule{Rows: "n IN (SELECT n FROM orders)"}, "can't contain a query"},
		"an aggregate":             {auth.Rule{Rows: "SUM(n) > 1"}, "rows: "},
		"a parameter":              {auth.Rule{Rows: "n = ?"}, "has no parameters"},
		"a mask of a column gone":  {auth.Rule{Columns: map[string]auth.Cover{"card": {Mask: "gone"}}}, "the mask of column [card]"},
		"a cover of a column gone": {auth.Rule{Columns: map[string]auth.Cover{"gone": {Hide: true}}}, "there is no column [gone]"},
		"an attribute without a name": {
			auth.Rule{Rows: "region = CURRENT_USER_ATTRIBUTE(card)"},
			"CURRENT_USER_ATTRIBUTE takes one argument, the name of an attribute as a text",
		},
		"roles of somebody":    {auth.Rule{Rows: "CURRENT_ROLES('x') IS NULL"}, "CURRENT_ROLES takes no arguments"},
		"every column is gone": {auth.Rule{Columns: all}, "hide every column"},
	} {
		t.Run(name, func(t *testing.T) {
			c.rule.Role = "clerk"
			_, err := readBy(t, "SELECT COUNT(*) FROM orders", &c.rule)
			f := fault.Find(err)
			if f == nil || f.Category != fault.CategoryForbidden {
				t.Fatal(err)
			}
			if !strings.Contains(f.Message, c.want) {
				t.Error(f.Message)
			}
		})
	}
}

// A task that no statement is submitted for reads whole datasources. What running a query takes
// tells of rows that are not shown.
func TestWhatTellsOfAllRowsIsRefused(t *testing.T) {
	one := func(context.Context, string) ([]*auth.Rule, error) { return []*auth.Rule{{Rows: "n = 1"}}, nil }
	_, err := Prepare(t.Context(), Request{
		Text: "SELECT COUNT(*) FROM orders", Catalog: orders{}, Context: map[string]any{}, Engine: MSQ, Reader: Reader{Rules: one},
	})
	if err == nil || !strings.Contains(err.Error(), "only tasks that are submitted as SQL statements read by rules") {
		t.Error(err)
	}
	_, err = readBy(t, "EXPLAIN ANALYZE SELECT COUNT(*) FROM orders", &auth.Rule{Rows: "n = 1"})
	if err == nil || !strings.Contains(err.Error(), "EXPLAIN ANALYZE describes all its rows") {
		t.Error(err)
	}
}
