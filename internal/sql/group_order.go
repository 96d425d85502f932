package sql

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/timefn"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/sql/syntax"
)

// keyOrder reports whether groups that ORDER BY does not tell apart are to come in the order of
// their keys: at the top, where a LIMIT picks some of them, and below window calls, which may look
// at neighbours.
func (blk *block) keyOrder() bool { return blk.b.settings.keyOrder }

// orderShows reports whether the order of the block's rows can be seen.
func (blk *block) orderShows(in *buildInput) bool {
	return blk.in.ordered || in.limit >= 0 || in.offset > 0
}

// byKeys returns the ORDER BY with keys, columns of n, behind it that are not in it.
func byKeys(n plan.Node, in *buildInput, keys []plan.SortKey) []orderKey {
	out := in.order
	for _, k := range keys {
		key := orderKey{column: -1, x: columnOf(n, k.Column), item: &syntax.OrderItem{Desc: k.Desc, Nulls: nullOrder(k)}}
		for j := range in.items {
			if expr.Equal(in.items[j].x, key.x) {
				key.column = j
				break
			}
		}
		if !slices.ContainsFunc(out, func(o orderKey) bool {
			return o.column >= 0 && o.column == key.column || o.x != nil && expr.Equal(o.x, key.x)
		}) {
			out = append(out, key)
		}
	}
	return out
}

func nullOrder(k plan.SortKey) syntax.NullOrder {
	if k.NullsFirst {
		return syntax.NullsFirst
	}
	return syntax.NullsLast
}

// orderTies puts rows that ORDER BY does not tell apart in their own order: that of the window
// calls, that of the groups. n is what the rows are made of. Rows of window calls without ORDER BY
// are in that order already.
func (blk *block) orderTies(n plan.Node, in *buildInput) {
	switch {
	case len(in.order) > 0 && (len(blk.calls) > 0 || !blk.grouped):
		in.order = byKeys(n, in, blk.b.ownOrder(n))
	case len(blk.calls) == 0:
		in.order = byKeys(n, in, blk.groupKeys(n, in))
	}
}

// groupKey returns column i of n as a sort key, if it has an order worth keeping.
func groupKey(n plan.Node, i int) (plan.SortKey, bool) {
	t := plan.ColumnAt(n, i).Type
	return plan.SortKey{Column: i, NullsFirst: true}, t.Base != expr.Other && t.Base != expr.Array
}

// groupKeys returns the order of the groups of n, an Aggregate or what has its columns first.
// Groups of several sets come set by set, those with more keys first.
func (blk *block) groupKeys(n plan.Node, in *buildInput) []plan.SortKey {
	var keys []plan.SortKey
	if blk.sets != nil {
		keys = append(keys, plan.SortKey{Column: blk.setColumn, NullsFirst: true})
	}
	first := blk.leadingTime(in)
	if first >= 0 {
		keys = append(keys, plan.SortKey{Column: first, NullsFirst: true})
	}
	for i := range blk.keys {
		if k, ok := groupKey(n, i); ok && i != first {
			keys = append(keys, k)
		}
	}
	return keys
}

// leadingTime returns the key that groups are ordered by before all others, or -1. It is the only
// bucket of the rows' time, if other keys follow it: in Druid such groups have a time of their own,
// and go by it, save where data servers pick those of a LIMIT by their keys. See quirk Q007.
func (blk *block) leadingTime(in *buildInput) int {
	if blk.sets != nil || blk.picksByKeys(in) {
		return -1
	}
	return blk.b.leadingTime(blk.node, blk.keys)
}

// leadingTime is that of groups by keys over the rows of n that nothing picks.
func (b *binder) leadingTime(n plan.Node, keys []expr.Expr) int {
	found := -1
	for i, k := range keys {
		if !b.isTimeBucket(n, k) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	if found == len(keys)-1 {
		return -1
	}
	return found
}

// picksByKeys reports whether groups are limited by nothing but their keys. The clauses are over
// the groups.
func (blk *block) picksByKeys(in *buildInput) bool {
	if in.limit < 0 || in.having != nil || len(blk.calls) > 0 {
		return false
	}
	return !slices.ContainsFunc(in.order, func(o orderKey) bool {
		x := o.x
		if o.column >= 0 {
			x = in.items[o.column].x
		}
		c, ok := x.(*expr.Column)
		return !ok || c.Index >= len(blk.keys)
	})
}

// isTimeBucket reports whether key, over the rows of n, is a bucket of the time of a datasource's
// rows, which n has alone, or from a subquery that gives its columns.
func (b *binder) isTimeBucket(n plan.Node, key expr.Expr) bool {
	for {
		switch x := n.(type) {
		case *plan.Filter:
			n = x.Input
		case *plan.Project:
			if c, ok := key.(*expr.Column); ok {
				key = x.Exprs[c.Index]
			}
			n = x.Input
		case *plan.Scan:
			ts, _, ok := timefn.TimeBucket(key, &b.env)
			if !ok {
				return false
			}
			c, ok := ts.(*expr.Column)
			return ok && c.Name == plan.TimeColumn
		default:
			return false
		}
	}
}

// ownOrder returns the order in which the rows of n come by themselves: those of window calls by
// their partitions and order, groups and distinct rows by those of their keys that can be seen.
func (b *binder) ownOrder(n plan.Node) []plan.SortKey {
	switch x := n.(type) {
	case *plan.Filter:
		return b.ownOrder(x.Input)
	case *plan.Project:
		var keys []plan.SortKey
		for _, k := range b.ownOrder(x.Input) {
			k.Column = slices.IndexFunc(x.Exprs, func(e expr.Expr) bool {
				c, ok := e.(*expr.Column)
				return ok && c.Index == k.Column
			})
			if k.Column < 0 {
				break
			}
			keys = append(keys, k)
		}
		return keys
	case *plan.Window:
		var keys []plan.SortKey
		for _, i := range x.Partition {
			keys = append(keys, plan.SortKey{Column: i, NullsFirst: true})
		}
		return append(append(keys, x.Order...), b.ownOrder(x.Input)...)
	case *plan.Sort:
		return x.Keys
	case *plan.Aggregate:
		return b.orderOfGroups(x)
	}
	return nil
}

// orderOfGroups is ownOrder for groups.
func (b *binder) orderOfGroups(n *plan.Aggregate) []plan.SortKey {
	if n.Sets != nil {
		return nil
	}
	keys := make([]expr.Expr, len(n.Keys))
	for i, k := range n.Keys {
		keys[i] = columnOf(n.Input, k)
	}
	var out []plan.SortKey
	first := b.leadingTime(n.Input, keys)
	if first >= 0 {
		out = append(out, plan.SortKey{Column: first, NullsFirst: true})
	}
	for i := range keys {
		if k, ok := groupKey(n, i); ok && i != first {
			out = append(out, k)
		}
	}
	return out
}

// sortGroups puts the groups of n, the block's or those of a subquery that gives its rows, in their
// order.
func (blk *block) sortGroups(n plan.Node, in *buildInput) plan.Node {
	keys := blk.groupKeys(n, in)
	if !blk.grouped {
		keys = blk.b.ownOrder(n)
	}
	if len(keys) == 0 {
		return n
	}
	return &plan.Sort{Input: n, Keys: keys, Limit: -1}
}

// keysInTableOrder puts the keys in the order of the table's columns where Druid does: where keys
// and arguments are columns as they are, and groups are limited, or have several sets, or are put
// in order as they are. Groups that ORDER BY does not tell apart show it. See quirk Q007.
func (blk *block) keysInTableOrder(in *buildInput) {
	if len(blk.keys) < 2 || !blk.keyOrder() || !blk.orderShows(in) || !blk.forgetsOrder(in) || !blk.ofTable(blk.keys) {
		return
	}
	for _, a := range blk.aggregates {
		if !a.grouping && (a.filter != nil || len(a.spec.Params) > 0 || !blk.ofTable(a.args)) {
			return
		}
	}
	before := blk.keys
	blk.keys = slices.Clone(before)
	slices.SortStableFunc(blk.keys, byIndex)
	for _, set := range blk.sets {
		for i, k := range set {
			set[i] = blk.keyIndex(before[k])
		}
	}
}

// byIndex orders columns as they stand in their node.
func byIndex(a, b expr.Expr) int { return a.(*expr.Column).Index - b.(*expr.Column).Index }

// distinctKeys returns the items that make rows distinct, in the order that rows have without ORDER
// BY.
func (blk *block) distinctKeys(in *buildInput) []int {
	keys, columns := make([]int, len(in.items)), make([]expr.Expr, len(in.items))
	for i, it := range in.items {
		keys[i], columns[i] = i, it.x
	}
	if !blk.grouped && (in.limit >= 0 || in.offset > 0 || !inOrder(in.order)) && blk.ofTable(columns) {
		slices.SortStableFunc(keys, func(a, b int) int { return byIndex(columns[a], columns[b]) })
	}
	return keys
}

// forgetsOrder reports whether the order in which the keys are written does not count.
func (blk *block) forgetsOrder(in *buildInput) bool {
	if in.limit >= 0 || in.offset > 0 {
		return true
	}
	asTheyAre := in.having == nil && blk.inPlace(in.items)
	if blk.sets != nil {
		return len(in.order) == 0 || !asTheyAre
	}
	return asTheyAre && !inOrder(in.order)
}

// inOrder reports whether an ORDER BY is that of the items.
func inOrder(order []orderKey) bool {
	for i, o := range order {
		if o.column != i || o.item.Desc {
			return false
		}
	}
	return true
}

// inPlace reports whether the items are the keys and then the aggregates, and nothing else.
func (blk *block) inPlace(items []item) bool {
	if len(items) != len(blk.keys)+len(blk.aggregates) {
		return false
	}
	for i, it := range items[:len(blk.keys)] {
		if !expr.Equal(it.x, blk.keys[i]) {
			return false
		}
	}
	for i, it := range items[len(blk.keys):] {
		if c, ok := it.x.(*expr.Column); !ok || c.Index != aggregateBase+i {
			return false
		}
	}
	return true
}

// ofTable reports whether list are columns of a datasource, which gives the block's rows alone.
func (blk *block) ofTable(list []expr.Expr) bool {
	for _, e := range list {
		if c, ok := e.(*expr.Column); !ok || c.Index >= aggregateBase {
			return false
		}
	}
	n := blk.node
	for {
		f, ok := n.(*plan.Filter)
		if !ok {
			_, scan := n.(*plan.Scan)
			return scan
		}
		n = f.Input
	}
}
