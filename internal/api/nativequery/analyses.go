package nativequery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	lang "github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
)

// A segmentMetadata query is answered where the segments are: a Broker asks each server that holds
// some for the analyses of these, merged if the query wants that, and merges what they answer. What
// several servers have merged, in whatever order, is what one would have.

// analysesPath is where a server describes segments that it holds.
const analysesPath = "/service-internal/v1/analyses"

// maxAnalyses bounds the body of a request: the segments of one server, some hundred bytes each.
const maxAnalyses = 256 << 20

// analysesRequest is what a server is asked.
type analysesRequest struct {
	Asked    []string        `json:"asked"`
	Include  *lang.ColumnSet `json:"include,omitempty"`
	Merge    bool            `json:"merge"`
	Segments []query.Listed  `json:"segments"`
}

// sentAnalysis is an analysis on its way between servers.
type sentAnalysis struct {
	At               int               `json:"at"`
	ID               string            `json:"id"`
	Intervals        []chrono.Interval `json:"intervals,omitempty"`
	Columns          []sentColumn      `json:"columns"`
	Size             int64             `json:"size"`
	NumRows          int64             `json:"numRows"`
	QueryGranularity *string           `json:"queryGranularity,omitempty"`
	TimestampSpec    *timestampSpec    `json:"timestampSpec,omitempty"`
	Rollup           *bool             `json:"rollup,omitempty"`
	Said             []saidAt          `json:"said,omitempty"`
	// Times are those from the first to behind the last row, equal where there are no rows.
	Times *[2]int64 `json:"times,omitempty"`
}

type sentColumn struct {
	Name string `json:"name"`
	columnAnalysis
	First int64   `json:"first"`
	Other *typeAt `json:"other,omitempty"`
}

func (a *analysis) send() sentAnalysis {
	s := sentAnalysis{At: a.at, ID: a.ID, Intervals: a.intervals, Size: a.Size, NumRows: a.NumRows, QueryGranularity: a.QueryGranularity, Rollup: a.Rollup, Said: a.said}
	s.TimestampSpec = a.TimestampSpec
	if a.times != nil {
		s.Times = &[2]int64{a.times.Start, a.times.End}
	}
	for _, name := range a.Columns.names {
		c := a.Columns.columns[name]
		s.Columns = append(s.Columns, sentColumn{name, *c, c.first, c.other})
	}
	return s
}

func (s *sentAnalysis) analysis() *analysis {
	a := &analysis{at: s.At, ID: s.ID, intervals: s.Intervals, Size: s.Size, NumRows: s.NumRows, QueryGranularity: s.QueryGranularity, Rollup: s.Rollup, said: s.Said}
	a.TimestampSpec = s.TimestampSpec
	if s.Times != nil {
		a.times = &chrono.Interval{Start: s.Times[0], End: s.Times[1]}
	}
	for i := range s.Columns {
		c := s.Columns[i].columnAnalysis
		c.first, c.other = s.Columns[i].First, s.Columns[i].Other
		a.Columns.set(s.Columns[i].Name, &c)
	}
	return a
}

// describeAll returns the analyses of segments: one, where they are merged.
func describeAll(ctx context.Context, r *analysesRequest, files query.Files) ([]*analysis, error) {
	var out []*analysis
	for i := range r.Segments {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		l := &r.Segments[i]
		readers, err := acquire(ctx, files, l)
		if err != nil {
			return nil, err
		}
		var a *analysis
		err = exec.Protect(func() (err error) {
			a, err = analyzeParts(r, l, readers)
			return err
		})
		for _, reader := range readers {
			reader.Release()
		}
		switch {
		case err != nil:
			return nil, err
		case r.Merge && out != nil:
			out[0].merge(a)
		default:
			out = append(out, a)
		}
	}
	return out, nil
}

// acquire returns the rows of a segment: of a live one those of all its parts.
func acquire(ctx context.Context, files query.Files, l *query.Listed) ([]segment.Reader, error) {
	if !l.Live {
		reader, err := files.Acquire(ctx, l.ID, l.LoadSpec)
		return []segment.Reader{reader}, err
	}
	growing, ok := files.(query.LiveFiles)
	if !ok {
		return nil, fault.Unavailable("Segment [%s] can't be described here: this process has no live segments", l.ID)
	}
	return growing.AcquireLive(ctx, l.ID, l.Pinned)
}

// analyzeParts returns the analysis of a segment. The interval of a live one ends behind its last
// row.
func analyzeParts(r *analysesRequest, l *query.Listed, readers []segment.Reader) (*analysis, error) {
	var out *analysis
	times := chrono.Interval{}
	for _, reader := range readers {
		a := analyze(r, l, reader.Info())
		if err := a.look(r, reader); err != nil {
			return nil, err
		}
		if own := timesOf(reader.Info()); times.IsEmpty() {
			times = own
		} else if !own.IsEmpty() {
			times = chrono.Interval{Start: min(times.Start, own.Start), End: max(times.End, own.End)}
		}
		if out == nil {
			out = a
		} else {
			out.merge(a)
			out.ID = l.ID
		}
	}
	if out == nil { // all its rows are in a segment that the query has found elsewhere
		out = analyze(r, l, &segment.Info{})
	}
	if !l.Live {
		return out, nil
	}
	if out.times != nil {
		out.times = &times
	}
	if out.intervals != nil && !times.IsEmpty() {
		out.intervals = []chrono.Interval{{Start: l.Interval.Start, End: times.End}}
	}
	out.Size = 0
	for _, c := range out.Columns.columns {
		c.Size = 0
	}
	return out, nil
}

// AnalysesRoutes adds the routes of a server with segments for Brokers.
func AnalysesRoutes(mux *edge.Mux, files query.Files) {
	mux.On("POST "+analysesPath, func(w http.ResponseWriter, req *http.Request) error {
		var r analysesRequest
		if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, maxAnalyses)).Decode(&r); err != nil {
			return fault.Malformed("The body names no segments to describe").WithCause(err)
		}
		list, err := describeAll(req.Context(), &r, files)
		if err != nil {
			return fault.Unavailable("A segment can't be described here").WithCause(err) // perhaps another server can
		}
		out := make([]sentAnalysis, len(list))
		for i, a := range list {
			out[i] = a.send()
		}
		edge.WriteJSON(w, http.StatusOK, out)
		return nil
	})
}

// analyses gives f the analyses of the segments of a query, in their order, or one of all.
func (x *execution) analyses(ctx context.Context, q *lang.SegmentMetadata, segments []query.Listed, f func(*analysis) error) error {
	all, err := x.described(ctx, analysesRequest{Asked: q.Analyses(), Include: q.ToInclude, Merge: bool(q.Merge)}, segments)
	if err != nil {
		return err
	}
	if q.Merge && len(all) > 0 {
		for _, a := range all[1:] {
			all[0].merge(a)
		}
		all = all[:1]
	}
	for _, a := range all {
		if err := f(a); err != nil {
			return fmt.Errorf("writing the analysis of segment [%s]: %w", a.ID, err)
		}
	}
	return nil
}

// described returns the analyses of segments in their order, where they are merged one of each
// server's.
func (x *execution) described(ctx context.Context, r analysesRequest, segments []query.Listed) (all []*analysis, err error) {
	var mu sync.Mutex
	err = x.session.Spread(ctx, segments, func(ctx context.Context, at query.Server, files query.Files, part []query.Listed) error {
		own := r
		own.Segments = part
		var list []*analysis
		if at == nil {
			var err error
			if list, err = describeAll(ctx, &own, files); err != nil {
				return err
			}
		} else {
			var answer []sentAnalysis
			if err := at.Call(ctx, analysesPath, own, &answer); err != nil {
				return err
			}
			if want := len(part); !r.Merge && len(answer) != want || r.Merge && len(answer) != 1 {
				return fault.Unavailable("A server has described [%d] segments of [%d]", len(answer), want)
			}
			for i := range answer {
				list = append(list, answer[i].analysis())
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, list...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *analysis) int { return a.at - b.at })
	return all, nil
}

// times calls f with the visible segments of a datasource in some intervals that have rows, if they
// are wanted, and the times from the first to behind the last of these. Who holds the segments says
// so; where servers of an earlier release don't, this process looks.
func (x *execution) times(
	ctx context.Context, name string, within []chrono.Interval, wanted func(visible chrono.Interval) bool, f func(visible, rows chrono.Interval),
) error {
	segments := slices.DeleteFunc(x.session.List(name, within), func(l query.Listed) bool { return !wanted(l.Visible) })
	if len(segments) == 0 {
		return nil
	}
	switch whole, err := x.session.Whole(ctx, name); {
	case err != nil:
		return err
	case !whole: // the times of rows that the user doesn't see are not told
		for _, l := range segments {
			f(l.Visible, l.Visible)
		}
		return nil
	}
	for i := range segments {
		segments[i].At = i
	}
	all, err := x.described(ctx, analysesRequest{Asked: []string{"times"}, Include: &lang.ColumnSet{Type: "none"}}, segments)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(a *analysis) bool { return a.times == nil }) {
		return x.session.Segments(ctx, name, within, func(s query.Segment) error {
			if iv := timesOf(s.Info); !iv.IsEmpty() && wanted(s.Visible) {
				f(s.Visible, iv)
			}
			return nil
		})
	}
	for _, a := range all {
		if !a.times.IsEmpty() {
			f(segments[a.at].Visible, *a.times)
		}
	}
	return nil
}

// timesOf are those from the first to behind the last row of a segment.
func timesOf(info *segment.Info) chrono.Interval {
	if !info.HasTimes || info.Rows == 0 {
		return chrono.Interval{}
	}
	return chrono.Interval{Start: info.MinTime, End: info.MaxTime + 1}
}
