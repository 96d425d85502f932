package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// The functions of lists.

// arrayOf makes an array of its arguments: of texts if one is a text, else of DOUBLE if one is.
func arrayOf(args []expr.Expr) (expr.Expr, error) {
	multi := false
	for i, a := range args {
		args[i] = operand(a)
		multi = multi || args[i].Type().Multi
	}
	if multi {
		return expr.OverValues(args, func(single []expr.Expr) (expr.Expr, error) { return arrayOf(slices.Clone(single)) })
	}
	t, args, err := alike(args)
	if err != nil {
		return nil, err
	}
	if t.Base == expr.Null {
		for i := range args {
			args[i] = &expr.Literal{T: textType}
		}
	}
	return call("ARRAY", args...)
}

// ofList calls a function of a list, which is the argument at a place.
func ofList(name string, args []expr.Expr, at int) (expr.Expr, error) {
	x, err := list(args[at])
	if err != nil {
		return nil, err
	}
	if args[at] = x; isUnknown(x) {
		return x, nil
	}
	return call(name, args...)
}

func elementOf(name string) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		n, err := long(args[1])
		if err != nil {
			return nil, err
		}
		args[1] = n
		return ofList(name, args, 0)
	}
}

// containment calls a function of two lists, of which the second is made one of elements as the
// first has them; unknown is that list where it is NULL.
func containment(name string, unknown []any) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		a, err := list(args[0])
		if err != nil {
			return nil, err
		}
		if isUnknown(a) {
			return &expr.Literal{T: boolType}, nil
		}
		b, err := list(args[1])
		if err != nil {
			return nil, err
		}
		if isUnknown(b) {
			b = &expr.Literal{T: a.Type()}
			if unknown != nil {
				b = &expr.Literal{Value: unknown, T: a.Type().NotNull()}
			}
		}
		return call(name, a, b)
	}
}

// added calls a function that makes a list of a list and one more element, which is made what the
// others are; first says that the element is its first argument.
func added(name string, of, x expr.Expr, first bool) (expr.Expr, error) {
	of, err := list(of)
	if err != nil {
		return nil, err
	}
	x = operand(x)
	if isUnknown(of) {
		t := x.Type()
		if isUnknown(x) {
			t = textType
		}
		return &expr.Literal{T: expr.ArrayOf(t)}, nil
	}
	if x.Type().Base == expr.Array && of.Type().Elem().Base != expr.Array {
		if x, err = number(x); err != nil {
			return nil, err
		}
	}
	if x, err = convert(x, of.Type().Elem()); err != nil {
		return nil, err
	}
	if first {
		return call(name, x, of)
	}
	return call(name, of, x)
}

// placeOf calls a function that finds an element in a list.
func placeOf(name string) func(args []expr.Expr) (expr.Expr, error) {
	return func(args []expr.Expr) (expr.Expr, error) {
		of, err := list(args[0])
		if err != nil || isUnknown(of) {
			return of, err
		}
		x := operand(args[1])
		if x.Type().Base == expr.Array && !x.Type().Multi {
			return nil, invalid("Function [%s] of native expressions needs a scalar as second argument but got [%s] instead", lower(name), x.Type().Runtime())
		}
		return call(name, of, x)
	}
}

func inList(args []expr.Expr) (expr.Expr, error) {
	of, err := list(args[1])
	if err != nil || isUnknown(of) {
		return of, err
	}
	return call("SCALAR_IN_ARRAY", operand(args[0]), of)
}

// concatenation makes one list of two, with the elements that the first has.
func concatenation(args []expr.Expr) (expr.Expr, error) {
	a, err := list(args[0])
	if err != nil {
		return nil, err
	}
	b, err := list(args[1])
	switch {
	case err != nil:
		return nil, err
	case isUnknown(a):
		return b, nil
	case isUnknown(b):
		return &expr.Literal{T: a.Type()}, nil
	}
	if b, err = convert(b, a.Type()); err != nil {
		return nil, err
	}
	e, err := call("ARRAY_CONCAT", a, b)
	if err != nil {
		return nil, err
	}
	return withNulls(e, a, b)
}

// addToSet makes a set of two lists: each value once, in order.
func addToSet(args []expr.Expr) (expr.Expr, error) {
	if isUnknown(args[1]) {
		a, err := list(args[0])
		if err != nil || isUnknown(a) {
			return a, err
		}
		args[1] = &expr.Literal{Value: []any{nil}, T: a.Type().NotNull()}
	} else if x := operand(args[1]); x.Type().Base != expr.Array {
		e, err := arrayOf([]expr.Expr{x})
		if err != nil {
			return nil, err
		}
		args[1] = e
	}
	e, err := concatenation(args)
	if err != nil || isUnknown(e) {
		return e, err
	}
	if e, err = call("ARRAY_DISTINCT", e); err != nil {
		return nil, err
	}
	return call("ARRAY_SORT", e)
}

func slice(args []expr.Expr) (expr.Expr, error) {
	for i := 1; i < len(args); i++ {
		n, err := long(args[i])
		if err != nil {
			return nil, err
		}
		args[i] = n
	}
	return ofList("ARRAY_SLICE", args, 0)
}

func joined(args []expr.Expr) (expr.Expr, error) {
	by, err := text(args[1])
	if err != nil {
		return nil, err
	}
	args[1] = by
	return ofList("ARRAY_TO_STRING", args, 0)
}

func split(args []expr.Expr) (expr.Expr, error) {
	x, err := text(args[0])
	if err != nil {
		return nil, err
	}
	by, err := text(args[1])
	if err != nil {
		return nil, err
	}
	if isNullConstant(x) {
		return unknown(), nil
	}
	return call("STRING_TO_ARRAY", x, by)
}

// toMultiValue makes a list of texts.
func toMultiValue(args []expr.Expr) (expr.Expr, error) {
	x, err := list(args[0])
	if err != nil || isUnknown(x) {
		return x, err
	}
	if !args[0].Type().IsCharacter() { // what no column of texts has stays an array until it is cast to a text
		return expr.NewCast(x, expr.ArrayOf(textType), fault.Span{})
	}
	return call("ARRAY_TO_MV", x)
}

// toArray makes an array of texts.
func toArray(args []expr.Expr) (expr.Expr, error) {
	x, err := list(args[0])
	if err != nil || isUnknown(x) {
		return x, err
	}
	return expr.NewCast(x, expr.ArrayOf(textType), fault.Span{})
}

// harmonizeNulls makes a list with a NULL of a NULL and of a list without values.
func harmonizeNulls(args []expr.Expr) (expr.Expr, error) {
	x, err := toArray(args)
	if err != nil || isUnknown(x) {
		return x, err
	}
	n, err := call("ARRAY_LENGTH", x)
	if err != nil {
		return nil, err
	}
	some, err := compare(">", n, longLiteral(0))
	if err != nil {
		return nil, err
	}
	none := &expr.Literal{Value: []any{nil}, T: expr.ArrayOf(textType).NotNull()}
	return expr.NewCase([]expr.When{{Cond: some, Then: x}}, none, fault.Span{})
}
