package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// buildInput is what a block's clauses were bound to, over the block's scope.
type buildInput struct {
	items           []item
	having, qualify expr.Expr
	order           []orderKey
	distinct        bool
	limit, offset   int64
}

// build makes the plan of a block on top of its FROM and WHERE.
func (blk *block) build(in buildInput) (*relational, error) {
	n := blk.node
	if blk.grouped {
		blk.keysInTableOrder(&in)
		g, err := blk.aggregate(n)
		if err != nil {
			return nil, err
		}
		if blk.wantsEmptyBuckets(&in) {
			if err := blk.addEmptyBuckets(g); err != nil {
				return nil, err
			}
		}
		n = g.node
		if err := blk.regroup(g, &in); err != nil {
			return nil, err
		}
	}
	var err error
	if in.having != nil {
		if n, err = blk.filter(n, in.having); err != nil {
			return nil, err
		}
	}
	if blk.keyOrder() && len(blk.calls) > 0 {
		n = blk.sortGroups(n, &in)
	}
	if len(blk.calls) > 0 {
		if n, err = blk.window(n, &in); err != nil {
			return nil, err
		}
	}
	if blk.keyOrder() && !in.distinct && blk.orderShows(&in) {
		blk.orderTies(n, &in)
	}
	if in.qualify != nil {
		if n, err = blk.filter(n, in.qualify); err != nil {
			return nil, err
		}
	}
	return blk.output(n, in)
}

// output projects the select list, makes it distinct, sorts and cuts it.
func (blk *block) output(n plan.Node, in buildInput) (*relational, error) {
	width := len(in.items)
	p := &plan.Project{Exprs: make([]expr.Expr, 0, width), Names: make([]string, 0, width)}
	for _, it := range in.items {
		p.Exprs, p.Names = append(p.Exprs, it.x), append(p.Names, it.name)
	}
	keys := make([]plan.SortKey, 0, len(in.order))
	var later []expr.Expr
	for _, o := range in.order {
		column := o.column
		switch {
		case o.later && blk.b.form.distinctByOrder():
			column = len(p.Exprs)
			p.Exprs, p.Names = append(p.Exprs, ofItems(o.x, in.items)), append(p.Names, plan.OrderColumn)
		case o.later:
			column = width + len(later)
			later = append(later, o.x)
		case column < 0:
			if column = width + slices.IndexFunc(p.Exprs[width:], func(e expr.Expr) bool { return expr.Equal(e, o.x) }); column < width {
				column = len(p.Exprs)
				p.Exprs, p.Names = append(p.Exprs, o.x), append(p.Names, plan.OrderColumn)
			}
		}
		if !slices.ContainsFunc(keys, func(k plan.SortKey) bool { return k.Column == column }) { // else the rows are in that order already
			keys = append(keys, sortKeyOver(blk.node, column, o.item))
		}
	}
	var err error
	if p.Input, p.Exprs, err = blk.attach(n, p.Exprs); err != nil {
		return nil, err
	}
	n = p
	if in.distinct {
		if n, err = blk.b.distinct(n); err != nil {
			return nil, err
		}
	}
	if len(later) > 0 {
		n = plan.Extend(n, later, nil)
	}
	if in.distinct && blk.keyOrder() && blk.orderShows(&in) {
		for _, i := range blk.distinctKeys(&in) {
			if k, ok := groupKey(n, i); ok && !slices.ContainsFunc(keys, func(o plan.SortKey) bool { return o.Column == i }) {
				keys = append(keys, k)
			}
		}
	}
	switch {
	case len(keys) > 0:
		n = &plan.Sort{Input: n, Keys: keys, Offset: in.offset, Limit: in.limit}
	case in.limit >= 0 || in.offset > 0:
		n = &plan.Limit{Input: n, Offset: in.offset, Count: in.limit}
	}
	if plan.Width(n) > width {
		n = plan.Select(n, firstN(width))
	}
	rel := &relational{node: n, cols: make([]outColumn, width)}
	for i, c := range n.Columns()[:width] {
		rel.cols[i] = outColumn{name: in.items[i].name, typ: c.Type, named: in.items[i].named}
	}
	return rel, nil
}

// grouping is a block's Aggregate: where its keys and aggregates are.
type grouping struct {
	*block
	node plan.Node
	// aggregates gives for each aggregate of the block what stands for it above the node.
	aggregates []expr.Expr
	err        error
}

// aggregate puts the block's Aggregate on n: a projection of keys and arguments, unnests for
// multi-value keys, the groups.
func (blk *block) aggregate(n plan.Node) (*grouping, error) {
	p := &plan.Project{}
	add := func(e expr.Expr, name string) int {
		for i, x := range p.Exprs {
			if expr.Equal(x, e) && x.Type() == e.Type() {
				return i
			}
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, name)
		return len(p.Exprs) - 1
	}
	agg := &plan.Aggregate{Sets: blk.sets}
	most := len(blk.keys) + len(blk.aggregates)
	p.Exprs, p.Names = make([]expr.Expr, 0, most), make([]string, 0, most)
	agg.Keys, agg.Aggs = make([]int, 0, len(blk.keys)), make([]plan.AggCall, 0, len(blk.aggregates))
	var orders [][]plan.SortKey // by aggregate
	for _, k := range blk.keys {
		agg.Keys = append(agg.Keys, add(k, exprName(k)))
	}
	g := &grouping{block: blk, aggregates: make([]expr.Expr, len(blk.aggregates))}
	for i := range blk.aggregates {
		a := &blk.aggregates[i]
		if a.grouping && !blk.b.form.callsGrouping() {
			continue
		}
		call := plan.AggCall{Agg: a.spec, Filter: -1, Distinct: a.distinct, Name: a.spec.Name, Type: a.typ}
		for _, arg := range a.args {
			call.Args = append(call.Args, add(arg, exprName(arg)))
		}
		if a.filter != nil {
			call.Filter = add(blk.b.form.aggregated(blk, a.filter), "$filter")
		}
		var order []plan.SortKey
		for _, o := range a.order {
			order = append(order, sortKey(add(o.x, plan.OrderColumn), o.item))
		}
		orders = append(orders, order)
		g.aggregates[i] = &expr.Column{Index: len(blk.keys) + len(agg.Aggs), Name: a.spec.Name, T: a.typ}
		agg.Aggs = append(agg.Aggs, call)
	}
	var err error
	if p.Input, p.Exprs, err = blk.attach(n, p.Exprs); err != nil {
		return nil, err
	}
	n = p
	for i, k := range agg.Keys {
		if !p.Exprs[k].Type().Multi {
			continue
		}
		if n, err = blk.b.valuesOf(n, k); err != nil {
			return nil, err
		}
		agg.Keys[i] = plan.Width(n) - 1
	}
	agg.Input, agg.Grouping = n, blk.sets != nil && !blk.b.form.callsGrouping()
	blk.setColumn = len(blk.keys) + len(agg.Aggs)
	g.node = byOrder(agg, orders)
	for i := range blk.aggregates {
		if blk.aggregates[i].grouping && g.aggregates[i] == nil {
			if g.aggregates[i], err = g.groupingID(&blk.aggregates[i], blk.setColumn); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

func exprName(e expr.Expr) string {
	if c, ok := e.(*expr.Column); ok {
		return c.Name
	}
	return "$x"
}

// groupingID computes GROUPING(a, ...) from the grouping id in column id: its bit for key i, of n
// keys, is n-1-i.
func (g *grouping) groupingID(a *aggregateCall, id int) (expr.Expr, error) {
	var sum expr.Expr = longLiteral(0)
	if g.sets == nil {
		return sum, nil
	}
	column := &expr.Column{Index: id, Name: "$grouping", T: notNullLong}
	call := func(op string, a, b expr.Expr) expr.Expr {
		if g.err != nil {
			return a
		}
		out, err := expr.NewCall(catalog.MustLookup(op), []expr.Expr{a, b}, fault.Span{})
		if err != nil {
			g.err = err
			return a
		}
		return out
	}
	for i, arg := range a.args {
		bit := len(g.keys) - 1 - g.keyIndex(arg)
		value := call("MOD", call("/", column, longLiteral(1<<bit)), longLiteral(2))
		value = call("*", value, longLiteral(1<<(len(a.args)-1-i)))
		if i == 0 {
			sum = value
		} else {
			sum = call("+", sum, value)
		}
	}
	return sum, g.err
}

// regroup rewrites everything above the Aggregate over its columns.
func (blk *block) regroup(g *grouping, in *buildInput) error {
	if in.having != nil { // first, as errors of it come before those of the items
		in.having = g.rewrite(in.having)
	}
	for i := range in.items {
		in.items[i].x = g.rewrite(in.items[i].x)
	}
	if in.qualify != nil {
		in.qualify = g.rewrite(in.qualify)
	}
	for i := range in.order {
		if in.order[i].x != nil && !in.order[i].later {
			in.order[i].x = g.rewrite(in.order[i].x)
		}
	}
	for i := range blk.calls {
		blk.calls[i].rewrite(g.rewrite)
	}
	return g.err
}

// key returns what reads key i.
func (g *grouping) key(i int) *expr.Column { return columnOf(g.node, i) }

// rewrite returns e over the columns of the Aggregate. What is neither a key nor made of keys and
// aggregates is an error.
func (g *grouping) rewrite(e expr.Expr) expr.Expr {
	if i := g.keyIndex(e); i >= 0 {
		return g.key(i)
	}
	c, ok := e.(*expr.Column)
	if !ok {
		return overSingles(e, func(source, body expr.Expr) expr.Expr {
			for i, k := range g.keys {
				if isMap(k, source, body) {
					return g.key(i)
				}
			}
			return nil
		}, g.rewrite)
	}
	switch {
	case c.Index >= correlatedBase:
		return c
	case c.Index >= subqueryBase:
		return g.rewriteSubquery(c, g.rewrite)
	case c.Index >= windowBase:
		return c
	case c.Index >= aggregateBase:
		return g.aggregates[c.Index-aggregateBase]
	}
	if g.err == nil {
		name, at := g.mentionOf(c)
		g.err = fault.InvalidSQL(at, "Expression '%s' is not being grouped", name).
			With("suggestion", name+" among the keys of GROUP BY, or ANY_VALUE("+name+"), the value of any of a group's rows")
	}
	return c
}

// overSingles rewrites the operands of e, which is no column. In maps over the values of a
// multi-value string, single returns what holds the results of the map of source with body one by
// one, nil if nothing does; where the source is a single value, too, there is no map any more.
func overSingles(e expr.Expr, single func(source, body expr.Expr) expr.Expr, rewrite func(expr.Expr) expr.Expr) expr.Expr {
	switch x := e.(type) {
	case *expr.Each:
		return mapOverSingles(e, x.Source, x.Body, single, rewrite)
	case *expr.Any:
		return mapOverSingles(e, x.Source, x.Body, single, rewrite)
	}
	return plan.MapOperands(e, rewrite)
}

// mapOverSingles is overSingles of e, the map of source with body.
func mapOverSingles(e, source, body expr.Expr, single func(source, body expr.Expr) expr.Expr, rewrite func(expr.Expr) expr.Expr) expr.Expr {
	reads := false
	var within func(level int) func(expr.Expr) expr.Expr
	within = func(level int) func(expr.Expr) expr.Expr {
		return func(e expr.Expr) expr.Expr {
			if level == 0 {
				if one := single(source, e); one != nil {
					return one
				}
			}
			switch x := e.(type) {
			case *expr.Element:
				reads = reads || x.Depth == level
				return x
			case *expr.Each:
				return &expr.Each{Source: within(level)(x.Source), Body: within(level + 1)(x.Body), T: x.T}
			case *expr.Any:
				return &expr.Any{Source: within(level)(x.Source), Body: within(level + 1)(x.Body)}
			case *expr.Column:
				return rewrite(x)
			}
			return plan.MapOperands(e, within(level))
		}
	}
	body = within(0)(body)
	if !reads {
		return replaceElement(body, nil, 0)
	}
	if source = rewrite(source); !source.Type().Multi {
		return replaceElement(body, source, 0)
	}
	if each, ok := e.(*expr.Each); ok {
		return &expr.Each{Source: source, Body: body, T: each.T}
	}
	return &expr.Any{Source: source, Body: body}
}

// isMap reports whether e is the map of source with body.
func isMap(e, source, body expr.Expr) bool {
	each, ok := e.(*expr.Each)
	return ok && expr.Equal(each.Source, source) && expr.Equal(each.Body, body)
}

func replaceElement(e, by expr.Expr, level int) expr.Expr {
	switch x := e.(type) {
	case *expr.Element:
		switch {
		case x.Depth == level:
			return by
		case x.Depth > level:
			return &expr.Element{Depth: x.Depth - 1, T: x.T}
		}
		return x
	case *expr.Each:
		return &expr.Each{Source: replaceElement(x.Source, by, level), Body: replaceElement(x.Body, by, level+1), T: x.T}
	case *expr.Any:
		return &expr.Any{Source: replaceElement(x.Source, by, level), Body: replaceElement(x.Body, by, level+1)}
	}
	return plan.MapOperands(e, func(c expr.Expr) expr.Expr { return replaceElement(c, by, level) })
}

func (w *windowCall) rewrite(f func(expr.Expr) expr.Expr) {
	for i := range w.call.args {
		w.call.args[i] = f(w.call.args[i])
	}
	if w.call.filter != nil {
		w.call.filter = f(w.call.filter)
	}
	for i := range w.partition {
		w.partition[i] = f(w.partition[i])
	}
	for i := range w.order {
		w.order[i].x = f(w.order[i].x)
	}
	if w.from != nil {
		w.from = f(w.from)
	}
	if w.to != nil {
		w.to = f(w.to)
	}
}

// window computes the block's window calls over n and replaces their placeholders. Calls of the
// same partition and order share a node.
func (blk *block) window(n plan.Node, in *buildInput) (plan.Node, error) {
	var exprs []expr.Expr
	for i := range blk.calls {
		blk.calls[i].rewrite(func(e expr.Expr) expr.Expr { exprs = append(exprs, e); return e })
	}
	n, exprs, err := blk.attach(n, exprs)
	if err != nil {
		return nil, err
	}
	width := plan.Width(n)
	next := 0
	var added []expr.Expr
	column := func() int {
		e := exprs[next]
		next++
		if c, ok := e.(*expr.Column); ok && c.Index < width { // else it is of a query around
			return c.Index
		}
		for i, x := range added {
			if expr.Equal(x, e) {
				return width + i
			}
		}
		added = append(added, e)
		return width + len(added) - 1
	}
	var nodes []*plan.Window
	type slot struct{ node, call int }
	slots := make([]slot, len(blk.calls))
	for i := range blk.calls {
		w := &blk.calls[i]
		call := plan.WindowCall{Fn: w.fn, IgnoreNulls: w.ignoreNulls, Frame: w.frame}
		call.AggCall = plan.AggCall{Agg: w.call.spec, Filter: -1, Distinct: w.call.distinct, Name: w.call.spec.Name, Type: w.call.typ}
		for range w.call.args {
			call.Args = append(call.Args, column())
		}
		if w.call.filter != nil {
			call.Filter = column()
		}
		var partition []int
		for range w.partition {
			partition = append(partition, column())
		}
		var order []plan.SortKey
		for _, o := range w.order {
			order = append(order, sortKey(column(), o.item))
		}
		if w.from != nil {
			call.Frame.FromColumn = column()
		}
		if w.to != nil {
			call.Frame.ToColumn = column()
		}
		at := -1
		for j, node := range nodes {
			if sameInts(node.Partition, partition) && sameKeys(node.Order, order) {
				at = j
			}
		}
		if at < 0 {
			at = len(nodes)
			nodes = append(nodes, &plan.Window{Partition: partition, Order: order})
		}
		slots[i] = slot{at, len(nodes[at].Calls)}
		nodes[at].Calls = append(nodes[at].Calls, call)
	}
	if len(added) > 0 {
		n = plan.Extend(n, added, nil)
	}
	starts := make([]int, len(nodes))
	for _, j := range wholeFirst(nodes) {
		node := nodes[j]
		starts[j] = plan.Width(n)
		node.Input = n
		n = node
	}
	replace := func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			c, ok := e.(*expr.Column)
			if !ok || c.Index < windowBase || c.Index >= subqueryBase {
				return e
			}
			s := slots[c.Index-windowBase]
			return &expr.Column{Index: starts[s.node] + s.call, Name: c.Name, T: c.T}
		})
	}
	for i := range in.items {
		in.items[i].x = replace(in.items[i].x)
	}
	if in.qualify != nil {
		in.qualify = replace(in.qualify)
	}
	for i := range in.order {
		if in.order[i].x != nil && !in.order[i].later {
			in.order[i].x = replace(in.order[i].x)
		}
	}
	return n, nil
}

// wholeFirst returns the order in which windows are computed: as they are written, but those over
// all rows before those of partitions, as in Druid. The last one gives the order of the rows. See
// quirk Q007.
func wholeFirst(nodes []*plan.Window) []int {
	var whole, parts []int
	for i, node := range nodes {
		if len(node.Partition) == 0 {
			whole = append(whole, i)
		} else {
			parts = append(parts, i)
		}
	}
	return append(whole, parts...)
}

func sameInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func sameKeys(a, b []plan.SortKey) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// names returns identifiers as they are called.
func names(list []syntax.Ident) []string {
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = id.Name
	}
	return out
}
