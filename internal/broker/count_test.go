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
		{"SELECT COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-03' " +
			"OR __time >= TIMESTAMP '1970-01-05' AND __time < TIMESTAMP '1970-01-07'", 40, 0},
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

// The least and the greatest time are known of segments that were published with them, and answers
// are those that opened segments give: with hidden days, days of which nobody knows the times or
// the number of rows, bounds of time within segments, and conditions.
func TestTimesAreKnownWithoutOpeningSegments(t *testing.T) {
	days := func(from, to int64) chrono.Interval {
		return chrono.Interval{Start: from * dayMillis, End: to * dayMillis}
	}
	list := func(known bool) (all []*timeline.Segment) {
		for _, s := range []struct {
			interval   chrono.Interval
			version    string
			rows       int64
			timesKnown bool
		}{
			{days(0, 1), "1", 10, true}, {days(1, 2), "1", 10, true}, {days(2, 3), "1", 10, true}, {days(3, 4), "1", 10, true},
			{days(4, 6), "1", 10, true}, {days(4, 5), "2", 10, true}, // the newer one hides all rows of the older one
			{days(6, 8), "1", 10, true}, {days(7, 8), "2", 10, true}, // and here none
			{days(8, 9), "1", 10, false}, {days(9, 10), "1", -1, true},
		} {
			one := &timeline.Segment{
				ID:    timeline.SegmentID{DataSource: "days", Version: s.version, Interval: s.interval},
				Shard: timeline.Numbered{}, Schema: timeline.NewSchema([]timeline.Column{{Name: "x", Type: "LONG"}}), Rows: -1,
				BinaryVersion: timeline.BinaryVersion,
			}
			if known {
				one.Rows = s.rows
				if s.timesKnown {
					one.Times = chrono.Interval{Start: s.interval.Start, End: s.interval.Start + 9*dayMillis/10 + 1}
				}
			}
			all = append(all, one)
		}
		return all
	}
	open := func(known bool) (*broker.Broker, *opened) {
		published, segments := timeline.NewPublished(), &opened{}
		if err := published.Advance(1, timeline.Added(list(known)...)); err != nil {
			t.Fatal(err)
		}
		return broker.New(published, segments, nil, &broker.Externals{},
			broker.Options{Memory: budget.Root(1 << 30), Clock: clock.System(), Log: slog.New(slog.DiscardHandler)}), segments
	}
	knows, segments := open(true)
	reads, _ := open(false)
	for _, c := range []struct {
		sql    string
		opened int64
	}{
		{"SELECT MIN(__time), MAX(__time), COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-05'", 0},
		{"SELECT MAX(__time) FROM days WHERE __time < TIMESTAMP '1970-01-05'", 0},
		{"SELECT MIN(__time), MAX(__time) FROM days WHERE __time < TIMESTAMP '1970-01-03' " +
			"OR __time >= TIMESTAMP '1970-01-05' AND __time < TIMESTAMP '1970-01-07'", 1}, // the older one of days 4 and 5
		{"SELECT MIN(__time), MAX(__time), COUNT(*), COUNT(__time) FROM days WHERE __time < TIMESTAMP '1970-01-02' " +
			"OR __time >= TIMESTAMP '1970-01-03' AND __time < TIMESTAMP '1970-01-05' " +
			"OR __time >= TIMESTAMP '1970-01-07' AND __time < TIMESTAMP '1970-01-08'", 0},
		// Rows of day 1 are on both sides of a gap, for each of which it is opened; those of day 3 are
		// all before one.
		{"SELECT MIN(__time), MAX(__time), COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-02 06:00:00' " +
			"OR __time >= TIMESTAMP '1970-01-02 12:00:00' AND __time < TIMESTAMP '1970-01-04 23:00:00' OR __time >= TIMESTAMP '1970-01-07'", 4},
		{"SELECT MIN(__time), MAX(__time), COUNT(*) FROM days WHERE __time >= TIMESTAMP '1970-01-04' AND __time < TIMESTAMP '1970-01-05' " +
			"OR __time < TIMESTAMP '1970-01-02' OR __time >= TIMESTAMP '1970-01-02' AND __time < TIMESTAMP '1970-01-03'", 0},
		{"SELECT MAX(__time), COUNT(*) FROM days WHERE __time < TIMESTAMP '1960-01-01' " +
			"OR __time >= TIMESTAMP '1970-01-07' AND __time < TIMESTAMP '1970-01-09' OR __time >= TIMESTAMP '1980-01-01'", 0},
		{"SELECT COUNT(__time), MAX(__time) FROM days WHERE __time >= TIMESTAMP '1970-01-02' AND __time < TIMESTAMP '1970-01-04'", 0},
		// All rows of a day are before its last tenth.
		{"SELECT MIN(__time), COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-02 22:00:00'", 0},
		{"SELECT MIN(__time), COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-02 12:00:00'", 1},
		{"SELECT MIN(__time), MAX(__time) FROM days WHERE __time >= TIMESTAMP '1970-01-01 00:00:00.001' AND __time < TIMESTAMP '1970-01-03'", 1},
		// The older segment of days 4 and 5 shows only day 5, in which it has no rows; it is opened.
		{"SELECT MIN(__time), MAX(__time), COUNT(*) FROM days WHERE __time >= TIMESTAMP '1970-01-05' AND __time < TIMESTAMP '1970-01-07'", 1},
		{"SELECT MIN(__time), MAX(__time), COUNT(*) FROM days WHERE __time >= TIMESTAMP '1970-01-07' AND __time < TIMESTAMP '1970-01-09'", 0},
		{"SELECT MAX(__time) FROM days WHERE __time >= TIMESTAMP '1970-01-09'", 2},
		{"SELECT MIN(__time), MAX(__time) FROM days", 3},
		{"SELECT MIN(__time), MAX(__time), COUNT(*), COUNT(__time) FROM days WHERE __time >= TIMESTAMP '1980-01-01'", 0},
		{"SELECT MIN(t), MAX(u) FROM (SELECT __time AS t, __time AS u FROM days WHERE __time < TIMESTAMP '1970-01-03')", 0},
		{"SELECT MIN(__time) FROM days WHERE __time < TIMESTAMP '1970-01-03' AND x > 0", 2},
		{"SELECT MIN(__time) FILTER (WHERE x > 0) FROM days WHERE __time < TIMESTAMP '1970-01-03'", 2},
		{"SELECT MIN(__time), SUM(x) FROM days WHERE __time < TIMESTAMP '1970-01-03'", 2},
		{"SELECT MIN(x), MAX(x) FROM days WHERE __time < TIMESTAMP '1970-01-03'", 2},
		{"SELECT COUNT(DISTINCT __time), MAX(__time) FROM days WHERE __time < TIMESTAMP '1970-01-03'", 2},
		{"SELECT MIN(FLOOR(__time TO HOUR)), MAX(TIMESTAMPADD(DAY, 1, __time)) FROM days WHERE __time < TIMESTAMP '1970-01-03'", 2},
		{"SELECT FLOOR(__time TO DAY), MIN(__time), COUNT(*) FROM days WHERE __time < TIMESTAMP '1970-01-03' GROUP BY 1", 2},
		{"SELECT MAX(__time) FROM (SELECT __time FROM days WHERE __time < TIMESTAMP '1970-01-03' LIMIT 3)", 2},
		{"SELECT MAX(a.__time) FROM days a JOIN days b ON a.__time = b.__time WHERE a.__time < TIMESTAMP '1970-01-02'", 11},
	} {
		segments.times.Store(0)
		got, want := run(t, knows, c.sql), run(t, reads, c.sql)
		if got != want || segments.times.Load() != c.opened {
			t.Errorf("%s: %s, want %s; %d segments were opened, want %d", c.sql, got, want, segments.times.Load(), c.opened)
		}
	}
}

// run returns the values of a statement's rows.
func run(t testing.TB, b *broker.Broker, statement string) (out string) {
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
