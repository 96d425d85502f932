package streaming

import (
	"testing"
	"time"

	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// The times of rows that a task takes move on while it reads for longer than it was made for, by
// whole durations, and not otherwise.
func TestBoundsOfTimeMoveOn(t *testing.T) {
	at := func(ms int64) *int64 { return &ms }
	const hour = int64(time.Hour / time.Millisecond)
	for _, o := range []struct {
		name             string
		min, max         *int64
		minutes          int
		after            time.Duration
		wantMin, wantMax *int64
	}{
		{"within its duration", at(0), at(2 * hour), 60, 59 * time.Minute, nil, nil},
		{"after it", at(0), at(2 * hour), 60, 61 * time.Minute, at(hour), at(3 * hour)},
		{"much later", at(0), nil, 60, 3*time.Hour + time.Minute, at(3 * hour), nil},
		{"a bound that stays", at(0), nil, 0, 10 * time.Hour, nil, nil},
		{"no bounds", nil, nil, 60, 10 * time.Hour, nil, nil},
	} {
		t.Run(o.name, func(t *testing.T) {
			c := fakeclock.New(time.UnixMilli(5 * hour))
			m := &texts{}
			r := &run{clock: c, maker: m, task: &task.Task{Created: 5 * hour},
				job: &job{io: chat.TaskIO{MinTime: o.min, MaxTime: o.max, RefreshMinutes: o.minutes}}}
			r.moveBounds()
			if m.minTime != nil || m.maxTime != nil {
				t.Errorf("they moved at once: %v %v", m.minTime, m.maxTime)
			}
			c.Advance(o.after)
			r.moveBounds()
			for _, b := range []struct {
				what      string
				got, want *int64
			}{{"minimum", m.minTime, o.wantMin}, {"maximum", m.maxTime, o.wantMax}} {
				if (b.got == nil) != (b.want == nil) || b.got != nil && *b.got != *b.want {
					t.Errorf("the %s is %v", b.what, b.got)
				}
			}
		})
	}
}
