package segment

import (
	"encoding/json"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// ColumnSpec defines a column of a new segment.
type ColumnSpec struct {
	Name string
	Type vector.Type
	// Multi makes a list of strings a multi-value string. A multi-value column whose rows all have one
	// value, or are null, is stored as a plain string, as its Info shows; AsMulti converts the values
	// that are read back into lists.
	Multi bool
	// Metric is the name of the aggregator whose states the column stores; empty: the column is a
	// dimension.
	Metric string
	// NoIndex disables the bitmap index of a string column.
	NoIndex bool
}

// Fold combines the values of one metric of rolled-up rows: values starts[g] to starts[g+1]
// (exclusive) become value g of the result, which has the type of values and len(starts)-1 rows. It
// must be associative: for a large group it is called with pieces and then with their results.
// Values are only valid during the call; the caller owns the result.
type Fold func(values *vector.Vector, starts []uint32) (*vector.Vector, error)

// Budget reserves memory before it is used; budget.Budget implements it. Reserve fails if the
// memory is not available. With Threads, several goroutines use it.
type Budget interface {
	Reserve(bytes int64) error
	Release(bytes int64)
}

// Options control the writing of a new segment. Except for Columns, the zero value of each field is
// valid.
type Options struct {
	// Columns are the columns of the segment, and of every batch of a Writer, in order.
	Columns []ColumnSpec
	// SortOrder names the columns that rows are sorted by, ascending. Empty: rows keep the order of
	// their arrival.
	SortOrder []string
	// Rollup combines rows whose dimensions (all columns without Metric) are equal. Dimensions that
	// are missing from SortOrder are appended to it. Fold returns the function that combines each
	// metric; with Threads, several goroutines call it.
	Rollup bool
	Fold   func(ColumnSpec) (Fold, error)
	// RolledUp marks rows that the caller has already combined: the segment is marked as rolled up,
	// but the writer does not combine rows.
	RolledUp bool
	// QueryGranularity and Metadata (a Kept) are stored in the file for its readers.
	QueryGranularity string
	Metadata         json.RawMessage
	// BitmapValues is the maximum number of distinct values of an indexed string column; 0: 5,000,
	// negative: no column is indexed.
	BitmapValues int
	// IndexRows is the minimum number of rows of a segment whose string columns are indexed; 0: any
	// number.
	IndexRows int
	// Threads is the number of goroutines that process columns; 0 or 1: only the goroutine of the
	// caller. The file does not depend on it.
	Threads int
	// TempDir is the directory of spilled runs; empty: the system's directory for temporary files.
	TempDir string
	// Rows is the approximate number of rows, for which a Writer preallocates memory; 0: not known.
	Rows int
	// BufferBytes is the maximum memory of rows before they are spilled; 0: 256 MiB.
	BufferBytes int64
	// Budget accounts for the memory of rows and merges; nil: it is not accounted for.
	Budget Budget

	run bool // the file is a run that a Writer merges: nobody asks it for paths
}

func (o Options) withDefaults() Options {
	switch {
	case o.BitmapValues == 0:
		o.BitmapValues = defaultBitmapValues
	case o.BitmapValues < 0:
		o.BitmapValues = 0
	}
	if o.BufferBytes <= 0 {
		o.BufferBytes = defaultBufferBytes
	}
	o.BufferBytes = min(o.BufferBytes, maxBufferBytes)
	if o.Rollup {
		sorted := map[string]bool{}
		order := append([]string(nil), o.SortOrder...)
		for _, s := range order {
			sorted[s] = true
		}
		for _, c := range o.Columns {
			if c.Metric == "" && !sorted[c.Name] {
				order = append(order, c.Name)
			}
		}
		o.SortOrder = order
	}
	return o
}

// Validate returns an error for the first invalid option of o.
func (o *Options) Validate() error {
	specs := map[string]ColumnSpec{}
	for _, c := range o.Columns {
		if _, twice := specs[c.Name]; twice {
			return fault.InvalidInput("Segment has two columns called [%s]", c.Name)
		}
		specs[c.Name] = c
		if err := validType(c.Name, c.Type); err != nil {
			return err
		}
		if c.Multi && c.Type != vector.ListOf(vector.String) {
			return fault.InvalidInput("Column [%s] of type [%s] can't be multi-valued; only ARRAY<STRING> can", c.Name, c.Type)
		}
		if o.Rollup && c.Metric != "" && leafType(c.Type).Kind == vector.KindString {
			return fault.InvalidInput("Metric [%s] of type [%s] can't be rolled up; its states must be numbers or of a complex type", c.Name, c.Type)
		}
		if o.Rollup && c.Metric != "" && o.Fold == nil {
			return fault.Defensive("Rollup of metric [%s] has no way to combine its values", c.Name)
		}
	}
	if o.Rollup && len(o.withDefaults().SortOrder) == 0 {
		return fault.InvalidInput("Segment with rollup needs at least one dimension")
	}
	sorted := map[string]bool{}
	for _, s := range o.SortOrder {
		spec, ok := specs[s]
		if !ok {
			return fault.InvalidInput("Segment can't be sorted by column [%s], which it does not have", s)
		}
		if sorted[s] {
			return fault.InvalidInput("Segment can't be sorted by column [%s] twice", s)
		}
		if o.Rollup && spec.Metric != "" {
			return fault.InvalidInput("Segment with rollup can't be sorted by its metric [%s]", s)
		}
		sorted[s] = true
	}
	if len(o.Metadata) > 0 && !json.Valid(o.Metadata) {
		return fault.Defensive("Segment metadata is not JSON")
	}
	return nil
}

func validType(name string, t vector.Type) error {
	for depth := 0; t.Kind == vector.KindList; t = t.Elem() {
		if depth++; depth >= maxColumnDepth {
			return fault.InvalidInput("Column [%s] nests lists more than [%d] deep", name, maxColumnDepth-1)
		}
	}
	if t.Kind == vector.KindInvalid {
		return fault.Defensive("Column [%s] has no type", name)
	}
	return nil
}

// account is what one writer or merge has reserved.
type account struct {
	budget Budget
	held   int64
}

// set reserves or releases until n bytes are held.
func (a *account) set(n int64) error {
	if a.budget == nil {
		return nil
	}
	switch {
	case n > a.held:
		if err := a.budget.Reserve(n - a.held); err != nil {
			return err
		}
	case n < a.held:
		a.budget.Release(a.held - n)
	}
	a.held = n
	return nil
}

func (a *account) add(n int64) error { return a.set(a.held + n) }

// AsMulti returns a string vector as a list of one value per row; null rows are null lists.
func AsMulti(v *vector.Vector) *vector.Vector {
	if v.Type.Kind == vector.KindList {
		return v
	}
	flat := v
	if v.Const {
		flat = v.Flat()
	}
	out := &vector.Vector{Type: vector.ListOf(vector.String), Len: v.Len, Valid: flat.Valid, Child: flat, Offsets: make([]uint32, v.Len+1)}
	if flat.Valid == nil {
		for i := range out.Offsets {
			out.Offsets[i] = uint32(i)
		}
		return out
	}
	rows := make([]uint32, 0, v.Len)
	for i := range v.Len {
		if flat.Valid.Get(i) {
			rows = append(rows, uint32(i))
		}
		out.Offsets[i+1] = uint32(len(rows))
	}
	out.Child = flat.Gather(rows)
	return out
}
