package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
)

// timeIntervals turns the terms of a scan's filter that bound __time into intervals, by which
// segments and blocks are pruned. A term that the intervals say completely is dropped from the
// filter; one that they only bound stays.
func (o *optimizer) timeIntervals(n Node) Node {
	n = MapInputs(n, o.timeIntervals)
	scan, ok := n.(*Scan)
	if !ok || scan.Filter == nil {
		return n
	}
	column := scan.TimeColumn()
	if column < 0 {
		return n
	}
	bound, stay := TimeBounds(scan.Filter, column, o.options.Context.Zone, scan.Intervals)
	if bound == nil || scan.Intervals != nil && countTerms(stay) == countTerms(scan.Filter) {
		return n
	}
	o.fired()
	c := *scan
	if len(bound) == 0 {
		return Empty(scan.Out)
	}
	c.Filter, c.Intervals = stay, bound
	return &c
}

// TimeColumn returns the position of the time column, or -1.
func (x *Scan) TimeColumn() int {
	return slices.IndexFunc(x.Out, func(c Column) bool { return c.Name == TimeColumn && c.Type.Base == expr.Timestamp })
}

func countTerms(e expr.Expr) int {
	n := 0
	for range Terms(e) {
		n++
	}
	return n
}

// TimeBounds extracts the terms of a condition that bound a time column. It returns the intervals
// within before (nil: all time; nil again if there are no bounds), and the terms that the intervals
// do not fully express.
func TimeBounds(cond expr.Expr, column int, zone *chrono.Zone, before []chrono.Interval) (within []chrono.Interval, rest expr.Expr) {
	reader := timeReader{column: column, zone: zone}
	var stay []expr.Expr
	bounded := before != nil
	for term := range Terms(cond) {
		set, exact := reader.set(term)
		if set == nil {
			stay = append(stay, term)
			continue
		}
		if !exact {
			stay = append(stay, term)
		}
		if bounded {
			before = chrono.IntersectAll(before, set.list)
		} else {
			before, bounded = chrono.IntersectAll(set.list, []chrono.Interval{allTime}), true
		}
	}
	if bounded && before == nil {
		before = []chrono.Interval{}
	}
	return before, Conjunction(stay)
}

// instants is a set of instants; not nil, though it may be empty.
type instants struct{ list []chrono.Interval }

var allTime = chrono.Eternity

// CheckTimeBounds returns the error of requireTimeCondition if a scan of an optimized plan is not
// bounded in time.
func CheckTimeBounds(n Node) error {
	var err error
	Walk(n, func(n Node) bool {
		if scan, ok := n.(*Scan); ok && scan.Intervals == nil && err == nil {
			err = fault.InvalidInput("requireTimeCondition is enabled, all queries must include a filter condition on the __time column").
				WithLegacy(fault.LegacyValidation)
		}
		return err == nil
	})
	return err
}

// timeReader reads conditions on the time column.
type timeReader struct {
	column int
	zone   *chrono.Zone
}

// set returns instants outside of which e, a condition, is never true, nil if it does not bound the
// column. With exact it is true for all of them.
func (r timeReader) set(e expr.Expr) (bound *instants, exact bool) {
	switch x := e.(type) {
	case *expr.And:
		exact = true
		for _, t := range x.Terms {
			s, ok := r.set(t)
			exact = exact && ok && s != nil
			switch {
			case s == nil:
			case bound == nil:
				bound = s
			default:
				bound = &instants{chrono.IntersectAll(bound.list, s.list)}
			}
		}
		return bound, exact && bound != nil
	case *expr.Or:
		bound, exact = &instants{}, true
		for _, t := range x.Terms {
			s, ok := r.set(t)
			if s == nil {
				return nil, false
			}
			exact = exact && ok
			bound.list = append(bound.list, s.list...)
		}
		bound.list = chrono.Condense(bound.list)
		return bound, exact
	case *expr.Not:
		// __time is never NULL, so that what is not true is false.
		s, ok := r.set(x.X)
		if s == nil || !ok {
			return nil, false
		}
		return &instants{chrono.Subtract([]chrono.Interval{allTime}, s.list)}, true
	case *expr.In:
		return r.anyOf(x)
	case *expr.Call:
		return r.call(x)
	}
	return nil, false
}

// anyOf is set for a list of times, or of starts of buckets.
func (r timeReader) anyOf(x *expr.In) (*instants, bool) {
	floor, floored := r.floor(x.X)
	if !floored && !isTime(x.X, r.column) || x.HasNull {
		return nil, false
	}
	bound := &instants{}
	for _, v := range x.Values {
		ms, ok := v.(int64)
		switch {
		case !ok:
			return nil, false
		case !floored:
			bound.list = append(bound.list, at(ms))
		default:
			bucket, _ := flooredSet(floor, "=", ms)
			bound.list = append(bound.list, bucket.list...)
		}
	}
	bound.list = chrono.Condense(bound.list)
	return bound, true
}

func (r timeReader) call(x *expr.Call) (*instants, bool) {
	if x.Fn.Name == "TIME_IN_INTERVAL" && len(x.Args) == 2 && isTime(x.Args[0], r.column) {
		if text, ok := literalText(x.Args[1]); ok {
			if iv, err := chrono.ParseInterval(text); err == nil {
				return &instants{[]chrono.Interval{iv}}, true
			}
		}
		return nil, false
	}
	if len(x.Args) != 2 {
		return nil, false
	}
	op, left, right := x.Fn.Name, x.Args[0], x.Args[1]
	if _, ok := left.(*expr.Literal); ok {
		flipped, ok := map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
		if !ok {
			return nil, false
		}
		op, left, right = flipped, right, left
	}
	l, ok := right.(*expr.Literal)
	if !ok {
		return nil, false
	}
	ms, ok := l.Value.(int64)
	if !ok {
		return nil, false
	}
	if isTime(left, r.column) {
		return compared(op, ms, ms, true)
	}
	floor, ok := r.floor(left)
	if !ok {
		return nil, false
	}
	// floor(t) op c says of t itself: with [s, e) the bucket of c, floor(t) < c is t < c's next
	// boundary at or after c.
	return flooredSet(floor, op, ms)
}

// compared returns the instants t for which "t op ms" holds.
func compared(op string, ms, last int64, exact bool) (*instants, bool) {
	next := last
	if next < chrono.MaxInstant {
		next++
	}
	switch op {
	case "=", "IS NOT DISTINCT FROM":
		return &instants{[]chrono.Interval{{Start: ms, End: next}}}, exact
	case "<>", "IS DISTINCT FROM":
		return &instants{[]chrono.Interval{{Start: chrono.MinInstant, End: ms}, {Start: next, End: chrono.MaxInstant}}}, exact
	case "<":
		return &instants{[]chrono.Interval{{Start: chrono.MinInstant, End: ms}}}, exact
	case "<=":
		return &instants{[]chrono.Interval{{Start: chrono.MinInstant, End: next}}}, exact
	case ">":
		return &instants{[]chrono.Interval{{Start: next, End: chrono.MaxInstant}}}, exact
	case ">=":
		return &instants{[]chrono.Interval{{Start: ms, End: chrono.MaxInstant}}}, exact
	}
	return nil, false
}

// flooredSet returns the instants t for which "floor(t) op ms" holds.
func flooredSet(g chrono.Granularity, op string, ms int64) (*instants, bool) {
	bucket := g.Bucket(ms)
	aligned := bucket.Start == ms
	below := chrono.Interval{Start: chrono.MinInstant, End: bucket.Start} // floor(t) < bucket.Start
	upTo := chrono.Interval{Start: chrono.MinInstant, End: bucket.End}    // floor(t) <= bucket.Start
	set := func(list ...chrono.Interval) (*instants, bool) { return &instants{list}, true }
	switch op {
	case "=", "IS NOT DISTINCT FROM":
		if !aligned {
			return set()
		}
		return set(bucket)
	case "<>", "IS DISTINCT FROM":
		if !aligned {
			return set(allTime)
		}
		return set(below, chrono.Interval{Start: bucket.End, End: chrono.MaxInstant})
	case "<":
		if aligned {
			return set(below)
		}
		return set(upTo)
	case "<=":
		return set(upTo)
	case ">":
		return set(chrono.Interval{Start: bucket.End, End: chrono.MaxInstant})
	case ">=":
		if aligned {
			return set(chrono.Interval{Start: bucket.Start, End: chrono.MaxInstant})
		}
		return set(chrono.Interval{Start: bucket.End, End: chrono.MaxInstant})
	}
	return nil, false
}

// floor returns the granularity g if e is the start of the bucket of g that the time column falls
// in. A DATE is the start of a day.
func (r timeReader) floor(e expr.Expr) (chrono.Granularity, bool) {
	if c, ok := e.(*expr.Cast); ok && c.T.Base == expr.Timestamp {
		e = c.X
	}
	if c, ok := e.(*expr.Cast); ok && c.T.Base == expr.Date && isTime(c.X, r.column) {
		g, err := chrono.PeriodGranularity(chrono.Period{Days: 1}, r.zone, nil)
		return g, err == nil
	}
	c, ok := e.(*expr.Call)
	if !ok || !c.Fn.FloorsTime || !isTime(c.Args[0], r.column) {
		return chrono.Granularity{}, false
	}
	return FloorGranularity(c, r.zone)
}

// FloorGranularity returns the granularity of a call of TIME_FLOOR whose period, origin and zone
// are constants. If the call does not name a zone, it is that of the query.
func FloorGranularity(c *expr.Call, zone *chrono.Zone) (chrono.Granularity, bool) {
	none := chrono.Granularity{}
	text, ok := literalText(c.Args[1])
	if !ok {
		return none, false
	}
	period, err := chrono.ParsePeriod(text)
	if err != nil {
		return none, false
	}
	var origin *int64
	if len(c.Args) > 2 {
		l, ok := c.Args[2].(*expr.Literal)
		if !ok {
			return none, false
		}
		if ms, ok := l.Value.(int64); ok {
			origin = &ms
		}
	}
	if len(c.Args) > 3 {
		l, ok := c.Args[3].(*expr.Literal)
		if !ok {
			return none, false
		}
		if name, ok := l.Value.(string); ok {
			var err error
			if zone, err = chrono.LoadZone(name); err != nil {
				return none, false
			}
		}
	}
	g, err := chrono.PeriodGranularity(period, zone, origin)
	return g, err == nil
}

func isTime(e expr.Expr, column int) bool {
	if c, ok := e.(*expr.Cast); ok && (c.T.Base == expr.Timestamp || c.T.IsInteger()) {
		e = c.X
	}
	c, ok := e.(*expr.Column)
	return ok && c.Index == column
}

func at(ms int64) chrono.Interval {
	iv, _ := compared("=", ms, ms, true)
	return iv.list[0]
}

func literalText(e expr.Expr) (string, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}
