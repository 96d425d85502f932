// Package querycontext defines the parameters of the query context: the JSON object of a query or a
// task that controls its execution. Every parameter is one entry of the list in params.go and
// noeffect.go, with its key, kind, default, meaning and readers. Only this package creates a Param,
// so code cannot read a parameter that is not in the list. docs/context.md is generated from the
// list.
//
//	param.go     the definition of a parameter, and reading it from a context
//	kinds.go     the kinds of values; each has one rule for accepted and rejected values
//	params.go    parameters that have an effect
//	noeffect.go  parameters that are accepted without effect
//	markdown.go  the documentation
package querycontext

//go:generate go run ./gendoc ../../docs/context.md
