package native

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
)

// joined is a junction of filters, "and" or "or"; of one, that.
func joined(kind string, fields []object) object {
	if len(fields) == 1 {
		return fields[0]
	}
	return obj("type", kind, "fields", fields)
}

// operandsOf are the filters that a junction of a kind joins; any other filter is the only one.
func operandsOf(kind string, o object) []object {
	if fields, ok := o.get("fields").([]object); ok && o.get("type") == kind {
		return fields
	}
	return []object{o}
}

// combined joins the ranges of one column that stand side by side, from the innermost filters out.
// A junction is also tried as the negation of the opposite one, and shown so if that takes fewer
// filters: s = 'a' OR l < 1 OR l > 5 is NOT (s <> 'a' AND l BETWEEN 1 AND 5).
func combined(o object) object {
	switch kind := o.get("type"); kind {
	case "and":
		return cheaper(combinedFields(o, "and", "or"))
	case "or":
		return cheaper(combinedFields(o, "or", "and"))
	case "not":
		field, _ := o.get("field").(object)
		field = combined(field)
		same := obj("type", "not", "field", field)
		switch field.get("type") {
		case "true":
			return obj("type", "false")
		case "false":
			return obj("type", "true")
		case "and":
			return cheaper(same, combineRanges("or", negatedAll(operandsOf("and", field))))
		case "or":
			return cheaper(same, combineRanges("and", negatedAll(operandsOf("or", field))))
		}
		return cheaper(same, negated(field))
	}
	return o
}

func combinedFields(o object, kind, opposite string) (one, other object) {
	var fields []object
	for _, f := range operandsOf(kind, o) {
		fields = append(fields, operandsOf(kind, combined(f))...)
	}
	return combineRanges(kind, fields), negated(combineRanges(opposite, negatedAll(fields)))
}

// cheaper is the filter that is made of fewer; the first of equals.
func cheaper(one, other object) object {
	if cost(other) < cost(one) {
		return other
	}
	return one
}

func cost(o object) int {
	switch o.get("type") {
	case "not":
		field, _ := o.get("field").(object)
		return cost(field)
	case "and", "or":
		fields, _ := o.get("fields").([]object)
		sum := 0
		for _, f := range fields {
			sum += cost(f)
		}
		return sum
	case "in":
		values, _ := o.get("values").([]any)
		return len(values)
	}
	return 1
}

func negatedAll(list []object) []object {
	out := make([]object, len(list))
	for i, o := range list {
		out[i] = negated(o)
	}
	return out
}

// negated is NOT o: a range that is open on one side becomes the other side.
func negated(o object) object {
	switch o.get("type") {
	case "true":
		return obj("type", "false")
	case "false":
		return obj("type", "true")
	case "not":
		field, _ := o.get("field").(object)
		return field
	case "range":
		if other := rangeSpans(o).not(); len(other) == 1 {
			return rangeOf(o.get("column"), o.get("matchValueType"), other[0])
		}
	}
	return obj("type", "not", "field", o)
}

// combineRanges is a junction of filters in which the ranges of a column are the spans that they
// make together, behind the others, where these are fewer.
func combineRanges(kind string, fields []object) object {
	decides, means := "false", "true"
	if kind == "or" {
		decides, means = means, decides
	}
	if slices.ContainsFunc(fields, func(o object) bool { return o.get("type") == decides }) {
		return obj("type", decides)
	}
	fields = slices.DeleteFunc(slices.Clone(fields), func(o object) bool { return o.get("type") == means })
	if len(fields) == 0 {
		return obj("type", means)
	}
	ranges := map[any][]object{}
	var columns []any
	for _, f := range fields {
		if isRange(f) {
			c := rangeKey(f)
			if ranges[c] == nil {
				columns = append(columns, c)
			}
			ranges[c] = append(ranges[c], f)
		}
	}
	var merged []object
	done := map[any]bool{}
	for _, c := range columns {
		list := ranges[c]
		together := rangeSpans(list[0])
		valueType := list[0].get("matchValueType")
		for _, r := range list[1:] {
			if r.get("matchValueType") != valueType {
				valueType = "DOUBLE"
			}
			if kind == "and" {
				together = together.and(rangeSpans(r))
			} else {
				together = together.or(rangeSpans(r))
			}
		}
		if len(together) >= len(list) || len(together) == 0 && !slices.ContainsFunc(list, isBounded) {
			continue
		}
		if len(together) == 0 {
			return obj("type", "false")
		}
		done[c] = true
		if len(together) == 1 && together[0].lo.none() && together[0].hi.none() {
			return obj("type", "true")
		}
		for _, s := range together {
			merged = append(merged, rangeOf(list[0].get("column"), valueType, s))
		}
	}
	var kept []object
	for _, f := range fields {
		if !isRange(f) || !done[rangeKey(f)] {
			kept = append(kept, f)
		}
	}
	return joined(kind, append(kept, merged...))
}

// isRange reports whether a filter is a range of values of a column: one value is one, too.
func isRange(o object) bool {
	switch o.get("type") {
	case "range":
		return true
	case "equals":
		kind, _ := o.get("matchValueType").(string)
		return !strings.HasPrefix(kind, "ARRAY")
	}
	return false
}

// isBounded reports whether a filter is a range with bounds that are not one value: a row with
// several values may have two that are wanted.
func isBounded(o object) bool { return o.get("type") == "range" }

// rangeKey tells ranges of different columns apart, and of texts from those of numbers.
func rangeKey(r object) any {
	return [2]any{r.get("column"), r.get("matchValueType") == "STRING"}
}

func rangeSpans(r object) spans {
	end := func(name string) bound {
		if r.get("type") == "equals" {
			name = "matchValue"
		}
		v := r.get(name)
		if v == nil {
			return bound{}
		}
		switch n := v.(type) {
		case json.Number:
			if x, err := n.Float64(); err == nil {
				v = x
			}
		case bucketTime:
			v = int64(n)
		case wholeDouble:
			v = int64(n)
		}
		return bound{l: &expr.Literal{Value: v}, open: r.get(name+"Open") != nil}
	}
	return spans{{end("lower"), end("upper")}}
}

func rangeOf(column, valueType any, s span) object {
	value := func(b bound) any {
		switch v := b.l.Value.(type) {
		case int64:
			if valueType == "DOUBLE" {
				return wholeDouble(v)
			}
		case float64:
			return number(v)
		}
		return b.l.Value
	}
	if s.isPoint() {
		return obj("type", "equals", "column", column, "matchValueType", valueType, "matchValue", value(s.lo))
	}
	out := obj("type", "range", "column", column, "matchValueType", valueType)
	if !s.lo.none() {
		out.set("lower", value(s.lo))
	}
	if !s.hi.none() {
		out.set("upper", value(s.hi))
	}
	if s.lo.open {
		out.set("lowerOpen", true)
	}
	if s.hi.open {
		out.set("upperOpen", true)
	}
	return out
}

// wholeDouble is a whole number among others that are none. Older filters have it as it is written.
type wholeDouble int64

// MarshalJSON returns the number as a DOUBLE.
func (n wholeDouble) MarshalJSON() ([]byte, error) { return marshal(number(float64(n))) }
