package broker_test

import (
	"log/slog"
	"testing"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/timeline"
)

// Totals of what is known of 10,000 segments.
func BenchmarkBoundsOfManySegments(b *testing.B) {
	published := timeline.NewPublished()
	var all []*timeline.Segment
	schema := timeline.NewSchema([]timeline.Column{{Name: "x", Type: "LONG"}})
	for hour := range int64(10_000) {
		iv := chrono.Interval{Start: hour * chrono.Hour, End: (hour + 1) * chrono.Hour}
		all = append(all, &timeline.Segment{
			ID:    timeline.SegmentID{DataSource: "days", Version: "1", Interval: iv},
			Shard: timeline.Numbered{}, Schema: schema, Rows: 10, Times: iv, BinaryVersion: timeline.BinaryVersion,
		})
	}
	if err := published.Advance(1, timeline.Added(all...)); err != nil {
		b.Fatal(err)
	}
	engine := broker.New(published, &opened{}, nil, &broker.Externals{},
		broker.Options{Memory: budget.Root(1 << 30), Clock: clock.System(), Log: slog.New(slog.DiscardHandler)})
	for b.Loop() {
		run(b, engine, "SELECT COUNT(*), MIN(__time), MAX(__time) FROM days")
	}
}
