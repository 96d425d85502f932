package nativetext

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// Format returns e in the native expression language, for EXPLAIN and task reports:
// timestamp_floor("__time",'PT1H',null,'UTC'). It writes the zone of ctx, or UTC if ctx is nil,
// wherever the expression depends on it.
func Format(e expr.Expr, ctx *expr.Context) string {
	w := writer{zone: chrono.UTC.Name()}
	if ctx != nil && ctx.Zone != nil {
		w.zone = ctx.Zone.Name()
	}
	w.write(e)
	return w.String()
}

type writer struct {
	strings.Builder
	zone string
	// elements are the sources of the Each and Any around, innermost last. The native language maps
	// functions over multi-value strings without saying so.
	elements []expr.Expr
}

func (w *writer) write(e expr.Expr) {
	switch x := e.(type) {
	case *expr.Column:
		w.identifier(x.Name)
	case *expr.Literal:
		w.value(x.Value)
	case *expr.Call:
		w.call(x)
	case *expr.Cast:
		w.cast(x)
	case *expr.Case:
		w.WriteString("case_searched(")
		for i, c := range x.Whens {
			if i > 0 {
				w.WriteByte(',')
			}
			w.list(c.Cond, c.Then)
		}
		w.WriteByte(',')
		if x.Else != nil {
			w.write(x.Else)
		} else {
			w.WriteString("null")
		}
		w.WriteByte(')')
	case *expr.And:
		w.infix(" && ", withoutNotIn(x.Terms))
	case *expr.Or:
		w.infix(" || ", withoutLists(x.Terms))
	case *expr.Not:
		w.not(x)
	case *expr.In:
		w.in(x)
	case *expr.Each:
		w.within(x.Source, x.Body)
	case *expr.Any:
		w.within(x.Source, x.Body)
	case *expr.Loop:
		w.loop(x)
	case *expr.Element:
		if i := len(w.elements) - 1 - x.Depth; i >= 0 {
			outer := w.elements
			w.elements = outer[:i]
			w.write(outer[i])
			w.elements = outer
		}
	}
}

func (w *writer) within(source, body expr.Expr) {
	outer := w.elements
	w.elements = append(slices.Clip(outer), source)
	w.write(body)
	w.elements = outer
}

// loop writes a lambda, whose parameters are named by how many stand around them.
func (w *writer) loop(x *expr.Loop) {
	name := x.Kind.String()
	if len(x.Lists) > 1 && !x.Zip {
		name = "cartesian_" + name
	}
	outer := w.elements
	params := make([]string, x.Levels())
	for i := range params {
		params[i] = "x" + itoa(int64(len(outer)+i))
		w.elements = append(slices.Clip(w.elements), &expr.Column{Name: params[i]})
	}
	w.WriteString(name + "((" + strings.Join(params, ",") + ") -> ")
	w.write(x.Body)
	w.elements = outer
	w.WriteByte(',')
	w.list(x.Lists...)
	if x.Initial != nil {
		w.WriteByte(',')
		w.write(x.Initial)
	}
	w.WriteByte(')')
}

func (w *writer) list(exprs ...expr.Expr) {
	for i, e := range exprs {
		if i > 0 {
			w.WriteByte(',')
		}
		w.write(e)
	}
}

func (w *writer) infix(op string, terms []expr.Expr) {
	w.WriteByte('(')
	for i, t := range terms {
		if i > 0 {
			w.WriteString(op)
		}
		w.write(t)
	}
	w.WriteByte(')')
}

// withoutNotIn are the terms of a conjunction with a comparison for each value that another is not.
func withoutNotIn(terms []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, t := range terms {
		if not, ok := t.(*expr.Not); ok {
			if in, ok := not.X.(*expr.In); ok && writesEach(in) {
				out = append(out, differences(in)...)
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// withoutLists are the terms of a disjunction with a comparison for each value of a list.
func withoutLists(terms []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, t := range terms {
		if in, ok := t.(*expr.In); ok && !writesOnce(in) {
			out = append(out, comparisons(in)...)
		} else {
			out = append(out, t)
		}
	}
	return out
}

// maxRepeated is how many nodes an operand has at most that is written beside each value of a list.
const maxRepeated = 64

// writesOnce reports whether the operand of a list is written once: lists in each other would else
// double the text with each level.
func writesOnce(x *expr.In) bool {
	if len(x.Values) < 2 && !(x.HasNull && len(x.Values) == 1) {
		return false
	}
	size, hasList := 0, false
	expr.Walk(x.X, func(e expr.Expr) bool {
		size++
		if _, ok := e.(*expr.In); ok {
			hasList = true
		}
		return !hasList && size <= maxRepeated
	})
	return hasList || size > maxRepeated
}

// comparisons are those that a list stands for.
func comparisons(x *expr.In) []expr.Expr {
	equal := expr.Comparison("=")
	terms := make([]expr.Expr, 0, len(x.Values)+1)
	for _, v := range x.Values {
		terms = append(terms, &expr.Call{Fn: equal, Args: []expr.Expr{x.X, &expr.Literal{Value: v, T: x.X.Type()}}, T: expr.Of(expr.Boolean)})
	}
	if x.HasNull {
		terms = append(terms, &expr.Call{Fn: equal, Args: []expr.Expr{x.X, &expr.Literal{T: x.X.Type()}}, T: expr.Of(expr.Boolean)})
	}
	return terms
}

// not writes a negation; none of a list is each of its values not.
func (w *writer) not(x *expr.Not) {
	if c, ok := x.X.(*expr.Call); ok && c.Fn.Name == "=" && (c.Args[0].Type().Multi || c.Args[1].Type().Multi) {
		w.infix(" != ", c.Args)
		return
	}
	in, ok := x.X.(*expr.In)
	if !ok || !writesEach(in) {
		w.WriteString("(! ")
		w.write(x.X)
		w.WriteByte(')')
		return
	}
	w.infix(" && ", differences(in))
}

// writesEach reports whether the negation of a list is written as a comparison with each of its
// values.
func writesEach(x *expr.In) bool { return !x.HasNull && len(x.Values) >= 2 && !writesOnce(x) }

// differences are the comparisons that the negation of a list stands for.
func differences(x *expr.In) []expr.Expr {
	terms := make([]expr.Expr, len(x.Values))
	for i, v := range x.Values {
		terms[i] = &expr.Call{Fn: expr.Comparison("<>"), Args: []expr.Expr{x.X, &expr.Literal{Value: v, T: x.X.Type()}}, T: expr.Of(expr.Boolean)}
	}
	return terms
}

func (w *writer) call(c *expr.Call) {
	fn := c.Fn.Entry()
	name := fn.NativeName
	if name == "" {
		name = strings.ToLower(fn.Name)
	}
	if write := formOf(fn.Name); write != nil && write(w, c) {
		return
	}
	switch {
	case len(c.Args) == 2 && !isWord(name):
		w.infix(" "+name+" ", withoutWidening(c.Args, name))
		return
	case len(c.Args) == 1 && !isWord(name):
		w.WriteString("(" + name + " ")
		w.write(c.Args[0])
		w.WriteByte(')')
		return
	case fn == expr.CoalesceFunction && len(c.Args) > 2:
		w.coalesce(c.Args)
		return
	}
	args := withoutListCasts(c.Args)
	if spelled, ok := spelling[name]; ok {
		name = spelled
	}
	switch name {
	case "substring":
		w.substring(args)
		return
	case "json_value":
		w.jsonValue(c)
		return
	}
	w.WriteString(name)
	w.WriteByte('(')
	switch name {
	case "timestamp_floor", "timestamp_ceil", "timestamp_shift":
		args = w.padded(args, 4)
	case "timestamp_extract", "timestamp_format", "timestamp_parse":
		args = w.padded(args, 3)
		if l, ok := args[1].(*expr.Literal); ok && l.Value == nil && name == "timestamp_format" {
			args = []expr.Expr{args[0], expr.TextLiteral(isoPattern), args[2]}
		}
	}
	w.list(args...)
	w.WriteByte(')')
}

// isoPattern is how times are written without a pattern.
const isoPattern = "yyyy-MM-dd'T'HH:mm:ss.SSSZZ"

// withoutWidening leaves out that a whole number becomes a DOUBLE beside one, which native
// operators do by themselves; equality shows it.
func withoutWidening(args []expr.Expr, operator string) []expr.Expr {
	switch operator {
	case "==", "!=":
		out := slices.Clone(args)
		for i, a := range out {
			if c, ok := a.(*expr.Cast); ok && c.X.Type().Base == expr.Float {
				out[i] = c.X
			}
		}
		return out
	case "<", "<=", ">", ">=":
		return withoutNumberCasts(args)
	}
	out := slices.Clone(args)
	for i, a := range out {
		c, ok := a.(*expr.Cast)
		other := out[1-i]
		if _, both := other.(*expr.Cast); ok && (!both || i == 1) && c.T.IsFractional() && c.X.Type().IsNumeric() && other.Type().IsFractional() {
			out[i] = c.X
		}
		if l, isLiteral := a.(*expr.Literal); isLiteral && l.T.IsFractional() {
			if _, both := other.(*expr.Literal); !both {
				out[i] = wholeNumber(l)
			}
		}
	}
	return out
}

// wholeNumber is a constant as the whole number that it was before it was made a DOUBLE. One
// written with a point stays as it is.
func wholeNumber(l *expr.Literal) expr.Expr {
	if x, ok := l.Value.(float64); ok && l.T.Base != expr.Decimal && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return &expr.Literal{Value: int64(x), T: expr.Of(expr.BigInt)}
	}
	return l
}

// withoutListCasts leaves out that strings are taken for lists of strings, which native functions
// of lists do by themselves.
func withoutListCasts(args []expr.Expr) []expr.Expr {
	out := slices.Clone(args)
	for i, a := range out {
		if c, ok := a.(*expr.Cast); ok && c.T.Base == expr.Array && c.X.Type().IsCharacter() {
			out[i] = c.X
		}
	}
	return out
}

// substring writes the native function, which counts from 0 and takes -1 for the rest of the text.
func (w *writer) substring(args []expr.Expr) {
	w.WriteString("substring(")
	w.write(args[0])
	w.WriteString(", ")
	if l, ok := args[1].(*expr.Literal); ok {
		if n, isWhole := l.Value.(int64); isWhole {
			w.WriteString(itoa(n - 1))
		} else {
			w.value(l.Value)
		}
	} else {
		w.WriteByte('(')
		w.write(args[1])
		w.WriteString(" - 1)")
	}
	w.WriteString(", ")
	if len(args) > 2 {
		w.write(args[2])
	} else {
		w.WriteString("-1")
	}
	w.WriteByte(')')
}

// jsonValue writes the native function with the type of its result, and text as JSON without saying
// so.
func (w *writer) jsonValue(c *expr.Call) {
	w.WriteString("json_value(")
	w.list(withoutToJSON(c.Args)...)
	w.WriteString(", ")
	w.value(c.T.Runtime().String())
	w.WriteByte(')')
}

// padded fills the arguments up to n, the last of which is the zone.
func (w *writer) padded(args []expr.Expr, n int) []expr.Expr {
	if len(args) >= n {
		return args
	}
	out := append([]expr.Expr(nil), args...)
	for len(out) < n-1 {
		out = append(out, &expr.Literal{T: expr.Of(expr.Null)})
	}
	return append(out, expr.TextLiteral(w.zone))
}

func (w *writer) coalesce(args []expr.Expr) {
	w.WriteString("case_searched(")
	last := len(args) - 1
	for _, a := range args[:last] {
		w.WriteString("notnull(")
		w.write(a)
		w.WriteString("),")
		w.write(a)
		w.WriteByte(',')
	}
	w.write(args[last])
	w.WriteByte(')')
}

func (w *writer) cast(c *expr.Cast) {
	from, to := c.X.Type(), c.T
	if to.Base == expr.Float {
		if call := ofFloats(c.X); call != nil {
			w.call(call)
			return
		}
		to = expr.Of(expr.Double) // the native language knows no FLOAT
	}
	if list, ok := c.X.(*expr.Cast); ok && list.T.Base == expr.Array && list.X.Type().Base == to.Base {
		w.write(list.X) // the only one of several values: the native language takes them for it without saying so
		return
	}
	switch {
	case c.Implied:
		w.write(c.X)
	case from.IsCharacter() && to.IsTime() && !from.Multi:
		w.zoned("timestamp_parse", c.X, "null")
	case to.Base == expr.Date:
		w.zoned("timestamp_floor", c.X, "'P1D',null")
	case from.Base == expr.Date && to.IsCharacter():
		w.zoned("timestamp_format", c.X, "'yyyy-MM-dd'")
	case from.Base == expr.Timestamp && to.IsCharacter():
		w.zoned("timestamp_format", c.X, "'yyyy-MM-dd HH:mm:ss'")
	case from.Runtime() == to.Runtime() || from.Base == expr.Float && to.Base == expr.Double:
		w.write(c.X)
	default:
		w.WriteString("CAST(")
		w.write(c.X)
		w.WriteString(", ")
		w.value(to.Runtime().String())
		w.WriteByte(')')
	}
}

// ofFloats is a function of FLOATs that is computed in DOUBLE as it is written: without saying so.
// nil: e is none.
func ofFloats(e expr.Expr) *expr.Call {
	c, ok := e.(*expr.Call)
	if !ok {
		return nil
	}
	out := *c
	out.Args = slices.Clone(c.Args)
	found := false
	for i, a := range out.Args {
		if cast, ok := a.(*expr.Cast); ok && cast.X.Type().Base == expr.Float {
			out.Args[i], found = cast.X, true
		}
	}
	if !found {
		return nil
	}
	return &out
}

// zoned writes a function of x whose last argument is the zone.
func (w *writer) zoned(name string, x expr.Expr, middle string) {
	w.WriteString(name + "(")
	w.write(x)
	w.WriteString("," + middle + ",")
	w.value(w.zone)
	w.WriteByte(')')
}

func (w *writer) in(x *expr.In) {
	if writesOnce(x) {
		list := x.Values
		if x.HasNull {
			list = append(slices.Clone(list), nil)
		}
		w.WriteString("array_contains(")
		w.array(list)
		w.WriteByte(',')
		w.write(x.X)
		w.WriteByte(')')
		return
	}
	terms := comparisons(x)
	if len(terms) == 1 {
		w.write(terms[0])
		return
	}
	w.infix(" || ", terms)
}

func (w *writer) identifier(name string) {
	w.WriteByte('"')
	w.escaped(name)
	w.WriteByte('"')
}

func (w *writer) value(v any) {
	switch x := v.(type) {
	case nil:
		w.WriteString("null")
	case int64:
		w.WriteString(itoa(x))
	case float64:
		w.WriteString(vector.DoubleText(x))
	case float32:
		w.WriteString(vector.DoubleText(float64(x)))
	case string:
		w.WriteByte('\'')
		w.escaped(x)
		w.WriteByte('\'')
	case []any:
		w.array(x)
	}
}

// plainSigns are the signs that stand in texts and names as they are.
const plainSigns = " ,._-;:(){}[]<>!@#$%^&*`~?/"

// escaped writes letters, digits and plain signs unchanged, and other characters as escapes of
// their UTF-16 units.
func (w *writer) escaped(s string) {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(plainSigns, r) {
			w.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(w, `\u%04X`, unit)
		}
	}
}

func (w *writer) array(list []any) {
	if slices.ContainsFunc(list, func(v any) bool { return v != nil }) {
		w.WriteString("array(")
		for i, e := range list {
			if i > 0 {
				w.WriteByte(',')
			}
			w.value(e)
		}
		w.WriteByte(')')
		return
	}
	kind := ""
	for _, e := range list {
		switch e.(type) {
		case int64:
			kind = "<" + vector.Long.String() + ">"
		case float64:
			kind = "<" + vector.Double.String() + ">"
		}
	}
	w.WriteString("ARRAY" + kind + "[")
	for i, e := range list {
		if i > 0 {
			w.WriteString(", ")
		}
		w.value(e)
	}
	w.WriteByte(']')
}

func isWord(s string) bool {
	return s != "" && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
