package nativetext

import (
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// spelling is how the native language writes the names of functions that it reads in any
// case.
var spelling = map[string]string{
	"todegrees": "toDegrees", "toradians": "toRadians",
	"bitwiseand": "bitwiseAnd", "bitwiseor": "bitwiseOr", "bitwisexor": "bitwiseXor", "bitwisecomplement": "bitwiseComplement",
	"bitwiseshiftleft": "bitwiseShiftLeft", "bitwiseshiftright": "bitwiseShiftRight",
	"bitwiseconvertdoubletolongbits": "bitwiseConvertDoubleToLongBits", "bitwiseconvertlongbitstodouble": "bitwiseConvertLongBitsToDouble",
}

// formOf returns what writes the calls of a function whose form in the native language is not
// that of a function with the same arguments, nil for others. Calls that it can't write are written
// as any other.
func formOf(name string) func(w *writer, c *expr.Call) bool {
	switch name {
	case "STRPOS":
		return func(w *writer, c *expr.Call) bool { return w.strpos(c.Args) }
	case "POSITION":
		return func(w *writer, c *expr.Call) bool { return w.position(c.Args) }
	case "TRUNCATE":
		return func(w *writer, c *expr.Call) bool { return w.truncate(c.Args) }
	case "TIMESTAMPADD":
		return func(w *writer, c *expr.Call) bool { return w.timestampAdd(c.Args) }
	case "TIMESTAMPDIFF":
		return func(w *writer, c *expr.Call) bool { return w.timestampDiff(c.Args) }
	case "SQRT":
		return func(w *writer, c *expr.Call) bool { return w.sqrt(c.Args) }
	case "+":
		return func(w *writer, c *expr.Call) bool { return w.shiftedByMonths(c.Args, 1) }
	case "-":
		return func(w *writer, c *expr.Call) bool { return w.shiftedByMonths(c.Args, -1) }
	case "SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN", "ATAN2", "EXP", "LN", "LOG10", "POWER", "DEGREES", "RADIANS":
		return func(w *writer, c *expr.Call) bool { return w.plainCall(c.Fn, withoutNumberCasts(c.Args)) }
	case "IS TRUE", "IS NOT FALSE": // as numbers
		return func(w *writer, c *expr.Call) bool { return w.besideZero(c.Args[0], " > ") }
	case "IS FALSE", "IS NOT TRUE":
		return func(w *writer, c *expr.Call) bool { return w.besideZero(c.Args[0], " <= ") }
	case "GREATEST", "LEAST", "ARRAY_TO_STRING", "ARRAY_TO_MV":
		return func(w *writer, c *expr.Call) bool { return w.plainCall(c.Fn, withoutCasts(c.Args)) }
	case "MV_CONTAINS", "MV_OVERLAP", "ARRAY_CONCAT", "ARRAY_OVERLAP", "ARRAY_CONTAINS":
		return func(w *writer, c *expr.Call) bool { return w.ofLists(name, c.Args) }
	case "PARSE_LONG": // the base 10 is the default
		return func(w *writer, c *expr.Call) bool { return w.withoutDefault(c, 10) }
	case "JSON_OBJECT", "JSON_QUERY", "JSON_QUERY_ARRAY", "JSON_KEYS", "JSON_PATHS", "TO_JSON_STRING":
		return func(w *writer, c *expr.Call) bool { return w.plainCall(c.Fn, withoutToJSON(c.Args)) }
	case "TRIM", "BTRIM", "LTRIM", "RTRIM":
		return func(w *writer, c *expr.Call) bool {
			return len(c.Args) == 1 && w.plainCall(c.Fn, []expr.Expr{c.Args[0], expr.TextLiteral(" ")})
		}
	case "HUMAN_READABLE_BINARY_BYTE_FORMAT", "HUMAN_READABLE_DECIMAL_BYTE_FORMAT", "HUMAN_READABLE_DECIMAL_FORMAT":
		return func(w *writer, c *expr.Call) bool { return w.withoutDefault(c, 2) } // two digits are the default
	}
	return nil
}

// withoutDefault writes a call without its second argument, if that is the default.
func (w *writer) withoutDefault(c *expr.Call, value int64) bool {
	n, ok := wholeLiteral(c.Args[len(c.Args)-1])
	return len(c.Args) == 2 && ok && n == value && w.plainCall(c.Fn, c.Args[:1])
}

// besideZero compares x with 0.
func (w *writer) besideZero(x expr.Expr, operator string) bool {
	w.infix(operator, []expr.Expr{x, &expr.Literal{Value: int64(0), T: expr.Of(expr.BigInt).NotNull()}})
	return true
}

// withoutToJSON returns what JSON was made of for a function that native queries give any value.
func withoutToJSON(args []expr.Expr) []expr.Expr {
	plain := slices.Clone(args)
	for i, a := range plain {
		if c, ok := a.(*expr.Call); ok && c.Fn.Entry().NativeName == "to_json" {
			plain[i] = c.Args[0]
		}
	}
	return plain
}

// plainCall writes the call of a function.
func (w *writer) plainCall(fn *expr.Function, args []expr.Expr) bool {
	fn = fn.Entry()
	native := fn.NativeName
	if native == "" {
		native = strings.ToLower(fn.Name)
	}
	if spelled, ok := spelling[native]; ok {
		native = spelled
	}
	w.WriteString(native + "(")
	w.list(args...)
	w.WriteByte(')')
	return true
}

// withoutNumberCasts leaves out that numbers become DOUBLE, which native functions of numbers do by
// themselves; constants are whole again. That a fraction is cut stays.
func withoutNumberCasts(args []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		out[i] = a
		switch x := a.(type) {
		case *expr.Cast:
			if x.X.Type().IsNumeric() && (x.T.IsFractional() || x.X.Type().IsInteger()) {
				out[i] = x.X
			}
		case *expr.Literal:
			out[i] = wholeNumber(x)
		}
	}
	return out
}

// withoutCasts leaves out conversions that native functions do by themselves.
func withoutCasts(args []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(args))
	for i, a := range args {
		out[i] = a
		if c, ok := a.(*expr.Cast); ok {
			out[i] = c.X
		}
	}
	return out
}

func wholeLiteral(e expr.Expr) (int64, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return 0, false
	}
	n, ok := l.Value.(int64)
	return n, ok
}

// strpos writes the native function, which counts from 0.
func (w *writer) strpos(args []expr.Expr) bool {
	w.WriteString("(strpos(")
	w.list(args...)
	w.WriteString(") + 1)")
	return true
}

func (w *writer) position(args []expr.Expr) bool {
	w.WriteString("(strpos(")
	w.list(args[1], args[0])
	if len(args) > 2 {
		w.WriteString(",(")
		w.write(args[2])
		w.WriteString(" - 1)")
	} else {
		w.WriteString(",0")
	}
	w.WriteString(") + 1)")
	return true
}

// truncate writes what the native language has in place of such a function.
func (w *writer) truncate(args []expr.Expr) bool {
	factor := "1"
	if len(args) > 1 {
		digits, ok := wholeLiteral(args[1])
		if !ok {
			return false
		}
		factor = vector.DoubleText(math.Pow(10, float64(digits)))
	}
	w.WriteString("(cast(cast(")
	w.write(args[0])
	w.WriteString(" * " + factor + ",'long'),'double') / " + factor + ")")
	return true
}

func (w *writer) sqrt(args []expr.Expr) bool {
	w.WriteString("pow(")
	w.list(withoutNumberCasts(args)...)
	w.WriteString(",0.5)")
	return true
}

// unitMillis are the units of fixed length; unitMonths are the others, in months.
var (
	unitMillis = map[chrono.Unit]int64{
		chrono.UnitSecond: 1000, chrono.UnitMinute: 60_000, chrono.UnitHour: 3_600_000, chrono.UnitDay: 86_400_000, chrono.UnitWeek: 604_800_000,
	}
	unitMonths = map[chrono.Unit]int64{chrono.UnitMonth: 1, chrono.UnitQuarter: 3, chrono.UnitYear: 12}
)

func unitLiteral(e expr.Expr) (chrono.Unit, bool) {
	l, ok := e.(*expr.Literal)
	if !ok {
		return 0, false
	}
	name, _ := l.Value.(string)
	return chrono.ParseUnit(name)
}

// timestampAdd writes a sum of milliseconds, or a shift by months.
func (w *writer) timestampAdd(args []expr.Expr) bool {
	u, _ := unitLiteral(args[0])
	n, constant := wholeLiteral(args[1])
	if ms, ok := unitMillis[u]; ok {
		w.WriteByte('(')
		w.write(args[2])
		w.WriteString(" + ")
		if constant {
			w.WriteString(itoa(n * ms))
		} else {
			w.WriteString("(" + itoa(ms) + " * ")
			w.write(args[1])
			w.WriteByte(')')
		}
		w.WriteByte(')')
		return true
	}
	months, ok := unitMonths[u]
	if !ok {
		return false
	}
	w.WriteString("timestamp_shift(")
	w.write(args[2])
	if constant {
		w.WriteString(",'P" + itoa(n*months) + "M',1,")
	} else {
		w.WriteString(",concat('P', (" + itoa(months) + " * ")
		w.write(args[1])
		w.WriteString("), 'M'),1,")
	}
	w.value(w.zone)
	w.WriteByte(')')
	return true
}

// timestampDiff writes a division of milliseconds, for the units that have a length.
func (w *writer) timestampDiff(args []expr.Expr) bool {
	u, _ := unitLiteral(args[0])
	ms, ok := unitMillis[u]
	if !ok {
		return false
	}
	w.WriteString("div((")
	w.write(args[2])
	w.WriteString(" - ")
	w.write(args[1])
	w.WriteString(")," + itoa(ms) + ")")
	return true
}

// shiftedByMonths writes the sum of a time and an interval of months, which have no length.
func (w *writer) shiftedByMonths(args []expr.Expr, sign int64) bool {
	if len(args) != 2 || args[1].Type().Base != expr.IntervalMonth || !args[0].Type().IsTime() {
		return false
	}
	n, ok := wholeLiteral(args[1])
	if !ok {
		return false
	}
	w.WriteString("timestamp_shift(")
	w.write(args[0])
	w.WriteString(",'P" + itoa(n) + "M'," + itoa(sign) + ",")
	w.value(w.zone)
	w.WriteByte(')')
	return true
}

// ofLists writes a function of lists; constant ones are made by a function. Multi-value strings are
// lists there.
func (w *writer) ofLists(name string, args []expr.Expr) bool {
	w.WriteString(strings.ToLower(strings.Replace(name, "MV_", "ARRAY_", 1)) + "(")
	for i, a := range withoutListCasts(args) {
		if i > 0 {
			w.WriteByte(',')
		}
		l, ok := a.(*expr.Literal)
		list, isList := []any(nil), false
		if ok {
			list, isList = l.Value.([]any)
		}
		if isList && len(list) == 1 && i > 0 && name == "MV_CONTAINS" {
			w.value(list[0])
		} else {
			w.write(a)
		}
	}
	w.WriteByte(')')
	return true
}
