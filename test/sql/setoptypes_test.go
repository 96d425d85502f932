package sql

import (
	"slices"
	"strings"
	"testing"
)

// setOperations are what is made of the rows of two sides, each of which is a list of values as
// texts: set operations over values that have the type of the two together.
var setOperations = []struct {
	op   string
	rows func(x, y []string) []string
}{
	{"UNION ALL", func(x, y []string) []string { return append(slices.Clone(x), y...) }},
	{"UNION", func(x, y []string) []string { return distinctTexts(append(slices.Clone(x), y...)) }},
	{"INTERSECT", func(x, y []string) []string {
		return slices.DeleteFunc(distinctTexts(x), func(s string) bool { return !slices.Contains(y, s) })
	}},
	{"EXCEPT", func(x, y []string) []string {
		return slices.DeleteFunc(distinctTexts(x), func(s string) bool { return slices.Contains(y, s) })
	}},
	{"INTERSECT ALL", func(x, y []string) (out []string) {
		out, _ = matchedTexts(x, y)
		return out
	}},
	{"EXCEPT ALL", func(x, y []string) (out []string) {
		_, out = matchedTexts(x, y)
		return out
	}},
}

func distinctTexts(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// matchedTexts returns which of x have a partner in y, each of which is the partner of one, and
// which have none.
func matchedTexts(x, y []string) (matched, left []string) {
	y = slices.Clone(y)
	for _, s := range x {
		if i := slices.Index(y, s); i >= 0 {
			y = slices.Delete(y, i, i+1)
			matched = append(matched, s)
		} else {
			left = append(left, s)
		}
	}
	return matched, left
}

// Set operations over two types compare values of the type that UNION ALL gives both, whatever
// stands around them.
func TestSetOperationsCompareValuesOfOneType(t *testing.T) {
	a := typedAnswers(t)
	cells := 0
	for k, x := range typedValues {
		t.Run(x.name, func(t *testing.T) {
			a.t = t
			for l, y := range typedValues {
				if strings.HasSuffix(x.x, ".mv") || strings.HasSuffix(y.x, ".mv") {
					continue // UNION unnests the values, as groups do, and UNION ALL does not
				}
				if testing.Short() && (k+l)%4 != 0 {
					continue
				}
				cells += compareSets(a, strings.ReplaceAll(x.x, "$.", "a."), strings.ReplaceAll(y.x, "$.", "b."))
			}
		})
	}
	if cells < 500 && !testing.Short() {
		t.Errorf("only %d set operations were compared", cells)
	}
}

// compareSets returns how many set operations it compared.
func compareSets(a answers, x, y string) (cells int) {
	a.t.Helper()
	sides := func(first, op, second string) string {
		return "SELECT " + first + " AS v FROM m a " + op + " SELECT " + second + " FROM m b"
	}
	both, refused := a.rows("SELECT side, v FROM (SELECT 'x' AS side, " + x + " AS v FROM m a UNION ALL SELECT 'y', " + y + " FROM m b)")
	var xs, ys []string
	for _, row := range both {
		if row[0] == "x" {
			xs = append(xs, row[1])
		} else {
			ys = append(ys, row[1])
		}
	}
	for _, o := range setOperations {
		want := o.rows(xs, ys)
		slices.Sort(want)
		for _, sql := range []string{sides(x, o.op, y), "SELECT v FROM (" + sides(x, o.op, y) + ") WHERE v IS NOT NULL OR v IS NULL"} {
			rows, no := a.rows(sql)
			if (no == "") != (refused == "") && !isOfJSON(no) {
				a.t.Errorf("%s\n  says [%s], UNION ALL [%s]", sql, no, refused)
			}
			if no != "" || refused != "" {
				continue
			}
			cells++
			got := make([]string, len(rows))
			for i, row := range rows {
				got[i] = row[0]
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				a.t.Errorf("%s\n  gives %q\n  and by the values of UNION ALL it is %q", sql, got, want)
			}
		}
	}
	return cells
}

func isOfJSON(message string) bool { return strings.Contains(strings.ToUpper(message), "JSON") }
