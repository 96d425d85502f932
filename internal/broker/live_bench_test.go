package broker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// BenchmarkQueryOverLiveSegments counts and groups the rows of a thousand live segments of one
// process.
func BenchmarkQueryOverLiveSegments(b *testing.B) {
	w := newWorld(b, 0, 1, 0)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 1000 {
		id := timeline.SegmentID{DataSource: source, Interval: chrono.Interval{Start: day.Start, End: day.End}, Version: "v", Partition: i}
		g, err := w.workers[0].set.Open(live.SegmentOptions{ID: id, Shard: timeline.Numbered{Partition: i}, Segment: segment.Options{}})
		if err != nil {
			b.Fatal(err)
		}
		if err := g.Append(w.ctx, rows(r, 100), columns); err != nil {
			b.Fatal(err)
		}
	}
	for name, sql := range map[string]string{"count": "SELECT COUNT(*) FROM stream", "group": "SELECT k, SUM(n) FROM stream GROUP BY k"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				w.mustAsk(sql, nil)
			}
		})
	}
}

// BenchmarkAppendToAnswer is the time from the append of a row to the end of the first answer that
// has it.
func BenchmarkAppendToAnswer(b *testing.B) {
	for _, workers := range []int{0, 1} {
		b.Run(fmt.Sprintf("%d workers", workers), func(b *testing.B) {
			w := newWorld(b, workers, 1, 0)
			r := rand.New(rand.NewPCG(1, 1))
			g := w.open("task", "s", w.workers[0])[0]
			total := int64(0)
			for b.Loop() {
				if err := g.Append(w.ctx, rows(r, 1), columns); err != nil {
					b.Fatal(err)
				}
				w.known(g.ID())
				if total++; total > 0 {
					if n, err := w.count(""); err != nil || n != total {
						b.Fatalf("[%d] rows, want [%d]; %v", n, total, err)
					}
				}
			}
		})
	}
}
