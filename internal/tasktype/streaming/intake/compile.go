package intake

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
	"github.com/hengedb/henge/internal/vector"
)

// compiled is a plan ready to run: what is read of the records, what is computed of that, and what
// columns it becomes.
type compiled struct {
	*rowplan.Plan
	fields   []ingest.Field
	singles  []bool // by field of the plan, whether it may have several values and is read as one
	messages *ingest.Messages
	input    feed
	op       exec.Operator
	columns  []column
	folding  bool // all metrics can be combined further
	// late is what times are truncated to behind the plan, which is where a transform makes the time:
	// its rows are thrown away by the time itself.
	late *chrono.Granularity
	// dimensions are those of fields, for messages about their values.
	dimensions map[string]bool
}

// column is a column of rows.
type column struct {
	segment.ColumnSpec
	from     int  // its place in the rows of the plan
	text     bool // a string that may have several values in a row
	handling msq.MultiValue
}

// feed is the leaf of the plan: it yields the batch at hand.
type feed struct{ batch *vector.Batch }

// Next implements exec.Operator. The end of a batch is not that of the plan.
func (f *feed) Next(context.Context) (*vector.Batch, error) {
	b := f.batch
	if f.batch = nil; b == nil {
		return nil, errFed
	}
	return b, nil
}

// Close implements exec.Operator.
func (*feed) Close() {}

// Open implements exec.Externals.
func (f *feed) Open(context.Context, *plan.External, func(text string)) (exec.Operator, error) {
	return f, nil
}

// compile makes a plan of what is known of the records.
func (m *Maker) compile(ctx context.Context) (*compiled, error) {
	c := &compiled{Plan: &rowplan.Plan{Schema: m.o.Schema, Format: m.value, Columns: m.columns}, dimensions: map[string]bool{}}
	g, err := rowplan.IngestionOf(m.o.Schema)
	if err != nil {
		return nil, err
	}
	g.Rollup = false // segments combine rows
	if m.made[plan.TimeColumn] {
		late := g.Granularity
		c.late, g.Granularity = &late, chrono.None
	}
	dimensions, err := c.Choose()
	if err != nil {
		return nil, err
	}
	c.single(m)
	var stored plan.Node
	if stored, err = c.Input(ctx, g, dimensions); err != nil {
		return nil, err
	}
	node := c.Rows
	if len(c.Calls) == 0 {
		if node == nil {
			node = c.Leaf
		}
		if node, err = g.Translate(ctx, node); err != nil {
			return nil, err
		}
		stored = node
	}
	if err := c.read(m); err != nil {
		return nil, err
	}
	env := &exec.Env{}
	if m.o.Env != nil {
		*env = *m.o.Env
	}
	env.Threads, env.Share, env.Externals = 1, nil, &c.input
	if c.op, err = exec.Build(context.WithoutCancel(ctx), node, env); err != nil {
		return nil, err
	}
	c.describe(m, stored, dimensions)
	return c, nil
}

// single reads strings as what has one value, until a row had several: nearly all do.
func (c *compiled) single(m *Maker) {
	c.singles = make([]bool, len(c.Fields))
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Type.Multi && !m.multi[f.Name] {
			f.Type, f.Physical, c.singles[i] = expr.Of(expr.Varchar), vector.String, true
		}
	}
}

// read opens what decodes the records.
func (c *compiled) read(m *Maker) (err error) {
	when := &m.o.Schema.Time
	c.fields = []ingest.Field{{Name: when.Column, Type: vector.Long, Time: when.Instants()}}
	for _, f := range c.Fields {
		c.fields = append(c.fields, ingest.Field{Name: f.Name, Type: f.Physical, Multi: f.Type.Multi, Strict: f.Number != "", Single: f.Single})
	}
	opts := &ingest.Options{Access: m.o.Access, KeepNullBytes: true}
	if m.learns {
		opts.Shape = m.columns.Shape()
	}
	c.messages, err = ingest.NewMessages(m.o.Format, c.fields, opts)
	return err
}

// reads reports whether two plans read the same of records.
func (c *compiled) reads(other *compiled) bool {
	return slices.EqualFunc(c.fields, other.fields, func(a, b ingest.Field) bool {
		return a.Name == b.Name && a.Type == b.Type && a.Multi == b.Multi && a.Strict == b.Strict && a.Single == b.Single
	})
}

// describe decides what columns the rows of the plan become.
func (c *compiled) describe(m *Maker, stored plan.Node, dimensions []spec.Dimension) {
	for _, d := range dimensions {
		c.dimensions[d.Name] = true
	}
	described, folding := c.Describe(stored, dimensions)
	c.folding = folding
	for i, out := range stored.Columns() {
		d := &described[i]
		col := column{ColumnSpec: segment.ColumnSpec{Name: out.Name, Type: out.Type.Runtime(), Metric: d.Metric, NoIndex: d.NoIndex},
			from: i, handling: d.MultiValue}
		at := slices.IndexFunc(dimensions, func(d spec.Dimension) bool { return d.Name == out.Name })
		switch {
		case out.Type.Multi:
			if col.text = true; m.multi[out.Name] {
				col.Multi = true
			} else {
				col.Type = vector.String
			}
		case d.Auto && !m.made[out.Name]:
			if !hasValues(m.columns.Shape().Of(out.Name)) {
				continue
			}
			if t := m.columns.StoredType(dimensions[at]).Runtime(); col.Type == vector.JSON {
				col.Type = t
			}
		}
		c.columns = append(c.columns, col)
	}
}

// hasValues reports whether a field had a value.
func hasValues(k *ingest.Kinds) bool { return k != nil && k.Scalars()+k.Lists+k.Objects > 0 }

// specs returns the columns.
func (c *compiled) specs() []segment.ColumnSpec {
	out := make([]segment.ColumnSpec, len(c.columns))
	for i := range c.columns {
		out[i] = c.columns[i].ColumnSpec
	}
	return out
}

func (c *compiled) close() { c.op.Close() }

// Shape says how segments of the rows are written, but for their columns.
func (m *Maker) Shape() segment.Options {
	g := &m.o.Schema.Granularity
	return segment.Options{Rollup: g.Rollup && m.plan.folding, Fold: msq.FoldOf, SortOrder: m.sortOrder(),
		QueryGranularity: g.Query.String(), Metadata: m.kept, IndexRows: segment.WorthIndexing}
}

// kept is what segments keep of a schema.
func kept(s *spec.DataSchema) (json.RawMessage, error) {
	text, err := json.Marshal(s.Time)
	if err != nil {
		return nil, err
	}
	return json.Marshal(segment.Kept{TimestampSpec: text})
}

// sortOrder returns the columns that rows are sorted by, as far as they are known; rollup sorts by
// all others behind them.
func (m *Maker) sortOrder() []string {
	order := []string{plan.TimeColumn}
	byTime := m.o.Schema.Dimensions.SortByTime
	if !byTime {
		order = nil
	}
	_, dimensions := m.columns.List()
	for _, d := range dimensions {
		switch {
		case d.Name == plan.TimeColumn && !byTime:
			order = append(order, d.Name)
		case d.Name == plan.TimeColumn || d.Type == "json" || !sorts(m.columns.StoredType(d).Runtime()):
		default:
			order = append(order, d.Name)
		}
	}
	if !slices.Contains(order, plan.TimeColumn) {
		order = append([]string{plan.TimeColumn}, order...)
	}
	return order
}

func sorts(t vector.Type) bool {
	return t.Kind != vector.KindComplex && (t.Kind != vector.KindList || t.Elem() == vector.String)
}
