package syntax

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A random tree prints to a text that parses to the same tree.
func TestRandomTreesPrint(t *testing.T) {
	for seed := range uint64(1_000) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		e := g.expr(4)
		numberParams(e)
		text := Print(e)
		again, err := ParseExpr(text)
		if err != nil {
			t.Fatalf("seed %d: %s\n%v", seed, text, err)
		}
		if a, b := dump(e), dump(again); a != b {
			t.Fatalf("seed %d: %s\n%s", seed, text, difference(a, b))
		}
		s := &Script{Statement: g.statement()}
		s.Params = numberParams(s.Statement)
		text = Print(s)
		back, err := Parse(text)
		if err != nil {
			t.Fatalf("seed %d: %s\n%v", seed, text, err)
		}
		if a, b := dump(s), dump(back); a != b {
			t.Fatalf("seed %d: %s\n%s", seed, text, difference(a, b))
		}
	}
}

// generator makes random trees of the shapes the parser makes. Depth bounds how far they grow.
type generator struct{ *rand.Rand }

func (g *generator) flip() bool { return g.IntN(2) == 0 }

func pick[T any](g *generator, choices ...T) T { return choices[g.IntN(len(choices))] }

func some[T any](g *generator, least, most int, one func() T) []T {
	n := least + g.IntN(most-least+1)
	if n == 0 {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		list[i] = one()
	}
	return list
}

// ident makes identifiers that are hard to tell from keywords, among others.
func (g *generator) ident() Ident {
	if g.IntN(4) == 0 {
		return Ident{Name: pick(g, "select", "a b", `q"q`, "date", "Ünï", "1a", "from"), Quoted: true}
	}
	return Ident{Name: pick(g, "a", "b", "T1", "value", "date", "timestamp", "array", "row", "key", "both", "ilike", "contains", "symmetric",
		"filter", "rows", "current", "unbounded", "first", "nulls", "interval_", "desc", "year", "user", "größe", "json", "empty", "cube_",
		"immediately", "overwrite", "period", "x$y", "ts", "fn")}
}

func (g *generator) name() *Name { return &Name{Parts: some(g, 1, 3, g.ident)} }

func (g *generator) literal() Expr {
	switch g.IntN(9) {
	case 0:
		return &Number{Text: pick(g, "0", "12", "99999999999999999999")}
	case 1:
		return &Number{Kind: Decimal, Text: pick(g, "1.5", ".5", "1.")}
	case 2:
		return &Number{Kind: Approx, Text: pick(g, "1e5", "1.5E-3")}
	case 3:
		return &String{Value: pick(g, "", "it's", "a\nb", `\`, "日本", "--", "/*")}
	case 4:
		return pick[Expr](g, &Bool{Value: true}, &Bool{}, &Null{}, &Unknown{}, &Bytes{Hex: "0A"})
	case 5:
		return &Temporal{Kind: Timestamp, Text: "2000-01-01 00:00:00"}
	case 6:
		return &Interval{Negative: g.flip(), Text: "1", From: "DAY", To: pick(g, "", "SECOND"), Precision: pick(g, -1, 3), Fraction: -1}
	case 7:
		return &Param{}
	}
	return g.name()
}

func (g *generator) exprs(least, most, depth int) []Expr {
	return some(g, least, most, func() Expr { return g.expr(depth) })
}

// maybe makes an expression or none.
func (g *generator) maybe(depth int) Expr {
	if g.IntN(3) > 0 {
		return nil
	}
	return g.expr(depth)
}

func (g *generator) expr(depth int) Expr {
	if depth <= 0 {
		return g.literal()
	}
	depth--
	switch g.IntN(22) {
	case 0:
		return &Unary{Op: pick(g, Neg, Plus, Not), X: g.expr(depth)}
	case 1, 2, 3:
		op := Add + Operator(g.IntN(int(ImmediatelySucceeds-Add)+1))
		return &Binary{Op: op, Left: g.expr(depth), Right: g.expr(depth)}
	case 4, 5:
		return &Chain{Op: pick(g, And, Or, Concat), Args: g.exprs(2, 4, depth)}
	case 6:
		return &Is{X: g.expr(depth), Not: g.flip(), Test: Test(g.IntN(int(IsJSONScalar) + 1))}
	case 7:
		return &Between{X: g.expr(depth), Not: g.flip(), Symmetric: g.flip(), Low: g.expr(depth), High: g.expr(depth)}
	case 8:
		return &InList{X: g.expr(depth), Not: g.flip(), List: append(g.exprs(1, 3, depth), &Null{})}
	case 9:
		return &InQuery{X: g.expr(depth), Not: g.flip(), Query: g.query(depth)}
	case 10:
		return &Like{Kind: LikeKind(g.IntN(3)), X: g.expr(depth), Not: g.flip(), Pattern: g.expr(depth), Escape: g.maybe(depth)}
	case 11:
		set := pick[Expr](g, &Row{Items: append([]Expr{&Null{}}, g.exprs(1, 2, depth)...)}, &Subquery{Query: g.query(depth)})
		return &Quantified{X: &Null{}, Op: pick(g, Equal, Less, GreaterEqual), All: g.flip(), Set: set}
	case 12:
		return g.caseExpr(depth)
	case 13:
		return &Cast{X: g.expr(depth), Type: g.typeName(2), Safe: g.flip()}
	case 14, 15, 16, 17:
		return g.call(depth)
	case 18:
		return pick[Expr](g, &Row{Items: []Expr{&Null{}, &Null{}}}, &Array{}, &Row{Items: []Expr{g.name()}}, &Array{Items: []Expr{g.name()}})
	case 19:
		return &Item{X: g.expr(depth), Index: g.expr(depth)}
	case 20:
		return &Field{X: g.expr(depth), Name: g.ident()}
	}
	q := g.query(depth)
	if g.flip() {
		return &Exists{Query: q}
	}
	return &Subquery{Query: q}
}

// numberParams gives the parameters below n their numbers, and returns how many there are. It holds
// Walk to the order of the text.
func numberParams(n Node) int {
	count := 0
	Walk(n, func(n Node) bool {
		if p, ok := n.(*Param); ok {
			p.Index = count
			count++
		}
		return true
	})
	return count
}

func (g *generator) caseExpr(depth int) Expr {
	c := &Case{Operand: g.maybe(depth)}
	most := 1
	if c.Operand != nil {
		most = 2
	}
	c.Whens = some(g, 1, 3, func() When { return When{Conds: g.exprs(1, most, depth), Then: g.expr(depth)} })
	c.Else = g.maybe(depth)
	return c
}

func (g *generator) typeName(depth int) *TypeName {
	if depth > 0 && g.IntN(6) == 0 {
		fields := func() ColumnDef { return ColumnDef{Name: g.ident(), Type: g.typeName(depth - 1), NotNull: g.flip()} }
		return &TypeName{Name: "ROW", Fields: some(g, 1, 2, fields)}
	}
	return pick(g, &TypeName{Name: "VARCHAR"}, &TypeName{Name: "DECIMAL", Args: []int{5, 2}}, &TypeName{Name: "BIGINT", Arrays: 2},
		&TypeName{Name: "TIMESTAMP", Args: []int{3}, Zone: WithLocalZone}, &TypeName{Name: "TYPE", Native: "COMPLEX<json>"},
		&TypeName{Name: "INTERVAL DAY TO SECOND"}, &TypeName{Name: "a.B"}, &TypeName{Name: "DOUBLE"})
}

func (g *generator) order(least, depth int) []OrderItem {
	return some(g, least, 2, func() OrderItem {
		return OrderItem{X: g.expr(depth), Desc: g.flip(), Nulls: NullOrder(g.IntN(3))}
	})
}

func (g *generator) call(depth int) Expr {
	unit := &Symbol{Word: "DAY"}
	switch g.IntN(14) {
	case 0:
		return &Call{Name: "EXTRACT", Args: []Expr{unit, g.expr(depth)}}
	case 1:
		return &Call{Name: "FLOOR", Args: []Expr{g.expr(depth), unit}}
	case 2:
		return &Call{Name: "TIMESTAMPADD", Args: append([]Expr{unit}, g.exprs(1, 2, depth)...)}
	case 3:
		return &Call{Name: "TRIM", Args: append([]Expr{&Symbol{Word: "LEADING"}}, g.exprs(1, 2, depth)...)}
	case 4:
		return &Call{Name: "JSON_OBJECT", Args: g.exprs(2, 2, depth), JSON: pick(g, nil, &JSONClauses{Null: JSONAbsentOnNull})}
	case 5:
		return &Call{Name: "JSON_VALUE", Args: g.exprs(2, 2, depth), JSON: &JSONClauses{
			Returning: g.typeName(1),
			OnEmpty:   &JSONBehavior{Kind: JSONDefault, Value: g.expr(depth)},
			OnError:   &JSONBehavior{Kind: JSONNullValue},
		}}
	case 6:
		return &Call{Name: pick(g, "CURRENT_TIMESTAMP", "LOCALTIME"), Niladic: true}
	case 7:
		return &Call{Name: "COUNT", Args: []Expr{&Star{}}, Filter: g.maybe(depth)}
	case 8:
		return &Call{Qualifier: []Ident{g.ident()}, Name: "F", Args: []Expr{&NamedArg{Name: g.ident(), X: g.expr(depth)}, &Default{}}}
	}
	c := &Call{Name: pick(g, "SUM", "LEFT", "TRIM", "POSITION", "EXTRACT", "FLOOR", "SUBSTRING", "MY FN", "SELECT", "ROW", "JSON_OBJECT",
		"ROLLUP", "KEY", "VALUE", "BOTH", "CAST", "TRY_CAST", "COALESCE", "CONTAINS", "SYMMETRIC", "CURRENT_TIMESTAMP", "JSON_ARRAY", "OVERLAY",
		"DATE")}
	c.Args = g.exprs(0, 3, depth)
	c.Distinct = len(c.Args) > 0 && g.IntN(4) == 0
	if len(c.Args) > 0 && g.IntN(4) == 0 {
		c.OrderBy = g.order(1, depth)
	}
	c.Nulls = NullTreatment(g.IntN(3))
	c.WithinGroup = g.order(0, depth)
	c.Filter = g.maybe(depth)
	if g.IntN(3) == 0 {
		c.Over = g.window(depth)
	}
	return c
}

func (g *generator) window(depth int) *Window {
	if g.IntN(4) == 0 {
		return &Window{Base: Ident{Name: "w"}, Bare: true}
	}
	w := &Window{PartitionBy: g.exprs(0, 2, depth), OrderBy: g.order(0, depth)}
	if g.flip() {
		w.Base = Ident{Name: "w"}
	}
	if g.flip() {
		bound := func() FrameBound {
			b := FrameBound{Kind: BoundKind(g.IntN(5))}
			if b.Kind == OffsetPreceding || b.Kind == OffsetFollowing {
				b.Offset = g.expr(depth)
			}
			return b
		}
		w.Frame = &Frame{Unit: FrameUnit(g.IntN(3)), Start: bound(), Exclude: FrameExclude(g.IntN(5))}
		if w.Frame.Between = g.flip(); w.Frame.Between {
			w.Frame.End = bound()
		}
	}
	return w
}

// query makes a query; one without clauses is not only another query in parentheses.
func (g *generator) query(depth int) *Query {
	q := &Query{}
	if g.IntN(5) == 0 {
		q.With = some(g, 1, 2, func() CTE { return CTE{Name: g.ident(), Columns: some(g, 0, 2, g.ident), Query: g.query(depth - 1)} })
	}
	q.Body = g.body(depth)
	_, nested := q.Body.(*Query)
	q.OrderBy = g.order(0, depth-1)
	if g.flip() || nested && q.isBare() {
		q.Limit = &Number{Text: "5"}
	}
	if g.IntN(3) == 0 {
		q.Offset = &Number{Text: "1"}
	}
	return q
}

func (g *generator) body(depth int) Body {
	depth--
	if depth > 0 {
		switch g.IntN(8) {
		case 0, 1:
			op := pick(g, Union, Intersect, Except)
			return &SetOp{Op: op, All: g.flip(), Arms: some(g, 2, 3, func() Body { return g.body(depth) })}
		case 2:
			if q := g.query(depth); !q.isBare() {
				return q
			}
		case 3:
			return &Values{Rows: some(g, 1, 2, func() *Row { return &Row{Items: g.exprs(1, 2, depth)} })}
		case 4:
			return &TableQuery{Name: g.name()}
		}
	}
	s := &Select{Distinct: g.flip(), Hint: pick(g, "", "", "sort_merge")}
	s.Items = some(g, 1, 3, func() SelectItem { return g.item(depth) })
	if g.flip() {
		return s
	}
	s.From = g.table(depth)
	s.Where = g.maybe(depth)
	if g.IntN(3) == 0 {
		s.GroupBy = &GroupBy{Distinct: g.IntN(4) == 0, Items: some(g, 1, 3, func() GroupItem { return g.groupItem(depth, 2) })}
	}
	s.Having = g.maybe(depth)
	s.Windows = some(g, 0, 1, func() WindowDef {
		w := g.window(depth)
		w.Bare = false
		return WindowDef{Name: g.ident(), Window: w}
	})
	s.Qualify = g.maybe(depth)
	return s
}

func (g *generator) item(depth int) SelectItem {
	if g.IntN(5) == 0 {
		return SelectItem{X: &Star{Parts: some(g, 0, 2, g.ident), Without: some(g, 0, 2, g.ident)}}
	}
	item := SelectItem{X: g.expr(depth)}
	if g.flip() {
		item.Alias = g.ident()
	}
	return item
}

func (g *generator) groupItem(depth, nest int) GroupItem {
	items := func() []GroupItem { return some(g, 1, 2, func() GroupItem { return g.groupItem(depth, nest-1) }) }
	switch {
	case nest == 0 || g.flip():
		return &GroupExpr{X: g.expr(depth)}
	case g.flip():
		return pick[GroupItem](g, &GroupTuple{}, &GroupTuple{Items: []Expr{g.name(), g.name()}})
	}
	switch g.IntN(3) {
	case 0:
		return &Rollup{Items: items()}
	case 1:
		return &Cube{Items: items()}
	}
	return &GroupingSets{Items: items()}
}

func (g *generator) table(depth int) TableExpr {
	if depth <= 0 {
		return &Table{Name: g.name(), Hint: pick(g, "", "broadcast")}
	}
	depth--
	switch g.IntN(10) {
	case 0:
		return &Derived{Lateral: g.flip(), Query: g.query(depth)}
	case 1:
		columns := func() ColumnDef { return ColumnDef{Name: g.ident(), Type: g.typeName(1)} }
		return &TableFunction{Call: &Call{Name: "EXTERN", Args: g.exprs(0, 2, depth)}, Columns: some(g, 0, 2, columns)}
	case 2:
		return &Unnest{Args: g.exprs(1, 2, depth), Ordinality: g.flip()}
	case 3, 4, 5:
		j := &Join{Kind: JoinKind(g.IntN(6)), Left: g.table(depth), Right: g.table(depth), Hint: pick(g, "", "broadcast")}
		if j.Kind < CrossJoin {
			switch g.IntN(4) {
			case 0:
				j.Natural = true
			case 1:
				j.Using = some(g, 1, 2, g.ident)
			case 2:
				j.On = g.expr(depth)
			}
		}
		return j
	case 6:
		return &Aliased{X: g.table(depth), Alias: g.ident(), Columns: some(g, 0, 2, g.ident)}
	case 7:
		return &Pivot{X: g.table(depth), Aggregates: []SelectItem{g.aggregate(depth), g.aggregate(depth)}, Axes: []*Name{g.name(), g.name()},
			Values: []PivotValue{{Items: g.exprs(2, 2, depth)}, {Items: g.exprs(2, 2, depth), Alias: g.ident()}}}
	case 8:
		return &Unpivot{X: g.table(depth), IncludeNulls: g.flip(), Measures: []Ident{g.ident()}, Axes: some(g, 1, 2, g.ident),
			Columns: []UnpivotColumn{{Columns: []*Name{g.name()}}, {Columns: []*Name{g.name(), g.name()}, Values: g.exprs(2, 2, depth)}}}
	}
	return &TableSample{X: g.table(depth), System: g.flip(), Percent: g.expr(depth), Repeatable: g.maybe(depth)}
}

func (g *generator) aggregate(depth int) SelectItem {
	return SelectItem{X: &Call{Name: "SUM", Args: g.exprs(1, 1, depth)}, Alias: g.ident()}
}

func (g *generator) statement() Statement {
	if g.IntN(3) > 0 {
		return g.query(4)
	}
	n := &Insert{Replace: g.flip(), Target: g.name(), Columns: some(g, 0, 2, g.ident)}
	if n.Replace && g.flip() {
		n.Overwrite = &Overwrite{Where: g.maybe(3)}
	}
	n.Query = g.query(3)
	if g.flip() {
		n.PartitionedBy = &PartitionedBy{Granularity: pick[Expr](g, nil, &Name{Parts: []Ident{{Name: "DAY"}}}, &String{Value: "P1D"})}
		n.ClusteredBy = g.order(0, 2)
	}
	if g.flip() {
		return n
	}
	return &Explain{Detail: ExplainDetail(g.IntN(4)), Format: ExplainFormat(g.IntN(4)), Statement: n}
}

// Parameters keep their order where LIMIT and OFFSET are turned round.
func TestPrintKeepsParameterOrder(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1 LIMIT ?, ?", "SELECT 1 OFFSET ? LIMIT ?", "SELECT 1 LIMIT ? OFFSET ?", "SELECT ? FETCH NEXT ? ROWS ONLY",
	} {
		s, err := Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		checkPrint(t, s)
	}
}

// The nodes that stand in other nodes print alone too.
func TestPrintParts(t *testing.T) {
	s, err := Parse("WITH c (x) AS (SELECT 1) SELECT SUM(a) OVER (PARTITION BY b ROWS 1 PRECEDING) AS s, CASE WHEN a THEN 1 END FROM t " +
		"WINDOW w AS (ORDER BY d) ORDER BY a DESC NULLS LAST")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	Walk(s.Statement, func(n Node) bool {
		got[fmt.Sprintf("%T", n)] = Print(n)
		return true
	})
	for kind, want := range map[string]string{
		"*syntax.CTE":        "c (x) AS (SELECT 1)",
		"*syntax.SelectItem": "CASE WHEN a THEN 1 END",
		"*syntax.Window":     "(ORDER BY d)",
		"*syntax.Frame":      "ROWS 1 PRECEDING",
		"*syntax.FrameBound": "1 PRECEDING",
		"*syntax.WindowDef":  "w AS (ORDER BY d)",
		"*syntax.OrderItem":  "a DESC NULLS LAST",
		"*syntax.When":       "WHEN a THEN 1",
	} {
		if got[kind] != want {
			t.Errorf("%s prints as %q, want %q", kind, got[kind], want)
		}
	}
}

func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "Größe": "Größe", "a$1": "a$1", "1a": `"1a"`, "a b": `"a b"`, "select": `"select"`, "date": "date", `q"q`: `"q""q"`, "": `""`,
	} {
		if got := QuoteIdent(name); got != want {
			t.Errorf("QuoteIdent(%q) = %s, want %s", name, got, want)
		}
	}
	if got := QuoteString("it's"); got != "'it''s'" {
		t.Errorf("QuoteString = %s", got)
	}
	if got := strings.Contains(Print(&Set{Name: Ident{Name: "a"}, Value: &Null{}}), "SET a = NULL"); !got {
		t.Error("SET does not print")
	}
}
