package pgcatalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/sql/pg"
	"github.com/hengedb/henge/internal/sql/pgtype"
)

// aggregate is a call of an aggregate function in a block.
type aggregate struct {
	name     string
	args     []*expr
	star     bool
	distinct bool
	keys     []sortKey
	filter   *expr
	typ      pgtype.OID
	at       int
}

// aggregateNames are the aggregate functions.
var aggregateNames = map[string]bool{
	"count": true, "sum": true, "min": true, "max": true, "avg": true, "array_agg": true, "string_agg": true, "bool_and": true,
	"bool_or": true, "every": true, "json_agg": true, "jsonb_agg": true, "json_object_agg": true, "any_value": true,
}

// aggregate compiles a call and returns what reads its value.
func (c *compiler) aggregate(sc *scope, x *pg.Call) *expr {
	if sc.noAggregate != "" {
		fail(x.Pos(), "42803", "aggregate functions are not allowed in %s", sc.noAggregate)
	}
	if sc.inAggregate {
		fail(x.Pos(), "42803", "aggregate function calls cannot be nested")
	}
	sc.inAggregate = true
	a := c.aggregateOf(sc, x)
	sc.inAggregate = false
	sc.aggs = append(sc.aggs, a)
	i := len(sc.aggs) - 1
	return &expr{typ: a.typ, at: x.Pos(), eval: func(f *frame) any { return f.aggs[i] }}
}

func (c *compiler) aggregateOf(sc *scope, x *pg.Call) *aggregate {
	a := &aggregate{name: x.Name, star: x.Star, distinct: x.Distinct, at: x.Pos()}
	for _, arg := range x.Args {
		a.args = append(a.args, c.expr(sc, arg))
	}
	need := map[string]int{"count": 1, "string_agg": 2, "json_object_agg": 2}[x.Name]
	if need == 0 {
		need = 1
	}
	if len(a.args) != need && !(x.Name == "count" && x.Star) {
		fail(x.Pos(), "42883", "function %s with %d arguments does not exist", x.Name, len(a.args))
	}
	for _, o := range x.OrderBy {
		a.keys = append(a.keys, c.sortKey(&scope{outer: sc.outer, rels: sc.rels, width: sc.width, ctes: sc.ctes, noAggregate: "ORDER BY"}, o,
			nil, 0, nil))
	}
	if x.Filter != nil {
		a.filter = c.coerce(c.expr(sc, x.Filter), pgtype.Bool)
	}
	for i, arg := range a.args {
		if arg.typ == pgtype.Unknown {
			a.args[i] = c.coerce(arg, pgtype.Text)
		}
	}
	switch x.Name {
	case "count":
		a.typ = pgtype.Int8
	case "sum":
		switch t := a.args[0].typ; t {
		case pgtype.Int2, pgtype.Int4:
			a.typ = pgtype.Int8
		case pgtype.Int8:
			a.typ = pgtype.NumericT
		default:
			a.typ = t
		}
	case "avg":
		a.typ = pgtype.NumericT
		if t := a.args[0].typ; t == pgtype.Float4 || t == pgtype.Float8 {
			a.typ = pgtype.Float8
		}
	case "array_agg":
		a.typ = pgtype.ArrayOf(a.args[0].typ)
	case "string_agg":
		a.typ = pgtype.Text
		for i := range a.args {
			a.args[i] = c.coerce(a.args[i], pgtype.Text)
		}
	case "bool_and", "bool_or", "every":
		a.typ = pgtype.Bool
	case "json_agg", "json_object_agg":
		a.typ = pgtype.JSON
	case "jsonb_agg":
		a.typ = pgtype.JSONB
	default:
		a.typ = a.args[0].typ
	}
	return a
}

// of computes the aggregate of the rows of a group.
func (a *aggregate) of(frames []*frame) any {
	type item struct {
		args []any
		of   *frame
	}
	var list []item
	seen := map[string]bool{}
	for _, g := range frames {
		g.run.step()
		if a.filter != nil && a.filter.eval(g) != true {
			continue
		}
		args := make([]any, len(a.args))
		for i, x := range a.args {
			args[i] = x.eval(g)
		}
		if len(args) > 0 && args[0] == nil && a.name != "array_agg" && a.name != "json_agg" && a.name != "jsonb_agg" {
			continue
		}
		if a.distinct {
			k := rowKey(args)
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		list = append(list, item{args, g})
	}
	if len(a.keys) > 0 {
		by := map[*frame][]any{}
		for _, it := range list {
			for _, k := range a.keys {
				by[it.of] = append(by[it.of], k.x.eval(it.of))
			}
		}
		slices.SortStableFunc(list, func(x, y item) int { return compareKeys(by[x.of], by[y.of], a.keys) })
	} else if a.distinct {
		slices.SortStableFunc(list, func(x, y item) int { return compare(x.args[0], y.args[0]) })
	}
	values := make([][]any, len(list))
	for i, it := range list {
		values[i] = it.args
	}
	if len(values) == 0 && a.name != "count" {
		return nil
	}
	return a.finish(frames, values)
}

// finish computes the aggregate of the values that count, in their order.
func (a *aggregate) finish(frames []*frame, list [][]any) any {
	if a.name == "count" {
		return int64(len(list))
	}
	first, session := list[0][0], frames[0].run.s
	switch a.name {
	case "sum", "avg":
		var sum any = int64(0)
		for _, it := range list {
			sum = arithmetic("+", sum, it[0], a.at)
		}
		if a.name == "avg" {
			mean := float(sum) / float64(len(list))
			if a.typ == pgtype.NumericT {
				return pgtype.Numeric(strconv.FormatFloat(mean, 'f', 16, 64))
			}
			return mean
		}
		return represent(sum, a.typ)
	case "min", "max":
		for _, it := range list[1:] {
			if n := compare(it[0], first); n < 0 && a.name == "min" || n > 0 && a.name == "max" {
				first = it[0]
			}
		}
		return first
	case "bool_and", "every", "bool_or":
		any, all := false, true
		for _, it := range list {
			v := it[0] == true
			any, all = any || v, all && v
		}
		if a.name == "bool_or" {
			return any
		}
		return all
	case "array_agg":
		out := &pgtype.Array{Elem: pgtype.ElementOf(a.typ), Lower: 1}
		for _, it := range list {
			out.Items = append(out.Items, it[0])
		}
		return out
	case "string_agg":
		var b strings.Builder
		for i, it := range list {
			if i > 0 && it[1] != nil {
				b.WriteString(it[1].(string))
			}
			b.WriteString(it[0].(string))
		}
		return b.String()
	case "json_agg", "jsonb_agg":
		parts := make([]string, len(list))
		for i, it := range list {
			parts[i] = toJSON(it[0], a.args[0].typ, session)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case "json_object_agg":
		parts := make([]string, len(list))
		for i, it := range list {
			parts[i] = toJSON(text(it[0], a.args[0].typ, session), pgtype.Text, session) + " : " + toJSON(it[1], a.args[1].typ,
				session)
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return first
}

// group makes a frame of each group. Columns that are not aggregated are those of its first row.
func (sc *scope) group(f *frame, rows []*frame, keys []*expr) []*frame {
	var order []string
	groups := map[string][]*frame{}
	for _, g := range rows {
		f.run.step()
		v := make([]any, len(keys))
		for i, k := range keys {
			v[i] = k.eval(g)
		}
		k := rowKey(v)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], g)
	}
	if len(keys) == 0 && len(rows) == 0 {
		order = []string{""}
	}
	var out []*frame
	for _, k := range order {
		list := groups[k]
		g := &frame{run: f.run, outer: f, row: make([]any, sc.width)}
		if len(list) > 0 {
			g.row, g.sets = list[0].row, list[0].sets
		}
		g.aggs = make([]any, len(sc.aggs))
		for i, a := range sc.aggs {
			g.aggs[i] = a.of(list)
		}
		out = append(out, g)
	}
	return out
}

// window is a call with OVER.
type window struct {
	name      string
	agg       *aggregate
	args      []*expr
	partition []*expr
	keys      []sortKey
	slot      int
}

// window compiles a call with OVER.
func (c *compiler) window(sc *scope, x *pg.Call) *expr {
	over := x.Over
	if over.Name != "" && sc.windows[over.Name] != nil {
		base := *sc.windows[over.Name]
		if len(over.OrderBy) > 0 {
			base.OrderBy = over.OrderBy
		}
		over = &base
	} else if over.Name != "" {
		fail(x.Pos(), "42704", "window %q does not exist", over.Name)
	}
	w := &window{name: x.Name, slot: len(sc.wins)}
	typ := pgtype.Int8
	switch x.Name {
	case "row_number", "rank", "dense_rank":
	case "lag", "lead", "first_value", "last_value":
		for _, a := range x.Args {
			w.args = append(w.args, c.expr(sc, a))
		}
		if len(w.args) == 0 {
			fail(x.Pos(), "42883", "function %s() does not exist", x.Name)
		}
		typ = w.args[0].typ
	default:
		if !aggregateNames[x.Name] {
			fail(x.Pos(), "42809", "%s is not a window function nor an aggregate function", x.Name)
		}
		w.agg = c.aggregateOf(sc, x)
		typ = w.agg.typ
	}
	for _, p := range over.PartitionBy {
		w.partition = append(w.partition, c.expr(sc, p))
	}
	for _, o := range over.OrderBy {
		w.keys = append(w.keys, c.sortKey(sc, o, nil, 0, nil))
	}
	sc.wins = append(sc.wins, w)
	i := w.slot
	return &expr{typ: typ, at: x.Pos(), eval: func(f *frame) any { return f.wins[i] }}
}

// compute sets the values of the window for all rows.
func (w *window) compute(frames []*frame) {
	parts := map[string][]*frame{}
	var order []string
	for _, g := range frames {
		v := make([]any, len(w.partition))
		for i, p := range w.partition {
			v[i] = p.eval(g)
		}
		k := rowKey(v)
		if parts[k] == nil {
			order = append(order, k)
		}
		parts[k] = append(parts[k], g)
	}
	for _, k := range order {
		list := parts[k]
		by := map[*frame][]any{}
		for _, g := range list {
			for _, key := range w.keys {
				by[g] = append(by[g], key.x.eval(g))
			}
		}
		slices.SortStableFunc(list, func(a, b *frame) int { return compareKeys(by[a], by[b], w.keys) })
		rank, dense := 0, 0
		for i := 0; i < len(list); {
			end := i + 1 // of the peers
			for end < len(list) && (len(w.keys) == 0 || compareKeys(by[list[i]], by[list[end]], w.keys) == 0) {
				end++
			}
			rank, dense = i+1, dense+1
			var sum any
			if w.agg != nil {
				sum = w.agg.of(list[:end])
			}
			for j := i; j < end; j++ {
				list[j].wins = append(list[j].wins, w.value(list, j, rank, dense, end, sum))
			}
			i = end
		}
	}
}

func (w *window) value(list []*frame, j, rank, dense, end int, sum any) any {
	offset := 1
	if len(w.args) > 1 {
		if n, ok := w.args[1].eval(list[j]).(int64); ok {
			offset = int(n)
		}
	}
	var at int
	switch w.name {
	case "row_number":
		return int64(j + 1)
	case "rank":
		return int64(rank)
	case "dense_rank":
		return int64(dense)
	case "lag":
		at = j - offset
	case "lead":
		at = j + offset
	case "first_value":
		at = 0
	case "last_value":
		at = end - 1
	default:
		return sum
	}
	if at < 0 || at >= len(list) {
		if len(w.args) > 2 {
			return w.args[2].eval(list[j])
		}
		return nil
	}
	return w.args[0].eval(list[at])
}

// set is a call of a function that gives several rows.
type set struct {
	list func(f *frame) []any
	// fields are those of the records that it gives; nil: it gives plain values.
	fields []Column
}

// expand gives each row as often as its set-returning functions have values.
func (sc *scope) expand(frames []*frame) []*frame {
	if len(sc.sets) == 0 {
		return frames
	}
	var out []*frame
	for _, g := range frames {
		lists := make([][]any, len(sc.sets))
		most := 0
		for i, s := range sc.sets {
			lists[i] = s.list(g)
			most = max(most, len(lists[i]))
		}
		for k := range most {
			g.run.step()
			h := *g
			h.sets = make([]any, len(lists))
			for i, l := range lists {
				if k < len(l) {
					h.sets[i] = l[k]
				}
			}
			out = append(out, &h)
		}
	}
	return out
}
