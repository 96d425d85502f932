package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
	"github.com/hengedb/henge/internal/testkit/fixture"
	"github.com/hengedb/henge/internal/testkit/slt"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// Now is where the clock of a Store stands. A statement's context may say otherwise by
// sqlCurrentTimestamp.
var Now = time.Date(2024, 2, 29, 12, 34, 56, 789e6, time.UTC)

// Store holds the segments of one test.
type Store struct {
	// SegmentRows cuts each load into segments of at most that many rows, 0: as loaded. Loads that
	// name the size of their core set stay.
	SegmentRows int
	// Live keeps segments in memory, as those that still grow are, in place of files.
	Live bool

	dir       string
	published *timeline.Published
	open      map[timeline.SegmentID]segment.Reader
	next      map[chunkID]int // the next partition number of a chunk
	clock     clock.Clock
	log       *slog.Logger
	lookups   *lookup.Set
}

type chunkID struct {
	dataSource, version string
	interval            chrono.Interval
}

// NewStore returns an empty Store that closes its segments when the test ends.
func NewStore(t testing.TB) *Store {
	s := &Store{
		dir: t.TempDir(), published: timeline.NewPublished(), open: map[timeline.SegmentID]segment.Reader{}, next: map[chunkID]int{},
		clock: fakeclock.New(Now), log: slog.New(slog.DiscardHandler),
	}
	s.lookups = lookup.NewSet(lookup.Options{Clock: s.clock, Log: s.log})
	t.Cleanup(func() {
		for _, o := range s.open {
			o.Release()
		}
	})
	return s
}

// Load writes a load's rows as segments and publishes them under one number.
func (s *Store) Load(ctx context.Context, l *slt.Load) error {
	var changes []timeline.Change
	for _, part := range buckets(l) {
		iv := part.Interval
		if iv.IsEmpty() {
			iv = span(&part.Table)
		}
		rows := len(part.Table.Rows)
		size := rows
		if s.SegmentRows > 0 && l.Core == 0 {
			size = s.SegmentRows
		}
		id := chunkID{l.DataSource, l.Version, iv}
		first := max(l.Partition, s.next[id])
		for at := 0; at < max(rows, 1); at += max(size, 1) {
			number := first
			first++
			segment, err := s.write(ctx, &part.Table, at, min(at+size, rows), timeline.SegmentID{
				DataSource: l.DataSource, Interval: iv, Version: l.Version, Partition: number}, l.Core)
			if err != nil {
				return err
			}
			changes = append(changes, timeline.Added(segment)...)
		}
		s.next[id] = first
	}
	return s.published.Advance(s.published.Pin().Number()+1, changes)
}

// Tombstone publishes a tombstone.
func (s *Store) Tombstone(_ context.Context, t *slt.Tombstone) error {
	id := timeline.SegmentID{DataSource: t.DataSource, Interval: t.Interval, Version: t.Version}
	return s.published.Advance(s.published.Pin().Number()+1, timeline.Added(timeline.NewTombstone(id)))
}

// Lookup adds a lookup.
func (s *Store) Lookup(ctx context.Context, l *slt.Lookup) error {
	factory, err := json.Marshal(map[string]any{"type": "map", "map": l.Values})
	if err != nil {
		return err
	}
	s.lookups.Add(ctx, l.Name, lookup.Container{Version: strconv.Itoa(l.Line), Factory: factory})
	return nil
}

func (s *Store) write(ctx context.Context, table *fixture.Table, lo, hi int, id timeline.SegmentID, core int) (*timeline.Segment, error) {
	specs := make([]segment.ColumnSpec, len(table.Columns))
	columns := make([]timeline.Column, 0, len(specs))
	for i, c := range table.Columns {
		specs[i] = segment.ColumnSpec{Name: c.Name, Type: c.Type, Multi: c.Multi}
		if c.Name == fixture.TimeColumn {
			continue
		}
		column := timeline.Column{Name: c.Name, Type: c.Type.String(), MultiValue: c.Multi}
		if c.Multi {
			column.Type = c.Type.Elem().String()
		}
		columns = append(columns, column)
	}
	options := segment.Options{Columns: specs, SortOrder: []string{fixture.TimeColumn}, TempDir: s.dir}
	rows := table.Batch(lo, hi)
	var reader segment.Reader
	var path string
	var err error
	if s.Live {
		reader, err = grow(ctx, options, rows)
	} else {
		path = filepath.Join(s.dir, fmt.Sprintf("%d.segment", len(s.open)))
		reader, err = file(ctx, path, options, rows)
	}
	if err != nil {
		return nil, err
	}
	s.open[id] = reader
	info := reader.Info()
	return &timeline.Segment{
		ID: id, Shard: timeline.Numbered{Partition: id.Partition, Core: core}, Schema: timeline.NewSchema(columns), File: path,
		Size: info.Size, Rows: int64(info.Rows), Times: info.Times(), BinaryVersion: timeline.BinaryVersion,
	}, nil
}

// file returns rows that were written to a segment file.
func file(ctx context.Context, path string, o segment.Options, rows *vector.Batch) (segment.Reader, error) {
	w, err := segment.Create(path, o)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := w.Append(ctx, rows); err != nil {
		return nil, err
	}
	if _, err := w.Finish(ctx); err != nil {
		return nil, err
	}
	return segment.Open(path)
}

// grow returns rows that were appended to a growing segment, which got more after they were read.
func grow(ctx context.Context, o segment.Options, rows *vector.Batch) (segment.Reader, error) {
	live, err := segment.NewLive(o)
	if err != nil {
		return nil, err
	}
	defer live.Release()
	for at := range rows.N {
		if err := live.Append(ctx, rows.Slice(at, at+1)); err != nil {
			return nil, err
		}
	}
	reader := live.Reader()
	if err := live.Append(ctx, rows); err != nil {
		reader.Release()
		return nil, err
	}
	return reader, nil
}

// Acquire implements broker.Segments.
func (s *Store) Acquire(_ context.Context, id *timeline.Segment) (segment.Reader, error) {
	file, ok := s.open[id.ID]
	if !ok || !file.Acquire() {
		return nil, fmt.Errorf("segment [%s] is not open", id.ID)
	}
	return file, nil
}

func (s *Store) acquireByID(id string) (segment.Reader, error) {
	for of, file := range s.open {
		if of.String() == id && file.Acquire() {
			return file, nil
		}
	}
	return nil, fmt.Errorf("segment [%s] is not open", id)
}

// buckets cuts a load by its granularity.
func buckets(l *slt.Load) []*slt.Load {
	if l.Granularity == nil {
		return []*slt.Load{l}
	}
	at := l.Table.TimeIndex()
	parts := map[int64]*slt.Load{}
	var order []*slt.Load
	for _, row := range l.Table.Rows {
		iv := l.Granularity.Bucket(row[at].(int64))
		part, ok := parts[iv.Start]
		if !ok {
			c := *l
			c.Interval, c.Table = iv, fixture.Table{Columns: l.Table.Columns}
			part = &c
			parts[iv.Start] = part
			order = append(order, part)
		}
		part.Table.Rows = append(part.Table.Rows, row)
	}
	return order
}

// span returns the least interval that holds the rows of a table.
func span(t *fixture.Table) chrono.Interval {
	if len(t.Rows) == 0 {
		return chrono.Interval{Start: 0, End: 1}
	}
	iv := chrono.Interval{Start: math.MaxInt64, End: math.MinInt64}
	at := t.TimeIndex()
	for _, row := range t.Rows {
		ms := row[at].(int64)
		iv.Start, iv.End = min(iv.Start, ms), max(iv.End, ms+1)
	}
	return iv
}
