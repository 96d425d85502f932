package oracle

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/hengedb/henge/internal/testkit/fixture"
)

// Generator makes random tables and queries over them. Equal seeds make equal ones.
type Generator struct {
	r *rand.Rand
	// from is the aliases of the tables that the query being made selects from.
	from []string
	// words are further columns of text it selects from, and with is put before it.
	words []string
	with  string
	// rows is the most rows a table has.
	rows int
}

// NewGenerator returns a generator.
func NewGenerator(seed uint64) *Generator {
	return &Generator{r: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15))}
}

// The columns of random tables. Doubles are multiples of a quarter, so that sums do not depend on
// the order of their terms.
const tableColumns = "__time TIMESTAMP, s VARCHAR, t VARCHAR, n BIGINT, l BIGINT, d DOUBLE, f FLOAT, m VARCHAR MULTI"

// Table returns a table of up to rows rows.
func (g *Generator) Table(rows int) (*fixture.Table, error) {
	columns, err := fixture.ParseColumns(tableColumns)
	if err != nil {
		return nil, err
	}
	t := &fixture.Table{Columns: columns}
	g.rows = max(g.rows, rows)
	for range g.r.IntN(rows + 1) {
		t.Rows = append(t.Rows, []any{
			1704067200000 + g.r.Int64N(90*24)*3600000 + g.r.Int64N(2)*g.r.Int64N(3600000),
			g.orNull(g.word(1)), g.orNull(g.word(4)), g.orNull(g.r.Int64N(8) - 2), g.orNull(g.long()), g.orNull(g.double()),
			g.orNull(float32(g.r.IntN(40)-20) / 4), g.multi(),
		})
	}
	return t, nil
}

func (g *Generator) orNull(v any) any {
	if g.r.IntN(6) == 0 {
		return nil
	}
	return v
}

func (g *Generator) word(most int) string {
	b := make([]byte, g.r.IntN(most+1))
	for i := range b {
		b[i] = "abcX "[g.r.IntN(5)]
	}
	return string(b)
}

func (g *Generator) long() int64 {
	switch g.r.IntN(8) {
	case 0:
		return math.MaxInt64 - g.r.Int64N(2)
	case 1:
		return math.MinInt64 + g.r.Int64N(2)
	}
	return g.r.Int64N(2000) - 1000
}

func (g *Generator) double() float64 {
	switch g.r.IntN(30) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1)
	}
	return float64(g.r.IntN(400)-200) / 4
}

// multi returns a multi-value string: values in any order, some of them twice or NULL; none is nil.
func (g *Generator) multi() any {
	var list []any
	for range g.r.IntN(4) {
		list = append(list, g.orNull(g.word(1)))
	}
	if len(list) == 0 || len(list) == 1 && list[0] == nil {
		return nil
	}
	return list
}

func (g *Generator) pick(of ...string) string { return of[g.r.IntN(len(of))] }

// one evaluates one of several ways to go on.
func (g *Generator) one(of ...func() string) string { return of[g.r.IntN(len(of))]() }

func (g *Generator) column(name string) string {
	return g.from[g.r.IntN(len(g.from))] + "." + name
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// leaf is whether an expression of depth left ends here.
func (g *Generator) leaf(depth int) bool { return depth <= 0 || g.r.IntN(3) == 0 }

func (g *Generator) integer(depth int) string {
	if g.leaf(depth) {
		return g.pick(g.column("n"), g.column("n"), g.column("l"), fmt.Sprint(g.r.IntN(7)-2))
	}
	depth--
	return g.one(
		func() string {
			return fmt.Sprintf("(%s %s %s)", g.integer(depth), g.pick("+", "-", "*"), g.integer(depth))
		},
		func() string { return fmt.Sprintf("%s(%s)", g.pick("ABS", "FLOOR", "-", "CEIL"), g.integer(depth)) },
		func() string { return fmt.Sprintf("MOD(%s, %d)", g.integer(depth), g.r.IntN(9)+1) },
		func() string { return fmt.Sprintf("(%s / %d)", g.integer(depth), g.r.IntN(9)+1) },
		func() string { return fmt.Sprintf("SAFE_DIVIDE(%s, %s)", g.integer(depth), g.integer(depth)) },
		func() string { return fmt.Sprintf("LENGTH(%s)", g.text(depth)) },
		func() string { return fmt.Sprintf("ARRAY_LENGTH(%s)", g.array(depth)) },
		func() string { return fmt.Sprintf("ARRAY_OFFSET(%s, %d)", g.array(depth), g.r.IntN(3)) },
		func() string { return fmt.Sprintf("STRPOS(%s, %s)", g.text(depth), quote(g.word(1))) },
		func() string {
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(depth), g.integer(depth), g.integer(depth))
		},
		func() string { return fmt.Sprintf("COALESCE(%s, %s)", g.integer(depth), g.integer(depth)) },
		func() string { return fmt.Sprintf("NULLIF(%s, %s)", g.integer(depth), g.integer(depth)) },
		func() string { return fmt.Sprintf("CAST(%s AS BIGINT)", g.real(depth)) },
		func() string {
			return fmt.Sprintf("%s(%s, %s)", g.pick("GREATEST", "LEAST"), g.integer(depth), g.integer(depth))
		},
		func() string {
			return fmt.Sprintf("EXTRACT(%s FROM %s)", g.pick("YEAR", "MONTH", "DAY", "HOUR"), g.time(depth))
		},
	)
}

// real makes no -0.0: zeros are one group, the sign that stands for it is nobody's promise, and yet
// they have an order.
func (g *Generator) real(depth int) string {
	if g.leaf(depth) {
		return g.pick(g.column("d"), g.column("d"), g.column("f"), fmt.Sprintf("%.2f", float64(g.r.IntN(40)-20)/4))
	}
	depth--
	return g.one(
		func() string { return fmt.Sprintf("(%s %s %s)", g.real(depth), g.pick("+", "-"), g.real(depth)) },
		func() string { return fmt.Sprintf("(%s * %d)", g.real(depth), g.r.IntN(3)+1) },
		func() string { return fmt.Sprintf("(%s / 2)", g.real(depth)) },
		func() string { return fmt.Sprintf("%s(%s)", g.pick("ABS", "FLOOR"), g.real(depth)) },
		func() string {
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(depth), g.real(depth), g.real(depth))
		},
		func() string { return fmt.Sprintf("CAST(%s AS DOUBLE)", g.pick(g.column("n"), g.column("f"))) },
		func() string { return fmt.Sprintf("COALESCE(%s, %s)", g.real(depth), g.real(depth)) },
	)
}

func (g *Generator) text(depth int) string {
	if g.leaf(depth) {
		return g.pick(append([]string{g.column("s"), g.column("t"), g.column("s"), quote(g.word(2))}, g.words...)...)
	}
	depth--
	return g.one(
		func() string { return fmt.Sprintf("(%s || %s)", g.text(depth), g.text(depth)) },
		func() string {
			return fmt.Sprintf("%s(%s)", g.pick("UPPER", "LOWER", "REVERSE", "TRIM"), g.text(depth))
		},
		func() string { return fmt.Sprintf("SUBSTRING(%s, %d, %d)", g.text(depth), g.r.IntN(3)+1, g.r.IntN(3)) },
		func() string { return fmt.Sprintf("LEFT(%s, %d)", g.text(depth), g.r.IntN(3)) },
		func() string { return fmt.Sprintf("REPLACE(%s, 'a', %s)", g.text(depth), quote(g.word(1))) },
		func() string { return fmt.Sprintf("COALESCE(%s, %s)", g.text(depth), g.text(depth)) },
		func() string { return fmt.Sprintf("CASE WHEN %s THEN %s END", g.condition(depth), g.text(depth)) },
		func() string { return fmt.Sprintf("CAST(%s AS VARCHAR)", g.column("n")) },
	)
}

// array is an array of whole numbers.
func (g *Generator) array(depth int) string {
	if g.leaf(depth) {
		items := make([]string, g.r.IntN(3)+1)
		for i := range items {
			items[i] = g.pick(g.column("n"), g.column("n"), fmt.Sprint(g.r.IntN(4)))
		}
		return "ARRAY[" + strings.Join(items, ", ") + "]"
	}
	depth--
	return g.one(
		func() string { return fmt.Sprintf("ARRAY_CONCAT(%s, %s)", g.array(depth), g.array(depth)) },
		func() string { return fmt.Sprintf("ARRAY_APPEND(%s, %s)", g.array(depth), g.integer(0)) }, // deeper ones may have several values
		func() string { return fmt.Sprintf("ARRAY_SLICE(%s, %d, %d)", g.array(depth), g.r.IntN(3), g.r.IntN(4)) },
		func() string {
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", g.condition(depth), g.array(depth), g.array(depth))
		},
	)
}

func (g *Generator) time(depth int) string {
	if g.leaf(depth) {
		return g.pick(g.column("__time"), g.column("__time"), "TIMESTAMP '2024-02-01 00:00:00'")
	}
	return fmt.Sprintf("TIME_FLOOR(%s, '%s')", g.time(depth-1), g.pick("PT1H", "PT6H", "P1D", "P1M"))
}

func (g *Generator) condition(depth int) string {
	op := g.pick("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
	simple := []func() string{
		func() string { return fmt.Sprintf("(%s %s %s)", g.integer(depth-1), op, g.integer(depth-1)) },
		func() string { return fmt.Sprintf("(%s %s %s)", g.text(depth-1), op, g.text(depth-1)) },
		func() string { return fmt.Sprintf("(%s %s %s)", g.real(depth-1), op, g.real(depth-1)) },
		func() string { return fmt.Sprintf("(%s %s %s)", g.time(depth-1), op, g.time(depth-1)) },
		func() string {
			return fmt.Sprintf("(%s %s TIMESTAMP '2024-0%d-15 00:00:00')", g.column("__time"), op, g.r.IntN(3)+1)
		},
		func() string {
			return fmt.Sprintf("(%s %sIN (%s))", g.column("s"), g.not(), g.list(func() string { return quote(g.word(1)) }))
		},
		func() string {
			return fmt.Sprintf("(%s %sIN (%s))", g.integer(depth-1), g.not(), g.list(func() string { return fmt.Sprint(g.r.IntN(6)) }))
		},
		func() string {
			return fmt.Sprintf("(%s %sBETWEEN %s AND %s)", g.integer(depth-1), g.not(), g.integer(depth-1), g.integer(depth-1))
		},
		func() string {
			return fmt.Sprintf("(%s IS %sNULL)", g.pick(g.text(depth-1), g.integer(depth-1), g.column("m")), g.not())
		},
		func() string {
			return fmt.Sprintf("(%s %sLIKE '%s')", g.text(depth-1), g.not(), g.pick("a%", "%b%", "_", "%", "", "a_%"))
		},
		func() string {
			return fmt.Sprintf("(%s %s %s)", g.column("m"), g.pick("=", "<>", "<", ">="), quote(g.word(1)))
		},
		func() string { return fmt.Sprintf("(%s %sIN ('a', 'b', ''))", g.column("m"), g.not()) },
		func() string {
			return fmt.Sprintf("%s(%s, ARRAY[%s])", g.pick("MV_CONTAINS", "MV_OVERLAP"), g.column("m"), g.pick("'a'", "'b', 'c'", "'a', NULL", "'X', 'a', ''"))
		},
		func() string {
			return fmt.Sprintf("%s(%s, %s)", g.pick("ARRAY_CONTAINS", "ARRAY_OVERLAP"), g.array(depth-1), g.array(depth-1))
		},
		func() string {
			return fmt.Sprintf("(%s %s %s)", g.array(depth-1), g.pick("=", "<>", "<", "IS NOT DISTINCT FROM"), g.array(depth-1))
		},
	}
	if g.leaf(depth) {
		return g.one(simple...)
	}
	depth--
	return g.one(
		func() string { return fmt.Sprintf("(%s AND %s)", g.condition(depth), g.condition(depth)) },
		func() string { return fmt.Sprintf("(%s OR %s)", g.condition(depth), g.condition(depth)) },
		func() string { return fmt.Sprintf("(NOT %s)", g.condition(depth)) },
		func() string {
			return fmt.Sprintf("(%s IS %s%s)", g.condition(depth), g.not(), g.pick("TRUE", "FALSE"))
		},
		simple[g.r.IntN(len(simple))],
	)
}

func (g *Generator) not() string { return g.pick("", "", "NOT ") }

func (g *Generator) list(item func() string) string {
	items := make([]string, g.r.IntN(4)+1)
	for i := range items {
		if items[i] = item(); g.r.IntN(8) == 0 {
			items[i] = "NULL"
		}
	}
	return strings.Join(items, ", ")
}

func (g *Generator) expression(depth int) string {
	return g.one(
		func() string { return g.integer(depth) },
		func() string { return g.real(depth) },
		func() string { return g.text(depth) },
		func() string { return g.time(depth) },
		func() string { return g.condition(depth) },
		func() string { return g.array(depth) },
	)
}

// call is an aggregate over an expression.
func (g *Generator) call(depth int) string {
	text := g.one(
		func() string { return "COUNT(*)" },
		func() string { return fmt.Sprintf("COUNT(%s)", g.expression(depth)) },
		func() string {
			return fmt.Sprintf("COUNT(DISTINCT %s)", g.pick(g.integer(depth), g.text(depth), g.column("m")))
		},
		func() string { return fmt.Sprintf("SUM(%s)", g.pick(g.integer(depth), g.real(depth))) },
		func() string { return fmt.Sprintf("SUM(DISTINCT %s)", g.column("n")) },
		func() string {
			return fmt.Sprintf("%s(%s)", g.pick("MIN", "MAX"), g.pick(g.integer(depth), g.text(depth), g.real(depth), g.time(depth)))
		},
		func() string { return fmt.Sprintf("AVG(%s)", g.pick(g.column("n"), g.column("d"), g.column("f"))) },
		func() string { return fmt.Sprintf("%s(%s)", g.pick("BIT_OR", "BIT_XOR"), g.integer(depth)) },
		func() string { return fmt.Sprintf("MEDIAN(%s)", g.pick(g.column("n"), g.column("d"), g.column("f"))) },
		func() string {
			return fmt.Sprintf("PERCENTILE_DISC(0.%d) WITHIN GROUP (ORDER BY %s)", g.r.IntN(10), g.pick(g.integer(depth), g.text(depth), g.time(depth)))
		},
		func() string { return fmt.Sprintf("MODE(%s)", g.pick(g.integer(depth), g.text(depth), g.column("d"))) },
		func() string {
			return fmt.Sprintf("MAX_BY(%s, %s)", g.text(depth), g.pick(g.column("n"), g.column("d")))
		},
		func() string { return fmt.Sprintf("%s(%s)", g.pick("COUNT_IF", "EVERY", "SOME"), g.condition(depth)) },
	)
	if g.r.IntN(4) == 0 {
		text += fmt.Sprintf(" FILTER (WHERE %s)", g.condition(depth))
	}
	return text
}

// Kind is what a random expression gives.
type Kind int

// The kinds.
const (
	Whole Kind = iota
	Real
	Text
)

// Expression returns a random expression over the table of an alias.
func (g *Generator) Expression(kind Kind, alias string, depth int) string {
	g.from, g.words = []string{alias}, nil
	switch kind {
	case Whole:
		return g.integer(depth)
	case Real:
		return g.real(depth)
	}
	return g.text(depth)
}

// Condition returns a random condition over the table of an alias.
func (g *Generator) Condition(alias string, depth int) string {
	g.from, g.words = []string{alias}, nil
	return g.condition(depth)
}
