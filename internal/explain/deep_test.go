package explain

import (
	"fmt"
	"strings"
	"testing"
)

// What EXPLAIN shows of conditions in each other grows with the statement, not with the power of
// its depth.
func TestExplainOfDeepConditionsStaysSmall(t *testing.T) {
	deep := func(depth int, form func(string, int) string) string {
		cond := "cnt IN (1, 2, 3)"
		for i := range depth {
			cond = form(cond, i)
		}
		return cond
	}
	for name, form := range map[string]func(string, int) string{
		"lists": func(c string, _ int) string { return "(" + c + ") IN (TRUE, FALSE)" },
		"negated": func(c string, i int) string {
			return fmt.Sprintf("NOT ((%s) IN (FALSE) OR cnt NOT IN (4, 5, %d))", c, i)
		},
		"branches": func(c string, i int) string {
			return fmt.Sprintf("CASE WHEN %s THEN cnt IN (1, 2, %d) ELSE cnt = %d END", c, i, i)
		},
	} {
		for _, depth := range []int{10, 20} {
			if r := describe("EXPLAIN PLAN FOR SELECT COUNT(*) FROM t WHERE " + deep(depth, form)); len(r) > 20_000 || !strings.Contains(r, "queryType") {
				t.Errorf("%s, %d deep: %d bytes: %.200s", name, depth, len(r), r)
			}
		}
	}
}
