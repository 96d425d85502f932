package api

import (
	"fmt"
	"strings"
	"testing"
)

// Statements that go through more steps than there are seconds, if they are taken by the letter:
// they end, and soon.
func TestStatementsThatWouldTakeForEver(t *testing.T) {
	s := watched(t) // 300 rows
	tables := make([]string, 6)
	for i := range tables {
		tables[i] = fmt.Sprintf("w t%d", i)
	}
	tower := "SELECT COUNT(*) AS c0 FROM w"
	for i := range 8 {
		tower = fmt.Sprintf("SELECT MAX(x.c%d + y.c%d) AS c%d FROM (%s) AS x, (%s) AS y", i, i, i+1, tower, tower)
	}
	// Neither the list of tables nor what joins them is in an order that could be followed.
	var many, equal, dependent, laterals []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("w t%d", i*7%40))
		if i > 0 {
			equal = append(equal, fmt.Sprintf("t%d.n = t%d.n", i, (i-1)/2))
		}
		dependent = append(dependent, fmt.Sprintf("(SELECT COUNT(*) FROM w b WHERE b.n < a.n - %d)", i))
		if i < 12 {
			laterals = append(laterals, fmt.Sprintf("CROSS JOIN LATERAL (SELECT MAX(b.n) AS m FROM w b WHERE b.n <= a.n + %d) l%d", i, i))
		}
	}
	doubled := "SELECT n AS x FROM w"
	for range 40 {
		doubled = "SELECT x + x AS x FROM (" + doubled + ") WHERE x >= 0"
	}
	for name, c := range map[string]struct{ sql, want string }{
		"forty tables":           {"SELECT COUNT(*) FROM " + strings.Join(many, ", ") + " WHERE " + strings.Join(equal, " AND "), "300"},
		"forty dependent values": {"SELECT MAX(s) FROM (SELECT " + strings.Join(dependent, " + ") + " AS s FROM w a)", "11180"},
		"dependent tables":       {"SELECT COUNT(*) FROM w a " + strings.Join(laterals, " ") + " WHERE l11.m >= l0.m", "300"},
		"doubled forty times":    {"SELECT COUNT(*) FROM (" + doubled + ")", "300"},
		"six tables without order": {"SELECT COUNT(*) FROM " + strings.Join(tables, ", ") +
			" WHERE t0.n = t3.n AND t1.n = t4.n AND t2.n = t5.n AND t3.n = t4.n AND t4.n = t5.n", "300"},
		"six tables of few keys": {"SELECT COUNT(DISTINCT t0.k) FROM " + strings.Join(tables, ", ") +
			" WHERE t4.n = t5.n AND t3.n = t4.n AND t2.k = t3.k AND t1.n = t2.n AND t0.n = t1.n", "7"},
		"buckets of a millisecond": {"SELECT COUNT(*) FROM (SELECT TIME_FLOOR(__time, 'PT0.001S') AS t, SUM(n) FROM w GROUP BY 1) AS q", "3"},
		"all but NULL":             {"SELECT COUNT(*) FROM w WHERE n > 3 OR n <= 3", "300"},
		"a tower":                  {tower, "76800"},
		"outer rows one by one":    {"SELECT COUNT(*) FROM w a WHERE (SELECT COUNT(*) FROM w b WHERE b.n < a.n AND b.k <> (SELECT MAX(c.k) FROM w c WHERE c.n >= b.n)) > 1", "298"},
		"all pairs of all pairs":   {"SELECT COUNT(*) FROM w a JOIN w b ON a.n < b.n WHERE NOT EXISTS (SELECT 1 FROM w c WHERE c.n > a.n AND c.n < b.n)", "299"},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := s.Query(t.Context(), c.sql)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(rows); got != "[["+c.want+"]]" {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
