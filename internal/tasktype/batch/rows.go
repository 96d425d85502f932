package batch

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
	"github.com/hengedb/henge/internal/vector"
)

// records says what is wrong with the records of a split.
type records struct {
	by     *reader
	system []ingest.SystemValue
	format string
}

func (by *reader) records(split ingest.Split) *records {
	l := by.l
	r := &records{by: by, system: ingest.SystemValues(l.table.Source, split)}
	if l.table.Format != nil {
		r.format = l.table.Format.Type()
	}
	return r
}

// broken counts a record that does not parse.
func (r *records) broken(e *ingest.ParseError) error {
	text := "Unable to parse row [" + e.Row + "]"
	if r.format == "json" {
		text += " into JSON"
	}
	text += place(e.Path, e.Line)
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return r.unparseable(e.Row, text)
}

// time returns the time of a record; false: it has none, which is counted.
func (r *records) time(e *ingest.ParseError) (at int64, ok bool, err error) {
	whole, flat := e.Object, e.Flat
	for _, f := range r.system {
		flat.Set(f.Name, f.Value)
	}
	at, problem := r.by.l.spec.Schema.Time.Of(flat, flat)
	if problem != "" {
		return 0, false, r.unparseable(string(record.AppendJSON(nil, whole)), problem+place(e.Path, e.Line))
	}
	return at, true, nil
}

func (r *records) unparseable(input, details string) error {
	r.by.count.unparseable.Add(1)
	return r.by.bad(input, "unparseable", details)
}

func place(path string, line int64) string {
	var words []string
	if path != "" {
		words = append(words, "Path: "+path)
	}
	if line > 0 {
		words = append(words, "Line: "+strconv.FormatInt(line, 10))
	}
	if words == nil {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// ended is nil for the end of a split.
func ended(err error) error {
	if errors.Is(err, io.EOF) && fault.Find(err) == nil {
		return nil
	}
	return err
}

// open reads a split as the rows of ext.
func (by *reader) open(ctx context.Context, ext *plan.External, split ingest.Split, opts *ingest.Options) (msq.RowReader, error) {
	l := by.l
	end := l.parts.begin(split, by)
	raw, err := by.raw(ctx, split, opts, l.Fields)
	if err != nil {
		end(true)
		return nil, err
	}
	r := &rowReader{l: l, raw: raw, op: raw, ended: end}
	for _, c := range ext.Out { // which may be fewer than there are
		r.columns = append(r.columns, slices.IndexFunc(l.Out, func(o plan.Column) bool { return o.Name == c.Name }))
	}
	if l.Rows != nil {
		env := *l.env
		env.Threads, env.Share, env.Externals = 1, nil, opened{raw}
		if r.op, err = exec.Build(ctx, l.Rows, &env); err != nil {
			end(true)
			raw.Close()
			return nil, err
		}
	}
	return r, nil
}

// opened gives the leaf of a plan the rows of a split.
type opened struct{ rows exec.Operator }

// Open implements exec.Externals.
func (o opened) Open(context.Context, *plan.External, func(text string)) (exec.Operator, error) {
	return o.rows, nil
}

// rowReader is the rows of a split as the plan of the job reads them.
type rowReader struct {
	l     *load
	raw   *rawRows
	op    exec.Operator
	stats ingest.Stats
	lost  int64 // rows that did not come through
	// columns are the places of those wanted.
	columns []int
	// ended is told the end of the split.
	ended func(failed bool)
}

// Next implements msq.RowReader.
func (r *rowReader) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.op.Next(ctx)
	if err != nil {
		if ended(err) == nil {
			r.count(0)
			r.ended(false)
			return nil, io.EOF
		}
		return nil, err
	}
	b = b.Compact()
	r.count(int64(b.N))
	if r.l.Calls != nil {
		if b, err = r.l.Single(b); err != nil {
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
	c := &r.raw.by.count
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
	in := r.raw.in.Stats()
	r.stats.Records, r.stats.Bytes = in.Records, in.Bytes
	return r.stats
}

// Close implements msq.RowReader.
func (r *rowReader) Close() error {
	r.ended(true) // if it did not end before
	r.op.Close()
	return nil
}

// rawRows is the times and fields of the records of a split, an exec.Operator.
type rawRows struct {
	*records
	fields []rowplan.Field
	in     *ingest.Reader
	rows   int64
	read   int64 // bytes that were counted
	// failed counts rows with values that are not what they must be, since it was looked at.
	failed int64
}

// raw starts reading fields of a split.
func (by *reader) raw(ctx context.Context, split ingest.Split, opts *ingest.Options, fields []rowplan.Field) (*rawRows, error) {
	r, l := &rawRows{records: by.records(split), fields: fields}, by.l
	table, own := *l.table, *opts
	own.OnParseError, own.OnNotice, own.KeepNullBytes = r.problem, by.notice, true
	when := &l.spec.Schema.Time
	table.Fields = []ingest.Field{{Name: when.Column, Type: vector.Long, Time: when.Instants()}}
	for _, f := range fields {
		table.Fields = append(table.Fields, ingest.Field{Name: f.Name, Type: f.Physical, Multi: f.Type.Multi, Strict: f.Number != "", Single: f.Single})
	}
	var err error
	r.in, err = table.Open(ctx, split, &own)
	return r, err
}

// problem takes note of a record that is no row, or not wholly one.
func (r *rawRows) problem(e *ingest.ParseError) error {
	if e.Object == nil {
		return r.broken(e)
	}
	if _, ok, err := r.time(e); !ok {
		return err
	}
	var problems []string
	for i := range r.fields {
		f := &r.fields[i]
		if v, _ := e.Flat.Get(f.Name); f.Number != "" && v != nil && !isNumber(v) {
			problems = append(problems, "could not convert value ["+string(record.AppendText(nil, v))+"] of field ["+f.Name+"] to "+f.Number)
		}
	}
	r.failed++
	return r.by.bad(string(record.AppendJSON(nil, e.Flat)), "processedWithError", problems...)
}

// Next implements exec.Operator.
func (r *rawRows) Next(ctx context.Context) (*vector.Batch, error) {
	b, err := r.in.Next(ctx)
	if bytes := r.in.Stats().Bytes; bytes > r.read {
		r.by.count.bytes.Add(bytes - r.read)
		r.read = bytes
	}
	if err == nil {
		r.rows += int64(b.N)
	}
	return b, err
}

// Close implements exec.Operator.
func (r *rawRows) Close() { _ = r.in.Close() } // what was read is whole

func isNumber(v any) bool {
	if s, ok := v.(string); ok && s == "" {
		return true // no value
	}
	_, _, _, ok := record.NumberOf(v)
	return ok
}
