package sampler

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/vector"
)

// Dimensions that are fields of the records are shown by the values that the records have, not by
// those of the columns that transforms and metrics compute with: these have one type for all
// records, so that an object among texts or the kind of a number would be lost.

// valueOf is what a dimension has of a field with value v. problem says why it can't be converted;
// "": it was.
func valueOf(d spec.Dimension, v any) (out any, problem string) {
	v = asDouble(v)
	switch d.Type {
	case "json", "auto":
		return v, ""
	case "long", "double", "float":
		if v == nil || v == "" {
			return nil, ""
		}
		if out = number(d.Type, v); out == nil {
			problem = noNumber(d.Type, v)
		}
		return out, problem
	}
	return texts(v, d.MultiValue), ""
}

// madeValue is what a dimension has in row of a column that a transform made.
func madeValue(d spec.Dimension, v *vector.Vector, row int) any {
	switch {
	case d.Type == "string":
		return texts(record.ValueOf(v, row), d.MultiValue)
	case v.Type.Kind == vector.KindList:
		return v.ValueAt(row) // also of one value
	}
	return record.ValueOf(v, row)
}

// metricProblems say which fields of a record the metrics of numbers can't take.
func (s *sample) metricProblems(e *entry, made map[string]bool) (problems []string) {
	for _, m := range s.schema.Metrics {
		field, _, ok := m.Number()
		if !ok || made[field] {
			continue
		}
		v, _ := e.flat.Get(field)
		if class := classOf(v); class != "" {
			problems = append(problems, "Unknown type[class "+class+"] for field["+field+"]")
		} else if _, _, _, ok := record.NumberOf(v); v != nil && !ok {
			problems = append(problems, "Unable to parse value["+string(record.AppendText(nil, v))+"] for field["+field+"]")
		}
	}
	return problems
}

// classOf names the kind of a value that is neither number nor text; "": it is one.
func classOf(v any) string {
	switch v.(type) {
	case []any:
		return "java.util.ArrayList"
	case *record.Object:
		return "java.util.LinkedHashMap"
	case bool:
		return "java.lang.Boolean"
	}
	return ""
}

// asDouble makes a double of an integer that is too large for a LONG.
func asDouble(v any) any {
	if digits, ok := v.(record.Digits); ok {
		_, v, _, _ = record.NumberOf(digits)
	}
	return v
}

// noNumber says that a value can't be converted to a type of numbers.
func noNumber(typ string, v any) string {
	text, class := string(record.AppendText(nil, v)), classOf(v)
	if _, list := v.([]any); list {
		return "Could not ingest value " + text + " as " + typ + ". A " + typ + " column cannot have multiple values in the same row."
	}
	if class == "" {
		return "could not convert value [" + text + "] to " + typ
	}
	return "Could not convert value [" + text + "] to " + typ + ". Invalid type: [class " + class + "]"
}

// number converts a value to a type of numbers; nil: it is none of them.
func number(typ string, v any) any {
	switch v := v.(type) {
	case bool:
		if typ != "long" {
			return nil
		}
		if v {
			return int64(1)
		}
		return int64(0)
	case []any, *record.Object:
		return nil
	}
	long, double, whole, ok := record.NumberOf(v)
	if _, isText := v.(string); !ok || typ == "long" && isText && !whole {
		return nil
	}
	switch typ {
	case "long":
		return long
	case "float":
		return float32(double)
	}
	return double
}

// texts converts a value to that of a multi-value string: null, a text or a list of several.
func texts(v any, handling string) any {
	list, ok := v.([]any)
	if !ok {
		if v == nil {
			return nil
		}
		return string(record.AppendText(nil, v))
	}
	out := make([]any, len(list))
	for i, e := range list {
		if e != nil {
			out[i] = string(record.AppendText(nil, e))
		}
	}
	switch len(out) {
	case 0:
		return nil
	case 1:
		return out[0]
	}
	return inOrder(out, handling)
}

// inOrder puts the values of a multi-value string in the order in which they are stored.
func inOrder(v any, handling string) any {
	list, ok := v.([]any)
	if !ok || handling == "" || handling == "ARRAY" {
		return v
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		x, _ := a.(string)
		y, _ := b.(string)
		return strings.Compare(x, y)
	})
	if handling == "SORTED_SET" {
		list = slices.Compact(list)
	}
	return list
}

// stateOf is what is shown of row of a column of aggregates: states of sketches as bytes, firsts
// and lasts as their time and value.
func stateOf(v *vector.Vector, row int) any {
	value := record.ValueOf(v, row)
	text, ok := value.(string)
	switch {
	case !ok || v.Type.Kind != vector.KindComplex || v.Type == vector.JSON:
		return value
	case agg.IsTimed(v.Type):
		at, value, ok := agg.ReadTimed(v.Type, text)
		if !ok {
			return nil
		}
		pair := &record.Object{}
		pair.Add("lhs", at)
		pair.Add("rhs", finite(value))
		return pair
	}
	return []byte(text)
}

// finite makes text of a number that JSON has none for.
func finite(v any) any {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return v
}

// schemaType is the name of a column's type as segments have it.
func schemaType(t expr.Type) string {
	switch r := t.Runtime(); {
	case t.Multi:
		return "STRING"
	case agg.IsTimed(r):
		value := agg.TimedValue(r)
		if value == vector.String {
			return "COMPLEX<serializablePairLongString>"
		}
		return value.String()
	default:
		return r.String()
	}
}

// problemOf is the error of a record of which values could not be converted to those of its
// dimensions.
func problemOf(e *entry, dimensions []spec.Dimension, problems []string) string {
	event := &record.Object{}
	for i, name := range e.narrow.Names {
		event.Add(name, asDouble(e.narrow.Values[i]))
	}
	names := make([]string, len(dimensions))
	for i, d := range dimensions {
		names[i] = d.Name
	}
	return "Found unparseable columns in row: [SamplerInputRow{row=MapBasedInputRow{timestamp=" + time.UnixMilli(e.time).UTC().Format("2006-01-02T15:04:05.000Z") +
		", event=" + string(record.AppendText(nil, event)) + ", dimensions=[" + strings.Join(names, ", ") + "]}}], exceptions: [" +
		strings.Join(problems, ",") + "]"
}
