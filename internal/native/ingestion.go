package native

import (
	"context"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// Ingestion is the part of a native ingestion spec that computes rows: its transformSpec,
// dimensions, metrics and rollup. Batch ingestion, streaming and previews share it.
type Ingestion struct {
	// Transforms read only the columns of the input, not each other, and replace columns of the same
	// name.
	Transforms []VirtualColumnOf
	// Filter is applied after the transforms. Rows that do not match are dropped.
	Filter FilterOf
	// Dimensions are the columns with their storage types.
	Dimensions []plan.Column
	// Spatial maps spatial dimensions to the names of the columns of their coordinates.
	Spatial map[string][]string
	// Metrics are aggregators, over groups if Rollup is set, otherwise over each row.
	Metrics []AggregatorOf
	// Granularity truncates the time.
	Granularity chrono.Granularity
	Rollup      bool
	// Order is a LONG column of the input that numbers its rows. Output rows contain it; groups
	// contain the minimum over their rows. "": there is no such column.
	Order string
	// Numbers names the columns of the input that hold a field as a number of a type, in addition to
	// or instead of the column of the same name.
	Numbers map[string]map[expr.Base]string
	// Singles are the types of the scalar values of columns that contain lists or objects, too.
	Singles map[string]expr.Type
}

func (g *Ingestion) translator(ctx context.Context) *translator {
	r := &ofRecords{numbers: g.Numbers, types: g.Singles, made: map[string]bool{}}
	return &translator{ctx: ctx, ingesting: true, records: r}
}

// CheckTransforms rejects null transforms and duplicate names.
func CheckTransforms(transforms []VirtualColumnOf) error {
	seen := map[string]bool{}
	for _, v := range transforms {
		if v.VirtualColumn == nil {
			return invalid("A transform can't be null")
		}
		if seen[v.output()] {
			return invalid("Transform name [%s] cannot be used twice", v.output())
		}
		seen[v.output()] = true
	}
	return nil
}

// Translate returns a plan over the rows of input, whose column __time, a LONG or TIMESTAMP, is the
// time of the row. The columns of the plan are __time, the dimensions, the metrics and the order.
func (g *Ingestion) Translate(ctx context.Context, input plan.Node) (plan.Node, error) {
	t := g.translator(ctx)
	node, err := g.rows(t, input)
	if err != nil {
		return nil, err
	}
	s, in, err := g.inputs(t, node)
	if err != nil {
		return nil, err
	}
	grouped := g.Rollup || len(g.Metrics) > 0
	order := -1
	if g.Order != "" {
		x, err := s.column(g.Order)
		if err != nil {
			return nil, err
		}
		order = len(in.exprs)
		in.exprs, in.names = append(in.exprs, x), append(in.names, g.Order)
	}
	if !grouped {
		return &plan.Project{Input: node, Exprs: in.exprs, Names: in.names}, nil
	}
	out := &plan.Aggregate{}
	for i := range in.exprs {
		if i != order || !g.Rollup {
			out.Keys = append(out.Keys, i)
		}
	}
	for _, a := range g.Metrics {
		call, err := s.aggregator(in, a.Aggregator, nil)
		if err != nil {
			return nil, err
		}
		out.Aggs = append(out.Aggs, keepState(call))
	}
	if order >= 0 && g.Rollup {
		call, err := newCall("MIN", []expr.Type{longType}, nil)
		if err != nil {
			return nil, err
		}
		call.Args, call.Name = []int{order}, g.Order
		out.Aggs = append(out.Aggs, call)
	}
	out.Input = &plan.Project{Input: node, Exprs: in.exprs, Names: in.names}
	if order >= 0 && !g.Rollup {
		// The order is a key; it goes behind the metrics.
		keep := make([]int, 0, len(out.Columns()))
		for i := range out.Columns() {
			if i != order {
				keep = append(keep, i)
			}
		}
		return plan.Select(out, append(keep, order)), nil
	}
	return out, nil
}

// inputs computes the time and the dimensions of rows.
func (g *Ingestion) inputs(t *translator, rows plan.Node) (*scope, *inputs, error) {
	s, err := t.newScope(rows.Columns(), nil)
	if err != nil {
		return nil, nil, err
	}
	in := &inputs{}
	at, err := s.column(plan.TimeColumn)
	if err != nil {
		return nil, nil, err
	}
	if at = asTime(at); g.Granularity.IsAll() { // one row for all times has the first there is
		at = &expr.Literal{Value: chrono.Eternity.Start, T: expr.Of(expr.Timestamp).NotNull()}
	} else if at, err = floor(g.Granularity, at); err != nil {
		return nil, nil, err
	}
	in.exprs, in.names = append(in.exprs, at), append(in.names, plan.TimeColumn)
	for _, d := range g.Dimensions {
		x, err := s.numberColumn(d.Name, d.Type.Base)
		if err != nil {
			return nil, nil, err
		}
		if coordinates, ok := g.Spatial[d.Name]; ok {
			x, err = s.point(x, coordinates)
		} else {
			x, err = stored(x, d.Type)
		}
		if err != nil {
			return nil, nil, err
		}
		in.exprs, in.names = append(in.exprs, x), append(in.names, d.Name)
	}
	return s, in, nil
}

// point makes a point of a column that may be one, or of its coordinates.
func (s *scope) point(joined expr.Expr, coordinates []string) (expr.Expr, error) {
	args := []expr.Expr{joined}
	for _, name := range coordinates {
		x, err := s.column(name)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	for i := range args {
		var err error
		if args[i], err = stored(args[i], expr.Of(expr.Varchar)); err != nil {
			return nil, err
		}
	}
	return call("SPATIAL_POINT", args...)
}

// Rows returns a plan of the rows of input that are ingested: the transforms are applied, and rows
// that do not match the filter are dropped. Its columns are the columns of input, then the columns
// that transforms add.
func (g *Ingestion) Rows(ctx context.Context, input plan.Node) (plan.Node, error) {
	return g.rows(g.translator(ctx), input)
}

// Single returns a plan of the stored rows for ingestion without rollup: time and dimensions, then
// the inputs of the metrics, row by row. The calls are the calls of the metrics, over the columns
// of the plan.
func (g *Ingestion) Single(ctx context.Context, input plan.Node) (*plan.Project, []plan.AggCall, error) {
	t := g.translator(ctx)
	node, err := g.rows(t, input)
	if err != nil {
		return nil, nil, err
	}
	s, in, err := g.inputs(t, node)
	if err != nil {
		return nil, nil, err
	}
	var calls []plan.AggCall
	for _, a := range g.Metrics {
		call, err := s.aggregator(in, a.Aggregator, nil)
		if err != nil {
			return nil, nil, err
		}
		calls = append(calls, keepState(call))
	}
	return &plan.Project{Input: node, Exprs: in.exprs, Names: in.names}, calls, nil
}

// keepState makes a call give what segments keep of it, to merge it with others, where that is more
// than the result.
func keepState(call plan.AggCall) plan.AggCall {
	if kept, t, ok := call.Agg.Kept(); ok {
		call.Agg, call.Type = kept, expr.FromRuntime(t, false)
	}
	return call
}

// rows applies the transforms and the filter.
func (g *Ingestion) rows(t *translator, input plan.Node) (plan.Node, error) {
	node := input
	if len(g.Transforms) > 0 {
		if err := CheckTransforms(g.Transforms); err != nil {
			return nil, err
		}
		s, err := t.newScope(input.Columns(), nil)
		if err != nil {
			return nil, err
		}
		p := &plan.Project{Input: input}
		place := map[string]int{}
		for i, c := range input.Columns() {
			place[c.Name] = i
			p.Exprs, p.Names = append(p.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type}), append(p.Names, c.Name)
		}
		for _, v := range g.Transforms {
			x, err := s.virtualColumn(v.VirtualColumn)
			if err != nil {
				return nil, err
			}
			if v.output() == plan.TimeColumn && x.Type().Base != expr.Timestamp {
				if x, err = cast(x, longType); err != nil {
					return nil, err
				}
			}
			if i, ok := place[v.output()]; ok {
				p.Exprs[i] = x
				continue
			}
			place[v.output()] = len(p.Exprs)
			p.Exprs, p.Names = append(p.Exprs, x), append(p.Names, v.output())
		}
		for _, v := range g.Transforms {
			t.records.made[v.output()] = true
		}
		node = p
	}
	if g.Filter.Filter == nil {
		return node, nil
	}
	return t.filtered(node, g.Filter.Filter)
}

// stored converts x to the type of a dimension.
func stored(x expr.Expr, to expr.Type) (expr.Expr, error) {
	from := x.Type()
	if from.Runtime() == to.Runtime() && from.Multi == to.Multi {
		return x, nil
	}
	if isNullConstant(x) {
		return &expr.Literal{T: to}, nil
	}
	switch {
	case to.IsNumeric() && (from.Multi || from.Base == expr.Array):
		one, _, err := singleValue(x)
		if err != nil {
			return nil, err
		}
		return expr.NewCast(one, to, fault.Span{})
	case to.Multi && from.IsCharacter():
		return x, nil // one value
	case to.Multi && from.Base == expr.Array:
		return call("ARRAY_TO_MV", x)
	case to.Base == expr.Other && from.Base != expr.Other:
		return call("TO_JSON_STRING", x)
	case from == expr.JSON && (to.IsNumeric() || to.Base == expr.Array):
		return expr.NewJSONValue(x, &expr.Literal{Value: "$", T: expr.Of(expr.Varchar).NotNull()}, to, fault.Span{})
	case from.Base == expr.Other && (to.Multi || to.IsCharacter()):
		return call("TO_JSON_STRING", x)
	}
	return expr.NewCast(x, to, fault.Span{})
}
