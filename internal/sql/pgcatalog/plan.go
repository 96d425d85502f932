package pgcatalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// Out is an output column of a plan. Table and Number identify the column that it comes from, 0 if
// there is none.
type Out struct {
	Name   string
	Type   pgtype.OID
	Table  int64
	Number int16
}

// Plan is a compiled query. It may be executed several times, but not concurrently.
type Plan struct {
	Columns []Out
	// Params are the types of the parameters.
	Params []pgtype.OID
	of     *relation
}

// Compile compiles a query for a session. params are the known types of its parameters, 0 for
// unknown types. An error is a *pg.Error with its position in the query.
func Compile(s *Session, q *pg.Query, params []pgtype.OID, count int) (p *Plan, err error) {
	c := &compiler{s: s, params: make([]pgtype.OID, count)}
	copy(c.params, params)
	err = protect(func() {
		of := c.query(nil, q)
		for i := range of.cols {
			of.coerce(i, c.settled(of.cols[i].typ))
		}
		p = &Plan{of: of}
		for _, col := range of.cols {
			p.Columns = append(p.Columns, Out{Name: col.name, Type: col.typ, Table: col.table, Number: col.number})
		}
	})
	if err != nil {
		return nil, err
	}
	for i, t := range c.params {
		if t == 0 || t == pgtype.Unknown {
			c.params[i] = pgtype.Text
		}
	}
	p.Params = c.params
	return p, nil
}

// Run returns the rows of the query.
func (p *Plan) Run(s *Session, params []any) (rows [][]any, err error) {
	err = protect(func() {
		rows = p.of.run(&frame{run: &run{s: s, params: params}})
	})
	return rows, err
}

// Evaluate evaluates an expression that reads no table. ok is false if it reads a table or can't be
// compiled.
func Evaluate(s *Session, x pg.Expr) (v any, t pgtype.OID, ok bool, err error) {
	c := &compiler{s: s, constants: true}
	err = protect(func() {
		e := c.expr(&scope{}, x)
		t = c.settled(e.typ)
		e = c.coerce(e, t)
		v = e.eval(&frame{run: &run{s: s}})
		ok = true
	})
	return v, t, ok, err
}

type compiler struct {
	s      *Session
	params []pgtype.OID
	// constants says that there are no parameters.
	constants bool
	depth     int
	// touched are the columns that were resolved since somebody began to listen.
	touched *[]touch
}

// touch is a column of a scope.
type touch struct {
	of *scope
	at int
}

// settled is the type that a result has whose type nobody has asked for.
func (c *compiler) settled(t pgtype.OID) pgtype.OID {
	if t == pgtype.Unknown || t == 0 {
		return pgtype.Text
	}
	return t
}

// col is a column of a relation.
type col struct {
	name   string
	typ    pgtype.OID
	record *pgtype.Record
	// hidden says that * leaves it out and names without a table do not find it: JOIN USING has merged
	// it.
	hidden bool
	table  int64
	number int16
}

// relation gives rows. run gets the frame of the query around.
type relation struct {
	cols []col
	run  func(f *frame) [][]any
}

// coerce makes a column have a type.
func (r *relation) coerce(i int, t pgtype.OID) {
	from := r.cols[i].typ
	if from == t {
		return
	}
	r.cols[i].typ = t
	inner := r.run
	r.run = func(f *frame) [][]any {
		rows := inner(f)
		out := make([][]any, len(rows))
		for k, row := range rows {
			row = append([]any{}, row...)
			row[i] = convert(f.run.s, row[i], from, t, 0)
			out[k] = row
		}
		return out
	}
}

// scope is what names mean.
type scope struct {
	outer *scope
	rels  []*rel
	width int
	ctes  map[string]*cte
	// grouped says that aggregates are gathered in aggs; inAggregate that one is being read.
	aggs        []*aggregate
	wins        []*window
	sets        []*set
	inAggregate bool
	noAggregate string // why there can be none
	windows     map[string]*pg.Over
}

// rel is a table in a scope. Its columns are those of the row from base on.
type rel struct {
	schema, name string
	cols         []col
	base         int
}

type cte struct {
	name      string
	cols      []col
	plan      *relation
	recursive *recursion
}

type recursion struct {
	first, next *relation
	all         bool
}

// maxRows bounds the rows of one step.
const maxRows = 5_000_000

// query compiles a query within a scope; nil: there is none around.
func (c *compiler) query(outer *scope, q *pg.Query) *relation {
	if c.depth++; c.depth > 64 {
		fail(q.At, "54001", "queries nest too deep")
	}
	defer func() { c.depth-- }()
	if len(q.With) > 0 {
		sc := &scope{outer: outer, ctes: map[string]*cte{}}
		for i := range q.With {
			c.with(sc, &q.With[i], q.Recursive)
		}
		inner := *q
		inner.With = nil
		of := c.query(sc, &inner)
		return &relation{of.cols, func(f *frame) [][]any {
			return of.run(&frame{run: f.run, outer: f, ctes: map[*cte][][]any{}})
		}}
	}
	switch b := q.Body.(type) {
	case *pg.Block:
		return c.block(outer, b, q)
	case *pg.Values:
		return c.tail(outer, c.values(outer, b), q)
	case *pg.SetOp:
		return c.tail(outer, c.setOp(outer, b), q)
	default:
		inner := asQuery(q.Body)
		if inner == nil {
			fail(q.At, "0A000", "this form of query is not supported")
		}
		return c.tail(outer, c.query(outer, inner), q)
	}
}

// asQuery unpacks a query in parentheses.
func asQuery(b pg.Body) *pg.Query { return pg.Nested(b) }

func (c *compiler) with(sc *scope, w *pg.CTE, recursive bool) {
	t := &cte{name: w.Name.Name}
	rename := func(cols []col) []col {
		cols = append([]col{}, cols...)
		if len(w.Columns) > len(cols) {
			fail(w.Name.At, "42P10", "WITH query %q has %d columns available but %d columns specified", w.Name.Name, len(cols), len(w.Columns))
		}
		for i, n := range w.Columns {
			cols[i].name = n.Name
		}
		return cols
	}
	if op, ok := w.Query.Body.(*pg.SetOp); ok && recursive && op.Op == "union" && len(w.Query.With) == 0 {
		first := c.query(sc, op.Left)
		for i := range first.cols {
			first.coerce(i, c.settled(first.cols[i].typ))
		}
		t.cols = rename(first.cols)
		sc.ctes[t.name] = t
		next := c.query(sc, op.Right)
		if len(next.cols) != len(first.cols) {
			fail(w.Name.At, "42601", "each UNION query must have the same number of columns")
		}
		for i := range next.cols {
			next.coerce(i, first.cols[i].typ)
		}
		t.recursive = &recursion{first, next, op.All}
		return
	}
	t.plan = c.query(sc, w.Query)
	for i := range t.plan.cols {
		t.plan.coerce(i, c.settled(t.plan.cols[i].typ))
	}
	t.cols = rename(t.plan.cols)
	sc.ctes[t.name] = t
}

// rows gives the rows of a WITH query, which is run once. f is the frame of the query that has it.
func (t *cte) rows(f *frame) [][]any {
	if rows, ok := f.ctes[t]; ok {
		return rows
	}
	if t.recursive == nil {
		rows := t.plan.run(f)
		f.ctes[t] = rows
		return rows
	}
	seen := map[string]bool{}
	fresh := func(rows [][]any) [][]any {
		if t.recursive.all {
			return rows
		}
		var out [][]any
		for _, row := range rows {
			if k := rowKey(row); !seen[k] {
				seen[k] = true
				out = append(out, row)
			}
		}
		return out
	}
	work := fresh(t.recursive.first.run(f))
	all := work
	for len(work) > 0 {
		f.run.step()
		f.ctes[t] = work
		work = fresh(t.recursive.next.run(f))
		if all = append(slices.Clip(all), work...); len(all) > maxRows {
			fail(0, "54000", "recursive query gives more than %d rows", maxRows)
		}
	}
	f.ctes[t] = all
	return all
}

func (c *compiler) values(outer *scope, v *pg.Values) *relation {
	sc := &scope{outer: outer, noAggregate: "VALUES"}
	var rows [][]*expr
	for _, list := range v.Rows {
		if len(list) != len(v.Rows[0]) {
			fail(v.At, "42601", "VALUES lists must all be the same length")
		}
		var row []*expr
		for _, x := range list {
			row = append(row, c.expr(sc, x))
		}
		rows = append(rows, row)
	}
	out := &relation{}
	for i := range rows[0] {
		var column []*expr
		for _, row := range rows {
			column = append(column, row[i])
		}
		t := c.common(column, "VALUES")
		for _, row := range rows {
			row[i] = c.coerce(row[i], t)
		}
		out.cols = append(out.cols, col{name: fmt.Sprintf("column%d", i+1), typ: t})
	}
	out.run = func(f *frame) [][]any {
		g := &frame{run: f.run, outer: f}
		list := make([][]any, len(rows))
		for k, row := range rows {
			list[k] = make([]any, len(row))
			for i, x := range row {
				list[k][i] = x.eval(g)
			}
		}
		return list
	}
	return out
}

func (c *compiler) setOp(outer *scope, op *pg.SetOp) *relation {
	left, right := c.query(outer, op.Left), c.query(outer, op.Right)
	if len(left.cols) != len(right.cols) {
		fail(op.Right.At, "42601", "each %s query must have the same number of columns", strings.ToUpper(op.Op))
	}
	for i := range left.cols {
		t := c.common([]*expr{{typ: left.cols[i].typ}, {typ: right.cols[i].typ}}, strings.ToUpper(op.Op))
		left.coerce(i, t)
		right.coerce(i, t)
	}
	out := &relation{cols: append([]col{}, left.cols...)}
	for i := range out.cols {
		out.cols[i].table = 0
	}
	out.run = func(f *frame) [][]any {
		a, b := left.run(f), right.run(f)
		if op.Op == "union" && op.All {
			return append(slices.Clip(a), b...)
		}
		counts := map[string]int{}
		for _, row := range b {
			counts[rowKey(row)]++
		}
		var rows [][]any
		seen := map[string]bool{}
		keep := func(row []any, k string) {
			if !op.All && seen[k] {
				return
			}
			seen[k] = true
			rows = append(rows, row)
		}
		for _, row := range a {
			k := rowKey(row)
			in := counts[k] > 0
			switch op.Op {
			case "union":
				keep(row, k)
				continue
			case "intersect":
				if in {
					keep(row, k)
				}
			case "except":
				if !in {
					keep(row, k)
				}
			}
			if op.All && in {
				counts[k]--
			}
		}
		if op.Op == "union" {
			for _, row := range b {
				keep(row, rowKey(row))
			}
		}
		return rows
	}
	return out
}

// tail sorts and cuts the rows of what is no SELECT, by its columns.
func (c *compiler) tail(outer *scope, of *relation, q *pg.Query) *relation {
	sc := &scope{outer: outer, noAggregate: "ORDER BY"}
	sc.rels = []*rel{{cols: of.cols}}
	sc.width = len(of.cols)
	var keys []sortKey
	for _, o := range q.OrderBy {
		keys = append(keys, c.sortKey(sc, o, of.cols, 0, nil))
	}
	cut := c.limits(outer, q)
	if len(keys) == 0 && cut == nil {
		return of
	}
	return &relation{of.cols, func(f *frame) [][]any {
		rows := of.run(f)
		sortRows(rows, keys, func(row []any) *frame { return &frame{run: f.run, outer: f, row: row} })
		return cut.of(f, rows)
	}}
}

// limits compiles LIMIT and OFFSET.
func (c *compiler) limits(outer *scope, q *pg.Query) *limits {
	if q.Limit == nil && q.Offset == nil {
		return nil
	}
	l := &limits{}
	sc := &scope{outer: outer, noAggregate: "LIMIT"}
	if q.Limit != nil {
		l.limit = c.coerce(c.expr(sc, q.Limit), pgtype.Int8)
	}
	if q.Offset != nil {
		l.offset = c.coerce(c.expr(sc, q.Offset), pgtype.Int8)
	}
	return l
}

type limits struct{ limit, offset *expr }

func (l *limits) of(f *frame, rows [][]any) [][]any {
	if l == nil {
		return rows
	}
	g := &frame{run: f.run, outer: f}
	if l.offset != nil {
		if n, ok := l.offset.eval(g).(int64); ok {
			if n < 0 {
				fail(l.offset.at, "2201X", "OFFSET must not be negative")
			}
			rows = rows[min(n, int64(len(rows))):]
		}
	}
	if l.limit != nil {
		if n, ok := l.limit.eval(g).(int64); ok {
			if n < 0 {
				fail(l.limit.at, "2201W", "LIMIT must not be negative")
			}
			rows = rows[:min(n, int64(len(rows)))]
		}
	}
	return rows
}
