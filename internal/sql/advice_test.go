package sql

import (
	"errors"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// An error that can tell what was meant tells it under "suggestion", with the place of what is
// wrong.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		text, want string
		column     string
	}{
		{`SELECT 1 FROM c_types WHERE s = "DE"`, "single quotes, if a text is meant: 'DE'", "33"},
		{`SELECT 1 FROM c_types WHERE s = c_types."DE"`, "", "41"},
		{`SELECT 1 FROM c_types WHERE __time > '2026-13-01'`, "a time of the form '2026-01-31 13:05:00' or '2026-01-31'", "29"},
		{`SELECT DATE 'x' FROM c_types`, "", "8"},
		{`SELECT CAST('x' AS DATE) FROM c_types`, "a time of the form '2026-01-31'", "8"},
		{`SELECT TIME_FLOOR(__time, '1 day') FROM c_types`, "an ISO 8601 period: 'P1D' is a day, 'PT5M' five minutes", "8"},
		{`SELECT s, COUNT(*) FROM c_types`, "s among the keys of GROUP BY, or ANY_VALUE(s), the value of any of a group's rows", "8"},
		{`SELECT DATE_TRUNC('moth', __time) FROM c_types`, "'month'", "8"},
		{`SELECT DATE_TRUNC('seconds', __time) FROM c_types`, "'second'", "8"},
		{`SELECT DATE_TRUNC('fortnight', __time) FROM c_types`, "", "8"},
		{`SELECT __time - 1 FROM c_types`, "an interval: INTERVAL '1' DAY", "8"},
		{`SELECT __time - __time FROM c_types`, "TIMESTAMPDIFF(SECOND, earlier, later), or another unit: MINUTE, HOUR, DAY, MONTH, YEAR", "8"},
		{`SELECT DATE '2026-01-02' - __time FROM c_types`,
			"TIMESTAMPDIFF(SECOND, earlier, later), or another unit: MINUTE, HOUR, DAY, MONTH, YEAR", "8"},
		{`SELECT __time + __time FROM c_types`, "", "8"},
		{`SELECT 1 FROM c_types WHERE ARRAY[s] = 'a'`, "ARRAY_CONTAINS(array, value)", "29"},
		{`SELECT 1 FROM c_types WHERE 'a' <> ARRAY[s]`, "NOT ARRAY_CONTAINS(array, value)", "29"},
		{`SELECT 1 FROM c_types WHERE ARRAY[s] LIKE 'a'`, "UNNEST(array) AS u(x) in FROM, and x LIKE pattern", "29"},
		{`SELECT 1 FROM c_types WHERE ARRAY[s] IN ('a', 'b')`, "ARRAY_OVERLAP(array, ARRAY[values])", "29"},
		{`SELECT COUNTT(*) FROM c_types`, "COUNT", "15"},
		{`SELECT ROUND() FROM c_types`, "ROUND(<NUMERIC>, [<INTEGER>])", "8"},
		{`SELECT nothing(*) FROM c_types`, "", "16"},
		{`SELECT __tme FROM c_types`, "__time", "8"},
		{`SELECT 1 FROM c_dim ASOF JOIN c_types ON c_dim.n > c_types.i`, syntax.InsteadOfAsof, "42"},
		{`SELECT 1 FROM c_dim WHERE k = ANY (ARRAY['a', 'b'])`, "ARRAY_CONTAINS(ARRAY['a', 'b'], k)", "27"},
		{`SELECT 1 FROM c_types WHERE 'a' <> ALL (MV_TO_ARRAY(mv))`, "NOT ARRAY_CONTAINS(MV_TO_ARRAY(mv), 'a')", "29"},
		{`SELECT 1 FROM c_types WHERE 'a' < ANY (MV_TO_ARRAY(mv))`, "", "29"},
		{`SELECT 1 FROM c_types, UNNEST(mv) AS u(x)`, "UNNEST(MV_TO_ARRAY(mv)), the values of a multi-value string", "24"},
		{`SELECT 1 FROM c_types, UNNEST(id) AS u(x)`, "", "24"},
		{`SELECT * EXCLUDE (idd) FROM c_types`, "id", "19"},
	} {
		_, err := prepare(c.text)
		var refused *fault.Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := refused.Context["suggestion"]; got != c.want {
			t.Errorf("%s: advice [%s], want [%s] (%s)", c.text, got, c.want, refused.Message)
		}
		if refused.Context["column"] != c.column {
			t.Errorf("%s: column [%s], want [%s]", c.text, refused.Context["column"], c.column)
		}
	}
}
