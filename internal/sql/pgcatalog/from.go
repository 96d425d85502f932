package pgcatalog

import (
	"slices"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// source is an item of FROM. Its columns are lo to hi of the row of the block.
type source struct {
	lo, hi int
	// lateral says that its rows depend on the row so far.
	lateral bool
	// rows gives its columns, for the frame of the block, whose row has what comes before.
	rows func(f *frame) [][]any
	// keyed gives those rows alone whose column at an index has a value, if it can; nil: it can't.
	keyed func(f *frame, column int, v any) [][]any
	// canKey tells by which columns; quick, by which without looking at all rows.
	canKey, quick func(column int) bool
	// push gives a join the conditions of WHERE, so that it need not join what they leave out.
	push func(conds []*condition)
}

// condition is a conjunct with what it reads of the row.
type condition struct {
	x    *expr
	refs []int
	// left and right are set for equalities of two sides.
	left, right         *expr
	leftRefs, rightRefs []int
}

// condition compiles a conjunct.
func (c *compiler) condition(sc *scope, x pg.Expr) *condition {
	out := &condition{}
	listen := func(f func()) []int {
		before := c.touched
		var list []touch
		c.touched = &list
		f()
		c.touched = before
		var refs []int
		for _, t := range list {
			if t.of == sc {
				refs = append(refs, t.at)
			}
			if before != nil {
				*before = append(*before, t)
			}
		}
		return refs
	}
	out.refs = listen(func() { out.x = c.coerce(c.expr(sc, x), pgtype.Bool) })
	if b, ok := x.(*pg.Binary); ok && b.Op == "=" {
		var l, r *expr
		out.leftRefs = listen(func() { l = c.expr(sc, b.L) })
		out.rightRefs = listen(func() { r = c.expr(sc, b.R) })
		if l.typ != pgtype.RecordT && r.typ != pgtype.RecordT {
			out.left, out.right = c.balance(l, r)
		}
	}
	return out
}

// within reports whether all references are in [lo, hi).
func within(refs []int, lo, hi int) bool {
	for _, r := range refs {
		if r < lo || r >= hi {
			return false
		}
	}
	return true
}

// outside reports whether no reference is in [lo, hi).
func outside(refs []int, lo, hi int) bool {
	for _, r := range refs {
		if r >= lo && r < hi {
			return false
		}
	}
	return true
}

// from compiles FROM with the conjuncts of WHERE, and returns what gives the rows of the block.
func (c *compiler) from(sc *scope, list []pg.From, where []pg.Expr) func(f *frame) [][]any {
	var sources []*source
	for _, item := range list {
		sources = append(sources, c.source(sc, item))
	}
	var conds []*condition
	sc.noAggregate = "WHERE"
	for _, x := range where {
		conds = append(conds, c.condition(sc, x))
	}
	sc.noAggregate = ""
	width := sc.width
	for _, s := range sources {
		if s.push != nil {
			s.push(conds)
		}
	}
	return func(f *frame) [][]any {
		rows := [][]any{make([]any, width)}
		done := make([]bool, len(conds))
		var placed []*source
		ready := func() {
			for i, k := range conds {
				if !done[i] && allPlaced(placed, k.refs) {
					done[i] = true
					rows = keep(f, rows, k.x)
				}
			}
		}
		ready()
		rest := slices.Clone(sources)
		for len(rest) > 0 {
			at := nextSource(placed, rest, conds)
			s := rest[at]
			rest = slices.Delete(rest, at, at+1)
			placed = append(placed, s)
			var eqs []*condition
			for i, k := range conds {
				if !done[i] && k.left != nil && len(k.refs) > 0 && allPlaced(placed, k.refs) {
					eqs = append(eqs, k)
				}
			}
			rows = join(f, "inner", rows, s, eqs, nil)
			ready()
		}
		return rows
	}
}

// allPlaced reports whether all references are to placed sources.
func allPlaced(placed []*source, refs []int) bool {
	for _, r := range refs {
		if !slices.ContainsFunc(placed, func(s *source) bool { return r >= s.lo && r < s.hi }) {
			return false
		}
	}
	return true
}

// nextSource chooses what is joined next: what an equality links to what is there, a constant
// before the first. Sources that depend on those before them keep the order.
func nextSource(placed, rest []*source, conds []*condition) int {
	for _, s := range rest {
		if s.lateral {
			return 0
		}
	}
	for i, s := range rest {
		for _, k := range conds {
			if k.left == nil {
				continue
			}
			for _, side := range [][2][]int{{k.leftRefs, k.rightRefs}, {k.rightRefs, k.leftRefs}} {
				if len(side[0]) > 0 && within(side[0], s.lo, s.hi) && allPlaced(placed, side[1]) {
					return i
				}
			}
		}
	}
	return 0
}

// keep filters rows.
func keep(f *frame, rows [][]any, x *expr) [][]any {
	out := rows[:0:0]
	g := &frame{run: f.run, outer: f}
	for _, row := range rows {
		f.run.step()
		g.row = row
		if x.eval(g) == true {
			out = append(out, row)
		}
	}
	return out
}

// lookupJoinRowLimit is the number of rows on the left side up to which a table is asked for each
// of their keys.
const lookupJoinRowLimit = 200

// join joins rows of a block with a source. eqs are equalities
// of
// which one side is the source's alone; on is the rest of the condition, and holds them too.
func join(f *frame, kind string, left [][]any, s *source, eqs []*condition, on *expr) [][]any {
	var out [][]any
	g := &frame{run: f.run, outer: f}
	match := func(row []any) bool {
		f.run.step()
		if on == nil {
			return true
		}
		g.row = row
		return on.eval(g) == true
	}
	add := func(row []any) {
		if len(out) >= maxRows {
			fail(0, "54000", "a join gives more than %d rows", maxRows)
		}
		out = append(out, row)
	}
	merged := func(l, seg []any) []any {
		row := append([]any{}, l...)
		copy(row[s.lo:s.hi], seg)
		return row
	}
	outerLeft := kind == "left" || kind == "full"
	var lefts, rights []*expr
	for _, k := range eqs {
		switch {
		case len(k.leftRefs) > 0 && within(k.leftRefs, s.lo, s.hi) && outside(k.rightRefs, s.lo, s.hi):
			lefts, rights = append(lefts, k.right), append(rights, k.left)
		case len(k.rightRefs) > 0 && within(k.rightRefs, s.lo, s.hi) && outside(k.leftRefs, s.lo, s.hi):
			lefts, rights = append(lefts, k.left), append(rights, k.right)
		}
	}
	each := func(l []any, segs [][]any) {
		found := false
		for _, seg := range segs {
			if row := merged(l, seg); match(row) {
				found = true
				add(row)
			}
		}
		if !found && outerLeft {
			add(append([]any{}, l...))
		}
	}
	if s.lateral {
		for _, l := range left {
			each(l, s.rows(&frame{run: f.run, outer: f, row: l}))
		}
		return out
	}
	if kind == "inner" || kind == "left" {
		if at, x := keyColumn(s, rights, lefts); x != nil && len(left) <= lookupJoinRowLimit {
			for _, l := range left {
				g.row = l
				v := x.eval(g)
				var segs [][]any
				if v != nil {
					segs = s.keyed(f, at, v)
				}
				each(l, segs)
			}
			return out
		}
	}
	hashJoin(f, kind, left, s, lefts, rights, match, merged, add)
	return out
}

// hashJoin joins all rows of a source, by a table of those keys that have to be equal.
func hashJoin(f *frame, kind string, left [][]any, s *source, lefts, rights []*expr, match func(row []any) bool,
	merged func(l, seg []any) []any, add func(row []any)) {
	outerLeft := kind == "left" || kind == "full"
	segs := s.rows(&frame{run: f.run, outer: f, row: make([]any, width(left, s))})
	hit := make([]bool, len(segs))
	var table map[any][]int
	if len(rights) > 0 && len(segs) > 1 {
		table = make(map[any][]int, len(segs))
		blank := make([]any, width(left, s))
		g := &frame{run: f.run, outer: f, row: blank}
		for i, seg := range segs {
			copy(blank[s.lo:s.hi], seg)
			if k := hashKey(g, rights); k != nil {
				table[k] = append(table[k], i)
			}
		}
	}
	all := make([]int, len(segs))
	for i := range all {
		all[i] = i
	}
	lg := &frame{run: f.run, outer: f}
	for _, l := range left {
		candidates := all
		if table != nil {
			lg.row = l
			candidates = nil
			if k := hashKey(lg, lefts); k != nil {
				candidates = table[k]
			}
		}
		found := false
		for _, i := range candidates {
			if row := merged(l, segs[i]); match(row) {
				found, hit[i] = true, true
				add(row)
			}
		}
		if !found && outerLeft {
			add(append([]any{}, l...))
		}
	}
	if kind == "right" || kind == "full" {
		for i, seg := range segs {
			if !hit[i] {
				add(merged(make([]any, width(left, s)), seg))
			}
		}
	}
}

// width is that of a block's rows.
func width(left [][]any, s *source) int {
	if len(left) > 0 {
		return len(left[0])
	}
	return s.hi
}

// keyColumn finds an equality by which a source can look up its rows.
func keyColumn(s *source, rights, lefts []*expr) (int, *expr) {
	if s.keyed == nil {
		return 0, nil
	}
	found := -1
	for i, r := range rights {
		switch at := r.column - 1 - s.lo; {
		case r.column == 0 || !s.canKey(at):
		case s.quick(at):
			return at, lefts[i]
		case found < 0:
			found = i
		}
	}
	if found < 0 {
		return 0, nil
	}
	return rights[found].column - 1 - s.lo, lefts[found]
}

// hashKey returns the key of a row; nil: one of its values is NULL.
func hashKey(g *frame, list []*expr) any {
	if len(list) == 1 {
		switch v := list[0].eval(g).(type) {
		case int64, string, bool:
			return v
		case nil:
			return nil
		default:
			return rowKey([]any{v})
		}
	}
	values := make([]any, len(list))
	for i, x := range list {
		if values[i] = x.eval(g); values[i] == nil {
			return nil
		}
	}
	return rowKey(values)
}

// add puts a table into a scope.
func (sc *scope) add(schema, name string, cols []col) *rel {
	r := &rel{schema: schema, name: name, cols: cols, base: sc.width}
	sc.rels = append(sc.rels, r)
	sc.width += len(cols)
	return r
}

// source compiles an item of FROM.
func (c *compiler) source(sc *scope, item pg.From) *source {
	switch x := item.(type) {
	case *pg.Table:
		return c.table(sc, x)
	case *pg.Derived:
		outer := sc.outer
		if x.Lateral {
			outer = sc
		}
		of := c.query(outer, x.Query)
		for i := range of.cols {
			of.coerce(i, c.settled(of.cols[i].typ))
		}
		lo := sc.width
		sc.add("", x.Alias.Name, renamed(of.cols, x.Columns))
		return &source{lo: lo, hi: sc.width, lateral: x.Lateral, rows: func(f *frame) [][]any {
			if x.Lateral {
				return of.run(f)
			}
			return of.run(f.outer)
		}}
	case *pg.Function:
		return c.function(sc, x)
	case *pg.Join:
		return c.join(sc, x)
	}
	return nil
}

func renamed(cols []col, names []pg.Ident) []col {
	out := append([]col{}, cols...)
	for i, n := range names {
		if i >= len(out) {
			fail(n.At, "42P10", "table has %d columns available but %d columns specified", len(out), len(names))
		}
		out[i].name = n.Name
	}
	for i := range out {
		out[i].hidden = false
	}
	return out
}

// table compiles a name: a query of WITH, or a virtual table.
func (c *compiler) table(sc *scope, x *pg.Table) *source {
	last := x.Parts[len(x.Parts)-1]
	name := x.Alias.Name
	if name == "" {
		name = last.Name
	}
	lo := sc.width
	if len(x.Parts) == 1 {
		depth := 1 // f.outer is the frame around the block
		for s := sc.outer; s != nil; s = s.outer {
			if t := s.ctes[last.Name]; t != nil {
				sc.add("", name, renamed(t.cols, x.Columns))
				return &source{lo: lo, hi: sc.width, rows: func(f *frame) [][]any {
					for range depth {
						f = f.outer
					}
					return t.rows(f)
				}}
			}
			depth++
		}
	}
	schema := ""
	if len(x.Parts) > 1 {
		schema = x.Parts[len(x.Parts)-2].Name
	}
	t := findBuiltin(schema, last.Name)
	if t == nil {
		shown := last.Name
		if schema != "" {
			shown = schema + "." + shown
		}
		fail(x.At, "42P01", "relation %q does not exist", shown)
	}
	cols := make([]col, len(t.columns))
	for i, k := range t.columns {
		cols[i] = col{name: k.Name, typ: k.Type, table: t.oid, number: int16(i + 1)}
	}
	// Every table of the catalog has tableoid.
	sc.add(t.schema, name, append(renamed(cols, x.Columns), col{name: "tableoid", typ: pgtype.OIDType, hidden: true}))
	return &source{lo: lo, hi: sc.width, rows: func(f *frame) [][]any {
		return tagged(t, tableRows(f.run, t, -1, nil))
	}, keyed: func(f *frame, column int, v any) [][]any {
		return tagged(t, tableRows(f.run, t, column, v))
	}, canKey: func(column int) bool {
		return column >= 0 && column < len(t.columns)
	}, quick: func(column int) bool {
		return keyed[t.schema+"."+t.name][t.columns[column].Name] != nil
	}}
}

// tagged appends tableoid.
func tagged(t *builtin, rows [][]any) [][]any {
	out := make([][]any, len(rows))
	for i, row := range rows {
		out[i] = append(slices.Clip(row), t.oid)
	}
	return out
}

// findBuiltin finds a virtual table; nil: there is none.
func findBuiltin(schema, name string) *builtin {
	k := known()
	if schema == "" {
		return k.byName[Catalog+"."+name]
	}
	return k.byName[schema+"."+name]
}

// IsCatalog reports whether a table name refers to a catalog table.
func IsCatalog(parts []pg.Ident) bool {
	last := parts[len(parts)-1]
	if len(parts) == 1 {
		return findBuiltin("", last.Name) != nil
	}
	schema := parts[len(parts)-2].Name
	return schema == Catalog || schema == Information
}

// function compiles a call in FROM.
func (c *compiler) function(sc *scope, x *pg.Function) *source {
	name := x.Alias.Name
	if name == "" {
		name = x.Call.Name
	}
	inner := &scope{outer: sc.outer, noAggregate: "functions in FROM"}
	var refs []touch
	before := c.touched
	c.touched = &refs
	inner.outer = sc // functions may always name what stands before them
	e := c.expr(inner, x.Call)
	c.touched = before
	var cols []col
	var eval func(g *frame) [][]any
	if len(inner.sets) == 1 && len(inner.sets[0].fields) > 0 {
		s := inner.sets[0]
		for _, k := range s.fields {
			cols = append(cols, col{name: k.Name, typ: k.Type})
		}
		eval = func(g *frame) [][]any {
			var rows [][]any
			for _, v := range s.list(g) {
				if r, ok := v.(*pgtype.Record); ok {
					rows = append(rows, r.Items)
				} else {
					rows = append(rows, make([]any, len(cols)))
				}
			}
			return rows
		}
	} else {
		column := x.Call.Name
		if x.Alias.Name != "" {
			column = x.Alias.Name
		}
		cols = []col{{name: column, typ: c.settled(e.typ), record: e.record}}
		eval = func(g *frame) [][]any {
			var rows [][]any
			if len(inner.sets) == 1 {
				for _, v := range inner.sets[0].list(g) {
					g.sets = []any{v}
					rows = append(rows, []any{e.eval(g)})
				}
				return rows
			}
			return [][]any{{e.eval(g)}}
		}
	}
	if x.Ordinality {
		cols = append(cols, col{name: "ordinality", typ: pgtype.Int8})
		plain := eval
		eval = func(g *frame) [][]any {
			rows := plain(g)
			for i := range rows {
				rows[i] = append(slices.Clip(rows[i]), int64(i+1))
			}
			return rows
		}
	}
	lo := sc.width
	lateral := false
	for _, t := range refs {
		lateral = lateral || t.of == sc
		if before != nil && t.of != sc {
			*before = append(*before, t)
		}
	}
	sc.add("", name, renamed(cols, x.Columns))
	return &source{lo: lo, hi: sc.width, lateral: lateral, rows: func(f *frame) [][]any {
		return eval(&frame{run: f.run, outer: f})
	}}
}

// join compiles a JOIN.
func (c *compiler) join(sc *scope, x *pg.Join) *source {
	first := len(sc.rels)
	left := c.source(sc, x.Left)
	second := len(sc.rels)
	right := c.source(sc, x.Right)
	var conds []*condition
	using := x.Using
	if x.Natural {
		for _, r := range sc.rels[second:] {
			for _, k := range r.cols {
				if _, _, found := findIn(sc.rels[first:second], k.name); found && !k.hidden {
					using = append(using, pg.Ident{Name: k.name, At: x.At})
				}
			}
		}
	}
	for _, n := range using {
		l, li, ok := findIn(sc.rels[first:second], n.Name)
		r, ri, also := findIn(sc.rels[second:], n.Name)
		if !ok || !also {
			fail(n.At, "42703", "column %q specified in USING clause does not exist in both tables", n.Name)
		}
		conds = append(conds, c.condition(sc, &pg.Binary{At: pg.At(n.At), Op: "=", L: &direct{pg.At(n.At), l, li}, R: &direct{pg.At(n.At), r,
			ri}}))
		if x.Kind == "right" {
			l.cols[li].hidden = true
		} else {
			r.cols[ri].hidden = true
		}
	}
	for _, part := range conjuncts(x.On, nil) {
		conds = append(conds, c.condition(sc, part))
	}
	var on *expr
	if len(conds) > 0 {
		on = &expr{typ: pgtype.Bool, eval: func(f *frame) any {
			for _, k := range conds {
				if k.x.eval(f) != true {
					return false
				}
			}
			return true
		}}
	}
	kind := x.Kind
	if kind == "cross" {
		kind = "inner"
	}
	lo, hi := left.lo, right.hi
	lateral := left.lateral
	var early []*condition
	push := func(list []*condition) {
		if kind != "inner" && kind != "left" {
			return
		}
		if left.push != nil {
			left.push(list)
		}
		for _, k := range list {
			if len(k.refs) > 0 && within(k.refs, left.lo, left.hi) {
				early = append(early, k)
			}
		}
	}
	// What is on the right of a join and depends on its left does not make the join depend on more.
	return &source{lo: lo, hi: hi, lateral: lateral, push: push, rows: func(f *frame) [][]any {
		base := f.row
		wide := max(sc.width, len(base))
		var rows [][]any
		for _, seg := range left.rows(f) {
			row := make([]any, wide)
			copy(row, base)
			copy(row[left.lo:left.hi], seg)
			rows = append(rows, row)
		}
		for _, k := range early {
			rows = keep(f.outer, rows, k.x)
		}
		rows = join(f.outer, kind, rows, right, conds, on)
		out := make([][]any, len(rows))
		for i, row := range rows {
			out[i] = row[lo:hi]
		}
		return out
	}}
}

// findIn finds a column by its name alone.
func findIn(rels []*rel, name string) (*rel, int, bool) {
	for _, r := range rels {
		for i := range r.cols {
			if r.cols[i].name == name && !r.cols[i].hidden {
				return r, i, true
			}
		}
	}
	return nil, 0, false
}
