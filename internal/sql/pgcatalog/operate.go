package pgcatalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

// rowKey returns a text that is the same for equal rows.
func rowKey(row []any) string {
	var b strings.Builder
	for _, v := range row {
		keyOf(&b, v)
	}
	return b.String()
}

func keyOf(b *strings.Builder, v any) {
	switch x := v.(type) {
	case nil:
		b.WriteString("n;")
	case string:
		fmt.Fprintf(b, "s%d:%s;", len(x), x)
	case int64:
		fmt.Fprintf(b, "i%d;", x)
	case float64:
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			fmt.Fprintf(b, "i%d;", int64(x))
			return
		}
		fmt.Fprintf(b, "f%g;", x)
	case *pgtype.Array:
		fmt.Fprintf(b, "a%d:", len(x.Items))
		for _, item := range x.Items {
			keyOf(b, item)
		}
	case *pgtype.Record:
		fmt.Fprintf(b, "r%d:", len(x.Items))
		for _, item := range x.Items {
			keyOf(b, item)
		}
	default:
		fmt.Fprintf(b, "%T%v;", v, v)
	}
}

// compare orders two values that are not NULL.
func compare(a, b any) int {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return cmp.Compare(x, y)
		}
	case bool:
		if y, ok := b.(bool); ok {
			switch {
			case x == y:
				return 0
			case y:
				return -1
			}
			return 1
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case pgtype.Interval:
		if y, ok := b.(pgtype.Interval); ok {
			return cmp.Compare(intervalMicros(x), intervalMicros(y))
		}
	case *pgtype.Array:
		if y, ok := b.(*pgtype.Array); ok {
			return compareLists(x.Items, y.Items)
		}
	case *pgtype.Record:
		if y, ok := b.(*pgtype.Record); ok {
			return compareLists(x.Items, y.Items)
		}
	case []byte:
		if y, ok := b.([]byte); ok {
			return cmp.Compare(string(x), string(y))
		}
	}
	if x, y, ok := instants(a, b); ok {
		return cmp.Compare(x, y)
	}
	x, xok := rational(a)
	y, yok := rational(b)
	if xok && yok {
		return x.Cmp(y)
	}
	return cmp.Compare(float(a), float(b))
}

func compareLists(a, b []any) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == nil && b[i] == nil:
			continue
		case a[i] == nil:
			return 1
		case b[i] == nil:
			return -1
		}
		if n := compare(a[i], b[i]); n != 0 {
			return n
		}
	}
	return cmp.Compare(len(a), len(b))
}

func instants(a, b any) (x, y int64, ok bool) {
	one := func(v any) (int64, bool) {
		switch t := v.(type) {
		case pgtype.Timestamp:
			return int64(t), true
		case pgtype.Date:
			return int64(t) * 86400e6, true
		}
		return 0, false
	}
	x, xok := one(a)
	y, yok := one(b)
	return x, y, xok && yok
}

func intervalMicros(v pgtype.Interval) int64 {
	return (int64(v.Months)*30+int64(v.Days))*86400e6 + v.Micros
}

// float returns a number as a float; NaN if it is none.
func float(v any) float64 {
	switch x := v.(type) {
	case int64:
		return float64(x)
	case float64:
		return x
	case pgtype.Numeric:
		f, _ := strconv.ParseFloat(string(x), 64)
		return f
	}
	return math.NaN()
}

func rational(v any) (*big.Rat, bool) {
	switch x := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(x), true
	case float64:
		r := new(big.Rat).SetFloat64(x)
		return r, r != nil
	case pgtype.Numeric:
		return new(big.Rat).SetString(string(x))
	}
	return nil, false
}

// arithmetic computes a op b of values that are not NULL.
func arithmetic(op string, a, b any, at int) any {
	x, xok := a.(int64)
	y, yok := b.(int64)
	if xok && yok {
		return whole(op, x, y, at)
	}
	if v, ok := temporal(op, a, b); ok {
		return v
	}
	_, xf := a.(float64)
	_, yf := b.(float64)
	p, pok := rational(a)
	q, qok := rational(b)
	if !xf && !yf && pok && qok && op != "^" {
		switch op {
		case "+":
			return numeric(p.Add(p, q))
		case "-":
			return numeric(p.Sub(p, q))
		case "*":
			return numeric(p.Mul(p, q))
		}
		if q.Sign() == 0 {
			fail(at, "22012", "division by zero")
		}
		if op == "/" {
			return pgtype.Numeric(p.Quo(p, q).FloatString(16))
		}
		n := new(big.Rat).Quo(p, q)
		trunc := new(big.Int).Quo(n.Num(), n.Denom())
		return numeric(p.Sub(p, new(big.Rat).Mul(q, new(big.Rat).SetInt(trunc))))
	}
	f, g := float(a), float(b)
	switch op {
	case "+":
		return f + g
	case "-":
		return f - g
	case "*":
		return f * g
	case "^":
		return math.Pow(f, g)
	}
	if g == 0 {
		fail(at, "22012", "division by zero")
	}
	if op == "%" {
		return math.Mod(f, g)
	}
	return f / g
}

// numeric writes an exact number with as many digits as it needs, up to 20.
func numeric(r *big.Rat) pgtype.Numeric {
	if r.IsInt() {
		return pgtype.Numeric(r.Num().String())
	}
	n, exact := r.FloatPrec()
	if !exact || n > 20 {
		n = 20
	}
	return pgtype.Numeric(r.FloatString(n))
}

func whole(op string, x, y int64, at int) any {
	over := func(ok bool, v int64) any {
		if !ok {
			fail(at, "22003", "bigint out of range")
		}
		return v
	}
	switch op {
	case "+":
		return over((x+y > x) == (y > 0), x+y)
	case "-":
		return over((x-y < x) == (y > 0), x-y)
	case "*":
		return over(x == 0 || x*y/x == y && !(x == -1 && y == math.MinInt64), x*y)
	case "^":
		return math.Pow(float64(x), float64(y))
	}
	if y == 0 {
		fail(at, "22012", "division by zero")
	}
	if y == -1 {
		if op == "%" {
			return int64(0)
		}
		return over(x != math.MinInt64, -x)
	}
	if op == "%" {
		return x % y
	}
	return x / y
}

// temporal computes with points in time and spans.
func temporal(op string, a, b any) (any, bool) {
	sign := 1
	if op == "-" {
		sign = -1
	}
	switch x := a.(type) {
	case pgtype.Timestamp:
		switch y := b.(type) {
		case pgtype.Interval:
			return pgtype.Timestamp(y.Add(x.Time(), sign).UnixMicro()), true
		case pgtype.Timestamp:
			d := int64(x - y)
			return pgtype.Interval{Days: int32(d / 86400e6), Micros: d % 86400e6}, op == "-"
		}
	case pgtype.Date:
		switch y := b.(type) {
		case int64:
			return x + pgtype.Date(int64(sign)*y), true
		case pgtype.Date:
			return int64(x - y), op == "-"
		case pgtype.Interval:
			return pgtype.Timestamp(y.Add(time.Unix(int64(x)*86400, 0).UTC(), sign).UnixMicro()), true
		}
	case pgtype.Interval:
		switch y := b.(type) {
		case pgtype.Interval:
			s := int32(sign)
			return pgtype.Interval{Months: x.Months + s*y.Months, Days: x.Days + s*y.Days, Micros: x.Micros + int64(sign)*y.Micros}, op == "+" ||
				op == "-"
		case pgtype.Timestamp, pgtype.Date:
			return temporal(op, b, a)
		case int64, float64, pgtype.Numeric:
			f := float(y)
			if op == "/" {
				f = 1 / f
			}
			return pgtype.Interval{Months: int32(float64(x.Months) * f), Days: int32(float64(x.Days) * f), Micros: int64(float64(x.Micros) * f)},
				op == "*" || op == "/"
		}
	case int64, float64:
		if _, ok := b.(pgtype.Interval); ok && op == "*" {
			return temporal(op, b, a)
		}
	}
	return nil, false
}

// represent turns a number into the form that values of a type have.
func represent(v any, t pgtype.OID) any {
	switch x := v.(type) {
	case int64:
		switch t {
		case pgtype.Float4, pgtype.Float8:
			return float64(x)
		case pgtype.NumericT:
			return pgtype.Numeric(strconv.FormatInt(x, 10))
		}
	case pgtype.Numeric:
		if t == pgtype.Float4 || t == pgtype.Float8 {
			return float(x)
		}
	}
	return v
}

// text returns a value as text; "" for NULL.
func text(v any, t pgtype.OID, s *Session) string {
	if v == nil {
		return ""
	}
	if x, ok := v.(string); ok {
		return x
	}
	if b, ok := v.(bool); ok { // a cast to text says true, output says t
		return strconv.FormatBool(b)
	}
	return string(pgtype.AppendText(nil, t, v, s.style()))
}

// toJSON writes a value as JSON.
func toJSON(v any, t pgtype.OID, s *Session) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool, int64, float64:
		if !t.IsOID() || t == pgtype.OIDType {
			out, err := json.Marshal(x)
			if err == nil {
				return string(out)
			}
		}
	case pgtype.Numeric:
		return string(x)
	case *pgtype.Array:
		parts := make([]string, len(x.Items))
		for i, item := range x.Items {
			parts[i] = toJSON(item, x.Elem, s)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *pgtype.Record:
		parts := make([]string, len(x.Items))
		for i, item := range x.Items {
			name, _ := json.Marshal(x.Names[i]) // texts are JSON
			parts[i] = string(name) + ":" + toJSON(item, x.Types[i], s)
		}
		return "{" + strings.Join(parts, ",") + "}"
	case string:
		if t == pgtype.JSON || t == pgtype.JSONB {
			return x
		}
	}
	out, _ := json.Marshal(text(v, t, s)) // texts are JSON
	return string(out)
}
