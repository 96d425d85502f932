package sql

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// readParams makes literals of the values for n parameters. Values beyond n are ignored, if they
// are of a type.
func (b *binder) readParams(n int) ([]*expr.Literal, error) {
	given := b.request.Params
	out := make([]*expr.Literal, 0, n)
	for i := range n {
		if i >= len(given) || given[i].Type == "" && given[i].Value == nil {
			return nil, fault.InvalidSQL(fault.Span{}, "No value bound for parameter (position [%d])", i+1)
		}
		l, err := b.paramLiteral(i, given[i])
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	for i := n; i < len(given); i++ {
		if _, err := paramBase(i, given[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// paramTypes are the type names a parameter may have, and how its value is read. A value then has
// the type of the literal it stands for, as in Druid: a whole number is INTEGER or BIGINT by its
// size, and a string CHAR. See quirk Q004.
var paramTypes = map[string]expr.Base{
	"BOOLEAN": expr.Boolean, "TINYINT": expr.BigInt, "SMALLINT": expr.BigInt, "INTEGER": expr.BigInt,
	"BIGINT": expr.BigInt, "FLOAT": expr.Double, "REAL": expr.Double, "DOUBLE": expr.Double, "DECIMAL": expr.Decimal,
	"NUMERIC": expr.Decimal, "CHAR": expr.Varchar, "VARCHAR": expr.Varchar, "DATE": expr.Date, "TIMESTAMP": expr.Timestamp,
	"ARRAY": expr.Array, "NULL": expr.Null, "ANY": expr.Null, "OTHER": expr.Varchar, "LONGVARCHAR": expr.Varchar,
	"NVARCHAR": expr.Varchar, "NCHAR": expr.Varchar, "LONGNVARCHAR": expr.Varchar,
}

// nullTypes are the further names of types that a parameter may have which is NULL.
var nullTypes = []string{
	"BINARY", "VARBINARY", "TIME", "MAP", "ROW", "STRUCT", "SYMBOL", "MULTISET", "CURSOR", "DISTINCT", "COLUMN_LIST",
}

// otherTypeNames are names that other databases use, each with the type of paramTypes it means.
var otherTypeNames = map[string]string{
	"INT": "INTEGER", "INT2": "SMALLINT", "INT4": "INTEGER", "INT8": "BIGINT", "LONG": "BIGINT", "BOOL": "BOOLEAN",
	"FLOAT4": "FLOAT", "FLOAT8": "DOUBLE", "DOUBLE PRECISION": "DOUBLE", "STRING": "VARCHAR", "TEXT": "VARCHAR",
	"CHARACTER": "CHAR", "CHARACTER VARYING": "VARCHAR", "DEC": "DECIMAL", "DATETIME": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMP",
}

// paramBase returns what paramTypes says of a parameter's type.
func paramBase(i int, p Param) (expr.Base, error) {
	base, ok := paramTypes[p.Type]
	if !ok && p.Value == nil && slices.Contains(nullTypes, p.Type) {
		return expr.Null, nil
	}
	if !ok {
		hint := ""
		if _, ok := paramTypes[strings.ToUpper(p.Type)]; ok {
			hint = "; names of types are in capital letters here"
		} else if usual := otherTypeNames[strings.ToUpper(p.Type)]; usual != "" {
			hint = ". Write instead: " + usual
		}
		return 0, fault.InvalidInput("Type [%s] of parameter [%d] is not a SQL type name%s", p.Type, i+1, hint)
	}
	return base, nil
}

func (b *binder) paramLiteral(i int, p Param) (*expr.Literal, error) {
	base, err := paramBase(i, p)
	if err != nil {
		return nil, err
	}
	if base == expr.Array {
		return arrayParam(i, p.Value)
	}
	if p.Value == nil {
		return &expr.Literal{T: expr.Of(base)}, nil
	}
	t := expr.Of(base).NotNull()
	wrong := func() error {
		return fault.InvalidInput("Value of parameter [%d] can't be read as type [%s]", i+1, p.Type)
	}
	switch {
	case base == expr.Null:
		return untypedParam(p.Value)
	case base == expr.Boolean:
		switch v := p.Value.(type) {
		case bool:
			return boolLiteral(v), nil
		case string:
			if strings.EqualFold(v, "true") || strings.EqualFold(v, "false") {
				return boolLiteral(strings.EqualFold(v, "true")), nil
			}
		}
		return nil, wrong()
	case t.IsInteger():
		n, ok := paramLong(p.Value)
		if !ok {
			return nil, wrong()
		}
		return integerLiteral(n), nil
	case t.IsFractional():
		f, ok := paramDouble(p.Value)
		if !ok {
			return nil, wrong()
		}
		return &expr.Literal{Value: f, T: t}, nil
	case t.IsCharacter():
		return stringLiteral(paramText(p.Value)), nil
	}
	ms, ok := b.paramTime(base, p.Value)
	if !ok {
		return nil, wrong()
	}
	return &expr.Literal{Value: ms, T: t}, nil
}

// paramTime reads a DATE or TIMESTAMP: a number of days or milliseconds, or text.
func (b *binder) paramTime(base expr.Base, v any) (int64, bool) {
	zone := b.settings.zone
	const day = 86_400_000
	if text, ok := v.(string); ok {
		if base == expr.Date {
			if ms, err := chrono.ParseDateLiteral(text, zone); err == nil {
				return ms, true
			}
		}
		if ms, ok := chrono.ParseTimestamp(text, zone); ok {
			return ms, true
		}
	}
	n, ok := paramLong(v)
	if _, truth := v.(bool); truth || !ok {
		return 0, false
	}
	if base == expr.Date {
		local, _ := zone.ToUTC(n * day)
		return local, n < math.MaxInt64/day && n > math.MinInt64/day
	}
	return n, true
}

func paramLong(v any) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case int:
		return int64(x), true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	case float64:
		if x >= -1<<63 && x < 1<<63 {
			return int64(x), true
		}
	case json.Number:
		return paramLong(x.String())
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(x), 10, 64); err == nil {
			return n, true
		}
		if f, err := strconv.ParseFloat(x, 64); err == nil {
			return paramLong(f)
		}
	}
	return 0, false
}

func paramDouble(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case int:
		return float64(x), true
	case float64:
		return x, true
	case json.Number:
		f, err := x.Float64()
		return f, err == nil
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(x), 64)
		return f, err == nil
	}
	return 0, false
}

func paramText(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case json.Number:
		return x.String()
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case []any, map[string]any:
		text, err := json.Marshal(x)
		if err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v)
}

// alike notes, for a statement that is described, that operands are of one type: that of the
// parameters among them is the one that the others have.
func (b *binder) alike(nodes []syntax.Expr, bound []expr.Expr) {
	if b.described == nil {
		return
	}
	var others []expr.Type
	for i, node := range nodes {
		if _, ok := node.(*syntax.Param); !ok {
			others = append(others, bound[i].Type().Plain())
		}
	}
	t, ok := expr.LeastRestrictive(others...)
	if !ok || len(others) == 0 {
		return
	}
	for _, node := range nodes {
		if p, ok := node.(*syntax.Param); ok && b.described[p.Index].Base == expr.Null {
			b.described[p.Index] = t
		}
	}
}

// numberOf returns the number that e is, or stands for as a parameter, nil if there is none: a
// number with a sign is an expression, and one beyond INTEGER a constant, which is no position in a
// list.
func (b *binder) numberOf(e syntax.Expr) *syntax.Number {
	var n *syntax.Number
	switch x := e.(type) {
	case *syntax.Number:
		n = x
	case *syntax.Param:
		l := b.params[x.Index]
		if text := fmt.Sprint(l.Value); l.Value != nil && l.T.IsNumeric() && !strings.HasPrefix(text, "-") {
			n = &syntax.Number{Pos: x.Pos, Text: text}
		}
	}
	if n == nil {
		return nil
	}
	if v, err := strconv.ParseFloat(n.Text, 64); err == nil && v > math.MaxInt32 {
		return nil
	}
	return n
}

// paramKind says what a parameter is that is not what is wanted.
func paramKind(l *expr.Literal) string {
	if l.Value == nil {
		return "NULL"
	}
	return "of type [" + l.T.String() + "]"
}

// untypedParam types a value by what it is in JSON.
func untypedParam(v any) (*expr.Literal, error) {
	switch x := v.(type) {
	case bool:
		return boolLiteral(x), nil
	case string:
		return stringLiteral(x), nil
	case []any:
		return arrayParam(0, x)
	case json.Number, float64, int64, int:
		if n, ok := exactLong(x); ok {
			return integerLiteral(n), nil
		}
		f, _ := paramDouble(x)
		return &expr.Literal{Value: f, T: expr.Of(expr.Double).NotNull()}, nil
	}
	return nil, fault.InvalidInput("A parameter can't be an object")
}

// exactLong returns v if it is a whole number in its text.
func exactLong(v any) (int64, bool) {
	switch x := v.(type) {
	case int64:
		return x, true
	case int:
		return int64(x), true
	case float64:
		return int64(x), x == math.Trunc(x) && math.Abs(x) < 1<<53
	case json.Number:
		n, err := strconv.ParseInt(x.String(), 10, 64)
		return n, err == nil
	}
	return 0, false
}

// arrayParam makes an array of strings, whole numbers, fractions and booleans; mixed numbers are
// DOUBLE, anything with a string VARCHAR.
func arrayParam(i int, v any) (*expr.Literal, error) {
	if v == nil {
		return &expr.Literal{T: expr.ArrayOf(expr.Of(expr.Varchar))}, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fault.InvalidInput("parameter [%d] is of type ARRAY, but its value is not a JSON array", i+1)
	}
	elem := expr.Null
	for j, e := range list {
		kind := expr.Null
		switch e.(type) {
		case nil:
		case string:
			kind = expr.Varchar
		case bool:
			kind = expr.BigInt
		case json.Number, float64, int64, int:
			kind = expr.Double
			if _, whole := exactLong(e); whole {
				kind = expr.BigInt
			}
		default:
			return nil, fault.InvalidInput("parameter [%d] is an array, with an illegal value of type [%s] at index [%d]", i+1, fault.JSONClass(e), j)
		}
		elem = max(elem, kind)
	}
	if elem == expr.Null {
		elem = expr.Varchar
	}
	out := make([]any, len(list))
	for j, e := range list {
		switch {
		case e == nil:
		case elem == expr.Varchar:
			out[j] = paramText(e)
		case elem == expr.Double:
			out[j], _ = paramDouble(e)
		default:
			out[j], _ = paramLong(e)
		}
	}
	return &expr.Literal{Value: out, T: expr.ArrayOf(expr.Of(elem)).NotNull()}, nil
}
