package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// The native language has few types and converts between all of them. A NULL that nothing says the
// type of is a literal of type NULL here; it is what constants come to that are NULL, and what a
// column is that nothing has.

// unknown is the NULL without a type.
func unknown() expr.Expr { return &expr.Literal{T: expr.Of(expr.Null)} }

// isUnknown reports whether e is a NULL without a type.
func isUnknown(e expr.Expr) bool { return e.Type().Base == expr.Null }

// operand is what operators and functions see of e: FLOAT is DOUBLE to them, times and truth values
// are LONG.
func operand(e expr.Expr) expr.Expr {
	switch t := e.Type(); {
	case t.Base == expr.Null:
		return e
	case t.Base == expr.Float:
		return &expr.Cast{X: e, T: doubleType.NotNull().OrNull(t.Nullable)}
	case t.Base == expr.Array && t.Elem().Base == expr.Float:
		return &expr.Cast{X: e, T: expr.ArrayOf(doubleType).NotNull().OrNull(t.Nullable)}
	}
	return plain(e)
}

// number makes a number of e: a text is read as a DOUBLE, a list counts as its only element.
func number(e expr.Expr) (expr.Expr, error) {
	e = operand(e)
	var err error
	if e.Type().Base == expr.Array && !e.Type().Multi {
		if e, err = call("$ONLY_ELEMENT", e); err != nil {
			return nil, err
		}
		e = operand(e)
	}
	switch t := e.Type(); {
	case t.IsCharacter(), t.Base == expr.Other:
		return cast(e, doubleType)
	case t.Base == expr.Array:
		return &expr.Literal{T: doubleType}, nil
	}
	return e, nil
}

// ownNumber makes a number of e as filters see it: a FLOAT stays one.
func ownNumber(e expr.Expr) (expr.Expr, error) {
	if e.Type().Base == expr.Float {
		return e, nil
	}
	return number(e)
}

// long makes a whole number of e.
func long(e expr.Expr) (expr.Expr, error) {
	if t := e.Type(); t.IsCharacter() {
		return cast(e, longType)
	}
	e, err := number(e)
	if err != nil {
		return nil, err
	}
	return cast(e, longType)
}

// double makes a DOUBLE of e.
func double(e expr.Expr) (expr.Expr, error) {
	e, err := number(e)
	if err != nil {
		return nil, err
	}
	return cast(e, doubleType)
}

// text makes a text of e: of a list its only element, or all of them in brackets.
func text(e expr.Expr) (expr.Expr, error) {
	e = operand(e)
	if e.Type().Base == expr.Array && !e.Type().Multi {
		return call("$LIST_TEXT", e)
	}
	return cast(e, textType)
}

// list makes an array of e: of a multi-value string its values, of what is no list an array of one.
func list(e expr.Expr) (expr.Expr, error) {
	e = operand(e)
	switch t := e.Type(); {
	case t.Base == expr.Null:
		return e, nil
	case t.Multi:
		return call("MV_TO_ARRAY", e)
	case t.Base == expr.Array:
		return e, nil
	case t.ComplexName() == "json": // the texts of what stands in a list, or the one value
		if values, err := expr.NewJSONValue(e, textLiteral("$"), expr.ArrayOf(textType), fault.Span{}); err == nil {
			one, err := expr.NewJSONValue(e, textLiteral("$"), textType, fault.Span{})
			if err != nil {
				return nil, err
			}
			if one, err = expr.NewCast(one, expr.ArrayOf(textType), fault.Span{}); err != nil {
				return nil, err
			}
			return call("COALESCE", one, values)
		}
		fallthrough
	case t.Base == expr.Other:
		return nil, invalid("A value of type [%s] is not an array", t)
	}
	return expr.NewCast(e, expr.ArrayOf(e.Type()), fault.Span{})
}

// time makes a time of the milliseconds that e is.
func time(e expr.Expr) (expr.Expr, error) {
	if e.Type().Base == expr.Timestamp {
		return e, nil
	}
	e, err := long(e)
	if err != nil {
		return nil, err
	}
	return asTime(e), nil
}

// widest is the type that the native language gives what may be of either type: that of the other
// beside a NULL, text beside text.
func widest(a, b expr.Type) (expr.Type, error) {
	switch {
	case a.Base == expr.Null:
		return b, nil
	case b.Base == expr.Null:
		return a, nil
	case a.Base == expr.Array || b.Base == expr.Array:
		x, y := a, b
		if a.Base == expr.Array && !a.Multi {
			x = a.Elem()
		}
		if b.Base == expr.Array && !b.Multi {
			y = b.Elem()
		}
		elem, err := widest(x.Plain(), y.Plain())
		return expr.ArrayOf(elem), err
	case a.Base == expr.Other && b.Base == expr.Other && a.ComplexName() == b.ComplexName():
		return a, nil
	case a.Base == expr.Other || b.Base == expr.Other:
		return expr.Type{}, invalid("Values of types [%s] and [%s] have no common type", a, b)
	case a.IsCharacter() || b.IsCharacter():
		return textType, nil
	case a.IsFractional() || b.IsFractional():
		return doubleType, nil
	}
	return longType, nil
}

// convert makes what widest has found of e.
func convert(e expr.Expr, to expr.Type) (expr.Expr, error) {
	e = operand(e)
	switch {
	case isUnknown(e):
		return &expr.Literal{T: to.OrNull(true)}, nil
	case to.Base == expr.Array:
		e, err := list(e)
		if err != nil {
			return nil, err
		}
		return expr.NewCast(e, to, fault.Span{})
	case to.IsCharacter():
		return text(e)
	case to.Base == expr.Double:
		return double(e)
	case to.Base == expr.BigInt:
		return long(e)
	}
	return e, nil
}

// convertEach converts the first arguments, each by its own function.
func convertEach(args []expr.Expr, to ...func(expr.Expr) (expr.Expr, error)) error {
	for i, convert := range to {
		x, err := convert(args[i])
		if err != nil {
			return err
		}
		args[i] = x
	}
	return nil
}

// alike makes all of args what the widest type among them is.
func alike(args []expr.Expr) (expr.Type, []expr.Expr, error) {
	t := expr.Of(expr.Null)
	var err error
	for _, a := range args {
		if t, err = widest(t, operand(a).Type()); err != nil {
			return t, nil, err
		}
	}
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		if out[i], err = convert(a, t); err != nil {
			return t, nil, err
		}
	}
	return t, out, nil
}
