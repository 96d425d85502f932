// Package querycontext reads the parameters of a query's context: the JSON object beside a query that
// says how it is to be run. Each reader says how a value of the wrong type is refused.
package querycontext
