package why

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/timeline"
)

// DataSource explains a datasource: a summary, then each time chunk that is not fully compacted,
// each segment that differs from its rules, and each task that has not completed. It returns
// nothing if the datasource has no used segments, no settings and no tasks.
func (e *Explainer) DataSource(ctx context.Context, dataSource string) ([]Decision, error) {
	f, err := e.facts(ctx)
	if err != nil {
		return nil, err
	}
	out, segments, err := e.open(ctx, f, dataSource)
	if err != nil {
		return nil, err
	}
	snapshots, err := e.o.Compaction.Snapshots(ctx, dataSource)
	if err != nil || len(out) == 0 && segments == 0 && len(snapshots) == 0 {
		return nil, err
	}
	missing := 0
	for _, d := range out {
		if d.Topic == Load && d.Outcome == "missing" {
			missing++
		}
	}
	summary := Decision{
		Subject: "datasource", ID: dataSource, DataSource: dataSource, Topic: Load, Outcome: "loaded", Reason: "all copies of the rules " +
			"are loaded",
		Details: map[string]any{"usedSegments": segments, "missing": missing},
	}
	if missing > 0 {
		summary.Outcome, summary.Reason = "missing", fmt.Sprintf("[%d] of [%d] used segments have missing copies", missing, segments)
	}
	compaction := Decision{
		Subject: "datasource", ID: dataSource, DataSource: dataSource, Topic: Compact, Outcome: "disabled", Reason: "it has no compaction settings", Details: map[string]any{},
	}
	if len(snapshots) > 0 && snapshots[0].ScheduleStatus == compact.Enabled {
		s := snapshots[0]
		compaction.Outcome = "compacted"
		compaction.Reason = fmt.Sprintf("[%d] intervals are compacted, [%d] wait, [%d] are skipped", s.IntervalsCompact, s.IntervalsAwait, s.IntervalsSkipped)
		if s.IntervalsAwait > 0 {
			compaction.Outcome = "waiting"
		}
		compaction.Details["status"] = s
	}
	return append([]Decision{summary, compaction}, out...), nil
}

// All explains everything that is not in its intended state, for all datasources.
func (e *Explainer) All(ctx context.Context) ([]Decision, error) {
	f, err := e.facts(ctx)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	var order []string
	add := func(name string) {
		if !names[name] {
			names[name] = true
			order = append(order, name)
		}
	}
	for _, name := range f.state.DataSources() {
		add(name)
	}
	for _, s := range e.o.Tasks.Active() {
		add(s.Task.DataSource)
	}
	var out []Decision
	for _, name := range order {
		list, _, err := e.open(ctx, f, name)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	if e.o.Supervisors != nil {
		out = append(out, e.o.Supervisors("")...)
	}
	return out, nil
}

// open lists what is left to do about a datasource, and counts its used segments.
func (e *Explainer) open(ctx context.Context, f *facts, dataSource string) (out []Decision, segments int, err error) {
	for _, s := range e.o.Tasks.Active() {
		if s.Task.DataSource != dataSource {
			continue
		}
		d, err := e.task(ctx, &s)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, d)
	}
	for _, o := range e.o.Compaction.Outcomes(dataSource) {
		if o.Status == compact.Compacted {
			continue
		}
		reason, details, err := e.grouped(ctx, &o)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, Decision{"interval", o.Group.Interval.String(), dataSource, Compact, outcomeOf(o.Status), reason, details})
	}
	tl := f.state.Timeline(dataSource)
	for s := range tl.All() {
		if segments++; ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if f.settled(tl, s) {
			continue
		}
		load, drop := e.retention(f, tl, s)
		for _, d := range []Decision{load, drop} {
			if d.Outcome == "missing" || d.Outcome == "waiting" || d.Outcome == "dropped" || strings.HasPrefix(d.Reason, "no retention rule") && d.Topic == Drop {
				out = append(out, d)
			}
		}
	}
	return out, segments, nil
}

// settled reports whether a segment is as its rules want it: loaded, and neither hidden nor
// dropped.
func (f *facts) settled(tl *timeline.Timeline, s *timeline.Segment) bool {
	m := f.match(s)
	if !m.found || m.rule.Action == rule.Drop || tl.SegmentIsOvershadowed(s) {
		return false
	}
	id := s.ID.String()
	for tier, servers := range f.tiers {
		want := m.rule.Copies(tier, servers)
		for i := range f.servers {
			if server := &f.servers[i]; want > 0 && server.Tier == tier {
				if _, found := slices.BinarySearch(server.Loaded, id); found || s.IsTombstone() {
					want--
				}
			}
		}
		if want > 0 {
			return false
		}
	}
	for tier, want := range m.rule.Replicas {
		if want > 0 && f.tiers[tier] == 0 {
			return false
		}
	}
	return true
}
