package rule

import (
	"math"

	"github.com/hengedb/henge/internal/chrono"
)

// Moment evaluates rules at one instant for many segments. It computes values that depend only on
// the instant, such as the start of a period, once.
type Moment struct {
	rules  []Rule
	bounds []bound
}

// bound is what a rule says of intervals at an instant: where those that it matches may start and
// end. All four ends are included.
type bound struct{ fromStart, toStart, fromEnd, toEnd int64 }

func (b bound) holds(iv chrono.Interval) bool {
	return b.fromStart <= iv.Start && iv.Start <= b.toStart && b.fromEnd <= iv.End && iv.End <= b.toEnd
}

// nothing is the bound that holds no interval.
var nothing = bound{fromStart: math.MaxInt64, toStart: math.MinInt64}

// bound returns what the rule matches at an instant. Load and broadcast rules match by overlap,
// drop rules by containment.
func (r Rule) bound(now int64) bound {
	b := bound{math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64}
	switch w := r.When.(type) {
	case Forever:
	case Interval:
		switch {
		case r.Action == Drop:
			b.fromStart, b.toEnd = w.Start, w.End
		case w.IsEmpty():
			b = nothing
		default:
			b.toStart, b.fromEnd = w.End-1, w.Start+1
		}
	case Period:
		from := w.Length.Add(now, chrono.UTC, -1)
		switch {
		case r.Action == Drop:
			b.fromStart = from
			if !w.Future {
				b.toEnd = now
			}
		case w.Future:
			b.fromEnd = after(from)
		default:
			b.fromEnd, b.toStart = after(from), now-1
		}
	case Before:
		b.toEnd = w.Length.Add(now, chrono.UTC, -1)
	default:
		b = nothing
	}
	return b
}

// after is the first instant after one; a period may reach beyond all.
func after(ms int64) int64 { return max(ms, ms+1) }

// At returns the rules of lists, in order, at an instant in milliseconds.
func At(now int64, lists ...List) *Moment {
	m := &Moment{}
	for _, list := range lists {
		for _, r := range list {
			m.rules, m.bounds = append(m.rules, r), append(m.bounds, r.bound(now))
		}
	}
	return m
}

// Find returns the index of the first rule that matches an interval, as Matches does, or -1 if no
// rule matches.
func (m *Moment) Find(iv chrono.Interval) int {
	for i := range m.bounds {
		if m.bounds[i].holds(iv) {
			return i
		}
	}
	return -1
}

// Len returns the number of rules.
func (m *Moment) Len() int { return len(m.rules) }

// Rule returns the rule with an index that Find returned.
func (m *Moment) Rule(i int) Rule { return m.rules[i] }
