package plan

import "github.com/hengedb/henge/internal/expr"

// pushFilters moves the terms of conditions towards the scans whose rows they judge.
func (o *optimizer) pushFilters(n Node) Node { return o.push(n, nil) }

// push returns n filtered by terms, each over n's columns and each as far down as it may go.
func (o *optimizer) push(n Node, terms []expr.Expr) Node {
	switch x := n.(type) {
	case *Filter:
		own := Split(x.Cond)
		all := append(append(make([]expr.Expr, 0, len(own)+len(terms)), own...), terms...)
		return o.push(x.Input, all)

	case *Scan:
		if len(terms) == 0 {
			return x
		}
		if x.Limit >= 0 {
			return filter(x, terms)
		}
		var stay []expr.Expr
		if x.Guarded {
			if terms, stay = partition(terms, expr.NeverFails); len(terms) == 0 {
				return filter(x, stay)
			}
		}
		o.fired()
		c := *x
		c.Filter = Conjunction(append(Split(x.Filter), terms...))
		return filter(&c, stay)

	case *Project:
		down, stay := partition(terms, func(e expr.Expr) bool { return pushableThrough(e, x) })
		for i, e := range down {
			down[i] = substitute(e, x.Exprs)
		}
		o.moved(down)
		return filter(WithInputs(x, []Node{o.push(x.Input, down)}), stay)

	case *Aggregate:
		// A condition on keys judges whole groups; with grouping sets a key may be NULL for another
		// reason than its rows.
		ok := func(c int) bool { return c < len(x.Keys) }
		if x.Sets != nil {
			ok = func(c int) bool { return c < len(x.Keys) && inAllSets(x.Sets, c) }
		}
		down, stay := partition(terms, func(e expr.Expr) bool { return readsSome(e) && ReadsOnly(e, ok) && !IsVolatile(e) })
		for i, e := range down {
			down[i] = renumber(e, x.Keys)
		}
		o.moved(down)
		return filter(WithInputs(x, []Node{o.push(x.Input, down)}), stay)

	case *Sort:
		if x.Limit >= 0 || x.Offset > 0 {
			return filter(WithInputs(x, []Node{o.push(x.Input, nil)}), terms)
		}
		o.moved(terms)
		return WithInputs(x, []Node{o.push(x.Input, terms)})

	case *Union:
		o.moved(terms)
		in := make([]Node, len(x.Ins))
		for i, c := range x.Ins {
			in[i] = o.push(c, retype(terms, c))
		}
		return WithInputs(x, in)

	case *SetOp:
		o.moved(terms)
		return WithInputs(x, []Node{o.push(x.Left, terms), o.push(x.Right, retype(terms, x.Right))})

	case *Unnest:
		width := Width(x.Input)
		down, stay := partition(terms, func(e expr.Expr) bool { return readsSome(e) && ReadsOnly(e, func(c int) bool { return c < width }) })
		o.moved(down)
		return filter(WithInputs(x, []Node{o.push(x.Input, down)}), stay)

	case *Window:
		partitioned := map[int]bool{}
		for _, c := range x.Partition {
			partitioned[c] = true
		}
		down, stay := partition(terms, func(e expr.Expr) bool {
			return readsSome(e) && ReadsOnly(e, func(c int) bool { return partitioned[c] })
		})
		o.moved(down)
		return filter(WithInputs(x, []Node{o.push(x.Input, down)}), stay)

	case *Join:
		return o.pushJoin(x, terms)
	}
	return filter(MapInputs(n, func(c Node) Node { return o.push(c, nil) }), terms)
}

func (o *optimizer) moved(terms []expr.Expr) {
	if len(terms) > 0 {
		o.fired()
	}
}

// pushJoin distributes terms, over the columns of left then right, and the terms of the join
// condition.
func (o *optimizer) pushJoin(x *Join, terms []expr.Expr) Node {
	x = Strengthen(x, terms)
	width := Width(x.Left)
	onLeft := func(e expr.Expr) bool { return ReadsOnly(e, func(c int) bool { return c < width }) && !IsVolatile(e) }
	onRight := func(e expr.Expr) bool { return ReadsOnly(e, func(c int) bool { return c >= width }) && !IsVolatile(e) }

	var left, right, stay []expr.Expr
	for _, e := range terms {
		switch {
		case onLeft(e) && x.Kind != Right && x.Kind != Full:
			left = append(left, e)
		case onRight(e) && (x.Kind == Inner || x.Kind == Right):
			right = append(right, e)
		default:
			stay = append(stay, e)
		}
	}
	var on []expr.Expr
	for _, e := range Split(x.On) {
		switch {
		case onLeft(e) && readsSome(e) && (x.Kind == Inner || x.Kind == Semi || x.Kind == Right):
			left = append(left, e)
		case onRight(e) && readsSome(e) && x.Kind != Right && x.Kind != Full && x.Kind != AntiNull:
			right = append(right, e)
		default:
			on = append(on, e)
		}
	}
	if x.Kind == Inner {
		on = append(on, stay...)
		o.moved(stay)
		stay = nil
		left = append(left, impliedTerms(on, func(c int) bool { return c < width })...)
		right = append(right, impliedTerms(on, func(c int) bool { return c >= width })...)
	}
	o.moved(left)
	o.moved(right)
	for i, e := range right {
		right[i] = ShiftColumns(e, -width)
	}
	c := *x
	c.Left, c.Right, c.On = o.push(x.Left, left), o.push(x.Right, right), Conjunction(on)
	return filter(&c, stay)
}

// Strengthen converts an outer join into a stricter kind if terms above it drop the rows without a
// partner.
func Strengthen(x *Join, terms []expr.Expr) *Join {
	if !isOuter(x.Kind) {
		return x
	}
	width := Width(x.Left)
	leftNeeded, rightNeeded := false, false
	for _, e := range terms {
		leftNeeded = leftNeeded || RejectsNull(e, func(c int) bool { return c < width })
		rightNeeded = rightNeeded || RejectsNull(e, func(c int) bool { return c >= width })
	}
	kind := narrower(x.Kind, leftNeeded, rightNeeded)
	if kind == x.Kind {
		return x
	}
	c := *x
	c.Kind = kind
	return &c
}

// RejectsNull reports whether e is certainly not TRUE when all columns for which ok holds are NULL.
// It handles comparisons, IN, LIKE and IS NOT NULL over such columns; it assumes that other
// expressions can be TRUE.
func RejectsNull(e expr.Expr, ok func(int) bool) bool {
	switch x := e.(type) {
	case *expr.And:
		for _, t := range x.Terms {
			if RejectsNull(t, ok) {
				return true
			}
		}
	case *expr.Or:
		for _, t := range x.Terms {
			if !RejectsNull(t, ok) {
				return false
			}
		}
		return true
	case *expr.In:
		return isNullWith(x.X, ok)
	case *expr.Not:
		if c, is := x.X.(*expr.Call); is && c.Fn.Name == fnIsNull {
			return isNullWith(c.Args[0], ok)
		}
		return isNullWith(x.X, ok)
	case *expr.Call:
		if x.Fn.Name == fnIsNotNull {
			return isNullWith(x.Args[0], ok)
		}
		return isNullWith(x, ok)
	}
	return false
}

// isNullWith reports whether e is certainly NULL when all columns for which ok holds are.
func isNullWith(e expr.Expr, ok func(int) bool) bool {
	switch x := e.(type) {
	case *expr.Column:
		return ok(x.Index)
	case *expr.Cast:
		return isNullWith(x.X, ok)
	case *expr.In:
		return isNullWith(x.X, ok)
	case *expr.Call:
		if !isStrict(x) {
			return false
		}
		for _, a := range x.Args {
			if isNullWith(a, ok) {
				return true
			}
		}
	}
	return false
}

// pushableThrough reports whether e may be computed below p: from the expressions that its columns
// stand for.
func pushableThrough(e expr.Expr, p *Project) bool {
	if !ReadsOnly(e, func(c int) bool { return !IsVolatile(p.Exprs[c]) }) {
		return false
	}
	return !IsOvergrown(e, p.Exprs)
}

// IsOvergrown reports whether e would be too large after the expressions below are substituted for
// its columns.
func IsOvergrown(e expr.Expr, below []expr.Expr) bool {
	size := 0
	count := func(expr.Expr) bool { size++; return size <= maxMergedNodes }
	expr.Walk(e, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok {
			expr.Walk(below[c.Index], count)
		}
		return count(x)
	})
	return size > maxMergedNodes
}

// readsSome reports whether e reads a column: a constant condition says something of all rows and
// stays where it is.
func readsSome(e expr.Expr) bool { return !ReadsOnly(e, func(int) bool { return false }) }

func inAllSets(sets [][]int, key int) bool {
	for _, s := range sets {
		found := false
		for _, k := range s {
			found = found || k == key
		}
		if !found {
			return false
		}
	}
	return true
}

// retype returns terms over n's columns: positions are the same, types may differ in what they
// allow.
func retype(terms []expr.Expr, n Node) []expr.Expr {
	cols := n.Columns()
	out := make([]expr.Expr, len(terms))
	for i, e := range terms {
		out[i] = replaceColumns(e, func(c *expr.Column) expr.Expr {
			return &expr.Column{Index: c.Index, Name: cols[c.Index].Name, T: cols[c.Index].Type}
		})
	}
	return out
}

func partition(terms []expr.Expr, ok func(expr.Expr) bool) (yes, no []expr.Expr) {
	for _, e := range terms {
		if ok(e) {
			yes = append(yes, e)
		} else {
			no = append(no, e)
		}
	}
	return yes, no
}
