package syntax

import (
	"fmt"
	"strings"
	"testing"
)

// Texts that nest deep or run long, by how a level or link is written.
func nested(open, middle, closing string, n int) string {
	return strings.Repeat(open, n) + middle + strings.Repeat(closing, n)
}

var nests = map[string][3]string{
	"parentheses":     {"(", "1", ")"},
	"subqueries":      {"(SELECT ", "1", ")"},
	"from subqueries": {"(SELECT * FROM (SELECT 1) WHERE a IN ", "(1)", ")"},
	"functions":       {"f(", "1", ")"},
	"case":            {"CASE WHEN a THEN 1 ELSE ", "2", " END"},
	"not":             {"NOT ", "a", ""},
	"minus":           {"- ", "1", ""},
	"arrays":          {"ARRAY[", "1", "]"},
	"items":           {"a[", "1", "]"},
	"casts":           {"CAST(", "1", " AS BIGINT)"},
	"exists":          {"EXISTS (SELECT ", "1", ")"},
	"between":         {"a BETWEEN (", "1", ") AND 2"},
	"in lists":        {"a IN (", "1", ")"},
	"windows":         {"SUM(1) OVER (ORDER BY ", "1", ")"},
	"right":           {"1 - (1 * ", "1", ")"},
}

func TestNesting(t *testing.T) {
	for name, n := range nests {
		t.Run(name, func(t *testing.T) {
			s, err := Parse("SELECT " + nested(n[0], n[1], n[2], 500))
			if err != nil {
				t.Fatalf("500 levels: %.200s", err)
			}
			checkPrint(t, s)
			for _, depth := range []int{10_000, 200_000} {
				_, err := Parse("SELECT " + nested(n[0], n[1], n[2], depth))
				if err == nil || !strings.HasPrefix(err.Error(), "Statement is nested more than") {
					t.Errorf("%d levels: got %.200v, want a statement that is nested too deep", depth, err)
				}
			}
		})
	}
}

func TestNestingOutsideExpressions(t *testing.T) {
	for name, n := range map[string][3]string{
		"queries":       {"(", "SELECT 1", ")"},
		"tables":        {"SELECT * FROM (", "SELECT 1", ")"},
		"joins":         {"SELECT 1 FROM " + strings.Repeat("(", 500), "t", strings.Repeat(" JOIN u ON a)", 500)},
		"ctes":          {"WITH a AS (", "SELECT 1", ") SELECT 2"},
		"grouping sets": {"SELECT 1 FROM t GROUP BY " + strings.Repeat("GROUPING SETS (", 500), "a", strings.Repeat(")", 500)},
	} {
		t.Run(name, func(t *testing.T) {
			depth := 500
			if name == "joins" || name == "grouping sets" {
				depth = 1
			}
			s, err := Parse(nested(n[0], n[1], n[2], depth))
			if err != nil {
				t.Fatalf("%.200s", err)
			}
			checkPrint(t, s)
			if depth == 1 {
				return
			}
			if _, err := Parse(nested(n[0], n[1], n[2], 10_000)); err == nil || !strings.HasPrefix(err.Error(), "Statement is nested") {
				t.Errorf("10000 levels: got %.200v", err)
			}
		})
	}
}

func TestNestedTypes(t *testing.T) {
	_, err := Parse("SELECT CAST(a AS " + nested("ROW(a ", "INT", ")", 100_000) + ")")
	if err == nil || !strings.HasPrefix(err.Error(), "Statement is nested") {
		t.Errorf("got %.200v", err)
	}
}

// Chains of any length work where the tree stays flat.
func TestLongChains(t *testing.T) {
	repeat := func(first, more string, n int) string { return first + strings.Repeat(more, n-1) }
	for name, sql := range map[string]string{
		"and":            "SELECT 1 FROM t WHERE " + repeat("a = 1", " AND a = 1", 50_000),
		"or":             "SELECT 1 FROM t WHERE " + repeat("a + 1 = 1 AND b", " OR a + 1 = 1 AND b", 49_000),
		"concat":         "SELECT " + repeat("'a'", " || 'a'", 50_000),
		"in":             "SELECT 1 FROM t WHERE a IN (" + repeat("1", ", 1", 100_000) + ")",
		"union all":      repeat("SELECT 1", " UNION ALL SELECT 1", 50_000),
		"union":          repeat("SELECT 1", " UNION SELECT 1", 50_000),
		"values":         "VALUES " + repeat("(1, 'a')", ", (1, 'a')", 100_000),
		"select items":   "SELECT " + repeat("a AS b", ", a AS b", 50_000),
		"case":           "SELECT CASE " + strings.Repeat("WHEN a THEN 1 ", 50_000) + "END",
		"plus":           "SELECT " + repeat("1", " + 1", 5_000),
		"joins":          "SELECT 1 FROM " + repeat("t", " JOIN t ON a", 5_000),
		"mixed set ops":  repeat("SELECT 1", " UNION SELECT 1 UNION ALL SELECT 1", 2_000),
		"set statements": strings.Repeat("SET a = 1; ", 10_000) + "SELECT 1",
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(sql)
			if err != nil {
				t.Fatalf("%.200s", err)
			}
			if text := Print(s); len(text) == 0 {
				t.Error("prints as nothing")
			}
			nodes := 0
			Walk(s.Statement, func(Node) bool { nodes++; return true })
			if nodes < 2 {
				t.Errorf("%d nodes", nodes)
			}
		})
	}
}

// What can't be bound is refused where it is read.
func TestChainsTooLongForAnyStatement(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 'a'" + strings.Repeat(" || 'a'", 1_000_000):                    "(line [1], column [700005])",
		"SELECT TRUE" + strings.Repeat(" AND TRUE", 1_000_000):                 "(line [1], column [900004])",
		"SELECT CASE " + strings.Repeat("WHEN 1=2 THEN 3 ", 1_000_000) + "END": "(line [1], column [1600013])",
	} {
		_, err := Parse(sql)
		if want = "Statement has more than [100000] names, calls, arguments and queries " + want; err == nil || err.Error() != want {
			t.Errorf("%.20s...: %.200v, want %s", sql, err, want)
		}
	}
}

// Chains that nest in the tree, though not in the text, have a limit.
func TestTooHigh(t *testing.T) {
	for name, sql := range map[string]string{
		"plus":     "SELECT 1" + strings.Repeat(" + 1", 100_000),
		"is":       "SELECT 1" + strings.Repeat(" IS NULL", 100_000),
		"like":     "SELECT 1" + strings.Repeat(" LIKE 'a'", 100_000),
		"items":    "SELECT a" + strings.Repeat("[1]", 100_000),
		"fields":   "SELECT f()" + strings.Repeat(".a", 100_000),
		"joins":    "SELECT 1 FROM t" + strings.Repeat(", t", 100_000),
		"samples":  "SELECT 1 FROM t" + strings.Repeat(" TABLESAMPLE SYSTEM(1)", 100_000),
		"set ops":  "SELECT 1" + strings.Repeat(" UNION SELECT 1 EXCEPT SELECT 1", 50_000),
		"combined": "SELECT " + nested("(", "1", strings.Repeat(" - 1", 100)+")", 1_500),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse(sql); err == nil || !strings.HasPrefix(err.Error(), "Statement is nested") {
				t.Errorf("got %.200v", err)
			}
		})
	}
}

// The place of an error of depth is where the limit was reached.
func TestNestingErrorHasPlace(t *testing.T) {
	_, err := ParseExpr(nested("(", "1", ")", maxNesting+1))
	want := fmt.Sprintf("Statement is nested more than [%d] levels deep (line [1], column [%d])", maxNesting, maxNesting+1)
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
