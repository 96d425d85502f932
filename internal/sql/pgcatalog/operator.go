package pgcatalog

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

func (c *compiler) binary(sc *scope, x *pg.Binary) *expr {
	if x.Op == "and" || x.Op == "or" {
		return c.logic(sc, x)
	}
	a, b := c.expr(sc, x.L), c.expr(sc, x.R)
	return c.operate(x.Op, a, b, x.Pos())
}

// logic computes AND and OR of three values.
func (c *compiler) logic(sc *scope, x *pg.Binary) *expr {
	a, b := c.coerce(c.expr(sc, x.L), pgtype.Bool), c.coerce(c.expr(sc, x.R), pgtype.Bool)
	ends := x.Op == "or" // what decides alone
	return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
		v := a.eval(f)
		if v == ends {
			return ends
		}
		w := b.eval(f)
		if w == ends {
			return ends
		}
		if v == nil || w == nil {
			return nil
		}
		return !ends
	}}
}

// strict makes an expression of two operands that is NULL when one of them is.
func strict(t pgtype.OID, a, b *expr, of func(f *frame, v, w any) any) *expr {
	return &expr{typ: t, eval: func(f *frame) any {
		v := a.eval(f)
		if v == nil {
			return nil
		}
		w := b.eval(f)
		if w == nil {
			return nil
		}
		return of(f, v, w)
	}}
}

func (c *compiler) operate(op string, a, b *expr, at int) *expr {
	missing := func() {
		fail(at, "42883", "operator does not exist: %s %s %s", a.typ.Name(), op, b.typ.Name())
	}
	switch op {
	case "=", "<>", "<", ">", "<=", ">=":
		t := c.join2(a.typ, b.typ)
		if t == 0 {
			missing()
		}
		if t == pgtype.Unknown {
			t = pgtype.Text
		}
		a, b = c.coerce(a, t), c.coerce(b, t)
		return strict(pgtype.Bool, a, b, func(_ *frame, v, w any) any { return holds(op, compare(v, w)) })
	case "~", "~*", "!~", "!~*":
		a, b = c.coerce(a, pgtype.Text), c.coerce(b, pgtype.Text)
		return strict(pgtype.Bool, a, b, func(_ *frame, v, w any) any {
			re := pattern(w.(string), strings.HasSuffix(op, "*"), at)
			return re.MatchString(v.(string)) != strings.HasPrefix(op, "!")
		})
	case "~~", "~~*", "!~~", "!~~*":
		a, b = c.coerce(a, pgtype.Text), c.coerce(b, pgtype.Text)
		return strict(pgtype.Bool, a, b, func(_ *frame, v, w any) any {
			return likes(v.(string), w.(string), `\`, strings.HasSuffix(op, "*")) != strings.HasPrefix(op, "!")
		})
	case "||":
		return c.concat(a, b)
	case "@>", "<@", "&&":
		a, b = c.balance(a, b)
		return strict(pgtype.Bool, a, b, func(_ *frame, v, w any) any { return contains(op, v, w) })
	case "&", "|", "#":
		a, b = c.coerce(a, pgtype.Int8), c.coerce(b, pgtype.Int8)
		return strict(pgtype.Int8, a, b, func(_ *frame, v, w any) any {
			x, y := v.(int64), w.(int64)
			switch op {
			case "&":
				return x & y
			case "|":
				return x | y
			}
			return x ^ y
		})
	case "+", "-", "*", "/", "%", "^":
		t := arithmeticType(op, a.typ, b.typ)
		if t == 0 {
			missing()
		}
		if a.typ == pgtype.Unknown {
			a = c.coerce(a, otherOperand(op, b.typ, t))
		}
		if b.typ == pgtype.Unknown {
			b = c.coerce(b, otherOperand(op, a.typ, t))
		}
		if a.typ == pgtype.DateType && b.typ == pgtype.IntervalT {
			a = c.coerce(a, pgtype.TimestampT)
		}
		return strict(t, a, b, func(_ *frame, v, w any) any {
			out := represent(arithmetic(op, v, w, at), t)
			if t == pgtype.Int4 || t == pgtype.Int2 {
				return toInteger(out, t, at)
			}
			return out
		})
	}
	missing()
	return nil
}

// otherOperand is the type of a literal beside an operand.
func otherOperand(op string, t, result pgtype.OID) pgtype.OID {
	if t.IsTime() && result != pgtype.IntervalT && (op == "+" || op == "-") {
		return pgtype.IntervalT
	}
	return t
}

func arithmeticType(op string, a, b pgtype.OID) pgtype.OID {
	switch {
	case a == pgtype.Unknown && b == pgtype.Unknown:
		return 0
	case a == pgtype.Unknown:
		return arithmeticType(op, b, b)
	case b == pgtype.Unknown && a.IsTime():
		return a
	case b == pgtype.Unknown:
		return arithmeticType(op, a, a)
	case rank(a) > 0 && rank(b) > 0:
		if op == "^" {
			return pgtype.Float8
		}
		if rank(a) >= rank(b) {
			return a
		}
		return b
	case a == pgtype.DateType && b == pgtype.DateType && op == "-":
		return pgtype.Int4
	case a == pgtype.DateType && b.IsInteger():
		return a
	case a == pgtype.DateType && b == pgtype.IntervalT:
		return pgtype.TimestampT
	case a.IsTime() && b.IsTime() && op == "-":
		return pgtype.IntervalT
	case a.IsTime() && b == pgtype.IntervalT:
		return a
	case a == pgtype.IntervalT && b.IsTime() && op == "+":
		return b
	case a == pgtype.IntervalT && (b == pgtype.IntervalT || rank(b) > 0), b == pgtype.IntervalT && rank(a) > 0:
		return pgtype.IntervalT
	}
	return 0
}

func holds(op string, n int) bool {
	switch op {
	case "=":
		return n == 0
	case "<>":
		return n != 0
	case "<":
		return n < 0
	case ">":
		return n > 0
	case "<=":
		return n <= 0
	}
	return n >= 0
}

func (c *compiler) concat(a, b *expr) *expr {
	ae, be := pgtype.ElementOf(a.typ), pgtype.ElementOf(b.typ)
	if ae == 0 && be == 0 {
		a, b = c.castText(a), c.castText(b)
		return strict(pgtype.Text, a, b, func(_ *frame, v, w any) any { return v.(string) + w.(string) })
	}
	t := a.typ
	if ae == 0 {
		t = b.typ
	}
	list := func(e *expr) func(f *frame) []any {
		if pgtype.ElementOf(e.typ) != 0 || e.typ == pgtype.Unknown && e.literal != nil && strings.HasPrefix(*e.literal, "{") {
			e = c.coerce(e, t)
			return func(f *frame) []any {
				if v, ok := e.eval(f).(*pgtype.Array); ok {
					return v.Items
				}
				return nil
			}
		}
		e = c.coerce(e, pgtype.ElementOf(t))
		return func(f *frame) []any { return []any{e.eval(f)} }
	}
	left, right := list(a), list(b)
	return &expr{typ: t, eval: func(f *frame) any {
		l := left(f)
		return &pgtype.Array{Elem: pgtype.ElementOf(t), Lower: 1, Items: append(slices.Clip(l), right(f)...)}
	}}
}

// castText makes text of an expression, as a cast does.
func (c *compiler) castText(e *expr) *expr {
	if e.typ.IsText() {
		return c.coerce(e, pgtype.Text)
	}
	from := e.typ
	return &expr{typ: pgtype.Text, at: e.at, eval: func(f *frame) any {
		v := e.eval(f)
		if v == nil {
			return nil
		}
		return text(v, from, f.run.s)
	}}
}

func contains(op string, v, w any) bool {
	a, ok := v.(*pgtype.Array)
	b, also := w.(*pgtype.Array)
	if !ok || !also {
		return false
	}
	if op == "<@" {
		a, b = b, a
	}
	for _, y := range b.Items {
		in := false
		for _, x := range a.Items {
			in = in || x != nil && y != nil && compare(x, y) == 0
		}
		switch {
		case op == "&&" && in:
			return true
		case op != "&&" && !in:
			return false
		}
	}
	return op != "&&"
}

// patterns keeps compiled patterns; clients send few.
var patterns sync.Map

// pattern compiles a regular expression.
func pattern(text string, fold bool, at int) *regexp.Regexp {
	if rest, ok := strings.CutPrefix(text, "(?i)"); ok {
		text, fold = rest, true
	}
	text = strings.TrimPrefix(text, "***:")
	key := text
	if fold {
		key = "(?i)" + text
	}
	if re, ok := patterns.Load(key); ok {
		return re.(*regexp.Regexp)
	}
	re, err := regexp.Compile("(?s)" + key)
	if err != nil {
		fail(at, "2201B", "invalid regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if len(key) < 256 {
		n := 0
		patterns.Range(func(_, _ any) bool { n++; return n < 1000 })
		if n >= 1000 {
			patterns.Clear()
		}
		patterns.Store(key, re)
	}
	return re
}

// likes matches a pattern of LIKE.
func likes(s, p, escape string, fold bool) bool {
	if fold {
		s, p = strings.ToLower(s), strings.ToLower(p)
	}
	var b strings.Builder
	b.WriteString("(?s)^")
	esc := rune(-1)
	if r := []rune(escape); len(r) > 0 {
		esc = r[0]
	}
	escaped := false
	for _, r := range p {
		switch {
		case !escaped && r == esc:
			escaped = true
			continue
		case !escaped && r == '%':
			b.WriteString(".*")
		case !escaped && r == '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		escaped = false
	}
	b.WriteString("$")
	if re, ok := patterns.Load(b.String()); ok {
		return re.(*regexp.Regexp).MatchString(s)
	}
	return pattern(b.String(), false, 0).MatchString(s)
}

func (c *compiler) like(sc *scope, x *pg.Like) *expr {
	a, p := c.coerce(c.expr(sc, x.X), pgtype.Text), c.coerce(c.expr(sc, x.Pattern), pgtype.Text)
	if x.Op == "similar" {
		return strict(pgtype.Bool, a, p, func(_ *frame, v, w any) any {
			re := strings.NewReplacer("%", ".*", "_", ".").Replace(w.(string))
			return pattern("^(?:"+re+")$", false, x.Pos()).MatchString(v.(string)) != x.Not
		})
	}
	escape := constant(pgtype.Text, `\`)
	if x.Escape != nil {
		escape = c.coerce(c.expr(sc, x.Escape), pgtype.Text)
	}
	return strict(pgtype.Bool, a, p, func(f *frame, v, w any) any {
		e, _ := escape.eval(f).(string)
		return likes(v.(string), w.(string), e, x.Op == "ilike") != x.Not
	})
}

func (c *compiler) is(sc *scope, x *pg.Is) *expr {
	e := c.expr(sc, x.X)
	if x.Test != "null" {
		e = c.coerce(e, pgtype.Bool)
	} else if e.typ == pgtype.Unknown {
		e = c.coerce(e, pgtype.Text)
	}
	return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
		v := e.eval(f)
		is := v == nil
		switch x.Test {
		case "true":
			is = v == true
		case "false":
			is = v == false
		}
		return is != x.Not
	}}
}

func (c *compiler) between(sc *scope, x *pg.Between) *expr {
	low := c.operate(">=", c.expr(sc, x.X), c.expr(sc, x.Low), x.Pos())
	high := c.operate("<=", c.expr(sc, x.X), c.expr(sc, x.High), x.Pos())
	var low2, high2 *expr
	if x.Symmetric {
		low2 = c.operate(">=", c.expr(sc, x.X), c.expr(sc, x.High), x.Pos())
		high2 = c.operate("<=", c.expr(sc, x.X), c.expr(sc, x.Low), x.Pos())
	}
	both := func(f *frame, a, b *expr) any {
		v, w := a.eval(f), b.eval(f)
		switch {
		case v == false || w == false:
			return false
		case v == nil || w == nil:
			return nil
		}
		return true
	}
	return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
		v := both(f, low, high)
		if v == false && x.Symmetric {
			v = both(f, low2, high2)
		}
		if v == nil {
			return nil
		}
		return v != x.Not
	}}
}

func (c *compiler) in(sc *scope, x *pg.In) *expr {
	if x.Query != nil {
		return c.anyOf(sc, x.X, "=", x.Query, x.Not, false, x.Pos())
	}
	a := c.expr(sc, x.X)
	var list []*expr
	for _, i := range x.List {
		list = append(list, c.operate("=", a, c.expr(sc, i), i.Pos()))
	}
	return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
		null := false
		for _, e := range list {
			switch e.eval(f) {
			case true:
				return !x.Not
			case nil:
				null = true
			}
		}
		if null {
			return nil
		}
		return x.Not
	}}
}

// anyOf compiles x op ANY (query), or with all, x op ALL (query).
func (c *compiler) anyOf(sc *scope, left pg.Expr, op string, q *pg.Query, not, all bool, at int) *expr {
	of := c.query(sc, q)
	var items []pg.Expr
	if r, ok := left.(*pg.Row); ok {
		items = r.Items
	} else {
		items = []pg.Expr{left}
	}
	if len(items) != len(of.cols) {
		fail(at, "42601", "subquery has too many or too few columns")
	}
	cell := &[]any{}
	var tests []*expr
	for i, item := range items {
		of.coerce(i, c.settled(of.cols[i].typ))
		col := &expr{typ: of.cols[i].typ, at: at, eval: func(*frame) any { return (*cell)[i] }}
		tests = append(tests, c.operate(op, c.expr(sc, item), col, at))
	}
	return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
		null := false
		for _, row := range of.run(f) {
			*cell = row
			var v any = true
			for _, t := range tests {
				switch t.eval(f) {
				case false:
					v = false
				case nil:
					if v == true {
						v = nil
					}
				}
			}
			switch v {
			case nil:
				null = true
			case !all:
				return !all != not
			}
		}
		if null {
			return nil
		}
		return all != not
	}}
}

func (c *compiler) quantified(sc *scope, x *pg.Quantified) *expr {
	if x.Query != nil {
		return c.anyOf(sc, x.X, x.Op, x.Query, false, x.All, x.Pos())
	}
	left, set := c.expr(sc, x.X), c.expr(sc, x.Set)
	elem := pgtype.ElementOf(set.typ)
	if set.typ == pgtype.Unknown { // an array of what is on the left
		t := c.settled(left.typ)
		set = c.coerce(set, pgtype.ArrayOf(t))
		elem = t
	}
	if elem == 0 {
		fail(x.Pos(), "42809", "op ANY/ALL (array) requires array on right side")
	}
	type cell struct{ v any }
	now := &cell{}
	test := c.operate(x.Op, left, &expr{typ: elem, at: x.Pos(), eval: func(*frame) any { return now.v }}, x.Pos())
	return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
		a, ok := set.eval(f).(*pgtype.Array)
		if !ok {
			return nil
		}
		null := false
		for _, item := range a.Items {
			now.v = item
			switch test.eval(f) {
			case nil:
				null = true
			case !x.All:
				return !x.All
			}
		}
		if null {
			return nil
		}
		return x.All
	}}
}
