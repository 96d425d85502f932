package sql

import (
	"strings"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
	"github.com/hengedb/henge/internal/vector"
)

// typesElsewhere are names that types have in other dialects, with ours.
var typesElsewhere = map[string]string{
	"STRING": "VARCHAR", "TEXT": "VARCHAR", "CLOB": "VARCHAR", "LONG": "BIGINT", "INT8": "BIGINT", "INT64": "BIGINT", "BOOL": "BOOLEAN",
	"DATETIME": "TIMESTAMP", "FLOAT8": "DOUBLE", "FLOAT64": "DOUBLE", "FLOAT4": "FLOAT", "FLOAT32": "FLOAT", "JSON": "TYPE('COMPLEX<json>')",
}

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
		err := fault.InvalidSQL(n.At, "Type [%s] is not supported", n.Name)
		if ours := typesElsewhere[strings.ToUpper(n.Name)]; ours != "" {
			return expr.Type{}, propose(err, ours)
		}
		return expr.Type{}, suggest(err, n.Name, expr.TypeNames)
	case n.Zone != syntax.NoZone:
		return expr.Type{}, fault.InvalidSQL(n.At,
			"Type [%s WITH TIME ZONE] is not supported; TIMESTAMP is an instant, and sqlTimeZone says how it is shown", n.Name)
	}
	for range n.Arrays {
		t = expr.ArrayOf(t)
	}
	return t, nil
}
