package expr

import (
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/fault"
)

// functions is the catalog. A new function is one file or a value in the file of its family, a
// test, and one line here.
var functions = slices.Concat(
	comparisonFunctions,
	[]*Function{
		// Operators.
		addFunction, subtractFunction, multiplyFunction, divideFunction, remainderFunction, concatOperator,
		isNullFunction, isNotNullFunction, isTrueFunction, isFalseFunction, isNotTrueFunction, isNotFalseFunction,
		likeFunction, ilikeFunction,

		// Conditionals.
		coalesceFunction, nvlFunction, nullifFunction, ifFunction, greatestFunction, leastFunction,

		// Numbers.
		absFunction, floorFunction, ceilFunction, roundFunction, truncateFunction, modFunction, divFunction, safeDivideFunction,
		powerFunction, atan2Function, logFunction, signFunction, piFunction, parseLongFunction, randomFunction, sampleFunction, alphanumericFunction, versionFunction, chunkFunction, floatTextFunction, rowKeyFunction, numericOrderFunction, textDoubleFunction, textLongFunction, timeFormatInFunction,

		// Strings.
		concatFunction, concatWSFunction, textcatFunction, lengthFunction, lowerFunction, upperFunction, initcapFunction,
		leftFunction, rightFunction, substringFunction, btrimFunction, ltrimFunction, rtrimFunction, trimBothFunction,
		lpadFunction, rpadFunction, repeatFunction, reverseFunction, replaceFunction, strposFunction, positionFunction,
		containsFunction, icontainsFunction, splitPartFunction, asciiFunction, chrFunction, stringFormatFunction,
		regexpLikeFunction, regexpExtractFunction, regexpReplaceFunction, decodeBase64Function, decodeComplexFunction,
		lookupFunction,

		// Time.
		currentTimestampFunction, currentDateFunction, timeFloorFunction, timeCeilFunction, dateTruncFunction, timeShiftFunction,
		timestampAddFunction, timestampDiffFunction, timeExtractFunction, timeParseFunction, timeFormatFunction,
		timeInIntervalFunction, millisToTimestampFunction, timestampToMillisFunction, lastDayFunction,

		// Internet addresses.
		ipv4MatchFunction, ipv4ParseFunction, ipv4StringifyFunction, ipv6MatchFunction,
	},
	doubleFunctions, bitwiseFunctions, humanReadableFunctions, hashFunctions, extractFunctions,
	arrayFunctions, mvFunctions, jsonFunctions, spatialFunctions, sketchFunctions, nativeOnlyFunctions, []*Function{oneValueFunction},
)

// catalog is functions by name. An alias has its own entry, so that messages show the name that was
// written.
var catalog = sync.OnceValue(func() map[string]*Function {
	m := make(map[string]*Function, 2*len(functions))
	add := func(name string, f *Function) {
		if _, twice := m[name]; twice {
			panic("expr: function " + name + " is in the catalog twice")
		}
		m[name] = f
	}
	for _, f := range functions {
		add(f.Name, f)
		for _, name := range f.Aliases {
			alias := *f
			alias.Name, alias.Aliases, alias.canonical = name, nil, f
			add(name, &alias)
		}
	}
	return m
})

// Functions returns the catalog's documented functions and their aliases, by name. Operators are
// not among them.
func Functions() []*Function {
	var out []*Function
	for _, f := range catalog() {
		if f.Summary != "" {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Nearest returns the names of documented functions that a name which is not in the catalog may
// have meant, the likeliest first.
func Nearest(name string) []string {
	var names []string
	for _, f := range Functions() {
		names = append(names, f.Name)
	}
	if n := fault.Nearest(strings.ToUpper(name), names); n != "" {
		return []string{n}
	}
	return nil
}

func lower(s string) string { return strings.ToLower(s) }
