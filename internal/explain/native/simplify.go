package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/plan"
)

// A plan keeps conditions close to the statement. Druid joins what they say of one operand before
// it shows them: bounds that a narrower one makes needless go, and what can never be true is FALSE.
// Conditions are those of filters, where NULL is as good as FALSE. See quirk Q015.

var (
	never  = &expr.Literal{Value: int64(0), T: expr.Of(expr.Boolean).NotNull()}
	always = &expr.Literal{Value: int64(1), T: expr.Of(expr.Boolean).NotNull()}
)

func isNever(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && (l.Value == nil || l.Value == int64(0) || l.Value == false)
}

func isAlways(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && (l.Value == int64(1) || l.Value == true)
}

func test(op string, args ...expr.Expr) expr.Expr {
	return &expr.Call{Fn: catalog.MustLookup(op), Args: args, T: expr.Of(expr.Boolean)}
}

// allowed is what a condition says of one operand.
type allowed struct {
	x     expr.Expr
	key   string
	spans spans
	// known says that the condition is that there is a value, missing that there is none.
	known, missing bool
}

// operand reads a condition that compares one operand with constants.
func (w *writer) operand(e expr.Expr) (allowed, bool) {
	switch x := e.(type) {
	case *expr.Not:
		a, ok := w.operand(x.X)
		if !ok || a.missing || a.known {
			return a, false
		}
		a.spans = a.spans.not()
		return a, true
	case *expr.In:
		if x.HasNull || len(x.Values) == 0 || isMulti(x.X) {
			return allowed{}, false
		}
		a := allowed{x: x.X, key: w.key(x.X)}
		for _, v := range x.Values {
			b := bound{x: x.X, l: &expr.Literal{Value: v, T: x.X.Type().NotNull()}}
			a.spans = a.spans.or(spans{{b, b}})
		}
		return a, true
	case *expr.And:
		return w.operands(x.Terms, spans.and)
	case *expr.Or:
		return w.operands(x.Terms, spans.or)
	case *expr.Call:
		return w.comparison(x)
	}
	return allowed{}, false
}

func (w *writer) operands(terms []expr.Expr, join func(a, b spans) spans) (allowed, bool) {
	out, ok := w.operand(terms[0])
	if !ok || out.missing || out.known {
		return out, false
	}
	for _, t := range terms[1:] {
		a, ok := w.operand(t)
		if !ok || a.missing || a.known || a.key != out.key {
			return a, false
		}
		out.spans = join(out.spans, a.spans)
	}
	return out, true
}

// isMulti reports whether an operand has several values, of which a row may fit one condition with
// one and another with another.
func isMulti(x expr.Expr) bool { return stripCasts(x).Type().Multi }

func (w *writer) key(x expr.Expr) string { return w.native(stripCasts(x)) }

func (w *writer) comparison(x *expr.Call) (allowed, bool) {
	switch op := x.Fn.Name; {
	case op == "IS NULL" || op == "IS NOT NULL":
		return allowed{x: x.Args[0], key: w.key(x.Args[0]), known: op == "IS NOT NULL", missing: op == "IS NULL", spans: spans{{}}}, true
	case len(x.Args) != 2 || flipped[op] == "":
		return allowed{}, false
	}
	left, right, op := x.Args[0], x.Args[1], x.Fn.Name
	if _, ok := left.(*expr.Literal); ok {
		left, right, op = right, left, flipped[op]
	}
	l, ok := right.(*expr.Literal)
	if _, both := left.(*expr.Literal); !ok || both || isMulti(left) {
		return allowed{}, false
	}
	switch l.Value.(type) {
	case int64, float64, float32, string:
	default:
		return allowed{}, false
	}
	a := allowed{x: left, key: w.key(left)}
	b := bound{x: left, l: l}
	switch op {
	case "=":
		a.spans = spans{{b, b}}
	case "<>":
		a.spans = spans{{b, b}}.not()
	default:
		b.open = ranges[op].open
		if ranges[op].bound == "lower" {
			a.spans = spans{{lo: b}}
		} else {
			a.spans = spans{{hi: b}}
		}
	}
	return a, true
}

// shown is the condition that an operand is in the spans; false if it takes several that are no
// simpler than those it was made of.
func (a allowed) shown() (expr.Expr, bool) {
	switch {
	case len(a.spans) == 0:
		return never, true
	case len(a.spans) == 1:
		return a.spans[0].shown(a.x), true
	case a.spans.arePoints():
		in := &expr.In{X: a.spans[0].lo.x}
		for _, s := range a.spans {
			in.Values = append(in.Values, s.lo.l.Value)
		}
		return in, true
	}
	gap := a.spans.not()
	switch {
	case len(gap) != 1:
		return nil, false
	case gap[0].isPoint():
		return test("<>", gap[0].lo.x, gap[0].lo.l), true
	}
	return &expr.Or{Terms: []expr.Expr{a.spans[0].shown(a.x), a.spans[1].shown(a.x)}}, true
}

func (s span) shown(x expr.Expr) expr.Expr {
	if s.isPoint() {
		return test("=", s.lo.x, s.lo.l)
	}
	var terms []expr.Expr
	if !s.lo.none() {
		op := ">="
		if s.lo.open {
			op = ">"
		}
		terms = append(terms, test(op, s.lo.x, s.lo.l))
	}
	if !s.hi.none() {
		op := "<="
		if s.hi.open {
			op = "<"
		}
		terms = append(terms, test(op, s.hi.x, s.hi.l))
	}
	if len(terms) == 0 {
		return test("IS NOT NULL", x)
	}
	return plan.Conjunction(terms)
}

// condition simplifies a condition of which it only matters whether it is true.
func (w *writer) condition(e expr.Expr) expr.Expr {
	if e == nil {
		return nil
	}
	switch x := value(plain(e)).(type) {
	case *expr.And:
		return w.allOf(x.Terms)
	case *expr.Or:
		return w.anyOf(x.Terms)
	case *expr.In:
		if len(x.Values) == 0 {
			return never
		}
		if c, ok := firstKnownOf(x.X); ok && !x.HasNull && !isMulti(c) {
			return w.condition(&expr.Or{Terms: eachEqual(x)})
		}
		return x
	case *expr.Not:
		if in, isIn := x.X.(*expr.In); isIn {
			if in.HasNull {
				return never // a value may be the unknown one
			}
			return x
		}
		inner := x.X
		switch c := inner.(type) {
		case *expr.Or:
			return w.allOf(opposed(c.Terms))
		case *expr.Call:
			if truthTests[c.Fn.Name] != "" {
				return w.condition(asked(test(truthTests[c.Fn.Name], c.Args...)))
			}
		case *expr.Case:
			if c.T.Nullable {
				return w.condition(negatedCases(x))
			}
			if cond := w.condition(c); isComparison(cond) {
				return test("IS NOT TRUE", cond)
			}
		}
		if a, ok := w.operand(inner); ok && !a.known && !a.missing && len(a.spans) == 0 {
			return x // neither true nor false of NULL
		}
		return &expr.Not{X: inner}
	case *expr.Case:
		if x.T.Base == expr.Boolean {
			if c, ok := w.branches(x, func(e expr.Expr) expr.Expr { return w.condition(e) }); ok {
				return c
			}
		}
		return x
	case *expr.Call:
		return w.simpleTest(x)
	default:
		return x
	}
}

// eachEqual are the equalities that a list stands for.
func eachEqual(x *expr.In) []expr.Expr {
	out := make([]expr.Expr, len(x.Values))
	for i, v := range x.Values {
		out[i] = test("=", x.X, &expr.Literal{Value: v, T: x.X.Type().NotNull()})
	}
	return out
}

// isComparison reports whether a condition compares two values.
func isComparison(e expr.Expr) bool {
	c, ok := e.(*expr.Call)
	return ok && flipped[c.Fn.Name] != ""
}

// opposed are the negations of some terms.
func opposed(terms []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(terms))
	for i, t := range terms {
		if out[i] = opposite(t); out[i] == nil {
			out[i] = &expr.Not{X: t}
		}
	}
	return out
}

// allOf joins terms of which all must be true.
func (w *writer) allOf(terms []expr.Expr) expr.Expr {
	var list []expr.Expr
	for _, t := range terms {
		t = w.condition(t)
		if isNever(t) {
			return never
		}
		if !isAlways(t) {
			list = append(list, plan.Split(t)...)
		}
	}
	if len(list) == 0 {
		return always
	}
	list = w.withoutKnown(list)
	slices.SortStableFunc(list, func(a, b expr.Expr) int { return termRank(a) - termRank(b) })
	list = w.byOperand(list, allTogether)
	if slices.ContainsFunc(list, isNever) {
		return never
	}
	return w.withinOthers(list)
}

// withinOthers is a conjunction. Of a disjunction in it a term goes that another term of the
// conjunction contradicts, and one that follows from another only says that there is a value.
func (w *writer) withinOthers(list []expr.Expr) expr.Expr {
	said := map[string]spans{}
	for _, t := range list {
		if a, ok := w.operand(t); ok && !a.known && !a.missing && len(a.spans) == 1 && !isMulti(a.x) {
			said[a.key] = a.spans
		}
	}
	if len(said) == 0 {
		return plan.Conjunction(list)
	}
	out := make([]expr.Expr, 0, len(list))
	for _, t := range list {
		or, ok := t.(*expr.Or)
		if _, ofOne := w.operand(t); !ok || ofOne {
			out = append(out, t)
			continue
		}
		var terms []expr.Expr
		for _, o := range or.Terms {
			if o = w.restricted(o, said); !isNever(o) {
				terms = append(terms, o)
			}
		}
		switch {
		case slices.ContainsFunc(terms, isAlways):
		case len(terms) == 0:
			return never
		case len(terms) == 1:
			out = append(out, plan.Split(terms[0])...)
		default:
			out = append(out, &expr.Or{Terms: terms})
		}
	}
	return plan.Conjunction(out)
}

// restricted is what a condition on one operand says where that is in some spans already.
func (w *writer) restricted(t expr.Expr, said map[string]spans) expr.Expr {
	a, ok := w.operand(t)
	known := said[a.key]
	if !ok || a.known || a.missing || known == nil {
		return t
	}
	both := known.and(a.spans)
	switch {
	case len(both) == 0:
		return never
	case both.equal(known):
		return w.condition(notNull(a.x))
	}
	return t
}

// allTogether is what terms of a conjunction say of one operand, as one; false if they stay as they
// are.
func allTogether(same []allowed) (expr.Expr, bool) {
	out := allowed{x: same[0].x, spans: spans{{}}}
	missing, known, bounded := false, false, false
	for _, a := range same {
		missing, known, bounded = missing || a.missing, known || a.known, bounded || !a.missing && !a.known
		out.spans = out.spans.and(a.spans)
	}
	switch {
	case missing && bounded:
		return never, true
	case missing && known:
		return nil, false
	case missing:
		return test("IS NULL", out.x), true
	case stayApart(same, out.spans):
		return nil, false
	}
	return out.shown()
}

// stayApart reports whether Druid does not join terms of a conjunction, which together leave some
// spans: lists with other lists, with values that are left out and with what is between two bounds,
// and these with each other. One value that is left out by another term is a contradiction all the
// same. See quirk Q015.
func stayApart(same []allowed, left spans) bool {
	lists, without := 0, 0
	within, gaps := spans{{}}, false
	point := false
	for _, a := range same {
		switch gap := a.spans.not(); {
		case len(a.spans) == 1:
			within = within.and(a.spans)
			point = point || a.spans[0].isPoint()
		case a.spans.arePoints():
			lists++
		case gap.arePoints():
			without++
		default:
			gaps = true
		}
	}
	between := len(within) == 1 && !point && !within[0].lo.none() && !within[0].hi.none()
	switch {
	case lists > 0:
		return lists > 1 || without > 0 || gaps || between
	case without > 0:
		return between || point && len(left) > 0
	}
	return gaps && between
}

// withoutKnown leaves out that there is a value where another term of a conjunction compares it.
func (w *writer) withoutKnown(list []expr.Expr) []expr.Expr {
	compared := map[string]bool{}
	for _, t := range list {
		if a, ok := w.operand(t); ok && !a.known && !a.missing {
			compared[a.key] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(t expr.Expr) bool {
		a, ok := w.operand(t)
		return ok && a.known && compared[a.key]
	})
}

// termRank orders the terms of a conjunction: tests for a value come behind the others, negations
// last.
func termRank(e expr.Expr) int {
	switch x := e.(type) {
	case *expr.Not:
		if isComparison(x.X) {
			return 0
		}
		if _, isIn := x.X.(*expr.In); !isIn {
			return 2
		}
	case *expr.Call:
		if x.Fn.Name == "IS NOT NULL" {
			return 1
		}
	}
	return 0
}

// anyOf joins terms of which one must be true.
func (w *writer) anyOf(terms []expr.Expr) expr.Expr {
	var list []expr.Expr
	for _, t := range terms {
		t = w.condition(t)
		if isAlways(t) {
			return always
		}
		if isNever(t) {
			continue
		}
		if o, ok := t.(*expr.Or); ok {
			list = append(list, o.Terms...)
		} else {
			list = append(list, t)
		}
	}
	list = withoutImplied(w.withoutExcluded(list))
	if slices.ContainsFunc(list, isAlways) {
		return always
	}
	if len(list) == 0 {
		return never
	}
	if len(list) == 1 {
		return list[0]
	}
	return &expr.Or{Terms: list}
}

// withoutExcluded has that an operand is not one value or is not another, in a disjunction, be that
// there is a value.
func (w *writer) withoutExcluded(list []expr.Expr) []expr.Expr {
	first := map[string]int{}
	var out []expr.Expr
	for _, t := range list {
		x := excluding(t)
		if x == nil {
			out = append(out, t)
			continue
		}
		switch at, before := first[w.key(x)]; {
		case !before:
			first[w.key(x)] = len(out)
			out = append(out, t)
		case !expr.Equal(out[at], t):
			out[at] = notNull(x)
		}
	}
	return out
}

// excluding is what a condition says of that it is not one value; nil: it says anything else.
func excluding(e expr.Expr) expr.Expr {
	op := "<>"
	if n, ok := e.(*expr.Not); ok {
		e, op = n.X, "="
	}
	c, ok := e.(*expr.Call)
	if !ok || c.Fn.Name != op || len(c.Args) != 2 {
		return nil
	}
	if l, ok := c.Args[1].(*expr.Literal); !ok || l.Value == nil {
		return nil
	}
	return c.Args[0]
}

// byOperand puts what several terms say of one operand in the place of the first of them.
func (w *writer) byOperand(list []expr.Expr, join func([]allowed) (expr.Expr, bool)) []expr.Expr {
	read := make([]allowed, len(list))
	same := map[string][]int{}
	for i, t := range list {
		if a, ok := w.operand(t); ok {
			read[i] = a
			same[a.key] = append(same[a.key], i)
		}
	}
	drop := make([]bool, len(list))
	out := slices.Clone(list)
	for _, at := range same {
		if len(at) == 1 && len(read[at[0]].spans) > 0 {
			continue
		}
		group := make([]allowed, len(at))
		for i, k := range at {
			group[i] = read[k]
		}
		one, ok := join(group)
		if !ok {
			continue
		}
		out[at[0]] = one
		for _, k := range at[1:] {
			drop[k] = true
		}
	}
	var kept []expr.Expr
	for i, t := range out {
		if !drop[i] {
			kept = append(kept, t)
		}
	}
	return kept
}

// simpleTest simplifies a test that is not made of others.
func (w *writer) simpleTest(x *expr.Call) expr.Expr {
	switch op := x.Fn.Name; {
	case op == "IS FALSE" || op == "IS NOT TRUE":
		if n, ok := x.Args[0].(*expr.Not); ok && op == "IS NOT TRUE" {
			return w.condition(n.X)
		}
		if c, ok := x.Args[0].(*expr.Call); ok && (c.Fn.Name == "IS NOT NULL" || c.Fn.Name == "IS NULL") {
			return opposite(c)
		}
		if op == "IS NOT TRUE" {
			if c, ok := x.Args[0].(*expr.Case); ok {
				if cond := w.condition(c); isComparison(cond) {
					return test(op, cond)
				}
			}
			return x
		}
		if a, ok := w.operand(x.Args[0]); ok && !a.known && !a.missing {
			a.spans = a.spans.not()
			if out, ok := a.shown(); ok {
				return out
			}
		}
		return x
	case op == "IS NULL" || op == "IS NOT NULL":
		if t := firstKnownTested(op, x.Args[0]); t != nil {
			return t
		}
		if t := operandsTested(op, x.Args[0]); t != nil {
			if c, ok := t.(*expr.Call); ok && expr.Equal(c.Args[0], x.Args[0]) {
				return t
			}
			return w.condition(t)
		}
		if c, ok := x.Args[0].(*expr.Case); ok {
			if out, ok := w.branches(c, func(e expr.Expr) expr.Expr {
				if l, ok := e.(*expr.Literal); ok {
					if (l.Value == nil) == (op == "IS NULL") {
						return always
					}
					return never
				}
				return test(op, e)
			}); ok {
				return out
			}
		}
		return x
	case len(x.Args) != 2 || flipped[op] == "":
		return x
	}
	left, right, op := x.Args[0], x.Args[1], x.Fn.Name
	if _, ok := left.(*expr.Literal); ok {
		left, right, op = right, left, flipped[op]
	}
	l, ok := right.(*expr.Literal)
	if v, both := left.(*expr.Literal); ok && both && v.Value != nil && l.Value != nil {
		if holds(op, compareValues(v.Value, l.Value)) {
			return always
		}
		return never
	}
	if !ok {
		if same, ok := withItself(x); ok && same {
			return w.condition(notNull(left))
		} else if ok {
			return never
		}
		return x
	}
	if l.Value == nil {
		return never
	}
	compared := func(e expr.Expr) expr.Expr {
		if v, ok := e.(*expr.Literal); ok {
			if v.Value != nil && holds(op, compareValues(v.Value, l.Value)) {
				return always
			}
			return never
		}
		return w.condition(test(op, e, l))
	}
	switch c := stripCasts(left).(type) {
	case *expr.Case:
		if out, ok := w.branches(c, compared); ok {
			return out
		}
	case *expr.Call:
		if c.Fn == expr.CoalesceFunction {
			return w.firstKnown(c.Args, compared)
		}
		if c.T.Base == expr.Boolean && op == "=" && isAlways(l) {
			return w.condition(c)
		}
	case *expr.And, *expr.Or, *expr.Not, *expr.In:
		if op == "=" && isAlways(l) {
			return w.condition(c)
		}
	}
	return x
}

func holds(op string, c int) bool {
	switch op {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}

// maxBranches is how many nodes a CASE has at most whose branches become tests, maxNested how many
// others: each test repeats the conditions before it.
const maxBranches, maxNested = 200, 6

func isLarge(c *expr.Case) bool {
	size, cases := 0, 0
	expr.Walk(c, func(e expr.Expr) bool {
		size++
		if _, ok := e.(*expr.Case); ok {
			cases++
		}
		return size <= maxBranches && cases <= maxNested
	})
	return size > maxBranches || cases > maxNested
}

// firstKnownOf returns e as the call that gives the first of its arguments which is known.
func firstKnownOf(e expr.Expr) (*expr.Call, bool) {
	c, ok := e.(*expr.Call)
	return c, ok && c.Fn == expr.CoalesceFunction
}

// firstKnown is a test of the first of some values that is not NULL.
func (w *writer) firstKnown(args []expr.Expr, compared func(expr.Expr) expr.Expr) expr.Expr {
	var some, missing []expr.Expr
	for _, a := range args {
		t := compared(a)
		if !isNever(t) {
			terms := slices.Clone(missing)
			if !isAlways(t) {
				terms = append(plan.Split(t), terms...)
			}
			if len(terms) == 0 {
				return always
			}
			some = append(some, plan.Conjunction(terms))
		}
		if _, ok := a.(*expr.Literal); ok {
			break
		}
		missing = append(missing, test("IS NULL", a))
	}
	return w.anyOf(some)
}

// value simplifies what is computed: branches of a CASE that give the same are one, and what is
// known needs no other value.
func value(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if inner := flooredOnce(e); inner != nil {
			return inner
		}
		if c, ok := firstKnownOf(e); ok && isColumn(c.Args[0]) && !c.Args[0].Type().Nullable {
			return c.Args[0]
		}
		c, ok := e.(*expr.Case)
		if !ok {
			return e
		}
		out := &expr.Case{Else: c.Else, T: c.T}
		for _, when := range c.Whens {
			if n := len(out.Whens); n > 0 && expr.Equal(out.Whens[n-1].Then, when.Then) {
				last := &out.Whens[n-1]
				if or, ok := last.Cond.(*expr.Or); ok {
					last.Cond = &expr.Or{Terms: append(slices.Clone(or.Terms), when.Cond)}
				} else {
					last.Cond = &expr.Or{Terms: []expr.Expr{last.Cond, when.Cond}}
				}
				continue
			}
			out.Whens = append(out.Whens, when)
		}
		if n := len(out.Whens); c.Else != nil && n > 0 && expr.Equal(out.Whens[n-1].Then, c.Else) {
			out.Whens = out.Whens[:n-1]
		}
		if len(out.Whens) == 0 {
			return c.Else
		}
		return out
	})
}

// withoutNever is what is computed without branches whose conditions contradict themselves.
func (w *writer) withoutNever(e expr.Expr) expr.Expr {
	if w.stepwise {
		return e
	}
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Case)
		if !ok {
			return e
		}
		out := &expr.Case{Else: c.Else, T: c.T}
		for _, when := range c.Whens {
			if !isNever(w.condition(when.Cond)) {
				out.Whens = append(out.Whens, when)
			}
		}
		switch {
		case len(out.Whens) > 0:
			return out
		case c.Else == nil:
			return &expr.Literal{T: c.T}
		}
		return c.Else
	})
}

// flooredOnce is a floor of a floor as one: the coarser of them. nil: e is none, or the two say
// more than one.
func flooredOnce(e expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Cast); ok && c.T.Base == expr.Date {
		if inner, ok := floorMonths(c.X); ok && inner != 0 {
			return c.X
		}
		return nil
	}
	outer, ok := floorMonths(e)
	if !ok {
		return nil
	}
	c, _ := e.(*expr.Call)
	inner, ok := floorMonths(c.Args[0])
	if !ok || outer < inner || outer == 0 {
		return nil
	}
	within, _ := c.Args[0].(*expr.Call)
	out := *c
	out.Args = slices.Clone(c.Args)
	out.Args[0] = within.Args[0]
	return &out
}

// floorMonths is how long the buckets of a floor of a time are: years, quarters and months in
// months, a day a small part of one; 0: any other length.
func floorMonths(e expr.Expr) (float64, bool) {
	c, ok := e.(*expr.Call)
	if !ok || !c.Fn.FloorsTime || len(c.Args) != 2 {
		return 0, false
	}
	period, _ := textOf(c.Args[1])
	return map[string]float64{"P1Y": 12, "P3M": 3, "P1M": 1, "P1D": 0.01}[period], true
}
