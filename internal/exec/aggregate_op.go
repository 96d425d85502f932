package exec

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// aggregateOp groups its input. Over a pipeline each worker groups what it reads, and the tables
// are merged by value at the end, part by part. The parts are the bottom of a pipeline of their
// own, or are read one after the other.
type aggregateOp struct {
	a        *aggregation
	pipeline *Pipeline // or
	input    Operator
	remote   *remoteRows // groups of other servers; nil: there are none
	kept     *keptGroups

	partials []*partialGroups
	parts    *groupParts // nil: nothing was grouped yet
	top      *topKeys    // which groups are wanted, by a column of the node; nil: all
	out      *groupSource
}

// mergesGroups reports whether sketches of groups are merged. They are in the order of the groups'
// keys, so that what is kept of them does not depend on the number of workers.
func mergesGroups(n *plan.Aggregate) bool { return mergesSketches(n) && plan.OverGroups(n.Input) }

// mergesSketches reports whether an aggregate makes sketches of those of a column.
func mergesSketches(n *plan.Aggregate) bool {
	return slices.ContainsFunc(n.Aggs, func(c plan.AggCall) bool {
		return len(c.Agg.Args) > 0 && c.Agg.Args[0].Kind == vector.KindComplex && agg.Lookup(c.Agg.Name).Sketch
	})
}

// openAggregate makes the pipeline or the operator of an Aggregate node. Unless the caller does not
// care, groups come in the order of their keys, as clients of Druid are used to. See quirk Q007.
func openAggregate(ctx context.Context, n *plan.Aggregate, env *Env, w wants) (*Pipeline, Operator, error) {
	a, err := newAggregation(n, env)
	if err != nil {
		return nil, nil, err
	}
	o := &aggregateOp{a: a}
	rows := w.unordered()
	if mergesGroups(n) {
		rows = w.inOrder()
	}
	rows.bounds = wantsBounds(n)
	if o.pipeline, o.input, err = openParts(ctx, n.Input, env, rows.needing(aggregateNeeds(n))); err != nil {
		return nil, nil, err
	}
	if len(n.Order) > 0 {
		in := o.input
		if o.pipeline != nil {
			in, o.pipeline = operator.CheckLifetime(newGather(o.pipeline)), nil
		}
		o.input = newSort(in, n.Input.Columns(), n.Order, 0, -1, env)
	}
	o.openRemote(n, env)
	o.kept = takeKept(n, o.pipeline, env)
	if len(n.Keys) == 0 {
		return nil, o, nil
	}
	p := &Pipeline{env: env, parted: o}
	if w.anyOrder {
		return p, nil, nil
	}
	keys := make([]plan.SortKey, len(n.Keys))
	for i := range keys {
		keys[i] = plan.SortKey{Column: i, NullsFirst: true}
	}
	env.profile.countWhole()
	sorted := newSort(nil, n.Columns(), keys, 0, -1, env)
	sorted.pipeline = p
	return nil, sorted, nil
}

// openRemote has other servers group what they hold of the input.
func (o *aggregateOp) openRemote(n *plan.Aggregate, env *Env) {
	if o.pipeline == nil || o.pipeline.remote == nil {
		return
	}
	plain := plan.WithInputs(n, []plan.Node{o.pipeline.fragment()})
	o.remote = &remoteRows{remote: o.pipeline.remote, fragment: &Fragment{
		Plan: plain, Groups: true, Remote: env.remoteProfile(o.pipeline.nodes(n)),
	}}
}

func (o *aggregateOp) Next(ctx context.Context) (*vector.Batch, error) {
	if err := o.run(ctx); err != nil {
		return nil, err
	}
	if o.out == nil {
		o.out = o.reader()
	}
	return o.out.Next(ctx)
}

// workers returns how many workers are worth starting.
func (o *aggregateOp) workers() int { return min(o.a.env.Threads, o.parts.n, o.parts.takers) }

// source returns one of the readers of what was grouped.
func (o *aggregateOp) source(bool) partSource { return o.reader() }

func (o *aggregateOp) short() bool { return false }

func (o *aggregateOp) reader() *groupSource {
	s := &groupSource{parts: o.parts, top: o.top}
	if o.a.sets != nil {
		s.finish = o.withoutSet
	}
	return s
}

// narrowTop has groups left out that lie beyond the last row of a top-N. It reports false if their
// results are not known to tell.
func (o *aggregateOp) narrowTop(k *topKeys) bool {
	if o.a.sets != nil || k.column < len(o.a.keys) || o.a.node.Columns()[k.column].Type.Runtime() != vector.Long {
		return false
	}
	o.top = k
	return true
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

// run groups all of the input, if that was not done.
func (o *aggregateOp) run(ctx context.Context) error {
	if o.parts != nil {
		return nil
	}
	if err := o.consume(ctx); err != nil {
		return err
	}
	var err error
	o.parts, err = o.a.finish(ctx, o.partials)
	return err
}

// consume groups all of the input.
func (o *aggregateOp) consume(ctx context.Context) error {
	if o.pipeline != nil {
		if err := o.pipeline.prepare(ctx); err != nil {
			return err
		}
	}
	if o.remote != nil {
		if err := o.remote.begin(ctx); err != nil {
			return err
		}
	}
	for _, memory := range o.memories() {
		p, err := o.a.newPartial(memory)
		if err != nil {
			return err
		}
		o.partials = append(o.partials, p)
	}
	o.a.dicts = nil
	o.shareFiles()
	if s := newSummary(o.a, o.pipeline, len(o.partials)); s != nil {
		o.pipeline.blocks = func(ctx context.Context, worker int, in *scanner, from, to int) (int, error) {
			return s.take(ctx, o.partials[worker], worker, in, from, to)
		}
	} else if e := newEntries(o.a, o.pipeline); e != nil {
		o.pipeline.blocks = func(ctx context.Context, worker int, in *scanner, from, to int) (int, error) {
			return e.take(ctx, o.partials[worker], in, from, to)
		}
	}
	o.partials[0].start()
	if o.pipeline == nil {
		return Drain(ctx, o.input, func(b *vector.Batch) error { return o.partials[0].add(ctx, b) })
	}
	err := o.pipeline.Run(ctx, len(o.partials), func(ctx context.Context, worker int, b *vector.Batch) error { return o.partials[worker].add(ctx, b) })
	if err != nil {
		return err
	}
	// Workers that merge side by side need shares of the memory; one that does so alone takes what the
	// others have left.
	sideBySide := o.remote != nil && len(o.partials) >= parallelMergeMinWorkers
	if sideBySide {
		if err := o.absorbRemote(ctx, o.partials); err != nil {
			return err
		}
	}
	for _, p := range o.partials {
		p.pool()
	}
	if o.remote != nil && !sideBySide {
		if err := o.absorbRemote(ctx, o.partials[:1]); err != nil {
			return err
		}
	}
	if o.kept == nil {
		return nil
	}
	wanted, err := o.wanted()
	if err != nil {
		return err
	}
	return o.kept.run(ctx, func(b *vector.Batch) error { return o.partials[0].absorb(ctx, b, wanted) })
}

// leastShare is the memory below which a worker would spill every few batches: then fewer workers
// are better.
const leastShare = 256 << 10

// sharers returns how many workers, of at most so many, can share so much memory.
func sharers(most int, free int64) int {
	return max(1, min(most, int(free/leastShare)))
}

// memories returns the memory of each worker. Each has a share that no other can take, so that a
// worker which is left without memory has groups of its own to spill. Groups without keys can't be
// spilled, and are few.
func (o *aggregateOp) memories() []*budget.Budget {
	memory := o.a.env.Budget
	if o.pipeline == nil {
		return []*budget.Budget{memory}
	}
	free := memory.Free()
	most := o.pipeline.Workers()
	if n := min(o.a.env.Threads, len(sourcesOf(o.remote))); n >= parallelMergeMinWorkers {
		most = max(most, n)
	}
	if o.pipeline.short() && slices.ContainsFunc(o.a.specs, func(s agg.Spec) bool { return agg.Lookup(s.Name).InOrder }) {
		most = 1 // the values of small tables come in the order of their segments, each time
	}
	workers := sharers(most, free)
	shares := slices.Repeat([]*budget.Budget{memory}, workers)
	if workers == 1 || len(o.a.keys) == 0 && len(o.a.distinct) == 0 {
		return shares
	}
	for i := range shares {
		shares[i] = memory.Child("a thread of the query", free/int64(workers))
	}
	return shares
}

// parallelMergeMinWorkers is the number of workers from which they merge what other servers have
// grouped side by side: a group then meets another one twice, which two or three workers don't make
// up for.
const parallelMergeMinWorkers = 4

func sourcesOf(remote *remoteRows) []Operator {
	if remote == nil {
		return nil
	}
	return remote.streams
}

// shareFiles lets the workers spill into the same files.
func (o *aggregateOp) shareFiles() {
	if len(o.partials) < 2 {
		return
	}
	for i := range o.partials[0].all() {
		files := newGroupFiles(o.a.env, 0)
		for _, p := range o.partials {
			p.all()[i].files = files
		}
	}
}

func (o *aggregateOp) Close() {
	if o.parts != nil {
		o.parts.close()
	}
	for _, p := range o.partials {
		p.close()
	}
	if o.remote != nil {
		o.remote.Close()
	}
	o.kept.close()
	if o.pipeline != nil {
		o.pipeline.Close()
	}
	if o.input != nil {
		o.input.Close()
	}
}
