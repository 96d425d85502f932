package syntax

import (
	"fmt"
	"strings"
	"unicode"
)

// Print returns n as SQL on one line that parses to the same tree except for positions. It accepts
// every node of this package.
func Print(n Node) string {
	w := printer{}
	w.node(n)
	return w.String()
}

// PrintQuoted is Print with all names in quotes.
func PrintQuoted(n Node) string {
	w := printer{quotes: true}
	w.node(n)
	return w.String()
}

// QuoteIdent returns name as an identifier, in quotes if it needs them.
func QuoteIdent(name string) string {
	if isPlainWord(name) && !IsReserved(name) {
		return name
	}
	return quoted(name)
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// QuoteString returns s as a string literal.
func QuoteString(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// isPlainWord reports whether the lexer reads name as one word.
func isPlainWord(name string) bool {
	for i, r := range name {
		switch {
		case r == '_' || unicode.IsLetter(r) && r != unicode.ReplacementChar:
		case i > 0 && (r == '$' || unicode.In(r, unicode.M, unicode.Nd)):
		default:
			return false
		}
	}
	return name != ""
}

// printer writes SQL.
type printer struct {
	strings.Builder
	quotes bool // around names that need none, too
}

// put writes its arguments one behind the other.
func (w *printer) put(parts ...string) {
	for _, s := range parts {
		w.WriteString(s)
	}
}

func (w *printer) node(n Node) {
	switch n := n.(type) {
	case Expr:
		w.expr(n, precNone)
	case TableExpr:
		w.table(n)
	case GroupItem:
		w.groupItem(n)
	case Body: // before Statement: a *Query is both
		w.bodyNode(n)
	case Statement:
		w.statement(n)
	default:
		w.other(n)
	}
}

// other writes the nodes that are of no sum type.
func (w *printer) other(n Node) {
	switch n := n.(type) {
	case *Script:
		w.script(n)
	case Ident:
		w.ident(n)
	case *Ident:
		w.ident(*n)
	case *Export:
		w.export(n)
	case *Overwrite:
		w.overwrite(n, false)
	case *PartitionedBy:
		w.partitionedBy(n)
	case *CTE:
		w.cte(n)
	case OrderItem:
		w.orderItem(n)
	case *OrderItem:
		w.orderItem(*n)
	case *SelectItem:
		w.selectItem(n)
	case *GroupBy:
		w.groupBy(n)
	case *WindowDef:
		w.windowDef(n)
	case *ColumnDef:
		w.columnDef(n)
	case *PivotValue:
		w.pivotValue(n)
	case *UnpivotColumn:
		w.unpivotColumn(n)
	case *When:
		w.when(n)
	case *TypeName:
		w.typeName(n)
	case *JSONClauses:
		w.jsonClauses(n)
	case *JSONBehavior:
		w.jsonBehavior(n)
	case *Window:
		w.window(n)
	case *Frame:
		w.frame(n)
	case *FrameBound:
		w.frameBound(n)
	default:
		w.put(fmt.Sprintf("%T", n))
	}
}

// each writes n elements with separator between them.
func (w *printer) each(n int, separator string, one func(i int)) {
	for i := range n {
		if i > 0 {
			w.put(separator)
		}
		one(i)
	}
}

func (w *printer) ident(id Ident) {
	if id.Quoted {
		w.put(`"`, strings.ReplaceAll(id.Name, `"`, `""`), `"`)
		return
	}
	if w.quotes {
		w.put(quoted(id.Name))
		return
	}
	w.put(QuoteIdent(id.Name))
}

func (w *printer) idents(list []Ident) {
	w.put("(")
	w.each(len(list), ", ", func(i int) { w.ident(list[i]) })
	w.put(")")
}

func (w *printer) path(parts []Ident) {
	w.each(len(parts), ".", func(i int) { w.ident(parts[i]) })
}

func (w *printer) names(list []*Name) {
	if len(list) == 1 {
		w.path(list[0].Parts)
		return
	}
	w.put("(")
	w.each(len(list), ", ", func(i int) { w.path(list[i].Parts) })
	w.put(")")
}

func (w *printer) hint(text string) {
	if text != "" {
		w.put(" /*+ ", text, " */")
	}
}

func (w *printer) alias(id Ident) {
	if id.Name != "" {
		w.put(" AS ")
		w.ident(id)
	}
}

func (w *printer) script(s *Script) {
	for _, set := range s.Sets {
		w.statement(set)
		w.put("; ")
	}
	w.statement(s.Statement)
}

func (w *printer) statement(s Statement) {
	switch s := s.(type) {
	case *Query:
		w.query(s)
	case *Insert:
		w.insert(s)
	case *Explain:
		if s.Analyze {
			w.put("EXPLAIN ANALYZE ")
			w.put([...]string{"", "", "AS JSON ", ""}[s.Format])
			w.statement(s.Statement)
			return
		}
		if s.User != nil {
			w.put("EXPLAIN ACCESS FOR USER ")
			w.expr(s.User, precNone)
			w.put(" ")
			w.statement(s.Statement)
			return
		}
		w.put("EXPLAIN PLAN ")
		w.put([...]string{"", "EXCLUDING ATTRIBUTES ", "INCLUDING ATTRIBUTES ", "INCLUDING ALL ATTRIBUTES "}[s.Detail])
		w.put([...]string{"", "AS XML ", "AS JSON ", "AS DOT "}[s.Format], "FOR ")
		w.statement(s.Statement)
	case *Set:
		w.put("SET ")
		w.ident(s.Name)
		w.put(" = ")
		w.expr(s.Value, precNone)
	}
}

func (w *printer) insert(n *Insert) {
	// The query goes first, to know whether it begins with a parenthesis, which an expression before
	// it must not take for its own.
	q := printer{}
	q.query(n.Query)
	source := q.String()

	if n.Replace {
		w.put("REPLACE INTO ")
	} else {
		w.put("INSERT INTO ")
	}
	if n.Export != nil {
		w.export(n.Export)
	} else {
		w.path(n.Target.Parts)
	}
	if n.Columns != nil {
		w.put(" ")
		w.idents(n.Columns)
	}
	if n.Overwrite != nil {
		w.put(" ")
		w.overwrite(n.Overwrite, strings.HasPrefix(source, "("))
	}
	w.put(" ", source)
	if n.PartitionedBy != nil {
		w.put(" ")
		w.partitionedBy(n.PartitionedBy)
	}
	if n.ClusteredBy != nil {
		w.put(" CLUSTERED BY ")
		w.order(n.ClusteredBy)
	}
}

func (w *printer) export(x *Export) {
	w.put("EXTERN(")
	w.expr(x.Destination, precNone)
	w.put(")")
	if x.Format.Name != "" {
		w.put(" AS ")
		w.ident(x.Format)
	}
}

func (w *printer) overwrite(o *Overwrite, inParens bool) {
	switch {
	case o.Where == nil:
		w.put("OVERWRITE ALL")
	case inParens:
		w.put("OVERWRITE WHERE (")
		w.expr(o.Where, precNone)
		w.put(")")
	default:
		w.put("OVERWRITE WHERE ")
		w.expr(o.Where, precNone)
	}
}

func (w *printer) partitionedBy(b *PartitionedBy) {
	w.put("PARTITIONED BY ")
	if b.Granularity == nil {
		w.put("ALL")
		return
	}
	w.expr(b.Granularity, precNone)
}

func (w *printer) query(q *Query) {
	if len(q.With) > 0 {
		w.put("WITH ")
		w.each(len(q.With), ", ", func(i int) { w.cte(&q.With[i]) })
		w.put(" ")
	}
	w.body(q.Body)
	if len(q.OrderBy) > 0 {
		w.put(" ORDER BY ")
		w.order(q.OrderBy)
	}
	limit := func() {
		if q.Limit != nil {
			w.put(" LIMIT ")
			w.expr(q.Limit, precNone)
		}
	}
	offset := func() {
		if q.Offset != nil {
			w.put(" OFFSET ")
			w.expr(q.Offset, precNone)
		}
	}
	// Parameters count in the order of the text, which LIMIT start, count and an early OFFSET turn
	// round.
	a, isA := q.Limit.(*Param)
	b, isB := q.Offset.(*Param)
	if isA && isB && b.Index < a.Index {
		offset()
		limit()
		return
	}
	limit()
	offset()
}

func (w *printer) cte(c *CTE) {
	w.ident(c.Name)
	if c.Columns != nil {
		w.put(" ")
		w.idents(c.Columns)
	}
	w.put(" AS (")
	w.query(c.Query)
	w.put(")")
}

// bodyNode writes a body that stands alone; a query needs no parentheses then.
func (w *printer) bodyNode(b Body) {
	if q, ok := b.(*Query); ok {
		w.query(q)
		return
	}
	w.body(b)
}

func (w *printer) body(b Body) {
	switch b := b.(type) {
	case *Query:
		w.put("(")
		w.query(b)
		w.put(")")
	case *Select:
		w.selectBody(b)
	case *Values:
		w.put("VALUES ")
		w.each(len(b.Rows), ", ", func(i int) {
			w.put("(")
			w.exprs(b.Rows[i].Items)
			w.put(")")
		})
	case *TableQuery:
		w.put("TABLE ")
		w.path(b.Name.Parts)
	case *SetOp:
		w.setOp(b)
	}
}

func (op SetOperator) level() int {
	if op == Intersect {
		return 2
	}
	return 1
}

// String returns the keyword of the operator.
func (op SetOperator) String() string { return [...]string{"UNION", "INTERSECT", "EXCEPT"}[op] }

func (w *printer) setOp(s *SetOp) {
	separator := " " + s.Op.String() + " "
	if s.All {
		separator += "ALL "
	}
	w.each(len(s.Arms), separator, func(i int) {
		arm, ok := s.Arms[i].(*SetOp)
		if !ok {
			w.body(s.Arms[i])
			return
		}
		tight := arm.Op.level() > s.Op.level() || i == 0 && arm.Op.level() == s.Op.level() && (arm.Op != s.Op || arm.All != s.All)
		if tight {
			w.setOp(arm)
			return
		}
		w.put("(")
		w.setOp(arm)
		w.put(")")
	})
}

func (w *printer) order(list []OrderItem) {
	w.each(len(list), ", ", func(i int) { w.orderItem(list[i]) })
}

func (w *printer) orderItem(o OrderItem) {
	w.expr(o.X, precNone)
	if o.Desc {
		w.put(" DESC")
	}
	w.put([...]string{"", " NULLS FIRST", " NULLS LAST"}[o.Nulls])
}

func (w *printer) selectBody(s *Select) {
	w.put("SELECT")
	w.hint(s.Hint)
	w.put(" ")
	if s.Distinct {
		w.put("DISTINCT ")
	}
	w.each(len(s.Items), ", ", func(i int) { w.selectItem(&s.Items[i]) })
	if s.From != nil {
		w.put(" FROM ")
		w.table(s.From)
	}
	if s.Where != nil {
		w.put(" WHERE ")
		w.expr(s.Where, precNone)
	}
	if s.GroupBy != nil {
		w.put(" ")
		w.groupBy(s.GroupBy)
	}
	if s.Having != nil {
		w.put(" HAVING ")
		w.expr(s.Having, precNone)
	}
	if s.Windows != nil {
		w.put(" WINDOW ")
		w.each(len(s.Windows), ", ", func(i int) { w.windowDef(&s.Windows[i]) })
	}
	if s.Qualify != nil {
		w.put(" QUALIFY ")
		w.expr(s.Qualify, precNone)
	}
}

func (w *printer) selectItem(item *SelectItem) {
	w.expr(item.X, precNone)
	w.alias(item.Alias)
}

func (w *printer) groupBy(g *GroupBy) {
	w.put("GROUP BY ")
	if g.Distinct {
		w.put("DISTINCT ")
	}
	w.groupItems(g.Items)
}

func (w *printer) groupItems(list []GroupItem) {
	w.each(len(list), ", ", func(i int) { w.groupItem(list[i]) })
}

func (w *printer) groupItem(g GroupItem) {
	list := func(name string, items []GroupItem) {
		w.put(name, "(")
		w.groupItems(items)
		w.put(")")
	}
	switch g := g.(type) {
	case *GroupExpr:
		w.expr(g.X, precNone)
	case *GroupTuple:
		w.put("(")
		w.exprs(g.Items)
		w.put(")")
	case *Rollup:
		list("ROLLUP", g.Items)
	case *Cube:
		list("CUBE", g.Items)
	case *GroupingSets:
		list("GROUPING SETS ", g.Items)
	}
}
