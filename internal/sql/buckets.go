package sql

import (
	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/expr/timefn"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// wantsEmptyBuckets reports whether the block is what Druid runs as a timeseries, and
// skipEmptyBuckets=false asks that buckets without rows show, too: rows of one datasource grouped
// by a bucket of their time and by nothing else, in the order of time. See quirk Q020.
func (blk *block) wantsEmptyBuckets(in *buildInput) bool {
	b := blk.b
	if b.settings.skipEmptyBuckets {
		return false
	}
	if len(blk.keys) != 1 || blk.sets != nil || in.having != nil || in.qualify != nil || len(blk.calls) > 0 || in.distinct || in.offset > 0 {
		return false
	}
	for _, o := range in.order {
		x := o.x
		if o.column >= 0 {
			x = in.items[o.column].x
		}
		if x == nil || !expr.Equal(x, blk.keys[0]) {
			return false
		}
	}
	n := blk.node
	if f, ok := n.(*plan.Filter); ok {
		n = f.Input
	}
	if _, ok := n.(*plan.Scan); !ok {
		return false
	}
	return blk.b.isTimeBucket(blk.node, blk.keys[0])
}

// addEmptyBuckets joins the groups to the buckets of the time that was asked of: what has no rows
// counts 0 and is NULL otherwise.
func (blk *block) addEmptyBuckets(g *grouping) error {
	_, granularity, _ := timefn.TimeBucket(blk.keys[0], &blk.b.env)
	columns := g.node.Columns()
	buckets := &plan.Buckets{Input: blk.node, Granularity: granularity, Name: columns[0].Name}
	j := &plan.Join{Kind: plan.Left, Left: buckets, Right: g.node, Keys: []plan.EquiKey{{Left: 0, Right: 0}}}
	p := &plan.Project{Input: j, Exprs: []expr.Expr{columnOf(j, 0)}, Names: []string{columns[0].Name}}
	at := 0
	for i := range blk.aggregates {
		if blk.aggregates[i].grouping {
			continue
		}
		at++
		var e expr.Expr = columnOf(j, at+1)
		if agg.Lookup(blk.aggregates[i].spec.Name).EmptyIsZero {
			var err error
			if e, err = expr.NewCall(catalog.MustLookup("COALESCE"), []expr.Expr{e, longLiteral(0)}, fault.Span{}); err != nil {
				return err
			}
		}
		p.Exprs, p.Names = append(p.Exprs, e), append(p.Names, columns[at].Name)
	}
	g.node = p
	return nil
}
