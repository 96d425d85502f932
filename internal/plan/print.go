package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
)

// Format returns the plan as a tree, one operator per line with its inputs indented below. Columns
// are printed as name#position.
func Format(n Node) string {
	var p printer
	p.node(n, 0)
	return p.String()
}

// FormatExpr returns e as text; columns are printed as name#position.
func FormatExpr(e expr.Expr) string {
	var p printer
	p.expr(e)
	return p.String()
}

type printer struct{ strings.Builder }

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

// FormatOne returns the line of Format for n itself.
func FormatOne(n Node) string {
	var p printer
	p.own(n)
	return p.String()
}

func (p *printer) node(n Node, depth int) {
	p.WriteString(strings.Repeat("  ", depth))
	p.own(n)
	p.WriteByte('\n')
	for _, c := range n.Inputs() {
		p.node(c, depth+1)
	}
}

// own writes the line of n alone.
func (p *printer) own(n Node) {
	switch x := n.(type) {
	case *Scan:
		p.printf("Scan %s [%s]", x.DataSource, columnList(x.Out))
		if x.Intervals != nil {
			p.printf(" intervals=%s", intervalList(x.Intervals))
		}
		if x.Filter != nil {
			p.printf(" filter %s", FormatExpr(x.Filter))
		}
		if x.Limit >= 0 {
			p.printf(" limit=%d", x.Limit)
		}
		switch x.Time {
		case 1:
			p.WriteString(" time=asc")
		case -1:
			p.WriteString(" time=desc")
		}
	case *Inline:
		p.printf("Inline [%s] rows=%d", columnList(x.Out), x.Rows.Rows())
	case *External:
		p.printf("External [%s] source=%s format=%s", columnList(x.Out), x.Source, x.Format)
	case *System:
		p.printf("System %s.%s [%s]", x.Schema, x.Table, columnList(x.Out))
	case *Filter:
		p.printf("Filter %s", FormatExpr(x.Cond))
	case *Project:
		p.WriteString("Project [")
		for i, e := range x.Exprs {
			if i > 0 {
				p.WriteString(", ")
			}
			p.expr(e)
			if c, ok := e.(*expr.Column); !ok || c.Name != x.Names[i] {
				p.printf(" as %s", x.Names[i])
			}
		}
		p.WriteString("]")
	case *Aggregate:
		in := x.Input.Columns()
		p.printf("Aggregate keys=[%s]", keyList(in, x.Keys))
		if x.Sets != nil {
			p.printf(" sets=%v", x.Sets)
		}
		p.WriteString(" aggs=[")
		for i, a := range x.Aggs {
			if i > 0 {
				p.WriteString(", ")
			}
			p.call(in, &a)
		}
		p.WriteString("]")
		if len(x.Order) > 0 {
			p.printf(" order=[%s]", sortList(in, x.Order))
		}
		if x.Grouping {
			p.WriteString(" grouping")
		}
	case *Sort:
		p.printf("Sort [%s]", sortList(x.Input.Columns(), x.Keys))
		p.bounds(x.Offset, x.Limit)
	case *Limit:
		p.WriteString("Limit")
		p.bounds(x.Offset, x.Count)
	case *Join:
		left, right := x.Left.Columns(), x.Right.Columns()
		p.printf("Join %s", x.Kind)
		for i, k := range x.Keys {
			sep, op := ",", "="
			if i == 0 {
				sep = " keys=["
			}
			if k.NullSafe {
				op = "<=>"
			}
			p.printf("%s%s%s%s", sep, columnText(left, k.Left), op, columnText(right, k.Right))
		}
		if len(x.Keys) > 0 {
			p.WriteString("]")
		}
		if x.On != nil {
			p.printf(" on %s", FormatExpr(x.On))
		}
	case *Union:
		p.printf("Union [%s]", columnList(x.Out))
	case *SetOp:
		p.WriteString(x.Kind.String())
		if x.All {
			p.WriteString(" all")
		}
	case *Buckets:
		p.printf("Buckets %s as %s", x.Granularity, x.Name)
	case *Shared:
		p.printf("Shared %d", x.ID)
	case *Unnest:
		p.WriteString("Unnest ")
		for i, l := range x.Lists {
			if i > 0 {
				p.WriteString(", ")
			}
			p.printf("%s as %s %s", columnText(x.Input.Columns(), l.Column), l.Name, l.Elem)
		}
		if x.Outer {
			p.WriteString(" outer")
		}
		if x.Ordinality {
			p.WriteString(" ordinality")
		}
	case *Window:
		in := x.Input.Columns()
		p.printf("Window partition=[%s] order=[%s] calls=[", keyList(in, x.Partition), sortList(in, x.Order))
		for i := range x.Calls {
			if i > 0 {
				p.WriteString(", ")
			}
			p.windowCall(in, &x.Calls[i])
		}
		p.WriteString("]")
	case *Write:
		verb := "Insert"
		if x.Replace {
			verb = "Replace"
		}
		p.printf("%s %s partition=%s", verb, x.DataSource, x.PartitionBy)
		if x.ReplaceAll {
			p.WriteString(" overwrite=all")
		} else if x.Intervals != nil {
			p.printf(" overwrite=%s", intervalList(x.Intervals))
		}
		if len(x.Cluster) > 0 {
			p.printf(" cluster=[%s]", keyList(x.Input.Columns(), x.Cluster))
		}
		if x.Hidden > 0 {
			p.printf(" hidden=%d", x.Hidden)
		}
		if x.Rollup {
			p.WriteString(" rollup")
		}
	case *Export:
		p.printf("Export %s format=%s", x.Destination, x.Format)
	default:
		p.printf("%T", n)
	}
}

func (p *printer) bounds(offset, limit int64) {
	if offset > 0 {
		p.printf(" offset=%d", offset)
	}
	if limit >= 0 {
		p.printf(" limit=%d", limit)
	}
}

func (p *printer) call(in []Column, a *AggCall) {
	p.printf("%s(", a.Agg.Name)
	if a.Distinct {
		p.WriteString("distinct ")
	}
	p.WriteString(keyList(in, a.Args))
	for _, v := range a.Agg.Params {
		p.printf("; %v", v)
	}
	p.WriteString(")")
	if a.Filter >= 0 {
		p.printf(" filter %s", columnText(in, a.Filter))
	}
	p.printf(" as %s %s", a.Name, a.Type)
}

func (p *printer) windowCall(in []Column, c *WindowCall) {
	call := c.AggCall
	if c.Fn != "" {
		call.Agg.Name = c.Fn
	}
	p.call(in, &call)
	if c.IgnoreNulls {
		p.WriteString(" ignore nulls")
	}
	unit := "rows"
	switch {
	case c.Frame.Range:
		unit = "range"
	case c.Frame.Groups:
		unit = "groups"
	}
	if c.Frame.Values {
		unit = "range of values"
	}
	p.printf(" %s %s..%s", unit, bound(c.Frame.FromUnbounded, c.Frame.FromColumn, c.Frame.FromOffset),
		bound(c.Frame.ToUnbounded, c.Frame.ToColumn, c.Frame.ToOffset))
	if c.Frame.Exclude != ExcludeNothing {
		p.printf(" exclude %s", c.Frame.Exclude)
	}
}

func bound(unbounded bool, column int, offset int64) string {
	switch {
	case unbounded:
		return "unbounded"
	case column >= 0:
		return "#" + strconv.Itoa(column)
	}
	return strconv.FormatInt(offset, 10)
}

func (p *printer) expr(e expr.Expr) {
	switch x := e.(type) {
	case nil:
		p.WriteString("nil")
	case *expr.Column:
		p.printf("%s#%d", x.Name, x.Index)
	case *expr.Literal:
		p.literal(x)
	case *expr.Call:
		p.printf("%s", x.Fn.Name)
		p.list(x.Args, "(", ", ", ")")
	case *expr.Cast:
		p.WriteString("cast(")
		p.expr(x.X)
		p.printf(" as %s)", x.T)
	case *expr.Case:
		p.WriteString("case(")
		for _, w := range x.Whens {
			p.expr(w.Cond)
			p.WriteString(" -> ")
			p.expr(w.Then)
			p.WriteString(", ")
		}
		p.WriteString("else ")
		p.expr(x.Else)
		p.WriteString(")")
	case *expr.And:
		p.list(x.Terms, "(", " and ", ")")
	case *expr.Or:
		p.list(x.Terms, "(", " or ", ")")
	case *expr.Not:
		p.WriteString("not(")
		p.expr(x.X)
		p.WriteString(")")
	case *expr.In:
		p.expr(x.X)
		p.WriteString(" in (")
		for i, v := range x.Values {
			if i == maxPrintedValues {
				p.printf(", ... %d in all", len(x.Values))
				break
			}
			if i > 0 {
				p.WriteString(", ")
			}
			p.value(v)
		}
		if x.HasNull {
			p.WriteString(", null")
		}
		p.WriteString(")")
	case *expr.Each:
		p.WriteString("each(")
		p.expr(x.Source)
		p.WriteString(": ")
		p.expr(x.Body)
		p.WriteString(")")
	case *expr.Any:
		p.WriteString("any(")
		p.expr(x.Source)
		p.WriteString(": ")
		p.expr(x.Body)
		p.WriteString(")")
	case *expr.Loop:
		p.WriteString(x.Kind.String())
		if x.Zip {
			p.WriteString(" side by side")
		}
		p.list(x.Lists, "(", ", ", ": ")
		if x.Initial != nil {
			p.WriteString("from ")
			p.expr(x.Initial)
			p.WriteString(" ")
		}
		p.expr(x.Body)
		p.WriteString(")")
	case *expr.Element:
		p.WriteString("it")
		p.WriteString(strings.Repeat("^", x.Depth))
	default:
		p.printf("%T", e)
	}
}

func (p *printer) list(list []expr.Expr, open, sep, end string) {
	p.WriteString(open)
	for i, e := range list {
		if i > 0 {
			p.WriteString(sep)
		}
		p.expr(e)
	}
	p.WriteString(end)
}

func (p *printer) literal(l *expr.Literal) {
	if ms, ok := l.Value.(int64); ok {
		switch l.T.Base {
		case expr.Timestamp, expr.Date:
			p.WriteString(chrono.FormatMillis(ms, chrono.UTC))
			return
		case expr.Boolean:
			p.WriteString(strconv.FormatBool(ms != 0))
			return
		}
	}
	p.value(l.Value)
}

func (p *printer) value(v any) {
	switch x := v.(type) {
	case nil:
		p.WriteString("null")
	case string:
		p.WriteString("'" + strings.ReplaceAll(x, "'", "''") + "'")
	case float64:
		p.WriteString(strconv.FormatFloat(x, 'g', -1, 64))
	case []any:
		p.WriteString("[")
		for i, e := range x {
			if i > 0 {
				p.WriteString(", ")
			}
			p.value(e)
		}
		p.WriteString("]")
	default:
		p.printf("%v", v)
	}
}

// String returns the kind in lower case.
func (k JoinKind) String() string {
	return [...]string{"inner", "left", "right", "full", "semi", "anti", "anti-null", "single"}[k]
}

// String returns Intersect or Except.
func (k SetKind) String() string {
	return [...]string{"Intersect", "Except"}[k]
}

func columnList(cols []Column) string {
	var b strings.Builder
	for i, c := range cols {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Name)
		if c.Type.Multi {
			b.WriteString("*")
		}
	}
	return b.String()
}

func columnText(cols []Column, i int) string {
	if i < 0 || i >= len(cols) {
		return fmt.Sprintf("?#%d", i)
	}
	return fmt.Sprintf("%s#%d", cols[i].Name, i)
}

func keyList(cols []Column, keys []int) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = columnText(cols, k)
	}
	return strings.Join(texts, ", ")
}

func sortList(cols []Column, keys []SortKey) string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = columnText(cols, k.Column)
		if k.Desc {
			texts[i] += " desc"
		}
		if k.NullsFirst == k.Desc {
			texts[i] += map[bool]string{true: " nulls first", false: " nulls last"}[k.NullsFirst]
		}
	}
	return strings.Join(texts, ", ")
}

func intervalList(list []chrono.Interval) string {
	texts := make([]string, len(list))
	for i, iv := range list {
		texts[i] = iv.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}
