package native

import (
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// The filters of lists: whether a value is one of a list, or a list has a value.

// oneOf joins the terms of a filter of values of x: conditions, and constants that x may equal.
func oneOf(x expr.Expr, conditions, constants []expr.Expr) (expr.Expr, error) {
	if len(constants) > 0 {
		c, err := expr.NewIn(x, constants, fault.Span{})
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	return anyOf(conditions)
}

// typedIn tests a column against values of a type; what is no value of it is NULL, which finds
// NULL.
func (s *scope) typedIn(f *TypedInFilter) (expr.Expr, error) {
	x, err := s.column(f.Column)
	if err != nil {
		return nil, err
	}
	t, err := parseType(f.MatchValueType)
	if err != nil {
		return nil, err
	}
	var constants, conditions []expr.Expr
	hasNull := false
	for _, v := range append(f.SortedValues, f.Values...) {
		value, err := jsonValueOf(v.V, t.Runtime())
		if err != nil {
			return nil, err
		}
		literal := &expr.Literal{Value: value, T: t.NotNull()}
		switch from := x.Type(); {
		case value == nil:
			hasNull = true
			continue
		case from.IsCharacter() && t.IsCharacter(), from.IsInteger() && t.IsInteger():
			constants = append(constants, literal)
			continue
		}
		c, err := numericOr(x, t, literal)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	if hasNull {
		c, err := call("IS NULL", x)
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	return oneOf(x, conditions, constants)
}

// numericOr compares x with a constant of type t: texts with a number by the numbers that they are.
func numericOr(x expr.Expr, t expr.Type, l *expr.Literal) (expr.Expr, error) {
	if !x.Type().IsCharacter() || !t.IsNumeric() {
		return typedTerm("=", x, t, l.Value)
	}
	text, err := textOf(l)
	if err != nil {
		return nil, err
	}
	return numericTerm("=", x, text)
}

// check refuses types that have no order: values of them are not kept sorted.
func (f *TypedInFilter) check() error {
	return checkSimple("inType", f.Column, f.MatchValueType)
}

func (f *ContainsFilter) check() error {
	return checkSimple("arrayContainsElement", f.Column, f.ElementMatchValueType)
}

// checkSimple refuses the type of a filter's values if it is not one of texts or numbers.
func checkSimple(of, column, name string) error {
	t, err := parseType(name)
	if err != nil {
		return err
	}
	if !t.IsCharacter() && !t.IsNumeric() {
		return invalid("Filter of type [%s] on column [%s] can't have values of type [%s]; want STRING, LONG, DOUBLE or FLOAT", of, column, name)
	}
	return nil
}

// contains tests whether a list has an element; a column that is no list is one of its value.
func (s *scope) contains(f *ContainsFilter) (expr.Expr, error) {
	x, err := s.column(f.Column)
	if err != nil {
		return nil, err
	}
	t, err := parseType(f.ElementMatchValueType)
	if err != nil {
		return nil, err
	}
	value, err := jsonValueOf(f.ElementMatchValue.V, t.Runtime())
	switch {
	case err != nil:
		return nil, err
	case isUnknown(x):
		return &expr.Literal{T: boolType}, nil
	case x.Type().Multi && value != nil: // not to have it is unknown of a row that has a NULL
		return typedTerm("=", x, t, value)
	}
	if x, err = list(x); err != nil {
		return nil, err
	}
	of := x.Type().Elem()
	if value != nil {
		var ok bool
		if value, ok = asElement(&expr.Literal{Value: value, T: t.NotNull()}, of); !ok {
			return falseOf(x)
		}
	}
	return call("ARRAY_CONTAINS", x, &expr.Literal{Value: []any{value}, T: expr.ArrayOf(of).NotNull()})
}

// asElement returns a constant as a value of the type that elements of a list have, or false where
// none of them can equal it.
func asElement(l *expr.Literal, of expr.Type) (any, bool) {
	if of.IsCharacter() {
		text, err := textOf(l)
		if err != nil {
			return nil, false
		}
		folded, ok := text.(*expr.Literal)
		if !ok {
			return nil, false
		}
		return folded.Value, true
	}
	value := l.Value
	if text, isText := value.(string); isText {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			value = n
		} else if f, ok := expr.ParseDouble(text); ok {
			value = f
		} else {
			return nil, false
		}
	}
	return asNumber(value, of)
}

func asNumber(value any, of expr.Type) (any, bool) {
	n, isLong := value.(int64)
	f := float64(n)
	switch v := value.(type) {
	case float64:
		f = v
	case float32:
		f = float64(v)
	}
	switch {
	case !of.IsNumeric():
		return nil, false
	case !of.IsInteger() && of.Base == expr.Float:
		return float32(f), true
	case !of.IsInteger():
		return f, true
	case !isLong && (math.Trunc(f) != f || math.Abs(f) >= 1<<63):
		return nil, false
	case !isLong:
		return int64(f), true
	}
	return n, true
}

// falseOf is false, and NULL where x is.
func falseOf(x expr.Expr) (expr.Expr, error) {
	none, err := call("IS NULL", x)
	if err != nil {
		return nil, err
	}
	return expr.NewAnd([]expr.Expr{none, &expr.Literal{T: boolType}}, fault.Span{})
}
