package exec

import (
	"context"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/join"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Build builds the operators of a plan, and reads the right sides of joins. The caller closes the
// result.
//
// Neither Build nor Next of the operator panics: they return internal failures as faults.
func Build(ctx context.Context, node plan.Node, env *Env) (Operator, error) {
	env = env.withDefaults(ctx)
	if env.Profile != nil {
		env.Profile.begin(env)
	}
	return begin(ctx, env, func(ctx context.Context) (Operator, *sharing, error) {
		own := *env
		own.sharing = &sharing{}
		op, err := build(ctx, node, &own, wants{})
		if err != nil {
			own.sharing.close()
			return nil, nil, err
		}
		return op, own.sharing, nil
	})
}

func build(ctx context.Context, node plan.Node, env *Env, w wants) (Operator, error) {
	p, op, err := open(ctx, node, env, w)
	if p != nil {
		return operator.CheckLifetime(newGather(p)), nil
	}
	return op, err
}

// open makes the pipeline that node is, or else its operator. The caller closes what it gets.
func open(ctx context.Context, node plan.Node, env *Env, w wants) (*Pipeline, Operator, error) {
	env = env.profiling(node)
	p, op, err := openNode(ctx, node, env, w)
	if p != nil {
		p.need = w.need
	}
	if op != nil {
		op = env.profile.over(op)
		if !lasting(node) {
			op = operator.CheckLifetime(op)
		}
	}
	return p, op, err
}

func openNode(ctx context.Context, node plan.Node, env *Env, w wants) (*Pipeline, Operator, error) {
	if w.reads != nil {
		p, err := openScan(ctx, node.(*plan.Scan), w.reads, env, w.bounds)
		return p, nil, err
	}
	need := w.need
	switch n := node.(type) {
	case *plan.Scan:
		if n.Time != 0 {
			op, err := buildOrderedScan(ctx, n, env)
			return nil, op, err
		}
		p, err := openScan(ctx, n, readingOf(n), env, w.bounds)
		return p, nil, err
	case *plan.Filter:
		cond, err := expr.Compile(n.Cond, env.Expr)
		if err != nil {
			return nil, nil, err
		}
		inner := w.needing(and(need, newColumnSet(n).addExpr(n.Cond)))
		return chain(ctx, step{node: n}, n.Input, env, inner, func(in Operator) Operator { return &filterOp{input: in, cond: cond} })
	case *plan.Project:
		exprs, err := compileProjection(n.Exprs, env.Expr)
		if err != nil {
			return nil, nil, err
		}
		s, inner := step{node: n}, w
		if scan, ok := n.Input.(*plan.Scan); ok && scan.Time == 0 {
			var reads *reading
			reads, s.local = readingUnder(n, scan)
			inner = w.reading(reads)
		}
		used := newColumnSet(n.Input)
		for _, e := range n.Exprs {
			used.addExpr(e)
		}
		return chain(ctx, s, n.Input, env, inner.needing(used), func(in Operator) Operator {
			return &projectOp{input: in, exprs: exprs, memory: budget.NewAccount(env.Budget)}
		})
	case *plan.Unnest:
		return chain(ctx, step{node: n, need: need}, n.Input, env, w.needing(unnestNeeds(n, need)), func(in Operator) Operator {
			return newUnnest(n, need, in, env)
		})
	case *plan.Join:
		return openJoin(ctx, n, env, w)
	case *plan.Aggregate:
		return openAggregate(ctx, n, env, w)
	case *plan.Window:
		return openWindow(ctx, n, env, w)
	case *plan.Buckets:
		op, err := buckets(ctx, n, env, w.needing(nil))
		return nil, op, err
	case *plan.Union:
		return openUnion(ctx, n, env, w)
	case *plan.Shared:
		return nil, env.sharing.reader(n, env, w.needing(nil)), nil
	}
	op, err := buildStream(ctx, node, env, w)
	return nil, op, err
}

// chain appends a step to the pipeline of its input, or if that is none puts an operator on it.
func chain(ctx context.Context, s step, input plan.Node, env *Env, w wants, make func(Operator) Operator) (*Pipeline, Operator, error) {
	p, op, err := open(ctx, input, env, w)
	switch {
	case err != nil:
		return nil, nil, err
	case p != nil && p.limited() && !keepsRows([]step{s}):
		return nil, make(operator.CheckLifetime(newGather(p))), nil
	case p != nil:
		p.steps = append(p.steps, s)
		return p, nil, nil
	}
	return nil, make(op), nil
}

// openJoin reads the right side of a join, so that the left one can stream. A right side that fits
// in memory is shared by the workers of the left pipeline, which is opened before: what the joins
// below look for is looked for in the right side, too.
func openJoin(ctx context.Context, n *plan.Join, env *Env, w wants) (*Pipeline, Operator, error) {
	inner := w.unordered()
	if n.Kind != plan.Right && n.Kind != plan.Full {
		inner = w // the rows come in the order of the left ones, those of one of them in the order of the right ones
	}
	leftNeed, rightNeed, need := joinNeeds(n, w.need)
	options := env.joinOptions()
	if err := join.Check(n, need, options); err != nil {
		return nil, nil, err
	}
	rows, right, err := open(ctx, n.Right, env, inner.needing(rightNeed))
	if err != nil {
		return nil, nil, err
	}
	if rows != nil && (rows.remote != nil || rows.rowsLeft != nil) { // others send rows too, or the first rows are wanted
		rows, right = nil, operator.CheckLifetime(newGather(rows))
	}
	p, left, err := open(ctx, n.Left, env, inner.needing(leftNeed))
	if err != nil {
		closeOpened(rows, right)
		return nil, nil, err
	}
	if p != nil && rows != nil {
		p.shareRuntimeFilters(n, rows)
	}
	var parts join.Morsels
	if rows != nil {
		parts = rightMorsels{rows}
	}
	b, err := join.NewBuild(ctx, n, parts, right, options)
	if err != nil {
		closeOpened(p, left)
		return nil, nil, err
	}
	if p != nil {
		outer := n.Kind == plan.Right || n.Kind == plan.Full
		switch {
		case !b.InMemory():
		case !outer && (p.remote == nil || !p.limited() && sendable(b)):
			p.steps = append(p.steps, step{node: n, build: b, need: need, fullyFiltered: p.pushRuntimeFilters(n, b, need)})
			return p, nil, nil
		case outer && p.remote == nil && b.Mark():
			p.pushRuntimeFilters(n, b, need)
			p.steps = append(p.steps, step{node: n, build: b, need: need, outer: b.Outer()})
			return p, nil, nil
		}
		left = operator.CheckLifetime(newGather(p))
	}
	op, err := join.New(n, need, left, b, options)
	if err != nil {
		left.Close()
		b.Close()
		return nil, nil, err
	}
	return nil, op, nil
}

// joinOptions is what joins take from the query.
func (e *Env) joinOptions() *join.Options {
	return &join.Options{
		Resources: e.resources(), Expr: e.Expr, Threads: e.Threads, AtOnce: e.atOnce, MaxRows: e.MaxSubqueryRows, MaxBytes: e.MaxSubqueryBytes,
	}
}

// rightMorsels is a pipeline as the right side of a join.
type rightMorsels struct{ *Pipeline }

// Read is part of join.Morsels.
func (p rightMorsels) Read(ctx context.Context, begin func(workers int), takes func(worker, morsel int),
	add func(ctx context.Context, worker int, b *vector.Batch) error) error {
	if err := p.prepare(ctx); err != nil {
		return err
	}
	n := p.Workers()
	begin(n)
	return p.runMorsels(ctx, n, takes, add)
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
func buildStream(ctx context.Context, node plan.Node, env *Env, w wants) (Operator, error) {
	switch n := node.(type) {
	case *plan.Inline:
		return operator.Batches(n.Rows, env.BatchRows), nil
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
		return operator.Batches(rows, env.BatchRows), nil
	case *plan.Limit:
		return over(ctx, n.Input, env, w, func(in Operator) (Operator, error) {
			return &limitOp{input: in, offset: n.Offset, count: n.Count}, nil
		})
	case *plan.Sort:
		return buildSort(ctx, n, env, w)
	case *plan.SetOp:
		left, right, err := both(ctx, n.Left, n.Right, env, w.needing(nil).unordered())
		if err != nil {
			return nil, err
		}
		return &setOp{node: n, left: left, right: right, env: env}, nil
	}
	return nil, invariant.Failed("plan node [%T] has no operator", node)
}

// over builds the input of an operator and the operator on it.
func over(ctx context.Context, input plan.Node, env *Env, w wants, make func(Operator) (Operator, error)) (Operator, error) {
	in, err := build(ctx, input, env, w)
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

func both(ctx context.Context, l, r plan.Node, env *Env, w wants) (left, right Operator, err error) {
	if left, err = build(ctx, l, env, w); err != nil {
		return nil, nil, err
	}
	if right, err = build(ctx, r, env, w); err != nil {
		left.Close()
		return nil, nil, err
	}
	return left, right, nil
}
