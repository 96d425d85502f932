// Package timefn implements the functions of timestamps and dates: rounding to periods, shifts,
// parts, patterns and intervals. Package chrono implements calendars and zones.
//
// Functions lists them; package catalog finds them by name. NewFloorTo and NewExtract bind the SQL
// forms with a unit, and TimeBucket returns the granularity to which an expression rounds, for the
// planner.
//
// Elsewhere on purpose: casts of times and sums with intervals (package expr).
package timefn
