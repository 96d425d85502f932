package pg

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/sql/pgtype"
)

func (t *translator) expr(x Expr) {
	t.at(x.Pos())
	switch x := x.(type) {
	case *Const:
		t.constant(x)
	case *Param:
		if t.plain {
			t.put("$", strconv.Itoa(x.N))
			return
		}
		t.out.Params = append(t.out.Params, x.N)
		t.put("?")
	case *Name:
		parts := x.Parts
		if len(parts) > 2 { // a schema
			parts = parts[len(parts)-2:]
		}
		for i, p := range parts {
			if i > 0 {
				t.put(".")
			}
			t.ident(p)
		}
	case *Star:
		if len(x.Of) > 0 {
			t.ident(x.Of[len(x.Of)-1])
			t.put(".")
		}
		t.put("*")
	case *Unary:
		t.unary(x)
	case *Binary:
		t.binary(x)
	case *Cast:
		t.cast(x)
	case *Call:
		t.call(x)
	case *Case:
		t.put("CASE")
		if x.X != nil {
			t.put(" ")
			t.expr(x.X)
		}
		for _, w := range x.Whens {
			t.put(" WHEN ")
			t.expr(w.Cond)
			t.put(" THEN ")
			t.expr(w.Then)
		}
		if x.Else != nil {
			t.put(" ELSE ")
			t.expr(x.Else)
		}
		t.put(" END")
	case *Sub:
		t.put("(")
		t.query(x.Query, false)
		t.put(")")
	case *Exists:
		t.put("EXISTS (")
		t.query(x.Query, false)
		t.put(")")
	case *Array:
		if x.Query != nil {
			t.put("(SELECT ARRAY_AGG(\"x\") FROM (")
			t.query(x.Query, false)
			t.put(") AS \"a\" (\"x\"))")
			return
		}
		t.put("ARRAY[")
		t.list(x.Items)
		t.put("]")
	case *Quantified:
		t.quantified(x)
	case *In, *Between, *Like, *Is, *Distinct:
		t.condition(x)
	case *Subscript:
		if x.Slice {
			t.refuse(x.Pos(), "slices of arrays are not supported over datasources")
			return
		}
		t.put("ARRAY_ORDINAL(")
		t.expr(x.X)
		t.put(", ")
		t.expr(x.Lo)
		t.put(")")
	case *Field:
		t.refuse(x.Pos(), "fields of rows are not supported over datasources")
		t.expr(x.X)
		t.put(".", quote(x.Name.Name))
	case *Row:
		t.put("(")
		t.list(x.Items)
		t.put(")")
	default:
		t.put(fmt.Sprintf("%p", x))
	}
}

// condition writes the operators that are words.
func (t *translator) condition(x Expr) {
	switch x := x.(type) {
	case *In:
		t.operand(x.X)
		t.not(x.Not, " IN (")
		if x.Query != nil {
			t.query(x.Query, false)
		} else {
			for i, item := range x.List {
				if i > 0 {
					t.put(", ")
				}
				t.against(x.X, item)
			}
		}
		t.put(")")
	case *Between:
		t.operand(x.X)
		t.not(x.Not, " BETWEEN ")
		if x.Symmetric {
			t.put("SYMMETRIC ")
		}
		t.against(x.X, x.Low)
		t.put(" AND ")
		t.against(x.X, x.High)
	case *Like:
		t.like(x)
	case *Is:
		t.operand(x.X)
		t.put(" IS ")
		if x.Not {
			t.put("NOT ")
		}
		t.put(strings.ToUpper(x.Test))
	case *Distinct:
		t.operand(x.X)
		t.put(" IS ")
		if x.Not {
			t.put("NOT ")
		}
		t.put("DISTINCT FROM ")
		t.against(x.X, x.Y)
	}
}

func (t *translator) not(not bool, word string) {
	if not {
		t.put(" NOT")
	}
	t.put(word)
}

// operand writes an expression in parentheses where it has operators.
func (t *translator) operand(x Expr) {
	switch x.(type) {
	case *Const, *Param, *Name, *Call, *Sub, *Row, *Case, *Array, *Exists:
		t.expr(x)
	default:
		t.put("(")
		t.expr(x)
		t.put(")")
	}
}

func (t *translator) constant(x *Const) {
	switch x.Kind {
	case Null:
		t.put("NULL")
	case Bool:
		t.put(strings.ToUpper(x.Text))
	case Text:
		t.put(literal(x.Text))
	case Bits:
		t.refuse(x.Pos(), "bit strings are not supported over datasources")
		t.put(literal(x.Text))
	case Num:
		s := x.Text
		if strings.HasPrefix(strings.TrimPrefix(s, "-"), ".") {
			s = strings.Replace(s, ".", "0.", 1)
		}
		t.put(strings.TrimSuffix(s, "."))
	default:
		t.put(x.Text)
	}
}

// isTime reports whether an expression is a point in time as far as its form tells.
func isTime(x Expr) bool {
	switch x := x.(type) {
	case *Name:
		return x.Parts[len(x.Parts)-1].Name == "__time"
	case *Cast:
		return x.Type.Array == 0 && pgtype.Named(x.Type.Name).IsTime()
	case *Call:
		switch x.Name {
		case "now", "current_timestamp", "localtimestamp", "current_date", "date_trunc", "time_floor", "time_ceil", "time_shift", "time_parse",
			"millis_to_timestamp", "to_timestamp", "transaction_timestamp", "statement_timestamp", "clock_timestamp":
			return true
		case "min", "max", "latest", "earliest", "timezone":
			return len(x.Args) > 0 && isTime(x.Args[len(x.Args)-1])
		}
	case *Binary:
		return (x.Op == "+" || x.Op == "-") && (isTime(x.L) && isSpan(x.R) || isSpan(x.L) && isTime(x.R))
	}
	return false
}

func isSpan(x Expr) bool {
	c, ok := x.(*Cast)
	return ok && c.Type.Name == "interval"
}

// against writes an operand that is compared with another: a text beside a point in time is one.
func (t *translator) against(other, x Expr) {
	c, ok := x.(*Const)
	if !ok || c.Kind != Text || !isTime(other) || t.plain {
		t.operand(x)
		return
	}
	v, err := pgtype.Parse(pgtype.Timestamptz, c.Text, t.o.Zone)
	if err != nil {
		if t.out.Err == nil {
			t.out.Err = &Error{At: c.Pos(), Code: "22007", Message: err.Error()}
		}
		return
	}
	t.value(v, pgtype.TimestampT, c.Pos())
}

// value writes a value as a literal.
func (t *translator) value(v any, typ pgtype.OID, at int) {
	switch x := v.(type) {
	case nil:
		t.put("NULL")
	case bool:
		t.put(strings.ToUpper(strconv.FormatBool(x)))
	case int64:
		t.put(strconv.FormatInt(x, 10))
	case float64:
		t.put("CAST(", literal(strconv.FormatFloat(x, 'g', -1, 64)), " AS DOUBLE)")
	case pgtype.Numeric:
		t.put(string(x))
	case string:
		t.put(literal(x))
	case pgtype.Timestamp:
		if x == pgtype.PositiveInfinity || x == pgtype.NegativeInfinity {
			t.refuse(at, "infinite times are not supported over datasources")
			return
		}
		// Milliseconds are what columns hold.
		t.put("TIMESTAMP ", literal(t.clock(x).Format("2006-01-02 15:04:05.000")))
	case pgtype.Date:
		t.put("DATE ", literal(string(pgtype.AppendDate(nil, x))))
	case pgtype.Interval:
		t.span(x, at)
	case *pgtype.Array:
		t.put("ARRAY[")
		for i, item := range x.Items {
			if i > 0 {
				t.put(", ")
			}
			t.value(item, x.Elem, at)
		}
		t.put("]")
	default:
		t.refuse(at, "values of type %s are not supported over datasources", typ.Name())
	}
}

// spans are the parts of an interval, as literals.
func spans(v pgtype.Interval) []string {
	var out []string
	if v.Months != 0 {
		out = append(out, fmt.Sprintf("INTERVAL '%d' MONTH", v.Months))
	}
	if v.Days != 0 {
		out = append(out, fmt.Sprintf("INTERVAL '%d' DAY", v.Days))
	}
	if m := v.Micros; m != 0 {
		if m%1e6 == 0 {
			out = append(out, fmt.Sprintf("INTERVAL '%d' SECOND", m/1e6))
		} else {
			sign := ""
			if m < 0 {
				sign, m = "-", -m
			}
			out = append(out, fmt.Sprintf("INTERVAL '%s%d.%03d' SECOND", sign, m/1e6, m%1e6/1000))
		}
	}
	if out == nil {
		out = []string{"INTERVAL '0' DAY"}
	}
	return out
}

func (t *translator) span(v pgtype.Interval, at int) {
	parts := spans(v)
	if len(parts) > 1 {
		t.refuse(at, "an interval of several units is supported behind + and - only")
	}
	t.put(parts[0])
}

func (t *translator) unary(x *Unary) {
	switch x.Op {
	case "not":
		t.put("NOT ")
		t.operand(x.X)
	case "-":
		t.put("-")
		t.operand(x.X)
	case "@":
		t.put("ABS(")
		t.expr(x.X)
		t.put(")")
	case "|/":
		t.put("SQRT(")
		t.expr(x.X)
		t.put(")")
	default:
		t.refuse(x.Pos(), "operator %s is not supported over datasources", x.Op)
		t.put(x.Op)
		t.operand(x.X)
	}
}

// calls are the operators that are functions.
var calls = map[string]string{
	"%": "MOD", "^": "POWER", "&": "BITWISE_AND", "|": "BITWISE_OR", "#": "BITWISE_XOR", "<<": "BITWISE_SHIFT_LEFT",
	">>": "BITWISE_SHIFT_RIGHT",
	"@>": "ARRAY_CONTAINS", "&&": "ARRAY_OVERLAP",
}

func (t *translator) binary(x *Binary) {
	if t.plain {
		t.put("(")
		t.expr(x.L)
		t.put(" ", x.Op, " ")
		t.expr(x.R)
		t.put(")")
		return
	}
	if name := calls[x.Op]; name != "" {
		t.put(name, "(")
		t.expr(x.L)
		t.put(", ")
		t.expr(x.R)
		t.put(")")
		return
	}
	switch op := x.Op; op {
	case "and", "or":
		t.chain(x, op)
	case "=", "<>", "<", ">", "<=", ">=":
		t.against(x.R, x.L)
		t.at(x.Pos())
		t.put(" ", op, " ")
		t.against(x.L, x.R)
	case "+", "-":
		if v, ok := spanOf(x.R); ok {
			t.operand(x.L)
			for _, part := range spans(v) {
				t.put(" ", op, " ", part)
			}
			return
		}
		t.operand(x.L)
		t.put(" ", op, " ")
		t.operand(x.R)
	case "*", "/", "||":
		t.operand(x.L)
		t.at(x.Pos())
		t.put(" ", op, " ")
		t.operand(x.R)
	case "~", "~*", "!~", "!~*":
		t.put("(")
		if op[0] == '!' {
			t.put("NOT ")
		}
		t.put("REGEXP_LIKE(")
		t.expr(x.L)
		t.put(", ")
		if strings.HasSuffix(op, "*") {
			t.put("'(?i)' || ")
		}
		t.operand(x.R)
		t.put("))")
	case "~~", "~~*", "!~~", "!~~*":
		l := &Like{At: x.At, X: x.L, Pattern: x.R, Op: "like", Not: op[0] == '!'}
		if strings.HasSuffix(op, "*") {
			l.Op = "ilike"
		}
		t.like(l)
	case "->", "->>":
		t.json(x)
	default:
		t.refuse(x.Pos(), "operator %s is not supported over datasources", op)
	}
}

// chain writes a AND b AND c without parentheses, which nest no deeper than they must.
func (t *translator) chain(x *Binary, op string) {
	var list []Expr
	var l Expr = x
	for {
		b, ok := l.(*Binary)
		if !ok || b.Op != op {
			break
		}
		list = append(list, b.R)
		l = b.L
	}
	t.operand(l)
	for _, x := range slices.Backward(list) {
		t.put(" ", strings.ToUpper(op), " ")
		t.operand(x)
	}
}

func spanOf(x Expr) (pgtype.Interval, bool) {
	c, ok := x.(*Cast)
	if !ok || c.Type.Name != "interval" {
		return pgtype.Interval{}, false
	}
	k, ok := c.X.(*Const)
	if !ok || k.Kind != Text {
		return pgtype.Interval{}, false
	}
	return parseSpan(k.Text, c.Type)
}

// parseSpan reads the text of an interval; the unit of a bare number is the type's.
func parseSpan(text string, typ TypeName) (pgtype.Interval, bool) {
	if n := len(typ.Mods); n > 0 && strings.Trim(text, "-+0123456789.") == "" {
		text += " " + typ.Mods[n-1]
	}
	v, err := pgtype.ParseInterval(text)
	if err != nil {
		return pgtype.Interval{}, false
	}
	return v.(pgtype.Interval), true
}

// json writes x -> 'key' and x ->> 'key'.
func (t *translator) json(x *Binary) {
	path := ""
	var of Expr = x
	for {
		b, ok := of.(*Binary)
		if !ok || b.Op != "->" && b.Op != "->>" {
			break
		}
		k, ok := b.R.(*Const)
		if !ok || k.Kind != Text && k.Kind != Int {
			t.refuse(b.Pos(), "%s takes a constant over datasources", b.Op)
			return
		}
		if k.Kind == Int {
			path = "[" + k.Text + "]" + path
		} else {
			path = `["` + strings.ReplaceAll(k.Text, `"`, `\"`) + `"]` + path
		}
		of = b.L
	}
	name := "JSON_QUERY("
	if x.Op == "->>" {
		name = "JSON_VALUE("
	}
	t.put(name)
	t.expr(of)
	t.put(", ", literal("$"+path), ")")
}

func (t *translator) like(x *Like) {
	t.operand(x.X)
	t.not(x.Not, map[string]string{"like": " LIKE ", "ilike": " ILIKE ", "similar": " SIMILAR TO "}[x.Op])
	t.operand(x.Pattern)
	switch c, ok := x.Pattern.(*Const); {
	case x.Escape != nil:
		t.put(" ESCAPE ")
		t.operand(x.Escape)
	case !ok || strings.Contains(c.Text, `\`):
		t.put(` ESCAPE '\'`)
	}
}

func (t *translator) quantified(x *Quantified) {
	word := " ANY ("
	if x.All {
		word = " ALL ("
	}
	if x.Query != nil {
		t.operand(x.X)
		t.put(" ", x.Op, word)
		t.query(x.Query, false)
		t.put(")")
		return
	}
	if p, ok := x.Set.(*Param); ok && !t.plain {
		t.listParam(x, p)
		return
	}
	var items []Expr
	switch s := x.Set.(type) {
	case *Array:
		items = s.Items
	case *Cast:
		if a, ok := s.X.(*Array); ok {
			items = a.Items
		}
	}
	if items != nil {
		t.members(x, items)
		return
	}
	if v, ok := t.constantOf(x.Set); ok {
		if a, ok := v.(*pgtype.Array); ok {
			t.memberValues(x, a)
			return
		}
	}
	if x.Op == "=" && !x.All {
		t.put("ARRAY_CONTAINS(")
		t.expr(x.Set)
		t.put(", ")
		t.expr(x.X)
		t.put(")")
		return
	}
	t.refuse(x.Pos(), "%s ANY and ALL take a list or a parameter over datasources", x.Op)
}

// members writes x op ANY (ARRAY[..]) as a chain of comparisons.
func (t *translator) members(x *Quantified, items []Expr) {
	join := " OR "
	if x.All {
		join = " AND "
	}
	if len(items) == 0 {
		t.put(strings.ToUpper(strconv.FormatBool(x.All)))
		return
	}
	t.put("(")
	for i, item := range items {
		if i > 0 {
			t.put(join)
		}
		t.expr(&Binary{At: x.At, Op: x.Op, L: x.X, R: item})
	}
	t.put(")")
}

func (t *translator) memberValues(x *Quantified, a *pgtype.Array) {
	if x.Op == "=" && !x.All || x.Op == "<>" && x.All {
		if len(a.Items) == 0 {
			t.put(strings.ToUpper(strconv.FormatBool(x.All)))
			return
		}
		t.operand(x.X)
		t.not(x.All, " IN (")
		for i, v := range a.Items {
			if i > 0 {
				t.put(", ")
			}
			t.value(v, a.Elem, x.Pos())
		}
		t.put(")")
		return
	}
	join := " OR "
	if x.All {
		join = " AND "
	}
	t.put("(")
	for i, v := range a.Items {
		if i > 0 {
			t.put(join)
		}
		if strings.ContainsAny(x.Op, "~") {
			t.expr(&Binary{At: x.At, Op: x.Op, L: x.X, R: &Const{x.At, Text, fmt.Sprint(v)}})
			continue
		}
		t.operand(x.X)
		t.put(" ", x.Op, " ")
		t.value(v, a.Elem, x.Pos())
	}
	if len(a.Items) == 0 {
		t.put(strings.ToUpper(strconv.FormatBool(x.All)))
	}
	t.put(")")
}

// listParam writes x op ANY ($n): before the values are known as x op ?, whose type is that of an
// item.
func (t *translator) listParam(x *Quantified, p *Param) {
	if !t.o.Bound {
		t.operand(x.X)
		t.put(" = ")
		t.out.Lists[p.N] = len(t.out.Params)
		t.out.Params = append(t.out.Params, p.N)
		t.put("?")
		return
	}
	switch a := t.o.Params[p.N-1].(type) {
	case *pgtype.Array:
		t.memberValues(x, a)
	default:
		t.put("CAST(NULL AS BOOLEAN)")
	}
}

func (t *translator) constantOf(x Expr) (any, bool) {
	if t.o.Constant == nil || t.plain {
		return nil, false
	}
	v, _, ok := t.o.Constant(x)
	return v, ok
}

// clock is a point in time in the zone of the query.
func (t *translator) clock(x pgtype.Timestamp) time.Time {
	if t.o.Zone != nil {
		return x.Time().In(t.o.Zone)
	}
	return x.Time()
}
