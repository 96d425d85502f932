package agg

import (
	"slices"
	"sort"
	"strings"

	"github.com/hengedb/henge/internal/vector"
)

// Function is an entry of the catalog.
type Function struct {
	// Name is the SQL name, upper case. Aliases are further names of the same function.
	Name    string
	Aliases []string
	// Doc describes the result in one sentence; Signature is the form in INFORMATION_SCHEMA.ROUTINES.
	Doc, Signature string
	// MinArgs and MaxArgs limit the number of column arguments, MaxParams the number of constants
	// after them.
	MinArgs, MaxArgs, MaxParams int
	// MinParams is the number of required constants.
	MinParams int
	// EmptyIsZero: the result over no rows is 0 and not NULL, so the SQL type is NOT NULL.
	EmptyIsZero bool
	// TakesNulls: rows whose first argument is null count.
	TakesNulls bool
	// ByTime: the last argument is the time by which a value is chosen; if omitted, as in EARLIEST(x),
	// it is __time.
	ByTime bool
	// Duplicates: DISTINCT has no effect (MIN, MAX, BIT_AND, ...).
	Duplicates bool
	// DistinctForm is the name of the function that replaces this one in a call with DISTINCT, if
	// DISTINCT does more than drop equal rows; empty: equal rows are dropped.
	DistinctForm string
	// SortedForm is the name of the function that returns the values in order for input in any order:
	// the replacement of an InOrder function for DISTINCT rows that cannot be sorted, such as the rows
	// of a window.
	SortedForm string
	// Internal functions are not available to users.
	Internal bool
	// Sketch: the state is a sketch. Its constants must be literals, DISTINCT is rejected, and values
	// that are not valid for the sketch are skipped.
	Sketch bool
	// TakesNumbers: the sketch is built from numbers; TakesTexts: it is built from strings.
	TakesNumbers, TakesTexts bool
	// SketchName is the name of the function that returns the sketch of this estimate; empty if it
	// does not exist.
	SketchName string
	// Keyed: the sketch holds keys, the first argument, with sums of numbers, the other arguments.
	Keyed bool
	// SeesCasts: a cast changes which value is added to the sketch.
	SeesCasts bool
	// Finishes determines when a sketch in the output is replaced by the number it estimates. ReadBy
	// is the name of the scalar function that converts an output sketch to the form that the results
	// of data servers have; empty if the forms are equal.
	Finishes Finishes
	ReadBy   string
	// InOrder: the result depends on the order of the rows; for DISTINCT rows, this is the order of
	// the values.
	InOrder bool

	// Counts: the function counts rows. It has any number of arguments, and uses only whether they are
	// null.
	Counts bool
	// CountsDifferent: the function estimates the number of distinct values, or returns the sketch for
	// the estimate.
	CountsDifferent bool
	// Linear: adding a constant to each value adds the constant to the result once per value.
	Linear bool
	// MergedBy is the name of the function that computes the result over all rows from the results
	// over parts of them; empty if it does not exist.
	MergedBy string
	// MergesKept: if MergedBy is empty, the function itself merges intermediate values (Spec.Keep).
	MergesKept bool
	// TimeImplied: the time of a ByTime function is __time and not an argument.
	TimeImplied bool
	// WholeTexts are the default constants for multi-value rows; each row is then one string.
	WholeTexts []any
	// OfValues is the name of the scalar function that reduces the values of a multi-value row to the
	// one value that the aggregate needs; empty if it does not exist.
	OfValues string
	// TakesSeveral: the function reads the values of multi-value rows itself. OfLists is the name of
	// the function that replaces this one for multi-value rows, and takes their values as arrays;
	// empty if it does not exist.
	TakesSeveral bool
	OfLists      string
	// Compares: the function compares values with each other, so arrays and sketches are rejected.
	Compares bool

	// Extreme is -1 if the result is the least of the values, 1 if it is the greatest, otherwise 0.
	Extreme int
	// PicksRow: the result is the value of one row, chosen without comparing values; Last: a ByTime
	// function chooses the row with the latest time, not the earliest.
	PicksRow, Last bool
	// OfBlock is the statistic of a block of rows that gives the intermediate values over its rows.
	OfBlock Statistic
	// Native is the native aggregator that represents the function in EXPLAIN PLAN FOR.
	Native NativeForm

	// Casts is the type to which arguments are cast before the function sees them. TakesFractions:
	// ToLong accepts all numbers, not only integers.
	Casts          Casts
	TakesFractions bool
	// Gives determines the SQL type of the result.
	Gives Gives
	// ParamKinds are the required kinds of the constants; constants without an entry can be anything.
	ParamKinds []ParamKind
	// WithinGroup: the argument may be written as WITHIN GROUP (ORDER BY x), with the constants in the
	// parentheses.
	WithinGroup bool

	check   func(Spec) error
	result  func(Spec) vector.Type
	partial func(Spec) []vector.Type
	create  func(Spec) State
	packing *packing // nil: intermediate values are not packed
}

// Statistic is what a segment knows about the rows of a block, or of itself, without reading them.
type Statistic uint8

// The values of Statistic.
const (
	// NoStatistic: the rows must be read.
	NoStatistic Statistic = iota
	// ValueCount is the number of values that are not null, or of rows.
	ValueCount
	// Sum is the sum of the values, Mean the sum and the number of values.
	Sum
	Mean
	// Least and Greatest are the bounds of the values.
	Least
	Greatest
)

// Casts is the type to which the arguments of a function are cast.
type Casts uint8

// The values of Casts.
const (
	// AsIs does not cast arguments.
	AsIs Casts = iota
	// ToNumber casts strings to DOUBLE and keeps numbers unchanged.
	ToNumber
	// ToDouble casts every argument to DOUBLE.
	ToDouble
	// ToLong casts integers and strings to BIGINT.
	ToLong
	// ToBoolean accepts conditions.
	ToBoolean
	// ToText casts values, and the elements of arrays, to strings.
	ToText
)

// Finishes determines when a sketch in the output is replaced by the number it estimates.
type Finishes uint8

// The values of Finishes.
const (
	// NeverFinishes returns the sketch.
	NeverFinishes Finishes = iota
	// FinishesIfAsked returns the number if the query context requests it.
	FinishesIfAsked
	// FinishesUnlessAsked returns the sketch if the query context requests it.
	FinishesUnlessAsked
)

// Gives derives the SQL type of a result from that of the first argument.
type Gives uint8

// The values of Gives.
const (
	// GivesValues: the result is one of the values. It has the type of the argument if the physical
	// types are equal, else the SQL type of its physical type.
	GivesValues Gives = iota
	// GivesOwn: the result has the SQL type of its physical type.
	GivesOwn
	// GivesIntegers: an integer argument determines the type.
	GivesIntegers
	// GivesArrays: the result is an array of the argument type.
	GivesArrays
)

// ParamKind is the required kind of a constant of a function.
type ParamKind uint8

// The values of ParamKind.
const (
	AnyParam ParamKind = iota
	TextParam
	LongParam
	BooleanParam
)

// ParamKind returns the required kind of constant i.
func (f *Function) ParamKind(i int) ParamKind {
	if i < len(f.ParamKinds) {
		return f.ParamKinds[i]
	}
	return AnyParam
}

// catalog is the one table of aggregates; each entry is defined in the file of its function.
var catalog = []*Function{
	count, sum, minimum, maximum, avg, anyValue,
	earliest, earliestBy, latest, latestBy,
	approxCountDistinct, hyperUnique,
	arrayAgg, arrayAggSorted, arrayConcatAgg, arrayConcatDistinct, stringAgg, stringAggDistinct,
	bitAnd, bitOr, bitXor,
	varPop, varSamp, stddevPop, stddevSamp,
	corr, covarPop, covarSamp, regrAvgX, regrAvgY, regrCount, regrIntercept, regrR2, regrSlope, regrSXX, regrSXY, regrSYY,
	median, percentileCont, percentileDisc, mode, approxTopK, maxBy, minBy, countIf, every, some,
	dsHLL, dsHLLUTF8, approxCountDistinctHLL, approxCountDistinctHLLUTF8, dsTheta, approxCountDistinctTheta,
	dsQuantiles, approxQuantileDS, kllDoubles, kllFloats, dsTuple,
	tdigestSketch, tdigestQuantile, bloomFilter, approxHistogram, approxQuantile, fixedBuckets, approxQuantileFixedBuckets,
}

var byName = func() map[string]*Function {
	m := map[string]*Function{}
	for _, f := range catalog {
		m[f.Name] = f
		for _, a := range f.Aliases {
			m[a] = f
		}
	}
	return m
}()

// Lookup returns the function called name, ignoring case, or nil.
func Lookup(name string) *Function {
	if f := byName[name]; f != nil {
		return f
	}
	return byName[strings.ToUpper(name)]
}

// Functions returns the catalog in the order of names, without internal functions.
func Functions() []*Function {
	out := slices.DeleteFunc(slices.Clone(catalog), func(f *Function) bool { return f.Internal })
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Names returns all names including aliases, for messages about unknown functions.
func Names() []string {
	out := make([]string, 0, len(byName))
	for n, f := range byName {
		if !f.Internal {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

// signature writes name in the forms that functions share.
func signature(forms, name string) string { return strings.ReplaceAll(forms, "$F", name) }

// Shapes of types that several functions share.

func always(t vector.Type) func(Spec) vector.Type { return func(Spec) vector.Type { return t } }
func argType(s Spec) vector.Type                  { return s.Args[0] }
func one(t vector.Type) func(Spec) []vector.Type {
	return func(Spec) []vector.Type { return []vector.Type{t} }
}
func argTypes(s Spec) []vector.Type { return s.Args[:1] }

func numeric(s Spec) error {
	if !s.Args[0].IsNumeric() {
		return badType(s, 0)
	}
	return nil
}

func ordered(s Spec) error {
	if s.Args[0].Kind == vector.KindComplex {
		return badType(s, 0)
	}
	return nil
}
