package broker_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/timeline"
)

// The response context names, up to a limit, the times that a statement reads and that have no
// segments.
func TestAnswersSayWhatHasNoSegments(t *testing.T) {
	published := timeline.NewPublished()
	var all []*timeline.Segment
	for _, day := range []int64{1, 2, 5} {
		all = append(all, &timeline.Segment{
			ID:    timeline.SegmentID{DataSource: "days", Version: "1", Interval: chrono.Interval{Start: day * dayMillis, End: (day + 1) * dayMillis}},
			Shard: timeline.Numbered{}, Schema: timeline.NewSchema([]timeline.Column{{Name: "x", Type: "LONG"}}), Rows: 10, BinaryVersion: timeline.BinaryVersion,
		})
	}
	if err := published.Advance(1, timeline.Added(all...)); err != nil {
		t.Fatal(err)
	}
	b := broker.New(published, &opened{}, nil, &broker.Externals{}, broker.Options{Memory: budget.Root(1 << 30), Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
	for _, c := range []struct {
		sql     string
		context map[string]any
		want    string
	}{
		{"SELECT SUM(x) FROM days WHERE __time < TIMESTAMP '1970-01-05' AND __time >= TIMESTAMP '1970-01-01'", nil, "{}"},
		{"SELECT SUM(x) FROM days WHERE __time < TIMESTAMP '1970-01-05' AND __time >= TIMESTAMP '1970-01-01'", map[string]any{"uncoveredIntervalsLimit": json.Number("5")},
			`{"uncoveredIntervals":["1970-01-01T00:00:00.000Z/1970-01-02T00:00:00.000Z","1970-01-04T00:00:00.000Z/1970-01-05T00:00:00.000Z"],` +
				`"uncoveredIntervalsOverflowed":false}`},
		{"SELECT SUM(x) FROM days", map[string]any{"uncoveredIntervalsLimit": json.Number("1")},
			`{"uncoveredIntervals":["-146136543-09-08T08:23:32.096Z/1970-01-02T00:00:00.000Z"],"uncoveredIntervalsOverflowed":true}`},
		{"SELECT SUM(x) FROM days WHERE __time = TIMESTAMP '1970-01-02'", map[string]any{"uncoveredIntervalsLimit": json.Number("5")}, "{}"},
		{"SELECT 1", map[string]any{"uncoveredIntervalsLimit": json.Number("5")}, "{}"},
	} {
		rows, err := b.Start(t.Context(), nil, &query.Request{SQL: c.sql, Context: c.context, Dialect: "service", ID: "q"})
		if err != nil {
			t.Fatal(err)
		}
		if got := rows.ResponseContext(); got != c.want {
			t.Errorf("%s: %s, want %s", c.sql, got, c.want)
		}
		rows.Close()
	}
}
