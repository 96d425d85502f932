package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/plan"
)

// strictOperators are the operators that are NULL just where one of their operands is; of functions
// Druid does not know it. See quirk Q015.
var strictOperators = []string{"=", "<>", "<", "<=", ">", ">=", "LIKE", "+", "-", "*", "/", "FLOOR", "CEIL", "TRIM"}

// operandsTested is a test for NULL of what an operator computes as tests of its operands; nil: x
// is nothing of the kind.
func operandsTested(op string, x expr.Expr) expr.Expr {
	missing := op == "IS NULL"
	switch x := x.(type) {
	case *expr.Literal:
		return boolConstant((x.Value == nil) == missing)
	case *expr.Column:
		if !x.T.Nullable {
			return boolConstant(!missing)
		}
	case *expr.Not:
		return operandTested(op, x.X)
	case *expr.Cast:
		if x.X.Type().IsNumeric() && x.T.IsNumeric() {
			return operandTested(op, x.X)
		}
	case *expr.Case:
		if !x.T.Nullable {
			return boolConstant(!missing)
		}
	case *expr.Call:
		if !x.T.Nullable && !slices.Contains(alwaysNullable, x.Fn.Name) {
			return boolConstant(!missing)
		}
		if !slices.Contains(strictOperators, x.Fn.Name) {
			return nil
		}
		return argumentsTested(op, x.Args)
	}
	return nil
}

// firstKnownTested is a test for NULL of the first value that is known, of some columns: each in
// turn, as the branches of a CASE. nil: x is anything else.
func firstKnownTested(op string, x expr.Expr) expr.Expr {
	c, ok := firstKnownOf(x)
	if !ok || slices.ContainsFunc(c.Args, func(e expr.Expr) bool { return !isColumn(e) }) {
		return nil
	}
	out := &expr.Or{}
	for i, a := range c.Args {
		if op == "IS NOT NULL" {
			out.Terms = append(out.Terms, notNull(a))
			continue
		}
		branch := &expr.And{Terms: []expr.Expr{test(op, a)}}
		for _, before := range c.Args[:i] {
			branch.Terms = append(branch.Terms, test(op, before))
		}
		if i < len(c.Args)-1 {
			branch.Terms = append(branch.Terms, notNull(a))
		}
		out.Terms = append(out.Terms, branch)
	}
	return out
}

// argumentsTested says that one of some operands is NULL, or that none is.
func argumentsTested(op string, args []expr.Expr) expr.Expr {
	missing := op == "IS NULL"
	var terms []expr.Expr
	for _, a := range args {
		t := operandTested(op, a)
		switch {
		case isAlways(t) && missing || isNever(t) && !missing:
			return t
		case isAlways(t) || isNever(t):
		case missing:
			terms = append(terms, disjuncts(t)...)
		default:
			terms = append(terms, plan.Split(t)...)
		}
	}
	terms = withoutRepeated(terms)
	switch {
	case len(terms) == 0:
		return boolConstant(!missing)
	case len(terms) == 1:
		return terms[0]
	case missing:
		return &expr.Or{Terms: terms}
	}
	return plan.Conjunction(terms)
}

func operandTested(op string, x expr.Expr) expr.Expr {
	if t := operandsTested(op, x); t != nil {
		return t
	}
	return &expr.Call{Fn: catalog.MustLookup(op), Args: []expr.Expr{x}, T: expr.Of(expr.Boolean).NotNull()}
}

func boolConstant(b bool) expr.Expr {
	if b {
		return always
	}
	return never
}

func disjuncts(e expr.Expr) []expr.Expr {
	if o, ok := e.(*expr.Or); ok {
		return o.Terms
	}
	return []expr.Expr{e}
}

// withoutRepeated leaves out terms that are there before.
func withoutRepeated(terms []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, t := range terms {
		if !slices.ContainsFunc(out, func(o expr.Expr) bool { return expr.Equal(o, t) }) {
			out = append(out, t)
		}
	}
	return out
}
