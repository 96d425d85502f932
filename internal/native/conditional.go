package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// Logic, conditional functions and casts.

func junction(args []expr.Expr, join func([]expr.Expr, fault.Span) (expr.Expr, error)) (expr.Expr, error) {
	terms := make([]expr.Expr, len(args))
	for i, a := range args {
		c, err := condition(a)
		if err != nil {
			return nil, err
		}
		terms[i] = c
	}
	return join(terms, fault.Span{})
}

func negation(args []expr.Expr) (expr.Expr, error) {
	c, err := condition(args[0])
	if err != nil {
		return nil, err
	}
	return expr.NewNot(c, fault.Span{})
}

func truth(name string, args []expr.Expr) (expr.Expr, error) {
	c, err := condition(args[0])
	if err != nil {
		return nil, err
	}
	return call(name, c)
}

// distinct binds the comparisons that take a NULL for a value.
func distinct(op string, args []expr.Expr) (expr.Expr, error) {
	for i, a := range args {
		if isUnknown(a) {
			test := "IS NULL"
			if op == "IS DISTINCT FROM" {
				test = "IS NOT NULL"
			}
			return call(test, operand(args[1-i]))
		}
	}
	return compare(op, args[0], args[1])
}

// caseSearched binds case_searched(cond, then, cond, then, .., else).
func caseSearched(args []expr.Expr) (expr.Expr, error) {
	var whens []expr.When
	i := 0
	for ; i+1 < len(args); i += 2 {
		c, err := condition(args[i])
		if err != nil {
			return nil, err
		}
		whens = append(whens, expr.When{Cond: c, Then: args[i+1]})
	}
	return newCase(whens, args[i:])
}

func newCase(whens []expr.When, rest []expr.Expr) (expr.Expr, error) {
	arms := make([]expr.Expr, 0, len(whens)+1)
	for _, w := range whens {
		arms = append(arms, w.Then)
	}
	t, arms, err := alike(append(arms, rest...))
	if err != nil {
		return nil, err
	}
	if t.Base == expr.Null {
		return unknown(), nil
	}
	for i := range whens {
		whens[i].Then = arms[i]
	}
	var other expr.Expr
	if len(rest) > 0 {
		other = arms[len(arms)-1]
	}
	return expr.NewCase(whens, other, fault.Span{})
}

// caseSimple binds case_simple(x, value, then, .., else).
func caseSimple(args []expr.Expr) (expr.Expr, error) {
	var whens []expr.When
	i := 1
	for ; i+1 < len(args); i += 2 {
		c, err := compare("=", args[0], args[i])
		if err != nil {
			return nil, err
		}
		whens = append(whens, expr.When{Cond: c, Then: args[i+1]})
	}
	return newCase(whens, args[i:])
}

func coalesce(args []expr.Expr) (expr.Expr, error) {
	_, args, err := alike(args)
	if err != nil {
		return nil, err
	}
	return call("COALESCE", args...)
}

func castCall(args []expr.Expr) (expr.Expr, error) {
	name, ok := constantText(args[1])
	if !ok {
		return nil, invalid("Function [cast] of native expressions needs a constant type")
	}
	x := operand(args[0])
	t, err := parseType(name)
	switch {
	case err != nil:
		return nil, err
	case isUnknown(x):
		return &expr.Literal{T: t}, nil
	case x.Type().Base == expr.Other && t.Base != expr.Other:
		return nil, invalid("A value of type [%s] can't be cast to [%s]", x.Type().Runtime(), t.Runtime())
	case t.Base == expr.Float:
		return nil, invalid("FLOAT types are not supported in native expressions; take DOUBLE")
	case x.Type().Base == expr.Array && !x.Type().Multi && t.Base != expr.Array && t.Base != expr.Other:
		return elementAs(x, t)
	case t.Base == expr.Array && !x.Type().Multi && x.Type().Base != expr.Array:
		if x, err = convert(x, t.Elem()); err != nil {
			return nil, err
		}
		return expr.NewCast(x, t, fault.Span{})
	}
	if x.Type().Multi && !t.IsCharacter() && t.Base != expr.Array {
		return expr.OverValues([]expr.Expr{x}, func(a []expr.Expr) (expr.Expr, error) { return castTo(a[0], name) })
	}
	return castTo(x, t.Runtime().String())
}

// elementAs casts a list of one element, which is all that can be cast to no list.
func elementAs(x expr.Expr, t expr.Type) (expr.Expr, error) {
	if l, ok := x.(*expr.Literal); ok {
		if values, isList := l.Value.([]any); isList && len(values) != 1 {
			return nil, invalid("A value of type [%s] can't be cast to [%s]", x.Type().Runtime(), t.Runtime())
		}
	}
	e, err := call("$ONLY_ELEMENT", x)
	if err != nil {
		return nil, err
	}
	return castTo(e, t.Runtime().String())
}
