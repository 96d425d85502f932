package exec

import (
	"context"

	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
)

// buildMore makes the operators whose input is always a stream: set operations, unnest and windows.
func buildMore(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	switch n := node.(type) {
	case *plan.SetOp:
		left, right, err := both(ctx, n.Left, n.Right, env.unordered())
		if err != nil {
			return nil, err
		}
		return &setOp{node: n, left: left, right: right, env: env}, nil
	case *plan.Unnest:
		return over(ctx, n.Input, env, func(in Operator) (Operator, error) {
			return newUnnest(n, in, env), nil
		})
	case *plan.Window:
		return over(ctx, n.Input, env.unordered(), func(in Operator) (Operator, error) { return newWindow(n, in, env) })
	}
	return nil, invariant.Failed("plan node [%T] has no operator", node)
}
