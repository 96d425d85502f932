package exec

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// groupsOut is the part of an aggregation that runs next to the segments: it groups what they hold,
// merges that with the groups of other servers if it is to, and gives the groups unfinished. Its
// batches have a first column that names the table they are of, 0 for the groups with the calls
// that are plain, i for the different rows of the i-th DISTINCT; then come the table's keys, then
// the intermediate values of its calls. A group may come more than once.
type groupsOut struct {
	a      *aggregateOp
	begun  bool
	tables []*groupParts
	at     int // the table that is given
	source *groupSource
}

func buildGroupsOut(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	n, ok := node.(*plan.Aggregate)
	if !ok || len(n.Order) > 0 {
		return nil, invariant.Failed("plan node [%T] has no groups to give", node)
	}
	a, err := newAggregation(n, env)
	if err != nil {
		return nil, err
	}
	a.unfinished = true
	o := &aggregateOp{a: a}
	if o.pipeline, o.input, err = openParts(ctx, n.Input, env, wants{anyOrder: true, need: aggregateNeeds(n)}); err != nil {
		return nil, err
	}
	o.openRemote(n, env)
	o.kept = takeKept(n, o.pipeline, env)
	return &groupsOut{a: o}, nil
}

func (o *groupsOut) begin(ctx context.Context) error {
	o.begun = true
	if err := o.a.consume(ctx); err != nil {
		return err
	}
	for i := range o.a.partials[0].all() {
		workers := make([]*grouper, len(o.a.partials))
		for w, p := range o.a.partials {
			workers[w] = p.all()[i]
		}
		parts, err := partsOf(ctx, workers)
		if err != nil {
			return err
		}
		o.tables = append(o.tables, parts)
	}
	return nil
}

func (o *groupsOut) Next(ctx context.Context) (*vector.Batch, error) {
	if !o.begun {
		if err := o.begin(ctx); err != nil {
			return nil, err
		}
	}
	for ; o.at < len(o.tables); o.at++ {
		if o.source == nil {
			o.source = &groupSource{parts: o.tables[o.at]}
		}
		b, err := o.source.Next(ctx)
		if err == nil {
			cols := append([]*vector.Vector{vector.Constant(vector.Long, int64(o.at), b.N)}, b.Cols...)
			return &vector.Batch{N: b.N, Cols: cols, Sel: b.Sel}, nil
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		o.source = nil
	}
	return nil, io.EOF
}

func (o *groupsOut) Close() {
	for _, t := range o.tables {
		t.close()
	}
	o.a.Close()
}

// wanted returns the types of the batches of groups that were made elsewhere, by other servers or
// for the cache, by table.
func (o *aggregateOp) wanted() ([][]vector.Type, error) {
	tables := o.partials[0].all()
	out := make([][]vector.Type, len(tables))
	for i, g := range tables {
		out[i] = append([]vector.Type{vector.Long}, g.keys...)
		for _, s := range g.specs {
			types, err := s.IntermediateTypes()
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], types...)
		}
	}
	return out, nil
}

// absorbRemote merges the groups that other servers have made, the first that are there first. When
// they are many, each worker takes one server's after another's into tables of its own, which are
// then merged like those of groups that were made here, by all of them.
func (o *aggregateOp) absorbRemote(ctx context.Context, workers []*partialGroups) error {
	wanted, err := o.wanted()
	if err != nil {
		return err
	}
	first := workers[0]
	for len(workers) == 1 || first.groups() < first.main.env.many.merge { // few groups are not worth more
		run, ok := o.remote.take()
		if !ok {
			return nil
		}
		if err := Drain(ctx, run, func(b *vector.Batch) error { return first.absorb(ctx, b, wanted) }); err != nil {
			return err
		}
	}
	return o.a.env.atOnce(ctx, len(workers), func(ctx context.Context, i int) error {
		for {
			run, ok := o.remote.take()
			if !ok {
				return nil
			}
			if err := Drain(ctx, run, func(b *vector.Batch) error { return workers[i].absorb(ctx, b, wanted) }); err != nil {
				return err
			}
		}
	})
}

// groups returns how many groups all tables have.
func (p *partialGroups) groups() int {
	n := 0
	for _, g := range p.all() {
		n += g.groups()
	}
	return n
}

// absorb merges a batch of groups that were made elsewhere, whose columns have the types that are
// wanted of its table.
func (p *partialGroups) absorb(ctx context.Context, b *vector.Batch, wanted [][]vector.Type) error {
	tables := p.all()
	table := -1
	if len(b.Cols) > 0 && b.N > 0 && b.Cols[0].Type == vector.Long {
		table = int(b.Cols[0].LongAt(0))
	}
	if table < 0 || table >= len(tables) || !alike(b, wanted[table]) {
		return fault.Defensive("A server has sent groups that are not those of the query")
	}
	g := tables[table]
	if err := g.merge(b.Cols[1:1+len(g.keys)], b.Cols[1+len(g.keys):], b.N); err != nil {
		return err
	}
	return p.fit(ctx)
}

// alike reports whether the columns of a batch have these types.
func alike(b *vector.Batch, types []vector.Type) bool {
	if len(b.Cols) != len(types) {
		return false
	}
	for i, c := range b.Cols {
		if c.Type != types[i] {
			return false
		}
	}
	return true
}
