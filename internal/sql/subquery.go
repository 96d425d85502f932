package sql

import (
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// subquery is a query in an expression of a block.
type subquery struct {
	kind subqueryKind
	rel  *relational
	corr *correlation
	// operands are what the rows are compared with, by op for quantified ones; they are over the
	// block's scope until it is built.
	operands []expr.Expr
	op       string
	all      bool
	asked    truthAsked // of IN
	at       fault.Span
	// query is what was bound; text is its SQL, once it was compared.
	query *syntax.Query
	text  string
}

type subqueryKind uint8

const (
	scalarQuery subqueryKind = iota
	existsQuery
	inQuery
	quantifiedQuery // op ANY or op ALL
	valuesQuery     // a scalar one: all values as an array
)

// correlation collects the columns of the query around that a subquery uses.
type correlation struct {
	outer []expr.Expr
}

// column returns the placeholder for e, an expression over the block around.
func (c *correlation) column(e expr.Expr, name string) expr.Expr {
	for i, x := range c.outer {
		if expr.Equal(x, e) {
			return &expr.Column{Index: correlatedBase + i, Name: name, T: e.Type()}
		}
	}
	c.outer = append(c.outer, e)
	return &expr.Column{Index: correlatedBase + len(c.outer) - 1, Name: name, T: e.Type()}
}

// bindSubquery binds a query inside the block; scalar says that it stands for one value.
func (x exprs) bindSubquery(q *syntax.Query, scalar bool) (*subquery, error) {
	corr := &correlation{}
	rel, err := x.b.queryIn(q, surroundings{ctes: x.in.ctes, outer: &x, corr: corr})
	if err != nil {
		return nil, err
	}
	if scalar && len(rel.cols) != 1 {
		return nil, rowAsScalar(q, rel)
	}
	return &subquery{rel: rel, corr: corr, at: q.At, query: q}, nil
}

// rowAsScalar is the error for a query of several columns that stands for one value.
func rowAsScalar(q *syntax.Query, rel *relational) error {
	fields := make([]string, len(rel.cols))
	for i, c := range rel.cols {
		fields[i] = strings.ToUpper(c.typ.String() + " " + c.name)
	}
	return fault.InvalidSQL(q.At, "Cannot apply '$SCALAR_QUERY' to arguments of type '$SCALAR_QUERY(<RECORDTYPE(%s)>)'. "+
		"Supported form(s): '$SCALAR_QUERY(<RECORDTYPE(SINGLE FIELD)>)'", strings.Join(fields, ", "))
}

// addSubquery returns the placeholder for s, whose value is of type t. Equal subqueries share one,
// so that one in SELECT is found among the keys of GROUP BY.
func (blk *block) addSubquery(s *subquery, t expr.Type) (expr.Expr, error) {
	if len(blk.subqueries) >= maxPlaceholders {
		return nil, fault.InvalidSQL(s.at, "A query can't have more than [%d] subqueries", maxPlaceholders)
	}
	at := slices.IndexFunc(blk.subqueries, s.same)
	if at < 0 {
		at = len(blk.subqueries)
		blk.subqueries = append(blk.subqueries, s)
	}
	return &expr.Column{Index: subqueryBase + at, Name: "$subquery", T: t}, nil
}

// same reports whether s and o, of one block, have the same value in every row.
func (s *subquery) same(o *subquery) bool {
	return s.kind == o.kind && s.op == o.op && s.all == o.all && s.asked == o.asked && slices.EqualFunc(s.operands, o.operands, expr.Equal) &&
		slices.EqualFunc(s.corr.outer, o.corr.outer, expr.Equal) && s.sameText(o)
}

// sameText reports whether s and o read the same. Those with values of their own do only if they
// are one text.
func (s *subquery) sameText(o *subquery) bool {
	if s.query == o.query {
		return true
	}
	for _, q := range []*subquery{s, o} {
		if q.text == "" {
			q.text = syntax.Print(q.query)
		}
	}
	return s.text == o.text && !hasOwnValues(s.query)
}

// hasOwnValues reports whether two queries of the same text may differ: each ? has its own value,
// and each RAND().
func hasOwnValues(q *syntax.Query) bool {
	found := false
	syntax.Walk(q, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Param:
			found = true
		case *syntax.Call:
			fn, ok := catalog.Lookup(n.Name)
			found = found || ok && fn.Volatile
		}
		return !found
	})
	return found
}

func (x exprs) scalarSubquery(e *syntax.Subquery) (expr.Expr, error) {
	s, err := x.bindSubquery(e.Query, true)
	if err != nil {
		return nil, err
	}
	return x.addSubquery(s, s.rel.cols[0].typ.OrNull(true))
}

func (x exprs) exists(e *syntax.Exists) (expr.Expr, error) {
	s, err := x.bindSubquery(e.Query, false)
	if err != nil {
		return nil, err
	}
	s.kind = existsQuery
	return x.addSubquery(s, expr.Of(expr.Boolean).NotNull())
}

func (x exprs) inQuery(e *syntax.InQuery) (expr.Expr, error) {
	out, err := x.compareWithQuery(e.X, e.Query, "=", false, inQuery, e.At)
	return negated(out, err, e.Not, e.At)
}

// quantified binds x op ANY|ALL over a query or a list.
func (x exprs) quantified(e *syntax.Quantified) (expr.Expr, error) {
	op := operatorNames[e.Op]
	if q, ok := e.Set.(*syntax.Subquery); ok {
		switch {
		case op == "=" && !e.All:
			return x.compareWithQuery(e.X, q.Query, op, false, inQuery, e.At)
		case op == "<>" && e.All:
			out, err := x.compareWithQuery(e.X, q.Query, "=", false, inQuery, e.At)
			return negated(out, err, true, e.At)
		case op == "<>": // of ANY: not equal to all
			out, err := x.compareWithQuery(e.X, q.Query, "=", true, quantifiedQuery, e.At)
			return negated(out, err, true, e.At)
		}
		return x.compareWithQuery(e.X, q.Query, op, e.All, quantifiedQuery, e.At)
	}
	row, ok := e.Set.(*syntax.Row)
	if !ok {
		return nil, notYet(e.At, "A quantified comparison with this set")
	}
	left, err := x.bind(e.X)
	if err != nil {
		return nil, err
	}
	if err := expr.CheckRepeated(left, len(row.Items), e.At); err != nil {
		return nil, err
	}
	terms := make([]expr.Expr, len(row.Items))
	for i, item := range row.Items {
		right, err := x.bind(item)
		if err != nil {
			return nil, err
		}
		if terms[i], err = expr.NewCompare(op, left, right, e.At); err != nil {
			return nil, overArray(err, e, right, item)
		}
	}
	if e.All {
		return expr.NewAnd(terms, e.At)
	}
	return expr.NewOr(terms, e.At)
}

// overArray adds to the error of a quantified comparison with set what finds a value in an array,
// if set is one.
func overArray(err error, e *syntax.Quantified, set expr.Expr, text syntax.Expr) error {
	f, op := fault.Find(err), operatorNames[e.Op]
	if f == nil || set.Type().Base != expr.Array || op != "=" && op != "<>" || (op == "<>") != e.All {
		return err
	}
	not := ""
	if e.All {
		not = "NOT "
	}
	return f.With("suggestion", not+"ARRAY_CONTAINS("+syntax.Print(text)+", "+syntax.Print(e.X)+")")
}

// compareWithQuery binds the operand, gives both sides the types they are compared as, and returns
// the placeholder.
func (x exprs) compareWithQuery(left syntax.Expr, q *syntax.Query, op string, all bool, kind subqueryKind, at fault.Span) (expr.Expr, error) {
	items := []syntax.Expr{left}
	if row, ok := left.(*syntax.Row); ok {
		items = row.Items
	}
	operands, err := x.list(items)
	if err != nil {
		return nil, err
	}
	s, err := x.bindSubquery(q, false)
	if err != nil {
		return nil, err
	}
	if len(s.rel.cols) != len(operands) {
		return nil, incompatibleIn(at)
	}
	if s.rel, err = x.b.byValue(s.rel); err != nil {
		return nil, err
	}
	if len(operands) > 1 && kind == quantifiedQuery {
		return nil, fault.InvalidSQL(at, "A row can be compared with a query by IN, = ANY and <> ALL only")
	}
	if len(operands) == 1 && operands[0].Type().Multi && kind == inQuery {
		return x.multiInQuery(operands[0], s)
	}
	p := &plan.Project{Input: s.rel.node}
	for i, o := range operands {
		if o.Type().Multi && len(operands) > 1 {
			return nil, fault.InvalidSQL(items[i].Span(), "A multi-value string can't be part of a row that is compared with a query")
		}
		c := s.rel.cols[i]
		var column expr.Expr = &expr.Column{Index: i, Name: c.name, T: c.typ}
		// The comparison knows the type in which the two meet.
		compared, err := expr.NewCompare(op, o, column, at)
		if err != nil {
			return nil, incompatibleIn(at)
		}
		if err := joinable(compared, at); err != nil {
			return nil, err
		}
		if call, ok := compared.(*expr.Call); ok && len(call.Args) == 2 {
			operands[i], column = call.Args[0], call.Args[1]
		}
		p.Exprs, p.Names = append(p.Exprs, column), append(p.Names, c.name)
	}
	s.rel = &relational{node: p, cols: s.rel.cols}
	s.kind, s.operands, s.op, s.all = kind, operands, op, all
	return x.addSubquery(s, expr.Of(expr.Boolean))
}

// byValue returns a row of r for each value of its multi-value columns, and for none one with a
// NULL, as grouping by them does.
func (b *binder) byValue(r *relational) (*relational, error) {
	out := &relational{node: r.node, cols: slices.Clone(r.cols)}
	p := &plan.Project{}
	for i, c := range r.cols {
		column := columnOf(r.node, i)
		if c.typ.Multi {
			var err error
			if out.node, err = b.valuesOf(out.node, i); err != nil {
				return nil, err
			}
			column = columnOf(out.node, plan.Width(out.node)-1)
			out.cols[i].typ = column.T
		}
		p.Exprs, p.Names = append(p.Exprs, column), append(p.Names, c.name)
	}
	if out.node == r.node {
		return r, nil
	}
	p.Input = out.node
	out.node = p
	return out, nil
}

// rewriteSubquery returns a placeholder for a copy of c's subquery whose operands and outer columns
// went through f.
func (blk *block) rewriteSubquery(c *expr.Column, f func(expr.Expr) expr.Expr) expr.Expr {
	copied := *blk.subqueries[c.Index-subqueryBase]
	copied.operands = append([]expr.Expr(nil), copied.operands...)
	for i := range copied.operands {
		copied.operands[i] = f(copied.operands[i])
	}
	corr := &correlation{outer: append([]expr.Expr(nil), copied.corr.outer...)}
	for i := range corr.outer {
		corr.outer[i] = f(corr.outer[i])
	}
	copied.corr = corr
	blk.subqueries = append(blk.subqueries, &copied)
	return &expr.Column{Index: subqueryBase + len(blk.subqueries) - 1, Name: c.Name, T: c.T}
}

// filter keeps the rows of n for which cond is true. Subqueries that are terms of their own become
// semi and anti joins.
func (blk *block) filter(n plan.Node, cond expr.Expr) (plan.Node, error) {
	plain, with, behind := blk.b.form.terms(blk, plan.Split(cond))
	if len(plain) > 0 {
		n, plain = &plan.Filter{Input: n, Cond: plan.Conjunction(plain)}, nil
	}
	for _, term := range with {
		s, not := blk.termSubquery(term)
		if s == nil {
			plain = append(plain, term)
			continue
		}
		joined, err := blk.semiJoin(n, s, not)
		if err != nil {
			return nil, err
		}
		if joined == nil {
			plain = append(plain, term)
			continue
		}
		n = joined
	}
	if len(plain) > 0 {
		plain = blk.truths(plain, ifTrue)
		var err error
		if n, plain, err = blk.attach(n, plain); err != nil {
			return nil, err
		}
	}
	if plain = append(plain, behind...); len(plain) == 0 {
		return n, nil
	}
	return &plan.Filter{Input: n, Cond: plan.Conjunction(plain)}, nil
}

// truths returns terms of a filter in which IN subqueries below AND and OR alone tell whether they
// are true, and no more: a filter drops rows for which something is false and those for which it is
// unknown alike.
func (blk *block) truths(terms []expr.Expr, asked truthAsked) []expr.Expr {
	out := make([]expr.Expr, len(terms))
	for i, e := range terms {
		out[i] = blk.truth(e, asked)
	}
	return out
}

func (blk *block) truth(e expr.Expr, asked truthAsked) expr.Expr {
	switch x := e.(type) {
	case *expr.And:
		return &expr.And{Terms: blk.truths(x.Terms, asked)}
	case *expr.Or:
		return &expr.Or{Terms: blk.truths(x.Terms, asked)}
	case *expr.Column:
		if s, _ := blk.termSubquery(x); s != nil && s.kind == inQuery {
			scope := *s
			scope.asked = asked
			if scope, err := blk.addSubquery(&scope, x.T); err == nil { // else there are so many that one more is not worth an error
				return scope
			}
		}
	}
	return e
}

// termSubquery returns the EXISTS or IN subquery that a term is, or that it negates.
func (blk *block) termSubquery(term expr.Expr) (s *subquery, not bool) {
	if n, ok := term.(*expr.Not); ok {
		term, not = n.X, true
	}
	c, ok := term.(*expr.Column)
	if !ok || c.Index < subqueryBase || c.Index >= correlatedBase {
		return nil, false
	}
	s = blk.subqueries[c.Index-subqueryBase]
	if s.kind != existsQuery && s.kind != inQuery {
		return nil, false
	}
	return s, not
}

// semiJoin filters n by a subquery; nil if that needs the general form: NOT IN with outer columns,
// where NULLs count per outer row.
func (blk *block) semiJoin(n plan.Node, s *subquery, not bool) (plan.Node, error) {
	if s.kind == inQuery && not && (len(s.corr.outer) > 0 || len(s.operands) > 1) {
		return nil, nil
	}
	width := plan.Width(n)
	kind := plan.Semi
	switch {
	case not && s.kind == inQuery:
		kind = plan.AntiNull
	case not:
		kind = plan.Anti
	}
	j, first, err := blk.joinSubquery(n, s, kind, s.rel.node)
	if err != nil {
		return nil, err
	}
	if first == width {
		return j, nil
	}
	return plan.Select(j, firstN(width)), nil
}

// joinSubquery joins n with a subquery's plan on its outer columns and, for IN, its operands. The
// columns of n come first, then the operands and outer values that had to be computed, then, from
// column first on, those of right (none of them for a semi join).
func (blk *block) joinSubquery(n plan.Node, s *subquery, kind plan.JoinKind, right plan.Node) (joined plan.Node, first int, err error) {
	signed, outer, err := withZeroSigns(right, s.corr.outer)
	if err != nil {
		return nil, 0, err
	}
	left := append([]expr.Expr(nil), outer...)
	if s.kind == inQuery {
		left = append(left, s.operands...)
	}
	if n, left, err = blk.attach(n, left); err != nil {
		return nil, 0, err
	}
	if s.kind == existsQuery && (kind == plan.Semi || kind == plan.Anti) {
		if rows, terms := pullUp(right); keyedByMore(terms) {
			j := onTerms(n, left, kind, rows, terms)
			return j, plan.Width(j.Left), nil
		}
	}
	right = signed
	d := newDecorrelator(n, left[:len(outer)], s.at)
	var late *lateValues
	if (kind == plan.Single || kind == plan.Left) && len(outer) > 0 {
		if late = lateValuesOf(right); late != nil {
			right, d.sparse, kind = late.of, late.of, plan.Left // there is one row for each different value
		}
	}
	values := plan.Width(right)
	if right, err = d.apply(right); err != nil {
		return nil, 0, err
	}
	n, columns := extend(n, append(slices.Clone(d.values), left[len(outer):]...))
	j := &plan.Join{Kind: kind, Left: n, Right: right}
	if kind == plan.Single {
		j.At = s.at
	}
	for i := range d.values {
		j.Keys = append(j.Keys, plan.EquiKey{Left: columns[i], Right: values + i, NullSafe: d.nulls})
	}
	if s.kind == inQuery {
		for i := range s.operands {
			j.Keys = append(j.Keys, plan.EquiKey{Left: columns[len(d.values)+i], Right: i})
		}
	}
	joined, first = j, plan.Width(n)
	if late != nil {
		joined, err = late.over(j)
	}
	return joined, first, err
}

// extend returns n with the values of exprs, and the columns they are in.
func extend(n plan.Node, exprs []expr.Expr) (plan.Node, []int) {
	width := plan.Width(n)
	columns := make([]int, len(exprs))
	var added []expr.Expr
	for i, e := range exprs {
		if c, ok := e.(*expr.Column); ok && c.Index < width {
			columns[i] = c.Index
			continue
		}
		columns[i] = width + len(added)
		added = append(added, e)
	}
	if len(added) == 0 {
		return n, columns
	}
	return plan.Extend(n, added, nil), columns
}

// attach joins the subqueries that exprs have placeholders for to n, and returns the expressions
// over the result, whose first columns are n's.
func (blk *block) attach(n plan.Node, exprs []expr.Expr) (plan.Node, []expr.Expr, error) {
	var err error
	var out []expr.Expr
	done := map[int]expr.Expr{}
	for i, e := range exprs {
		e = blk.b.form.asked(blk, e)
		if !hasPlaceholder(e, subqueryBase, correlatedBase) {
			continue
		}
		if out == nil {
			out = append([]expr.Expr(nil), exprs...)
		}
		out[i] = expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			c, ok := e.(*expr.Column)
			if !ok || c.Index < subqueryBase || c.Index >= correlatedBase || err != nil {
				return e
			}
			if value := done[c.Index]; value != nil {
				return value
			}
			var value expr.Expr
			n, value, err = blk.attachOne(n, blk.subqueries[c.Index-subqueryBase])
			if err != nil {
				return e
			}
			done[c.Index] = value
			return value
		})
	}
	if err != nil {
		return nil, nil, err
	}
	if out == nil {
		return n, exprs, nil
	}
	return n, out, nil
}

func hasPlaceholder(e expr.Expr, from, to int) bool {
	found := false
	expr.Walk(e, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok && c.Index >= from && c.Index < to {
			found = true
		}
		return !found
	})
	return found
}

// attachOne joins one subquery to n and returns its value.
func (blk *block) attachOne(n plan.Node, s *subquery) (plan.Node, expr.Expr, error) {
	switch s.kind {
	case scalarQuery, valuesQuery:
		j, first, err := blk.joinSubquery(n, s, plan.Single, s.rel.node)
		if err != nil {
			return nil, nil, err
		}
		return j, columnOf(j, first), nil
	case existsQuery:
		return blk.attachExists(n, s)
	}
	return blk.attachComparison(n, s)
}

func columnOf(n plan.Node, i int) *expr.Column {
	c := plan.ColumnAt(n, i)
	return &expr.Column{Index: i, Name: c.Name, T: c.Type}
}

// attachExists counts the rows of a subquery per outer row.
func (blk *block) attachExists(n plan.Node, s *subquery) (plan.Node, expr.Expr, error) {
	count := &plan.Aggregate{Input: plan.Node(&plan.Project{Input: s.rel.node}), Aggs: []plan.AggCall{countRows("$rows")}}
	if len(s.corr.outer) == 0 {
		count.Input = &plan.Limit{Input: count.Input, Count: 1}
	}
	j, first, err := blk.joinSubquery(n, s, plan.Left, count)
	if err != nil {
		return nil, nil, err
	}
	rows := columnOf(j, first)
	some, err := expr.NewCompare(">", rows, longLiteral(0), s.at)
	if err != nil {
		return nil, nil, err
	}
	value, err := expr.NewCall(catalog.MustLookup("IS TRUE"), []expr.Expr{some}, s.at)
	return j, value, err
}

func countRows(name string) plan.AggCall {
	return plan.AggCall{Agg: agg.Spec{Name: "COUNT"}, Filter: -1, Name: name, Type: notNullLong}
}

// attachComparison computes IN, op ANY or op ALL with SQL's three truth values. The subquery is
// summed up per outer row: how many rows it has, how many without a NULL, and for op ANY and ALL
// their extremes. IN needs a second join, with the distinct rows, and that alone where only its
// truth counts.
func (blk *block) attachComparison(n plan.Node, s *subquery) (plan.Node, expr.Expr, error) {
	at := s.at
	b := boolBuilder{at: at}
	n, operands, err := blk.attach(n, s.operands)
	if err != nil {
		return nil, nil, err
	}
	if joined, value, ok, err := blk.b.form.compared(blk, n, s, operands, &b); ok || err != nil {
		return joined, value, err
	}
	if s.asked != asValue {
		return blk.attachMatch(n, s, operands, &b)
	}
	width := len(s.rel.cols)
	cols := s.rel.node.Columns()

	// Which rows have no NULL.
	p := plan.Extend(s.rel.node, nil, nil)
	var known []expr.Expr
	for i := range s.operands {
		known = append(known, b.call("IS NOT NULL", columnOf(s.rel.node, i)))
	}
	p.Exprs, p.Names = append(p.Exprs, b.and(known)), append(p.Names, "$known")
	sums := &plan.Aggregate{Input: p, Aggs: []plan.AggCall{countRows("$rows"), countRows("$known")}}
	sums.Aggs[1].Filter = width
	if s.kind == quantifiedQuery {
		for _, fn := range []string{"MIN", "MAX"} {
			t := cols[0].Type.OrNull(true)
			sums.Aggs = append(sums.Aggs, plan.AggCall{Agg: agg.Spec{Name: fn, Args: []vector.Type{t.Runtime()}}, Args: []int{0}, Filter: -1,
				Name: "$" + fn, Type: t})
		}
	}
	plain := *s
	plain.kind = existsQuery // joined on the outer columns alone
	j, first, err := blk.joinSubquery(n, &plain, plan.Left, sums)
	if err != nil {
		return nil, nil, err
	}
	rows, knownRows := columnOf(j, first), columnOf(j, first+1)
	n = j
	none := b.not(b.call("IS TRUE", b.compare(">", rows, longLiteral(0))))
	unknown := b.compare("<", knownRows, rows)
	null := &expr.Literal{T: expr.Of(expr.Boolean)}

	if s.kind == quantifiedQuery {
		extreme := 2 // MIN
		if (s.op == ">" || s.op == ">=") == s.all {
			extreme = 3 // greater than all is greater than the greatest; less than any is less than the greatest
		}
		holds := b.compare(s.op, operands[0], columnOf(j, first+extreme))
		if s.op == "=" { // all rows are the same, and equal
			holds = b.and([]expr.Expr{holds, b.compare("=", operands[0], columnOf(j, first+3))})
		}
		whens := []expr.When{{Cond: none, Then: boolLiteral(s.all)}}
		if s.all {
			whens = append(whens, expr.When{Cond: b.not(holds), Then: boolLiteral(false)})
		} else {
			whens = append(whens, expr.When{Cond: holds, Then: boolLiteral(true)})
		}
		whens = append(whens, expr.When{Cond: unknown, Then: null})
		return n, b.choose(whens, holds), b.err
	}

	var match expr.Expr
	if n, match, err = blk.attachMatch(n, s, operands, &b); err != nil {
		return nil, nil, err
	}
	whens := []expr.When{{Cond: match, Then: boolLiteral(true)}, {Cond: none, Then: boolLiteral(false)}}
	if width == 1 {
		whens = append(whens, expr.When{Cond: b.or([]expr.Expr{b.call("IS NULL", operands[0]), unknown}), Then: null})
		return n, b.choose(whens, boolLiteral(false)), b.err
	}
	if width > maxNullableRow {
		return nil, nil, fault.UnsupportedSQL(at, "NOT IN, and IN as a value, of rows of more than [%d] values are not supported over a query", maxNullableRow)
	}
	for pattern := 1; pattern < 1<<width; pattern++ {
		var possible expr.Expr
		if n, possible, err = blk.attachPossible(n, s, operands, pattern, &b); err != nil {
			return nil, nil, err
		}
		whens = append(whens, expr.When{Cond: possible, Then: null})
	}
	return n, b.choose(whens, boolLiteral(false)), b.err
}

// attachMatch joins the distinct rows of an IN subquery, with a mark that a left join makes NULL
// where there is no match, and returns whether there is one.
func (blk *block) attachMatch(n plan.Node, s *subquery, operands []expr.Expr, b *boolBuilder) (plan.Node, expr.Expr, error) {
	width := len(s.rel.cols)
	matches := plan.Extend(&plan.Aggregate{Input: s.rel.node, Keys: firstN(width)}, []expr.Expr{boolLiteral(true)}, []string{"$match"})
	equal := *s
	equal.operands = operands
	j, first, err := blk.joinSubquery(n, &equal, plan.Left, matches)
	if err != nil {
		return nil, nil, err
	}
	return j, b.call("IS NOT NULL", columnOf(j, first+width)), b.err
}

// maxNullableRow is how many values a row of IN may have where NULLs count: each set of its columns
// is a join.
const maxNullableRow = 5

// attachPossible joins what says whether a row of an IN subquery may be the operands for all that
// is known: they are equal in the columns that are not in pattern, and in each of the others one of
// the two is NULL. Right rows are summed up by the former: which sets of the latter are NULL
// together.
func (blk *block) attachPossible(n plan.Node, s *subquery, operands []expr.Expr, pattern int, b *boolBuilder) (plan.Node, expr.Expr, error) {
	p := plan.Extend(s.rel.node, nil, nil)
	sums := &plan.Aggregate{Input: p}
	equal := *s
	equal.operands = nil
	for i, o := range operands {
		if pattern&(1<<i) == 0 {
			sums.Keys = append(sums.Keys, i)
			equal.operands = append(equal.operands, o)
		}
	}
	var sets []int // of columns that are NULL on the right; in the rest of the pattern the operand is
	for set := pattern; ; set = (set - 1) & pattern {
		sets = append(sets, set)
		var nulls []expr.Expr
		for i := range operands {
			if set&(1<<i) != 0 {
				nulls = append(nulls, b.call("IS NULL", columnOf(s.rel.node, i)))
			}
		}
		rows := countRows("$rows")
		if len(nulls) > 0 {
			rows.Filter = len(p.Exprs)
			p.Exprs, p.Names = append(p.Exprs, b.and(nulls)), append(p.Names, "$null")
		}
		sums.Aggs = append(sums.Aggs, rows)
		if set == 0 {
			break
		}
	}
	j, first, err := blk.joinSubquery(n, &equal, plan.Left, sums)
	if err != nil {
		return nil, nil, err
	}
	first += len(sums.Keys)
	var possible []expr.Expr
	for k, set := range sets {
		terms := []expr.Expr{b.call("IS TRUE", b.compare(">", columnOf(j, first+k), longLiteral(0)))}
		for i, o := range operands {
			if (pattern&^set)&(1<<i) != 0 {
				terms = append(terms, b.call("IS NULL", o))
			}
		}
		possible = append(possible, b.and(terms))
	}
	return j, b.or(possible), b.err
}

// boolBuilder builds conditions; it keeps the first error.
type boolBuilder struct {
	at  fault.Span
	err error
}

func (b *boolBuilder) keep(e expr.Expr, err error) expr.Expr {
	if err != nil && b.err == nil {
		b.err = err
	}
	if e == nil {
		return boolLiteral(false)
	}
	return e
}

func (b *boolBuilder) call(fn string, args ...expr.Expr) expr.Expr {
	return b.keep(expr.NewCall(catalog.MustLookup(fn), args, b.at))
}

func (b *boolBuilder) compare(op string, x, y expr.Expr) expr.Expr {
	return b.keep(expr.NewCompare(op, x, y, b.at))
}

func (b *boolBuilder) and(terms []expr.Expr) expr.Expr { return b.keep(expr.NewAnd(terms, b.at)) }
func (b *boolBuilder) or(terms []expr.Expr) expr.Expr  { return b.keep(expr.NewOr(terms, b.at)) }
func (b *boolBuilder) not(x expr.Expr) expr.Expr       { return b.keep(expr.NewNot(x, b.at)) }

func (b *boolBuilder) choose(whens []expr.When, other expr.Expr) expr.Expr {
	return b.keep(expr.NewCase(whens, other, b.at))
}
