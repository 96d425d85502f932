package why

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/timeline"
)

// Segment explains a segment: whether it is loaded, dropped, compacted, or will be deleted. Nothing: there is no such segment.
func (e *Explainer) Segment(ctx context.Context, id string) ([]Decision, error) {
	f, err := e.facts(ctx)
	if err != nil {
		return nil, err
	}
	for _, dataSource := range f.state.DataSources() {
		tl := f.state.Timeline(dataSource)
		for _, reading := range timeline.ParseIDs(dataSource, id) {
			if s := tl.Segment(reading); s != nil {
				return e.used(f, tl, s), nil
			}
		}
	}
	rows, err := e.o.Store.Segments(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []Decision
	for _, row := range rows {
		out = append(out, e.unused(f, row.Segment, row.UsedUpdated)...)
	}
	return out, nil
}

func decision(s *timeline.Segment, topic, outcome, reason string, details map[string]any) Decision {
	return Decision{"segment", s.ID.String(), s.ID.DataSource, topic, outcome, reason, details}
}

// used explains a segment that is used.
func (e *Explainer) used(f *facts, tl *timeline.Timeline, s *timeline.Segment) []Decision {
	load, drop := e.retention(f, tl, s)
	return []Decision{load, drop, e.compaction(s)}
}

// match is the rule about a segment, in words and as it was written.
type match struct {
	rule  rule.Rule
	found bool
	words string
	shown map[string]any
}

// chunk is what the rule of a segment depends on.
type chunk struct {
	dataSource string
	interval   chrono.Interval
}

func (f *facts) match(s *timeline.Segment) match {
	of := chunk{s.ID.DataSource, s.ID.Interval}
	m, ok := f.matches[of]
	if !ok {
		m = f.find(of)
		f.matches[of] = m
	}
	return m
}

func (f *facts) find(of chunk) match {
	for _, name := range []string{of.dataSource, rule.Default} {
		for i, r := range f.rules[name] {
			if r.Matches(of.interval, f.now) {
				return match{
					rule: r, found: true, words: fmt.Sprintf("rule [%d] of [%s], [%s],", i+1, name, r.Type()),
					shown: map[string]any{"ruleList": name, "ruleNumber": i + 1, "rule": r},
				}
			}
		}
	}
	return match{}
}

// retention explains why a used segment is loaded or not, and why it is not taken out of use.
func (e *Explainer) retention(f *facts, tl *timeline.Timeline, s *timeline.Segment) (load, drop Decision) {
	if tl.SegmentIsOvershadowed(s) {
		const hidden = "newer segments hide it"
		load = decision(s, Load, "unwanted", hidden, nil)
		wait := f.settings.Wait - (f.now - e.o.Started)
		switch {
		case f.settings.Pause:
			return load, decision(s, Drop, "waiting", hidden+"; duties are paused (pauseCoordination)", nil)
		case wait > 0:
			return load, decision(s, Drop, "waiting", hidden+"; it goes out of use when the Coordinator has been up for millisToWaitBeforeDeleting",
				map[string]any{"waitMillis": wait})
		}
		return load, decision(s, Drop, "dropped", hidden+"; it goes out of use in the next round", nil)
	}
	m := f.match(s)
	switch {
	case !m.found:
		const none = "no retention rule is about it; it stays as it is"
		return f.loading(s, m, none), decision(s, Drop, "kept", none, nil)
	case m.rule.Action == rule.Drop:
		outcome, reason := "dropped", m.words+" drops it in the next round"
		switch {
		case f.settings.Pause:
			outcome, reason = "waiting", m.words+" drops it; duties are paused (pauseCoordination)"
		case len(f.servers) == 0:
			outcome, reason = "waiting", m.words+" drops it; rules do not run while there are no servers"
		}
		return decision(s, Load, "unwanted", m.words+" drops it", m.shown), decision(s, Drop, outcome, reason, m.shown)
	}
	return f.loading(s, m, m.words+" keeps it"), decision(s, Drop, "kept", m.words+" keeps it", m.shown)
}

// loading explains where the copies of a segment are that its rule wants.
func (f *facts) loading(s *timeline.Segment, m match, otherwise string) Decision {
	id := s.ID.String()
	var on []string
	loaded, servers, full := map[string]int{}, f.tiers, map[string]int{}
	for _, server := range f.servers {
		if _, found := slices.BinarySearch(server.Loaded, id); found || s.IsTombstone() {
			on = append(on, server.Host)
			loaded[server.Tier]++
		} else if server.Max-server.Used < s.Size {
			full[server.Tier]++
		}
	}
	details := map[string]any{"servers": slices.Concat([]string{}, on), "size": s.Size}
	maps.Copy(details, m.shown)
	if !m.found {
		if len(on) > 0 {
			return decision(s, Load, "loaded", otherwise, details)
		}
		return decision(s, Load, "unwanted", otherwise, details)
	}
	wants := m.rule.Replicas
	if m.rule.Action == rule.Broadcast {
		wants = servers
	}
	missing := map[string]int{}
	reason := ""
	for _, tier := range slices.Sorted(maps.Keys(wants)) {
		lack := m.rule.Copies(tier, servers[tier]) - loaded[tier]
		if lack <= 0 {
			continue
		}
		missing[tier] = lack
		switch {
		case reason != "":
		case servers[tier] == 0:
			reason = fmt.Sprintf("%s wants [%d] copies on tier [%s], which has no servers", m.words, m.rule.Copies(tier, 0), tier)
		case servers[tier] == loaded[tier]:
			reason = fmt.Sprintf("%s wants [%d] copies on tier [%s], which has [%d] servers, each with one", m.words, m.rule.Copies(tier, servers[tier]), tier, servers[tier])
		case full[tier] == servers[tier]-loaded[tier]:
			reason = fmt.Sprintf("%s wants it on tier [%s], where no server has room for its [%d] bytes", m.words, tier, s.Size)
		default:
			reason = fmt.Sprintf("%s wants it on tier [%s]%s", m.words, tier, f.progress(id))
		}
	}
	if to := f.assigned.Told[id]; len(to) > 0 {
		details["loading"] = to
	}
	if why := f.assigned.Failed[id]; why != "" {
		details["failed"] = why
	}
	switch {
	case len(missing) > 0:
		details["missing"] = missing
		return decision(s, Load, "missing", reason, details)
	case len(on) > 0:
		return decision(s, Load, "loaded", "all copies that "+m.words+" wants are there", details)
	}
	return decision(s, Load, "unwanted", m.words+" keeps it in deep storage only", details)
}

// progress says in words how far loading a segment is.
func (f *facts) progress(id string) string {
	words := "; the Coordinator has told no server yet"
	if to := f.assigned.Told[id]; len(to) > 0 {
		words = fmt.Sprintf("; server [%s] is to load it", strings.Join(to, ", "))
	}
	if why := f.assigned.Failed[id]; why != "" {
		words += "; the last that did not is " + why
	}
	return words
}

// compaction explains what the last round made of a segment.
func (e *Explainer) compaction(s *timeline.Segment) Decision {
	o, ok := e.o.Compaction.Explain(s.ID)
	if !ok {
		return decision(s, Compact, "disabled", "its datasource has no compaction settings, no round has seen it yet, or it is not visible", nil)
	}
	details := map[string]any{"interval": o.Group.Interval, "segments": len(o.Group.Segments), "bytes": o.Group.Bytes}
	if o.Task != "" {
		details["task"] = o.Task
	}
	return decision(s, Compact, outcomeOf(o.Status), o.Why, details)
}

// unused explains a segment that is out of use.
func (e *Explainer) unused(f *facts, s *timeline.Segment, since int64) []Decision {
	at := chrono.FormatMillis(since, chrono.UTC)
	details := map[string]any{"unusedSince": at}
	out := []Decision{decision(s, Drop, "dropped", "it has been out of use since ["+at+"]: a rule or a user dropped it, or newer segments replaced it", details)}
	k := e.o.AutoKill
	if k == nil {
		return append(out, decision(s, Kill, "kept", "nobody has asked for a kill task, and service.coordinator.kill.on is false", details))
	}
	allowed := len(f.settings.KillDataSources) == 0 || slices.Contains(f.settings.KillDataSources, s.ID.DataSource)
	switch {
	case !allowed:
		return append(out, decision(s, Kill, "kept", "its datasource is not in killDataSourceWhitelist", details))
	case f.now-since < k.Buffer:
		details["deletedFrom"] = chrono.FormatMillis(since+k.Buffer, chrono.UTC)
		return append(out, decision(s, Kill, "waiting", "it has not been unused for service.coordinator.kill.bufferPeriod", details))
	case s.ID.Interval.End > f.now-k.Retain:
		return append(out, decision(s, Kill, "waiting", "its interval ends within service.coordinator.kill.durationToRetain", details))
	}
	return append(out, decision(s, Kill, "waiting", "a kill task will delete it when its turn comes", details))
}
