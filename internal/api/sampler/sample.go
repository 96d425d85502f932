package sampler

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/vector"
)

// sample is a sample on its way.
type sample struct {
	*request
	api     *API
	entries []entry
	bytes   int64
	// warnings are what a user should know of the inputs.
	warnings []string
}

// entry is a record that was read and not filtered.
type entry struct {
	input *record.Object // as the format gives it; nil: it did not parse
	// flat are its columns, narrow those that are found without being asked for: nested ones only
	// where schemas are discovered.
	flat, narrow *record.Object
	time         int64
	error        string // why it is no row
}

func (e *entry) row() bool { return e.error == "" }

// orderColumn numbers the rows of a plan, so that groups find back to their first record.
const orderColumn = "$order"

// read takes records until there are enough.
func (s *sample) read(ctx context.Context) error {
	if s.stream != nil {
		return s.readStream(ctx)
	}
	opts := &ingest.Options{Access: s.api.o.Access, TempDir: s.api.o.TempDir, Disk: s.api.o.Disk,
		OnNotice: func(n *ingest.Notice) { s.warnings = append(s.warnings, n.Error()) }}
	splits, err := s.table.Splits(ctx, opts, 0)
	if err != nil {
		return err
	}
	for _, split := range splits {
		if s.full() {
			return nil
		}
		if err := s.readSplit(ctx, split, opts); err != nil {
			return err
		}
	}
	return nil
}

func (s *sample) full() bool {
	most := s.limits.memory
	if most == 0 || s.limits.answer > 0 && s.limits.answer < most {
		most = s.limits.answer
	}
	return len(s.entries) >= s.limits.rows || most > 0 && s.bytes >= most
}

func (s *sample) readSplit(ctx context.Context, split ingest.Split, opts *ingest.Options) error {
	records, err := s.table.Records(ctx, split, opts)
	if err != nil {
		return err
	}
	system := ingest.SystemValues(s.table.Source, split)
	for !s.full() {
		var found []entry
		for len(found) < s.limits.rows-len(s.entries) {
			var e entry
			if e, err = s.next(ctx, records, system); err != nil {
				break
			}
			found = append(found, e)
			if e.input != nil {
				s.bytes += int64(len(record.AppendJSON(nil, e.input)))
			}
			if s.full() {
				break
			}
		}
		kept, filterErr := s.filter(context.WithoutCancel(ctx), found)
		s.entries = append(s.entries, kept...)
		if err = errors.Join(filterErr, err); err != nil {
			break
		}
	}
	if closeErr := records.Close(); err == nil || errors.Is(err, io.EOF) && fault.Find(err) == nil {
		return closeErr
	}
	return err
}

// next reads a record and finds its time.
func (s *sample) next(ctx context.Context, records *ingest.Records, system []ingest.SystemValue) (entry, error) {
	rec, err := records.Next(ctx)
	if err != nil {
		return entry{}, err
	}
	if rec.Object == nil {
		return entry{error: parseProblem(s.table.Format, records.ParseError(&rec))}, nil
	}
	if _, ok := s.table.Source.(*ingest.Datasource); ok { // a column that is null in a row is no field of it
		rec.Object = withoutNulls(rec.Object)
	}
	e := entry{input: rec.Object, flat: records.Reach(rec.Object), narrow: records.Flatten(rec.Object, s.schema.Dimensions.Discover)}
	if !s.schema.Dimensions.Discover && spec.DropsNulls(s.format) {
		e.narrow = withoutNulls(e.narrow)
	}
	if len(system) > 0 { // the record is shown without them
		all := &record.Object{Names: slices.Clone(e.flat.Names), Values: slices.Clone(e.flat.Values)}
		for _, f := range system {
			all.Set(f.Name, f.Value)
		}
		e.flat = all
	}
	var problem string
	if e.time, problem = s.schema.Time.Of(e.flat, e.narrow); problem != "" {
		e.error = problem + place(rec.Line)
	}
	return e, nil
}

func withoutNulls(o *record.Object) *record.Object {
	out := &record.Object{}
	for i, name := range o.Names {
		if o.Values[i] != nil {
			out.Add(name, o.Values[i])
		}
	}
	return out
}

// parseProblem is Druid's message for a record that did not parse. See quirk Q011.
func parseProblem(f ingest.Format, e *ingest.ParseError) string {
	text := "Unable to parse row [" + e.Row + "]"
	if f != nil && (f.Type() == "json" || f.Type() == "regex") {
		text += " into JSON"
	}
	return text + place(e.Line)
}

func place(line int64) string {
	if line == 0 {
		return ""
	}
	return string(record.AppendText([]byte(" (Line: "), line)) + ")"
}

// filter drops the rows that the filter does not let pass; records that are no rows stay.
func (s *sample) filter(ctx context.Context, found []entry) ([]entry, error) {
	if s.schema.Filter == nil || len(found) == 0 {
		return found, nil
	}
	g, err := s.ingestion()
	if err != nil {
		return nil, err
	}
	g.Metrics, g.Rollup, g.Granularity = nil, false, chrono.None
	input, _ := s.relation(found)
	pass := make([]bool, len(found))
	err = s.each(ctx, g, input, func(_ []string, _ *vector.Batch, _ int, order int64) { pass[order] = true })
	if err != nil {
		return nil, err
	}
	var kept []entry
	for i, e := range found {
		if pass[i] || !e.row() {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// ingestion binds what the schema computes; dimensions are the caller's.
func (s *sample) ingestion() (*native.Ingestion, error) {
	g := &native.Ingestion{Granularity: s.schema.Granularity.Query, Rollup: s.schema.Granularity.Rollup, Order: orderColumn,
		Spatial: s.schema.Dimensions.Spatial()}
	for _, text := range s.schema.Transforms {
		var v native.VirtualColumnOf
		if err := v.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		g.Transforms = append(g.Transforms, v)
	}
	for _, m := range s.schema.Metrics {
		var a native.AggregatorOf
		if err := a.UnmarshalJSON(m.Wire); err != nil {
			return nil, err
		}
		g.Metrics = append(g.Metrics, a)
	}
	return g, g.Filter.UnmarshalJSON(s.schema.Filter)
}

// relation makes the rows among entries a constant relation, numbered by their place, and learns
// their columns.
func (s *sample) relation(entries []entry) (*plan.Inline, *spec.Columns) {
	columns := s.schema.NewColumns()
	columns.Name(s.format)
	for _, m := range s.schema.Metrics {
		columns.Exclude(native.MetricFields(m.Wire)...)
	}
	rows := 0
	for i := range entries {
		if entries[i].row() {
			columns.Add(entries[i].flat)
			rows++
		}
	}
	in := &plan.Inline{Rows: &vector.Batch{N: rows}}
	add := func(name string, t expr.Type, value func(*entry, int) any) {
		b := vector.NewBuilder(t.Runtime(), rows)
		for i := range entries {
			if entries[i].row() {
				b.Append(value(&entries[i], i))
			}
		}
		in.Out = append(in.Out, plan.Column{Name: name, Type: t})
		in.Rows.Cols = append(in.Rows.Cols, b.Build())
	}
	add(plan.TimeColumn, expr.Of(expr.Timestamp).NotNull(), func(e *entry, _ int) any { return e.time })
	nested := map[string]bool{} // dimensions with values of several kinds are computed as they are
	_, physical := columns.List()
	for _, d := range physical {
		nested[d.Name] = columns.ColumnType(d).Runtime() == vector.JSON
	}
	counted := map[string]bool{} // metrics of numbers see only numbers of a field, and texts of them
	for _, m := range s.schema.Metrics {
		name, _, ok := m.Number()
		counted[name] = ok
	}
	for _, name := range columns.Fields() {
		if name == plan.TimeColumn {
			continue
		}
		t := columns.TypeOf(name)
		switch {
		case counted[name] && !t.IsNumeric() && (t.Multi || !t.IsCharacter()):
			t = expr.Of(expr.Double)
		case nested[name]:
			t = expr.JSON
		}
		add(name, t, func(e *entry, _ int) any {
			v, _ := e.flat.Get(name)
			return boxed(v, t.Runtime())
		})
	}
	add(orderColumn, expr.Of(expr.BigInt).NotNull(), func(_ *entry, i int) any { return int64(i) })
	return in, columns
}

// boxed converts a value of a record to what a builder of type t takes.
func boxed(v any, t vector.Type) any {
	if v == nil {
		return nil
	}
	switch t.Kind {
	case vector.KindList:
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		out := make([]any, len(list))
		for i, e := range list {
			out[i] = boxed(e, t.Elem())
		}
		return out
	case vector.KindComplex:
		return string(record.AppendJSON(nil, v))
	case vector.KindString:
		return string(record.AppendText(nil, v))
	}
	long, double, _, ok := record.NumberOf(v)
	switch {
	case !ok:
		return nil
	case t.Kind == vector.KindLong:
		return long
	}
	return double
}

// each runs an ingestion over rows and calls f for every row that it gives.
func (s *sample) each(ctx context.Context, g *native.Ingestion, input plan.Node, f func(names []string, b *vector.Batch, row int, order int64)) error {
	node, err := g.Translate(ctx, input)
	if err != nil {
		return err
	}
	rows, err := s.api.run(ctx, node, query.NewID())
	if err != nil {
		return err
	}
	defer rows.Close()
	var names []string
	for _, c := range node.Columns() {
		names = append(names, c.Name)
	}
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b = b.Compact()
		last := len(b.Cols) - 1
		for i := range b.N {
			order, _ := b.Cols[last].ValueAt(i).(int64)
			f(names, b, i, order)
		}
	}
}
