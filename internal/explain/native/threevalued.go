package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/plan"
)

// Three-valued logic. Where only truth counts, in a condition, tests of it say no more
// than what they test; where its value is shown they stay, and a CASE of truths is the junction of
// its branches.

// truthsAsked leaves tests for truth out of the conditions of a plan.
func truthsAsked(n plan.Node) plan.Node {
	n = plan.MapInputs(n, truthsAsked)
	switch x := n.(type) {
	case *plan.Filter:
		return &plan.Filter{Input: x.Input, Cond: asked(negatedCases(castTruths(x.Cond)))}
	case *plan.Project:
		out := &plan.Project{Input: x.Input, Names: x.Names, Exprs: make([]expr.Expr, len(x.Exprs))}
		for i, e := range x.Exprs {
			out.Exprs[i] = negatedCases(castTruths(e))
		}
		return out
	}
	return n
}

// castTruths has whole numbers as truths be tests for zero.
func castTruths(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		c, ok := e.(*expr.Cast)
		if !ok || c.T.Base != expr.Boolean || c.X.Type().Base != expr.BigInt {
			return e
		}
		if _, constant := c.X.(*expr.Literal); constant {
			return e
		}
		return test("<>", c.X, &expr.Literal{Value: int64(0), T: expr.Of(expr.BigInt).NotNull()})
	})
}

// asked is a condition of which only matters whether it is true.
func asked(e expr.Expr) expr.Expr {
	terms := func(list []expr.Expr) []expr.Expr {
		out := make([]expr.Expr, len(list))
		for i, t := range list {
			out[i] = asked(t)
		}
		return out
	}
	switch x := e.(type) {
	case *expr.And:
		return &expr.And{Terms: terms(x.Terms)}
	case *expr.Or:
		return &expr.Or{Terms: terms(x.Terms)}
	case *expr.Call:
		switch x.Fn.Name {
		case "IS TRUE":
			return asked(x.Args[0])
		case "IS FALSE":
			return askedFalse(x.Args[0], e)
		}
	}
	return e
}

// askedFalse is a condition that e is false, of which only matters whether it is true; test is that
// condition.
func askedFalse(e, test expr.Expr) expr.Expr {
	switch x := e.(type) {
	case *expr.And:
		return &expr.Or{Terms: opposed(x.Terms)}
	case *expr.Or:
		return &expr.And{Terms: opposed(x.Terms)}
	}
	if c := opposite(e); c != nil {
		return c
	}
	return test
}

// withItself reports whether a condition compares something with itself, and whether it is true of
// a value then.
func withItself(e expr.Expr) (same, ok bool) {
	x, isCall := e.(*expr.Call)
	if !isCall || len(x.Args) != 2 || flipped[x.Fn.Name] == "" || !expr.Equal(x.Args[0], x.Args[1]) {
		return false, false
	}
	if _, constant := x.Args[0].(*expr.Literal); constant || isMulti(x.Args[0]) {
		return false, false
	}
	return holds(x.Fn.Name, 0), true
}

// shownWithItself is what something compared with itself is: of NULL neither true nor false.
func shownWithItself(x expr.Expr, same bool) expr.Expr {
	unknown := &expr.Literal{T: expr.Of(expr.Boolean)}
	switch {
	case !x.Type().Nullable && same:
		return always
	case !x.Type().Nullable:
		return never
	case same:
		return &expr.Or{Terms: []expr.Expr{unknown, notNull(x)}}
	}
	return &expr.And{Terms: []expr.Expr{unknown, test("IS NULL", x)}}
}

var opposites = map[string]string{"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<", "IS NULL": "IS NOT NULL", "IS NOT NULL": "IS NULL"}

// opposite is the comparison that is true where e is false; nil: e is none.
func opposite(e expr.Expr) expr.Expr {
	c, ok := e.(*expr.Call)
	if !ok || opposites[c.Fn.Name] == "" {
		return nil
	}
	out := *c
	out.Fn = catalog.MustLookup(opposites[c.Fn.Name])
	return &out
}

// shown is what is computed, with what it says of truths in the words of Druid. See quirk Q015.
func shown(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		switch x := e.(type) {
		case *expr.In:
			if len(x.Values) == 0 && x.HasNull {
				return &expr.Literal{T: expr.Of(expr.Boolean)} // one of unknown values
			}
		case *expr.Not:
			if l, ok := x.X.(*expr.Literal); ok && l.Value == nil {
				return l
			}
			if c, ok := x.X.(*expr.Call); ok && truthTests[c.Fn.Name] != "" {
				return shownTest(truthTests[c.Fn.Name], c.Args[0])
			}
			if c := opposite(x.X); c != nil {
				return c
			}
			if in, ok := x.X.(*expr.In); ok && len(in.Values) == 1 && !in.HasNull && !isMulti(in.X) {
				return test("<>", in.X, &expr.Literal{Value: in.Values[0], T: in.X.Type().NotNull()})
			}
		case *expr.Call:
			if same, ok := withItself(x); ok {
				return shownWithItself(x.Args[0], same)
			}
			return shownCall(x)
		case *expr.Case:
			return shownCase(x)
		}
		return e
	})
}

// withoutUnknown is a condition of which only matters whether it is true, without terms that are
// NULL.
func withoutUnknown(e expr.Expr) expr.Expr {
	unknown := func(e expr.Expr) bool {
		l, ok := e.(*expr.Literal)
		return ok && l.Value == nil
	}
	switch x := e.(type) {
	case *expr.Literal:
		if x.Value == nil {
			return never
		}
	case *expr.And:
		if slices.ContainsFunc(x.Terms, unknown) {
			return never
		}
	case *expr.Or:
		terms := slices.DeleteFunc(slices.Clone(x.Terms), unknown)
		switch len(terms) {
		case 0:
			return never
		case 1:
			return terms[0]
		}
		return &expr.Or{Terms: terms}
	}
	return e
}

// truthTests are the tests for truth with their negations.
var truthTests = map[string]string{"IS TRUE": "IS NOT TRUE", "IS NOT TRUE": "IS TRUE", "IS FALSE": "IS NOT FALSE", "IS NOT FALSE": "IS FALSE"}

// shownTest is a test for truth of e; where e is true or false it is e or the opposite.
func shownTest(name string, e expr.Expr) expr.Expr {
	if !mayBeUnknown(e) {
		if name == "IS TRUE" || name == "IS NOT FALSE" {
			return e
		}
		return shownNegation(e)
	}
	return &expr.Call{Fn: catalog.MustLookup(name), Args: []expr.Expr{e}, T: expr.Of(expr.Boolean).NotNull()}
}

// shownNegation is the negation of what is true or false.
func shownNegation(e expr.Expr) expr.Expr {
	if or, ok := e.(*expr.Or); ok {
		terms := make([]expr.Expr, len(or.Terms))
		for i, t := range or.Terms {
			terms[i] = shownNegation(t)
		}
		return &expr.And{Terms: terms}
	}
	if c := opposite(e); c != nil {
		return c
	}
	return &expr.Not{X: e}
}

func shownCall(x *expr.Call) expr.Expr {
	if truthTests[x.Fn.Name] != "" {
		return shownTest(x.Fn.Name, x.Args[0])
	}
	if x.Fn.Name == "=" && len(x.Args) == 2 && x.Args[0].Type().Base == expr.Boolean && isAlways(x.Args[1]) {
		return x.Args[0]
	}
	if x.Fn.Name == "IS NULL" || x.Fn.Name == "IS NOT NULL" {
		if t := operandsTested(x.Fn.Name, x.Args[0]); t != nil {
			return t
		}
	}
	if len(x.Args) == 0 || flipped[x.Fn.Name] == "" && !slices.Contains([]string{"LIKE", "IS NULL", "IS NOT NULL"}, x.Fn.Name) {
		return x
	}
	if t := x.Args[0].Type(); t.Multi || t.Base == expr.Array || t.Base == expr.Other {
		return x
	}
	for _, a := range x.Args[1:] {
		if _, constant := a.(*expr.Literal); !constant {
			return x
		}
	}
	of := func(e expr.Expr) expr.Expr {
		call := *x
		call.Args = append([]expr.Expr{e}, x.Args[1:]...)
		v, constant := e.(*expr.Literal)
		if !constant {
			return &call
		}
		return ofConstant(&call, v)
	}
	switch c := stripCasts(x.Args[0]).(type) {
	case *expr.Case:
		if !isLarge(c) {
			return branchesShown(c, of)
		}
	case *expr.Call:
		if c.Fn == expr.CoalesceFunction && len(c.Args) == 2 && !c.T.Multi {
			known := notNull(c.Args[0])
			return branchesShown(&expr.Case{Whens: []expr.When{{Cond: known, Then: c.Args[0]}}, Else: c.Args[1], T: c.T}, of)
		}
	}
	return x
}

// ofConstant is what a test says of a constant.
func ofConstant(x *expr.Call, v *expr.Literal) expr.Expr {
	switch x.Fn.Name {
	case "IS NULL", "IS NOT NULL":
		return boolConstant((v.Value == nil) == (x.Fn.Name == "IS NULL"))
	}
	if flipped[x.Fn.Name] == "" {
		if folded, err := expr.Fold(x, nil); err == nil {
			return folded
		}
		return x
	}
	l, _ := x.Args[1].(*expr.Literal)
	return boolConstant(v.Value != nil && l.Value != nil && holds(x.Fn.Name, compareValues(v.Value, l.Value)))
}

func shownCase(x *expr.Case) expr.Expr {
	out := &expr.Case{Else: x.Else, T: x.T}
	for _, when := range x.Whens {
		cond := ranked(withoutUnknown(asked(when.Cond)))
		if isAlways(cond) {
			out.Else = when.Then
			break
		}
		if !isNever(cond) {
			out.Whens = append(out.Whens, expr.When{Cond: cond, Then: when.Then})
		}
	}
	if len(out.Whens) == 0 {
		if out.Else == nil {
			return &expr.Literal{T: x.T}
		}
		return out.Else
	}
	if first := firstOfTwo(out); first != nil {
		return first
	}
	if x.T.Base == expr.Boolean && !isLarge(x) {
		return branchesShown(out, func(e expr.Expr) expr.Expr { return e })
	}
	return out
}

// firstOfTwo is a CASE that is a value where there is one, else another; nil: it is none.
func firstOfTwo(x *expr.Case) expr.Expr {
	if len(x.Whens) != 1 || x.T.Multi {
		return nil
	}
	known, ok := x.Whens[0].Cond.(*expr.Call)
	if !ok || known.Fn.Name != "IS NOT NULL" || !expr.Equal(known.Args[0], x.Whens[0].Then) {
		return nil
	}
	other := x.Else
	if other == nil {
		other = &expr.Literal{T: x.T}
	}
	return &expr.Call{Fn: catalog.MustLookup("COALESCE"), Args: []expr.Expr{x.Whens[0].Then, other}, T: x.T}
}

// branchesShown is a test of a CASE as the junction of the tests of its branches.
func branchesShown(c *expr.Case, test func(expr.Expr) expr.Expr) expr.Expr {
	var some, before []expr.Expr
	add := func(cond, then expr.Expr) {
		t := test(then)
		if l, ok := t.(*expr.Literal); ok && (l.Value == int64(0) || l.Value == nil && then.Type().Base != expr.Boolean) {
			return
		}
		var terms []expr.Expr
		if cond != nil {
			terms = append(terms, shownTest("IS TRUE", cond))
		}
		if !isAlways(t) {
			terms = append(terms, plan.Split(t)...)
		}
		for _, b := range before {
			terms = append(terms, plan.Split(shownTest("IS NOT TRUE", b))...)
		}
		if len(terms) == 0 {
			terms = append(terms, always)
		}
		some = append(some, plan.Conjunction(terms))
	}
	for _, when := range c.Whens {
		add(when.Cond, when.Then)
		before = append(before, when.Cond)
	}
	otherwise := c.Else
	if otherwise == nil {
		otherwise = &expr.Literal{T: c.T}
	}
	add(nil, otherwise)
	switch len(some) {
	case 0:
		return never
	case 1:
		return some[0]
	}
	some = withoutImplied(some)
	if slices.ContainsFunc(some, isAlways) {
		return always
	}
	return &expr.Or{Terms: some}
}

// withoutImplied leaves out of the terms of a disjunction that there is a value where another term
// is that there is none.
func withoutImplied(terms []expr.Expr) []expr.Expr {
	out := slices.Clone(terms)
	for _, t := range terms {
		missing, ok := t.(*expr.Call)
		if !ok || missing.Fn.Name != "IS NULL" {
			continue
		}
		for i, o := range out {
			if a, ok := o.(*expr.And); ok {
				rest := slices.DeleteFunc(slices.Clone(a.Terms), func(e expr.Expr) bool { return expr.Equal(e, notNull(missing.Args[0])) })
				if len(rest) == 0 {
					rest = append(rest, always)
				}
				out[i] = plan.Conjunction(rest)
			}
		}
	}
	return out
}
