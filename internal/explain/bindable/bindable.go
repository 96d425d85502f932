// Package bindable writes plans over system tables in the form of EXPLAIN PLAN FOR. Apache Druid
// runs such plans with an interpreter: a plan is a tree of operators called Bindable, which refer
// to a column by $ and its position.
//
// Text is the entry point. Package explain/native writes plans over datasources.
package bindable

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/explain/rules"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/infoschema"
)

// Text formats a plan that reads system tables as a tree. names are the output names of the plan.
func Text(n plan.Node, env expr.Context, names []string) string {
	t := systemTree{columns: map[string][]plan.Column{}}
	joins := false
	plan.Walk(n, func(n plan.Node) bool {
		if x, ok := n.(*plan.System); ok {
			t.columns[x.Schema+"."+x.Table] = x.Out
		}
		_, isJoin := n.(*plan.Join)
		joins = joins || isJoin
		return true
	})
	o := plan.Options{Context: env, Rules: rules.Bindable(joins)}
	t.node(sortedBelow(withOrderNamed(plan.Optimize(n, o))), names, 0)
	return t.String()
}

// withOrderNamed has what rows are only ordered by be called as what it is, or as its number among
// the columns.
func withOrderNamed(n plan.Node) plan.Node {
	n = plan.MapInputs(n, withOrderNamed)
	p, ok := n.(*plan.Project)
	if !ok || !slices.Contains(p.Names, plan.OrderColumn) {
		return n
	}
	out := &plan.Project{Input: p.Input, Exprs: p.Exprs, Names: slices.Clone(p.Names)}
	for i, e := range p.Exprs {
		if out.Names[i] != plan.OrderColumn {
			continue
		}
		if out.Names[i] = "EXPR$" + strconv.Itoa(i); isOfTable(p.Input) {
			if c, ok := e.(*expr.Column); ok {
				out.Names[i] = c.Name
			}
		}
	}
	return out
}

// isOfTable reports whether the columns of n are those of a table.
func isOfTable(n plan.Node) bool {
	if f, ok := n.(*plan.Filter); ok {
		return isOfTable(f.Input)
	}
	_, ok := n.(*plan.System)
	return ok
}

// sortedBelow has a plan that sorts the columns it chooses, and limits them, do that before it
// chooses.
func sortedBelow(n plan.Node) plan.Node {
	if p, ok := n.(*plan.Project); ok {
		if sort, ok := p.Input.(*plan.Sort); ok && sort.Limit >= 0 {
			return plan.WithInputs(p, []plan.Node{sortedBelow(sort)})
		}
		return n
	}
	sort, ok := n.(*plan.Sort)
	if !ok || sort.Limit < 0 && sort.Offset == 0 {
		return n
	}
	p, ok := sort.Input.(*plan.Project)
	if !ok || passesAll(p) {
		return n
	}
	keys := make([]plan.SortKey, len(sort.Keys))
	for i, k := range sort.Keys {
		c, ok := p.Exprs[k.Column].(*expr.Column)
		if !ok {
			return n
		}
		keys[i] = k
		keys[i].Column = c.Index
	}
	for _, e := range p.Exprs {
		switch e.(type) {
		case *expr.Column, *expr.Literal:
		default:
			return n
		}
	}
	below := *sort
	below.Input, below.Keys = p.Input, keys
	return plan.WithInputs(p, []plan.Node{&below})
}

type systemTree struct {
	strings.Builder
	// columns are all columns of the tables.
	columns map[string][]plan.Column
	// chosen says that something above chooses columns, which need no constants in their place then.
	chosen bool
}

func (t *systemTree) line(depth int, operator string, attributes ...string) {
	t.WriteString(strings.Repeat("  ", depth) + "Bindable" + operator + "(" + strings.Join(attributes, ", ") + ")\n")
}

// node writes n and what is below. names are those that its columns have above, "" for one that is
// only computed with; nil: its own.
func (t *systemTree) node(n plan.Node, names []string, depth int) {
	if names == nil {
		names = namesOfColumns(n)
	}
	fixed := func(n plan.Node) map[int]*expr.Literal {
		if t.chosen {
			return nil
		}
		return fixedBelow(n)
	}
	if p, ok := n.(*plan.Project); ok && passesAll(p) && fixed(p.Input) == nil { // only gives names
		t.node(p.Input, names, depth)
		return
	}
	if values := fixed(n); values != nil || isComputed(n) {
		list := make([]string, len(names))
		for i, name := range names {
			list[i] = name + "=[" + t.column(n, values, i) + "]"
		}
		t.line(depth, "Project", list...)
		depth++
	}
	t.operator(n, names, depth)
}

// operator is node without a projection of what n computes.
func (t *systemTree) operator(n plan.Node, names []string, depth int) {
	if names == nil {
		names = namesOfColumns(n)
	}
	switch x := n.(type) {
	case *plan.System:
		t.table(x, depth)
		return
	case *plan.Scan:
		t.line(depth, "TableScan", "table=[["+x.DataSource+"]]")
		return
	case *plan.Project:
		t.project(x, names, depth)
		return
	case *plan.Filter:
		t.line(depth, "Filter", "condition=["+plan.FormatOperatorsOver(x.Cond, func(c *expr.Column) string { return t.column(x.Input, nil, c.Index) })+"]")
		t.operator(x.Input, names, depth+1)
		return
	case *plan.Aggregate:
		t.aggregate(overColumns(x), names, depth)
		return
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
		t.node(x.Input, names, depth+1)
		return
	case *plan.Limit:
		t.line(depth, "Sort", systemBounds(x.Offset, x.Count)...)
		t.node(x.Input, names, depth+1)
		return
	case *plan.Join:
		t.join(x, depth)
		return
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

// table writes a table, of which only some columns may be chosen.
func (t *systemTree) table(x *plan.System, depth int) {
	all := t.columns[x.Schema+"."+x.Table]
	if len(x.Out) < len(all) {
		list := make([]string, len(x.Out))
		for i, c := range x.Out {
			list[i] = c.Name + "=[$" + strconv.Itoa(slices.IndexFunc(all, func(a plan.Column) bool { return a.Name == c.Name })) + "]"
		}
		t.line(depth, "Project", list...)
		depth++
	}
	t.line(depth, "TableScan", "table=[["+x.Schema+", "+x.Table+"]]")
}

func (t *systemTree) project(x *plan.Project, names []string, depth int) {
	list := make([]string, len(x.Exprs))
	below := make([]string, len(x.Input.Columns()))
	values := fixedBelow(x.Input)
	if choosesAllRead(x) {
		values = nil
	}
	for i, e := range x.Exprs {
		if c, ok := e.(*expr.Column); ok {
			below[c.Index] = names[i]
		}
		list[i] = names[i] + "=[" + plan.FormatOperatorsOver(e, func(c *expr.Column) string { return t.column(x.Input, values, c.Index) }) + "]"
	}
	t.line(depth, "Project", list...)
	t.chosen = true
	if !hasAggregates(x.Input) {
		below = namesOfColumns(x.Input)
	}
	t.operator(x.Input, below, depth+1)
}

func namesOfColumns(n plan.Node) []string {
	var out []string
	for _, c := range n.Columns() {
		out = append(out, c.Name)
	}
	return out
}

// hasAggregates reports whether n is groups, or those that a condition chooses, in an order or not.
func hasAggregates(n plan.Node) bool {
	switch x := n.(type) {
	case *plan.Filter:
		return hasAggregates(x.Input)
	case *plan.Sort:
		return hasAggregates(x.Input)
	}
	_, ok := n.(*plan.Aggregate)
	return ok
}

// fixedBelow are the columns that a condition on a table gives one value; nil: there are none.
func fixedBelow(n plan.Node) map[int]*expr.Literal {
	if s, ok := n.(*plan.Sort); ok {
		return fixedBelow(s.Input)
	}
	f, ok := n.(*plan.Filter)
	if !ok {
		return nil
	}
	table, ok := f.Input.(*plan.System)
	if !ok {
		return nil
	}
	var out map[int]*expr.Literal
	for _, t := range plan.Split(f.Cond) {
		x, ok := t.(*expr.Call)
		if !ok || x.Fn.Name != "=" {
			continue
		}
		c, isColumn := x.Args[0].(*expr.Column)
		l, isConstant := x.Args[1].(*expr.Literal)
		if isColumn && isConstant {
			if out == nil {
				out = map[int]*expr.Literal{}
			}
			out[c.Index] = &expr.Literal{Value: l.Value, T: c.T}
			if table.Schema == infoschema.Information && infoschema.Required(table.Schema, table.Table, c.Name) {
				out[c.Index].T = c.T.NotNull()
			}
		}
	}
	return out
}

// choosesAllRead reports whether a projection chooses the columns that are read of a table, in its
// order, and no others are read: no constants stand in their place then. Of all columns of a table
// they do.
func choosesAllRead(x *plan.Project) bool {
	n := x.Input
	if s, ok := n.(*plan.Sort); ok {
		n = s.Input
	}
	f, ok := n.(*plan.Filter)
	if !ok || len(x.Exprs) == len(f.Columns()) {
		return false
	}
	last := -1
	chosen := map[int]bool{}
	for _, e := range x.Exprs {
		c, ok := e.(*expr.Column)
		if !ok || c.Index <= last {
			return false
		}
		last = c.Index
		chosen[last] = true
	}
	all := true
	expr.Walk(f.Cond, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok {
			all = all && chosen[c.Index]
		}
		return true
	})
	return all
}

// isComputed reports whether columns of n are computed of the aggregates that are shown in its
// place.
func isComputed(n plan.Node) bool {
	if f, ok := n.(*plan.Filter); ok {
		return isComputed(f.Input)
	}
	x, ok := n.(*plan.Aggregate)
	return ok && slices.ContainsFunc(x.Aggs, func(a plan.AggCall) bool { return isReduced(&a, len(x.Keys) > 0) })
}

// column is column i of n, which may be a constant or computed of aggregates.
func (t *systemTree) column(n plan.Node, values map[int]*expr.Literal, i int) string {
	if l := values[i]; l != nil {
		typ := l.T.NotNull().String()
		if text := plan.FormatExpr(l) + ":" + typ; !l.T.Nullable {
			return text
		}
		return "CAST(" + plan.FormatExpr(l) + ":" + typ + "):" + typ
	}
	for {
		f, ok := n.(*plan.Filter)
		if !ok {
			break
		}
		n = f.Input
	}
	if x, ok := n.(*plan.Aggregate); ok && isComputed(x) && i >= len(x.Keys) {
		return reduceCalls(overColumns(x)).columns[i-len(x.Keys)]
	}
	return "$" + strconv.Itoa(i)
}

func (t *systemTree) join(x *plan.Join, depth int) {
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
	kind, right := x.Kind, x.Right
	if kind == plan.Semi && x.On == nil { // joined with the values that there are, each once
		groups := &plan.Aggregate{Input: right}
		for _, k := range x.Keys {
			groups.Keys = append(groups.Keys, k.Right)
		}
		kind, right = plan.Inner, groups
	}
	t.line(depth, "Join", "condition=["+condition+"]", "joinType=["+strings.ToLower(kind.String())+"]")
	t.node(x.Left, nil, depth+1)
	t.node(right, nil, depth+1)
}

func (t *systemTree) aggregate(x *plan.Aggregate, names []string, depth int) {
	group := make([]string, len(x.Keys))
	for i, k := range x.Keys {
		group[i] = strconv.Itoa(k)
	}
	list := []string{"group=[{" + strings.Join(group, ", ") + "}]"}
	calls := reduceCalls(x)
	for i, call := range calls.list {
		name := ""
		if of := calls.of[i]; of >= 0 {
			name = names[len(x.Keys)+of]
		}
		if name == "" {
			name = "agg#" + strconv.Itoa(i)
		}
		list = append(list, name+"=["+call+"]")
	}
	t.line(depth, "Aggregate", list...)
	t.chosen = true
	p, ok := x.Input.(*plan.Project)
	if !ok {
		t.operator(x.Input, nil, depth+1)
		return
	}
	below := make([]string, len(p.Exprs)) // what is computed to be aggregated, and no key, has no names
	for i, e := range p.Exprs {
		below[i] = "$f" + strconv.Itoa(i)
		if c, ok := e.(*expr.Column); ok {
			below[i] = plan.ColumnAt(p.Input, c.Index).Name
		} else if k := slices.Index(x.Keys, i); k >= 0 && k < len(names) && names[k] != "" {
			below[i] = names[k]
		}
	}
	t.node(p, below, depth+1)
}

// systemCalls are the aggregates that are shown for those of a plan: sums over all rows and means
// are computed of sums and counts.
type systemCalls struct {
	list []string
	// of is the aggregate that each is, -1: it is one that others are computed of.
	of []int
	// columns are the aggregates of the plan over keys and list.
	columns []string
}

// isOf reports whether the function of an aggregate is of a kind.
func isOf(a *plan.AggCall, kind agg.NativeKind) bool {
	f := agg.Lookup(a.Agg.Name)
	return f != nil && f.Native.Kind == kind
}

// isReduced reports whether an aggregate is computed of others.
func isReduced(a *plan.AggCall, grouped bool) bool {
	return isOf(a, agg.NativeMean) || isOf(a, agg.NativeSum) && !grouped
}

func reduceCalls(x *plan.Aggregate) systemCalls {
	var out systemCalls
	grouped := len(x.Keys) > 0
	add := func(call string, of int) string {
		i := slices.Index(out.list, call)
		if i < 0 {
			i = len(out.list)
			out.list, out.of = append(out.list, call), append(out.of, of)
		}
		return "$" + strconv.Itoa(len(x.Keys)+i)
	}
	for i, a := range x.Aggs {
		if !isReduced(&a, grouped) {
			if isOf(&a, agg.NativeSum) {
				out.columns = append(out.columns, add(systemCall("$SUM0", &a), i))
			} else {
				out.columns = append(out.columns, add(systemCall(a.Agg.Name, &a), i))
			}
			continue
		}
		of := i
		if isOf(&a, agg.NativeMean) {
			of = -1
		}
		sum := add(systemCall("$SUM0", &a), of)
		count := add(systemCall("COUNT", &a), -1)
		if !grouped {
			sum = "CASE(=(" + count + ", 0), null:BIGINT, " + sum + ")"
		}
		switch {
		case isOf(&a, agg.NativeSum):
			out.columns = append(out.columns, sum)
		case grouped:
			out.columns = append(out.columns, "CAST(/("+sum+", "+count+")):BIGINT")
		default:
			out.columns = append(out.columns, "/("+sum+", "+count+")")
		}
	}
	return out
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

// systemCall writes an aggregate under a name.
func systemCall(name string, a *plan.AggCall) string {
	args := make([]string, len(a.Args))
	for i, c := range a.Args {
		args[i] = "$" + strconv.Itoa(c)
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
