package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// wholeMeans takes the mean of whole numbers from the numbers themselves: AVG(CAST(x AS DOUBLE)) is
// AVG(x), which adds the same doubles and can take those of whole blocks from what segments know of
// them.
func (o *optimizer) wholeMeans(n Node) Node {
	n = MapInputs(n, o.wholeMeans)
	a, ok := n.(*Aggregate)
	if !ok {
		return n
	}
	p, ok := a.Input.(*Project)
	if !ok {
		return n
	}
	if !slices.ContainsFunc(a.Aggs, func(call AggCall) bool { return wholeMean(&call, p) != nil }) {
		return n
	}
	c, in := *a, Project{Input: p.Input, Exprs: append([]expr.Expr(nil), p.Exprs...), Names: append([]string(nil), p.Names...)}
	c.Aggs, c.Input = append([]AggCall(nil), a.Aggs...), &in
	for i := range c.Aggs {
		call := &c.Aggs[i]
		if whole := wholeMean(call, p); whole != nil {
			call.Agg.Args, call.Args = []vector.Type{vector.Long}, []int{len(in.Exprs)}
			in.Exprs, in.Names = append(in.Exprs, whole), append(in.Names, "$x")
		}
	}
	o.fired()
	return &c
}

// wholeMean returns the whole numbers over p's input that call is the mean of, nil if it is of
// anything else. A state that is stored has the type it was asked for, and different whole numbers
// may be one double.
func wholeMean(call *AggCall, p *Project) expr.Expr {
	fn := agg.Lookup(call.Agg.Name)
	if fn == nil || fn.Native.Kind != agg.NativeMean || call.Agg.Keep || call.Distinct || call.Agg.Args[0] != vector.Double {
		return nil
	}
	cast, ok := p.Exprs[call.Args[0]].(*expr.Cast)
	if !ok || cast.T.Base != expr.Double || !cast.X.Type().IsInteger() {
		return nil
	}
	return cast.X
}
