package native

import (
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// floored returns the comparison of a bucket of __time with a time that a condition is: the
// bucket's granularity, the operator and the time.
func (w *writer) floored(e expr.Expr) (g chrono.Granularity, op string, at int64, ok bool) {
	x, isCall := e.(*expr.Call)
	if !isCall || len(x.Args) != 2 || flipped[x.Fn.Name] == "" {
		return g, "", 0, false
	}
	left, right, op := x.Args[0], x.Args[1], x.Fn.Name
	if _, constant := left.(*expr.Literal); constant {
		left, right, op = right, left, flipped[op]
	}
	l, constant := right.(*expr.Literal)
	if !constant {
		return g, "", 0, false
	}
	at, isTime := l.Value.(int64)
	g, ok = w.bucketOfTime(stripCasts(left))
	return g, op, at, ok && isTime
}

// bucketOfTime is the granularity of the bucket of __time that e is the start of: a date is a day.
func (w *writer) bucketOfTime(e expr.Expr) (chrono.Granularity, bool) {
	isTime := func(e expr.Expr) bool {
		c, ok := e.(*expr.Column)
		return ok && c.Name == plan.TimeColumn
	}
	switch x := e.(type) {
	case *expr.Cast:
		if x.T.Base == expr.Date && isTime(x.X) {
			g, err := chrono.PeriodGranularity(chrono.Period{Days: 1}, w.options.Expr.Zone, nil)
			return g, err == nil
		}
	case *expr.Call:
		if x.Fn.FloorsTime && isTime(x.Args[0]) {
			return plan.FloorGranularity(x, w.options.Expr.Zone)
		}
	}
	return chrono.Granularity{}, false
}

// floorRange is a comparison of a bucket of __time as a range of times; nil: e is none.
func (f *filters) floorRange(e expr.Expr) object {
	g, op, at, ok := f.w.floored(e)
	if !ok {
		return nil
	}
	bucket := g.Bucket(at)
	aligned := bucket.Start == at
	from := func(ms int64) object {
		return obj("type", "range", "column", plan.TimeColumn, "matchValueType", "LONG", "lower", bucketTime(ms))
	}
	before := func(ms int64) object {
		return obj("type", "range", "column", plan.TimeColumn, "matchValueType", "LONG", "upper", bucketTime(ms), "upperOpen", true)
	}
	within := obj("type", "range", "column", plan.TimeColumn, "matchValueType", "LONG", "lower", bucket.Start, "upper", bucket.End, "upperOpen", true)
	switch {
	case op == "=" && !aligned:
		return obj("type", "false")
	case op == "=":
		return within
	case op == "<>" && !aligned:
		return obj("type", "true")
	case op == "<>":
		return obj("type", "not", "field", within)
	case op == ">=" && aligned:
		return from(bucket.Start)
	case op == ">=" || op == ">":
		return from(bucket.End)
	case op == "<" && aligned:
		return before(bucket.Start)
	}
	return before(bucket.End)
}

// bucketTime is the only end of a range that a comparison of a bucket is: a text, but for numbers
// where the junction of a filter has it.
type bucketTime int64

// MarshalJSON returns the time as a string.
func (t bucketTime) MarshalJSON() ([]byte, error) {
	return []byte(strconv.Quote(strconv.FormatInt(int64(t), 10))), nil
}

// timesAsNumbers is a filter in which what is joined by it itself has times of buckets as numbers.
func timesAsNumbers(o object) object {
	fields, ok := o.get("fields").([]object)
	if !ok {
		return o
	}
	numbers := make([]object, len(fields))
	for i, f := range fields {
		numbers[i] = slices.Clone(f)
		for j, m := range f {
			if t, ok := m.value.(bucketTime); ok {
				numbers[i][j].value = int64(t)
			}
		}
	}
	return obj("type", o.get("type"), "fields", numbers)
}
