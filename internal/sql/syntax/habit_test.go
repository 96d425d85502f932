package syntax

import (
	"errors"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// What people bring along from other dialects is refused with what to write instead; what only
// looks like it gets no advice.
func TestHabits(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT a FROM t WHERE a == 1":            "=",
		"SELECT a, FROM t":                        "the list without the comma at its end",
		"SELECT TOP 5 a FROM t":                   "LIMIT 5 at the end of the query",
		"SELECT now() - INTERVAL 2 DAYS":          "INTERVAL '2' DAY",
		"SELECT now() - INTERVAL 2":               "INTERVAL '2' DAY",
		"SELECT a FROM t LIMIT '5'":               "LIMIT 5",
		"SELECT a FROM t OFFSET '5' ROWS":         "OFFSET 5",
		"SELECT a FROM t LIMIT 'x'":               "",
		"SELECT `a` FROM t":                       `names in double quotes: "name"`,
		"SELECT a FROM t WHERE a && b":            "AND; for bits BITWISE_AND(x, y)",
		"SELECT a FROM t WHERE s = “x”":           `straight quotes: "name", 'text'`,
		"SELECT a FROM t WHERE s ~ 'x'":           "REGEXP_LIKE(text, pattern)",
		"SELECT a FROM t WHERE !a":                "NOT, or <> for not equal",
		"SELECT a FROM t # a remark":              "-- before a comment",
		"SELECT a FROM t WHERE a = $1":            "",
		"SELECT bottom 5 FROM t":                  "a comma before 5",
		"SELEC a FROM t":                          "SELECT",
		"SELECT a FORM t":                         "FROM",
		"SELECT a FROM t WEHRE x = 1":             "WHERE",
		"SELECT a FROM t GRUOP BY a":              "GROUP",
		"SELECT a FROM t b LIMTI 5":               "LIMIT",
		"SELECT a FROM t ORDER a":                 "ORDER BY",
		"SELECT f('x' a) FROM t":                  "a comma before a",
		"SELECT a b c FROM t":                     "a comma before c",
		"SELECT a FROM t LIMIT -1":                "a whole number that is not negative; without LIMIT all rows are meant",
		"SELECT a FROM t WHERE s = 'it":           "a quote at the end of what begins with 'it",
		"SELECT \"a FROM t":                       `a quote at the end of what begins with "a`,
		"SELECT a FROM t LIMIT 3 ORDER BY a":      "the clauses in the order WHERE, GROUP BY, HAVING, ORDER BY, LIMIT",
		"SELECT a FROM t GROUP BY a WHERE a = 1":  "the clauses in the order WHERE, GROUP BY, HAVING, ORDER BY, LIMIT",
		"SELECT (SELECT 1 LIMIT 1) FROM t FROM u": "",
		"SELECT a FROM t LIMIT 1 UNION ALL SELECT b FROM u WHERE WHERE b = 1": "",
		"SELECT * FROM t ASOF JOIN u MATCH_CONDITION t.n > u.n":               InsteadOfAsof,
		"SELECT * FROM t x ASOF LEFT JOIN u ON x.n > u.n":                     InsteadOfAsof,
		"SELECT asof FROM t x y":                                              "a comma before y",
		"WITH RECURSIVE q AS (SELECT 1) SELECT * FROM q":                      insteadOfRecursive,
		"SELECT DISTINCT ON (a) a, b FROM t":                                  insteadOfDistinctOn,
		"SELECT UNNEST(a) FROM t":                                             insteadOfUnnest,
		"SELECT * REPLACE (a + 1 AS a) FROM t":                                insteadOfReplace,
		"SELECT t.* EXCEPT a FROM t":                                          "* EXCLUDE (a)",
		"SELECT a FROM":                                                       "",
		"FROM t":                                                              insteadOfFromFirst,
		"FROM t SELECT a":                                                     insteadOfFromFirst,
		"SUMMARIZE t":                                                         insteadOfStats,
		"VACUUM":                                                              insteadOfUpkeep,
		"optimize table t":                                                    insteadOfUpkeep,
		"COPY t FROM 'x.csv'":                                                 insteadOfFile,
		"COPY t TO 'x.csv'":                                                   insteadOfCopyOut,
		"BEGIN":                                                               insteadOfSession,
		"DESC t":                                                              insteadOfColumns,
		"ALTER TABLE t ADD COLUMN a BIGINT":                                   insteadOf["ALTER"],
		"CREATE VIEW v AS SELECT 1":                                           insteadOfView,
		"CREATE INDEX i ON t (a)":                                             insteadOfIndex,
		"USE t":                                                               insteadOf["USE"],
		"GRANT SELECT ON t TO u":                                              insteadOfRights,
		"SELECT a, COUNT(*) FROM t GROUP BY ALL":                              insteadOfByAll,
		"SELECT a, COUNT(*) FROM t GROUP BY ALL HAVING COUNT(*) > 1": insteadOfByAll,
		"SELECT a FROM t ORDER BY ALL":                               insteadOfByAll,
		"SELECT now() - INTERVAL '1 day'":                            "INTERVAL '1' DAY",
		"SELECT now() - INTERVAL '7 days' FROM t":                    "INTERVAL '7' DAY",
		"SELECT now() - INTERVAL '2h' FROM t":                        "INTERVAL '2' HOUR",
		"SELECT now() - INTERVAL '3' MONTHS FROM t":                  "MONTH",
		"SELECT now() - INTERVAL 'x' FROM t":                         "INTERVAL '1' DAY: the number in quotes, the unit behind them",
		"SELECT * FROM range(10)":                                    insteadOfSeries,
		"SELECT * FROM t, generate_series(1, 10)":                    insteadOfSeries,
		"SELECT * FROM read_csv('x.csv')":                            insteadOfFile,
		"SELECT * FROM t JOIN file('x.csv') ON TRUE":                 insteadOfFile,
		`SELECT \d`: charHabits['\\'],
		"SELECT @x": charHabits['@'],
	} {
		_, err := Parse(text)
		var refused *fault.Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := refused.Context["suggestion"]; got != want {
			t.Errorf("%s: advice [%s], want [%s] (%s)", text, got, want, refused.Message)
		}
	}
}
