package exec

import (
	"context"
	"fmt"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// Build makes the operators of a plan. The caller closes what it returns.
func Build(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	return build(ctx, node, env.withDefaults())
}

func build(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	if p, ok, err := OpenPipeline(ctx, node, env); err != nil {
		return nil, err
	} else if ok {
		return &gatherOp{p: p}, nil
	}
	switch n := node.(type) {
	case *plan.Scan:
		return buildOrderedScan(ctx, n, env)
	case *plan.Inline:
		return newBatches(n.Rows, env.BatchRows), nil
	case *plan.External:
		if env.Externals == nil {
			return nil, fault.Unsupported("External data can't be read here")
		}
		return env.Externals.Open(ctx, n)
	case *plan.System:
		if env.System == nil {
			return nil, fault.Unsupported("System table [%s.%s] can't be read here", n.Schema, n.Table)
		}
		rows, err := env.System.Rows(ctx, n)
		if err != nil {
			return nil, err
		}
		return newBatches(rows, env.BatchRows), nil
	case *plan.Filter:
		cond, err := expr.Compile(n.Cond, env.Expr)
		if err != nil {
			return nil, err
		}
		return over(ctx, n.Input, env, func(in Operator) (Operator, error) { return &filterOp{input: in, cond: cond}, nil })
	case *plan.Project:
		exprs, err := compileProjection(n.Exprs, env.Expr)
		if err != nil {
			return nil, err
		}
		return over(ctx, n.Input, env, func(in Operator) (Operator, error) { return &projectOp{input: in, exprs: exprs}, nil })
	case *plan.Limit:
		return over(ctx, n.Input, env, func(in Operator) (Operator, error) {
			return &limitOp{input: in, offset: n.Offset, count: n.Count}, nil
		})
	case *plan.Sort:
		return over(ctx, n.Input, env.unordered(), func(in Operator) (Operator, error) {
			return newSort(in, n.Input.Columns(), n.Keys, n.Offset, n.Limit, env), nil
		})
	case *plan.Aggregate:
		return buildAggregate(ctx, n, env)
	case *plan.Join:
		return buildJoinOp(ctx, n, env)
	case *plan.Union:
		u := &unionOp{}
		for _, in := range n.Ins {
			op, err := build(ctx, in, env)
			if err != nil {
				u.Close()
				return nil, err
			}
			u.inputs = append(u.inputs, op)
		}
		return u, nil
	}
	return buildMore(ctx, node, env)
}

// over builds the input of an operator and the operator on it.
func over(ctx context.Context, input plan.Node, env *Env, make func(Operator) (Operator, error)) (Operator, error) {
	in, err := build(ctx, input, env)
	if err != nil {
		return nil, err
	}
	op, err := make(in)
	if err != nil {
		in.Close()
		return nil, err
	}
	return op, nil
}

// buildJoinOp reads the right side of a join, so that the left one can stream.
func buildJoinOp(ctx context.Context, n *plan.Join, env *Env) (Operator, error) {
	left, right, err := both(ctx, n.Left, n.Right, env.unordered())
	if err != nil {
		return nil, err
	}
	b, err := buildJoin(ctx, n, right, 0, env)
	if err != nil {
		left.Close()
		return nil, err
	}
	op, err := newJoin(n, left, b, b.facts, env)
	if err != nil {
		left.Close()
		b.close()
		return nil, err
	}
	return op, nil
}

func both(ctx context.Context, l, r plan.Node, env *Env) (left, right Operator, err error) {
	if left, err = build(ctx, l, env); err != nil {
		return nil, nil, err
	}
	if right, err = build(ctx, r, env); err != nil {
		left.Close()
		return nil, nil, err
	}
	return left, right, nil
}

// buildOrderedScan gives a scan's rows in the order of time.
func buildOrderedScan(ctx context.Context, n *plan.Scan, env *Env) (Operator, error) {
	at := -1
	for i, c := range n.Out {
		if c.Name == plan.TimeColumn {
			at = i
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("scan of [%s] in the order of time without its time column", n.DataSource)
	}
	plain := *n
	plain.Time, plain.Limit = 0, -1
	return over(ctx, &plain, env, func(in Operator) (Operator, error) {
		return newSort(in, n.Out, []plan.SortKey{{Column: at, Desc: n.Time < 0, NullsFirst: n.Time > 0}}, 0, n.Limit, env), nil
	})
}
