package exec

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// orderedScan gives a scan's rows in the order of time, up or down. Segments are grouped so that
// the groups do not overlap in time, and the groups are read one after the other until the limit is
// reached. A group of one segment whose rows are sorted by time is read as it is (or backwards);
// any other is sorted.
type orderedScan struct {
	scan   *plan.Scan // without order and limit
	desc   bool
	left   int64 // rows still to give, -1: all
	time   int   // the time column
	env    *Env
	groups [][]Leaf // still to be read
	out    Operator
	done   []Operator // read; their text is still in use
}

func buildOrderedScan(ctx context.Context, n *plan.Scan, env *Env) (Operator, error) {
	o := &orderedScan{desc: n.Time < 0, left: n.Limit, env: env}
	env.profile.countWhole()
	o.time = slices.IndexFunc(n.Out, func(c plan.Column) bool { return c.Name == plan.TimeColumn })
	if o.time < 0 {
		return nil, fault.Defensive("Scan of [%s] in the order of time without its time column", n.DataSource)
	}
	plain := *n
	plain.Time, plain.Limit = 0, -1
	o.scan = &plain
	leaves, remote, err := env.leaves(ctx, n, readingOf(o.scan).names())
	if err != nil {
		return nil, err
	}
	o.groups = groupByTime(leaves)
	if o.desc {
		slices.Reverse(o.groups)
	}
	if remote == nil {
		return o, nil
	}
	return &remoteOrdered{
		Spec: newSort(nil, n.Out, o.order(), 0, n.Limit, env).Spec, local: o, remote: &remoteRows{
			remote: remote, fragment: &Fragment{Plan: n, Remote: env.remoteProfile([]plan.Node{n})},
		},
	}, nil
}

// groupByTime sorts leaves by time and puts those that overlap together.
func groupByTime(leaves []Leaf) [][]Leaf {
	slices.SortStableFunc(leaves, func(a, b Leaf) int { return cmp.Compare(a.Visible.Start, b.Visible.Start) })
	var groups [][]Leaf
	var end int64
	for _, l := range leaves {
		if len(groups) == 0 || l.Visible.Start >= end {
			groups, end = append(groups, nil), l.Visible.End
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], l)
		end = max(end, l.Visible.End)
	}
	return groups
}

func (o *orderedScan) Next(ctx context.Context) (*vector.Batch, error) {
	for o.left != 0 {
		if o.out == nil {
			if len(o.groups) == 0 {
				return nil, io.EOF
			}
			if err := o.open(); err != nil {
				return nil, err
			}
		}
		b, err := o.out.Next(ctx)
		if errors.Is(err, io.EOF) {
			o.done, o.out = append(o.done, o.out), nil
			continue
		}
		if err != nil || o.left < 0 {
			return b, err
		}
		n := int64(b.Rows())
		if n > o.left {
			b, n = b.Slice(0, int(o.left)), o.left
		}
		o.left -= n
		return b, nil
	}
	return nil, io.EOF
}

// order is that of time.
func (o *orderedScan) order() []plan.SortKey {
	return []plan.SortKey{{Column: o.time, Desc: o.desc, NullsFirst: !o.desc}}
}

// open begins the next group.
func (o *orderedScan) open() error {
	group := o.groups[0]
	o.groups = o.groups[1:]
	p, err := newPipeline(o.scan, readingOf(o.scan), group, o.env)
	if err != nil {
		return err
	}
	if order := group[0].Reader.Info().SortOrder; len(group) == 1 && len(order) > 0 && order[0] == segment.TimeColumn {
		if o.desc {
			p.reverse()
		}
		o.out = operator.CheckLifetime(newGather(p))
		return nil
	}
	s := newSort(nil, o.scan.Out, o.order(), 0, o.left, o.env)
	s.pipeline = p
	o.out = s
	return nil
}

func (o *orderedScan) Close() {
	if o.out != nil {
		o.out.Close()
	}
	for _, op := range o.done {
		op.Close()
	}
	for _, g := range o.groups {
		for _, l := range g {
			l.Reader.Release()
		}
	}
}
