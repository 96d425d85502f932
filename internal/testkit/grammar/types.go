package grammar

import (
	"fmt"
	"strings"

	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/oracle"
)

// Class says what can be done with the values of a type.
type Class uint

// The classes, as bits, so that a production names those it takes.
const (
	Bool Class = 1 << iota
	Int
	Frac
	Text
	Time
	List
	TextList
	Multi
	JSON
	Sketch

	Num    = Int | Frac
	Scalar = Bool | Num | Text | Time
	Lists  = List | TextList
	Plain  = Scalar | Lists
	Any    = Plain | Multi | JSON | Sketch
)

// Type is a type of values. SQL is its name in a CAST; the values of a multi-value string and of
// a sketch have none.
type Type struct {
	Name, SQL string
	Class     Class
	// values are random expressions over a table of the alias %[1]s; calm ones are exact in any
	// order of computation.
	calm, wild []string
	// constants are literals.
	constants []string
}

// Types are the columns of the table.
var Types = []*Type{
	{"BOOLEAN", "BOOLEAN", Bool, []string{"(%[1]s.n > 1)", "CAST(%[1]s.b AS BOOLEAN)", "(%[1]s.s = 'a')"}, nil, []string{"TRUE", "FALSE",
		"UNKNOWN"}},
	whole("TINYINT"), whole("SMALLINT"), whole("INTEGER"), whole("BIGINT"),
	fraction("FLOAT", "%[1]s.f", "CAST(%[1]s.q AS FLOAT)"),
	fraction("REAL", "CAST(%[1]s.q AS REAL)"),
	fraction("DOUBLE", "%[1]s.q", "(%[1]s.q * 2)"),
	fraction("DECIMAL", "CAST(%[1]s.q AS DECIMAL(10, 2))", "CAST(%[1]s.n AS DECIMAL)"),
	{"CHAR", "CHAR", Text, []string{"CAST(%[1]s.s AS CHAR)", "CAST(%[1]s.t AS CHAR(2))"}, nil, []string{"'a'", "CAST('b' AS CHAR)"}},
	{"VARCHAR", "VARCHAR", Text, []string{"%[1]s.s", "%[1]s.t", "(%[1]s.s || 'x')", "UPPER(%[1]s.t)"}, []string{"text"}, []string{"'a'",
		"'X'", "''", "'ab'", "U&'\\0061'"}},
	{"TIMESTAMP", "TIMESTAMP", Time, []string{"%[1]s.__time", "TIME_FLOOR(%[1]s.__time, 'P1D')",
		"MILLIS_TO_TIMESTAMP(1704067200000 + %[1]s.n * 86400000)",
		"(%[1]s.__time + INTERVAL '1' DAY)"}, nil, []string{"TIMESTAMP '2024-02-01 00:00:00'", "TIMESTAMP '2024-01-03 00:00:00'"}},
	{"DATE", "DATE", Time, []string{"CAST(%[1]s.__time AS DATE)", "CAST(TIME_FLOOR(%[1]s.__time, 'P1M') AS DATE)"}, nil, []string{
		"DATE '2024-02-01'", "DATE '2024-01-01'"}},
	list("BIGINT ARRAY", List, []string{"%[1]s.na", "ARRAY[%[1]s.n, %[1]s.id]", "ARRAY_APPEND(%[1]s.na, 1)"}, "ARRAY[1, 2]",
		"ARRAY[NULL, 1]"),
	list("INTEGER ARRAY", List, []string{"ARRAY[CAST(%[1]s.n AS INTEGER)]", "ARRAY[CAST(%[1]s.n AS INTEGER), 1]"}, "ARRAY[1]",
		"ARRAY[2, 1]"),
	list("DOUBLE ARRAY", List, []string{"%[1]s.da", "ARRAY[%[1]s.q, 1e0]"}, "ARRAY[1e0, 2.5e0]"),
	list("FLOAT ARRAY", List, []string{"%[1]s.fa", "ARRAY[%[1]s.f]"}, "ARRAY[CAST(1.5 AS FLOAT)]"),
	list("DECIMAL ARRAY", List, []string{"ARRAY[CAST(%[1]s.q AS DECIMAL), 1.5]"}, "ARRAY[1.5, 2.0]"),
	list("VARCHAR ARRAY", TextList, []string{"%[1]s.sa", "ARRAY[%[1]s.s, %[1]s.t]", "ARRAY[%[1]s.s]"}, "ARRAY['a', 'b']",
		"ARRAY['a', NULL]"),
	list("BOOLEAN ARRAY", List, []string{"ARRAY[%[1]s.n > 1, TRUE]"}, "ARRAY[TRUE]"),
	list("TIMESTAMP ARRAY", List, []string{"ARRAY[%[1]s.__time]", "ARRAY[%[1]s.__time, NULL]"}, "ARRAY[TIMESTAMP '2024-02-01 00:00:00']"),
	list("DATE ARRAY", List, []string{"ARRAY[CAST(%[1]s.__time AS DATE)]"}, "ARRAY[DATE '2024-02-01']"),
	{"VARCHAR MULTI", "VARCHAR", Multi, []string{"%[1]s.m", "MV_FILTER_ONLY(%[1]s.m, ARRAY['a', 'b'])"}, nil, []string{"'a'", "'b'"}},
	{"JSON", "", JSON, []string{"%[1]s.j", "JSON_OBJECT('a': %[1]s.n)", "TRY_PARSE_JSON('{\"s\": \"' || %[1]s.s || '\"}')"}, nil,
		[]string{"PARSE_JSON('{\"a\": 1}')", "PARSE_JSON('2')"}},
	{"HLL sketch", "", Sketch, nil, nil, nil},
}

func whole(name string) *Type {
	t := &Type{name, name, Int, []string{"CAST(%[1]s.n AS " + name + ")", "CAST(%[1]s.b AS " + name + ")"}, nil, []string{"CAST(1 AS " + name + ")",
		"CAST(3 AS " + name + ")"}}
	if name == "BIGINT" {
		t.calm = append(t.calm, "%[1]s.n", "(%[1]s.n + %[1]s.b)", "CHAR_LENGTH(%[1]s.t)")
		t.wild = []string{"whole", "%[1]s.l"}
	}
	if name == "BIGINT" || name == "INTEGER" {
		t.constants = append(t.constants, "2", "-1")
	}
	return t
}

func fraction(name string, values ...string) *Type {
	t := &Type{name, name, Frac, values, nil, []string{"CAST(1.5 AS " + name + ")"}}
	switch name {
	case "DOUBLE":
		t.wild, t.constants = []string{"real", "%[1]s.d"}, append(t.constants, "15e-1", "-2.5e0")
	case "DECIMAL":
		t.constants = append(t.constants, "0.25", ".5")
	}
	return t
}

func list(name string, class Class, values []string, constants ...string) *Type {
	return &Type{name, name, class, values, nil, constants}
}

// the columns that are added to those of package oracle: a number of the row, numbers that sums
// do not round, lists and nested data.
const moreColumns = "id BIGINT, b BIGINT, q DOUBLE, na BIGINT ARRAY, da DOUBLE ARRAY, fa FLOAT ARRAY, sa VARCHAR ARRAY, j JSON"

// Rows returns a table of up to rows rows, whose ids begin at first. No two rows have the same
// time.
func (m *Maker) Rows(rows int, first int64) (*fixture.Table, error) {
	t, err := m.Table(rows)
	if err != nil {
		return nil, err
	}
	more, err := fixture.ParseColumns("__time TIMESTAMP, " + moreColumns)
	if err != nil {
		return nil, err
	}
	t.Columns = append(t.Columns, more[1:]...)
	for i := range t.Rows {
		id := first + int64(i)
		row := t.Rows[i]
		row[0] = row[0].(int64)/100*100 + id
		t.Rows[i] = append(row, id, m.orNull(m.r.Int64N(2)), m.orNull(float64(m.r.IntN(40)-20)/4),
			m.list(func() any { return m.r.Int64N(4) }), m.list(func() any { return float64(m.r.IntN(9)) / 4 }),
			m.list(func() any { return float32(m.r.IntN(9)) / 4 }),
			m.list(func() any { return []string{"a", "b", "", "ab"}[m.r.IntN(4)] }),
			m.orNull([]string{`{"a":1}`, `{"a":2,"b":{"c":"x"}}`, `{"s":"a"}`, `[1,2]`, `"a"`, `2`, `{}`, `true`}[m.r.IntN(8)]))
	}
	return t, nil
}

func (m *Maker) orNull(v any) any {
	if m.r.IntN(6) == 0 {
		return nil
	}
	return v
}

func (m *Maker) list(element func() any) any {
	if m.r.IntN(6) == 0 {
		return nil
	}
	out := []any{}
	for range m.r.IntN(4) {
		out = append(out, m.orNull(element()))
	}
	return out
}

// Value returns a random expression of a type over the table t.
func (m *Maker) Value(t *Type) string { return m.value(t, "t", false, 2) }

// value is a random expression of a type over the table of an alias.
func (m *Maker) value(t *Type, alias string, calm bool, depth int) string {
	if depth > 0 && t.Class&Plain != 0 && m.r.IntN(4) == 0 {
		a, b := m.value(t, alias, calm, depth-1), m.value(t, alias, calm, depth-1)
		switch m.r.IntN(3) {
		case 0:
			return fmt.Sprintf("COALESCE(%s, %s)", a, b)
		case 1:
			return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", m.ofRow(alias, 1), a, b)
		}
		return fmt.Sprintf("CASE WHEN %s THEN %s END", m.ofRow(alias, 0), a)
	}
	of := t.calm
	if !calm && len(t.wild) > 0 && m.r.IntN(2) == 0 {
		of = t.wild
	}
	v := of[m.r.IntN(len(of))]
	kind, deep := map[string]oracle.Kind{"whole": oracle.Whole, "real": oracle.Real, "text": oracle.Text}[v]
	if !deep {
		return fmt.Sprintf(v, alias)
	}
	for {
		// A constant would be an ordinal in GROUP BY and ORDER BY.
		if e := m.Expression(kind, alias, 2); strings.Contains(e, alias+".") && !strings.Contains(e, alias+".m") {
			return e
		}
	}
}
