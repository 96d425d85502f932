package expr

import (
	"math"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
)

// nativeSpelling is how the native language writes the names of functions that it reads in any
// case.
var nativeSpelling = map[string]string{
	"todegrees": "toDegrees", "toradians": "toRadians",
	"bitwiseand": "bitwiseAnd", "bitwiseor": "bitwiseOr", "bitwisexor": "bitwiseXor", "bitwisecomplement": "bitwiseComplement",
	"bitwiseshiftleft": "bitwiseShiftLeft", "bitwiseshiftright": "bitwiseShiftRight",
	"bitwiseconvertdoubletolongbits": "bitwiseConvertDoubleToLongBits", "bitwiseconvertlongbitstodouble": "bitwiseConvertLongBitsToDouble",
}

// nativeForms writes the calls whose form in the native language is not that of a function with the
// same arguments. Those it can't write are written as any other.
var nativeForms map[string]func(w *nativeWriter, args []Expr) bool

func init() { // the forms write calls, whose forms these are
	nativeForms = map[string]func(w *nativeWriter, args []Expr) bool{
		"STRPOS":        (*nativeWriter).strpos,
		"POSITION":      (*nativeWriter).position,
		"TRUNCATE":      (*nativeWriter).truncate,
		"TIMESTAMPADD":  (*nativeWriter).timestampAdd,
		"TIMESTAMPDIFF": (*nativeWriter).timestampDiff,
		"SQRT":          (*nativeWriter).sqrt,
		"+":             func(w *nativeWriter, args []Expr) bool { return w.shiftedByMonths(args, 1) },
		"-":             func(w *nativeWriter, args []Expr) bool { return w.shiftedByMonths(args, -1) },
	}
	for _, name := range []string{"SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN", "ATAN2", "EXP", "LN", "LOG10", "POWER", "DEGREES", "RADIANS"} {
		nativeForms[name] = func(w *nativeWriter, args []Expr) bool { return w.plainCall(name, withoutNumberCasts(args)) }
	}
	for name, sign := range map[string]string{"IS TRUE": ">", "IS NOT FALSE": ">", "IS FALSE": "<=", "IS NOT TRUE": "<="} { // as numbers
		nativeForms[name] = func(w *nativeWriter, args []Expr) bool {
			w.infix(" "+sign+" ", []Expr{args[0], &Literal{Value: int64(0), T: Of(BigInt).NotNull()}})
			return true
		}
	}
	for _, name := range []string{"GREATEST", "LEAST", "ARRAY_TO_STRING", "ARRAY_TO_MV"} {
		nativeForms[name] = func(w *nativeWriter, args []Expr) bool { return w.plainCall(name, withoutCasts(args)) }
	}
	for _, name := range []string{"MV_CONTAINS", "MV_OVERLAP", "ARRAY_CONCAT", "ARRAY_OVERLAP", "ARRAY_CONTAINS"} {
		nativeForms[name] = func(w *nativeWriter, args []Expr) bool { return w.ofLists(name, args) }
	}
	nativeForms["PARSE_LONG"] = func(w *nativeWriter, args []Expr) bool { // the base 10 is the default
		n, ok := wholeLiteral(args[len(args)-1])
		return len(args) == 2 && ok && n == 10 && w.plainCall("PARSE_LONG", args[:1])
	}
	for _, name := range []string{"JSON_OBJECT", "JSON_QUERY", "JSON_QUERY_ARRAY", "JSON_KEYS", "JSON_PATHS", "TO_JSON_STRING"} {
		nativeForms[name] = func(w *nativeWriter, args []Expr) bool { return w.plainCall(name, withoutToJSON(args)) }
	}
	for _, name := range []string{"TRIM", "BTRIM", "LTRIM", "RTRIM"} {
		nativeForms[name] = func(w *nativeWriter, args []Expr) bool {
			return len(args) == 1 && w.plainCall(name, []Expr{args[0], textLiteral(" ")})
		}
	}
	for _, name := range []string{"HUMAN_READABLE_BINARY_BYTE_FORMAT", "HUMAN_READABLE_DECIMAL_BYTE_FORMAT", "HUMAN_READABLE_DECIMAL_FORMAT"} {
		nativeForms[name] = func(w *nativeWriter, args []Expr) bool { // two digits are the default
			n, ok := wholeLiteral(args[len(args)-1])
			return len(args) == 2 && ok && n == 2 && w.plainCall(name, args[:1])
		}
	}
}

// withoutToJSON returns what JSON was made of for a function that native queries give any value.
func withoutToJSON(args []Expr) []Expr {
	plain := slices.Clone(args)
	for i, a := range plain {
		if c, ok := a.(*Call); ok && c.Fn.entry().NativeName == "to_json" {
			plain[i] = c.Args[0]
		}
	}
	return plain
}

// plainCall writes the call of a function.
func (w *nativeWriter) plainCall(name string, args []Expr) bool {
	native := MustLookup(name).entry().NativeName
	if native == "" {
		native = strings.ToLower(name)
	}
	if spelled, ok := nativeSpelling[native]; ok {
		native = spelled
	}
	w.WriteString(native + "(")
	w.list(args...)
	w.WriteByte(')')
	return true
}

// withoutNumberCasts leaves out that numbers become DOUBLE, which native functions of numbers do by
// themselves; constants are whole again. That a fraction is cut stays.
func withoutNumberCasts(args []Expr) []Expr {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = a
		switch x := a.(type) {
		case *Cast:
			if x.X.Type().IsNumeric() && (x.T.IsFractional() || x.X.Type().IsInteger()) {
				out[i] = x.X
			}
		case *Literal:
			out[i] = wholeNumber(x)
		}
	}
	return out
}

// withoutCasts leaves out conversions that native functions do by themselves.
func withoutCasts(args []Expr) []Expr {
	out := make([]Expr, len(args))
	for i, a := range args {
		out[i] = a
		if c, ok := a.(*Cast); ok {
			out[i] = c.X
		}
	}
	return out
}

func wholeLiteral(e Expr) (int64, bool) {
	l, ok := e.(*Literal)
	if !ok {
		return 0, false
	}
	n, ok := l.Value.(int64)
	return n, ok
}

// strpos writes the native function, which counts from 0.
func (w *nativeWriter) strpos(args []Expr) bool {
	w.WriteString("(strpos(")
	w.list(args...)
	w.WriteString(") + 1)")
	return true
}

func (w *nativeWriter) position(args []Expr) bool {
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
func (w *nativeWriter) truncate(args []Expr) bool {
	factor := "1"
	if len(args) > 1 {
		digits, ok := wholeLiteral(args[1])
		if !ok {
			return false
		}
		factor = doubleText(math.Pow(10, float64(digits)))
	}
	w.WriteString("(cast(cast(")
	w.write(args[0])
	w.WriteString(" * " + factor + ",'long'),'double') / " + factor + ")")
	return true
}

func (w *nativeWriter) sqrt(args []Expr) bool {
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

func unitLiteral(e Expr) (chrono.Unit, bool) {
	l, ok := e.(*Literal)
	if !ok {
		return 0, false
	}
	name, _ := l.Value.(string)
	return chrono.ParseUnit(name)
}

// timestampAdd writes a sum of milliseconds, or a shift by months.
func (w *nativeWriter) timestampAdd(args []Expr) bool {
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
func (w *nativeWriter) timestampDiff(args []Expr) bool {
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
func (w *nativeWriter) shiftedByMonths(args []Expr, sign int64) bool {
	if len(args) != 2 || args[1].Type().Base != IntervalMonth || !args[0].Type().IsTime() {
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
func (w *nativeWriter) ofLists(name string, args []Expr) bool {
	w.WriteString(strings.ToLower(strings.Replace(name, "MV_", "ARRAY_", 1)) + "(")
	for i, a := range withoutListCasts(args) {
		if i > 0 {
			w.WriteByte(',')
		}
		l, ok := a.(*Literal)
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
