package batch

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// records reads the records of a split that have a time.
type records struct {
	l      *load
	phase  string
	count  *counts
	in     *ingest.Records
	system []systemField
	format string
}

type systemField struct{ name, value string }

func (l *load) open(ctx context.Context, split ingest.Split, opts *ingest.Options, phase string, count *counts) (*records, error) {
	in, err := l.table.Records(ctx, split, opts)
	if err != nil {
		return nil, err
	}
	r := &records{l: l, phase: phase, count: count, in: in}
	if l.table.Format != nil {
		r.format = l.table.Format.Type()
	}
	for _, name := range ingest.SystemFields(l.table.Source) {
		if value, ok := split.Entity.SystemField(name); ok {
			r.system = append(r.system, systemField{name, value})
		}
	}
	return r, nil
}

// next returns the fields and the time of the next record; nil: it is no row, which is counted.
func (r *records) next(ctx context.Context) (*ingest.Object, int64, error) {
	rec, err := r.in.Next(ctx)
	if err != nil {
		return nil, 0, err
	}
	r.count.bytes.Add(int64(len(rec.Text)) + 1)
	if rec.Object == nil {
		e := r.in.ParseError(&rec)
		text := "Unable to parse row [" + e.Row + "]"
		if r.format == "json" {
			text += " into JSON"
		}
		return nil, 0, r.unparseable(e.Row, text+place(rec.Line))
	}
	flat := r.in.Flatten(rec.Object, true)
	for _, f := range r.system {
		flat.Set(f.name, f.value)
	}
	at, problem := r.l.spec.Schema.Time.Of(flat)
	if problem != "" {
		return nil, 0, r.unparseable(string(ingest.AppendJSON(nil, rec.Object)), problem+place(rec.Line))
	}
	return flat, at, nil
}

func (r *records) unparseable(input, details string) error {
	r.count.unparseable.Add(1)
	return r.l.bad(r.phase, input, "unparseable", details)
}

func place(line int64) string {
	if line == 0 {
		return ""
	}
	return string(ingest.AppendJSON([]byte(" (Line: "), line)) + ")"
}

func (r *records) close() { _ = r.in.Close() } // what was read is whole

// ended is nil for the end of a split.
func ended(err error) error {
	if errors.Is(err, io.EOF) && fault.Find(err) == nil {
		return nil
	}
	return err
}

// Open implements msq.RowSource.
func (l *load) Open(ctx context.Context, ext *plan.External, split ingest.Split, opts *ingest.Options) (msq.RowReader, error) {
	in, err := l.open(ctx, split, opts, buildSegments, &l.part.build)
	if err != nil {
		return nil, err
	}
	raw := &rawRows{l: l, in: in, found: make([]any, len(l.fields))}
	r := &rowReader{l: l, raw: raw, op: raw}
	for _, c := range ext.Out { // which may be fewer than there are
		r.columns = append(r.columns, slices.IndexFunc(l.out, func(o plan.Column) bool { return o.Name == c.Name }))
	}
	if l.rows != nil {
		env := *l.env
		env.Threads, env.Share, env.Externals = 1, nil, opened{raw}
		if r.op, err = exec.Build(ctx, l.rows, &env); err != nil {
			in.close()
			return nil, err
		}
	}
	return r, nil
}

// opened gives the leaf of a plan the rows of a split.
type opened struct{ rows exec.Operator }

// Open implements exec.Externals.
func (o opened) Open(context.Context, *plan.External) (exec.Operator, error) { return o.rows, nil }

// rowReader is the rows of a split as the plan of the job reads them.
type rowReader struct {
	l     *load
	raw   *rawRows
	op    exec.Operator
	stats ingest.Stats
	lost  int64 // rows that did not come through
	// columns are the places of those wanted.
	columns []int
}

// Next implements msq.RowReader.
func (r *rowReader) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.op.Next(ctx)
	if err != nil {
		if ended(err) == nil {
			r.count(0)
			return nil, io.EOF
		}
		return nil, err
	}
	b = b.Compact()
	r.count(int64(b.N))
	if r.l.calls != nil {
		if b, err = r.l.single(b); err != nil {
			return nil, err
		}
	}
	out := &vector.Batch{N: b.N, Cols: make([]*vector.Vector, len(r.columns))}
	for i, at := range r.columns {
		out.Cols[i] = b.Cols[at]
	}
	return out, nil
}

// count counts rows that came through, and as thrown away those that did not.
func (r *rowReader) count(rows int64) {
	r.stats.Rows += rows
	c := &r.l.part.build
	failed := min(r.raw.failed, rows)
	r.raw.failed -= failed
	c.withError.Add(failed)
	c.processed.Add(rows - failed)
	lost := r.raw.rows - r.stats.Rows
	c.thrownAway.Add(lost - r.lost)
	r.lost = lost
}

// Stats implements msq.RowReader.
func (r *rowReader) Stats() ingest.Stats {
	r.stats.Records = r.raw.rows
	return r.stats
}

// Close implements msq.RowReader.
func (r *rowReader) Close() error {
	r.op.Close()
	return nil
}

// single computes the metrics of each row of b, which are behind the time and the dimensions.
func (l *load) single(b *vector.Batch) (*vector.Batch, error) {
	out := &vector.Batch{N: b.N, Cols: append([]*vector.Vector(nil), b.Cols[:l.kept]...)}
	groups := make([]uint32, b.N)
	for i := range groups {
		groups[i] = uint32(i)
	}
	for _, call := range l.calls {
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

// rawRows is the fields of the records of a split, an exec.Operator.
type rawRows struct {
	l    *load
	in   *records
	rows int64
	// failed counts rows with values that are not what they must be, since it was looked at.
	failed int64
	done   bool
	found  []any // values of the present record, by field
}

// Next implements exec.Operator.
func (r *rawRows) Next(ctx context.Context) (*vector.Batch, error) {
	if r.done {
		return nil, io.EOF
	}
	fields := r.l.fields
	times := make([]int64, 0, vector.BatchRows)
	columns := make([]*vector.Builder, len(fields))
	for i, f := range fields {
		columns[i] = vector.NewBuilder(f.physical, vector.BatchRows)
	}
	for len(times) < vector.BatchRows {
		o, at, err := r.in.next(ctx)
		if err != nil {
			if ended(err) != nil {
				return nil, err
			}
			r.done = true
			break
		}
		if o == nil {
			continue
		}
		times = append(times, at)
		if err := r.append(columns, o); err != nil {
			return nil, err
		}
	}
	if len(times) == 0 {
		return nil, io.EOF
	}
	r.rows += int64(len(times))
	b := &vector.Batch{N: len(times), Cols: []*vector.Vector{vector.FromLongs(times)}}
	for _, c := range columns {
		b.Cols = append(b.Cols, c.Build())
	}
	return b, nil
}

// append adds the fields of a record.
func (r *rawRows) append(columns []*vector.Builder, o *ingest.Object) error {
	clear(r.found)
	for i, name := range o.Names {
		if at, ok := r.l.places[name]; ok {
			r.found[at] = o.Values[i]
		}
	}
	var problems []string
	for i := range r.l.fields {
		f, v := &r.l.fields[i], r.found[i]
		if list, several := v.([]any); f.single && several {
			switch len(list) {
			case 0:
				v = nil
			case 1:
				v = list[0]
			default:
				return fault.InvalidInput("Cannot partition on multi-value dimension [%s]", f.name)
			}
		}
		if f.number != "" && v != nil && !isNumber(v) {
			problems = append(problems, "could not convert value ["+string(ingest.AppendText(nil, v))+"] of field ["+f.name+"] to "+f.number)
		}
		appendValue(columns[i], f.physical, v)
	}
	if problems == nil {
		return nil
	}
	r.failed++
	return r.l.bad(buildSegments, string(ingest.AppendJSON(nil, o)), "processedWithError", problems...)
}

// Close implements exec.Operator.
func (r *rawRows) Close() { r.in.close() }

func isNumber(v any) bool {
	if s, ok := v.(string); ok && s == "" {
		return true // no value
	}
	_, _, _, ok := ingest.NumberOf(v)
	return ok
}

// appendValue adds a value of a record to a column of type t. What is no number is null in a column of numbers.
func appendValue(b *vector.Builder, t vector.Type, v any) {
	if v == nil {
		b.AppendNull()
		return
	}
	switch t.Kind {
	case vector.KindList:
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		elem := t.Elem()
		for _, e := range list {
			appendValue(b.Child(), elem, e)
		}
		b.AppendList()
	case vector.KindComplex:
		b.AppendString(string(ingest.AppendJSON(nil, v)))
	case vector.KindString:
		if s, ok := v.(string); ok {
			b.AppendString(s)
			return
		}
		b.AppendString(string(ingest.AppendText(nil, v)))
	default:
		long, double, whole, ok := ingest.NumberOf(v)
		switch {
		case !ok:
			b.AppendNull()
		case t.Kind == vector.KindLong && whole:
			b.AppendLong(long)
		case t.Kind == vector.KindLong:
			b.AppendLong(int64(double))
		case t.Kind == vector.KindFloat:
			b.AppendFloat(float32(double))
		default:
			b.AppendDouble(double)
		}
	}
}
