package chrono

import (
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Granularity divides time into buckets: one for all of time, one per millisecond, periods of a
// calendar, or equal durations.
//
// It is an immutable value; compare with Equal. The zero value is NONE. Floor and its kin never
// fail: buckets at the ends of an int64 are cut off there. Buckets are contiguous and do not
// overlap, so a day starts at the first instant of its date, also where clocks are set back over
// midnight.
type Granularity struct {
	kind      granularityKind
	period    Period
	zone      *Zone
	hasOrigin bool
	origin    int64 // instant; without hasOrigin that of 1970-01-01T00:00 local
	millis    int64 // length of a bucket of kindMillis, or the unit of kindClock
	unit      calendarUnit
	units     int64 // per bucket of kindCalendar
	durations bool  // was made as a duration granularity
	// chunks are the buckets of kindChunks, in order. What is between two of them is one, too.
	chunks []Interval
}

type granularityKind uint8

const (
	kindNone     granularityKind = iota
	kindAll                      // one bucket
	kindMillis                   // origin + k*millis
	kindClock                    // units of an hour or less, aligned to the local clock
	kindCalendar                 // days or months, counted in local time
	kindSteps                    // several fields: repeated addition from the origin
	kindChunks                   // intervals that are listed
)

type calendarUnit uint8

const (
	unitDay calendarUnit = iota
	unitMonth
)

// None has a bucket per millisecond.
var None = Granularity{kind: kindNone}

// All has one bucket, Eternity.
var All = Granularity{kind: kindAll}

// PeriodGranularity returns the buckets of a period in a zone (nil is UTC). Without an origin, one
// unit of the calendar starts where the calendar says, weeks on Monday, and several units count
// from 1970-01-01T00:00 local. The error is an InvalidInput fault.
func PeriodGranularity(p Period, zone *Zone, origin *int64) (Granularity, error) {
	if zone == nil {
		zone = UTC
	}
	g := Granularity{period: p, zone: zone, hasOrigin: origin != nil}
	if origin != nil {
		g.origin = *origin
	} else {
		g.origin, _ = zone.ToUTC(0)
	}
	fields := 0
	for i := range 8 {
		switch v := *p.field(i); {
		case v < 0:
			return Granularity{}, fault.InvalidInput("Invalid period [%s]: a granularity can't have negative fields", p)
		case v > 0:
			fields++
		}
	}
	_, fixed := zone.Fixed()
	standard, hasLength := p.StandardMillis()
	switch {
	case fields == 0:
		return Granularity{}, fault.InvalidInput("Invalid period [%s]: zero period is not acceptable as a granularity", p)
	case fields > 1 && (hasLength && fixed || !p.hasDate()):
		g.kind, g.millis = kindMillis, standard
	case fields > 1:
		g.kind = kindSteps
	case p.Years > 0:
		g.kind, g.unit, g.units = kindCalendar, unitMonth, 12*int64(p.Years)
	case p.Months > 0:
		g.kind, g.unit, g.units = kindCalendar, unitMonth, int64(p.Months)
	case p.Weeks > 0:
		g.kind, g.unit, g.units = kindCalendar, unitDay, 7*int64(p.Weeks)
	case p.Days > 0:
		g.kind, g.unit, g.units = kindCalendar, unitDay, int64(p.Days)
	case p.Millis == 1 && origin == nil:
		g.kind, g.millis = kindMillis, 1
	case origin == nil && (standard == Second && p.Seconds == 1 || p.Minutes == 1 || p.Hours == 1):
		g.kind, g.millis = kindClock, standard
		if fixed {
			g.kind = kindMillis
		}
	default:
		g.kind, g.millis = kindMillis, standard
	}
	return g, nil
}

// DurationGranularity returns buckets of millis > 0 milliseconds from an origin.
func DurationGranularity(millis, origin int64) (Granularity, error) {
	if millis <= 0 {
		return Granularity{}, fault.InvalidInput("Invalid duration [%d]: a granularity needs a positive number of milliseconds", millis)
	}
	return Granularity{kind: kindMillis, zone: UTC, hasOrigin: true, origin: origin, millis: millis, durations: true}, nil
}

// ChunkGranularity returns buckets that are listed. Instants between them are in a bucket that
// fills the gap.
func ChunkGranularity(chunks []Interval) (Granularity, error) {
	sorted := slices.SortedFunc(slices.Values(chunks), Interval.Compare)
	for i, iv := range sorted {
		switch {
		case iv.IsEmpty():
			return Granularity{}, fault.InvalidInput("Interval [%s] of a granularity is empty", iv)
		case i > 0 && iv.Start < sorted[i-1].End:
			return Granularity{}, fault.InvalidInput("Overlapping intervals: [%s] and [%s] of a granularity have instants in common", sorted[i-1], iv)
		}
	}
	if len(sorted) == 0 {
		return All, nil
	}
	return Granularity{kind: kindChunks, zone: UTC, chunks: sorted}, nil
}

// standardGranularity is a granularity that has a name, in upper case as segments and specs have
// it.
type standardGranularity struct {
	name   string
	period Period
}

// standardGranularities are all that segments may have beside ALL, from fine to coarse.
var standardGranularities = []standardGranularity{
	{"SECOND", Period{Seconds: 1}},
	{"MINUTE", Period{Minutes: 1}},
	{"FIVE_MINUTE", Period{Minutes: 5}},
	{"TEN_MINUTE", Period{Minutes: 10}},
	{"FIFTEEN_MINUTE", Period{Minutes: 15}},
	{"THIRTY_MINUTE", Period{Minutes: 30}},
	{"HOUR", Period{Hours: 1}},
	{"SIX_HOUR", Period{Hours: 6}},
	{"EIGHT_HOUR", Period{Hours: 8}},
	{"DAY", Period{Days: 1}},
	{"WEEK", Period{Weeks: 1}},
	{"MONTH", Period{Months: 1}},
	{"QUARTER", Period{Months: 3}},
	{"YEAR", Period{Years: 1}},
}

// SegmentGranularities returns those that segments may have beside ALL, in UTC, from fine to
// coarse.
func SegmentGranularities() []Granularity {
	out := make([]Granularity, len(standardGranularities))
	for i, s := range standardGranularities {
		out[i] = standard(s.period)
	}
	return out
}

// standard makes the UTC granularity of a period that is known to be valid.
func standard(p Period) Granularity {
	g, err := PeriodGranularity(p, UTC, nil)
	if err != nil {
		panic(err) // only called with constants of this package
	}
	return g
}

// The granularities with names, in UTC.
var (
	BySecond  = standard(Period{Seconds: 1})
	ByMinute  = standard(Period{Minutes: 1})
	ByHour    = standard(Period{Hours: 1})
	ByDay     = standard(Period{Days: 1})
	ByWeek    = standard(Period{Weeks: 1})
	ByMonth   = standard(Period{Months: 1})
	ByQuarter = standard(Period{Months: 3})
	ByYear    = standard(Period{Years: 1})
)

// ParseGranularity reads the name of a granularity in any case: second, minute, five_minute,
// ten_minute, fifteen_minute, thirty_minute, hour, six_hour, eight_hour, day, week, month, quarter,
// year, all, none. The error is an InvalidInput fault that lists them.
func ParseGranularity(name string) (Granularity, error) {
	switch {
	case strings.EqualFold(name, "all"):
		return All, nil
	case strings.EqualFold(name, "none"):
		return None, nil
	}
	for _, s := range standardGranularities {
		if strings.EqualFold(name, s.name) {
			return standard(s.period), nil
		}
	}
	return Granularity{}, fault.InvalidInput("Unknown granularity [%s]: expected one of [%s] or an object with a type",
		shorten(name), granularityNames())
}

func granularityNames() string {
	names := make([]string, 0, len(standardGranularities)+2)
	for _, s := range standardGranularities {
		names = append(names, s.name)
	}
	return strings.Join(append(names, "ALL", "NONE"), ", ")
}

// Name returns the upper-case name of ALL, NONE, and the standard periods in UTC without origin;
// false for the others.
func (g Granularity) Name() (string, bool) {
	switch {
	case g.kind == kindAll:
		return "ALL", true
	case g.kind == kindNone:
		return "NONE", true
	case g.kind == kindChunks || g.durations || g.hasOrigin || !g.zone.IsUTC():
		return "", false
	}
	for _, s := range standardGranularities {
		if s.period == g.period {
			return s.name, true
		}
	}
	return "", false
}

// SegmentName is Name for those that segments may have: all but NONE.
func (g Granularity) SegmentName() (string, bool) {
	name, ok := g.Name()
	return name, ok && g.kind != kindNone
}

// String returns Name, or a description with period, zone and origin.
func (g Granularity) String() string {
	if name, ok := g.Name(); ok {
		return name
	}
	text, _ := g.MarshalJSON()
	return string(text)
}

// Equal reports whether both divide time in the same way under the same description.
func (g Granularity) Equal(o Granularity) bool {
	return g.kind == o.kind && g.period == o.period && g.zone.Equal(o.zone) && g.hasOrigin == o.hasOrigin && g.origin == o.origin &&
		g.millis == o.millis && g.durations == o.durations && slices.Equal(g.chunks, o.chunks)
}

// IsAll reports whether it has one bucket only.
func (g Granularity) IsAll() bool { return g.kind == kindAll }

// IsNone reports whether it has a bucket per millisecond.
func (g Granularity) IsNone() bool { return g.kind == kindNone }

// Period returns the period, and false for ALL, NONE and durations.
func (g Granularity) Period() (Period, bool) { return g.period, g.period != Period{} }

// Zone returns the zone of a period granularity, else UTC.
func (g Granularity) Zone() *Zone {
	if g.zone == nil {
		return UTC
	}
	return g.zone
}

// Origin returns the origin if one was given.
func (g Granularity) Origin() (int64, bool) { return g.origin, g.hasOrigin }

// Finer returns the standard granularities whose buckets are no longer than those of g, the
// coarsest first, with the zone and origin of g: what an append may fall back to where its own
// granularity is taken. Weeks are among them only if g is weeks, for they fit into neither months
// nor years. Of buckets that are listed there is none.
func (g Granularity) Finer() []Granularity {
	if g.kind == kindChunks {
		return nil
	}
	var origin *int64
	if g.hasOrigin && !g.durations {
		origin = &g.origin
	}
	longest := g.Bucket(0).Millis()
	var out []Granularity
	for _, standard := range slices.Backward(standardGranularities) {
		p := standard.period
		if p.Weeks > 0 && g.period != p {
			continue
		}
		finer, err := PeriodGranularity(p, g.Zone(), origin)
		if err == nil && finer.Bucket(0).Millis() <= longest {
			out = append(out, finer)
		}
	}
	return out
}

// AndFiner returns g and the standard granularities that are finer, the coarsest first.
func (g Granularity) AndFiner() []Granularity {
	out := []Granularity{g}
	for _, finer := range g.Finer() {
		if !finer.Equal(g) {
			out = append(out, finer)
		}
	}
	return out
}

// BucketsIn returns how many buckets overlap an interval, counting no further than limit.
func (g Granularity) BucketsIn(iv Interval, limit int) int {
	switch {
	case iv.IsEmpty():
		return 0
	case g.kind == kindAll:
		return 1
	case g.kind == kindNone || g.kind == kindMillis:
		length := max(g.millis, 1)
		first := floorDiv(satSub(iv.Start, g.origin), length)
		last := floorDiv(satSub(iv.End-1, g.origin), length)
		if n := satSub(last, first); n < int64(limit) {
			return int(n) + 1
		}
		return limit
	}
	n := 0
	for range g.Iterate(iv) {
		if n++; n >= limit {
			break
		}
	}
	return n
}

// endOfTime is where the last bucket of any granularity ends.
const endOfTime int64 = math.MaxInt64
