// Package operator defines the interface of the operators that run a plan (the iterator model), and
// contains the smallest operators: existing batches, frames of a file, no rows.
//
// The central type is Operator, which is pulled for batches. Resources are the shared resources of
// the operators of one query.
//
// Elsewhere: the operators of plans and their construction (exec), and the operators in packages
// below exec, each of which imports this one.
package operator

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
// and stops within one batch of ctx being done. The batch is valid until the next call. Close
// releases all resources, including those of the operators below; it is called once, after the last
// Next has returned.
type Operator interface {
	Next(ctx context.Context) (*vector.Batch, error)
	Close()
}

// CheckLifetime enforces that batches are valid only until the next call. In checked builds, it
// wraps op in an operator that returns copies, and poisons each copy when the next batch is
// requested or the operator is closed. Dictionaries and the bytes of strings, which belong to the
// segment, are shared. Plain builds return op itself.
func CheckLifetime(op Operator) Operator {
	if !invariant.Enabled || op == nil {
		return op
	}
	return &lifetimeChecker{input: op}
}

// lifetimeChecker hands out copies.
type lifetimeChecker struct {
	input Operator
	last  *vector.Batch // a copy that is valid now
}

func (o *lifetimeChecker) Next(ctx context.Context) (*vector.Batch, error) {
	o.poison()
	b, err := o.input.Next(ctx)
	if b != nil {
		b = b.Own()
		o.last = b
	}
	return b, err
}

func (o *lifetimeChecker) Close() {
	o.poison()
	o.input.Close()
}

func (o *lifetimeChecker) poison() {
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

// Types returns the physical types of a node's columns.
func Types(columns []plan.Column) []vector.Type {
	out := make([]vector.Type, len(columns))
	for i, c := range columns {
		out[i] = c.Type.Runtime()
	}
	return out
}

// TrueRows returns the rows in which a BOOLEAN column is true.
func TrueRows(v *vector.Vector, n int) []uint32 {
	rows := make([]uint32, 0, n)
	for i := range n {
		if !v.IsNull(i) && v.LongAt(i) > 0 {
			rows = append(rows, uint32(i))
		}
	}
	return rows
}
