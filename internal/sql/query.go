package sql

import (
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// relational is a bound query: its plan, whose columns are exactly cols.
type relational struct {
	node plan.Node
	cols []outColumn
}

// outColumn is an output column of a query. named tells that the text gave the name.
type outColumn struct {
	name  string
	typ   expr.Type
	named bool
}

// planColumns returns the columns under the query's names.
func (r *relational) planColumns() []plan.Column {
	out := make([]plan.Column, len(r.cols))
	for i, c := range r.cols {
		out[i] = plan.Column{Name: c.name, Type: c.typ}
	}
	return out
}

// surroundings are what a query sees beside its own text.
type surroundings struct {
	// arm is set in the queries of a UNION, INTERSECT or EXCEPT, where a text is one value.
	arm bool
	// ctes are the WITH queries in scope, innermost first.
	ctes *cte
	// outer is the clause around a subquery, corr collects what the subquery uses of its block. Both
	// are nil at the top.
	outer *exprs
	corr  *correlation
	// ordered says that the order of the rows matters to the reader: at the top, and below nothing but
	// a LIMIT.
	ordered bool
}

// cte is a WITH query. It is bound anew where it is used.
type cte struct {
	def  *syntax.CTE
	in   surroundings // of its definition
	next *cte
	// bound says that it was bound, and so is right.
	bound bool
}

func (s *surroundings) findCTE(name string) *cte {
	for c := s.ctes; c != nil; c = c.next {
		if c.def.Name.Name == name {
			return c
		}
	}
	return nil
}

// query binds a query that stands in no other.
func (b *binder) query(q *syntax.Query) (*relational, error) {
	return b.queryIn(q, surroundings{ordered: true})
}

func (b *binder) queryIn(q *syntax.Query, in surroundings) (*relational, error) {
	if b.depth++; b.depth > maxQueryDepth {
		return nil, fault.InvalidSQL(q.At, "Queries are nested deeper than [%d] levels", maxQueryDepth)
	}
	defer func() { b.depth-- }()
	around := in.ctes
	for i := range q.With {
		in.ctes = &cte{def: &q.With[i], in: in, next: in.ctes}
	}
	rel, err := b.queryWith(q, in)
	if err != nil {
		return nil, err
	}
	return rel, b.checkUnused(in.ctes, around)
}

// checkUnused binds the WITH queries before end that nothing used: they must be right, too.
func (b *binder) checkUnused(c, end *cte) error {
	for ; c != end; c = c.next {
		if c.bound {
			continue
		}
		if _, err := b.withRows(c); err != nil {
			return err
		}
	}
	return nil
}

// queryWith binds a query whose WITH queries in has.
func (b *binder) queryWith(q *syntax.Query, in surroundings) (*relational, error) {
	limit, offset, err := b.bounds(q)
	if err != nil {
		return nil, err
	}
	order := q.OrderBy
	// A body in parentheses has its own clauses; its order matters only to them.
	inner := in
	inner.ordered = in.ordered && len(order) == 0
	var rel *relational
	if sel, ok := q.Body.(*syntax.Select); ok {
		rel, err = b.selectBody(sel, order, limit, offset, in)
		if err != nil {
			return nil, err
		}
		return rel, nil
	}
	if rel, err = b.body(q.Body, inner); err != nil {
		return nil, err
	}
	return b.orderAndLimit(rel, order, limit, offset, in)
}

// body binds what is no SELECT of its own query.
func (b *binder) body(body syntax.Body, in surroundings) (*relational, error) {
	if err := b.spend(expressionsPerQuery, body); err != nil {
		return nil, err
	}
	switch x := body.(type) {
	case *syntax.Select:
		return b.selectBody(x, nil, -1, 0, in)
	case *syntax.Query:
		return b.queryIn(x, in)
	case *syntax.Values:
		return b.values(x, in)
	case *syntax.TableQuery:
		return b.selectBody(&syntax.Select{Pos: x.Pos, Items: []syntax.SelectItem{{X: &syntax.Star{}}}, From: &syntax.Table{Pos: x.Pos, Name: x.Name}},
			nil, -1, 0, in)
	case *syntax.SetOp:
		return b.setOperation(x, in)
	}
	return nil, fault.InvalidSQL(body.Span(), "This kind of query is unknown")
}

// bounds reads LIMIT (-1: none) and OFFSET.
func (b *binder) bounds(q *syntax.Query) (limit, offset int64, err error) {
	if limit, err = b.bound(q.Limit, "LIMIT", -1); err != nil {
		return 0, 0, err
	}
	offset, err = b.bound(q.Offset, "OFFSET", 0)
	return limit, offset, err
}

func (b *binder) bound(e syntax.Expr, clause string, otherwise int64) (int64, error) {
	switch x := e.(type) {
	case nil:
		return otherwise, nil
	case *syntax.Number:
		if n, err := strconv.ParseInt(x.Text, 10, 64); err == nil {
			return n, nil
		}
		if f, err := strconv.ParseFloat(x.Text, 64); err == nil && f >= 0 && f < 1<<62 {
			return int64(f), nil
		}
	case *syntax.Param:
		if b.described != nil {
			b.described[x.Index] = expr.Of(expr.BigInt)
			return otherwise, nil
		}
		l := b.params[x.Index]
		if n, ok := paramLong(l.Value); ok && l.T.IsNumeric() {
			if n < 0 { // some clients say no limit that way
				n = otherwise
			}
			return n, nil
		}
		return 0, fault.InvalidSQL(e.Span(), "%s must be a whole number, and parameter [%d] is %s", clause, x.Index+1, paramKind(l))
	}
	return 0, fault.InvalidSQL(e.Span(), "%s must be a whole number that is not negative", clause)
}

// orderAndLimit sorts and cuts rel, whose output columns are all that ORDER BY can name.
func (b *binder) orderAndLimit(rel *relational, order []syntax.OrderItem, limit, offset int64, in surroundings) (*relational, error) {
	if len(order) == 0 {
		if limit < 0 && offset == 0 {
			return rel, nil
		}
		return &relational{node: &plan.Limit{Input: rel.node, Offset: offset, Count: limit}, cols: rel.cols}, nil
	}
	blk := newBlock(b, in)
	blk.scope = &scope{relations: []relation{relationOf("", rel.planColumns(), 0)}}
	blk.node = rel.node
	x := blk.exprs("ORDER BY")
	var keys []plan.SortKey
	var extra []expr.Expr
	for _, item := range order {
		column, err := b.ordinal(item.X, len(rel.cols))
		if err != nil {
			return nil, err
		}
		if column < 0 {
			e, err := x.bind(item.X)
			if err != nil {
				return nil, err
			}
			if err := sortable(e.Type(), item.X); err != nil {
				return nil, err
			}
			if c, ok := e.(*expr.Column); ok && c.Index < len(rel.cols) {
				column = c.Index
			} else {
				column = len(rel.cols) + len(extra)
				extra = append(extra, e)
			}
		}
		keys = append(keys, sortKeyOver(rel.node, column, &item))
	}
	if !in.ordered && limit < 0 && offset == 0 {
		return rel, nil
	}
	n := rel.node
	if len(extra) > 0 {
		var err error
		if n, extra, err = blk.attach(n, extra); err != nil {
			return nil, err
		}
		width := plan.Width(n)
		for i := range keys {
			if keys[i].Column >= len(rel.cols) {
				keys[i].Column += width - len(rel.cols)
			}
		}
		n = plan.Extend(n, extra, nil)
	}
	n = &plan.Sort{Input: n, Keys: keys, Offset: offset, Limit: limit}
	if len(extra) > 0 {
		n = plan.Select(n, firstN(len(rel.cols)))
	}
	return &relational{node: n, cols: rel.cols}, nil
}

func firstN(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// sortKey gives NULLs their place: first when ascending, last when descending, unless the item says
// otherwise.
func sortKey(column int, item *syntax.OrderItem) plan.SortKey {
	k := plan.SortKey{Column: column, Desc: item.Desc, NullsFirst: !item.Desc}
	switch item.Nulls {
	case syntax.NullsFirst:
		k.NullsFirst = true
	case syntax.NullsLast:
		k.NullsFirst = false
	}
	return k
}

// sortKeyOver is sortKey for the rows of n. Where all of n are system tables, NULLs are the
// greatest, as clients of Druid's console know them. See quirk Q007.
func sortKeyOver(n plan.Node, column int, item *syntax.OrderItem) plan.SortKey {
	k := sortKey(column, item)
	if item.Nulls == syntax.NullsDefault && readsSystemOnly(n) {
		k.NullsFirst = item.Desc
	}
	return k
}

func readsSystemOnly(n plan.Node) bool {
	system, other := false, false
	plan.Walk(n, func(n plan.Node) bool {
		switch x := n.(type) {
		case *plan.System:
			system = true
			other = other || x.Schema == string(SchemaLookup)
		case *plan.Scan, *plan.External:
			other = true
		}
		return !other
	})
	return system && !other
}

// ordinal returns the 0-based column that a number in ORDER BY or GROUP BY stands for, -1 if e is
// no number. Of fractions the whole part counts, as in Druid. See quirk Q004.
func (b *binder) ordinal(e syntax.Expr, columns int) (int, error) {
	n := b.numberOf(e)
	if n == nil {
		return -1, nil
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	if err != nil || x < 1 || x >= float64(columns)+1 {
		return 0, fault.InvalidSQL(n.At, "Ordinal out of range")
	}
	return int(x) - 1, nil
}

// oneRow is what a SELECT without FROM reads: one row without columns.
func oneRow() plan.Node { return &plan.Inline{Rows: &vector.Batch{N: 1}} }

// setOperation binds UNION, INTERSECT and EXCEPT.
func (b *binder) setOperation(x *syntax.SetOp, in surroundings) (*relational, error) {
	in.ordered, in.arm = false, true
	name := [...]string{syntax.Union: "UNION", syntax.Intersect: "INTERSECT", syntax.Except: "EXCEPT"}[x.Op]
	if x.All {
		name += " ALL"
	}
	arms := make([]*relational, len(x.Arms))
	for i, arm := range x.Arms {
		rel, err := b.body(arm, in)
		if err != nil {
			return nil, err
		}
		if len(rel.cols) != len(firstOf(arms, rel).cols) {
			return nil, fault.InvalidSQL(listSpan(arm), "Column count mismatch in %s", name)
		}
		arms[i] = rel
	}
	cols := make([]plan.Column, len(arms[0].cols))
	out := make([]outColumn, len(cols))
	types := make([]expr.Type, len(arms))
	for c := range cols {
		for i, arm := range arms {
			types[i] = arm.cols[c].typ
		}
		t, ok := expr.LeastRestrictive(types...)
		if !ok {
			return nil, fault.InvalidSQL(listSpan(x.Arms[0]), "Type mismatch in column %d of %s", c+1, name)
		}
		if t.Base == expr.Char {
			t = constantsType(arms, c, t)
		}
		cols[c] = plan.Column{Name: arms[0].cols[c].name, Type: t}
		out[c] = outColumn{name: cols[c].Name, typ: t, named: arms[0].cols[c].named}
	}
	nodes := make([]plan.Node, len(arms))
	for i, arm := range arms {
		own := slices.Clone(cols)
		for c := range own {
			own[c].Name = arm.cols[c].name
		}
		n, err := castColumns(arm.node, own, x.Arms[i].Span())
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	var n plan.Node
	switch x.Op {
	case syntax.Union:
		n = &plan.Union{Ins: nodes, Out: cols}
		if !x.All {
			var err error
			if n, err = b.distinct(n); err != nil {
				return nil, err
			}
			for c, of := range n.Columns() { // values, where there were rows of several
				out[c].typ = of.Type
			}
		}
	default:
		kind := plan.Intersect
		if x.Op == syntax.Except {
			kind = plan.Except
		}
		n = nodes[0]
		for _, right := range nodes[1:] {
			n = &plan.SetOp{Kind: kind, All: x.All, Left: n, Right: right}
		}
	}
	return &relational{node: n, cols: out}, nil
}

// constantsType returns the type of column c of several queries, of which t says that all are
// constant texts: VARCHAR if they are not of one length.
func constantsType(arms []*relational, c int, t expr.Type) expr.Type {
	constants := make([]expr.Expr, 0, len(arms))
	for _, arm := range arms {
		if p, ok := arm.node.(*plan.Project); ok && c < len(p.Exprs) {
			constants = append(constants, p.Exprs[c])
		}
	}
	if varying, ok := expr.CommonType(constants); ok && len(constants) > 1 && varying.Base == expr.Varchar {
		t.Base = expr.Varchar
	}
	return t
}

func firstOf(list []*relational, otherwise *relational) *relational {
	if list[0] == nil {
		return otherwise
	}
	return list[0]
}

// listSpan is where an arm's columns are named: its select list, if it is a SELECT.
func listSpan(body syntax.Body) fault.Span {
	switch x := body.(type) {
	case *syntax.Select:
		return x.Items[0].At.To(x.Items[len(x.Items)-1].At)
	case *syntax.Query:
		return listSpan(x.Body)
	case *syntax.SetOp:
		return listSpan(x.Arms[0])
	}
	return body.Span()
}

// castColumns casts n's columns to the types of cols and gives them their names.
func castColumns(n plan.Node, cols []plan.Column, at fault.Span) (plan.Node, error) {
	p := &plan.Project{Input: n, Exprs: make([]expr.Expr, len(cols)), Names: make([]string, len(cols))}
	for i, c := range n.Columns() {
		var e expr.Expr = &expr.Column{Index: i, Name: c.Name, T: c.Type}
		if !holds(cols[i].Type, c.Type) {
			var err error
			if e, err = expr.NewCast(e, cols[i].Type.OrNull(true), at); err != nil {
				return nil, err
			}
		}
		p.Exprs[i], p.Names[i] = e, cols[i].Name
	}
	return p, nil
}

// holds reports whether a column of type t holds every value of another type as it is: a number is
// no truth value, and not every one is the beginning of a day.
func holds(t, other expr.Type) bool {
	return t.Runtime() == other.Runtime() && t.Base == expr.Boolean == (other.Base == expr.Boolean) && (t.Base != expr.Date || other.Base == expr.Date)
}

// distinct returns the distinct rows of n. A multi-value column counts value by value, as in GROUP
// BY.
func (b *binder) distinct(n plan.Node) (plan.Node, error) {
	cols := n.Columns()
	keys := make([]int, len(cols))
	for i, c := range cols {
		keys[i] = i
		if c.Type.Multi {
			var err error
			if n, err = b.valuesOf(n, i); err != nil {
				return nil, err
			}
			keys[i] = plan.Width(n) - 1
		}
	}
	return &plan.Aggregate{Input: n, Keys: keys}, nil
}

// valuesOf appends the values of a multi-value column, as groups are made by them: a row for each,
// or the only one where the context wants no more.
func (b *binder) valuesOf(n plan.Node, column int) (plan.Node, error) {
	if !b.settings.oneValue {
		return plan.UnnestOf(n, column), nil
	}
	c := columnOf(n, column)
	value, err := expr.NewCall(catalog.MustLookup("$ONE_VALUE"), []expr.Expr{c, stringLiteral(c.Name)}, fault.Span{})
	if err != nil {
		return nil, err
	}
	return plan.Extend(n, []expr.Expr{value}, []string{c.Name}), nil
}
