package nativejson

import (
	"strconv"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// floored returns the comparison of a bucket of __time with a time that a condition is: the bucket's granularity, the operator and the time.
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
		if x.Fn.Name == "TIME_FLOOR" && isTime(x.Args[0]) {
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
		return obj("type", "range", "column", plan.TimeColumn, "matchValueType", "LONG", "lower", ms)
	}
	before := func(ms int64) object {
		return obj("type", "range", "column", plan.TimeColumn, "matchValueType", "LONG", "upper", ms, "upperOpen", true)
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

// withTimesAsTexts is the filter that is one comparison of a bucket alone: with one end that is a text.
func (f *filters) withTimesAsTexts(e expr.Expr, o object) object {
	if _, _, _, ok := f.w.floored(e); !ok || o.get("type") != "range" || o.get("lower") != nil && o.get("upper") != nil {
		return o
	}
	out := make(object, len(o))
	for i, m := range o {
		if ms, ok := m.value.(int64); ok {
			m.value = strconv.FormatInt(ms, 10)
		}
		out[i] = m
	}
	return out
}
