package segment

import (
	"encoding/json"
	"math"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/vector"
)

// TimeColumn is the column of a row's time, a Long of milliseconds since 1970 UTC.
const TimeColumn = "__time"

// Info is the metadata of a segment that is available without reading columns.
type Info struct {
	// Version is the format version of the file; 0 if the segment is not a file.
	Version int
	Rows    int
	// Size is the length of the file in bytes.
	Size int64
	// Fingerprint identifies the contents of the file (fingerprint.go); it is empty if the segment is
	// not a file.
	Fingerprint string
	// MinTime and MaxTime are the least and the greatest value of TimeColumn; valid if HasTimes.
	HasTimes         bool
	MinTime, MaxTime int64
	// SortOrder names the columns by which rows are sorted in ascending order: nulls first, strings by
	// bytes, NaN last. Empty: rows are not sorted.
	SortOrder []string
	// Rollup is true if rows with equal dimensions were combined.
	Rollup bool
	// QueryGranularity is the granularity to which times were truncated, in the notation of the writer
	// of the segment.
	QueryGranularity string
	// Metadata is additional data of the writer: one JSON value, or empty.
	Metadata json.RawMessage
	Columns  []ColumnInfo
}

// Column returns the column called name, or nil.
func (i *Info) Column(name string) *ColumnInfo {
	for c := range i.Columns {
		if i.Columns[c].Name == name {
			return &i.Columns[c]
		}
	}
	return nil
}

// Times is from the least time of the rows to behind the greatest; empty if that is not known.
func (i *Info) Times() chrono.Interval {
	if !i.HasTimes || i.MaxTime == math.MaxInt64 {
		return chrono.Interval{}
	}
	return chrono.Interval{Start: i.MinTime, End: i.MaxTime + 1}
}

// ColumnInfo is the metadata of a column that is available without reading it.
type ColumnInfo struct {
	Name string
	Type vector.Type
	// Multi is true if a list of strings is a multi-value string, and false if it is an array.
	Multi bool
	// Metric is the name of the aggregator whose states the column holds; empty for a dimension.
	Metric string
	Nulls  int
	// Distinct is the number of distinct non-null values; -1: not known. DistinctExact is false if it
	// is an estimate.
	Distinct      int
	DistinctExact bool
	// Min and Max are bounds of the non-null values: int64, float64 (also for Float) or string by the
	// column's type; nil: not known. They ignore NaN. MinExact and MaxExact are true if the bound is
	// itself a value; bounds of long strings are truncated.
	Min, Max           any
	MinExact, MaxExact bool
	// Indexed is true if the column has a bitmap index (Bitmap).
	Indexed bool
	// Path is set if the column contains the values at a path of the nested column Name (see
	// PathName); empty for other columns.
	Path string
	// Mixed is true for Doubles of a path if the JSON texts write some of them as integers: the column
	// has their values, but not their notation.
	Mixed bool
	// Size is the number of bytes of the column in the file, without its path columns.
	Size int64
}
