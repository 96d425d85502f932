package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/fault"
)

// Arithmetic and the functions of numbers.

// computed calls a function of numbers that are all made of type to, with a result of another type.
// One argument that is no number makes the result NULL; of several, what is no number counts as 0.
func computed(name string, to, result expr.Type, args []expr.Expr) (expr.Expr, error) {
	texts := 0
	for i, a := range args {
		x := operand(a)
		if isUnknown(x) || len(args) == 1 && !x.Type().IsNumeric() {
			return noNumber(result, args), nil
		}
		texts += one(x.Type().IsCharacter())
		x, err := numberOrZero(x, to)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	if texts == 2 {
		return noNumber(result, args), nil
	}
	return expr.NewCall(catalog.MustLookup(name), args, fault.Span{})
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// noNumber is the NULL of a type that depends on args: no constant, if one of them is none.
func noNumber(t expr.Type, args []expr.Expr) expr.Expr {
	if isConstants(args) {
		return unknown()
	}
	return &expr.Literal{T: t.OrNull(true)}
}

// numberOrZero makes a number of type to of e; of texts and lists, what is no number counts as 0.
func numberOrZero(e expr.Expr, to expr.Type) (expr.Expr, error) {
	x, err := number(e)
	if err != nil {
		return nil, err
	}
	if x, err = cast(x, to); err != nil {
		return nil, err
	}
	if t := operand(e).Type(); t.IsNumeric() || t.Base == expr.Null {
		return x, nil
	}
	zero, err := cast(longLiteral(0), to)
	if err != nil {
		return nil, err
	}
	if zero, err = expr.Fold(zero, &expr.Context{}); err != nil {
		return nil, err
	}
	if x, err = call("COALESCE", x, zero); err != nil {
		return nil, err
	}
	return withNulls(x, operand(e))
}

// converted calls a function of arguments that are all converted alike.
func converted(name string, to func(expr.Expr) (expr.Expr, error), args []expr.Expr) (expr.Expr, error) {
	for i, a := range args {
		x, err := to(a)
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	fn := catalog.MustLookup(name)
	for _, a := range args {
		if isNullConstant(a) && fn.RefusesNull {
			return &expr.Literal{T: longType}, nil
		}
	}
	return expr.NewCall(fn, args, fault.Span{})
}

func negative(args []expr.Expr) (expr.Expr, error) {
	if operand(args[0]).Type().IsCharacter() {
		return nil, invalid("Operator [-] of native expressions does not take a text")
	}
	x, err := number(args[0])
	if err != nil || isUnknown(x) {
		return x, err
	}
	return call("-", []expr.Expr{x}...)
}

// operator binds arithmetic: two texts are joined by + and else refused, two whole numbers give a
// whole one, everything else a DOUBLE.
func operator(name string) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		a, b := operand(args[0]), operand(args[1])
		if isUnknown(a) || isUnknown(b) {
			t := b.Type()
			if isUnknown(b) {
				t = a.Type()
			}
			return &expr.Literal{T: t.OrNull(true)}, nil
		}
		if a.Type().IsCharacter() && b.Type().IsCharacter() {
			if name == "+" {
				return call("||", a, b)
			}
			return nil, invalid("Operator [%s] of native expressions does not take two texts", name)
		}
		a, err := number(a)
		if err != nil {
			return nil, err
		}
		if b, err = number(b); err != nil {
			return nil, err
		}
		if !a.Type().IsInteger() || !b.Type().IsInteger() {
			if a, err = cast(a, doubleType); err != nil {
				return nil, err
			}
			if b, err = cast(b, doubleType); err != nil {
				return nil, err
			}
			if name == "$WHOLE_POWER" {
				return call("POWER", a, b)
			}
		}
		return call(name, a, b)
	}
}

// arithmetic is an operator of numbers.
func arithmetic(op string, a, b expr.Expr) (expr.Expr, error) { return operator(op)([]expr.Expr{a, b}) }

// ofNumber calls a function of a number that keeps its type.
func ofNumber(name string, args []expr.Expr) (expr.Expr, error) {
	x := operand(args[0])
	switch t := x.Type(); {
	case isUnknown(x):
		return x, nil
	case !t.IsNumeric():
		return &expr.Literal{T: t.OrNull(true)}, nil
	}
	return call(name, x)
}

// ofNumbers calls a function of two numbers: whole ones, or else DOUBLEs. leavesNulls says that the
// function of SQL leaves a NULL out, which makes the result NULL here.
func ofNumbers(name string, args []expr.Expr, leavesNulls bool) (expr.Expr, error) {
	a, b, t, err := twoNumbers(args)
	if err != nil || t.Base != expr.Invalid {
		return &expr.Literal{T: t.OrNull(true)}, err
	}
	e, err := call(name, a, b)
	if err != nil || !leavesNulls {
		return e, err
	}
	return withNulls(e, a, b)
}

// twoNumbers makes two whole numbers or two DOUBLEs of arguments; a type says that the result is a
// NULL of it.
func twoNumbers(args []expr.Expr) (a, b expr.Expr, null expr.Type, err error) {
	a, b = operand(args[0]), operand(args[1])
	switch {
	case isUnknown(a):
		return nil, nil, b.Type(), nil
	case isUnknown(b):
		return nil, nil, a.Type(), nil
	case a.Type().IsCharacter() && b.Type().IsCharacter():
		return nil, nil, textType, nil
	}
	to := doubleType
	if a.Type().IsInteger() && b.Type().IsInteger() {
		to = longType
	}
	if a, err = numberOrZero(a, to); err == nil {
		b, err = numberOrZero(b, to)
	}
	return a, b, expr.Type{}, err
}

// withNulls is e where no argument is NULL.
func withNulls(e expr.Expr, args ...expr.Expr) (expr.Expr, error) {
	var terms []expr.Expr
	for _, a := range args {
		if !a.Type().Nullable {
			continue
		}
		given, err := call("IS NOT NULL", a)
		if err != nil {
			return nil, err
		}
		terms = append(terms, given)
	}
	cond, err := all(terms)
	if err != nil || cond == nil {
		return e, err
	}
	return expr.NewCase([]expr.When{{Cond: cond, Then: e}}, &expr.Literal{T: e.Type().OrNull(true)}, fault.Span{})
}

func div(args []expr.Expr) (expr.Expr, error) {
	a, b, t, err := twoNumbers(args)
	if err != nil || t.Base != expr.Invalid {
		if t.IsNumeric() {
			t = longType
		}
		return &expr.Literal{T: t.OrNull(true)}, err
	}
	e, err := call("/", a, b)
	if err != nil || e.Type().IsInteger() {
		return e, err
	}
	return cast(e, longType)
}

func safeDivide(args []expr.Expr) (expr.Expr, error) {
	a, b, t, err := twoNumbers(args)
	switch {
	case err != nil || t.Base != expr.Invalid:
		return &expr.Literal{T: t.OrNull(true)}, err
	case a.Type().IsInteger() && b.Type().IsInteger():
		return call("SAFE_DIVIDE", a, b)
	}
	return call("$SAFE_DIVIDE", a, b)
}

func round(args []expr.Expr) (expr.Expr, error) {
	x := operand(args[0])
	switch {
	case isUnknown(x):
		return x, nil
	case !x.Type().IsNumeric():
		return &expr.Literal{T: x.Type().OrNull(true)}, nil
	case len(args) == 1:
		return call("ROUND", x)
	}
	places, err := long(args[1])
	if err != nil {
		return nil, err
	}
	return call("ROUND", x, places)
}

func humanReadable(name string, args []expr.Expr) (expr.Expr, error) {
	for i, a := range args {
		x, err := number(a)
		if err != nil {
			return nil, err
		}
		if i == 1 || !isUnknown(x) && !x.Type().IsFractional() {
			if x, err = cast(x, longType); err != nil {
				return nil, err
			}
		}
		args[i] = x
	}
	if isUnknown(args[0]) {
		return args[0], nil
	}
	return call(name, args...)
}

// extreme binds greatest and least: of numbers, or else of texts; NULLs are left out.
func extreme(name string, args []expr.Expr) (expr.Expr, error) {
	args = slices.DeleteFunc(args, isUnknown)
	if len(args) == 0 {
		return unknown(), nil
	}
	_, args, err := alike(args)
	if err != nil {
		return nil, err
	}
	return call(name, args...)
}
