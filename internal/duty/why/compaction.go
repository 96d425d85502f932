package why

import (
	"context"
	"fmt"

	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/timeline"
)

// outcomeOf is the word for what compaction makes of segments.
func outcomeOf(s compact.Status) string {
	switch s {
	case compact.Pending:
		return "waiting"
	case compact.Running:
		return "running"
	case compact.Skipped:
		return "skipped"
	}
	return "compacted"
}

// compaction explains what the last round made of a segment.
func (e *Explainer) compaction(ctx context.Context, tl *timeline.Timeline, s *timeline.Segment) (Decision, error) {
	if tl.SegmentIsOvershadowed(s) {
		return decision(s, Compact, "unwanted", "newer segments hide it", map[string]any{"hiddenBy": hiding(tl, s)}), nil
	}
	o, ok := e.o.Compaction.Explain(s.ID)
	if ok {
		reason, details, err := e.grouped(ctx, &o)
		return decision(s, Compact, outcomeOf(o.Status), reason, with(details, "interval", o.Group.Interval)), err
	}
	snapshots, err := e.o.Compaction.Snapshots(ctx, s.ID.DataSource)
	if err != nil {
		return Decision{}, err
	}
	if len(snapshots) == 0 || snapshots[0].ScheduleStatus != compact.Enabled {
		return decision(s, Compact, "disabled", "its datasource has no compaction settings", nil), nil
	}
	if stats := e.o.Compaction.Stats(); stats.Rounds > 0 && stats.Slots == 0 {
		return decision(s, Compact, "waiting", "there are no task slots for compaction", map[string]any{"slots": 0}), nil
	}
	return decision(s, Compact, "waiting", "no round of compaction has seen it yet", nil), nil
}

// grouped tells what a round made of the segments of an interval, with what they wait for.
func (e *Explainer) grouped(ctx context.Context, o *compact.Outcome) (reason string, details map[string]any, err error) {
	reason, details = o.Why, map[string]any{"segments": len(o.Group.Segments), "bytes": o.Group.Bytes}
	if o.Task != "" {
		details["task"] = o.Task
	}
	if o.Status == compact.Compacted || o.Status == compact.Running {
		return reason, details, nil
	}
	if o.Status == compact.Pending {
		stats := e.o.Compaction.Stats()
		details["slots"], details["slotsFree"] = stats.Slots, stats.Free
		if stats.Free == 0 {
			reason += fmt.Sprintf("; all [%d] task slots of compaction are taken", stats.Slots)
		}
	}
	locks, err := e.o.Store.Locks(ctx, o.Group.DataSource)
	if err != nil {
		return "", nil, err
	}
	others := locks[:0]
	for _, l := range locks {
		if !l.Revoked && l.Interval.Overlaps(o.Group.Interval) {
			others = append(others, l)
		}
	}
	if len(others) > 0 {
		details["heldByOthers"] = shown(others)
	}
	return reason, details, nil
}
