// Package jsonpath compiles the JSONPath expressions of flattenSpecs (Compile), and evaluates them
// on records. filter.go implements the conditions in [?()].
package jsonpath
