package plan_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql"
)

var rewrite = flag.Bool("rewrite", false, "write what statements give into testdata")

// catalog has datasources: t with 1,000 rows, u with 10, and f with 100,000.
type catalog struct{}

func (catalog) Table(_ context.Context, _ sql.Schema, name string) (*sql.Table, error) {
	columns := map[string]string{"t": "a b n:l x:d mv:m", "u": "a c n:l", "f": "a n:l"}[name]
	if columns == "" {
		return nil, nil
	}
	t := &sql.Table{Columns: []plan.Column{{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp).NotNull()}}}
	for c := range strings.FieldsSeq(columns) {
		name, kind, _ := strings.Cut(c, ":")
		typ := map[string]expr.Type{"": expr.Of(expr.Varchar), "l": expr.Of(expr.BigInt), "d": expr.Of(expr.Double), "m": expr.MultiString}[kind]
		t.Columns = append(t.Columns, plan.Column{Name: name, Type: typ})
	}
	return t, nil
}

func (catalog) Names(context.Context, sql.Schema) []string { return []string{"f", "t", "u"} }

func rows(s *plan.Scan) float64 {
	return map[string]float64{"t": 1000, "u": 10, "f": 100_000}[s.DataSource]
}

// testdata/rules.txt holds blocks: comments, "fires: ..." and "not: ..." with rules that must and
// must not change the plan, "off: ..." with rules switched off, "large: ..." with the rows of a
// side that is too large to be sent, a statement, and the plan after optimizing.
func TestRules(t *testing.T) {
	const name = "testdata/rules.txt"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		head, want, _ := strings.Cut(block, "\n----")
		var statement, must, mustNot, off []string
		large := 0.0
		for line := range strings.SplitSeq(head, "\n") {
			switch word, rest, _ := strings.Cut(line, " "); {
			case strings.HasPrefix(line, "#"):
			case word == "fires:":
				must = strings.Fields(rest)
			case word == "not:":
				mustNot = strings.Fields(rest)
			case word == "off:":
				off = strings.Fields(rest)
			case word == "large:":
				if large, err = strconv.ParseFloat(rest, 64); err != nil {
					t.Fatal(err)
				}
			default:
				statement = append(statement, line)
			}
		}
		text := strings.Join(statement, "\n")
		s, err := sql.Prepare(context.Background(), sql.Request{Text: text, Catalog: catalog{}})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		fired := map[string]bool{}
		n := plan.Optimize(s.Plan, plan.Options{Off: off, Rows: rows, BroadcastRowLimit: large, Context: expr.Context{Zone: s.Zone, Now: s.Now},
			Fired: func(r string) { fired[r] = true }})
		for _, whole := range []plan.Node{s.Plan, n} {
			plan.Walk(whole, func(n plan.Node) bool {
				columns := n.Columns()
				if plan.Width(n) != len(columns) {
					t.Errorf("%s: %T is %d wide and has %d columns", text, n, plan.Width(n), len(columns))
				}
				for i, c := range columns {
					if at := plan.ColumnAt(n, i); at != c {
						t.Errorf("%s: column %d of %T is %v and %v", text, i, n, c, at)
					}
				}
				return true
			})
		}
		got := "\n" + strings.TrimSuffix(plan.Format(n), "\n")
		for _, r := range append(slices.Clone(must), mustNot...) {
			if !slices.Contains(plan.RuleNames(), r) {
				t.Errorf("%s: no rule [%s]", text, r)
			}
		}
		for _, r := range must {
			if !fired[r] {
				t.Errorf("%s: rule [%s] did not fire", text, r)
			}
		}
		for _, r := range mustNot {
			if fired[r] {
				t.Errorf("%s: rule [%s] fired", text, r)
			}
		}
		if got != want && !*rewrite {
			t.Errorf("%s\ngives%s\nwant%s", head, got, want)
		}
		if names, before := columnNames(n), columnNames(s.Plan); !slices.Equal(names, before) {
			t.Errorf("%s: columns are %q after optimizing and were %q", text, names, before)
		}
		out = append(out, head+"\n----"+got)
	}
	if *rewrite {
		if err := os.WriteFile(name, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func columnNames(n plan.Node) []string {
	var out []string
	for _, c := range n.Columns() {
		out = append(out, c.Name)
	}
	return out
}

// A chain of u joined with itself, written so that neighbours in the text have no condition: all of
// it is ordered, far beyond 64 inputs.
func TestJoinOrderOfManyTables(t *testing.T) {
	for _, tables := range []int{40, 100, 200} {
		var from, where []string
		for i := range tables {
			from = append(from, "u u"+strconv.Itoa(i*7%tables)) // 7 and the numbers of tables have no common divisor
			if i > 0 {
				where = append(where, "u"+strconv.Itoa(i-1)+".n = u"+strconv.Itoa(i)+".n")
			}
		}
		text := "SELECT COUNT(*) FROM " + strings.Join(from, ", ") + " WHERE " + strings.Join(where, " AND ")
		s, err := sql.Prepare(t.Context(), sql.Request{Text: text, Catalog: catalog{}})
		if err != nil {
			t.Fatal(err)
		}
		n := plan.Optimize(s.Plan, plan.Options{Rows: rows, Context: expr.Context{Zone: s.Zone, Now: s.Now}})
		joins := 0
		var walk func(plan.Node)
		walk = func(n plan.Node) {
			if j, ok := n.(*plan.Join); ok {
				joins++
				if len(j.Keys) == 0 {
					t.Errorf("%d tables: a join has no key", tables)
				}
			}
			for _, in := range n.Inputs() {
				walk(in)
			}
		}
		walk(n)
		if joins != tables-1 {
			t.Errorf("%d joins of %d tables", joins, tables)
		}
	}
}

// Asking for the columns of a join visits each of its inputs once, however deep they are nested.
func TestColumnsOfDeepJoins(t *testing.T) {
	leaf := &plan.Inline{Out: []plan.Column{{Name: "a", Type: expr.Of(expr.BigInt)}}}
	var n plan.Node = leaf
	for range 100 {
		n = &plan.Join{Kind: plan.Inner, Left: leaf, Right: n}
	}
	if got := len(n.Columns()); got != 101 {
		t.Errorf("%d columns, want 101", got)
	}
}
