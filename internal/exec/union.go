package exec

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// openUnion makes the pipeline of a UNION ALL whose rows may come in any order, or else the
// operator that concatenates its inputs.
func openUnion(ctx context.Context, n *plan.Union, env *Env, w wants) (*Pipeline, Operator, error) {
	if w.anyOrder {
		arms, err := openArms(ctx, n, env, w)
		if err != nil {
			return nil, nil, err
		}
		return &Pipeline{env: env, parted: arms}, nil, nil
	}
	u := &unionOp{}
	for _, in := range n.Ins {
		op, err := build(ctx, in, env, w)
		if err != nil {
			u.Close()
			return nil, nil, err
		}
		u.inputs = append(u.inputs, op)
	}
	return nil, u, nil
}

// unionOp concatenates its inputs in their order.
type unionOp struct {
	inputs []Operator
	at     int
}

func (o *unionOp) Next(ctx context.Context) (*vector.Batch, error) {
	for o.at < len(o.inputs) {
		b, err := o.inputs[o.at].Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		o.at++
	}
	return nil, io.EOF
}

func (o *unionOp) Close() {
	for _, in := range o.inputs {
		in.Close()
	}
}

// unionArms are the inputs of a union, which several workers read together, one input after the
// other.
type unionArms struct {
	env  *Env
	arms []unionArm
	// begun numbers the morsels and parts of all arms as they are taken.
	begun atomic.Int64
}

// unionArm is a pipeline, of which each worker of the union has a worker, or an operator, which the
// first that comes reads alone.
type unionArm struct {
	pipeline *Pipeline // or
	op       Operator
	taken    *atomic.Bool // of op
}

func openArms(ctx context.Context, n *plan.Union, env *Env, w wants) (*unionArms, error) {
	u := &unionArms{env: env}
	for _, in := range n.Ins {
		p, op, err := open(ctx, in, env, w)
		if err != nil {
			u.Close()
			return nil, err
		}
		if p != nil && p.remote != nil { // others send rows too
			p, op = nil, operator.CheckLifetime(newGather(p))
		}
		u.arms = append(u.arms, unionArm{p, op, &atomic.Bool{}})
	}
	return u, nil
}

// run prepares all arms.
func (u *unionArms) run(ctx context.Context) error {
	for _, a := range u.arms {
		if a.pipeline == nil {
			continue
		}
		if err := a.pipeline.prepare(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (u *unionArms) workers() int {
	n := 0
	for _, a := range u.arms {
		if a.pipeline != nil {
			n += a.pipeline.Workers()
		} else {
			n++
		}
	}
	return min(n, u.env.Threads)
}

// short reports whether one worker would take all rows of the arms at a time.
func (u *unionArms) short() bool {
	rows := 0
	for _, a := range u.arms {
		if a.pipeline == nil || !a.pipeline.short() {
			return false
		}
		rows += a.pipeline.rows()
	}
	return rows <= morselRows
}

func (u *unionArms) source(fresh bool) partSource { return &unionSource{union: u, fresh: fresh} }

func (u *unionArms) Close() {
	for _, a := range u.arms {
		if a.pipeline != nil {
			a.pipeline.Close()
		} else {
			a.op.Close()
		}
	}
}

// unionSource is what one worker reads of the arms.
type unionSource struct {
	union   *unionArms
	fresh   bool
	taken   func(number int) // nil: nobody asks
	at      int              // the next arm
	present Operator         // what is read of the arm before; nil: nothing
}

func (s *unionSource) onTake(f func(number int)) { s.taken = f }

func (s *unionSource) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if s.present == nil {
			if s.at == len(s.union.arms) {
				return nil, io.EOF
			}
			if err := s.begin(&s.union.arms[s.at]); err != nil {
				return nil, err
			}
			s.at++
			continue
		}
		b, err := s.present.Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		s.present = nil
	}
}

// begin begins to read an arm, if something of it is left.
func (s *unionSource) begin(a *unionArm) error {
	if a.pipeline == nil {
		if !a.taken.Swap(true) {
			s.take(0)
			s.present = a.op
		}
		return nil
	}
	w, err := a.pipeline.NewWorker(s.fresh)
	if err != nil {
		return err
	}
	w.source.anyOrder = true
	w.onTake(s.take)
	s.present = w
	return nil
}

// take numbers what is begun through all arms.
func (s *unionSource) take(int) {
	if s.taken != nil {
		s.taken(int(s.union.begun.Add(1)) - 1)
	}
}

// Close is part of Operator; whoever has the arms closes them.
func (s *unionSource) Close() {}
