// Package chrono is Henge's arithmetic of time: instants, intervals, zones, periods, granularities
// and their texts.
//
// An instant is an int64 of milliseconds since 1970-01-01T00:00:00Z, everywhere in Henge. The
// calendar is the proleptic Gregorian one without leap seconds, valid for the whole range of an
// int64, which time.Time's formatting and time.Duration can't cover; only the rules of time zones
// come from package time (and its embedded tzdata).
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
// Semantics follow Joda-Time's ISO chronology, because recorded answers do: months end early rather
// than overflow (January 31 plus P1M is the last of February), a local time that occurs twice is
// the earlier instant, one that a zone skips moves forward by the length of the gap. Results that
// do not fit an int64 saturate.
//
// The package never asks what time it is (package clock) and knows nothing of SQL types or vectors.
package chrono
