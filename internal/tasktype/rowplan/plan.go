package rowplan

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Plan describes what is read from records and how rows are computed. It is built in steps, in this
// order: Choose, Input, Stored, Describe. It is used by one goroutine while it is built, and does
// not change afterwards.
type Plan struct {
	Schema *spec.DataSchema
	// Source and Format are the JSON of the input source, if there is one, and of the input format.
	Source, Format json.RawMessage
	// Columns contains what was learned from the records.
	Columns *spec.Columns
	// Ranged are the dimensions of range partitions. They have single values.
	Ranged []string

	// Fields are the fields to read. Numbers and Singles are native.Ingestion.Numbers and Singles for
	// them.
	Fields  []Field
	Numbers map[string]map[expr.Base]string
	Singles map[string]expr.Type
	// Rows computes the rows of records, over Leaf; nil: the rows are the fields. Calls are the
	// metrics of single rows over its columns.
	Rows  plan.Node
	Leaf  *plan.External
	Calls []plan.AggCall
	// Kept is the number of columns of Rows that are stored in segments unchanged.
	Kept int
	// Out are the columns of the rows.
	Out []plan.Column
}

// Input decides what is read from a split: the fields of its records, or the result of transforms
// and filters.
func (p *Plan) Input(ctx context.Context, g *native.Ingestion, dimensions []spec.Dimension) (*plan.External, error) {
	out := []plan.Column{{Name: plan.TimeColumn, Type: expr.Of(expr.Timestamp).NotNull()}}
	for _, f := range p.Fields {
		out = append(out, plan.Column{Name: f.Column, Type: f.Type})
	}
	p.Leaf = &plan.External{Source: p.Source, Format: p.Format, Out: out}
	columns := out
	if len(g.Transforms) > 0 || g.Filter.Filter != nil {
		own := native.Ingestion{Transforms: g.Transforms, Filter: g.Filter, Numbers: p.Numbers, Singles: p.Singles}
		rows, err := own.Rows(ctx, p.Leaf)
		if err != nil {
			return nil, err
		}
		p.Rows, columns = rows, rows.Columns()
	}
	for _, d := range dimensions {
		if d.Name != plan.TimeColumn {
			g.Dimensions = append(g.Dimensions, plan.Column{Name: d.Name, Type: p.typeOf(d, columns)})
		}
	}
	g.Transforms, g.Filter, g.Numbers, g.Singles = nil, native.FilterOf{}, p.Numbers, maps.Clone(p.Singles)
	maps.DeleteFunc(g.Singles, func(name string, _ expr.Type) bool { return p.Schema.Made()[name] })
	if g.Rollup || len(g.Metrics) == 0 {
		return p.external(columns), nil
	}
	rows := p.Rows
	if rows == nil {
		rows = p.Leaf
	}
	single, calls, err := g.Single(ctx, rows)
	if err != nil {
		return nil, err
	}
	p.Rows, p.Calls, p.Kept = single, calls, 1+len(g.Dimensions)
	columns = slices.Clone(single.Columns()[:1+len(g.Dimensions)])
	for _, c := range calls {
		columns = append(columns, plan.Column{Name: c.Name, Type: c.Type})
	}
	return p.external(columns), nil
}

// external is the leaf of the job's plan.
func (p *Plan) external(columns []plan.Column) *plan.External {
	p.Out = columns
	return &plan.External{Source: p.Leaf.Source, Format: p.Leaf.Format, Out: columns}
}

// Stored returns the plan of the rows that segments store.
func (p *Plan) Stored(ctx context.Context, g *native.Ingestion, input *plan.External) (plan.Node, error) {
	if p.Calls != nil {
		project := &plan.Project{Input: input}
		for i, c := range input.Out {
			project.Exprs = append(project.Exprs, &expr.Column{Index: i, Name: c.Name, T: c.Type})
			project.Names = append(project.Names, c.Name)
		}
		return project, nil
	}
	return g.Translate(ctx, input)
}

// Described is the metadata of a column in a segment besides its type.
type Described struct {
	// Metric is the aggregator whose states the column contains; "": it is a dimension.
	Metric     string
	MultiValue msq.MultiValue
	NoIndex    bool
	// Auto says that the type is derived from the values.
	Auto bool
}

// Describe returns the metadata of the stored columns, and whether all metrics among them can be
// aggregated further.
func (p *Plan) Describe(stored plan.Node, dimensions []spec.Dimension) (out []Described, folding bool) {
	calls := p.Calls
	if a, ok := stored.(*plan.Aggregate); ok {
		calls = a.Aggs
	}
	folding = true
	for _, c := range stored.Columns() {
		d := Described{}
		if i := slices.IndexFunc(calls, func(a plan.AggCall) bool { return a.Name == c.Name }); i >= 0 {
			d.Metric = calls[i].Agg.Metric()
			folding = folding && Folds(d.Metric, c.Type.Runtime())
		}
		if i := slices.IndexFunc(dimensions, func(d spec.Dimension) bool { return d.Name == c.Name }); i >= 0 {
			d.MultiValue, d.NoIndex = HandlingOf(dimensions[i]), !dimensions[i].Bitmap
			d.Auto = dimensions[i].Type == "auto" && dimensions[i].CastTo == ""
		}
		out = append(out, d)
	}
	return out, folding
}

// Order returns the columns that rows are sorted by.
func (p *Plan) Order(columns []plan.Column, dimensions []spec.Dimension) []string {
	order := SortedBy(columns)
	if p.Schema.Dimensions.SortByTime {
		return order
	}
	order = order[1:]
	at := slices.IndexFunc(dimensions, func(d spec.Dimension) bool { return d.Name == plan.TimeColumn })
	if at < 0 {
		return append([]string{plan.TimeColumn}, order...)
	}
	before := 0
	for _, d := range dimensions[:at] {
		if slices.Contains(order, d.Name) {
			before++
		}
	}
	return slices.Insert(order, before, plan.TimeColumn)
}

// Single computes the metrics of each row of b, whose columns follow the time and the dimensions.
func (p *Plan) Single(b *vector.Batch) (*vector.Batch, error) {
	out := &vector.Batch{N: b.N, Cols: append([]*vector.Vector(nil), b.Cols[:p.Kept]...)}
	groups := make([]uint32, b.N)
	for i := range groups {
		groups[i] = uint32(i)
	}
	for _, call := range p.Calls {
		state, err := call.Agg.New()
		if err != nil {
			return nil, err
		}
		state.Grow(b.N)
		args, rows, n := make([]*vector.Vector, len(call.Args)), groups, b.N
		for i, at := range call.Args {
			args[i] = b.Cols[at].Flat()
		}
		if call.Filter >= 0 {
			var chosen []uint32
			for i := range b.N {
				if v := b.Cols[call.Filter]; !v.IsNull(i) && v.LongAt(i) != 0 {
					chosen = append(chosen, uint32(i))
				}
			}
			for i := range args {
				args[i] = args[i].Gather(chosen)
			}
			rows, n = chosen, len(chosen)
		}
		if n > 0 {
			if err := state.Update(args, rows, n); err != nil {
				return nil, err
			}
		}
		v, err := state.Final(0, b.N)
		if err != nil {
			return nil, err
		}
		out.Cols = append(out.Cols, v)
	}
	return out, nil
}
