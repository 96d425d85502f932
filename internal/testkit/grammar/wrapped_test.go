package grammar_test

import (
	"strings"
	"testing"
)

// TestWrapped runs large random queries, and says the same in other words around them.
func TestWrapped(t *testing.T) {
	rounds(t, "Wrapped", func(w *world, note func(string, string)) {
		for range 60 {
			sql, _ := w.maker.Query() // around it rows come in any order
			around := []string{sql, "SELECT * FROM (" + sql + ") AS r", "WITH r AS (" + sql + ") SELECT * FROM r",
				"SELECT * FROM (SELECT * FROM (" + sql + ") AS r) AS r"}
			if !strings.Contains(sql, ".m") && !strings.Contains(sql, " m") {
				// Whether a condition on a multi-value string is about its values or about the
				// row depends on what is around it.
				around = append(around, "SELECT * FROM ("+sql+") AS r UNION ALL SELECT * FROM ("+sql+") AS s WHERE FALSE",
					"SELECT * FROM ("+sql+") AS r WHERE r.c0 IS NULL UNION ALL SELECT * FROM ("+sql+") AS s WHERE s.c0 IS NOT NULL",
					"WITH r AS ("+sql+") SELECT * FROM r WHERE r.c0 IS NULL UNION ALL SELECT * FROM r WHERE r.c0 IS NOT NULL")
			}
			if d := w.try(t.Context(), around, false); d != "" {
				note(sql, d)
			}
		}
	})
}
