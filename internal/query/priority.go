package query

import (
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// Thresholds lower the priority of queries that read much data (the strategy threshold). Each
// exceeded threshold reduces the priority by Adjustment.
type Thresholds struct {
	// Period limits the age of the queried data, Duration the length of the queried intervals,
	// SegmentCount the number of segments, and SegmentRange their total length; 0: no limit.
	Period, Duration, SegmentRange time.Duration
	SegmentCount                   int64
	Adjustment                     int64
}

// Validate rejects thresholds that no query can exceed.
func (t *Thresholds) Validate() error {
	switch {
	case t.Period <= 0 && t.Duration <= 0 && t.SegmentCount <= 0 && t.SegmentRange <= 0:
		return fault.InvalidInput("service.query.scheduler.prioritization.strategy [threshold] needs periodThreshold, durationThreshold, segmentCountThreshold or segmentRangeThreshold")
	case t.Adjustment < 0:
		return fault.InvalidInput("service.query.scheduler.prioritization.adjustment must not be negative, but is [%d]", t.Adjustment)
	}
	return nil
}

// Footprint describes the data that a query reads.
type Footprint struct {
	// Intervals are the queried intervals, Segments the intervals of the segments.
	Intervals, Segments []chrono.Interval
}

// lowers returns how much the priority of a query falls.
func (t *Thresholds) lowers(f Footprint, now int64) int64 {
	fall := int64(0)
	crosses := func(yes bool) {
		if yes {
			fall += t.Adjustment
		}
	}
	span := func(list []chrono.Interval) float64 {
		ms := 0.0
		for _, iv := range list {
			ms += float64(iv.End) - float64(iv.Start)
		}
		return ms
	}
	early := false
	for _, iv := range f.Intervals {
		early = early || iv.Start < now-t.Period.Milliseconds()
	}
	crosses(t.Period > 0 && early)
	crosses(t.Duration > 0 && span(f.Intervals) > float64(t.Duration.Milliseconds()))
	crosses(t.SegmentCount > 0 && int64(len(f.Segments)) > t.SegmentCount)
	crosses(t.SegmentRange > 0 && span(f.Segments) > float64(t.SegmentRange.Milliseconds()))
	return fall
}

// Weigh sets the priority and the lane of the query according to the data that it reads. It rejects
// the query if too many queries run in its lane. footprint is called only if it is needed.
func (q *Query) Weigh(footprint func() Footprint) error {
	if q == nil || q.running.o.Thresholds == nil {
		return nil
	}
	r := q.running
	priority := q.priority.Load() - r.o.Thresholds.lowers(footprint(), r.clock.Now().UnixMilli())
	lane, err := r.o.Limits.lane(q.context, priority)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.gate.move(q.info.Lane, lane); err != nil {
		return err
	}
	q.priority.Store(priority)
	q.info.Lane = lane
	return nil
}
