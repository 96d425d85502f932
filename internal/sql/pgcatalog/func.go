package pgcatalog

import (
	"strings"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// function is a function of one row.
type function struct {
	// args are the types that arguments are made to have; Any leaves one as it is. The last one is
	// that of all further ones where more says so. least is how many there must be.
	args  []pgtype.OID
	least int
	more  bool
	ret   pgtype.OID
	// typed gives the type of the result for those of the arguments; nil: it is ret.
	typed func(args []pgtype.OID) pgtype.OID
	// nulls says that it is called with NULLs; else it is NULL where an argument is.
	nulls bool
	of    func(c *called) any
}

// called is a call of a function.
type called struct {
	s     *Session
	args  []any
	types []pgtype.OID
	at    int
}

func (c *called) str(i int) string {
	if i < len(c.args) {
		if s, ok := c.args[i].(string); ok {
			return s
		}
	}
	return ""
}

func (c *called) num(i int) int64 {
	if i < len(c.args) {
		if n, ok := c.args[i].(int64); ok {
			return n
		}
	}
	return 0
}

func (c *called) arr(i int) *pgtype.Array {
	if a, ok := c.args[i].(*pgtype.Array); ok {
		return a
	}
	return &pgtype.Array{Lower: 1}
}

// call compiles a call.
func (c *compiler) call(sc *scope, x *pg.Call) *expr {
	switch {
	case x.Over != nil:
		return c.window(sc, x)
	case aggregateNames[x.Name]:
		return c.aggregate(sc, x)
	case x.Name == "coalesce" || x.Name == "greatest" || x.Name == "least":
		return c.choose(sc, x)
	case x.Name == "nullif" && len(x.Args) == 2:
		a, b := c.expr(sc, x.Args[0]), c.expr(sc, x.Args[1])
		equal := c.operate("=", a, b, x.Pos())
		if a.typ == pgtype.Unknown {
			a = c.coerce(a, c.settled(b.typ))
		}
		return &expr{typ: a.typ, eval: func(f *frame) any {
			if equal.eval(f) == true {
				return nil
			}
			return a.eval(f)
		}}
	}
	if s := setFunctions[x.Name]; s != nil {
		return c.setCall(sc, x, s)
	}
	fn, ok := functions[x.Name]
	var args []*expr
	for _, a := range x.Args {
		args = append(args, c.expr(sc, a))
	}
	if !ok {
		if t := pgtype.Named(x.Name); t != 0 && len(args) == 1 { // type(x) is a cast
			return c.cast(sc, &pg.Cast{At: x.At, X: x.Args[0], Type: pg.TypeName{At: x.Pos(), Name: x.Name}})
		}
		c.unknownFunction(x, args)
	}
	if len(args) < fn.least || len(args) > len(fn.args) && !fn.more {
		c.unknownFunction(x, args)
	}
	types := make([]pgtype.OID, len(args))
	for i := range args {
		want := pgtype.Any
		switch {
		case i < len(fn.args):
			want = fn.args[i]
		case len(fn.args) > 0:
			want = fn.args[len(fn.args)-1]
		}
		switch {
		case want == pgtype.Any:
			args[i] = c.coerce(args[i], c.settled(args[i].typ))
		case want == pgtype.AnyArray:
			if args[i].typ == pgtype.Unknown {
				args[i] = c.coerce(args[i], 1009)
			}
			if pgtype.ElementOf(args[i].typ) == 0 {
				c.unknownFunction(x, args)
			}
		case want == pgtype.Text && !args[i].typ.IsText():
			args[i] = c.castText(args[i])
		case want == pgtype.OIDType && args[i].typ.IsText():
			// The name of a relation, as for has_table_privilege.
			if args[i].typ == pgtype.Unknown {
				args[i] = c.coerce(args[i], pgtype.Regclass)
			}
		default:
			args[i] = c.coerce(args[i], want)
		}
		types[i] = args[i].typ
	}
	typ := fn.ret
	if fn.typed != nil {
		typ = fn.typed(types)
	}
	at := x.Pos()
	return &expr{typ: typ, eval: func(f *frame) any {
		in := make([]any, len(args))
		for i, a := range args {
			if in[i] = a.eval(f); in[i] == nil && !fn.nulls {
				return nil
			}
		}
		return fn.of(&called{f.run.s, in, types, at})
	}}
}

func (c *compiler) unknownFunction(x *pg.Call, args []*expr) {
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = a.typ.Name()
	}
	fail(x.Pos(), "42883", "function %s(%s) does not exist", x.Name, strings.Join(names, ", "))
}

// choose compiles COALESCE, GREATEST and LEAST.
func (c *compiler) choose(sc *scope, x *pg.Call) *expr {
	var list []*expr
	for _, a := range x.Args {
		list = append(list, c.expr(sc, a))
	}
	t := c.common(list, x.Name)
	for i := range list {
		list[i] = c.coerce(list[i], t)
	}
	return &expr{typ: t, eval: func(f *frame) any {
		var best any
		for _, e := range list {
			v := e.eval(f)
			switch {
			case v == nil:
			case x.Name == "coalesce":
				return v
			case best == nil, x.Name == "greatest" && compare(v, best) > 0, x.Name == "least" && compare(v, best) < 0:
				best = v
			}
		}
		return best
	}}
}

// setFunction gives several values for its arguments.
type setFunction struct {
	least, most int
	// typed gives the type of a value, and of the fields where it is a record.
	typed func(args []pgtype.OID) (pgtype.OID, []Column)
	of    func(c *called) []any
}

func (c *compiler) setCall(sc *scope, x *pg.Call, fn *setFunction) *expr {
	var args []*expr
	var types []pgtype.OID
	for _, a := range x.Args {
		e := c.expr(sc, a)
		if e.typ == pgtype.Unknown && x.Name == "unnest" {
			e = c.coerce(e, 1009)
		}
		e = c.coerce(e, c.settled(e.typ))
		args, types = append(args, e), append(types, e.typ)
	}
	if len(args) < fn.least || len(args) > fn.most {
		c.unknownFunction(x, args)
	}
	typ, fields := fn.typed(types)
	if typ == 0 {
		c.unknownFunction(x, args)
	}
	at := x.Pos()
	s := &set{fields: fields, list: func(f *frame) []any {
		in := make([]any, len(args))
		for i, a := range args {
			if in[i] = a.eval(f); in[i] == nil {
				return nil
			}
		}
		return fn.of(&called{f.run.s, in, types, at})
	}}
	if sc.noAggregate != "" && sc.noAggregate != "functions in FROM" {
		fail(x.Pos(), "0A000", "set-returning functions are not allowed in %s", sc.noAggregate)
	}
	sc.sets = append(sc.sets, s)
	i := len(sc.sets) - 1
	e := &expr{typ: typ, eval: func(f *frame) any { return f.sets[i] }}
	if fields != nil {
		e.record = &pgtype.Record{}
		for _, k := range fields {
			e.record.Names, e.record.Types = append(e.record.Names, k.Name), append(e.record.Types, k.Type)
		}
	}
	return e
}
