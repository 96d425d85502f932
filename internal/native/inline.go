package native

import (
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// inline makes a constant relation.
func inline(d *InlineSource) (plan.Node, error) {
	n := &plan.Inline{}
	if len(d.Rows)*max(1, len(d.ColumnNames)) > maxInlineValues {
		return nil, fault.ResourceLimit("An inline datasource can't have more than [%d] values", maxInlineValues)
	}
	if d.ColumnTypes != nil && len(d.ColumnTypes) != len(d.ColumnNames) {
		return nil, invalid("columnNames and columnTypes must be the same length")
	}
	builders := make([]*vector.Builder, len(d.ColumnNames))
	for i, name := range d.ColumnNames {
		var t expr.Type
		switch {
		case name == plan.TimeColumn:
			t = timeType
		case d.ColumnTypes != nil && d.ColumnTypes[i] != "":
			t = d.ColumnTypes[i].orText()
		default:
			t = typeOfValues(d.Rows, i)
		}
		n.Out = append(n.Out, plan.Column{Name: name, Type: t})
		builders[i] = vector.NewBuilder(t.Runtime(), len(d.Rows))
	}
	for _, row := range d.Rows {
		if len(row) != len(builders) {
			return nil, invalid("A row of an inline datasource has [%d] values, but there are [%d] columns", len(row), len(builders))
		}
		for i, v := range row {
			x, err := jsonValueOf(v.V, n.Out[i].Type.Runtime())
			if err != nil {
				return nil, err
			}
			builders[i].Append(x)
		}
	}
	n.Rows = &vector.Batch{N: len(d.Rows)}
	for _, b := range builders {
		n.Rows.Cols = append(n.Rows.Cols, b.Build())
	}
	return n, nil
}

// typeOfValues is the type of a column of constants for which none is given: whole numbers, numbers
// or texts where all values are such, arrays where all are lists of numbers, multi-value strings
// where some are other lists, and else nested data, in which each value is what it is.
func typeOfValues(rows [][]Value, column int) expr.Type {
	var lists, others []any
	for _, row := range rows {
		if column >= len(row) { // refused when the row is read
			continue
		}
		switch v := row[column].V.(type) {
		case nil:
		case []any:
			lists = append(append(lists, v...), nil) // none is nil: there are lists
		default:
			others = append(others, v)
		}
	}
	if lists == nil {
		return typeOfScalars(others)
	}
	elem := typeOfScalars(lists)
	switch {
	case slices.ContainsFunc(append(others, lists...), isComposed):
		return expr.JSON
	case others != nil, elem == textType, elem == expr.JSON:
		return expr.MultiString
	}
	return expr.ArrayOf(elem)
}

// isComposed reports whether a JSON value is a list or an object.
func isComposed(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

// typeOfScalars is the least type that holds all values, that of texts if there is none but NULL.
func typeOfScalars(values []any) expr.Type {
	numbers, texts, whole := false, false, true
	for _, v := range values {
		switch v := v.(type) {
		case nil:
		case string:
			texts = true
		case json.Number:
			numbers = true
			if _, err := v.Int64(); err != nil {
				whole = false
			}
		default:
			return expr.JSON
		}
	}
	switch {
	case numbers && texts:
		return expr.JSON
	case !numbers:
		return textType
	case whole:
		return longType
	}
	return doubleType
}

// jsonValueOf converts a JSON value to one of a physical type; what can't be converted is NULL, as
// in a cast.
func jsonValueOf(v any, t vector.Type) (any, error) {
	if v == nil {
		return nil, nil
	}
	if t.Kind == vector.KindList {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		out := make([]any, len(list))
		for i, x := range list {
			var err error
			if out[i], err = jsonValueOf(x, t.Elem()); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if t.Kind == vector.KindComplex {
		text, err := json.Marshal(v)
		return string(text), err
	}
	var text string
	switch x := v.(type) {
	case string:
		text = x
	case json.Number:
		text = x.String()
	case bool:
		text = "0"
		if x {
			text = "1"
		}
		if t.Kind == vector.KindString {
			text = map[bool]string{true: "true", false: "false"}[x]
		}
	default:
		return nil, invalid("A value of type [%s] can't be a list or an object", t)
	}
	switch t.Kind {
	case vector.KindLong:
		if n, ok := expr.ParseLong(text); ok {
			return n, nil
		}
		if f, ok := expr.ParseDouble(text); ok {
			return int64(f), nil
		}
		return nil, nil
	case vector.KindDouble:
		if f, ok := expr.ParseDouble(text); ok {
			return f, nil
		}
		return nil, nil
	case vector.KindFloat:
		if f, ok := expr.ParseDouble(text); ok {
			return float32(f), nil
		}
		return nil, nil
	}
	return text, nil
}
