package expr_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/expr/stringfn"
	"github.com/hengedb/henge/internal/expr/timefn"
	"github.com/hengedb/henge/internal/fault"
)

// The tests write expressions as SQL. This is a small reader for them; the real parser is package
// sql, which depends on this one.

type sqlReader struct {
	tokens  []sqlToken
	pos     int
	columns []expr.Column
	zone    *chrono.Zone
}

type sqlToken struct {
	kind byte // 'i' identifier, 'q' quoted identifier, 's' string, 'n' number, 'o' operator, 0 end
	text string
}

type sqlError struct{ err error }

// parseSQL reads one expression over the given columns. Errors of binding are returned; text the
// reader does not know is reported by errUnread.
func parseSQL(text string, columns []expr.Column, zone *chrono.Zone) (e expr.Expr, err error) {
	defer func() {
		if r := recover(); r != nil {
			failure, ok := r.(sqlError)
			if !ok {
				panic(r)
			}
			err = failure.err
		}
	}()
	r := &sqlReader{tokens: sqlTokens(text), columns: columns, zone: zone}
	e = r.or()
	if r.tokens[r.pos].kind != 0 {
		r.unread()
	}
	return e, nil
}

type errUnread string

func (e errUnread) Error() string { return "the test reader does not know: " + string(e) }

func (r *sqlReader) unread() {
	panic(sqlError{errUnread(fmt.Sprint(r.tokens[max(0, r.pos-1):min(len(r.tokens), r.pos+3)]))})
}

func sqlTokens(s string) []sqlToken {
	var out []sqlToken
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\n' || c == '\t':
			i++
		case c == '\'' || c == '"':
			var b strings.Builder
			for i++; i < len(s); i++ {
				if s[i] == c {
					if i+1 < len(s) && s[i+1] == c {
						i++
					} else {
						break
					}
				}
				b.WriteByte(s[i])
			}
			if i >= len(s) {
				panic(sqlError{errUnread("unterminated")})
			}
			i++
			kind := byte('s')
			if c == '"' {
				kind = 'q'
			}
			out = append(out, sqlToken{kind, b.String()})
		case c >= '0' && c <= '9' || c == '.' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9':
			j := i
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == '.') {
				j++
			}
			if j < len(s) && s[j]|0x20 == 'e' {
				k := j + 1
				if k < len(s) && (s[k] == '+' || s[k] == '-') {
					k++
				}
				if k < len(s) && s[k] >= '0' && s[k] <= '9' {
					for j = k; j < len(s) && s[j] >= '0' && s[j] <= '9'; j++ {
					}
				}
			}
			out = append(out, sqlToken{'n', s[i:j]})
			i = j
		case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
			j := i
			for j < len(s) && (s[j] == '_' || s[j]|0x20 >= 'a' && s[j]|0x20 <= 'z' || s[j] >= '0' && s[j] <= '9') {
				j++
			}
			out = append(out, sqlToken{'i', s[i:j]})
			i = j
		default:
			n := 1
			for _, op := range []string{"<>", "<=", ">=", "!=", "||"} {
				if strings.HasPrefix(s[i:], op) {
					n = 2
				}
			}
			out = append(out, sqlToken{'o', s[i : i+n]})
			i += n
		}
	}
	return append(out, sqlToken{}, sqlToken{}, sqlToken{})
}

func (r *sqlReader) word() string {
	if t := r.tokens[r.pos]; t.kind == 'i' {
		return strings.ToUpper(t.text)
	}
	return ""
}

func (r *sqlReader) accept(texts ...string) bool {
	for i, text := range texts {
		if r.pos+i >= len(r.tokens) {
			return false
		}
		t := r.tokens[r.pos+i]
		if t.kind == 's' || t.kind == 'q' || t.kind == 0 || !strings.EqualFold(t.text, text) {
			return false
		}
	}
	r.pos += len(texts)
	return true
}

func (r *sqlReader) expect(text string) {
	if !r.accept(text) {
		r.unread()
	}
}

func must(e expr.Expr, err error) expr.Expr {
	if err != nil {
		panic(sqlError{err})
	}
	return e
}

var nowhere = fault.Span{}

func (r *sqlReader) call(name string, args ...expr.Expr) expr.Expr {
	f, ok := catalog.Lookup(name)
	if !ok {
		panic(sqlError{expr.NoMatch(name, args, nowhere)})
	}
	return must(expr.NewCall(f, args, nowhere))
}

func (r *sqlReader) or() expr.Expr {
	terms := []expr.Expr{r.and()}
	for r.accept("OR") {
		terms = append(terms, r.and())
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return must(expr.NewOr(terms, nowhere))
}

func (r *sqlReader) and() expr.Expr {
	terms := []expr.Expr{r.not()}
	for r.accept("AND") {
		terms = append(terms, r.not())
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return must(expr.NewAnd(terms, nowhere))
}

func (r *sqlReader) not() expr.Expr {
	if r.accept("NOT") {
		return must(expr.NewNot(r.not(), nowhere))
	}
	x := r.comparison()
	for {
		switch {
		case r.accept("IS", "NOT", "NULL"):
			x = r.call("IS NOT NULL", x)
		case r.accept("IS", "NULL"), r.accept("IS", "UNKNOWN"):
			x = r.call("IS NULL", x)
		case r.accept("IS", "NOT", "TRUE"):
			x = r.call("IS NOT TRUE", x)
		case r.accept("IS", "TRUE"):
			x = r.call("IS TRUE", x)
		case r.accept("IS", "NOT", "FALSE"):
			x = r.call("IS NOT FALSE", x)
		case r.accept("IS", "FALSE"):
			x = r.call("IS FALSE", x)
		case r.accept("IS", "NOT", "DISTINCT", "FROM"):
			x = must(expr.NewCompare("IS NOT DISTINCT FROM", x, r.comparison(), nowhere))
		case r.accept("IS", "DISTINCT", "FROM"):
			x = must(expr.NewCompare("IS DISTINCT FROM", x, r.comparison(), nowhere))
		default:
			return x
		}
	}
}

func (r *sqlReader) comparison() expr.Expr {
	x := r.ranges()
	for {
		t := r.tokens[r.pos]
		switch {
		case t.kind == 'o' && strings.Contains(" = <> != < > <= >= ", " "+t.text+" "):
			r.pos++
			x = must(expr.NewCompare(t.text, x, r.ranges(), nowhere))
		default:
			return x
		}
	}
}

func (r *sqlReader) ranges() expr.Expr {
	x := r.sum()
	for {
		mark := r.pos
		not := r.accept("NOT")
		var y expr.Expr
		switch {
		case r.accept("BETWEEN"):
			symmetric := r.accept("SYMMETRIC")
			low := r.sum()
			r.expect("AND")
			y = must(expr.NewBetween(x, low, r.sum(), symmetric, false, nowhere))
		case r.accept("IN"):
			r.expect("(")
			var list []expr.Expr
			for {
				list = append(list, r.or())
				if !r.accept(",") {
					break
				}
			}
			r.expect(")")
			y = must(expr.NewIn(x, list, nowhere))
		case r.word() == "LIKE" || r.word() == "ILIKE":
			fold := r.word() == "ILIKE"
			r.pos++
			pattern := r.sum()
			var escape expr.Expr
			if r.accept("ESCAPE") {
				escape = r.sum()
			}
			y = must(stringfn.NewLike(x, pattern, escape, fold, nowhere))
		default:
			r.pos = mark
			return x
		}
		if not {
			y = must(expr.NewNot(y, nowhere))
		}
		x = y
	}
}

func (r *sqlReader) sum() expr.Expr {
	x := r.product()
	for {
		switch {
		case r.accept("+"):
			x = r.call("+", x, r.product())
		case r.accept("-"):
			x = r.call("-", x, r.product())
		default:
			return x
		}
	}
}

func (r *sqlReader) product() expr.Expr {
	x := r.unary()
	for {
		switch {
		case r.accept("*"):
			x = r.call("*", x, r.unary())
		case r.accept("/"):
			x = r.call("/", x, r.unary())
		case r.accept("%"):
			x = r.call("%", x, r.unary())
		case r.accept("||"):
			x = r.call("||", x, r.unary())
		default:
			return x
		}
	}
}

func (r *sqlReader) unary() expr.Expr {
	switch {
	case r.accept("-"):
		if t := r.tokens[r.pos]; t.kind == 'n' {
			r.pos++
			return r.number("-" + t.text)
		}
		return r.call("-", r.unary())
	case r.accept("+"):
		return r.call("+", r.unary())
	}
	x := r.primary()
	for r.accept("[") {
		x = r.call("ARRAY_ORDINAL", x, r.or())
		r.expect("]")
	}
	return x
}

func (r *sqlReader) number(text string) expr.Expr {
	digits := strings.TrimPrefix(text, "-")
	if strings.ContainsAny(digits, "eE") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			r.unread()
		}
		if x == 0 {
			x = 0
		}
		return &expr.Literal{Value: x, T: expr.Of(expr.Double).NotNull()}
	}
	if strings.Contains(digits, ".") && !strings.HasSuffix(digits, ".") {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || len(digits) > 20 {
			r.unread()
		}
		if x == 0 {
			x = 0
		}
		return &expr.Literal{Value: x, T: expr.Of(expr.Decimal).NotNull()}
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "."), 10, 64)
	if err != nil {
		r.unread()
	}
	t := expr.Of(expr.BigInt)
	if n == int64(int32(n)) {
		t = expr.Of(expr.Integer)
	}
	return &expr.Literal{Value: n, T: t.NotNull()}
}

func text(s string) expr.Expr { return &expr.Literal{Value: s, T: expr.Of(expr.Char).NotNull()} }

func (r *sqlReader) primary() expr.Expr {
	t := r.tokens[r.pos]
	switch t.kind {
	case 'n':
		r.pos++
		return r.number(t.text)
	case 's':
		r.pos++
		return text(t.text)
	case 'q':
		r.pos++
		return r.columnNamed(t.text)
	case 'o':
		if r.accept("(") {
			x := r.or()
			r.expect(")")
			return x
		}
	case 'i':
		return r.named()
	}
	r.unread()
	return nil
}

func (r *sqlReader) columnNamed(name string) expr.Expr {
	for i := range r.columns {
		if r.columns[i].Name == name {
			return &r.columns[i]
		}
	}
	panic(sqlError{errUnread("column " + name)})
}

func (r *sqlReader) named() expr.Expr {
	name := r.word()
	if name == "" {
		r.unread()
	}
	next := r.tokens[r.pos+1]
	start := r.pos
	r.pos++
	switch name {
	case "TRUE", "FALSE":
		return &expr.Literal{Value: kernel.Bool(name == "TRUE"), T: expr.Of(expr.Boolean).NotNull()}
	case "NULL":
		return &expr.Literal{T: expr.Of(expr.Null)}
	case "UNKNOWN":
		return &expr.Literal{T: expr.Of(expr.Boolean)}
	case "DATE", "TIMESTAMP":
		if next.kind == 's' {
			r.pos++
			parse, t := chrono.ParseTimestampLiteral, expr.Of(expr.Timestamp)
			if name == "DATE" {
				parse, t = chrono.ParseDateLiteral, expr.Of(expr.Date)
			}
			ms, err := parse(next.text, r.zone)
			if err != nil {
				panic(sqlError{err})
			}
			return &expr.Literal{Value: ms, T: t.NotNull()}
		}
	case "INTERVAL":
		return r.interval()
	case "CASE":
		return r.caseExpr()
	case "CAST":
		return r.cast()
	case "ARRAY":
		if r.accept("[") {
			return r.call("ARRAY", r.list("]")...)
		}
	case "CURRENT_TIMESTAMP", "CURRENT_DATE", "LOCALTIMESTAMP", "PI":
		if next.text != "(" {
			return r.call(name)
		}
	}
	if next.text != "(" || next.kind != 'o' {
		return r.columnNamed(r.tokens[start].text)
	}
	r.pos++
	switch name {
	case "EXTRACT":
		unit := r.unit()
		r.expect("FROM")
		x := r.or()
		r.expect(")")
		return must(timefn.NewExtract(unit, x, nowhere))
	case "FLOOR", "CEIL", "CEILING":
		x := r.or()
		if r.accept("TO") {
			unit := r.unit()
			r.expect(")")
			return must(timefn.NewFloorTo(unit, x, name != "FLOOR", nowhere))
		}
		r.expect(")")
		return r.call(name, x)
	case "TIMESTAMPADD", "TIMESTAMPDIFF":
		unit := r.unit()
		r.expect(",")
		return r.call(name, append([]expr.Expr{text(unit.String())}, r.list(")")...)...)
	case "POSITION":
		x := r.sum()
		r.expect("IN")
		args := []expr.Expr{x, r.or()}
		if r.accept("FROM") {
			args = append(args, r.or())
		}
		r.expect(")")
		return r.call("POSITION", args...)
	case "SUBSTRING":
		x := r.or()
		if r.accept("FROM") {
			args := []expr.Expr{x, r.or()}
			if r.accept("FOR") {
				args = append(args, r.or())
			}
			r.expect(")")
			return r.call("SUBSTRING", args...)
		}
		if r.accept(",") {
			return r.call("SUBSTRING", append([]expr.Expr{x}, r.list(")")...)...)
		}
		r.expect(")")
		return r.call("SUBSTRING", x)
	case "TRIM":
		return r.trim()
	case "JSON_VALUE", "JSON_QUERY", "JSON_QUERY_ARRAY":
		return r.jsonPath(name)
	case "JSON_OBJECT":
		return r.jsonObject()
	}
	return r.call(name, r.list(")")...)
}

func (r *sqlReader) list(end string) []expr.Expr {
	var args []expr.Expr
	if r.accept(end) {
		return nil
	}
	for {
		args = append(args, r.or())
		if r.accept(end) {
			return args
		}
		r.expect(",")
	}
}

func (r *sqlReader) unit() chrono.Unit {
	u, ok := chrono.ParseUnit(r.tokens[r.pos].text)
	if !ok {
		r.unread()
	}
	r.pos++
	return u
}

func (r *sqlReader) trim() expr.Expr {
	side := "BOTH"
	switch {
	case r.accept("LEADING"):
		side = "LEADING"
	case r.accept("TRAILING"):
		side = "TRAILING"
	case r.accept("BOTH"):
	}
	var set expr.Expr
	if !r.accept("FROM") {
		set = r.or()
		if !r.accept("FROM") {
			r.expect(")")
			return must(stringfn.NewTrim(side, nil, set, nowhere))
		}
	}
	s := r.or()
	r.expect(")")
	return must(stringfn.NewTrim(side, set, s, nowhere))
}

func (r *sqlReader) jsonPath(name string) expr.Expr {
	args := []expr.Expr{r.or()}
	for r.accept(",") {
		args = append(args, r.or())
	}
	if name == "JSON_VALUE" {
		returning := expr.Of(expr.Varchar)
		if r.accept("RETURNING") {
			returning = r.typeName()
		}
		for r.accept("NULL", "ON", "EMPTY") || r.accept("NULL", "ON", "ERROR") {
		}
		r.expect(")")
		if len(args) != 2 {
			r.unread()
		}
		return must(expr.NewJSONValue(args[0], args[1], returning, nowhere))
	}
	r.expect(")")
	return r.call(name, args...)
}

func (r *sqlReader) jsonObject() expr.Expr {
	var args []expr.Expr
	if r.accept(")") {
		return r.call("JSON_OBJECT")
	}
	for {
		r.accept("KEY")
		args = append(args, r.sum())
		if !r.accept("VALUE") {
			r.expect(":")
		}
		args = append(args, r.or())
		if r.accept(",") {
			continue
		}
		r.accept("NULL", "ON", "NULL")
		r.expect(")")
		return r.call("JSON_OBJECT", args...)
	}
}

func (r *sqlReader) caseExpr() expr.Expr {
	var operand expr.Expr
	if r.word() != "WHEN" {
		operand = r.or()
	}
	var whens []expr.When
	for r.accept("WHEN") {
		cond := r.or()
		if operand != nil {
			cond = must(expr.NewCompare("=", operand, cond, nowhere))
		}
		r.expect("THEN")
		whens = append(whens, expr.When{cond, r.or()})
	}
	var other expr.Expr
	if r.accept("ELSE") {
		other = r.or()
	}
	r.expect("END")
	return must(expr.NewCase(whens, other, nowhere))
}

func (r *sqlReader) cast() expr.Expr {
	r.expect("(")
	x := r.or()
	r.expect("AS")
	t := r.typeName()
	r.expect(")")
	return must(expr.NewCast(x, t, nowhere))
}

func (r *sqlReader) typeName() expr.Type {
	name := r.word()
	t, ok := expr.ParseTypeName(name)
	if !ok {
		r.unread()
	}
	r.pos++
	if r.accept("(") {
		for !r.accept(")") {
			r.pos++
		}
	}
	if r.accept("ARRAY") {
		return expr.ArrayOf(t)
	}
	return t
}

func (r *sqlReader) interval() expr.Expr {
	sign := int64(1)
	if r.accept("-") {
		sign = -1
	}
	value := r.tokens[r.pos]
	if value.kind != 's' {
		r.unread()
	}
	r.pos++
	unit := r.word()
	r.pos++
	if r.accept("(") {
		r.pos++
		r.expect(")")
	}
	if r.word() == "TO" {
		r.unread()
	}
	n, err := strconv.ParseInt(value.text, 10, 64)
	if err != nil {
		r.unread()
	}
	n *= sign
	months := map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}
	millis := map[string]int64{"SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000, "WEEK": 604_800_000}
	if m, ok := months[unit]; ok {
		return &expr.Literal{Value: n * m, T: expr.Of(expr.IntervalMonth).NotNull()}
	}
	if m, ok := millis[unit]; ok {
		return &expr.Literal{Value: n * m, T: expr.Of(expr.IntervalDay).NotNull()}
	}
	r.unread()
	return nil
}

// mustParse reads an expression in UTC.
func mustParse(t *testing.T, sql string, columns ...expr.Column) expr.Expr {
	t.Helper()
	e, err := parseSQL(sql, columns, nil)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return e
}
