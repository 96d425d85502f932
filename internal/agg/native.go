package agg

// NativeForm is the native aggregator that represents a function in EXPLAIN PLAN FOR and in task
// reports.
type NativeForm struct {
	Kind NativeKind
	// Name is a part of the aggregator's name or expression, for a Kind with several aggregators.
	Name string
}

// NativeKind is a kind of native aggregators.
type NativeKind uint8

// The values of NativeKind.
const (
	// NativeNamed is an aggregator with the name of the function in lower case, its column and its
	// constants.
	NativeNamed NativeKind = iota
	// NativeCount is count.
	NativeCount
	// NativeSum is one aggregator per type of the values: longSum, doubleSum.
	NativeSum
	// NativeMean is a sum and a count, divided by a post-aggregator.
	NativeMean
	// NativeTyped is one aggregator per type of the values, with Name after the type: longMin,
	// stringFirst.
	NativeTyped
	// NativeCardinality is cardinality, or hyperUnique for columns of such sketches.
	NativeCardinality
	// NativeBits is a fold of numbers with the native function Name.
	NativeBits
	// NativeArray, NativeArrays and NativeText are folds that collect values in an array: single
	// values, the elements of arrays, and strings that are joined at the end.
	NativeArray
	NativeArrays
	NativeText
	// NativeHLL is HLLSketchBuild, or HLLSketchMerge for columns of such sketches.
	NativeHLL
)

// MergesItself reports whether f merges its own results over parts of the rows. The result over one
// row is then the value of the row.
func (f *Function) MergesItself() bool { return f.MergedBy == f.Name }

// Adds reports whether f is a sum, or is computed from one.
func (f *Function) Adds() bool { return f.Native.Kind == NativeSum || f.Native.Kind == NativeMean }

// FollowsFromNothing reports whether the result over no rows is known without a State: NULL or 0.
func (f *Function) FollowsFromNothing() bool {
	return f.MergedBy != "" || f.CountsDifferent && !f.Sketch
}
