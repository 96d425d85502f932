package expr

import "slices"

// Core contains the operators and the families of functions that binding and evaluation depend on:
// conditionals, numbers, arrays, multi-value strings and JSON, and functions that only the native
// language has. Package catalog contains all functions.
var Core = slices.Concat(
	comparisonFunctions,
	[]*Function{
		// Operators.
		addFunction, subtractFunction, multiplyFunction, divideFunction, remainderFunction,
		isNullFunction, isNotNullFunction, isTrueFunction, isFalseFunction, isNotTrueFunction, isNotFalseFunction,

		// Conditionals.
		CoalesceFunction, nvlFunction, nullifFunction, ifFunction, greatestFunction, leastFunction,

		// Numbers.
		absFunction, floorFunction, ceilFunction, roundFunction, truncateFunction, modFunction, divFunction, safeDivideFunction,
		powerFunction, atan2Function, logFunction, signFunction, piFunction, parseLongFunction, randomFunction, sampleFunction,

		// Rows and lookups.
		rowKeyFunction, lookupFunction,
	},
	doubleFunctions, bitwiseFunctions, arrayFunctions, mvFunctions, jsonFunctions, spatialFunctions, nativeOnlyFunctions,
	[]*Function{oneValueFunction},
)
