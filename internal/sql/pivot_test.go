package sql

import (
	"slices"
	"testing"
)

// Columns that PIVOT makes of values without a name are called as the values are written; the names
// that UNPIVOT makes of columns are VARCHAR.
func TestColumnsOfPivot(t *testing.T) {
	for text, want := range map[string][]string{
		"SELECT * FROM (SELECT s2, l FROM c_types) PIVOT (SUM(l) FOR s2 IN ('red', 'bl''ue', 'x' AS y))":            {"'red' BIGINT", "'bl''ue' BIGINT", "y BIGINT"},
		"SELECT * FROM (SELECT s2, l FROM c_types) PIVOT (SUM(l) AS s, COUNT(*) FOR s2 IN ('red'))":                 {"'red'_s BIGINT", "'red' BIGINT"},
		"SELECT * FROM (SELECT s2, id, l FROM c_types) PIVOT (SUM(l) AS s FOR (s2, id) IN (('red', 1), (NULL, 2)))": {"'red'_1_s BIGINT", "NULL_2_s BIGINT"},
		"SELECT n, v FROM (SELECT l, id FROM c_types) UNPIVOT (v FOR n IN (l, id))":                                 {"n VARCHAR", "v BIGINT"},
		"SELECT n, v FROM (SELECT l, id FROM c_types) UNPIVOT (v FOR n IN (l AS 'a', id AS 'b'))":                   {"n CHAR", "v BIGINT"},
	} {
		s, err := prepare(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, c := range s.Columns {
			got = append(got, c.Name+" "+c.Type.Base.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: columns %q, want %q", text, got, want)
		}
	}
}
