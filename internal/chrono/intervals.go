package chrono

import "slices"

// A set of instants is a condensed list of intervals: ascending, none empty, none overlapping or
// touching another. The operations below take any lists and return condensed ones; they never
// change their arguments.

// Condense sorts intervals and joins those that overlap or touch.
func Condense(list []Interval) []Interval {
	sorted := slices.DeleteFunc(slices.Clone(list), Interval.IsEmpty)
	slices.SortFunc(sorted, Interval.Compare)
	out := sorted[:0]
	for _, iv := range sorted {
		if n := len(out); n > 0 && iv.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, iv.End)
		} else {
			out = append(out, iv)
		}
	}
	return out
}

// Union returns the instants that are in a or b.
func Union(a, b []Interval) []Interval { return Condense(slices.Concat(a, b)) }

// Subtract returns the instants that are in a and not in b.
func Subtract(a, b []Interval) []Interval {
	var out []Interval
	holes := Condense(b)
	for _, iv := range Condense(a) {
		for len(holes) > 0 && holes[0].End <= iv.Start {
			holes = holes[1:]
		}
		for _, hole := range holes {
			if hole.Start >= iv.End {
				break
			}
			if hole.Start > iv.Start {
				out = append(out, Interval{Start: iv.Start, End: hole.Start})
			}
			iv.Start = min(hole.End, iv.End)
		}
		if !iv.IsEmpty() {
			out = append(out, iv)
		}
	}
	return out
}

// IntersectAll returns the instants that are in a and in b.
func IntersectAll(a, b []Interval) []Interval {
	var out []Interval
	a, b = Condense(a), Condense(b)
	for len(a) > 0 && len(b) > 0 {
		if iv, ok := a[0].Intersect(b[0]); ok {
			out = append(out, iv)
		}
		if a[0].End < b[0].End {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// ContainsAll reports whether every instant of b is in a.
func ContainsAll(a, b []Interval) bool { return len(Subtract(b, a)) == 0 }

// SpanAll returns the smallest interval that contains all of the list, and false if the list has
// none.
func SpanAll(list []Interval) (Interval, bool) {
	if len(list) == 0 {
		return Interval{}, false
	}
	span := list[0]
	for _, iv := range list[1:] {
		span = span.Span(iv)
	}
	return span, true
}
