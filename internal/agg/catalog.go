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
	// Doc says in a sentence what it computes; Signature is the form that INFORMATION_SCHEMA.ROUTINES
	// shows.
	Doc, Signature string
	// MinArgs and MaxArgs count the arguments that are columns, MaxParams the constants after them.
	MinArgs, MaxArgs, MaxParams int
	// MinParams counts the constants that must be given.
	MinParams int
	// EmptyIsZero says that the result of no rows is 0 and not NULL, so that the SQL type is NOT NULL.
	EmptyIsZero bool
	// TakesNulls says that rows whose first argument is null count.
	TakesNulls bool
	// ByTime says that the last argument is the time that decides, which EARLIEST(x) leaves to be
	// understood: __time.
	ByTime bool
	// Duplicates says that DISTINCT changes nothing (MIN, MAX, BIT_AND, ...).
	Duplicates bool
	// DistinctForm names the function that runs in place of this one when the call says DISTINCT and
	// that means more than leaving out rows that are equal; empty: rows are left out.
	DistinctForm string
	// SortedForm names the function that gives the values in order whatever order they come in: that
	// of an InOrder function for DISTINCT rows which can't be sorted, those of a window.
	SortedForm string
	// Internal functions are not for users.
	Internal bool
	// Sketch says that it keeps a sketch: its constants are literals, DISTINCT is refused, and what is
	// no value to it is left out.
	Sketch bool
	// TakesNumbers says that the sketch is of numbers, TakesTexts that it is of texts.
	TakesNumbers, TakesTexts bool
	// SketchName names the function that gives the sketch by which this one counts; empty: there is
	// none.
	SketchName string
	// InOrder says that the order of the rows shows in the result; over DISTINCT rows that is the
	// order of the values.
	InOrder bool

	// Casts says what the arguments are made of before the function sees them.
	Casts Casts
	// WithinGroup says that the argument may come as WITHIN GROUP (ORDER BY x), with the constants in
	// the parentheses.
	WithinGroup bool

	check   func(Spec) error
	result  func(Spec) vector.Type
	partial func(Spec) []vector.Type
	create  func(Spec) State
	packing *packing // nil: intermediate values are not packed
}

// Casts is what the arguments of a function are cast to.
type Casts uint8

// The values of Casts.
const (
	// AsIs leaves arguments as they are.
	AsIs Casts = iota
	// ToNumber leaves numbers as they are; text becomes DOUBLE.
	ToNumber
	// ToDouble makes every argument a DOUBLE.
	ToDouble
	// ToLong makes a BIGINT of whole numbers and text.
	ToLong
	// ToBoolean takes conditions.
	ToBoolean
)

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

// Lookup returns the function called name, in any case, or nil.
func Lookup(name string) *Function {
	if f := byName[name]; f != nil {
		return f
	}
	return byName[strings.ToUpper(name)]
}

// Functions returns the catalog, by name, without internal functions.
func Functions() []*Function {
	out := slices.DeleteFunc(slices.Clone(catalog), func(f *Function) bool { return f.Internal })
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Names returns all names, aliases too, for messages about unknown ones.
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
