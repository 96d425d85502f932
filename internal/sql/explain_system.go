package sql

import (
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// systemText writes a plan that reads system tables as a tree in the words of the reference, which runs such plans by an interpreter of
// its own: operators are Bindable, columns are $ and their position. names are the plan's outer names, nil: its own.
func systemText(n plan.Node, names []string) string {
	var t systemTree
	t.node(n, names, 0)
	return t.String()
}

type systemTree struct{ strings.Builder }

func (t *systemTree) line(depth int, operator string, attributes ...string) {
	t.WriteString(strings.Repeat("  ", depth) + "Bindable" + operator + "(" + strings.Join(attributes, ", ") + ")\n")
}

func (t *systemTree) node(n plan.Node, names []string, depth int) {
	if names == nil {
		for _, c := range n.Columns() {
			names = append(names, c.Name)
		}
	}
	switch x := n.(type) {
	case *plan.System:
		t.line(depth, "TableScan", "table=[["+x.Schema+", "+x.Table+"]]")
		return
	case *plan.Scan:
		t.line(depth, "TableScan", "table=[["+x.DataSource+"]]")
		return
	case *plan.Project:
		if passesAll(x) { // only gives names
			t.node(x.Input, names, depth)
			return
		}
		list := make([]string, len(x.Exprs))
		for i, e := range x.Exprs {
			list[i] = names[i] + "=[" + plan.FormatOperators(e) + "]"
		}
		t.line(depth, "Project", list...)
	case *plan.Filter:
		t.line(depth, "Filter", "condition=["+plan.FormatOperators(x.Cond)+"]")
	case *plan.Aggregate:
		x = overColumns(x)
		n = x
		group := make([]string, len(x.Keys))
		for i, k := range x.Keys {
			group[i] = strconv.Itoa(k)
		}
		list := []string{"group=[{" + strings.Join(group, ", ") + "}]"}
		for i, a := range x.Aggs {
			list = append(list, names[len(x.Keys)+i]+"=["+systemCall(&a, len(x.Keys) > 0)+"]")
		}
		t.line(depth, "Aggregate", list...)
	case *plan.Sort:
		var list []string
		for i, k := range x.Keys {
			list = append(list, "sort"+strconv.Itoa(i)+"=[$"+strconv.Itoa(k.Column)+"]")
		}
		for i, k := range x.Keys {
			direction := "ASC"
			if k.Desc {
				direction = "DESC"
			}
			list = append(list, "dir"+strconv.Itoa(i)+"=["+direction+"]")
		}
		t.line(depth, "Sort", append(list, systemBounds(x.Offset, x.Limit)...)...)
	case *plan.Limit:
		t.line(depth, "Sort", systemBounds(x.Offset, x.Count)...)
	case *plan.Join:
		var terms []string
		for _, k := range x.Keys {
			terms = append(terms, "=($"+strconv.Itoa(k.Left)+", $"+strconv.Itoa(len(x.Left.Columns())+k.Right)+")")
		}
		if x.On != nil || len(terms) == 0 {
			terms = append(terms, plan.FormatOperators(x.On))
		}
		condition := terms[0]
		if len(terms) > 1 {
			condition = "AND(" + strings.Join(terms, ", ") + ")"
		}
		t.line(depth, "Join", "condition=["+condition+"]", "joinType=["+strings.ToLower(x.Kind.String())+"]")
	case *plan.Union:
		t.line(depth, "Union", "all=[true]")
	case *plan.Inline:
		t.line(depth, "Values", "rows=["+strconv.Itoa(x.Rows.Rows())+"]")
		return
	case *plan.SetOp:
		kind := "Intersect"
		if x.Kind == plan.Except {
			kind = "Minus"
		}
		t.line(depth, kind, "all=["+strconv.FormatBool(x.All)+"]")
	case *plan.Window:
		t.line(depth, "Window")
	case *plan.Unnest:
		columns := make([]string, len(x.Lists))
		for i, l := range x.Lists {
			columns[i] = "$" + strconv.Itoa(l.Column)
		}
		t.line(depth, "Uncollect", "column=["+strings.Join(columns, ", ")+"]")
	}
	for _, c := range n.Inputs() {
		t.node(c, nil, depth+1)
	}
}

// overColumns is an aggregate over what a projection of columns reads.
func overColumns(x *plan.Aggregate) *plan.Aggregate {
	p, ok := x.Input.(*plan.Project)
	if !ok {
		return x
	}
	from := make([]int, len(p.Exprs))
	for i, e := range p.Exprs {
		c, ok := e.(*expr.Column)
		if !ok {
			return x
		}
		from[i] = c.Index
	}
	out := *x
	out.Input, out.Keys, out.Aggs = p.Input, make([]int, len(x.Keys)), make([]plan.AggCall, len(x.Aggs))
	for i, k := range x.Keys {
		out.Keys[i] = from[k]
	}
	for i, a := range x.Aggs {
		args := make([]int, len(a.Args))
		for j, c := range a.Args {
			args[j] = from[c]
		}
		if a.Args = args; a.Filter >= 0 {
			a.Filter = from[a.Filter]
		}
		out.Aggs[i] = a
	}
	return &out
}

// passesAll reports whether p gives the columns of its input as they are.
func passesAll(p *plan.Project) bool {
	for i, e := range p.Exprs {
		if c, ok := e.(*expr.Column); !ok || c.Index != i {
			return false
		}
	}
	return len(p.Exprs) == len(p.Input.Columns())
}

func systemBounds(offset, limit int64) []string {
	var out []string
	if offset > 0 {
		out = append(out, "offset=["+strconv.FormatInt(offset, 10)+"]")
	}
	if limit >= 0 {
		out = append(out, "fetch=["+strconv.FormatInt(limit, 10)+"]")
	}
	return out
}

// systemCall writes an aggregate. The sum of a group is never that of no rows, which has a name of its own.
func systemCall(a *plan.AggCall, grouped bool) string {
	args := make([]string, len(a.Args))
	for i, c := range a.Args {
		args[i] = "$" + strconv.Itoa(c)
	}
	name := a.Agg.Name
	if name == "SUM" && grouped {
		name = "$SUM0"
	}
	text := name + "("
	if a.Distinct {
		text += "DISTINCT "
	}
	text += strings.Join(args, ", ") + ")"
	if a.Filter >= 0 {
		text += " FILTER $" + strconv.Itoa(a.Filter)
	}
	return text
}
