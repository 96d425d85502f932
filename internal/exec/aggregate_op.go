package exec

import (
	"context"
	"sync"

	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// aggregateOp groups its input. Over a pipeline each worker groups what it reads, and the tables are merged by value at the end.
type aggregateOp struct {
	a        *aggregation
	pipeline *Pipeline // or
	input    Operator

	partials []*partialGroups
	out      Operator
}

// buildAggregate makes the operator of an Aggregate node. Unless the caller does not care, groups come in the order of their keys, as
// clients of the reference system are used to.
func buildAggregate(ctx context.Context, n *plan.Aggregate, env *Env) (Operator, error) {
	a, err := newAggregation(n, env)
	if err != nil {
		return nil, err
	}
	o := &aggregateOp{a: a}
	if o.pipeline, o.input, err = open(ctx, n.Input, env.unordered().needing(aggregateNeeds(n))); err != nil {
		return nil, err
	}
	if env.anyOrder || len(n.Keys) == 0 {
		return o, nil
	}
	keys := make([]plan.SortKey, len(n.Keys))
	for i := range keys {
		keys[i] = plan.SortKey{Column: i, NullsFirst: true}
	}
	return newSort(o, n.Columns(), keys, 0, -1, env), nil
}

func (o *aggregateOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if err := o.run(ctx); err != nil {
			return nil, err
		}
	}
	b, err := o.out.Next(ctx)
	if err != nil || o.a.sets == nil {
		return b, err
	}
	return o.withoutSet(b), nil
}

// withoutSet turns the number of the grouping set into the grouping id, or drops it.
func (o *aggregateOp) withoutSet(b *vector.Batch) *vector.Batch {
	k := len(o.a.node.Keys)
	out := &vector.Batch{N: b.N, Sel: b.Sel}
	out.Cols = append(append(out.Cols, b.Cols[:k]...), b.Cols[k+1:]...)
	if o.a.node.Grouping {
		ids := make([]int64, b.N)
		for i := range ids {
			ids[i] = o.groupingID(int(b.Cols[k].LongAt(i)))
		}
		out.Cols = append(out.Cols, vector.FromLongs(ids))
	}
	return out
}

// groupingID has a bit for each key that is not in the set, the last key's lowest.
func (o *aggregateOp) groupingID(set int) int64 {
	id := int64(1)<<len(o.a.node.Keys) - 1
	for _, k := range o.a.sets[set] {
		id &^= 1 << (len(o.a.node.Keys) - 1 - k)
	}
	return id
}

func (o *aggregateOp) run(ctx context.Context) error {
	if err := o.consume(ctx); err != nil {
		return err
	}
	var err error
	o.out, err = o.a.finish(ctx, o.partials)
	return err
}

// consume groups all of the input.
func (o *aggregateOp) consume(ctx context.Context) error {
	workers := 1
	if o.pipeline != nil {
		workers = o.pipeline.Workers()
	}
	for range workers {
		p, err := o.a.newPartial()
		if err != nil {
			return err
		}
		o.partials = append(o.partials, p)
	}
	o.share()
	o.partials[0].start()
	if o.pipeline == nil {
		return Drain(ctx, o.input, o.partials[0].add)
	}
	return o.pipeline.Run(ctx, func(worker int, b *vector.Batch) error { return o.partials[worker].add(b) })
}

// share lets the workers spill into the same files.
func (o *aggregateOp) share() {
	if len(o.partials) < 2 {
		return
	}
	for i := range o.partials[0].all() {
		shared := &sharedPartitions{env: o.a.env}
		for _, p := range o.partials {
			p.all()[i].shared = shared
		}
	}
}

func (o *aggregateOp) Close() {
	if o.out != nil {
		o.out.Close()
	}
	for _, p := range o.partials {
		p.close()
	}
	if o.pipeline != nil {
		o.pipeline.Close()
	}
	if o.input != nil {
		o.input.Close()
	}
}

// sharedPartitions makes the files of several groupers when the first of them spills.
type sharedPartitions struct {
	env  *Env
	once sync.Once
	p    *partitions
}

func (s *sharedPartitions) get() *partitions {
	s.once.Do(func() { s.p = newPartitions(s.env, 0) })
	return s.p
}
