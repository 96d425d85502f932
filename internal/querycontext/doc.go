// Package querycontext holds the parameters of a query's context: the JSON object beside a query or
// a task that says how it runs. Every parameter is one entry of the list in params.go and
// noeffect.go, with its key, kind, default, meaning and readers. Only this package makes a Param,
// so that code can't read a parameter that the list does not name. docs/context.md is generated
// from the list.
//
//	param.go     what a parameter is, and how it is read from a context
//	kinds.go     the kinds of values; one rule each for what is read and what is refused
//	params.go    parameters that have an effect
//	noeffect.go  parameters that are accepted and change nothing
//	markdown.go  the documentation
package querycontext

//go:generate go run ./gendoc ../../docs/context.md
