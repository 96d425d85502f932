package exec

import (
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Long texts are made of fewer rows at once than a batch has; a text that has no room alone is
// refused.
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
			&expr.Call{Fn: catalog.MustLookup("REVERSE"), Args: []expr.Expr{text}, T: text.T},
			column(1, long),
			&expr.Call{Fn: catalog.MustLookup("LENGTH"), Args: []expr.Expr{&expr.Call{Fn: catalog.MustLookup("REVERSE"), Args: []expr.Expr{text}, T: text.T}}, T: expr.FromRuntime(long, false)},
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

// What is above a projection gets few long texts at a time, so that it looks soon whether the query
// goes on.
func TestLongTextsAreGivenInParts(t *testing.T) {
	const size = uncounted / 4
	var rows [][]any
	for i := range 12 {
		rows = append(rows, []any{string(rune('a' + i))})
	}
	text := column(0, str)
	node := &plan.Project{
		Input: inline([]vector.Type{str}, rows...), Names: []string{"r"},
		Exprs: []expr.Expr{&expr.Call{Fn: catalog.MustLookup("REPEAT"), Args: []expr.Expr{text, &expr.Literal{Value: int64(size), T: expr.Of(expr.BigInt).NotNull()}}, T: text.T}},
	}
	for _, c := range configs {
		t.Run(c.name, func(t *testing.T) {
			op, err := Build(t.Context(), node, c.env(t))
			if err != nil {
				t.Fatal(err)
			}
			defer op.Close()
			var got strings.Builder
			if err := Drain(t.Context(), op, func(b *vector.Batch) error {
				if b.Rows() > 4 {
					t.Errorf("a batch of %d rows", b.Rows())
				}
				for i := range b.Rows() {
					if b.Sel != nil {
						i = int(b.Sel[i])
					}
					got.WriteString(b.Cols[0].StringAt(i)[:1])
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if got.String() != "abcdefghijkl" {
				t.Error(got.String())
			}
		})
	}
}
