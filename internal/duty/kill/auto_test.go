package kill

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/task"
	killtask "github.com/hengedb/henge/internal/tasktype/kill"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// cluster is datasources with unused segments, and a queue.
type cluster struct {
	settings string
	unused   map[string][]chrono.Interval
	asked    [2]int64
	active   []task.Status
}

func (c *cluster) Setting(context.Context, string) (json.RawMessage, bool, error) {
	return json.RawMessage(c.settings), c.settings != "", nil
}

func (c *cluster) DataSources(context.Context, bool) ([]string, error) {
	var names []string
	for name := range c.unused {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

func (c *cluster) UnusedIntervals(_ context.Context, dataSource string, unusedBefore, endBefore int64, limit int) ([]chrono.Interval, error) {
	c.asked = [2]int64{unusedBefore, endBefore}
	list := c.unused[dataSource]
	return list[:min(limit, len(list))], nil
}

func (c *cluster) Read(body []byte) (*task.Task, error) {
	k := &killtask.Kill{}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	if err := k.Complete(fields); err != nil {
		return nil, err
	}
	t := &task.Task{Type: task.KillType, Payload: body}
	if err := json.Unmarshal(fields["id"], &t.ID); err != nil {
		return nil, err
	}
	return t, json.Unmarshal(fields["dataSource"], &t.DataSource)
}

func (c *cluster) Submit(_ context.Context, t *task.Task) error {
	c.active = append(c.active, task.Status{Task: t})
	return nil
}

func (c *cluster) Active() []task.Status { return c.active }
func (c *cluster) Capacity() int         { return 20 }

// tasks shows datasource and interval of the active tasks.
func (c *cluster) tasks(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, s := range c.active {
		var p struct {
			Interval     chrono.Interval `json:"interval"`
			Limit        int             `json:"limit"`
			UnusedBefore string          `json:"maxUsedStatusLastUpdatedTime"`
		}
		if err := json.Unmarshal(s.Task.Payload, &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, s.Task.DataSource+" "+p.Interval.String()[:10]+" "+p.Interval.String()[25:35])
		if !strings.HasPrefix(s.Task.ID, "coordinator-issued_kill_"+s.Task.DataSource+"_") || p.Limit != 3 || p.UnusedBefore == "" {
			t.Errorf("task [%s] has limit [%d] and time [%s]", s.Task.ID, p.Limit, p.UnusedBefore)
		}
	}
	return out
}

func TestAutoRounds(t *testing.T) {
	c := fakeclock.New(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC))
	now := clock.Millis(c)
	s := &cluster{unused: map[string][]chrono.Interval{"a": {day(1), day(2), day(9)}, "b": {day(5)}, "c": {day(1)}}}
	a := NewAuto(s, s, AutoOptions{
		Period: time.Hour, Retain: 48 * time.Hour, Buffer: time.Hour, MaxSegments: 3, MaxInterval: 72 * time.Hour, Clock: c, Log: slog.New(slog.DiscardHandler),
	})
	round := func(what string, want ...string) {
		t.Helper()
		if err := a.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.tasks(t)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	round("two slots", "a 2026-03-01 2026-03-03", "b 2026-03-05 2026-03-06")
	if want := [2]int64{now - 3600_000, now - 48*3600_000}; s.asked != want {
		t.Errorf("asked for %v, want %v", s.asked, want)
	}
	round("no slot is free", "a 2026-03-01 2026-03-03", "b 2026-03-05 2026-03-06")
	s.active = nil
	round("the next datasources, behind what was done", "c 2026-03-01 2026-03-02", "a 2026-03-09 2026-03-10")
	s.active = nil
	s.settings = `{"killDataSourceWhitelist":["a"]}`
	round("from the beginning again", "a 2026-03-01 2026-03-03")
	for what, settings := range map[string]string{"paused": `{"pauseCoordination":true}`, "no slots": `{"maxKillTaskSlots":0}`, "no share": `{"killTaskSlotRatio":0}`} {
		s.active, s.settings = nil, settings
		round(what)
	}
	s.settings = `{"killTaskSlotRatio":0.01}`
	a.o.IgnoreRetain = true
	round("at least one slot", "b 2026-03-05 2026-03-06")
	if s.asked[1] != math.MaxInt64 {
		t.Errorf("asked for ends before %d", s.asked[1])
	}
	if stats := a.Stats(); stats.Submitted != 6 || stats.Slots != 1 {
		t.Errorf("stats %+v", stats)
	}
}

func day(n int) chrono.Interval {
	at := func(d int) int64 { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC).UnixMilli() }
	return chrono.Interval{Start: at(n), End: at(n + 1)}
}
