package native

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/querycontext"
)

// plain removes what native expressions do not say: maps over the values of multi-value strings.
func plain(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		switch x := e.(type) {
		case *expr.Each:
			return withValue(x.Body, x.Source)
		case *expr.Any:
			return withValue(x.Body, x.Source)
		}
		return e
	})
}

func withValue(e, by expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if x, ok := e.(*expr.Element); ok {
			if x.Depth == 0 {
				return by
			}
			return &expr.Element{Depth: x.Depth - 1, T: x.T}
		}
		return e
	})
}

// filterSpec writes a condition as a native filter, nil for none. Without virtual columns what is
// no column becomes an expression.
func (r *rows) filterSpec(e expr.Expr, v *virtuals) any {
	if e == nil {
		return nil
	}
	f := &filters{w: r.w, v: v}
	e = plain(e)
	out := timesAsNumbers(combined(f.write(e)))
	if out.get("type") == "true" {
		return nil
	}
	if r.w.says(querycontext.BoundFilters, true) {
		return r.selectors(out, v)
	}
	return out
}

// isText reports whether a column, virtual or not, is one of texts.
func (r *rows) isText(column any, v *virtuals) bool {
	for _, c := range r.in {
		if c.name == column {
			return c.typ.IsCharacter()
		}
	}
	if v != nil {
		for _, o := range v.list {
			if o.get("name") == column {
				return o.get("outputType") == "STRING"
			}
		}
	}
	return false
}

// selectors writes a filter with the older types selector and bound.
func (r *rows) selectors(o object, v *virtuals) object {
	switch o.get("type") {
	case "and", "or":
		fields, _ := o.get("fields").([]object)
		out := make([]object, len(fields))
		for i, f := range fields {
			out[i] = r.selectors(f, v)
		}
		if o.get("type") == "or" {
			return joined("or", listed(out))
		}
		return obj("type", o.get("type"), "fields", out)
	case "not":
		field, _ := o.get("field").(object)
		return obj("type", "not", "field", r.selectors(field, v))
	case "null":
		return selector(o.get("column"), nil)
	case "equals":
		_, isText := o.get("matchValue").(string)
		switch {
		case !isText && r.isText(o.get("column"), v): // texts are compared as numbers between bounds only
			return point(o, "numeric")
		case isText && r.isNumber(o.get("column")): // and numbers as texts
			return point(o, "lexicographic")
		}
		return selector(o.get("column"), fmt.Sprint(o.get("matchValue")))
	case "in":
		values, _ := o.get("values").([]any)
		if fields := make([]object, len(values)); r.isNumber(o.get("dimension")) {
			for i, v := range values {
				fields[i] = point(obj("column", o.get("dimension"), "matchValue", v), "lexicographic")
			}
			return joined("or", fields)
		}
		column, fn := throughOf(o.get("dimension"))
		out := obj("type", "in", "dimension", column, "values", values)
		if fn != nil {
			out.set("extractionFn", fn)
		}
		return out
	case "range":
		return bounds(o)
	}
	return o
}

// isNumber reports whether a column of the datasource is one of numbers.
func (r *rows) isNumber(name any) bool {
	return slices.ContainsFunc(r.in, func(c column) bool { return c.name == name && c.typ.IsNumeric() })
}

// throughOf is the column that an older filter reads, and the extraction function that it reads it
// through; nil: none.
func throughOf(column any) (name, fn any) {
	text, _ := column.(string)
	if name, fn, ok := strings.Cut(text, functionMark); ok {
		return name, json.RawMessage(fn)
	}
	return column, nil
}

func selector(of, value any) object {
	column, fn := throughOf(of)
	out := obj("type", "selector", "dimension", column, "value", value)
	if fn != nil {
		out.set("extractionFn", fn)
	}
	return out
}

// point is an equality as bounds that are the same.
func point(o object, ordering string) object {
	value := fmt.Sprint(o.get("matchValue"))
	return obj("type", "bound", "dimension", o.get("column"), "lower", value, "upper", value, "ordering", obj("type", ordering))
}

// bounds is a range as a filter of the older type.
func bounds(o object) object {
	column, fn := throughOf(o.get("column"))
	out := obj("type", "bound", "dimension", column)
	for _, bound := range []string{"lower", "upper"} {
		if v := o.get(bound); v != nil {
			out.set(bound, fmt.Sprint(v))
		}
	}
	for _, bound := range []string{"lower", "upper"} {
		if o.get(bound+"Open") != nil {
			out.set(bound+"Strict", true)
		}
	}
	ordering := "numeric"
	if o.get("matchValueType") == "STRING" {
		ordering = "lexicographic"
	}
	if fn != nil {
		out.set("extractionFn", fn)
	}
	out.set("ordering", obj("type", ordering))
	return out
}

// listed puts what several selectors say of one column in one list, behind the others.
func listed(fields []object) []object {
	values := map[any][]any{}
	var order []any
	isOne := func(o object) bool {
		return o.get("type") == "selector" && o.get("extractionFn") == nil
	}
	for _, o := range fields {
		if c := o.get("dimension"); isOne(o) {
			if values[c] == nil {
				order = append(order, c)
			}
			values[c] = append(values[c], o.get("value"))
		}
	}
	out := slices.DeleteFunc(slices.Clone(fields), func(o object) bool { return isOne(o) && len(values[o.get("dimension")]) > 1 })
	for _, c := range order {
		if len(values[c]) > 1 {
			out = append(out, obj("type", "in", "dimension", c, "values", sortedTexts(values[c])))
		}
	}
	return out
}

type filters struct {
	w *writer
	v *virtuals
}

func (f *filters) expression(e expr.Expr) object {
	return obj("type", "expression", "expression", f.w.native(e))
}

func (f *filters) write(e expr.Expr) object {
	switch x := e.(type) {
	case *expr.And:
		return f.and(x.Terms)
	case *expr.Or:
		return f.or(x.Terms)
	case *expr.Not:
		if in, ok := x.X.(*expr.In); ok {
			return f.notIn(in)
		}
		return obj("type", "not", "field", f.write(x.X))
	case *expr.In:
		return f.in(x)
	case *expr.Call:
		return f.call(x)
	case *expr.Literal:
		kind := "false"
		if x.Value != nil && x.Value != int64(0) {
			kind = "true"
		}
		return obj("type", kind)
	}
	return f.expression(e)
}

// and joins terms; those that are a conjunction become several.
func (f *filters) and(terms []expr.Expr) object {
	var out []object
	met := objects{}
	for _, t := range terms {
		for _, o := range operandsOf("and", f.write(t)) {
			if !met.again(o) {
				out = append(out, o)
			}
		}
	}
	return joined("and", out)
}

// objects are those that were met, by their texts.
type objects map[string]bool

// again reports whether an object was met before, and remembers it.
func (m objects) again(o object) bool {
	text, err := o.MarshalJSON()
	if err != nil || m[string(text)] {
		return err == nil
	}
	m[string(text)] = true
	return false
}

func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// or joins terms; several equalities of one string column become an in filter, behind the others.
func (f *filters) or(terms []expr.Expr) object {
	var fields, sets []object
	values := map[any][]any{}
	var order []any
	add := func(column, value any) {
		if values[column] == nil {
			order = append(order, column)
		}
		values[column] = append(values[column], value)
	}
	var written []object
	own := map[int]bool{} // lists that the statement does not write as equalities
	for _, t := range terms {
		if c, ok := t.(*expr.Call); ok && c.Fn.HasValues == expr.AnyOfThem {
			own[len(written)] = true
		}
		written = append(written, operandsOf("or", f.write(t))...)
	}
	met := objects{}
	for i, field := range written {
		if met.again(field) {
			continue
		}
		switch {
		case field.get("type") == "equals" && field.get("matchValueType") == "STRING":
			c, v := field.get("column"), field.get("matchValue")
			if slices.Contains(values[c], v) {
				continue
			}
			add(c, v)
		case field.get("type") == "in" && !own[i]:
			list, _ := field.get("values").([]any)
			for _, v := range list {
				add(field.get("dimension"), v)
			}
			continue
		}
		fields = append(fields, field)
	}
	fields = slices.DeleteFunc(fields, func(o object) bool {
		return o.get("type") == "equals" && o.get("matchValueType") == "STRING" && len(values[o.get("column")]) > 1
	})
	for _, c := range order {
		if len(values[c]) > 1 {
			sets = append(sets, anyOfTexts(c, values[c]))
		}
	}
	return joined("or", append(fields, sets...))
}

// anyOfTexts is the filter for one of some texts: they are a sorted set.
func anyOfTexts(column any, values []any) object {
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b any) int {
		x, _ := a.(string)
		y, _ := b.(string)
		return strings.Compare(x, y)
	})
	if values = slices.Compact(values); len(values) == 1 && values[0] != nil {
		return obj("type", "equals", "column", column, "matchValueType", "STRING", "matchValue", values[0])
	}
	return obj("type", "in", "dimension", column, "values", values)
}

func (f *filters) in(x *expr.In) object {
	column, ok := f.listColumn(x.X)
	if !ok {
		return f.eachCompared(x, "=", "or")
	}
	if !x.X.Type().Runtime().IsNumeric() {
		values := append([]any(nil), x.Values...)
		if x.HasNull {
			values = append([]any{nil}, values...)
		}
		return anyOfTexts(column, values)
	}
	return joined("or", f.each(x, column))
}

// listColumn is the column that a list is compared with; buckets of __time are compared one by one.
func (f *filters) listColumn(e expr.Expr) (string, bool) {
	if _, ok := f.w.bucketOfTime(stripCasts(e)); ok {
		return "", false
	}
	return f.column(e)
}

// eachCompared compares what no column has with the values of a list one by one.
func (f *filters) eachCompared(x *expr.In, op, junction string) object {
	if x.HasNull || f.v == nil {
		return f.expression(x)
	}
	fields := make([]object, len(x.Values))
	for i, v := range x.Values {
		fields[i] = f.call(&expr.Call{Fn: catalog.MustLookup(op), Args: []expr.Expr{x.X, &expr.Literal{Value: v, T: x.X.Type().NotNull()}}, T: expr.Of(expr.Boolean)})
	}
	return joined(junction, fields)
}

// each are the equalities that a list stands for, each once.
func (f *filters) each(x *expr.In, column string) []object {
	var fields []object
	of, values := x.X, x.Values
	if whole := stripCasts(x.X); whole.Type().Base == expr.BigInt {
		of, values = whole, wholeValues(values)
	}
	for i, v := range values {
		if slices.Contains(values[:i], v) {
			continue
		}
		kind, value := f.equalTo(of, &expr.Literal{Value: v, T: of.Type()})
		if kind == "DOUBLE" && stripCasts(x.X).Type().Base == expr.Float {
			kind = "FLOAT" // a list has the type of the column
		}
		fields = append(fields, obj("type", "equals", "column", column, "matchValueType", kind, "matchValue", value))
	}
	return fields
}

// wholeValues are the values that a list of whole numbers has.
func wholeValues(values []any) []any {
	out := slices.Clone(values)
	for i, v := range out {
		if x, ok := v.(float64); ok {
			out[i] = int64(x)
		}
	}
	return out
}

// notIn is none of the equalities that a list stands for.
func (f *filters) notIn(x *expr.In) object {
	column, ok := f.listColumn(x.X)
	switch {
	case x.HasNull || len(x.Values) == 0:
		return obj("type", "not", "field", f.in(x))
	case !ok && f.v != nil:
		return f.eachCompared(x, "<>", "and")
	case !ok:
		return obj("type", "not", "field", f.in(x))
	}
	fields := f.each(x, column)
	for i, o := range fields {
		fields[i] = obj("type", "not", "field", o)
	}
	return joined("and", fields)
}

// column returns the column, virtual if need be, that has the value of e; false if the filter is to
// be an expression as a whole.
func (f *filters) column(e expr.Expr) (string, bool) {
	e = withoutCast(stripCasts(e))
	if c, ok := e.(*expr.Column); ok {
		return c.Name, true
	}
	if f.v == nil {
		return "", false
	}
	if _, form := formOf(e); form.part != nil {
		return f.through(e)
	}
	return f.v.column(e), true
}

// functionMark stands between a column and the extraction function, as JSON, that an older filter
// reads it through.
const functionMark = "\x00"

// through is the column that an older filter reads for a part of a text, with the function; false
// for other filters, which have none.
func (f *filters) through(e expr.Expr) (string, bool) {
	from, fn := f.part(e)
	if fn == nil || !f.w.says(querycontext.BoundFilters, true) {
		return "", false
	}
	text, err := marshal(fn)
	return from + functionMark + string(text), err == nil
}

// tested is the column that a test for NULL reads. A text that is no number makes one, so that such
// a conversion stays.
func (f *filters) tested(e expr.Expr) (string, bool) {
	if c, ok := stripCasts(e).(*expr.Cast); ok && c.T.IsNumeric() && c.X.Type().IsCharacter() && f.v != nil {
		return f.v.column(c), true
	}
	return f.column(e)
}

// stripCasts removes conversions between numbers, which filters on columns do by themselves.
func stripCasts(e expr.Expr) expr.Expr {
	for {
		c, ok := e.(*expr.Cast)
		if !ok || !(c.T.IsNumeric() && c.X.Type().IsNumeric() || isSameTime(c) || c.T.Base == expr.Array && c.X.Type().IsCharacter()) {
			return e
		}
		e = c.X
	}
}

// isSameTime reports whether a conversion is of a time to the same time: a date has none of the
// day.
func isSameTime(c *expr.Cast) bool {
	from := c.X.Type()
	return c.T.IsTime() && from.IsTime() && (c.T.Base != expr.Date || from.Base == expr.Date)
}

// withoutCast is the column that a conversion is of, which filters and dimensions make by
// themselves.
func withoutCast(e expr.Expr) expr.Expr {
	c, ok := e.(*expr.Cast)
	if !ok || !isColumn(c.X) || c.X.Type().Multi || c.X.Type() == c.T {
		return e
	}
	simple := func(t expr.Type) bool { return t.IsNumeric() || t.IsCharacter() }
	if simple(c.T) && simple(c.X.Type()) {
		return c.X
	}
	return e
}

var ranges = map[string]struct {
	bound string
	open  bool
}{"<": {"upper", true}, "<=": {"upper", false}, ">": {"lower", true}, ">=": {"lower", false}}

var flipped = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (f *filters) call(x *expr.Call) object {
	op := x.Fn.Name
	switch op {
	case "IS NULL", "IS NOT NULL":
		column, ok := f.tested(x.Args[0])
		if !ok {
			return f.expression(x)
		}
		null := obj("type", "null", "column", column)
		if op == "IS NULL" {
			return null
		}
		return obj("type", "not", "field", null)
	case "IS TRUE", "IS NOT FALSE":
		return f.write(x.Args[0])
	case "IS FALSE", "IS NOT TRUE":
		return obj("type", "not", "field", f.write(x.Args[0]))
	}
	if _, form := formOf(x); form.filter != nil {
		return form.filter(f, x)
	}
	if len(x.Args) != 2 || flipped[op] == "" {
		return f.expression(x)
	}
	if o := f.floorRange(x); o != nil {
		return o
	}
	left, right := x.Args[0], x.Args[1]
	if _, ok := left.(*expr.Literal); ok {
		left, right, op = right, left, flipped[op]
	}
	l, ok := right.(*expr.Literal)
	if !ok || l.Value == nil {
		return f.expression(x)
	}
	if _, isLiteral := left.(*expr.Literal); isLiteral {
		return f.expression(x)
	}
	kind, value := typedValue(l)
	if _, isList := l.Value.([]any); isList && f.w.says(querycontext.BoundFilters, true) {
		return f.expression(x) // of arrays the older filters know nothing
	}
	column, ok := f.column(left)
	if !ok {
		return f.expression(x)
	}
	if r, ok := ranges[op]; ok {
		out := obj("type", "range", "column", column, "matchValueType", kind, r.bound, value)
		if r.open {
			out.set(r.bound+"Open", true)
		}
		return out
	}
	kind, value = f.equalTo(left, l)
	equals := obj("type", "equals", "column", column, "matchValueType", kind, "matchValue", value)
	if op == "<>" {
		return obj("type", "not", "field", equals)
	}
	return equals
}

func isColumn(e expr.Expr) bool {
	_, ok := e.(*expr.Column)
	return ok
}

// part is the column and the extraction function that a filter has for a part of a text; no
// function where e is anything else.
func (f *filters) part(e expr.Expr) (string, object) {
	if f.w.says(querycontext.ExpressionsOnly, true) || f.w.stepwise {
		return "", nil
	}
	return extracted(e)
}

// source is the column that a filter of texts reads, and the extraction function that it reads it
// through, nil: none; false if it is to be an expression.
func (f *filters) source(e expr.Expr) (column string, fn any, ok bool) {
	if from, part := f.part(e); part != nil {
		return from, part, true
	}
	column, ok = f.column(e)
	return column, nil, ok
}

// pattern writes REGEXP_LIKE.
func (f *filters) pattern(x *expr.Call) object {
	pattern, ok := textOf(x.Args[1])
	column, fn, isColumn := f.source(x.Args[0])
	if !ok || !isColumn {
		return f.expression(x)
	}
	return obj("type", "regex", "dimension", column, "pattern", pattern, "extractionFn", fn)
}

// contains writes the search for a text within others.
func (f *filters) contains(x *expr.Call, caseSensitive bool) object {
	text, ok := textOf(x.Args[1])
	column, fn, isColumn := f.source(x.Args[0])
	if !ok || !isColumn {
		return f.expression(x)
	}
	query := obj("type", "contains", "value", text, "caseSensitive", caseSensitive)
	return obj("type", "search", "dimension", column, "query", query, "extractionFn", fn)
}

func (f *filters) like(x *expr.Call) object {
	pattern, ok := textOf(x.Args[1])
	column, fn, isColumn := f.source(x.Args[0])
	if !ok || !isColumn {
		return f.expression(x)
	}
	var escape any
	if len(x.Args) > 2 {
		if text, ok := textOf(x.Args[2]); ok {
			escape = text
		}
	}
	return obj("type", "like", "dimension", column, "pattern", pattern, "escape", escape, "extractionFn", fn)
}

// multi writes MV_CONTAINS and MV_OVERLAP of constants.
func (f *filters) multi(x *expr.Call) object {
	column, ok := f.column(x.Args[0])
	values, isList := listOf(x.Args[1])
	if !ok || !isList || len(values) == 0 {
		return f.expression(x)
	}
	if x.Fn.HasValues == expr.AnyOfThem && len(values) > 1 {
		return obj("type", "in", "dimension", column, "values", sortedTexts(values))
	}
	var fields []object
	for _, v := range values {
		fields = append(fields, obj("type", "equals", "column", column, "matchValueType", "STRING", "matchValue", v))
	}
	if len(fields) == 1 {
		if x.Fn.HasValues == expr.AnyOfThem {
			fields[0] = obj("type", "equals", "column", column, "matchValueType", "ARRAY<STRING>", "matchValue", values[0])
		}
		return fields[0]
	}
	return obj("type", "and", "fields", fields)
}

// sortedTexts returns different texts in their order, as sets of values are written; nil first.
func sortedTexts(values []any) []any {
	out := slices.Clone(values)
	text := func(v any) string { s, _ := v.(string); return s }
	slices.SortStableFunc(out, func(a, b any) int {
		if (a == nil) != (b == nil) {
			if a == nil {
				return -1
			}
			return 1
		}
		return strings.Compare(text(a), text(b))
	})
	return slices.CompactFunc(out, func(a, b any) bool { return a == b })
}

// listOf returns the values of a constant array.
func listOf(e expr.Expr) ([]any, bool) {
	switch x := e.(type) {
	case *expr.Literal:
		switch v := x.Value.(type) {
		case []any:
			return v, true
		case string:
			return []any{v}, true
		}
	case *expr.Cast:
		return listOf(x.X)
	}
	return nil, false
}

func textOf(e expr.Expr) (string, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}

// typedValue returns the native type of a constant and how it is written. Comparing has made
// numbers DOUBLE; whole ones are LONG again, but for those that were written with a point.
func typedValue(l *expr.Literal) (string, any) {
	switch x := l.Value.(type) {
	case int64:
		return "LONG", x
	case float64:
		if l.T.Base != expr.Decimal && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			return "LONG", int64(x)
		}
		return "DOUBLE", number(x)
	case float32:
		return typedValue(&expr.Literal{Value: float64(x), T: l.T})
	case []any:
		values := make([]any, len(x))
		for i, v := range x {
			values[i] = shownConstant(v)
		}
		return runtimeName(l.T), values
	}
	return "STRING", l.Value
}

// equalTo is typedValue of what e equals: beside a fraction a whole number is one, too. What is
// made a DOUBLE only to be compared with a whole number is compared as what it is. The older
// filters have numbers as they are written.
func (f *filters) equalTo(e expr.Expr, l *expr.Literal) (string, any) {
	var x float64
	switch n := l.Value.(type) {
	case int64:
		x = float64(n)
	case float32:
		x = float64(n)
	case float64:
		x = n
	default:
		return typedValue(l)
	}
	kind, value := typedValue(l)
	switch {
	case f.w.says(querycontext.BoundFilters, true):
		return kind, value
	case e.Type().IsInteger() || kind == "DOUBLE":
		return kind, value
	case typeOfFloats(stripCasts(e)).Base == expr.Float:
		return "FLOAT", number(x)
	case e.Type().IsFractional():
		return "DOUBLE", number(x)
	}
	return kind, value
}

// number writes a double as all results do.
func number(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return string(expr.AppendDouble(nil, x))
	}
	return json.Number(expr.AppendDouble(nil, x))
}
