package exec

import (
	"context"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Operator yields the rows of one plan node; its contract is that of operator.Operator.
type Operator = operator.Operator

// Drain calls f with each batch of an operator until its end.
func Drain(ctx context.Context, op Operator, f func(*vector.Batch) error) error {
	return operator.Drain(ctx, op, f)
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

// types returns the physical types of a node's columns.
func types(columns []plan.Column) []vector.Type { return operator.Types(columns) }

// trueRows returns the rows in which a BOOLEAN column is true.
func trueRows(v *vector.Vector, n int) []uint32 { return operator.TrueRows(v, n) }

// stop returns why ctx ended, or nil while it has not. It is called once per batch, and is where a
// goroutine lets others compute first.
func stop(ctx context.Context) error { return scheduler.Yield(ctx) }

// resources is what operators with a package of their own take from the query.
func (e *Env) resources() operator.Resources {
	return operator.Resources{Budget: e.Budget, Spill: e.Spill, BatchRows: e.BatchRows}
}
