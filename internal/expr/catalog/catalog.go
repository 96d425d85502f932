// Package catalog contains all scalar functions and operators: the core of package expr and the
// families in packages of their own. Front ends look up functions here by name; INFORMATION_SCHEMA
// and docs/functions.md list them.
package catalog

import (
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/sketchfn"
	"github.com/hengedb/henge/internal/expr/stringfn"
	"github.com/hengedb/henge/internal/expr/timefn"
	"github.com/hengedb/henge/internal/fault"
)

// families are all functions. A new function is one file or a value in a file of its family, a
// test, and one line in the list of the family; a new family is a package and one entry here.
var families = slices.Concat(expr.Core, stringfn.Functions, timefn.Functions, sketchfn.Functions)

// byName has the functions of all families. An alias has its own entry, so that messages show the
// name that was written.
var byName = sync.OnceValue(func() map[string]*expr.Function {
	m := make(map[string]*expr.Function, 2*len(families))
	add := func(name string, f *expr.Function) {
		if _, twice := m[name]; twice {
			panic("catalog: function " + name + " is there twice")
		}
		m[name] = f
	}
	for _, f := range families {
		add(f.Name, f)
		for _, name := range f.Aliases {
			add(name, f.Alias(name))
		}
	}
	return m
})

// Functions returns the documented functions of the catalog and their aliases, by name, without
// operators.
func Functions() []*expr.Function {
	var out []*expr.Function
	for _, f := range byName() {
		if f.Summary != "" {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *expr.Function) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Nearest returns the names of documented functions that are similar to an unknown name, the most
// similar first.
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

// Lookup finds a function or operator by its name, ignoring case.
func Lookup(name string) (*expr.Function, bool) {
	f, ok := byName()[strings.ToUpper(name)]
	return f, ok
}

// MustLookup returns a function of the catalog; it panics if the function does not exist, which is
// a bug of the caller.
func MustLookup(name string) *expr.Function {
	f, ok := Lookup(name)
	if !ok {
		panic("catalog: no function " + name)
	}
	return f
}
