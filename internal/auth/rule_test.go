package auth

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesTogetherShowTheUnion(t *testing.T) {
	mask := func(text string) map[string]Cover { return map[string]Cover{"card": {Mask: text}} }
	hidden := map[string]Cover{"card": {Hide: true}}
	rows := func(role, text string, columns map[string]Cover) *Rule {
		return &Rule{Role: role, Rows: text, Columns: columns}
	}
	a, b := rows("a", "x = 1", hidden), rows("b", "x = 2", mask("'*'"))
	for name, c := range map[string]struct {
		rules []*Rule
		want  *Shown
	}{
		"no rules show all":                     {nil, nil},
		"a permission without a rule shows all": {[]*Rule{a, nil}, nil},
		"a rule that says nothing shows all":    {[]*Rule{{Role: "a"}}, nil},
		"rows are united, a mask is before none": {
			[]*Rule{b, a}, &Shown{Rows: []*Rule{a, b}, Columns: map[string]ColumnRule{"card": {Cover{Mask: "'*'"}, "b"}}},
		},
		"one rule on columns only shows all rows": {
			[]*Rule{a, rows("c", "", hidden)}, &Shown{Columns: map[string]ColumnRule{"card": {Cover{Hide: true}, "a"}}},
		},
		"a column that one shows is shown": {[]*Rule{a, rows("c", "x = 3", nil)}, &Shown{
			Rows: []*Rule{a, rows("c", "x = 3", nil)}, Columns: map[string]ColumnRule{},
		}},
		"a cover that covers nothing shows the column": {[]*Rule{rows("a", "x = 1", mask("")), a}, &Shown{
			Rows: []*Rule{rows("a", "x = 1", mask("")), a}, Columns: map[string]ColumnRule{},
		}},
		"of two masks the first role's": {[]*Rule{rows("z", "", mask("1")), rows("y", "", mask("2"))}, &Shown{
			Columns: map[string]ColumnRule{"card": {Cover{Mask: "2"}, "y"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Together(c.rules)); d != "" {
				t.Error(d)
			}
		})
	}
}
