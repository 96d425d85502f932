// Package agg implements the aggregate functions. Their states hold many groups at once. Queries,
// rollup during ingestion and the merging of partial results share them.
//
// The central types are Function, an entry of the catalog (Lookup, Functions); Spec, a function
// with the types of its arguments and its constants, plain data that is part of plans; and State,
// the result of a Spec for groups 0, 1, 2, ...: one column of intermediate values per group, not
// one object.
//
//	worker 1   Update, Update, ...   Partial ─┐ vectors of IntermediateTypes
//	worker 2   Update, Update, ...   Partial ─┴► Merge, Merge   Final ─► vector of ResultType
//
// Intermediate values are ordinary vectors, so a partial result is an ordinary batch: operators
// spill it, send it and store it like any other batch. A rolled-up column of a segment also
// contains intermediate values.
//
// The package knows only physical types. Elsewhere on purpose: FILTER, DISTINCT and expression
// arguments, which are computed before the rows reach an aggregate (package exec), GROUPING (the
// planner), and SQL types (the binder).
package agg

import (
	"fmt"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Spec names an aggregate function with the physical types of its arguments and its constant
// parameters. It is plain data: plans contain it, and it is stored with rolled-up columns.
type Spec struct {
	// Name is the catalog name: "COUNT", "SUM", "MIN", "APPROX_COUNT_DISTINCT", ...
	Name string
	// Args are the types of the arguments. Instead, the only argument can have the type of a rolled-up
	// column of the same function (Kept); its values are merged.
	Args []vector.Type
	// Params are the constant arguments, each int64, float64 or string.
	Params []any
	// Keep: results are the intermediate values in the form that a rolled-up column stores; there must
	// be one per group.
	Keep bool
	// Merging is the number of merges of sketches.
	Merging Merging
}

// Merging is the number of times that a sketch is merged before it becomes a result. Each merge may
// reorder its values and drop some.
type Merging uint8

// Druid merges the sketches of a groupBy query twice, those of others once, and those that a query
// makes of the answer of another one not at all. See quirk Q008.
const (
	MergedByKeys Merging = iota // twice where there are keys
	MergedOnce
	MergedTwice
	MergedNot
)

// resolve finds the function and checks the arguments.
func (s Spec) resolve() (*call, error) {
	f := Lookup(s.Name)
	if f == nil {
		return nil, fault.InvalidInput("Aggregate function [%s] is unknown", s.Name)
	}
	c := &call{Function: f, raw: s}
	if f.packing != nil && len(s.Args) > 0 && len(s.Args) <= f.MaxArgs {
		if args, ok := f.packing.args(s.Args[0]); ok {
			c.packed, c.packs, c.unpacks, c.raw.Args = s.Args[0], true, true, args
		}
	}
	if n := len(c.raw.Args); n < f.MinArgs || n > f.MaxArgs {
		return nil, fault.InvalidInput("Aggregate function [%s] does not take [%d] arguments", s.Name, n)
	}
	if len(s.Params) > f.MaxParams || len(s.Params) < f.MinParams {
		return nil, fault.InvalidInput("Aggregate function [%s] does not take [%d] constants", s.Name, len(s.Params))
	}
	if f.check != nil {
		if err := f.check(c.raw); err != nil {
			return nil, err
		}
	}
	if s.Keep && !c.packs && f.packing != nil {
		c.packed, c.packs = f.packing.packed(c.raw.Args)
	}
	return c, nil
}

// ResultType returns the type of Final. The error is a message for users that explains why the
// function does not accept these arguments.
func (s Spec) ResultType() (vector.Type, error) {
	c, err := s.resolve()
	if err != nil {
		return vector.Type{}, err
	}
	if s.Keep {
		return c.intermediate()[0], nil
	}
	return c.result(c.raw), nil
}

// IntermediateTypes returns the types of Partial's vectors and Merge's arguments.
func (s Spec) IntermediateTypes() ([]vector.Type, error) {
	c, err := s.resolve()
	if err != nil {
		return nil, err
	}
	return c.intermediate(), nil
}

// New returns the state of no groups.
func (s Spec) New() (State, error) {
	c, err := s.resolve()
	if err != nil {
		return nil, err
	}
	if s.Keep {
		return keptState{c.state()}, nil
	}
	return c.state(), nil
}

// keptState gives intermediate values as results.
type keptState struct{ State }

// Final implements State.
func (s keptState) Final(lo, hi int) (*vector.Vector, error) { return s.Partial(lo, hi)[0], nil }

func badType(s Spec, i int) error {
	return fault.InvalidInput("Aggregation [%s] does not support type [%s]", s.Name, s.Args[i])
}

// textParam returns constant i as text, or def.
func (s Spec) textParam(i int, def string) string {
	if i >= len(s.Params) {
		return def
	}
	return fmt.Sprint(s.Params[i])
}

// longParam returns constant i as a long, or def.
func (s Spec) longParam(i int, def int64) int64 {
	if i < len(s.Params) {
		switch x := s.Params[i].(type) {
		case int64:
			return x
		case float64:
			return int64(x)
		}
	}
	return def
}
