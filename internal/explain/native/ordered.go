package native

import (
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
)

// ordered are the columns that a query outputs, of rows or of groups, the order that they are in,
// and how many of them there are.
type ordered struct {
	// cols are the columns of the node that was read last: over those of the datasource until the
	// stage groups, and over keys and aggregates from then on.
	cols []expr.Expr
	// names are how the rows call these columns, in the text form.
	names []string
	// sorted is set once an order or a limit is; after that only columns can be chosen.
	sorted        bool
	keys          []plan.SortKey
	offset, limit int64
	// pick are the columns that are output, in terms of cols, once sorted; nil: all.
	pick []int
	// behind says that some of pick are computed behind the order.
	behind bool
	// orderedWithin says that the order is one of rows that a projection reads, which leaves out what
	// they are ordered by.
	orderedWithin bool
	// isInner says that another query reads the output, which is to have results where aggregators end
	// with states.
	isInner bool
	// showsPicked says that a condition reads the groups, which are only those of its columns that it
	// compares, in the text form.
	showsPicked bool
}

// over returns e, over the columns of the last node, over what the stage's expressions are over.
func (o *ordered) over(e expr.Expr) expr.Expr {
	return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
		if c, ok := e.(*expr.Column); ok {
			return o.cols[c.Index]
		}
		return e
	})
}

// isOvergrown reports whether e, over the columns of the last node, is too large over what the
// stage's expressions are over: the stage becomes a query of its own then.
func (o *ordered) isOvergrown(e expr.Expr) bool { return plan.IsOvergrown(e, o.cols) }

// bound leaves rows out, after those that an order with a limit leaves out.
func (o *ordered) bound(offset, count int64) {
	if o.limit >= 0 {
		left := max(o.limit-offset, 0)
		if count < 0 || count > left {
			count = left
		}
	}
	o.sorted, o.offset, o.limit = true, o.offset+offset, count
}

// computeBehind makes the columns of groups that are limited those of a projection: what it
// computes comes behind those that order them.
func (o *ordered) computeBehind(x *plan.Project) {
	place := func(i int) int {
		if o.pick != nil {
			return o.pick[i]
		}
		return i
	}
	pick := make([]int, len(x.Exprs))
	cols := slices.Clone(o.cols)
	for i, e := range x.Exprs {
		if c, ok := e.(*expr.Column); ok {
			pick[i] = place(c.Index)
			continue
		}
		over := expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			if c, ok := e.(*expr.Column); ok {
				return o.cols[place(c.Index)]
			}
			return e
		})
		pick[i] = len(cols)
		cols = append(cols, shown(value(over)))
	}
	o.cols, o.pick, o.behind = cols, pick, o.behind || len(cols) > len(o.cols)
}

// keysAndArgs are the keys and arguments of an aggregation in the order in which they are chosen,
// each once.
func (o *ordered) keysAndArgs(x *plan.Aggregate) []expr.Expr {
	var out []expr.Expr
	add := func(i int) {
		if !slices.ContainsFunc(out, func(e expr.Expr) bool { return expr.Equal(e, o.cols[i]) }) {
			out = append(out, o.cols[i])
		}
	}
	for _, k := range x.Keys {
		add(k)
	}
	for _, a := range x.Aggs {
		args := a.Args
		if functionOf(&a).TimeImplied && len(args) > 1 {
			args = args[:1] // the time is not written
		}
		for _, i := range args {
			add(i)
		}
		if a.Filter >= 0 {
			add(a.Filter)
		}
		if len(a.Agg.Params) > 0 {
			out = append(out, always) // constants are chosen, too
		}
	}
	return out
}

// inPlace reports whether the columns of the groups are output in their order.
func (o *ordered) inPlace() bool {
	for i, e := range o.cols {
		if c, ok := e.(*expr.Column); !ok || c.Index != i {
			return false
		}
	}
	return true
}

// scanOrder is how a scan says in which order its rows are.
func (o *ordered) scanOrder(columns []column) object {
	switch {
	case len(o.keys) == 0:
		return nil
	case len(o.keys) == 1 && columns[o.keys[0].Column].name == plan.TimeColumn:
		return obj("order", direction(o.keys[0].Desc))
	}
	order := make([]object, len(o.keys))
	for i, k := range o.keys {
		order[i] = obj("columnName", columns[k.Column].name, "order", direction(k.Desc))
	}
	return obj("orderBy", order)
}

// uniqueKeys is x without keys that are the same as others, and the place of each key among those
// that are left. Subtotals need all of them.
func (o *ordered) uniqueKeys(x *plan.Aggregate) (*plan.Aggregate, []int) {
	if x.Sets != nil {
		return x, nil
	}
	var keys []int
	place := make([]int, len(x.Keys))
	for i, k := range x.Keys {
		at := slices.IndexFunc(keys, func(other int) bool { return expr.Equal(o.cols[other], o.cols[k]) })
		if at < 0 {
			at = len(keys)
			keys = append(keys, k)
		}
		place[i] = at
	}
	if len(keys) == len(x.Keys) {
		return x, nil
	}
	out := *x
	out.Keys = keys
	return &out, place
}

// computeOrdered makes the columns of a scan that is in an order those of a projection; what it is
// ordered by comes behind them.
func (o *ordered) computeOrdered(x *plan.Project, w *writer) {
	over := func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			c, ok := e.(*expr.Column)
			switch {
			case !ok:
				return e
			case o.pick != nil:
				return o.cols[o.pick[c.Index]]
			}
			return o.cols[c.Index]
		})
	}
	var cols []expr.Expr
	pick := make([]int, len(x.Exprs))
	for i, e := range x.Exprs {
		cols = append(cols, w.withoutNever(shown(value(over(e)))))
		pick[i] = i
	}
	keys := slices.Clone(o.keys)
	for i, k := range keys {
		by := o.cols[k.Column]
		at := slices.IndexFunc(cols, func(e expr.Expr) bool { return expr.Equal(e, by) })
		if at < 0 {
			at = len(cols)
			cols = append(cols, by)
		}
		keys[i].Column = at
	}
	o.cols, o.pick, o.keys = cols, pick, keys
}

// orderByTime has a scan in the order of the dates of its times be in that of the times.
func (o *ordered) orderByTime() {
	if len(o.keys) != 1 {
		return
	}
	day, ok := o.cols[o.keys[0].Column].(*expr.Cast)
	if !ok || day.T.Base != expr.Date {
		return
	}
	if c, ok := day.X.(*expr.Column); !ok || c.Name != plan.TimeColumn {
		return
	}
	o.pick = make([]int, len(o.cols))
	for i := range o.pick {
		o.pick[i] = i
	}
	o.keys = []plan.SortKey{{Column: len(o.cols), Desc: o.keys[0].Desc}}
	o.cols, o.orderedWithin = append(slices.Clone(o.cols), day.X), true
}

// readsPicked reports whether a query above reads some columns of groups in an order, in the text
// form, among them those that they are ordered by.
func (o *ordered) readsPicked() bool {
	notPicked := func(k plan.SortKey) bool { return !slices.Contains(o.pick, k.Column) }
	return len(o.pick) > 0 && (o.showsPicked || o.isInner && !slices.ContainsFunc(o.keys, notPicked))
}
