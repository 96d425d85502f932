package exec

import (
	"context"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
)

// Build makes the operators of a plan. The right sides of joins are read while it does. The caller
// closes what it returns.
//
// Neither Build nor the operator's Next panic: what goes wrong inside is a fault.
func Build(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	env = env.withDefaults(ctx)
	if env.Profile != nil {
		env.Profile.begin(env)
	}
	return begin(ctx, env, func(ctx context.Context) (Operator, *sharing, error) {
		own := *env
		own.sharing = &sharing{}
		op, err := build(ctx, node, &own)
		if err != nil {
			own.sharing.close()
			return nil, nil, err
		}
		return op, own.sharing, nil
	})
}

func build(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	p, op, err := open(ctx, node, env)
	if p != nil {
		return lent(newGather(p)), nil
	}
	return op, err
}

// open makes the pipeline that node is, or else its operator. The caller closes what it gets.
func open(ctx context.Context, node plan.Node, env *Env) (*Pipeline, Operator, error) {
	env = env.profiling(node)
	p, op, err := openNode(ctx, node, env)
	if p != nil {
		p.need = env.need
	}
	if op != nil {
		op = env.profile.over(op)
		if !lasting(node) {
			op = lent(op)
		}
	}
	return p, op, err
}

func openNode(ctx context.Context, node plan.Node, env *Env) (*Pipeline, Operator, error) {
	need := env.need
	env = env.needing(nil)
	if reads := env.reads; reads != nil {
		p, err := openScan(ctx, node.(*plan.Scan), reads, env.reading(nil))
		return p, nil, err
	}
	switch n := node.(type) {
	case *plan.Scan:
		if n.Time != 0 {
			op, err := buildOrderedScan(ctx, n, env)
			return nil, op, err
		}
		p, err := openScan(ctx, n, readingOf(n), env)
		return p, nil, err
	case *plan.Filter:
		cond, err := expr.Compile(n.Cond, env.Expr)
		if err != nil {
			return nil, nil, err
		}
		inner := env.needing(and(need, newColumnSet(n).addExpr(n.Cond)))
		return chain(ctx, step{node: n}, n.Input, inner, func(in Operator) Operator { return &filterOp{input: in, cond: cond} })
	case *plan.Project:
		exprs, err := compileProjection(n.Exprs, env.Expr)
		if err != nil {
			return nil, nil, err
		}
		s, inner := step{node: n}, env
		if scan, ok := n.Input.(*plan.Scan); ok && scan.Time == 0 {
			var reads *reading
			reads, s.here = readingUnder(n, scan)
			inner = env.reading(reads)
		}
		used := newColumnSet(n.Input)
		for _, e := range n.Exprs {
			used.addExpr(e)
		}
		return chain(ctx, s, n.Input, inner.needing(used), func(in Operator) Operator {
			return &projectOp{input: in, exprs: exprs, memory: budget.NewAccount(env.Budget)}
		})
	case *plan.Unnest:
		return chain(ctx, step{node: n, need: need}, n.Input, env.needing(unnestNeeds(n, need)), func(in Operator) Operator { return newUnnest(n, need, in, env) })
	case *plan.Join:
		return openJoin(ctx, n, need, env)
	case *plan.Aggregate:
		return openAggregate(ctx, n, env)
	case *plan.Window:
		return openWindow(ctx, n, env)
	case *plan.Buckets:
		op, err := buckets(ctx, n, env)
		return nil, op, err
	case *plan.Union:
		return openUnion(ctx, n, need, env)
	case *plan.Shared:
		return nil, env.sharing.reader(n, env), nil
	}
	op, err := buildStream(ctx, node, need, env)
	return nil, op, err
}

// chain appends a step to the pipeline of its input, or if that is none puts an operator on it.
func chain(ctx context.Context, s step, input plan.Node, env *Env, make func(Operator) Operator) (*Pipeline, Operator, error) {
	p, op, err := open(ctx, input, env)
	switch {
	case err != nil:
		return nil, nil, err
	case p != nil && p.limited() && !keepsRows([]step{s}):
		return nil, make(lent(newGather(p))), nil
	case p != nil:
		p.steps = append(p.steps, s)
		return p, nil, nil
	}
	return nil, make(op), nil
}

// openJoin reads the right side of a join, so that the left one can stream. A right side that fits
// in memory is shared by the workers of the left pipeline, which is opened before: what the joins
// below look for is looked for in the right side, too.
func openJoin(ctx context.Context, n *plan.Join, need []bool, env *Env) (*Pipeline, Operator, error) {
	inner := env.unordered()
	if n.Kind != plan.Right && n.Kind != plan.Full {
		inner = env // the rows come in the order of the left ones, those of one of them in the order of the right ones
	}
	leftNeed, rightNeed, need := joinNeeds(n, need)
	if _, err := newJoinProbe(n, need, env); err != nil {
		return nil, nil, err
	}
	rows, right, err := open(ctx, n.Right, inner.needing(rightNeed))
	if err != nil {
		return nil, nil, err
	}
	if rows != nil && (rows.there != nil || rows.rowsLeft != nil) { // others send rows too, or the first rows are wanted
		rows, right = nil, lent(newGather(rows))
	}
	p, left, err := open(ctx, n.Left, inner.needing(leftNeed))
	if err != nil {
		closeOpened(rows, right)
		return nil, nil, err
	}
	if p != nil && rows != nil {
		p.lend(n, rows)
	}
	b, err := buildJoin(ctx, n, rows, right, 0, env)
	if err != nil {
		closeOpened(p, left)
		return nil, nil, err
	}
	if p != nil {
		outer := n.Kind == plan.Right || n.Kind == plan.Full
		switch {
		case !b.inMemory():
		case !outer && (p.there == nil || !p.limited() && b.sendable()):
			p.steps = append(p.steps, step{node: n, build: b, need: need, implied: p.narrow(n, b, need)})
			return p, nil, nil
		case outer && p.there == nil && b.mark():
			p.narrow(n, b, need)
			p.steps = append(p.steps, step{node: n, build: b, need: need, outer: &unmatched{marks: b.marks}})
			return p, nil, nil
		}
		left = lent(newGather(p))
	}
	op, err := newJoin(n, need, left, b, b.facts, env)
	if err != nil {
		left.Close()
		b.close()
		return nil, nil, err
	}
	return nil, op, nil
}

// closeOpened closes what open returned.
func closeOpened(p *Pipeline, op Operator) {
	if p != nil {
		p.Close()
	} else {
		op.Close()
	}
}

// buildStream makes the operators that are never part of a pipeline.
func buildStream(ctx context.Context, node plan.Node, need []bool, env *Env) (Operator, error) {
	switch n := node.(type) {
	case *plan.Inline:
		return newBatches(n.Rows, env.BatchRows), nil
	case *plan.External:
		if env.Externals == nil {
			return nil, fault.Unsupported("External data can't be read here")
		}
		return env.Externals.Open(ctx, n, env.Note)
	case *plan.System:
		if env.System == nil {
			return nil, fault.Unsupported("System table [%s.%s] can't be read here", n.Schema, n.Table)
		}
		rows, err := env.System.Rows(ctx, n)
		if err != nil {
			return nil, err
		}
		return newBatches(rows, env.BatchRows), nil
	case *plan.Limit:
		return over(ctx, n.Input, env.needing(need), func(in Operator) (Operator, error) {
			return &limitOp{input: in, offset: n.Offset, count: n.Count}, nil
		})
	case *plan.Sort:
		return buildSort(ctx, n, need, env)
	case *plan.SetOp:
		left, right, err := both(ctx, n.Left, n.Right, env.unordered())
		if err != nil {
			return nil, err
		}
		return &setOp{node: n, left: left, right: right, env: env}, nil
	}
	return nil, invariant.Failed("plan node [%T] has no operator", node)
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
