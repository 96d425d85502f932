package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/hengedb/henge/internal/testkit/oracle"
)

// Maker makes random tables and statements. Equal seeds make equal ones.
type Maker struct {
	*oracle.Generator
	r *rand.Rand
}

// New returns a Maker.
func New(seed uint64) *Maker {
	return &Maker{Generator: oracle.NewGenerator(seed), r: rand.New(rand.NewPCG(seed, 3))}
}

// Production is a part of the grammar. A template that needs no {x} says nothing of types, and
// belongs to any.
//
//	{t} {u} {w}      a table by the alias t (u, w), or a subquery over it
//	{x} {y} {ux} {wx} expressions of the type over t (u, w)
//	{x:out}          what is shown of {x}: an estimate of a sketch
//	{k} {k2}         constants of the type
//	{T}              the name of the type
//	{p} {q} {up}     a condition over t, one without multi-value strings, one over u
//	{n}              a whole number over t
type Production struct {
	Group, Name string
	// Classes are what types it makes sense for.
	Classes Class
	// Templates mean the same: their rows are equal. One that begins with "or " is another way to
	// use the production in place of the
	// first.
	Templates []string
	// Ordered says that the rows have one order, Calm that the values must not be rounded or
	// overflow.
	Ordered, Calm bool
}

// Case is a production filled in. All statements give the same rows.
type Case struct {
	Production *Production
	Type       *Type
	Statements []string
}

// Make fills in a production for a type.
func (m *Maker) Make(p *Production, t *Type) Case {
	ways := [][]string{nil}
	for _, s := range p.Templates {
		if other, ok := strings.CutPrefix(s, "or "); ok {
			ways = append(ways, []string{other})
			continue
		}
		ways[len(ways)-1] = append(ways[len(ways)-1], s)
	}
	way := ways[m.r.IntN(len(ways))]
	fill := m.words(p, t, strings.Join(way, " "))
	c := Case{Production: p, Type: t}
	for _, s := range way {
		c.Statements = append(c.Statements, fill.Replace(s))
	}
	return c
}

// words chooses what stands for the words of templates. All templates of a case share one choice.
func (m *Maker) words(p *Production, t *Type, text string) *strings.Replacer {
	derived := t.Class == Sketch || m.r.IntN(3) == 0
	words := []string{"{T}", t.SQL}
	for _, alias := range []string{"t", "u", "w"} {
		table := map[string]string{"t": "t", "u": "u", "w": "u"}[alias]
		prefix := map[string]string{"t": "", "u": "u", "w": "w"}[alias]
		x, y := "{"+prefix+"x}", "{"+prefix+"y}"
		var source, first, second string
		if t.Class == Sketch {
			source = "(SELECT MIN(id) AS id, n, MIN(s) AS s, MIN(__time) AS __time, DS_HLL(t) AS x, DS_HLL(id) AS y FROM " + table + " GROUP BY " +
				"n) " +
				"AS " + alias
			first, second = alias+".x", alias+".y"
		} else {
			first, second = m.value(t, table, p.Calm, 2), m.value(t, table, p.Calm, 1)
			switch {
			case derived:
				source = fmt.Sprintf("(SELECT __time, s, t, n, l, d, f, m, id, b, q, j, %s AS x, %s AS y FROM %s) AS %s", first, second,
					table, alias)
				first, second = alias+".x", alias+".y"
			case alias == table:
				source = table
			default:
				source = table + " AS " + alias
				first, second = m.value(t, alias, p.Calm, 1), m.value(t, alias, p.Calm, 1)
			}
		}
		words = append(words, "{"+alias+"}", source, x, first, y, second, "{"+prefix+"x:out}", shown(t, first), "{"+prefix+"y:out}",
			shown(t, second))
	}
	constant := func() string {
		if len(t.constants) == 0 {
			return "NULL"
		}
		return t.constants[m.r.IntN(len(t.constants))]
	}
	condition, of := func(alias string) string { return m.Condition(alias, 2) }, func() string { return m.Expression(oracle.Whole, "t", 1) }
	if t.Class == Sketch {
		condition, of = func(alias string) string { return fmt.Sprintf("(%s.n > %d)", alias, m.r.IntN(4)) }, func() string { return "t.n" }
	}
	row := "t.n > 1"
	if t.Class != Sketch {
		row = m.ofRow("t", 2)
	}
	words = append(words, "{q}", row, "{k}", constant(), "{k2}", constant(), "{p}", condition("t"), "{up}", condition("u"), "{n}", of())
	for _, c := range []struct {
		word string
		of   []string
	}{
		{"{cmp}", []string{"=", "<>", "<", "<=", ">", ">="}},
		{"{eq}", []string{"=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}},
		{"{not}", []string{"", "NOT "}},
		{"{dir}", []string{"", " ASC", " DESC", " NULLS FIRST", " NULLS LAST", " DESC NULLS FIRST", " DESC NULLS LAST"}},
		{"{join}", []string{"JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"}},
		{"{i}", []string{"0", "1", "2", "3"}},
		{"{set}", []string{"UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"}},
	} {
		if strings.Contains(text, c.word) {
			words = append(words, c.word, c.of[m.r.IntN(len(c.of))])
		}
	}
	return strings.NewReplacer(words...)
}

// ofRow is a condition without multi-value strings. Where one stands decides whether it is about
// the row or its values.
func (m *Maker) ofRow(alias string, depth int) string {
	for {
		if c := m.Condition(alias, depth); !strings.Contains(c, alias+".m") {
			return c
		}
	}
}

// shown is what a statement selects of a value: sketches by what they estimate.
func shown(t *Type, x string) string {
	if t.Class == Sketch {
		return "HLL_SKETCH_ESTIMATE(" + x + ")"
	}
	return x
}
