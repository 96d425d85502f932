package query

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

const day = 24 * time.Hour

// days returns the interval from some days before to some days behind the beginning of time.
func days(from, to int64) chrono.Interval {
	return chrono.Interval{Start: from * day.Milliseconds(), End: to * day.Milliseconds()}
}

func TestQueriesThatReadMuchFallInPriority(t *testing.T) {
	now := fakeclock.New(time.UnixMilli(0).Add(100 * day))
	last := Footprint{Intervals: []chrono.Interval{days(99, 100)}, Segments: []chrono.Interval{days(99, 100)}}
	old := Footprint{Intervals: []chrono.Interval{days(10, 11)}, Segments: []chrono.Interval{days(10, 11)}}
	long := Footprint{Intervals: []chrono.Interval{days(90, 95), days(96, 100)}, Segments: []chrono.Interval{days(90, 91)}}
	many := Footprint{Intervals: last.Intervals, Segments: []chrono.Interval{days(99, 100), days(99, 100), days(99, 100)}}
	all := Footprint{Intervals: []chrono.Interval{chrono.Eternity}, Segments: many.Segments}
	for name, test := range map[string]struct {
		thresholds Thresholds
		reads      Footprint
		want       int64
	}{
		"nothing crossed": {Thresholds{Period: 30 * day, Duration: 7 * day, SegmentCount: 2, SegmentRange: 2 * day, Adjustment: 5}, last, 10},
		"period":          {Thresholds{Period: 30 * day, Adjustment: 5}, old, 5},
		"duration":        {Thresholds{Duration: 7 * day, Adjustment: 5}, long, 5},
		"segment count":   {Thresholds{SegmentCount: 2, Adjustment: 5}, many, 5},
		"segment range":   {Thresholds{SegmentRange: 2 * day, Adjustment: 7}, many, 3},
		"all":             {Thresholds{Period: 30 * day, Duration: 7 * day, SegmentCount: 2, SegmentRange: 2 * day, Adjustment: 5}, all, -10},
		"none of its own": {Thresholds{SegmentCount: 3, Adjustment: 5}, many, 10},
	} {
		t.Run(name, func(t *testing.T) {
			if err := test.thresholds.Validate(); err != nil {
				t.Fatal(err)
			}
			r := NewRunning(now, RunningOptions{Thresholds: &test.thresholds})
			ctx, q, err := r.Enter(t.Context(), Arrival{ID: "q", Context: map[string]any{"priority": json.Number("10")}})
			if err != nil {
				t.Fatal(err)
			}
			defer q.End(ctx, nil)
			if err := q.Weigh(func() Footprint { return test.reads }); err != nil || q.Priority() != test.want {
				t.Errorf("priority %d (%v), want %d", q.Priority(), err, test.want)
			}
		})
	}
	for _, bad := range []Thresholds{{Adjustment: 5}, {Period: day, Adjustment: -1}} {
		if fault.Find(bad.Validate()) == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestWhatFallsMayFallIntoALane(t *testing.T) {
	limits, err := HiLo(0, 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	r := NewRunning(fakeclock.New(time.Unix(0, 0)), RunningOptions{Limits: limits, Thresholds: &Thresholds{SegmentCount: 1, Adjustment: 5}})
	heavy := func() Footprint { return Footprint{Segments: []chrono.Interval{days(0, 1), days(1, 2)}} }
	firstContext, first, err := r.Enter(t.Context(), Arrival{ID: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Weigh(heavy); err != nil || first.Lane() != "low" || r.List()[0].Lane != "low" {
		t.Fatalf("lane [%s], %v", first.Lane(), err)
	}
	secondContext, second, err := r.Enter(t.Context(), Arrival{ID: "b"})
	if err != nil {
		t.Fatal(err)
	}
	defer second.End(secondContext, nil)
	if f := fault.Find(second.Weigh(heavy)); f == nil || f.Category != fault.CategoryCapacityExceeded || second.Lane() != "" {
		t.Errorf("a second one: %v, lane [%s]", f, second.Lane())
	}
	first.End(firstContext, nil)
	if err := second.Weigh(heavy); err != nil {
		t.Errorf("when the first has left: %v", err)
	}
}

func TestPartsOfAQueryCountOnce(t *testing.T) {
	limits, err := Manual(2, 10, map[string]int64{"report": 1}, false)
	if err != nil {
		t.Fatal(err)
	}
	g := NewGate(limits, "historical", nil)
	enter := func(id, lane string, refused bool) func() {
		t.Helper()
		leave, err := g.EnterPart(id, lane)
		if f := fault.Find(err); (f != nil) != refused || f != nil && f.Category != fault.CategoryCapacityExceeded {
			t.Fatalf("part of %s: %v", id, err)
		}
		return leave
	}
	one, two := enter("a", "report", false), enter("a", "report", false)
	enter("b", "report", true)
	other := enter("c", "", false)
	enter("d", "", true)
	one()
	enter("b", "report", true)
	two()
	enter("b", "report", false)()
	other()
	enter("d", "", false)()
}
