package exec

import (
	"context"
	"io"

	"github.com/hengedb/henge/internal/exec/extsort"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// sortOp orders its input and yields the rows from offset on, at most limit of them. Over a
// pipeline each worker sorts what it reads. In the end the sorted runs are merged.
type sortOp struct {
	*extsort.Spec
	pipeline *Pipeline // or
	input    Operator
	remote   *remoteRows // sorted rows of other servers; nil: there are none

	sorters []*extsort.Sorter
	out     Operator
}

func buildSort(ctx context.Context, n *plan.Sort, env *Env, w wants) (Operator, error) {
	p, in, err := openParts(ctx, n.Input, env, w.unordered().needing(and(w.need, newColumnSet(n).addSort(n.Keys))))
	if err != nil {
		return nil, err
	}
	o := newSort(in, n.Input.Columns(), n.Keys, n.Offset, n.Limit, env)
	if o.pipeline = p; p != nil && p.remote != nil {
		o.remote = &remoteRows{remote: p.remote, fragment: &Fragment{
			Plan: &plan.Sort{Input: p.fragment(), Keys: n.Keys, Limit: o.Keep()}, Need: p.need, Remote: env.remoteProfile(p.nodes(n)),
		}}
	}
	return o, nil
}

func newSort(input Operator, columns []plan.Column, keys []plan.SortKey, offset, limit int64, env *Env) *sortOp {
	return newSortOf(input, types(columns), keys, offset, limit, env)
}

func newSortOf(input Operator, types []vector.Type, keys []plan.SortKey, offset, limit int64, env *Env) *sortOp {
	return &sortOp{Spec: &extsort.Spec{Resources: env.resources(), Types: types, Keys: keys, Offset: offset, Limit: limit}, input: input}
}

func (o *sortOp) Next(ctx context.Context) (*vector.Batch, error) {
	if o.out == nil {
		if o.Limit == 0 {
			return nil, io.EOF
		}
		if err := o.consume(ctx); err != nil {
			return nil, err
		}
		var runs []Operator
		for _, s := range o.sorters {
			more, err := s.Finish(ctx)
			if err != nil {
				return nil, err
			}
			runs = append(runs, more...)
		}
		if o.remote != nil {
			runs = append(runs, o.remote.runs()...)
		}
		o.out = &limitOp{input: o.Merge(runs), offset: o.Offset, count: o.Limit}
	}
	return o.out.Next(ctx)
}

func (o *sortOp) consume(ctx context.Context) error {
	workers := 1
	if o.pipeline != nil {
		if err := o.pipeline.prepare(ctx); err != nil {
			return err
		}
		workers = o.pipeline.Workers()
		if top := o.pipeline.narrowTop(o.Keys, o.Limit); top != nil {
			o.OnLast = top.offer
		}
	}
	if o.remote != nil {
		if err := o.remote.begin(ctx); err != nil {
			return err
		}
	}
	for range workers {
		o.sorters = append(o.sorters, extsort.NewSorter(o.Spec))
	}
	if o.pipeline == nil {
		return Drain(ctx, o.input, o.sorters[0].Add)
	}
	return o.pipeline.Run(ctx, workers, func(_ context.Context, worker int, b *vector.Batch) error { return o.sorters[worker].Add(b) })
}

func (o *sortOp) Close() {
	if o.input != nil {
		o.input.Close()
	}
	for _, s := range o.sorters {
		s.Close()
	}
	if o.remote != nil {
		o.remote.Close()
	}
	if o.pipeline != nil {
		o.pipeline.Close()
	}
}
