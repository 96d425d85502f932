package pgcatalog

import (
	"slices"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// sortKey is an item of ORDER BY: a column of the output, or an expression.
type sortKey struct {
	column     int // -1: x
	x          *expr
	desc       bool
	nullsFirst bool
}

// sortKey compiles an item of ORDER BY. A whole number, or a name that is the output's, is an
// output
// column; base is where these begin in the row.
func (c *compiler) sortKey(sc *scope, o pg.Order, out []col, base int, items []pg.Expr) sortKey {
	k := sortKey{column: -1, desc: o.Desc, nullsFirst: o.Desc}
	if o.Nulls != "" {
		k.nullsFirst = o.Nulls == "first"
	}
	switch x := o.X.(type) {
	case *pg.Const:
		if x.Kind == pg.Int {
			n := number(x.Text)
			if n < 1 || n > int64(len(out)) {
				fail(x.Pos(), "42P10", "ORDER BY position %d is not in select list", n)
			}
			k.column = base + int(n) - 1
			return k
		}
	case *pg.Name:
		if len(x.Parts) == 1 {
			for i := range out {
				if out[i].name == x.Parts[0].Name && !out[i].hidden {
					k.column = base + i
					return k
				}
			}
		}
	}
	for i, item := range items {
		if item != nil && same(item, o.X) {
			k.column = base + i
			return k
		}
	}
	k.x = c.expr(sc, o.X)
	return k
}

// sortRows sorts rows; framed makes the frame that expressions are computed of.
func sortRows(rows [][]any, keys []sortKey, framed func(row []any) *frame) {
	if len(keys) == 0 {
		return
	}
	type sorted struct{ row, by []any }
	list := make([]sorted, len(rows))
	for i, row := range rows {
		by := make([]any, len(keys))
		for j, k := range keys {
			if k.column >= 0 {
				by[j] = row[k.column]
			} else {
				by[j] = k.x.eval(framed(row))
			}
		}
		list[i] = sorted{row, by}
	}
	slices.SortStableFunc(list, func(a, b sorted) int { return compareKeys(a.by, b.by, keys) })
	for i := range list {
		rows[i] = list[i].row
	}
}

func compareKeys(a, b []any, keys []sortKey) int {
	for j, k := range keys {
		x, y := a[j], b[j]
		if x == nil || y == nil {
			switch {
			case x == nil && y == nil:
				continue
			case (x == nil) == k.nullsFirst:
				return -1
			}
			return 1
		}
		n := compare(x, y)
		if k.desc {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

// block compiles a SELECT with the ORDER BY and LIMIT of its query.
func (c *compiler) block(outer *scope, b *pg.Block, q *pg.Query) *relation {
	sc := &scope{outer: outer, windows: b.Windows}
	conds := conjuncts(b.Where, nil)
	from := c.from(sc, b.From, conds)
	items, names := c.items(sc, b)
	out := &relation{}
	exprs := make([]*expr, len(items))
	for i, x := range items {
		exprs[i] = c.expr(sc, x)
		column := col{name: names[i], typ: exprs[i].typ, record: exprs[i].record}
		if n, ok := x.(*pg.Name); ok {
			if r, at, depth := c.find(sc, n); r != nil && depth == 0 {
				column.table, column.number = r.cols[at].table, r.cols[at].number
			}
		}
		out.cols = append(out.cols, column)
	}
	if len(b.GroupBy) == 0 && !b.Distinct { // the type of literals stays open for what is around
		for i, e := range exprs {
			if e.literal == nil && e.typ == pgtype.Unknown {
				exprs[i] = c.coerce(e, pgtype.Text)
				out.cols[i].typ = pgtype.Text
			}
		}
	}
	var groups []*expr
	for _, x := range b.GroupBy {
		groups = append(groups, c.expr(sc, c.groupItem(sc, x, items, names)))
	}
	first := len(groups) > 0 && len(sc.sets) > 0 // functions that give several rows run before they are grouped
	var having *expr
	if b.Having != nil {
		having = c.coerce(c.expr(sc, b.Having), pgtype.Bool)
	}
	var keys []sortKey
	for _, o := range q.OrderBy {
		keys = append(keys, c.sortKey(sc, o, out.cols, 0, items))
	}
	var distinctOn []sortKey
	for _, x := range b.DistinctOn {
		distinctOn = append(distinctOn, c.sortKey(sc, pg.Order{X: x}, out.cols, 0, items))
	}
	cut := c.limits(outer, q)
	grouped := len(groups) > 0 || len(sc.aggs) > 0 || having != nil
	p := &projection{sc: sc, exprs: exprs, keys: keys, distinct: b.Distinct, distinctOn: distinctOn, expanded: first}
	out.run = func(f *frame) [][]any {
		rows := from(f)
		frames := make([]*frame, len(rows))
		for i, row := range rows {
			frames[i] = &frame{run: f.run, outer: f, row: row}
		}
		if first {
			frames = sc.expand(frames)
		}
		if grouped {
			frames = sc.group(f, frames, groups)
		}
		if having != nil {
			frames = slices.DeleteFunc(frames, func(g *frame) bool { return having.eval(g) != true })
		}
		return cut.of(f, p.run(frames))
	}
	return out
}

// projection computes the output of a SELECT.
type projection struct {
	sc         *scope
	exprs      []*expr
	keys       []sortKey
	distinct   bool
	distinctOn []sortKey
	expanded   bool // the rows of functions are there
}

func (p *projection) run(frames []*frame) [][]any {
	for _, w := range p.sc.wins {
		w.compute(frames)
	}
	if !p.expanded {
		frames = p.sc.expand(frames)
	}
	type outRow struct {
		row []any
		of  *frame
	}
	list := make([]outRow, len(frames))
	for i, g := range frames {
		g.run.step()
		row := make([]any, len(p.exprs))
		for j, x := range p.exprs {
			row[j] = x.eval(g)
		}
		list[i] = outRow{row, g}
	}
	if p.distinct {
		seen := map[string]bool{}
		list = slices.DeleteFunc(list, func(r outRow) bool {
			k := rowKey(r.row)
			was := seen[k]
			seen[k] = true
			return was
		})
	}
	value := func(k sortKey, r outRow) any {
		if k.column >= 0 {
			return r.row[k.column]
		}
		return k.x.eval(r.of)
	}
	if len(p.keys) > 0 {
		by := make(map[*frame][]any, len(list))
		for _, r := range list {
			v := make([]any, len(p.keys))
			for j, k := range p.keys {
				v[j] = value(k, r)
			}
			by[r.of] = v
		}
		slices.SortStableFunc(list, func(a, b outRow) int { return compareKeys(by[a.of], by[b.of], p.keys) })
	}
	if len(p.distinctOn) > 0 {
		seen := map[string]bool{}
		list = slices.DeleteFunc(list, func(r outRow) bool {
			v := make([]any, len(p.distinctOn))
			for j, k := range p.distinctOn {
				v[j] = value(k, r)
			}
			k := rowKey(v)
			was := seen[k]
			seen[k] = true
			return was
		})
	}
	rows := make([][]any, len(list))
	for i := range list {
		rows[i] = list[i].row
	}
	return rows
}

// groupItem returns what an item of GROUP BY means: a position, an output name or an expression.
func (c *compiler) groupItem(sc *scope, x pg.Expr, items []pg.Expr, names []string) pg.Expr {
	switch x := x.(type) {
	case *pg.Const:
		if n := number(x.Text); x.Kind == pg.Int {
			if n < 1 || n > int64(len(items)) {
				fail(x.Pos(), "42P10", "GROUP BY position %d is not in select list", n)
			}
			return items[n-1]
		}
	case *pg.Name: // of a column, or else of the output
		if len(x.Parts) > 1 {
			break
		}
		if r, _, depth := c.find(sc, x); r != nil && depth == 0 {
			break
		}
		for i, n := range names {
			if n == x.Parts[0].Name {
				return items[i]
			}
		}
	case *pg.Call:
		switch x.Name {
		case "rollup", "cube", "grouping sets":
			fail(x.Pos(), "0A000", "grouping sets over the catalog are not supported")
		}
	}
	return x
}

// items expands * and names the output.
func (c *compiler) items(sc *scope, b *pg.Block) (items []pg.Expr, names []string) {
	for _, it := range b.Items {
		star, ok := it.X.(*pg.Star)
		if !ok {
			name := it.As.Name
			if name == "" {
				name = nameOf(it.X)
			}
			items, names = append(items, it.X), append(names, name)
			continue
		}
		found := false
		for _, r := range sc.rels {
			if len(star.Of) > 0 && r.name != star.Of[len(star.Of)-1].Name {
				continue
			}
			found = true
			for i, column := range r.cols {
				if column.hidden && (len(star.Of) == 0 || column.name == "tableoid") {
					continue
				}
				items = append(items, &direct{At: star.At, rel: r, at: i})
				names = append(names, column.name)
			}
		}
		if !found {
			if len(star.Of) > 0 {
				fail(star.Pos(), "42P01", "missing FROM-clause entry for table %q", star.Of[len(star.Of)-1].Name)
			}
			fail(star.Pos(), "42601", "SELECT * with no tables specified is not valid")
		}
	}
	return items, names
}

// direct is a column that * stands for.
type direct struct {
	pg.At
	rel *rel
	at  int
}

// nameOf returns the name of an output column without an alias.
func nameOf(x pg.Expr) string {
	switch x := x.(type) {
	case *pg.Name:
		return x.Parts[len(x.Parts)-1].Name
	case *pg.Call:
		switch x.Name {
		case "extract":
			return "extract"
		case "pg_typeof":
			return "pg_typeof"
		}
		return x.Name
	case *pg.Cast:
		inner := x.X
		for k, ok := inner.(*pg.Cast); ok; k, ok = inner.(*pg.Cast) {
			inner = k.X
		}
		if n := nameOf(inner); n != "?column?" {
			return n
		}
		return x.Type.Name
	case *pg.Case:
		if x.Else != nil {
			if n := nameOf(x.Else); n != "?column?" {
				return n
			}
		}
		return "case"
	case *pg.Field:
		return x.Name.Name
	case *pg.Subscript:
		return nameOf(x.X)
	case *pg.Array:
		return "array"
	case *pg.Exists:
		return "exists"
	case *pg.Row:
		return "row"
	case *pg.Sub:
		if b, ok := x.Query.Body.(*pg.Block); ok && len(b.Items) == 1 {
			if b.Items[0].As.Name != "" {
				return b.Items[0].As.Name
			}
			return nameOf(b.Items[0].X)
		}
	}
	return "?column?"
}

// conjuncts takes apart a condition.
func conjuncts(x pg.Expr, into []pg.Expr) []pg.Expr {
	switch b := x.(type) {
	case nil:
		return into
	case *pg.Binary:
		if b.Op == "and" {
			return conjuncts(b.R, conjuncts(b.L, into))
		}
	}
	return append(into, x)
}
