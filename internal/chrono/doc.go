// Package chrono implements time arithmetic: instants, intervals, zones, periods, granularities and
// their texts.
//
// An instant is an int64 of milliseconds since 1970-01-01T00:00:00Z, everywhere in Henge. The
// calendar is the proleptic Gregorian calendar without leap seconds. It covers the whole range of
// an int64, which the formatting of time.Time and time.Duration do not. Only the rules of time
// zones come from package time and its embedded tzdata.
//
//	instant.go    ISO 8601 text of instants, printing and strict and lenient reading
//	interval.go   half-open intervals; intervals.go: sets of them
//	zone.go       Zone: offsets, local time to instants
//	period.go     Period: P1Y2M.. and calendar addition
//	granularity.go, floor.go   Granularity: buckets of time, FloorAll for vectors
//	pattern.go    Pattern: formats such as yyyy-MM-dd'T'HH:mm; locale.go: names in other languages
//	extract.go    EXTRACT; shift.go: TIMESTAMPADD and TIMESTAMPDIFF
//	timestampspec.go   the formats of a timestampSpec: iso, posix, auto, ..
//
// Semantics follow the ISO chronology of Joda-Time, as the recorded answers do. Months are clamped
// instead of overflowing (January 31 plus P1M is the last day of February). An ambiguous local time
// is the earlier instant, and a local time in a gap is moved forward by the length of the gap.
// Results that exceed an int64 saturate.
//
// The package never reads the current time (package clock), and does not know SQL types or vectors.
package chrono
