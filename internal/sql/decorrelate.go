package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// decorrelator removes the placeholders for outer columns from a subquery's plan. It computes the
// distinct values the outer columns take (the domain), joins them in at the lowest operators that
// use them, and carries them up as further columns, so that the plan gives for each of those values
// the rows the subquery has for it. The caller then joins the outer rows on these columns.
//
// This is the unnesting of Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015). Where a
// filter says that an outer column equals an expression over the subquery's own rows, that
// expression stands for the column and no domain is joined.
//
// An outer column of the query around itself is not a value of its rows: the placeholder stays, now
// for the column of that query, until it is decorrelated in its turn. With a domain of its values
// at every level, queries in queries would have twice as many of them at each.
type decorrelator struct {
	outer  plan.Node
	values []expr.Expr // over outer
	// to gives for each outer column of the subquery the column it is from now on: the placeholder of
	// a value, or one that is passed on.
	to     []int
	passes bool // some are
	at     fault.Span
	// sparse is an Aggregate without keys whose row for no input may be missing, because it would be
	// all NULL and the join above gives NULL for a missing row anyway.
	sparse *plan.Aggregate
	// nulls tells that outer values may be NULL in what apply returns: those of a domain, not those
	// that stand in an equality.
	nulls bool
}

func newDecorrelator(outer plan.Node, values []expr.Expr, at fault.Span) *decorrelator {
	d := &decorrelator{outer: outer, to: make([]int, len(values)), at: at}
	for i, v := range values {
		if c, ok := v.(*expr.Column); ok && c.Index >= correlatedBase {
			d.to[i], d.passes = c.Index-correlatedBase+passedBase, true
			continue
		}
		d.to[i] = correlatedBase + len(d.values)
		d.values = append(d.values, v)
	}
	return d
}

// apply returns n with d.values as its last columns.
func (d *decorrelator) apply(n plan.Node) (plan.Node, error) {
	if d.passes {
		n = renumberOuter(n, func(i int) int { return d.to[i-correlatedBase] })
	}
	if len(d.values) > 0 {
		var err error
		if n, err = d.push(n); err != nil {
			return nil, err
		}
		operators := 0
		plan.Walk(n, func(plan.Node) bool {
			operators++
			return operators <= maxOperators
		})
		if operators > maxOperators {
			return nil, fault.InvalidSQL(d.at, "The columns of outer queries in this query make its plan larger than [%d] operators", maxOperators)
		}
	}
	if d.passes {
		n = renumberOuter(n, func(i int) int {
			if i >= passedBase {
				i += correlatedBase - passedBase
			}
			return i
		})
	}
	return n, nil
}

// renumberOuter returns n with other numbers for its outer columns.
func renumberOuter(n plan.Node, to func(int) int) plan.Node {
	renumber := func(i int) int {
		if i >= correlatedBase {
			return to(i)
		}
		return i
	}
	n = plan.MapInputs(n, func(in plan.Node) plan.Node { return renumberOuter(in, to) })
	return plan.MapExprs(n, func(e expr.Expr) expr.Expr { return expr.Remap(e, renumber) })
}

// nullForNone finds the Aggregate of which n computes what is NULL if its columns are, if it has no
// keys and only aggregates that are NULL over no rows.
func nullForNone(n plan.Node) *plan.Aggregate {
	switch x := n.(type) {
	case *plan.Project:
		for _, e := range x.Exprs {
			if !plan.NullOfNulls(e) {
				return nil
			}
		}
		return nullForNone(x.Input)
	case *plan.Aggregate:
		if len(x.Keys) > 0 || x.Sets != nil || slices.ContainsFunc(x.Aggs, emptyIsZero) {
			return nil
		}
		return x
	}
	return nil
}

// emptyIsZero reports whether an aggregate over no rows is 0, and not NULL.
func emptyIsZero(a plan.AggCall) bool { return agg.Lookup(a.Agg.Name).EmptyIsZero }

// zeroForNull is a count of rows that may not be there.
func zeroForNull(count expr.Expr) (expr.Expr, error) {
	none, err := expr.NewCall(catalog.MustLookup("IS NULL"), []expr.Expr{count}, fault.Span{})
	if err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: none, Then: longLiteral(0)}}, count, fault.Span{})
}

// domain returns the distinct outer values, and perhaps more: those of rows that subqueries remove.
func (d *decorrelator) domain() plan.Node {
	d.nulls = true
	outer, values := d.outer, d.values
	if rows, to := withoutSubqueries(outer); rows != outer {
		if moved := readable(values, to); len(moved) == len(values) {
			outer, values = rows, moved
		}
	}
	p := &plan.Project{Input: outer}
	for _, v := range values {
		p.Exprs, p.Names = append(p.Exprs, oneZero(v)), append(p.Names, plan.OuterColumn)
	}
	return &plan.Aggregate{Input: p, Keys: firstN(len(d.values))}
}

// oneZero returns e with 0.0 in place of -0.0: groups tell them apart, the equality by which outer
// rows find their group does not.
func oneZero(e expr.Expr) expr.Expr {
	if !e.Type().IsFractional() {
		return e
	}
	sum, err := expr.NewCall(catalog.MustLookup("+"), []expr.Expr{e, &expr.Literal{T: expr.Of(expr.Double).NotNull(), Value: 0.0}},
		fault.Span{})
	if err != nil {
		return e
	}
	if sum.Type().Runtime() == e.Type().Runtime() {
		return sum
	}
	return &expr.Cast{X: sum, T: e.Type()}
}

// withoutSubqueries returns the rows of n as they were before subqueries were joined to them, or
// more of them, and where each column of n went: -1 if it is gone. A domain over n itself would
// copy those subqueries together with their domains, so that a query of n subqueries had 2^n of
// them.
func withoutSubqueries(n plan.Node) (plan.Node, []int) {
	switch x := n.(type) {
	case *plan.Join:
		return joinWithoutSubqueries(x)
	case *plan.Filter:
		in, to := withoutSubqueries(x.Input)
		if in == x.Input {
			return n, to
		}
		if kept := readable(plan.Split(x.Cond), to); len(kept) > 0 {
			in = &plan.Filter{Input: in, Cond: plan.Conjunction(kept)}
		}
		return in, to
	case *plan.Project:
		in, below := withoutSubqueries(x.Input)
		if in == x.Input {
			break
		}
		p := &plan.Project{Input: in}
		to := make([]int, len(x.Exprs))
		for i, e := range x.Exprs {
			to[i] = -1
			if kept := readable([]expr.Expr{e}, below); len(kept) > 0 {
				to[i] = len(p.Exprs)
				p.Exprs, p.Names = append(p.Exprs, kept[0]), append(p.Names, x.Names[i])
			}
		}
		return p, to
	}
	return n, firstN(plan.Width(n))
}

func joinWithoutSubqueries(x *plan.Join) (plan.Node, []int) {
	width := plan.Width(x.Left)
	switch x.Kind {
	case plan.Semi, plan.Anti, plan.AntiNull:
		return withoutSubqueries(x.Left)
	case plan.Single, plan.Left, plan.Inner:
	default:
		return x, firstN(plan.Width(x))
	}
	left, to := withoutSubqueries(x.Left)
	if x.Kind == plan.Single || hasDomain(x.Right) || correlated(x.Right) {
		for range x.Right.Columns() {
			to = append(to, -1)
		}
		return left, to
	}
	right, toRight := x.Right, firstN(plan.Width(x.Right))
	if x.Kind == plan.Inner {
		right, toRight = withoutSubqueries(x.Right)
	}
	if left == x.Left && right == x.Right {
		return x, firstN(plan.Width(x))
	}
	j := &plan.Join{Kind: x.Kind, Left: left, Right: right, At: x.At}
	for _, k := range x.Keys {
		if to[k.Left] >= 0 && toRight[k.Right] >= 0 {
			j.Keys = append(j.Keys, plan.EquiKey{Left: to[k.Left], Right: toRight[k.Right], NullSafe: k.NullSafe})
		}
	}
	newWidth := plan.Width(left)
	for _, t := range toRight {
		if t >= 0 {
			t += newWidth
		}
		to = append(to, t)
	}
	var on []expr.Expr
	if x.On != nil {
		on = plan.Split(x.On)
	}
	kept := readable(on, to)
	j.On = plan.Conjunction(kept)
	if x.Kind == plan.Left && (len(j.Keys) < len(x.Keys) || len(kept) < len(on)) {
		// With fewer conditions other rows have partners; only the left columns are sure.
		for i := range to[width:] {
			to[width+i] = -1
		}
		return left, to
	}
	return j, to
}

// readable returns those of exprs, over columns that went to, that read no column which is gone,
// over where the others are.
func readable(exprs []expr.Expr, to []int) []expr.Expr {
	var out []expr.Expr
	for _, e := range exprs {
		gone := false
		moved := expr.Remap(e, func(i int) int {
			switch {
			case i >= correlatedBase:
				return i
			case i >= len(to) || to[i] < 0: // gone, or a placeholder
				gone = true
				return 0
			}
			return to[i]
		})
		if !gone {
			out = append(out, moved)
		}
	}
	return out
}

// hasDomain reports whether n depends on other rows through a domain.
func hasDomain(n plan.Node) bool {
	found := false
	plan.Walk(n, func(n plan.Node) bool {
		if a, ok := n.(*plan.Aggregate); ok && len(a.Aggs) == 0 {
			p, ok := a.Input.(*plan.Project)
			found = found || ok && len(p.Names) > 0 && p.Names[0] == plan.OuterColumn
		}
		return !found
	})
	return found
}

// correlated reports whether n or something below it uses an outer column that is not passed on.
func correlated(n plan.Node) bool {
	found := false
	plan.Walk(n, func(n plan.Node) bool {
		switch x := n.(type) {
		case *plan.Filter:
			found = found || usesOuter(x.Cond)
		case *plan.Project:
			for _, e := range x.Exprs {
				found = found || usesOuter(e)
			}
		case *plan.Join:
			found = found || usesOuter(x.On)
		}
		return !found
	})
	return found
}

func usesOuter(e expr.Expr) bool { return e != nil && hasPlaceholder(e, correlatedBase, passedBase) }

func isOuter(c *expr.Column) bool { return c.Index >= correlatedBase && c.Index < passedBase }

// bound returns e with outer column k read from column at+k.
func bound(e expr.Expr, at int) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok && isOuter(c) {
			return &expr.Column{Index: at + c.Index - correlatedBase, Name: c.Name, T: c.T}
		}
		return e
	})
}

func (d *decorrelator) push(n plan.Node) (plan.Node, error) {
	if !correlated(n) {
		return &plan.Join{Kind: plan.Inner, Left: n, Right: d.domain()}, nil
	}
	k := len(d.values)
	width := plan.Width(n)
	switch x := n.(type) {
	case *plan.Filter:
		return d.pushFilter(x)
	case *plan.Project:
		in, err := d.push(x.Input)
		if err != nil {
			return nil, err
		}
		at := plan.Width(x.Input)
		p := &plan.Project{Input: in}
		for i, e := range x.Exprs {
			p.Exprs, p.Names = append(p.Exprs, bound(e, at)), append(p.Names, x.Names[i])
		}
		for i := range k {
			p.Exprs, p.Names = append(p.Exprs, columnOf(in, at+i)), append(p.Names, plan.OuterColumn)
		}
		return p, nil
	case *plan.Aggregate:
		return d.pushAggregate(x)
	case *plan.Sort:
		in, err := d.push(x.Input)
		if err != nil || x.Limit < 0 && x.Offset == 0 {
			return in, err
		}
		return d.limitEach(in, width, x.Keys, x.Offset, x.Limit)
	case *plan.Limit:
		in, err := d.push(x.Input)
		if err != nil {
			return nil, err
		}
		return d.limitEach(in, width, nil, x.Offset, x.Count)
	case *plan.Join:
		return d.pushJoin(x)
	case *plan.Union:
		u := &plan.Union{Out: append([]plan.Column(nil), x.Out...)}
		for _, c := range x.Ins {
			in, err := d.push(c)
			if err != nil {
				return nil, err
			}
			u.Ins = append(u.Ins, in)
		}
		u.Out = append(u.Out, u.Ins[0].Columns()[width:]...)
		for i := range u.Out {
			u.Out[i].Type.Nullable = true
		}
		return u, nil
	case *plan.SetOp:
		left, err := d.push(x.Left)
		if err != nil {
			return nil, err
		}
		right, err := d.push(x.Right)
		if err != nil {
			return nil, err
		}
		return &plan.SetOp{Kind: x.Kind, All: x.All, Left: left, Right: right}, nil
	case *plan.Unnest:
		in, err := d.push(x.Input)
		if err != nil {
			return nil, err
		}
		return outerLast(plan.WithInputs(x, []plan.Node{in}), plan.Width(x.Input), k), nil
	case *plan.Window:
		in, err := d.push(x.Input)
		if err != nil {
			return nil, err
		}
		c := *x
		c.Input = in
		c.Partition = append([]int(nil), x.Partition...)
		at := plan.Width(x.Input)
		for i := range k {
			c.Partition = append(c.Partition, at+i)
		}
		return outerLast(&c, at, k), nil
	}
	return nil, fault.UnsupportedSQL(fault.Span{}, "This use of a column of an outer query is not supported yet")
}

// outerLast moves the k columns from at to the end.
func outerLast(n plan.Node, at, k int) plan.Node {
	width := plan.Width(n)
	keep := make([]int, 0, width)
	for i := range width {
		if i < at || i >= at+k {
			keep = append(keep, i)
		}
	}
	for i := range k {
		keep = append(keep, at+i)
	}
	return plan.Select(n, keep)
}

func (d *decorrelator) pushFilter(x *plan.Filter) (plan.Node, error) {
	width := plan.Width(x.Input)
	if !correlated(x.Input) {
		if n := d.byEquality(x); n != nil {
			return n, nil
		}
	}
	in, err := d.push(x.Input)
	if err != nil {
		return nil, err
	}
	return &plan.Filter{Input: in, Cond: bound(x.Cond, width)}, nil
}

// byEquality handles a filter that equates every outer column with an expression over its input;
// nil if it does not.
func (d *decorrelator) byEquality(x *plan.Filter) plan.Node {
	locals := make([]expr.Expr, len(d.values))
	var rest []expr.Expr
	for _, term := range plan.Split(x.Cond) {
		k, local := outerEquality(term)
		if local == nil || locals[k] != nil {
			rest = append(rest, term)
			continue
		}
		locals[k] = local
	}
	for _, l := range locals {
		if l == nil {
			return nil
		}
	}
	for i, term := range rest {
		rest[i] = expr.Rewrite(term, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok && isOuter(c) {
				return locals[c.Index-correlatedBase]
			}
			return e
		})
	}
	for _, l := range locals {
		if !l.Type().Nullable && !l.Type().IsFractional() {
			continue
		}
		equals, err := equalsSome(l)
		if err != nil {
			return nil
		}
		rest = append(rest, equals)
	}
	var n = x.Input
	if len(rest) > 0 {
		n = &plan.Filter{Input: n, Cond: plan.Conjunction(rest)}
	}
	for i, l := range locals {
		locals[i] = oneZero(l)
	}
	return plan.Extend(n, locals, nil)
}

// equalsSome is true of a value that is equal to some value: neither NULL nor NaN, which the join
// with the outer rows takes for equal to another.
func equalsSome(e expr.Expr) (expr.Expr, error) {
	if e.Type().IsFractional() {
		return expr.NewCompare("=", e, e, fault.Span{})
	}
	return expr.NewCall(catalog.MustLookup("IS NOT NULL"), []expr.Expr{e}, fault.Span{})
}

// outerEquality takes apart "outer column = expression without one", of one physical type.
func outerEquality(e expr.Expr) (k int, local expr.Expr) {
	call, ok := e.(*expr.Call)
	if !ok || call.Fn.Name != "=" {
		return 0, nil
	}
	for i, a := range call.Args {
		c, ok := a.(*expr.Column)
		other := call.Args[1-i]
		if ok && isOuter(c) && !usesOuter(other) && c.T.Runtime() == other.Type().Runtime() {
			return c.Index - correlatedBase, other
		}
	}
	return 0, nil
}

func (d *decorrelator) pushAggregate(x *plan.Aggregate) (plan.Node, error) {
	in, err := d.push(x.Input)
	if err != nil {
		return nil, err
	}
	k := len(d.values)
	at := plan.Width(x.Input)
	c := *x
	c.Input = in
	c.Keys = append([]int(nil), x.Keys...)
	for i := range k {
		c.Keys = append(c.Keys, at+i)
	}
	if x.Sets != nil {
		// The id of a row's set keeps its bits: the outer columns are in every set, and shifted out
		// below.
		c.Sets = make([][]int, len(x.Sets))
		for i, s := range x.Sets {
			c.Sets[i] = append([]int(nil), s...)
			for j := range k {
				c.Sets[i] = append(c.Sets[i], len(x.Keys)+j)
			}
		}
	}
	n := outerLast(&c, len(x.Keys), k)
	if x.Grouping {
		n = shiftGroupingID(n, plan.Width(x)-1, k)
	}
	if len(x.Keys) > 0 || x.Sets != nil || x == d.sparse {
		return n, nil
	}
	// Without keys there is a row for each outer value, also for those without input.
	j := &plan.Join{Kind: plan.Left, Left: d.domain(), Right: n}
	for i := range k {
		j.Keys = append(j.Keys, plan.EquiKey{Left: i, Right: len(x.Aggs) + i, NullSafe: true})
	}
	p := &plan.Project{Input: j}
	for i, a := range x.Aggs {
		var e expr.Expr = columnOf(j, k+i)
		if emptyIsZero(a) {
			if e, err = zeroForNull(e); err != nil {
				return nil, err
			}
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, a.Name)
	}
	for i := range k {
		p.Exprs, p.Names = append(p.Exprs, columnOf(j, i)), append(p.Names, plan.OuterColumn)
	}
	return p, nil
}

// shiftGroupingID divides the grouping id in column id by 2^k: the bits of k keys that are in every
// set.
func shiftGroupingID(n plan.Node, id, k int) plan.Node {
	p := plan.Select(n, firstN(plan.Width(n)))
	shifted, err := expr.NewCall(catalog.MustLookup("/"), []expr.Expr{p.Exprs[id], longLiteral(1 << k)}, fault.Span{})
	if err == nil {
		p.Exprs[id] = shifted
	}
	return p
}

// limitEach keeps the rows from offset on, at most limit (-1: all), of each outer value, in the
// order of keys. The outer values are the columns of n from width on.
func (d *decorrelator) limitEach(n plan.Node, width int, keys []plan.SortKey, offset, limit int64) (plan.Node, error) {
	number := plan.WindowCall{Fn: "ROW_NUMBER", AggCall: plan.AggCall{Agg: agg.Spec{Name: "ROW_NUMBER"}, Filter: -1, Name: "$row",
		Type: notNullLong},
		Frame: plan.Frame{Range: true, FromUnbounded: true, ToUnbounded: true, FromColumn: -1, ToColumn: -1}}
	w := &plan.Window{Input: n, Order: keys, Calls: []plan.WindowCall{number}}
	for i := range d.values {
		w.Partition = append(w.Partition, width+i)
	}
	total := plan.Width(n)
	row := columnOf(w, total)
	cond, err := expr.NewCompare(">", row, longLiteral(offset), fault.Span{})
	if err != nil {
		return nil, err
	}
	if limit >= 0 {
		last, err := expr.NewCompare("<=", row, longLiteral(offset+limit), fault.Span{})
		if err != nil {
			return nil, err
		}
		cond = &expr.And{Terms: []expr.Expr{cond, last}}
	}
	return plan.Select(&plan.Filter{Input: w, Cond: cond}, firstN(total)), nil
}

func (d *decorrelator) pushJoin(x *plan.Join) (plan.Node, error) {
	k := len(d.values)
	wl, wr := plan.Width(x.Left), plan.Width(x.Right)
	if x.Kind == plan.AntiNull && correlated(x.Right) {
		return nil, fault.UnsupportedSQL(fault.Span{}, "NOT IN over a query that uses a column of an outer query is not supported yet")
	}
	left, err := d.push(x.Left)
	if err != nil {
		return nil, err
	}
	c := *x
	c.Left = left
	both := correlated(x.Right) || x.Kind == plan.Right || x.Kind == plan.Full
	if both {
		if c.Right, err = d.push(x.Right); err != nil {
			return nil, err
		}
		c.Keys = append([]plan.EquiKey(nil), x.Keys...)
		for i := range k {
			c.Keys = append(c.Keys, plan.EquiKey{Left: wl + i, Right: wr + i, NullSafe: true})
		}
	}
	if x.On != nil {
		on := expr.Remap(x.On, func(i int) int {
			switch {
			case i >= passedBase:
				return i
			case i >= correlatedBase:
				return wl + i - correlatedBase
			case i >= wl:
				return i + k
			}
			return i
		})
		c.On = on
	}
	if x.LeftOnly() {
		return &c, nil // left columns, then the outer ones
	}
	keep := make([]int, 0, wl+wr+k)
	for i := range wl {
		keep = append(keep, i)
	}
	for i := range wr {
		keep = append(keep, wl+k+i)
	}
	p := plan.Select(&c, keep)
	for i := range k {
		var e expr.Expr = columnOf(&c, wl+i)
		if x.Kind == plan.Right || x.Kind == plan.Full {
			if e, err = expr.NewCall(catalog.MustLookup("COALESCE"), []expr.Expr{e, columnOf(&c, wl+k+wr+i)}, fault.Span{}); err != nil {
				return nil, err
			}
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, plan.OuterColumn)
	}
	return p, nil
}
