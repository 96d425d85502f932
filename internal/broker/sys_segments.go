package broker

import (
	"context"
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// segments makes sys.segments. There may be hundreds of thousands of rows, and most queries ask for
// few of the columns: only these are made, as vectors.
func (s *System) segments(ctx context.Context, sc SystemScan) (*vector.Batch, error) {
	f, err := s.newSegmentScan(ctx, sc)
	if err != nil {
		return nil, err
	}
	for _, dataSource := range sc.State.DataSources() {
		if !sc.May(dataSource) {
			continue
		}
		f.timeline = sc.State.Timeline(dataSource)
		for seg := range f.timeline.All() {
			if f.rows&1023 == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err := f.add(seg); err != nil {
				return nil, fmt.Errorf("describing segment [%s]: %w", seg.ID, err)
			}
		}
	}
	if err := s.liveSegments(ctx, sc, f); err != nil {
		return nil, err
	}
	out := &vector.Batch{N: f.rows}
	for _, b := range f.columns {
		out.Cols = append(out.Cols, b.Build())
	}
	return out, nil
}

// liveSegments adds the rows of segments that are not published.
func (s *System) liveSegments(ctx context.Context, sc SystemScan, f *segmentScan) error {
	all := growing(sc.Live)
	if len(all) == 0 {
		return nil
	}
	var now map[string]int64
	if s.LiveRows != nil {
		now = s.LiveRows(ctx, sc.Live)
	}
	f.timeline, f.copies = nil, func(*timeline.Segment) int64 { return -1 }
	for _, g := range all {
		if !sc.May(g.Of.ID.DataSource) || sc.State.Timeline(g.Of.ID.DataSource).Segment(g.Of.ID) != nil {
			continue
		}
		of := *g.Of
		of.Rows = max(of.Rows, now[g.Text])
		f.holders = int64(len(g.Holders))
		if err := f.add(&of); err != nil {
			return fmt.Errorf("describing live segment [%s]: %w", g.Text, err)
		}
	}
	return nil
}

// growing returns all live segments, by datasource and id.
func growing(live *cluster.LiveView) (out []*cluster.LiveSegment) {
	names := live.DataSources()
	slices.Sort(names)
	for _, name := range names {
		out = append(out, live.Table(name).Segments...)
	}
	return out
}

// segmentScan makes columns of sys.segments, a row at a time.
type segmentScan struct {
	copies func(*timeline.Segment) int64
	// loaded and held count the servers and workers that have a segment, by its id.
	loaded, held map[string]int64
	// timeline is the one that segments are added of; nil: they are not published, and holders is
	// how many workers have them.
	timeline *timeline.Timeline
	holders  int64

	out     []segmentColumn
	needs   segmentNeeds
	columns []*vector.Builder
	rows    int
	row     segmentRow

	id      []byte
	times   map[int64]string // which many segments share
	schemas map[*timeline.Schema][2]string
}

// segmentRow is what several columns are made of, if one of them is asked for.
type segmentRow struct {
	historicals, workers int64
	overshadowed         bool
}

// segmentColumn appends the value of a column.
type segmentColumn struct {
	needs segmentNeeds
	put   func(f *segmentScan, b *vector.Builder, s *timeline.Segment) error
}

// segmentNeeds says what a column is made of that costs something.
type segmentNeeds uint8

const (
	needsID segmentNeeds = 1 << iota
	needsServed
	needsOvershadowed
)

func (s *System) newSegmentScan(ctx context.Context, sc SystemScan) (*segmentScan, error) {
	f := &segmentScan{
		loaded: map[string]int64{}, held: map[string]int64{}, times: map[int64]string{}, schemas: map[*timeline.Schema][2]string{},
	}
	var err error
	if f.copies, err = s.Copies(ctx); err != nil {
		return nil, err
	}
	for _, c := range sc.Out {
		column := segmentColumns[c.Name]
		f.out, f.needs = append(f.out, column), f.needs|column.needs
		f.columns = append(f.columns, vector.NewBuilder(c.Type.Runtime(), 0))
	}
	if f.needs&needsServed == 0 {
		return f, nil
	}
	for _, server := range s.Servers(true) {
		for _, id := range server.Loaded {
			f.loaded[id]++
		}
	}
	for _, g := range growing(sc.Live) {
		f.held[g.Text] = int64(len(g.Holders))
	}
	return f, nil
}

// add adds the row of a segment.
func (f *segmentScan) add(s *timeline.Segment) error {
	f.row = segmentRow{}
	if f.needs&(needsID|needsServed) != 0 {
		f.id = s.ID.Append(f.id[:0])
	}
	if f.needs&needsServed != 0 {
		if f.timeline == nil {
			f.row.workers = f.holders
		} else {
			f.row.historicals, f.row.workers = f.loaded[string(f.id)], f.held[string(f.id)]
		}
		if s.IsTombstone() { // there is nothing to hold
			f.row.historicals = 1
		}
	}
	if f.needs&needsOvershadowed != 0 && f.timeline != nil {
		f.row.overshadowed = f.timeline.SegmentIsOvershadowed(s)
	}
	for i, c := range f.out {
		if err := c.put(f, f.columns[i], s); err != nil {
			return err
		}
	}
	f.rows++
	return nil
}

// time returns the text of an instant.
func (f *segmentScan) time(ms int64) string {
	text, ok := f.times[ms]
	if !ok {
		text = chrono.FormatMillis(ms, chrono.UTC)
		f.times[ms] = text
	}
	return text
}

// names returns the dimensions and metrics of a segment: the texts are long and few.
func (f *segmentScan) names(s *timeline.Schema) (names [2]string, err error) {
	names, ok := f.schemas[s]
	if !ok {
		if names, err = schemaNames(s); err != nil {
			return names, err
		}
		f.schemas[s] = names
	}
	return names, nil
}

// schemaNames returns the names of the dimensions and of the metrics as JSON.
func schemaNames(s *timeline.Schema) (names [2]string, err error) {
	if s == nil { // a tombstone
		return [2]string{"[]", "[]"}, nil
	}
	for i, list := range [][]string{s.Dimensions(), s.Metrics()} {
		if list == nil {
			list = []string{}
		}
		text, err := jsontext.Marshal(list)
		if err != nil {
			return names, err
		}
		names[i] = string(text)
	}
	return names, nil
}

func textColumn(needs segmentNeeds, text func(f *segmentScan, s *timeline.Segment) string) segmentColumn {
	return segmentColumn{needs, func(f *segmentScan, b *vector.Builder, s *timeline.Segment) error {
		b.AppendString(text(f, s))
		return nil
	}}
}

func longColumn(needs segmentNeeds, number func(f *segmentScan, s *timeline.Segment) int64) segmentColumn {
	return segmentColumn{needs, func(f *segmentScan, b *vector.Builder, s *timeline.Segment) error {
		b.AppendLong(number(f, s))
		return nil
	}}
}

// jsonColumn is one whose text may fail, or be NULL.
func jsonColumn(text func(f *segmentScan, s *timeline.Segment) ([]byte, error)) segmentColumn {
	return segmentColumn{0, func(f *segmentScan, b *vector.Builder, s *timeline.Segment) error {
		t, err := text(f, s)
		switch {
		case err != nil:
			return err
		case t == nil:
			b.AppendNull()
		default:
			b.AppendString(string(t))
		}
		return nil
	}}
}

func namesColumn(i int) segmentColumn {
	return segmentColumn{0, func(f *segmentScan, b *vector.Builder, s *timeline.Segment) error {
		names, err := f.names(s.Schema)
		b.AppendString(names[i])
		return err
	}}
}

// segmentColumns are the columns of sys.segments.
var segmentColumns = map[string]segmentColumn{
	"segment_id":    textColumn(needsID, func(f *segmentScan, _ *timeline.Segment) string { return string(f.id) }),
	"datasource":    textColumn(0, func(_ *segmentScan, s *timeline.Segment) string { return s.ID.DataSource }),
	"start":         textColumn(0, func(f *segmentScan, s *timeline.Segment) string { return f.time(s.ID.Interval.Start) }),
	"end":           textColumn(0, func(f *segmentScan, s *timeline.Segment) string { return f.time(s.ID.Interval.End) }),
	"size":          longColumn(0, func(_ *segmentScan, s *timeline.Segment) int64 { return s.Size }),
	"version":       textColumn(0, func(_ *segmentScan, s *timeline.Segment) string { return s.ID.Version }),
	"partition_num": longColumn(0, func(_ *segmentScan, s *timeline.Segment) int64 { return int64(s.ID.Partition) }),
	"num_replicas":  longColumn(needsServed, func(f *segmentScan, _ *timeline.Segment) int64 { return f.row.historicals + f.row.workers }),
	"num_rows":      longColumn(0, func(_ *segmentScan, s *timeline.Segment) int64 { return max(s.Rows, 0) }),
	"is_active":     longColumn(needsOvershadowed, func(f *segmentScan, _ *timeline.Segment) int64 { return flag(!f.row.overshadowed) }),
	"is_published":  longColumn(0, func(f *segmentScan, _ *timeline.Segment) int64 { return flag(f.timeline != nil) }),
	"is_available": longColumn(needsServed, func(f *segmentScan, _ *timeline.Segment) int64 {
		return flag(f.row.historicals+f.row.workers > 0)
	}),
	"is_realtime": longColumn(needsServed, func(f *segmentScan, _ *timeline.Segment) int64 {
		return flag(f.row.historicals == 0 && f.row.workers > 0)
	}),
	"is_overshadowed": longColumn(needsOvershadowed, func(f *segmentScan, _ *timeline.Segment) int64 {
		return flag(f.row.overshadowed)
	}),
	"shard_spec": jsonColumn(func(_ *segmentScan, s *timeline.Segment) ([]byte, error) {
		return timeline.MarshalShardSpec(s.Shard)
	}),
	"dimensions":         namesColumn(0),
	"metrics":            namesColumn(1),
	"projections":        jsonColumn(projectionsOf),
	"replication_factor": longColumn(0, func(f *segmentScan, s *timeline.Segment) int64 { return f.copies(s) }),
	"last_compaction_state": jsonColumn(func(_ *segmentScan, s *timeline.Segment) ([]byte, error) {
		if s.Details == nil || len(s.Details.LastCompactionState) == 0 {
			return nil, nil
		}
		return s.Details.LastCompactionState, nil
	}),
}

func projectionsOf(_ *segmentScan, s *timeline.Segment) ([]byte, error) {
	if s.Details == nil || len(s.Details.Projections) == 0 {
		return nil, nil
	}
	return jsontext.Marshal(s.Details.Projections)
}
