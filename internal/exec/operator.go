package exec

import (
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Operator yields the rows of one plan node.
//
// Next is called from one goroutine at a time. It returns io.EOF at the end, never an empty batch,
// and stops within one batch of ctx being done. The batch is valid until the next call. Close frees
// all that is held, also by operators below; it is called once, after the last Next has returned.
type Operator interface {
	Next(ctx context.Context) (*vector.Batch, error)
	Close()
}

// lent enforces that batches are valid until the next call only: in checked builds it puts an
// operator on op that hands out copies, and poisons each when the next batch is asked for or the
// operator is closed. Dictionaries and the bytes of strings stay shared: they are the segment's.
// Plain builds use op itself.
func lent(op Operator) Operator {
	if !invariant.Enabled || op == nil {
		return op
	}
	return &lentOp{input: op}
}

// lasting reports whether the batches of a node's operator stay as they are while they are
// referenced, which is more than operators promise: those of external data do, and those computed
// of them a row at a time. Tasks hold them without copying them (package msq).
func lasting(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.External:
		return true
	case *plan.Project:
		return lasting(n.Input)
	case *plan.Filter:
		return lasting(n.Input)
	}
	return false
}

type lentOp struct {
	input Operator
	last  *vector.Batch // a copy that is valid now
}

func (o *lentOp) Next(ctx context.Context) (*vector.Batch, error) {
	o.poison()
	b, err := o.input.Next(ctx)
	if b != nil {
		b = b.Own()
		o.last = b
	}
	return b, err
}

func (o *lentOp) Close() {
	o.poison()
	o.input.Close()
}

func (o *lentOp) poison() {
	if o.last != nil {
		o.last.Poison()
		o.last = nil
	}
}

// Drain calls f with each batch of an operator until its end.
func Drain(ctx context.Context, op Operator, f func(*vector.Batch) error) error {
	for {
		b, err := op.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
	}
}

// types returns the physical types of a node's columns.
func types(columns []plan.Column) []vector.Type {
	out := make([]vector.Type, len(columns))
	for i, c := range columns {
		out[i] = c.Type.Runtime()
	}
	return out
}

// stop returns why ctx ended, or nil while it has not. It is called once per batch, and is where a
// goroutine lets others compute first.
func stop(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return yield(ctx)
}
