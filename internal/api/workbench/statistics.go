package workbench

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
)

// factsPath is where a server tells the facts of columns of segments that it holds.
const factsPath = "/service-internal/v1/columns"

// maxFactsBody bounds a request for facts: names of columns and segments.
const maxFactsBody = 4 << 20

// factsRequest is what a server is asked. No names are all columns.
type factsRequest struct {
	Columns  []string       `json:"columns,omitempty"`
	Segments []query.Listed `json:"segments"`
}

// FactsRoutes adds the routes of a server with segments for Brokers.
func FactsRoutes(mux *edge.Mux, files query.Files) {
	mux.On("POST "+factsPath, func(w http.ResponseWriter, req *http.Request) error {
		var r factsRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxFactsBody)).Decode(&r); err != nil {
			return fault.Malformed("The body names no segments to describe").WithCause(err)
		}
		out, err := describe(req.Context(), &r, files)
		if err != nil {
			return fault.Unavailable("A segment can't be described here").WithCause(err) // perhaps another server can
		}
		edge.WriteJSON(w, http.StatusOK, out)
		return nil
	})
}

// described are the facts of some segments.
type described struct {
	Rows    int64    `json:"rows"`
	Columns []*facts `json:"columns"` // in the order of the segments' schemas
}

func (d *described) merge(o *described) error {
	d.Rows += o.Rows
	at := make(map[string]*facts, len(d.Columns))
	for _, f := range d.Columns {
		at[f.Name] = f
	}
	for _, g := range o.Columns {
		if f := at[g.Name]; f != nil {
			if err := f.merge(g); err != nil {
				return err
			}
			continue
		}
		if len(d.Columns) < maxColumns {
			d.Columns = append(d.Columns, g)
		}
	}
	return nil
}

// describe returns the facts of segments that are read in this process.
func describe(ctx context.Context, r *factsRequest, files query.Files) (*described, error) {
	out := &described{Columns: []*facts{}}
	for i := range r.Segments {
		l := &r.Segments[i]
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		readers, err := acquire(ctx, files, l)
		if err != nil {
			return nil, err
		}
		for _, reader := range readers {
			if err == nil {
				err = exec.Protect(func() error {
					one, err := describeOne(ctx, r, reader)
					if err == nil {
						err = out.merge(one)
					}
					return err
				})
			}
			reader.Release()
		}
		if err != nil {
			return nil, fmt.Errorf("describing segment [%s]: %w", l.ID, err)
		}
	}
	return out, nil
}

// acquire returns the rows of a segment: of a live one those of all its parts.
func acquire(ctx context.Context, files query.Files, l *query.Listed) ([]segment.Reader, error) {
	if !l.Live {
		reader, err := files.Acquire(ctx, l.ID, l.LoadSpec)
		if err != nil {
			return nil, err
		}
		return []segment.Reader{reader}, nil
	}
	growing, ok := files.(query.LiveFiles)
	if !ok {
		return nil, fault.Unavailable("Segment [%s] can't be described here: this process has no live segments", l.ID)
	}
	return growing.AcquireLive(ctx, l.ID, l.Pinned)
}

func describeOne(ctx context.Context, r *factsRequest, reader segment.Reader) (*described, error) {
	info := reader.Info()
	out := &described{Rows: int64(info.Rows)}
	here := !segment.InPart(reader) // what is in deep storage is not fetched for this
	for i := range info.Columns {
		c := &info.Columns[i]
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.Columns != nil && !slices.Contains(r.Columns, c.Name) {
			continue
		}
		if c.Path != "" {
			out.path(c)
			continue
		}
		if len(out.Columns) >= maxColumns {
			continue
		}
		f, err := factsOf(reader, c, here)
		if err != nil {
			return nil, err
		}
		out.Columns = append(out.Columns, f)
	}
	return out, nil
}

// path notes a path of a nested column, which comes after it.
func (d *described) path(c *segment.ColumnInfo) {
	for _, f := range d.Columns {
		if f.Name != c.Name {
			continue
		}
		if f.Paths == nil {
			f.Paths = map[string]string{}
		}
		if len(f.Paths) < maxColumns {
			f.Paths[c.Path] = expr.FromRuntime(c.Type, c.Multi).String()
		}
	}
}

// shownColumn is a column as the endpoint tells it. Members that end in Estimated say of the one
// before whether it is exact.
type shownColumn struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Rows  int64  `json:"rows"`
	Nulls int64  `json:"nulls"`
	Bytes int64  `json:"bytes"`
	// Min and Max are numbers, texts, or instants in ISO 8601; null: not known.
	Min             any          `json:"min"`
	Max             any          `json:"max"`
	BoundsEstimated bool         `json:"boundsEstimated"`
	Distinct        *int64       `json:"distinct"`
	DistinctGuessed bool         `json:"distinctEstimated"`
	Top             []valueCount `json:"top"`
	TopGuessed      bool         `json:"topEstimated"`
	Histogram       []bucket     `json:"histogram"`
	// Paths are those of nested values, for completion.
	Paths []shownPath `json:"paths,omitempty"`
}

type shownPath struct {
	Path string `json:"path"`
	Type string `json:"type"`
}

// bucket is how many values lie from a number up to the next bucket's, by the bounds of blocks.
type bucket struct {
	From  any   `json:"from"`
	To    any   `json:"to"`
	Count int64 `json:"count"`
}

// shownDataSource is the answer: of a large datasource some segments are described, a sample.
type shownDataSource struct {
	DataSource string        `json:"dataSource"`
	Segments   int           `json:"segments"`
	Described  int           `json:"describedSegments"`
	Rows       int64         `json:"describedRows"`
	Sampled    bool          `json:"sampled"`
	Columns    []shownColumn `json:"columns"`
	Truncated  bool          `json:"columnsTruncated,omitempty"`
}

// columns answers what is known of the columns of a datasource without reading its rows.
func (a *API) columns(w http.ResponseWriter, r *http.Request) (err error) {
	name, access, arrived := r.PathValue("dataSource"), auth.Of(r.Context()), clock.Deadline(0)
	if err := access.CheckStatement(r.Context(), auth.Reads(auth.Datasource, name)); err != nil {
		return err // limited by rules or not: those are told below
	}
	ctx, done, err := query.Deadline(r.Context(), arrived, nil, a.o.DefaultTimeout, a.o.MaxTimeout)
	if err != nil {
		return err
	}
	defer done()
	id := query.NewID()
	ctx, q, err := a.running.Enter(ctx, query.Arrival{
		ID: id, SQL: "column statistics of " + name, Identity: edge.UserOf(r), Access: access, Door: "statistics",
	})
	if err != nil {
		return err
	}
	defer func() { q.End(ctx, err) }()
	if err := q.Describe(ctx, "columnStatistics", []string{name}, nil); err != nil {
		return err
	}
	session, err := a.engine.Pin(ctx, q, access, nil)
	if err != nil {
		return err
	}
	switch whole, err := session.Whole(ctx, name); {
	case err != nil:
		return err
	case !whole:
		return fault.Forbidden("Rules show only a part of datasource [%s] to this user; statistics cover all its rows", name)
	}
	table, err := session.Table(ctx, name)
	if err != nil {
		return err
	}
	if table == nil {
		return fault.NotFound("Datasource [%s] does not exist", name)
	}
	if err := edge.OnlyParameters(r, "column"); err != nil {
		return err
	}
	request := factsRequest{Columns: r.URL.Query()["column"]}
	all := session.List(name, []chrono.Interval{chrono.Eternity})
	sample := spread(all)
	total := &described{}
	var mu sync.Mutex
	err = session.Spread(ctx, sample, func(ctx context.Context, at query.Server, files query.Files, part []query.Listed) error {
		one, own := &described{}, request
		own.Segments = part
		var err error
		if at == nil {
			one, err = describe(ctx, &own, files)
		} else {
			err = at.Call(ctx, factsPath, own, one)
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		return total.merge(one)
	})
	if err != nil {
		return query.Cause(ctx, err)
	}
	byName := map[string]*facts{}
	for _, f := range total.Columns {
		byName[f.Name] = f
	}
	out := shownDataSource{
		DataSource: name, Segments: len(all), Described: len(sample), Rows: total.Rows, Sampled: len(sample) < len(all), Columns: []shownColumn{},
	}
	for _, c := range table.Columns() {
		if request.Columns != nil && !slices.Contains(request.Columns, c.Name) {
			continue
		}
		if len(out.Columns) >= maxColumns {
			out.Truncated = true
			break
		}
		f := byName[c.Name]
		if f == nil { // no segment that was described has it
			f = &facts{Name: c.Name}
		}
		out.Columns = append(out.Columns, f.shown(c.Type, total.Rows))
	}
	edge.WriteJSON(w, http.StatusOK, out)
	return nil
}

// spread returns some of many segments, evenly over their order, the first and the last included.
func spread(all []query.Listed) []query.Listed {
	var out []query.Listed
	if n := len(all); n > maxSegments {
		for i := range maxSegments {
			out = append(out, all[i*(n-1)/(maxSegments-1)])
		}
	} else {
		out = slices.Clone(all)
	}
	for i := range out {
		out[i].At = i
	}
	return out
}

// shown returns the facts as they are told, of a column that the datasource has as a type. Segments
// without the column have no value in it.
func (f *facts) shown(t expr.Type, rows int64) shownColumn {
	out := shownColumn{
		Name: f.Name, Type: t.String(), Rows: rows, Nulls: f.Nulls + max(0, rows-f.Rows), Bytes: f.Bytes,
		Top: []valueCount{}, Histogram: []bucket{},
	}
	for _, path := range slices.Sorted(maps.Keys(f.Paths)) {
		out.Paths = append(out.Paths, shownPath{path, f.Paths[path]})
	}
	if f.Mixed {
		return out // bounds of several types bound nothing
	}
	value := func(x any) any { return x }
	if t.IsTime() {
		value = func(x any) any {
			if ms, ok := x.(int64); ok {
				return chrono.FormatMillis(ms, chrono.UTC)
			}
			return x
		}
	}
	if !f.Unbound {
		out.BoundsEstimated = f.Loose
		switch {
		case f.Longs != nil:
			out.Min, out.Max = value(f.Longs[0]), value(f.Longs[1])
		case f.Doubles != nil:
			out.Min, out.Max = f.Doubles[0], f.Doubles[1]
		case f.Texts != nil:
			out.Min, out.Max = f.Texts[0], f.Texts[1]
		}
	}
	if f.Distinct >= 0 {
		out.Distinct, out.DistinctGuessed = &f.Distinct, f.Estimated
	}
	if values := most(f.Values); len(values) > 0 {
		out.Top = values[:min(shownValues, len(values))]
		out.TopGuessed = f.Counted < f.Rows || f.Distinct > int64(len(values))
	}
	out.Histogram = f.histogram(value)
	return out
}

// histogram divides the values of blocks among buckets, evenly over the range of each.
func (f *facts) histogram(value func(any) any) []bucket {
	if len(f.Ranges) == 0 {
		return []bucket{}
	}
	least, greatest := f.Ranges[0].Min, f.Ranges[0].Max
	for _, s := range f.Ranges {
		least, greatest = min(least, s.Min), max(greatest, s.Max)
	}
	n := histogramBuckets
	if f.Longs != nil && greatest-least+1 < float64(n) {
		n = int(greatest-least) + 1
	}
	width := (greatest - least) / float64(n)
	if f.Longs != nil {
		width = (greatest - least + 1) / float64(n)
	}
	if width <= 0 || !finite(width) {
		n, width = 1, 0
	}
	counts := make([]float64, n)
	place := func(x float64) int { return min(n-1, max(0, int((x-least)/width))) }
	for _, s := range f.Ranges {
		if width == 0 {
			counts[0] += float64(s.N)
			continue
		}
		from, to := place(s.Min), place(s.Max)
		length := s.Max - s.Min
		if from == to || length <= 0 {
			counts[from] += float64(s.N)
			continue
		}
		for b := from; b <= to; b++ {
			lo, hi := max(s.Min, least+float64(b)*width), min(s.Max, least+float64(b+1)*width)
			counts[b] += float64(s.N) * max(0, hi-lo) / length
		}
	}
	edge := func(x float64) any {
		if f.Longs != nil && math.Abs(x) < 1<<62 {
			return value(int64(math.Floor(x)))
		}
		return x
	}
	out := make([]bucket, n)
	for b := range out {
		out[b] = bucket{edge(least + float64(b)*width), edge(least + float64(b+1)*width), int64(math.Round(counts[b]))}
	}
	if width == 0 || f.Longs == nil {
		out[n-1].To = edge(greatest)
	}
	return out
}
