package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

const dayMillis = 24 * 60 * 60 * 1000

// opened counts how often segments of ten rows, one every tenth of a day, are opened.
type opened struct{ times atomic.Int64 }

func (o *opened) Acquire(_ context.Context, s *timeline.Segment) (segment.Reader, error) {
	o.times.Add(1)
	start := s.ID.Interval.Start
	info := segment.Info{Rows: 10, HasTimes: true, MinTime: start, MaxTime: start + 9*dayMillis/10, SortOrder: []string{segment.TimeColumn}}
	for _, name := range []string{segment.TimeColumn, "x"} {
		info.Columns = append(info.Columns, segment.ColumnInfo{Name: name, Type: vector.Long, Distinct: -1})
	}
	return segment.NewTable(info, func(string) (*vector.Vector, error) {
		out := make([]int64, 10)
		for i := range out {
			out[i] = start + int64(i)*dayMillis/10
		}
		return vector.FromLongs(out), nil
	}), nil
}

// How many rows there are is known without opening a segment, but for those of which only some rows
// count or nobody knows how many there are.
func TestRowsAreCountedWithoutOpeningSegments(t *testing.T) {
	published := timeline.NewPublished()
	var all []*timeline.Segment
	add := func(from, to int64, version string, rows int64) {
		all = append(all, &timeline.Segment{
			ID:    timeline.SegmentID{DataSource: "days", Version: version, Interval: chrono.Interval{Start: from * dayMillis, End: to * dayMillis}},
			Shard: timeline.Numbered{}, Schema: timeline.NewSchema([]timeline.Column{{Name: "x", Type: "LONG"}}), Rows: rows, BinaryVersion: timeline.BinaryVersion,
		})
	}
	for day := range int64(8) {
		add(day, day+1, "1", 10)
	}
	add(8, 10, "1", 10) // its second day is hidden
	add(9, 10, "2", 10)
	add(10, 11, "1", -1) // nobody knows
	if err := published.Advance(1, timeline.Added(all...)); err != nil {
		t.Fatal(err)
	}
	segments := &opened{}
	b := broker.New(published, segments, nil, &broker.Externals{}, broker.Options{Memory: budget.Root(1 << 30), Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
	for _, c := range []struct {
		sql          string
		want, opened int64
	}{
		{"SELECT COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-09'", 80, 0},
		{"SELECT COUNT(*) FROM days WHERE __time >= TIMESTAMP '1970-01-02' AND __time < TIMESTAMP '1970-01-05'", 30, 0},
		{"SELECT COUNT(*) FROM days WHERE __time >= TIMESTAMP '1970-01-02 12:00:00' AND __time < TIMESTAMP '1970-01-05'", 25, 1},
		{"SELECT COUNT(*) FROM days WHERE __time >= TIMESTAMP '1970-01-09' AND __time < TIMESTAMP '1970-01-11'", 20, 1},
		{"SELECT COUNT(*) FROM days", 110, 2},
		{"SELECT COUNT(*) + 1 FROM (SELECT 1 FROM days WHERE __time < TIMESTAMP '1970-01-03')", 21, 0},
		{"SELECT COUNT(x) FROM days WHERE __time < TIMESTAMP '1970-01-03'", 20, 2},
		{"SELECT COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-03' AND x > 0", 19, 2},
	} {
		segments.times.Store(0)
		if got := strings.TrimSpace(run(t, b, c.sql)); got != fmt.Sprint(c.want) || segments.times.Load() != c.opened {
			t.Errorf("%s: %s rows, want %d; %d segments were opened, want %d", c.sql, got, c.want, segments.times.Load(), c.opened)
		}
	}
}

// run returns the values of a statement's rows.
func run(t *testing.T, b *broker.Broker, statement string) (out string) {
	t.Helper()
	p, err := b.Prepare(t.Context(), &query.Request{SQL: statement, Dialect: "service"}, sql.Native)
	if err != nil {
		t.Fatal(err)
	}
	env, done := b.Env(p, "query")
	defer done()
	op, err := exec.Build(t.Context(), b.Optimize(t.Context(), p), env)
	if err != nil {
		t.Fatal(err)
	}
	defer op.Close()
	err = exec.Drain(t.Context(), op, func(batch *vector.Batch) error {
		for _, c := range batch.Compact().Cols {
			for i := range c.Len {
				out += fmt.Sprint(c.ValueAt(i), " ")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
