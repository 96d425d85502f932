package pgcatalog

import (
	"reflect"
	"slices"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// same reports whether two expressions are the same text.
func same(a, b pg.Expr) bool {
	return pg.Print(a) == pg.Print(b) && reflect.TypeOf(a) == reflect.TypeOf(b)
}

// expr compiles an expression.
func (c *compiler) expr(sc *scope, x pg.Expr) *expr {
	e := c.compile(sc, x)
	e.at = x.Pos()
	return e
}

func constant(t pgtype.OID, v any) *expr {
	return &expr{typ: t, constant: true, eval: func(*frame) any { return v }}
}

func (c *compiler) compile(sc *scope, x pg.Expr) *expr {
	switch x := x.(type) {
	case *pg.Const:
		return c.literal(x)
	case *pg.Param:
		if c.constants {
			fail(x.Pos(), "42P02", "there is no parameter $%d", x.N)
		}
		for len(c.params) < x.N {
			c.params = append(c.params, 0)
		}
		t := c.params[x.N-1]
		if t == 0 {
			t = pgtype.Unknown
		}
		return &expr{typ: t, param: x.N, eval: func(f *frame) any { return f.run.params[x.N-1] }}
	case *direct:
		return c.column(sc, x.rel, x.at, 0)
	case *pg.Name:
		return c.name(sc, x)
	case *pg.Star:
		fail(x.Pos(), "42601", "* is not allowed here")
	case *pg.Unary:
		return c.unary(sc, x)
	case *pg.Binary:
		return c.binary(sc, x)
	case *pg.Cast:
		return c.cast(sc, x)
	case *pg.Call:
		return c.call(sc, x)
	case *pg.Case:
		return c.caseOf(sc, x)
	case *pg.Sub:
		return c.scalar(sc, x)
	case *pg.Exists:
		of := c.query(sc, x.Query)
		return &expr{typ: pgtype.Bool, eval: func(f *frame) any { return len(of.run(f)) > 0 }}
	case *pg.Array:
		return c.array(sc, x)
	case *pg.Quantified:
		return c.quantified(sc, x)
	case *pg.In:
		return c.in(sc, x)
	case *pg.Between:
		return c.between(sc, x)
	case *pg.Like:
		return c.like(sc, x)
	case *pg.Is:
		return c.is(sc, x)
	case *pg.Distinct:
		a, b := c.balance(c.expr(sc, x.X), c.expr(sc, x.Y))
		return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
			v, w := a.eval(f), b.eval(f)
			equal := v == nil && w == nil || v != nil && w != nil && compare(v, w) == 0
			return equal == x.Not
		}}
	case *pg.Subscript:
		return c.subscript(sc, x)
	case *pg.Field:
		return c.field(sc, x)
	case *pg.Row:
		return c.row(sc, x)
	}
	fail(x.Pos(), "0A000", "this expression is not supported over the catalog")
	return nil
}

func (c *compiler) literal(x *pg.Const) *expr {
	switch x.Kind {
	case pg.Null:
		return constant(pgtype.Unknown, nil)
	case pg.Bool:
		return constant(pgtype.Bool, x.Text == "true")
	case pg.Int:
		for _, t := range []pgtype.OID{pgtype.Int4, pgtype.Int8} {
			if v, err := pgtype.Parse(t, x.Text, nil); err == nil {
				return constant(t, v)
			}
		}
		fallthrough
	case pg.Num:
		v, err := pgtype.Parse(pgtype.NumericT, x.Text, nil)
		return constant(pgtype.NumericT, value(v, err, x.Pos()))
	}
	e := constant(pgtype.Unknown, x.Text)
	e.literal = &x.Text
	return e
}

// find resolves a name to a column: how many scopes out it is. r is nil if there is none.
func (c *compiler) find(sc *scope, x *pg.Name) (r *rel, at, depth int) {
	name := x.Parts[len(x.Parts)-1].Name
	for s := sc; s != nil; s = s.outer {
		var found *rel
		for _, k := range s.rels {
			if len(x.Parts) > 1 {
				if k.name != x.Parts[len(x.Parts)-2].Name {
					continue
				}
				if len(x.Parts) > 2 && k.schema != "" && k.schema != x.Parts[len(x.Parts)-3].Name {
					continue
				}
			}
			for i := range k.cols {
				if k.cols[i].name != name || k.cols[i].hidden && len(x.Parts) == 1 && name != "tableoid" {
					continue
				}
				if found != nil && found != k {
					fail(x.Pos(), "42702", "column reference %q is ambiguous", name)
				}
				if found == nil {
					found, at = k, i
				}
			}
		}
		if found != nil {
			return found, at, depth
		}
		depth++
	}
	return nil, 0, 0
}

// column reads a column of a scope depth levels out.
func (c *compiler) column(sc *scope, r *rel, at, depth int) *expr {
	s := sc
	for range depth {
		s = s.outer
	}
	i := r.base + at
	if c.touched != nil {
		*c.touched = append(*c.touched, touch{s, i})
	}
	e := &expr{typ: r.cols[at].typ, record: r.cols[at].record}
	switch depth {
	case 0:
		e.column = i + 1
		e.eval = func(f *frame) any { return f.row[i] }
	case 1:
		e.eval = func(f *frame) any { return f.outer.row[i] }
	default:
		e.eval = func(f *frame) any {
			for range depth {
				f = f.outer
			}
			return f.row[i]
		}
	}
	return e
}

func (c *compiler) name(sc *scope, x *pg.Name) *expr {
	if r, at, depth := c.find(sc, x); r != nil {
		return c.column(sc, r, at, depth)
	}
	name := x.Parts[len(x.Parts)-1].Name
	// The name of a table is its row, or its only column if that is a function's.
	if len(x.Parts) == 1 {
		depth := 0
		for s := sc; s != nil; s = s.outer {
			for _, r := range s.rels {
				if r.name == name {
					return c.wholeRow(sc, r, depth)
				}
			}
			depth++
		}
	} else if q := x.Parts[len(x.Parts)-2]; true {
		known := false
		for s := sc; s != nil; s = s.outer {
			for _, r := range s.rels {
				known = known || r.name == q.Name
			}
		}
		if !known {
			fail(x.Pos(), "42P01", "missing FROM-clause entry for table %q", q.Name)
		}
		name = q.Name + "." + name
		fail(x.Pos(), "42703", "column %s does not exist", name)
	}
	fail(x.Pos(), "42703", "column %q does not exist", name)
	return nil
}

func (c *compiler) wholeRow(sc *scope, r *rel, depth int) *expr {
	shape := &pgtype.Record{}
	var cols []*expr
	for i := range r.cols {
		if r.cols[i].hidden {
			continue
		}
		shape.Names, shape.Types = append(shape.Names, r.cols[i].name), append(shape.Types, r.cols[i].typ)
		cols = append(cols, c.column(sc, r, i, depth))
	}
	return &expr{typ: pgtype.RecordT, record: shape, eval: func(f *frame) any {
		out := &pgtype.Record{Names: shape.Names, Types: shape.Types}
		for _, x := range cols {
			out.Items = append(out.Items, x.eval(f))
		}
		return out
	}}
}

// coerce makes an expression have a type, as an implicit cast does.
func (c *compiler) coerce(e *expr, t pgtype.OID) *expr {
	if e.typ == t || t == pgtype.Any || t == 0 {
		return e
	}
	out := *e
	out.typ = t
	switch {
	case e.param > 0 && (e.typ == pgtype.Unknown):
		if t != pgtype.Unknown {
			if have := c.params[e.param-1]; have != 0 && have != pgtype.Unknown && have != t {
				e.typ = have
				return c.coerce(e, t)
			}
			c.params[e.param-1] = t
		}
		return &out
	case e.literal != nil && t != pgtype.Unknown:
		v := convert(c.s, *e.literal, pgtype.Unknown, t, e.at)
		out.literal = nil
		out.eval = func(*frame) any { return v }
		return &out
	case t == pgtype.Unknown, e.typ.IsText() && t.IsText() && t != pgtype.Char, e.typ.IsOID() && t.IsOID():
		return &out
	}
	from, eval, at := e.typ, e.eval, e.at
	if !(from.IsInteger() && t.IsOID()) && !(from.IsInteger() && t == pgtype.Int8) {
		out.column = 0
	}
	out.record = nil
	out.eval = func(f *frame) any { return convert(f.run.s, eval(f), from, t, at) }
	return &out
}

// rank orders the types of numbers: what is computed of two has the higher.
func rank(t pgtype.OID) int {
	switch t {
	case pgtype.Int2:
		return 1
	case pgtype.Int4:
		return 2
	case pgtype.Int8:
		return 3
	case pgtype.NumericT:
		return 5
	case pgtype.Float4:
		return 6
	case pgtype.Float8:
		return 7
	}
	if t.IsOID() {
		return 4
	}
	return 0
}

// join2 is the type that values of two types are compared as, or given together.
func (c *compiler) join2(a, b pgtype.OID) pgtype.OID {
	switch {
	case a == b, b == pgtype.Unknown:
		return a
	case a == pgtype.Unknown:
		return b
	case rank(a) > 0 && rank(b) > 0:
		if rank(a) >= rank(b) {
			return a
		}
		return b
	case a.IsText() && b.IsText():
		return pgtype.Text
	case a.IsTime() && b.IsTime():
		if a == pgtype.Timestamptz || b == pgtype.Timestamptz {
			return pgtype.Timestamptz
		}
		return pgtype.TimestampT
	case pgtype.ElementOf(a) != 0 && pgtype.ElementOf(b) != 0:
		if e := c.join2(pgtype.ElementOf(a), pgtype.ElementOf(b)); e != 0 {
			if e == pgtype.Any {
				return a
			}
			return pgtype.ArrayOf(e)
		}
	}
	return 0
}

// balance gives two expressions one type.
func (c *compiler) balance(a, b *expr) (*expr, *expr) {
	t := c.join2(a.typ, b.typ)
	if t == 0 {
		fail(b.at, "42883", "operator does not exist: %s = %s", a.typ.Name(), b.typ.Name())
	}
	return c.coerce(a, t), c.coerce(b, t)
}

// common returns the type that several expressions have together.
func (c *compiler) common(list []*expr, what string) pgtype.OID {
	t := pgtype.Unknown
	for _, e := range list {
		next := c.join2(t, e.typ)
		if next == 0 {
			fail(e.at, "42804", "%s types %s and %s cannot be matched", what, t.Name(), e.typ.Name())
		}
		t = next
	}
	return c.settled(t)
}

func (c *compiler) unary(sc *scope, x *pg.Unary) *expr {
	e := c.expr(sc, x.X)
	switch x.Op {
	case "not":
		e = c.coerce(e, pgtype.Bool)
		return &expr{typ: pgtype.Bool, eval: func(f *frame) any {
			if v, ok := e.eval(f).(bool); ok {
				return !v
			}
			return nil
		}}
	case "-":
		if e.typ == pgtype.Unknown {
			e = c.coerce(e, pgtype.Float8)
		}
		return &expr{typ: e.typ, eval: func(f *frame) any {
			switch v := e.eval(f).(type) {
			case nil:
				return nil
			case pgtype.Interval:
				return pgtype.Interval{Months: -v.Months, Days: -v.Days, Micros: -v.Micros}
			default:
				return arithmetic("-", int64(0), v, x.Pos())
			}
		}}
	}
	fail(x.Pos(), "42883", "operator does not exist: %s %s", x.Op, e.typ.Name())
	return nil
}

func (c *compiler) cast(sc *scope, x *pg.Cast) *expr {
	t := c.typeOf(x.Type)
	if a, ok := x.X.(*pg.Array); ok && len(a.Items) == 0 && a.Query == nil {
		return constant(t, &pgtype.Array{Elem: pgtype.ElementOf(t), Lower: 1})
	}
	e := c.expr(sc, x.X)
	if t == pgtype.RecordT {
		return e
	}
	out := *c.coerce(e, t)
	out.typ = t
	if e.typ.IsOID() && t.IsText() || e.typ == pgtype.Bool && t.IsText() {
		from := e.typ
		out.column = 0
		out.eval = func(f *frame) any {
			v := e.eval(f)
			if v == nil {
				return nil
			}
			return text(v, from, f.run.s)
		}
	}
	if n := modLength(x.Type); n >= 0 && t.IsText() {
		eval := out.eval
		out.column, out.literal = 0, nil
		out.eval = func(f *frame) any {
			if s, ok := eval(f).(string); ok {
				if r := []rune(s); len(r) > n {
					return string(r[:n])
				}
				return s
			}
			return nil
		}
	}
	return &out
}

// modLength is the length of varchar(n); -1: there is none.
func modLength(t pg.TypeName) int {
	if len(t.Mods) == 1 && t.Array == 0 && (t.Name == "varchar" || t.Name == "bpchar") {
		return int(number(t.Mods[0]))
	}
	return -1
}

func (c *compiler) caseOf(sc *scope, x *pg.Case) *expr {
	var conds, values []*expr
	for _, w := range x.Whens {
		cond := w.Cond
		if x.X != nil {
			cond = &pg.Binary{At: pg.At(w.Cond.Pos()), Op: "=", L: x.X, R: w.Cond}
		}
		conds = append(conds, c.coerce(c.expr(sc, cond), pgtype.Bool))
		values = append(values, c.expr(sc, w.Then))
	}
	other := constant(pgtype.Unknown, nil)
	if x.Else != nil {
		other = c.expr(sc, x.Else)
	}
	t := c.common(append(slices.Clip(values), other), "CASE")
	for i := range values {
		values[i] = c.coerce(values[i], t)
	}
	other = c.coerce(other, t)
	return &expr{typ: t, eval: func(f *frame) any {
		for i, k := range conds {
			if k.eval(f) == true {
				return values[i].eval(f)
			}
		}
		return other.eval(f)
	}}
}

// scalar compiles a query as an operand.
func (c *compiler) scalar(sc *scope, x *pg.Sub) *expr {
	of := c.query(sc, x.Query)
	if len(of.cols) != 1 {
		fail(x.Pos(), "42601", "subquery must return only one column")
	}
	of.coerce(0, c.settled(of.cols[0].typ))
	return &expr{typ: of.cols[0].typ, record: of.cols[0].record, eval: func(f *frame) any {
		rows := of.run(f)
		switch len(rows) {
		case 0:
			return nil
		case 1:
			return rows[0][0]
		}
		fail(x.Pos(), "21000", "more than one row returned by a subquery used as an expression")
		return nil
	}}
}

func (c *compiler) array(sc *scope, x *pg.Array) *expr {
	if x.Query != nil {
		of := c.query(sc, x.Query)
		if len(of.cols) != 1 {
			fail(x.Pos(), "42601", "subquery must return only one column")
		}
		of.coerce(0, c.settled(of.cols[0].typ))
		elem := of.cols[0].typ
		return &expr{typ: pgtype.ArrayOf(elem), eval: func(f *frame) any {
			out := &pgtype.Array{Elem: elem, Lower: 1}
			for _, row := range of.run(f) {
				out.Items = append(out.Items, row[0])
			}
			return out
		}}
	}
	var items []*expr
	for _, i := range x.Items {
		items = append(items, c.expr(sc, i))
	}
	elem := c.common(items, "ARRAY")
	for i := range items {
		items[i] = c.coerce(items[i], elem)
	}
	typ := pgtype.ArrayOf(elem)
	if e := pgtype.ElementOf(elem); e != 0 {
		elem = e
	}
	return &expr{typ: typ, eval: func(f *frame) any {
		out := &pgtype.Array{Elem: elem, Lower: 1}
		for _, i := range items {
			out.Items = append(out.Items, i.eval(f))
		}
		return out
	}}
}

func (c *compiler) subscript(sc *scope, x *pg.Subscript) *expr {
	a := c.expr(sc, x.X)
	elem := pgtype.ElementOf(a.typ)
	if elem == 0 {
		fail(x.Pos(), "42804", "cannot subscript type %s because it does not support subscripting", a.typ.Name())
	}
	bound := func(b pg.Expr) *expr {
		if b == nil {
			return nil
		}
		return c.coerce(c.expr(sc, b), pgtype.Int4)
	}
	lo, hi := bound(x.Lo), bound(x.Hi)
	if x.Slice {
		return &expr{typ: a.typ, eval: func(f *frame) any {
			v, ok := a.eval(f).(*pgtype.Array)
			if !ok {
				return nil
			}
			from, to := int64(v.Lower), int64(v.Lower+len(v.Items)-1)
			if lo != nil {
				n, ok := lo.eval(f).(int64)
				if !ok {
					return nil
				}
				from = max(from, n)
			}
			if hi != nil {
				n, ok := hi.eval(f).(int64)
				if !ok {
					return nil
				}
				to = min(to, n)
			}
			out := &pgtype.Array{Elem: v.Elem, Lower: 1}
			for i := from; i <= to; i++ {
				out.Items = append(out.Items, v.Items[i-int64(v.Lower)])
			}
			return out
		}}
	}
	return &expr{typ: elem, eval: func(f *frame) any {
		v, ok := a.eval(f).(*pgtype.Array)
		n, also := lo.eval(f).(int64)
		if i := n; ok && also && i >= int64(v.Lower) && i < int64(v.Lower+len(v.Items)) {
			return v.Items[i-int64(v.Lower)]
		}
		return nil
	}}
}

func (c *compiler) field(sc *scope, x *pg.Field) *expr {
	e := c.expr(sc, x.X)
	if e.record == nil {
		fail(x.Pos(), "42809", "column notation .%s applied to type %s, which is not a composite type", x.Name.Name, e.typ.Name())
	}
	for i, n := range e.record.Names {
		if n == x.Name.Name {
			return &expr{typ: e.record.Types[i], eval: func(f *frame) any {
				if r, ok := e.eval(f).(*pgtype.Record); ok {
					return r.Items[i]
				}
				return nil
			}}
		}
	}
	fail(x.Pos(), "42703", "column %q not found in record data type", x.Name.Name)
	return nil
}

func (c *compiler) row(sc *scope, x *pg.Row) *expr {
	shape := &pgtype.Record{}
	var items []*expr
	for _, i := range x.Items {
		e := c.expr(sc, i)
		e = c.coerce(e, c.settled(e.typ))
		items = append(items, e)
		shape.Names, shape.Types = append(shape.Names, "f"+string(rune('0'+len(items)%10))), append(shape.Types, e.typ)
	}
	return &expr{typ: pgtype.RecordT, record: shape, eval: func(f *frame) any {
		out := &pgtype.Record{Names: shape.Names, Types: shape.Types}
		for _, e := range items {
			out.Items = append(out.Items, e.eval(f))
		}
		return out
	}}
}
