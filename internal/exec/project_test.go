package exec

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Long texts are made of fewer rows at once than a batch has; a text that has no room alone is refused.
func TestLongTextsAreProjectedInParts(t *testing.T) {
	var rows [][]any
	for i := range 50 {
		size := 10
		if i > 15 && i < 30 {
			size = 90
		}
		rows = append(rows, []any{strings.Repeat("x", size) + string(rune('a'+i%26)), int64(i)})
	}
	text := column(0, str)
	node := &plan.Project{
		Input: inline([]vector.Type{str, long}, rows...), Names: []string{"r", "n", "l"},
		Exprs: []expr.Expr{
			&expr.Call{Fn: expr.MustLookup("REVERSE"), Args: []expr.Expr{text}, T: text.T},
			column(1, long),
			&expr.Call{Fn: expr.MustLookup("LENGTH"), Args: []expr.Expr{&expr.Call{Fn: expr.MustLookup("REVERSE"), Args: []expr.Expr{text}, T: text.T}}, T: expr.FromRuntime(long, false)},
		},
	}
	var want [][]any
	for _, r := range rows {
		s := r[0].(string)
		want = append(want, []any{s[len(s)-1:] + s[:len(s)-1], r[1], int64(len(s))})
	}
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			env := c.env(t)
			env.Expr = &expr.Context{TextRoom: 100}
			sameOrder(t, want, mustRows(t, node, env))
			env.Expr = &expr.Context{TextRoom: 90}
			if _, err := rowsOf(t, node, env); err == nil || !strings.Contains(err.Error(), "makes strings of more than [90] bytes") {
				t.Errorf("a row without room: %v", err)
			}
		})
	}
}
