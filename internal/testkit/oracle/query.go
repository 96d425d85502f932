package oracle

import (
	"fmt"
	"strings"
)

// Query returns a SELECT over the tables t and u. ordered says that its rows come in one order only.
func (g *Generator) Query() (sql string, ordered bool) {
	var columns int
	switch g.r.IntN(10) {
	case 2, 3:
		sql, columns = g.windows()
	case 0:
		left, n := g.block(2)
		columns = n
		g.from, g.words = []string{"t"}, nil
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("q.c%d", i)
		}
		sql = fmt.Sprintf("SELECT %s FROM (%s) AS q", strings.Join(items, ", "), left)
	case 1:
		types := g.r.IntN(3)
		sql = g.branch(types) + g.pick(" UNION ALL ", " UNION ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL ") + g.branch(types)
		columns = 2
	default:
		sql, columns = g.block(3)
	}
	if g.r.IntN(2) == 0 {
		return sql, false
	}
	// All columns decide the order, so that equal rows are rows that can't be told apart.
	keys := make([]string, columns)
	for i, k := range g.r.Perm(columns) {
		keys[i] = fmt.Sprint(k+1) + g.pick("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
	}
	sql += " ORDER BY " + strings.Join(keys, ", ")
	if g.r.IntN(2) == 0 {
		sql += fmt.Sprintf(" LIMIT %d", g.r.IntN(12))
		if g.r.IntN(3) == 0 {
			sql += fmt.Sprintf(" OFFSET %d", g.r.IntN(6))
		}
	}
	return sql, true
}

// branch is a SELECT of two columns of given types.
func (g *Generator) branch(types int) string {
	g.from, g.words = []string{g.pick("t", "u")}, nil
	first := g.integer
	switch types {
	case 1:
		first = g.text
	case 2:
		first = g.real
	}
	return fmt.Sprintf("SELECT %s AS c0, %s AS c1 FROM %s%s", first(2), g.time(1), g.from[0], g.where(2))
}

// block is a SELECT with columns c0, c1, ... and without ORDER BY.
func (g *Generator) block(depth int) (sql string, columns int) {
	source := g.source()
	var items, keys []string
	tail := ""
	switch g.r.IntN(4) {
	case 0: // rows
		for range g.r.IntN(4) + 1 {
			items = append(items, g.expression(depth))
		}
		if g.r.IntN(5) == 0 {
			items[0] = "DISTINCT " + items[0]
		}
	case 1: // one group
		for range g.r.IntN(4) + 1 {
			items = append(items, g.call(depth-1))
		}
	default: // groups
		for range g.r.IntN(3) + 1 {
			items = append(items, g.pick(g.column("s"), g.column("n"), g.column("t"), g.column("m"), g.column("d"), g.expression(depth-1)))
			keys = append(keys, fmt.Sprint(len(items)))
		}
		for range g.r.IntN(3) {
			items = append(items, g.call(depth-1))
		}
		tail = " GROUP BY " + strings.Join(keys, ", ")
		switch g.r.IntN(8) {
		case 0:
			tail = fmt.Sprintf(" GROUP BY %s(%s)", g.pick("ROLLUP", "CUBE"), strings.Join(keys, ", "))
		case 1:
			tail = fmt.Sprintf(" GROUP BY GROUPING SETS ((%s), (%s)%s)", strings.Join(keys, ", "), keys[0], g.pick("", ", ()"))
		}
		if g.r.IntN(4) == 0 {
			tail += fmt.Sprintf(" HAVING COUNT(*) %s %d", g.pick(">", "<", "="), g.r.IntN(4))
		}
	}
	where := g.where(depth - 1)
	for i := range items {
		items[i] += fmt.Sprintf(" AS c%d", i)
	}
	return g.with + "SELECT " + strings.Join(items, ", ") + " FROM " + source + where + tail, len(items)
}

func (g *Generator) where(depth int) string {
	switch g.r.IntN(13) {
	case 0, 1, 2:
		return ""
	case 9:
		return fmt.Sprintf(" WHERE %s %s %s (SELECT i.n FROM u AS i WHERE i.n > %d)", g.column("n"), g.pick("=", "<>", "<", ">", "<=", ">="),
			g.pick("ANY", "ALL"), g.r.IntN(12)-3)
	case 10:
		return fmt.Sprintf(" WHERE %s %s (SELECT %s FROM u AS i WHERE i.s = %s)", g.column("n"), g.pick("=", "<", ">="),
			g.pick("MAX(i.n)", "COUNT(*)", "MIN(i.n) + 1"), g.column("s"))
	case 11:
		return fmt.Sprintf(" WHERE %s %sIN (SELECT i.n FROM u AS i WHERE i.s = %s) OR %s", g.column("n"), g.not(), g.column("s"), g.condition(depth-1))
	case 3:
		return fmt.Sprintf(" WHERE %s %sIN (SELECT %s FROM u AS i WHERE i.n > %d)", g.column("n"), g.not(), g.pick("i.n", "i.n + 1"), g.r.IntN(9)-3)
	case 4:
		return fmt.Sprintf(" WHERE %sEXISTS (SELECT 1 FROM u AS i WHERE i.s = %s AND i.n < %d) AND %s",
			g.not(), g.column("s"), g.r.IntN(6), g.condition(depth-1))
	}
	return " WHERE " + g.condition(depth)
}

// source is a table, a join, or something that depends on a table, and sets what columns come from.
func (g *Generator) source() string {
	g.from, g.words, g.with = []string{"t"}, nil, ""
	switch g.r.IntN(16) {
	case 0, 1, 2, 3:
		g.from = []string{"t", "u"}
		on := g.pick("t.s = u.s", "t.n = u.n", "t.n = u.n AND t.s = u.s", "t.t = u.s AND u.n > 0", "t.n = u.d", "t.s IS NOT DISTINCT FROM u.s", "t.n = u.n + 1")
		return "t " + g.join() + " u ON " + on
	case 4: // a subquery over both sides
		g.from = []string{"t", "u"}
		on := g.pick("t.n = u.n AND EXISTS (SELECT 1 FROM u AS i WHERE i.s = t.s AND i.n <= u.n)",
			"t.s = u.s AND u.n >= (SELECT MIN(i.n) FROM u AS i WHERE i.s = t.s OR i.s = u.t)", "t.n IN (SELECT i.n + u.n FROM u AS i WHERE i.s = t.s)")
		return "t " + g.join() + " u ON " + on
	case 5: // joins that have an order of their own
		g.from = []string{"t", "u", "w"}
		if g.rows > 100 {
			return "t JOIN u ON t.n = u.n JOIN u AS w ON w.s = u.s AND w.n < t.l"
		}
		return g.pick("u CROSS JOIN u AS w JOIN t ON t.n = u.n AND t.s = w.s", "t JOIN u ON t.s = u.s JOIN u AS w ON w.n = u.n AND w.t > t.t",
			"u JOIN u AS w ON u.n < w.n JOIN t ON t.n + w.n = u.n", "t LEFT JOIN u ON t.n = u.n JOIN u AS w ON w.s = t.s AND w.n IS NOT DISTINCT FROM u.n")
	case 6:
		g.from = []string{"t", "u"}
		inner := g.pick("SELECT * FROM u WHERE u.s = t.s AND u.n <= t.n", "SELECT * FROM u WHERE u.n > t.n AND u.t = t.t",
			"SELECT * FROM u WHERE u.n = t.n ORDER BY __time, s, t, n, l, d, f LIMIT 2")
		if g.r.IntN(2) == 0 {
			return "t, LATERAL (" + inner + ") AS u"
		}
		return "t LEFT JOIN LATERAL (" + inner + ") AS u ON " + g.pick("TRUE", "u.n > 1", "u.d < t.d OR t.n = 2")
	case 7:
		g.words = []string{"x.v", "x.v"}
		return "t CROSS JOIN UNNEST(MV_TO_ARRAY(t.m)) AS x(v)"
	case 8:
		g.words = []string{"x.v", "x.v"}
		return "t LEFT JOIN UNNEST(MV_TO_ARRAY(t.m)) AS x(v) ON " + g.pick("TRUE", "x.v > t.s", "x.v = 'a'")
	case 9: // computed once
		g.from = []string{"t", "u"}
		g.with = "WITH w AS (SELECT s, n, m, MAX(__time) AS __time, MIN(t) AS t, COUNT(*) AS l, MAX(d) AS d, MIN(f) AS f FROM t GROUP BY s, n, m) "
		return "w AS t " + g.join() + " w AS u ON " + g.pick("t.s = u.s AND t.n = u.n", "t.l = u.n", "t.m = u.s")
	}
	return "t"
}

func (g *Generator) join() string {
	return g.pick("JOIN", "LEFT JOIN", "JOIN", "RIGHT JOIN", "FULL JOIN")
}

// windows is a SELECT with window calls. Where the order of equal rows would show, all columns order them.
func (g *Generator) windows() (sql string, columns int) {
	g.from, g.words = []string{"t"}, nil
	items := []string{"s AS c0", "n AS c1"}
	for range g.r.IntN(3) + 1 {
		partition := g.pick("", "", "PARTITION BY s ", "PARTITION BY n ", "PARTITION BY s, d ")
		whole := "ORDER BY " + g.pick("n", "s DESC", "d, n") + ", __time, s, n, t, d, f"
		rows := fmt.Sprintf("ROWS BETWEEN %s AND %s%s", g.pick("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW"),
			g.pick("CURRENT ROW", "1 FOLLOWING", "UNBOUNDED FOLLOWING"), g.pick("", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES"))
		ends := fmt.Sprintf("ROWS BETWEEN %s AND %s%s", g.pick("UNBOUNDED PRECEDING", "CURRENT ROW"), g.pick("CURRENT ROW", "UNBOUNDED FOLLOWING"),
			g.pick("", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES"))
		by := g.pick("n", "n DESC", "n NULLS LAST")
		peers := fmt.Sprintf("ORDER BY %s %s BETWEEN %s AND %s%s", by, g.pick("RANGE", "GROUPS"), g.pick("UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW"),
			g.pick("CURRENT ROW", "3 FOLLOWING", "UNBOUNDED FOLLOWING"), g.pick("", "", " EXCLUDE GROUP", " EXCLUDE CURRENT ROW"))
		text := g.one(
			func() string {
				return fmt.Sprintf("%s OVER (%sORDER BY %s)", g.pick("RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()", "COUNT(*)", "SUM(n)"), partition, by)
			},
			func() string {
				return fmt.Sprintf("%s OVER (%s%s)", g.pick("ROW_NUMBER()", "NTILE(3)", "LAG(n)", "LEAD(s, 2)", "LAG(n, 1, 0)", "LEAD(s, 1, 'none')"), partition, whole)
			},
			func() string {
				return fmt.Sprintf("%s OVER (%s%s %s)", g.pick("SUM(n)", "MIN(s)", "COUNT(d)", "COUNT(DISTINCT n)"), partition, whole, rows)
			},
			func() string {
				return fmt.Sprintf("%s OVER (%s%s %s)", g.pick("FIRST_VALUE(n)", "LAST_VALUE(s)"), partition, whole, ends)
			},
			func() string {
				return fmt.Sprintf("%s OVER (%s%s)", g.pick("COUNT(*)", "SUM(n)", "MAX(n)", "COUNT(DISTINCT s)"), partition, peers)
			},
			func() string { return fmt.Sprintf("%s OVER (%s)", g.pick("COUNT(*)", "SUM(n)", "MAX(s)"), partition) },
		)
		items = append(items, fmt.Sprintf("%s AS c%d", text, len(items)))
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM t" + g.where(1), len(items)
}
