package oracle

import (
	"fmt"
	"strings"
)

// total orders rows that can be told apart by what is selected.
const total = "__time, s, n, t, d, f, l"

// windows is a SELECT with window calls. Where the order of equal rows would show, all columns
// order them.
func (g *Generator) windows() (sql string, columns int) {
	g.from, g.words = []string{"t"}, nil
	source := "t"
	switch g.r.IntN(8) {
	case 0:
		source = "(SELECT t.__time, t.s, t.n, u.t, u.d, t.f, u.l, t.m FROM t " + g.join() + " u ON t.n = u.n AND " + g.pick("t.s = u.s", "t.s <> u.s", "u.n > 1") + ") AS t"
	case 1:
		source = "(SELECT MIN(__time) AS __time, s, n, MAX(t) AS t, MIN(d) AS d, MAX(f) AS f, COUNT(*) AS l, MIN(t) AS m FROM t GROUP BY s, n) AS t"
	}
	items := []string{"s AS c0", "n AS c1"}
	for range g.r.IntN(3) + 1 {
		items = append(items, fmt.Sprintf("%s AS c%d", g.windowCall(), len(items)))
	}
	qualify := ""
	if g.r.IntN(6) == 0 {
		qualify = " QUALIFY " + g.pick("ROW_NUMBER() OVER (PARTITION BY n ORDER BY "+total+") <= 2", "COUNT(*) OVER (PARTITION BY s) > 3", "SUM(n) OVER (ORDER BY n) > 4")
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + source + g.where(1) + qualify, len(items)
}

func (g *Generator) windowCall() string {
	partition := g.pick("", "", "PARTITION BY s ", "PARTITION BY n ", "PARTITION BY s, d ")
	whole := "ORDER BY " + g.pick("n", "s DESC", "d, n") + ", " + total
	by := g.pick("n", "n DESC", "n NULLS LAST", "f", "f DESC NULLS LAST", "n DESC NULLS FIRST")
	nulls := g.pick("", "", " IGNORE NULLS", " RESPECT NULLS")
	filter := ""
	if g.r.IntN(4) == 0 {
		filter = " FILTER (WHERE " + g.condition(0) + ")"
	}
	return g.one(
		func() string {
			return fmt.Sprintf("%s OVER (%sORDER BY %s)", g.pick("RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()", "COUNT(*)", "SUM(n)"), partition, by)
		},
		func() string {
			call := g.pick("LAG(n)", "LEAD(s, 2)", "LAG(n, 1, 0)", "LEAD(s, 1, 'none')", "LAG(d, 3)", "LEAD(n, 0)") + nulls
			return fmt.Sprintf("%s OVER (%s%s)", g.pick("ROW_NUMBER()", "NTILE(3)", "NTILE(7)", call, call, call), partition, whole)
		},
		func() string {
			call := g.pick("SUM(n)", "MIN(s)", "COUNT(d)", "COUNT(DISTINCT n)", "AVG(f)", "SUM(d)", "BIT_XOR(l)", "MAX(__time)") + filter
			return fmt.Sprintf("%s OVER (%s%s %s)", call, partition, whole, g.frame("ROWS"))
		},
		func() string {
			ends := fmt.Sprintf("%s BETWEEN %s AND %s%s", g.pick("ROWS", "RANGE", "GROUPS"), g.pick("UNBOUNDED PRECEDING", "CURRENT ROW"),
				g.pick("CURRENT ROW", "UNBOUNDED FOLLOWING"), g.exclusion())
			return fmt.Sprintf("%s%s OVER (%s%s %s)", g.pick("FIRST_VALUE(n)", "LAST_VALUE(s)", "LAST_VALUE(d)", "FIRST_VALUE(t)"), nulls, partition, whole, ends)
		},
		func() string {
			return fmt.Sprintf("NTH_VALUE(%s, %d)%s OVER (%s%s %s)", g.pick("n", "s", "d"), g.r.IntN(4)+1, nulls, partition, whole, g.frame("ROWS"))
		},
		func() string {
			call := g.pick("COUNT(*)", "SUM(n)", "MAX(n)", "COUNT(DISTINCT s)", "MIN(t)", "SUM(f)", "AVG(n)") + filter
			return fmt.Sprintf("%s OVER (%sORDER BY %s %s)", call, partition, by, g.frame(g.pick("RANGE", "GROUPS")))
		},
		func() string {
			call := g.pick("COUNT(*)", "SUM(n)", "MAX(n)") + filter
			return fmt.Sprintf("%s OVER (%sORDER BY %s %s)", call, partition, g.pick("__time", "__time DESC"), g.frame("RANGE OF TIMES"))
		},
		func() string {
			return fmt.Sprintf("%s OVER (%s)", g.pick("COUNT(*)", "SUM(n)", "MAX(s)", "COUNT(DISTINCT n)", "AVG(f)")+filter, partition)
		},
	)
}

// frame is any frame that is allowed: its start may not come after its end by their kinds.
func (g *Generator) frame(unit string) string {
	offset := func() string {
		if unit == "RANGE OF TIMES" {
			return g.pick("INTERVAL '1' MONTH", "INTERVAL '2' MONTH", "INTERVAL '10' DAY")
		}
		if unit == "RANGE" && g.r.IntN(6) == 0 {
			return g.pick("0.5", "1.5", "2.25")
		}
		if g.r.IntN(8) == 0 {
			return "ABS(n)" // and no frame where it is NULL
		}
		return fmt.Sprint(g.r.IntN(5))
	}
	bounds := []func() string{
		func() string { return "UNBOUNDED PRECEDING" },
		func() string { return offset() + " PRECEDING" },
		func() string { return "CURRENT ROW" },
		func() string { return offset() + " FOLLOWING" },
		func() string { return "UNBOUNDED FOLLOWING" },
	}
	from := g.r.IntN(4)
	to := max(from, 1) + g.r.IntN(5-max(from, 1))
	return fmt.Sprintf("%s BETWEEN %s AND %s%s", strings.TrimSuffix(unit, " OF TIMES"), bounds[from](), bounds[to](), g.exclusion())
}

func (g *Generator) exclusion() string {
	return g.pick("", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP", " EXCLUDE NO OTHERS")
}
