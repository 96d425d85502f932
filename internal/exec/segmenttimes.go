package exec

import (
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/obs"
)

// SegmentTimes measures the time that each segment of a query waits for its first worker, and the
// time that workers spend on it, under the names of the public interface. A nil SegmentTimes does
// nothing.
type SegmentTimes struct {
	Clock clock.Clock
	Meter *obs.Meter
	// Query is the query's id.
	Query string
	// Span gets a child for each segment; nil: no spans are recorded.
	Span *obs.Span
}

// segmentTime is the time of one segment. Workers add to it.
type segmentTime struct {
	begun  atomic.Bool
	waited time.Duration // until a worker began; of the worker that did
	first  time.Time     // when it began
	took   atomic.Int64
}

// In returns a SegmentTimes with the same measurements that also adds a child per segment to a
// span.
func (t *SegmentTimes) In(s *obs.Span, c clock.Clock) *SegmentTimes {
	if t == nil {
		t = &SegmentTimes{Clock: c}
	}
	t.Span = s
	return t
}

// now returns the time, or none if nothing is measured.
func (t *SegmentTimes) now() time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Clock.Now()
}

// turn notes that a worker goes from one segment, which it has been at since some time, to another,
// nil: to none. It returns when.
func (t *SegmentTimes) turn(opened, since time.Time, from, to *leafScan) time.Time {
	if t == nil {
		return since
	}
	now := t.Clock.Now()
	if from != nil {
		from.time.took.Add(int64(now.Sub(since)))
	}
	if to != nil && to.time.begun.CompareAndSwap(false, true) {
		to.time.waited, to.time.first = now.Sub(opened), now
	}
	return now
}

// kept tells the time it took to get the groups of a segment from the cache.
func (t *SegmentTimes) kept(dataSource string, took time.Duration) {
	if t != nil {
		t.Meter.Time(t.about("query/segmentAndCache/time", dataSource), took)
	}
}

// tell tells the times of segments that were read. Nobody is at them any more.
func (t *SegmentTimes) tell(leaves []*leafScan) {
	if t == nil {
		return
	}
	var waits, took []time.Duration
	var ids []string
	for _, l := range leaves {
		if l.time.begun.Load() {
			waits, took, ids = append(waits, l.time.waited), append(took, time.Duration(l.time.took.Load())), append(ids, l.leaf.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	dataSource := leaves[0].scan.DataSource
	if t.Span != nil {
		for _, l := range leaves {
			if l.time.begun.Load() {
				t.Span.Scanned(dataSource, l.leaf.ID, l.time.first, time.Duration(l.time.took.Load()))
			}
		}
	}
	t.Meter.Times(t.about("query/wait/time", dataSource), "segment", ids, waits)
	t.Meter.Times(t.about("query/segment/time", dataSource), "segment", ids, took)
	t.Meter.Times(t.about("query/segmentAndCache/time", dataSource), "segment", ids, took)
}

func (t *SegmentTimes) about(metric, dataSource string) obs.Occurrence {
	return obs.Occurrence{Service: "historical", Metric: metric, Dims: []string{"dataSource", dataSource}, More: []string{"id", t.Query}}
}
