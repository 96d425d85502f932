package oracle

import (
	"fmt"
	"strings"
)

// Query returns a SELECT over the tables t and u. ordered says that its rows come in one order
// only.
func (g *Generator) Query() (sql string, ordered bool) {
	var columns int
	switch g.r.IntN(10) {
	case 2, 3:
		sql, columns = g.windows()
	case 4:
		sql, columns = g.star()
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
		sql, columns = g.sets(), 2
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

// sets combines two or three SELECTs; INTERSECT goes before the others unless there are
// parentheses.
func (g *Generator) sets() string {
	types := g.r.IntN(3)
	operator := func() string {
		return g.pick(" UNION ALL ", " UNION ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL ")
	}
	two := g.branch(types) + operator() + g.branch(types)
	switch g.r.IntN(4) {
	case 0:
		return two + operator() + g.branch(types)
	case 1:
		return "(" + two + ")" + operator() + g.branch(types)
	case 2:
		return g.branch(types) + operator() + "(" + two + ")"
	}
	return two
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
			items = append(items, g.item(depth))
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
			items = append(items, g.pick(g.column("s"), g.column("n"), g.column("t"), g.column("m"), g.column("d"),
				g.pick("MV_FILTER_ONLY", "MV_FILTER_NONE")+"("+g.column("m")+", ARRAY['a', 'c'])", g.expression(depth-1), g.expression(depth-1)))
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
		case 2:
			tail = fmt.Sprintf(" GROUP BY %s, %s(%s)", keys[0], g.pick("ROLLUP", "CUBE"), strings.Join(keys, ", "))
		}
		if tail != " GROUP BY "+strings.Join(keys, ", ") && g.r.IntN(2) == 0 {
			items = append(items, "GROUPING("+items[g.r.IntN(len(keys))]+")")
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
	switch g.r.IntN(15) {
	case 0, 1, 2:
		return ""
	case 13:
		return fmt.Sprintf(" WHERE (%s, %s) %sIN (SELECT i.n, i.s FROM u AS i%s)", g.column("n"), g.column("s"), g.pick("", "", ""),
			g.pick("", " WHERE i.n > 1", " JOIN t AS j ON i.n = j.n AND i.l < j.l"))
	case 14:
		return fmt.Sprintf(" WHERE %s %s (SELECT COUNT(*) FROM u AS i WHERE i.n %s %s AND EXISTS (SELECT 1 FROM t AS j WHERE j.n = i.n AND j.s = %s))",
			g.column("n"), g.pick("<=", ">", "="), g.pick("<", "=", "<>"), g.column("n"), g.column("s"))
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

// star groups facts by what a dimension says of them: each key and argument reads one side.
func (g *Generator) star() (sql string, columns int) {
	facts := func() { g.from, g.words = []string{"t"}, nil }
	dimension := func() { g.from, g.words = []string{"u"}, nil }
	source := "t " + g.pick("JOIN", "JOIN", "LEFT JOIN") + " u ON " + g.pick("t.n = u.n", "t.s = u.s", "t.n = u.n AND t.s = u.s", "t.s IS NOT DISTINCT FROM u.s") +
		g.pick("", "", " AND u.l > 10", " AND t.n < u.l", " AND t.f >= u.f")
	if g.r.IntN(4) == 0 {
		source = strings.Replace(strings.Replace(source, "t LEFT JOIN u", "u RIGHT JOIN t", 1), "t JOIN u", "u JOIN t", 1)
	}
	var items, keys []string
	for range g.r.IntN(3) {
		if facts(); g.r.IntN(3) > 0 {
			dimension()
		}
		items = append(items, g.pick(g.column("s"), g.column("t"), g.text(1), g.integer(1), g.time(1)))
		keys = append(keys, fmt.Sprint(len(items)))
	}
	for range g.r.IntN(4) + 1 {
		facts()
		call := g.pick("COUNT(*)", "COUNT("+g.integer(1)+")", "SUM("+g.integer(1)+")", "SUM(t.d)", "MIN("+g.text(1)+")", "MAX("+g.integer(1)+")", "AVG(t.f)", "AVG(t.n)",
			"MAX(t.__time)", "MIN(t.d)")
		if g.r.IntN(3) == 0 {
			if g.r.IntN(2) == 0 {
				dimension()
			}
			call += " FILTER (WHERE " + g.condition(1) + ")"
		}
		items = append(items, call)
	}
	tail := ""
	if len(keys) > 0 {
		tail = " GROUP BY " + g.pick("", "", "ROLLUP") + "(" + strings.Join(keys, ", ") + ")"
	}
	facts()
	where := g.pick("", "", " WHERE "+g.condition(1))
	for i := range items {
		items[i] += fmt.Sprintf(" AS c%d", i)
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM " + source + where + tail, len(items)
}

// item is an output column, at times a subquery of one value.
func (g *Generator) item(depth int) string {
	if g.r.IntN(8) > 0 {
		return g.expression(depth)
	}
	return fmt.Sprintf("(SELECT %s FROM u AS i WHERE i.%s = %s%s)", g.pick("MAX(i.t)", "MIN(i.s)", "MAX(i.s || 'x')"), "n", g.column("n"),
		g.pick("", " AND i.l > "+g.column("l"), " AND i.s <> "+g.column("s")))
}

// source is a table, a join, or something that depends on a table, and sets what columns come from.
func (g *Generator) source() string {
	g.from, g.words, g.with = []string{"t"}, nil, ""
	switch g.r.IntN(24) {
	case 21, 22, 23: // tables put together, which all workers read
		arm := func(table string) string {
			columns := g.pick("__time, s, t, n, l, d, f, t AS m", "__time, s, t, n, l, d, f, t AS m", "__time, t AS s, s AS t, n, l, d, f, s AS m")
			return "SELECT " + columns + " FROM " + table + g.pick("", "", " WHERE n > 1", " WHERE s = 'a'")
		}
		groups := "SELECT MAX(__time) AS __time, s, MIN(t) AS t, n, COUNT(*) AS l, MAX(d) AS d, MIN(f) AS f, MAX(t) AS m FROM t GROUP BY s, n"
		union := "(" + arm("t") + " UNION ALL " + g.pick(arm("u"), arm("t"), groups, arm("u")+" UNION ALL "+arm("t")) + ") AS t"
		if g.r.IntN(2) == 0 {
			return union
		}
		g.from = []string{"t", "u"}
		return union + " " + g.join() + " u ON " + g.pick("t.n = u.n", "t.s = u.s AND t.n = u.n", "t.s = u.s AND t.l > u.l")
	case 16: // a dimension with one row per key
		g.from = []string{"t", "u"}
		unique := g.pick("SELECT n, MIN(s) AS s, MAX(t) AS t, COUNT(*) AS l, MIN(__time) AS __time, MAX(d) AS d, MIN(f) AS f, MIN(t) AS m FROM u GROUP BY n",
			"SELECT DISTINCT n, 'b' AS s, 'x' AS t, n + 1 AS l, TIMESTAMP '2024-01-01 00:00:00' AS __time, 0.5 AS d, CAST(n AS FLOAT) AS f, 'c' AS m FROM u")
		return "t " + g.join() + " (" + strings.Replace(unique, "FROM u", "FROM u"+g.pick("", " WHERE n > 0"), 1) + ") AS u ON t.n = u.n" +
			g.pick("", "", " AND u.l > 1", " AND t.d < u.d")
	case 17:
		g.from, g.words = []string{"p"}, nil
		in := "SELECT __time, t, l, d, f, s, m, n AS v FROM t"
		p := g.pick("COUNT(*) AS k", "SUM(v) AS k", "MAX(v) FILTER (WHERE v > 0) AS k")
		return "(SELECT __time, t AS s, t, m, l, d, f, COALESCE(\"'a'_k\", 0) AS n, \"'b'_k\" AS o FROM (" + in + ") PIVOT (" + p + " FOR s IN ('a', 'b'))) AS p"
	case 18:
		g.from = []string{"p"}
		return "(SELECT * FROM (SELECT __time, s, t, m, n AS n1, n * 3 AS n2, d, f, l FROM t) UNPIVOT " + g.pick("", "INCLUDE NULLS ") + "(n FOR part IN (n1, n2))) AS p"
	case 19:
		list := g.array(1)
		g.words = []string{"CAST(x.v AS VARCHAR)"}
		join, on := "CROSS JOIN", ""
		if g.r.IntN(2) == 0 {
			join, on = "LEFT JOIN", g.pick(" ON TRUE", " ON x.v > t.n")
		}
		return "t " + join + " UNNEST(" + list + ") AS x(v)" + on
	case 20:
		g.words = []string{"x.v", "CAST(x.o AS VARCHAR)"}
		return "t CROSS JOIN UNNEST(MV_TO_ARRAY(t.m)) WITH ORDINALITY AS x(v, o)"
	case 0, 1, 2, 3:
		g.from = []string{"t", "u"}
		on := g.pick("t.s = u.s", "t.n = u.n", "t.n = u.n AND t.s = u.s", "t.t = u.s AND u.n > 0", "t.n = u.d", "t.s IS NOT DISTINCT FROM u.s", "t.n = u.n + 1")
		if g.rows <= 100 && g.r.IntN(4) == 0 { // what has an order is searched for in it
			on = g.pick("t.n BETWEEN u.n AND u.l", "t.d >= u.d AND t.d < u.n", "t.l < u.n AND t.n >= u.l", "u.d > t.d", "t.__time <= u.__time AND t.n > u.n AND t.s <> u.s")
		}
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
