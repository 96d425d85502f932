package native

import (
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// A fold that is no aggregate needs its rows one after the other: its fields are collected in
// lists, side by side, and folded when the rows of a group are together. There is one accumulator
// then, which begins with the initial value; combine, which brings those of several segments
// together in Druid, has nothing to do.

// maxCollectedBytes bounds what is collected of a field for a group.
const maxCollectedBytes = 1 << 30

// collected collects a field of an aggregator.
func (s *scope) collected(in *inputs, a *ExpressionAggregator, field int) (plan.AggCall, error) {
	x := longLiteral(1) // of no fields a list that counts the rows
	if len(a.Fields) > 0 {
		c, err := s.column(a.Fields[field])
		if err != nil {
			return plan.AggCall{}, err
		}
		if x = operand(c); c.Type().Multi {
			return plan.AggCall{}, fault.Unsupported("Aggregator [%s] of type [expression] folds the multi-value column [%s] by [%.200s], which is not supported", a.Name,
				a.Fields[field], a.Fold)
		}
		if isUnknown(x) {
			x = &expr.Literal{T: textType}
		}
	}
	call, err := newCall("ARRAY_AGG", []expr.Type{x.Type()}, []any{int64(maxCollectedBytes)})
	if err != nil {
		return call, err
	}
	call.Args = []int{in.add(x, a.Name)}
	call.Type = expr.ArrayOf(x.Type())
	if a.AggregateNulls == nil || bool(*a.AggregateNulls) || len(a.Fields) == 0 {
		return call, nil
	}
	given, err := s.whereAll(a.Fields, &expr.Literal{Value: int64(1), T: boolType})
	if err != nil {
		return call, err
	}
	call.Filter = in.add(given, "$given")
	return call, nil
}

// collectedBeside collects the further fields of an aggregator whose first one is collected. cond,
// if not nil, chooses the rows.
func (s *scope) collectedBeside(in *inputs, a Aggregator, cond expr.Expr) ([]plan.AggCall, error) {
	switch a := a.(type) {
	case *FilteredAggregator:
		c, err := s.chosen(a, cond)
		if err != nil {
			return nil, err
		}
		return s.collectedBeside(in, a.Aggregator.Aggregator, c)
	case *ExpressionAggregator:
		rule, _, err := s.folding(a)
		if err != nil || rule.aggregate != "" {
			return nil, err
		}
		calls := []plan.AggCall{}
		for i := 1; i < len(a.Fields); i++ {
			call, err := s.collected(in, a, i)
			if err == nil {
				err = in.choose(&call, cond)
			}
			if err != nil {
				return nil, err
			}
			call.Name = a.Name
			calls = append(calls, call)
		}
		return calls, nil
	}
	return nil, nil
}

// foldLists folds what was collected.
func (s *scope) foldLists(a *ExpressionAggregator, lists []expr.Expr) (expr.Expr, error) {
	n, err := parseExpression(a.InitialValue)
	if err != nil {
		return nil, err
	}
	initial, err := s.bind(n)
	if err != nil {
		return nil, err
	}
	if initial, err = expr.Fold(operand(initial), &expr.Context{}); err != nil {
		return nil, err
	}
	if isUnknown(initial) {
		return nil, fault.Unsupported("Aggregator [%s] of type [expression] begins with a NULL of no type, which is not supported; take, for example, [cast(null, 'LONG')]", a.Name)
	}
	body, err := parseExpression(a.Fold)
	if err != nil {
		return nil, err
	}
	names := a.Fields
	if len(names) == 0 {
		names = []string{""}
	}
	l := &lambdaNode{params: append(append([]string(nil), names...), a.accumulator()), body: body}
	out, err := s.over(&expr.Loop{Kind: expr.LoopFold, Lists: lists, Zip: true}, l, []expr.Expr{initial})
	if err != nil || a.NullUnlessAggregated == nil || bool(*a.NullUnlessAggregated) {
		return out, err
	}
	missing, err := call("IS NULL", lists[0])
	if err != nil {
		return nil, err
	}
	return expr.NewCase([]expr.When{{Cond: missing, Then: initial}}, out, fault.Span{})
}
