package sql

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// typeOf returns the type that a type name means.
func typeOf(n *syntax.TypeName) (expr.Type, error) {
	t, ok := expr.ParseTypeName(n.Name)
	switch {
	case n.Name == "TYPE":
		native, err := vector.ParseType(n.Native)
		if err != nil {
			return expr.Type{}, fault.InvalidSQL(n.At, "Type [%s] is unknown", n.Native)
		}
		t = expr.FromRuntime(native, false)
	case !ok:
		return expr.Type{}, fault.InvalidSQL(n.At, "Type [%s] is not supported", n.Name)
	case n.Zone != syntax.NoZone:
		return expr.Type{}, fault.InvalidSQL(n.At,
			"Type [%s WITH TIME ZONE] is not supported; TIMESTAMP is an instant, and sqlTimeZone says how it is shown", n.Name)
	}
	for range n.Arrays {
		t = expr.ArrayOf(t)
	}
	return t, nil
}
