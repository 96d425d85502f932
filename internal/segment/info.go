package segment

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/vector"
)

// TimeColumn is the column of a row's time, a Long of milliseconds since 1970 UTC.
const TimeColumn = "__time"

// Info is what is known of a segment without reading its columns.
type Info struct {
	// Version is the format version of the file; 0 for a segment that is no file.
	Version int
	Rows    int
	// Size is the length of the file in bytes.
	Size int64
	// Fingerprint tells the file from others (fingerprint.go); empty for a segment that is no file.
	Fingerprint string
	// MinTime and MaxTime are the least and the greatest value of TimeColumn; valid if HasTimes.
	HasTimes         bool
	MinTime, MaxTime int64
	// SortOrder names the columns that rows ascend by, nulls first, strings by bytes, NaN last. Empty:
	// no order.
	SortOrder []string
	// Rollup says that rows with equal dimensions were combined.
	Rollup bool
	// QueryGranularity is the granularity that times were truncated to, in the words of whoever wrote
	// the segment.
	QueryGranularity string
	// Metadata is what the writer wanted to keep beside the rows: one JSON value, or nothing.
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

// ColumnInfo is what is known of a column without reading it.
type ColumnInfo struct {
	Name string
	Type vector.Type
	// Multi says that a list of strings is a multi-value string, and not an array.
	Multi bool
	// Metric is the name of the aggregator whose states the column holds; empty for a dimension.
	Metric string
	Nulls  int
	// Distinct counts the different values that are not null; -1: not known. DistinctExact tells a
	// count from an estimate.
	Distinct      int
	DistinctExact bool
	// Min and Max bound the values that are not null: int64, float64 (also for Float) or string by the
	// column's type; nil: not known. NaN is not bounded. MinExact and MaxExact say that the bound is
	// itself a value; long strings are cut.
	Min, Max           any
	MinExact, MaxExact bool
	// Indexed says that Bitmap answers.
	Indexed bool
	// Path says that the column holds what stands at a path of the nested column called Name (see
	// PathName); empty for other columns.
	Path string
	// Mixed says of a path's Doubles that some stand as whole numbers in the texts: their values are
	// known, how they are written is not.
	Mixed bool
	// Size is the bytes that the column takes in the file; those of its paths are not among them.
	Size int64
}
