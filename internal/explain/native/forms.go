package native

import "github.com/hengedb/henge/internal/expr"

// form is what native queries have for a function of SQL beside an expression. A member that is nil
// says that they have nothing of the kind.
type form struct {
	// filter writes a condition that a call is.
	filter func(*filters, *expr.Call) object
	// part is the extraction function that a call of a text with constants is; nil: the constants are
	// others.
	part func(*expr.Call) object
	// virtual is the virtual column of a name that a call is; nil: it is an expression. nested is that
	// where the context does not want all of them to be expressions.
	virtual, nested func(c *expr.Call, name string) object
	// post is the post-aggregator that a call of a sketch is.
	post *sketchPost
	// floats says that of FLOATs the result is FLOAT for Druid. See quirk Q015.
	floats bool
}

var forms map[string]form

func init() { // filters call others
	forms = map[string]form{
		"LIKE":             {filter: (*filters).like},
		"REGEXP_LIKE":      {filter: (*filters).pattern},
		"CONTAINS_STRING":  {filter: func(f *filters, x *expr.Call) object { return f.contains(x, true) }},
		"ICONTAINS_STRING": {filter: func(f *filters, x *expr.Call) object { return f.contains(x, false) }},
		"MV_CONTAINS":      {filter: (*filters).multi},
		"MV_OVERLAP":       {filter: (*filters).multi},

		"SUBSTRING":      {part: substringOf},
		"LOOKUP":         {part: lookupOf},
		"REGEXP_EXTRACT": {part: patternOf},

		"MV_FILTER_ONLY": {virtual: func(c *expr.Call, name string) object { return filteredValues(c, name, true) }},
		"MV_FILTER_NONE": {virtual: func(c *expr.Call, name string) object { return filteredValues(c, name, false) }},
		"JSON_VALUE":     {nested: func(c *expr.Call, name string) object { return nestedField(c, name, false) }},
		"JSON_QUERY":     {nested: func(c *expr.Call, name string) object { return nestedField(c, name, true) }},

		"HLL_SKETCH_ESTIMATE": {post: &sketchPost{kind: "HLLSketchEstimate", param: "round", without: int64(0),
			shown: func(v any) any { return v == int64(1) }}},
		"HLL_SKETCH_ESTIMATE_WITH_ERROR_BOUNDS": {post: &sketchPost{kind: "HLLSketchEstimateWithBounds", param: "numStdDev", without: int64(1)}},
		"HLL_SKETCH_TO_STRING":                  {post: &sketchPost{kind: "HLLSketchToString"}},

		"ABS":   {floats: true},
		"ROUND": {floats: true},
		"FLOOR": {floats: true},
		"CEIL":  {floats: true},
	}
}

// formOf is the form of what e is a call of.
func formOf(e expr.Expr) (*expr.Call, form) {
	c, ok := e.(*expr.Call)
	if !ok {
		return nil, form{}
	}
	return c, forms[c.Fn.Entry().Name]
}

func substringOf(c *expr.Call) object {
	start, ok := wholeOf(c.Args[1])
	if !ok || start < 1 {
		return nil
	}
	var length any
	if len(c.Args) > 2 {
		n, ok := wholeOf(c.Args[2])
		if !ok || n < 0 {
			return nil
		}
		length = n
	}
	return obj("type", "substring", "index", start-1, "length", length)
}

func lookupOf(c *expr.Call) object {
	lookup, ok := textOf(c.Args[1])
	if !ok || len(c.Args) != 2 {
		return nil
	}
	return obj("type", "registeredLookup", "lookup", lookup, "retainMissingValue", false, "replaceMissingValueWith", nil, "injective", nil,
		"optimize", true)
}

func patternOf(c *expr.Call) object {
	pattern, ok := textOf(c.Args[1])
	index := int64(0)
	if len(c.Args) > 2 {
		n, whole := wholeOf(c.Args[2])
		index, ok = n, ok && whole
	}
	if !ok {
		return nil
	}
	return obj("type", "regex", "expr", pattern, "index", index, "replaceMissingValue", true, "replaceMissingValueWith", nil)
}

func wholeOf(e expr.Expr) (int64, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return 0, false
	}
	n, ok := l.Value.(int64)
	return n, ok
}
