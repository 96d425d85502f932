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

// Segment explains a segment: whether it is loaded, dropped, compacted, or going to be deleted. It
// returns nothing if the segment does not exist.
func (e *Explainer) Segment(ctx context.Context, id string) ([]Decision, error) {
	f, err := e.facts(ctx)
	if err != nil {
		return nil, err
	}
	for _, dataSource := range f.state.DataSources() {
		tl := f.state.Timeline(dataSource)
		for _, reading := range timeline.ParseIDs(dataSource, id) {
			if s := tl.Segment(reading); s != nil {
				list, err := e.used(ctx, f, tl, s)
				if d, held := e.copy(s); held && err == nil {
					list = append(list, d)
				}
				return list, err
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

// copy explains what state the bytes of a segment are in that this process holds.
func (e *Explainer) copy(s *timeline.Segment) (d Decision, held bool) {
	if e.o.Copy == nil {
		return d, false
	}
	c, held := e.o.Copy(s.ID.String())
	if !held {
		return d, false
	}
	facts := map[string]any{}
	for name, at := range map[string]int64{"verified": c.Verified, "damaged": c.Damaged, "mended": c.Mended} {
		if at > 0 {
			facts[name] = chrono.FormatMillis(at, chrono.UTC)
		}
	}
	switch {
	case c.Damaged > c.Mended || c.Damaged > 0 && c.Mended == 0:
		facts["reason"] = c.Reason
		reason := "its bytes here are damaged: " + c.Reason
		if c.Failure != "" {
			facts["failure"] = c.Failure
			reason += "; fetching it again failed: " + c.Failure
		}
		return decision(s, Copy, "damaged", reason, facts), true
	case c.Damaged > 0:
		facts["reason"] = c.Reason
		return decision(s, Copy, "mended", "its local copy was damaged and was fetched again: "+c.Reason, facts), true
	case c.Verified > 0:
		return decision(s, Copy, "verified", "all of its bytes here were verified in the background", facts), true
	}
	return decision(s, Copy, "unverified", "its bytes here are verified when they are first read; the background has not come to them since the start", facts), true
}

func decision(s *timeline.Segment, topic, outcome, reason string, details map[string]any) Decision {
	if details == nil {
		details = map[string]any{}
	}
	return Decision{"segment", s.ID.String(), s.ID.DataSource, topic, outcome, reason, details}
}

// used explains a segment that is used.
func (e *Explainer) used(ctx context.Context, f *facts, tl *timeline.Timeline, s *timeline.Segment) ([]Decision, error) {
	load, drop := e.retention(f, tl, s)
	compaction, err := e.compaction(ctx, tl, s)
	return []Decision{load, drop, compaction}, err
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

// paused ends the reason of what waits for an operator.
const paused = "; duties are paused (pauseCoordination)"

// with returns facts and one more.
func with(facts map[string]any, name string, value any) map[string]any {
	out := maps.Clone(facts)
	out[name] = value
	return out
}

// maxHiding is how many of the segments that hide another are named.
const maxHiding = 10

// hiding returns the ids of the visible segments in the time of a hidden one, the first of them.
func hiding(tl *timeline.Timeline, s *timeline.Segment) []string {
	out := []string{}
	for _, h := range tl.Lookup(s.ID.Interval) {
		for _, by := range h.Segments() {
			if len(out) < maxHiding {
				out = append(out, by.ID.String())
			}
		}
	}
	return out
}

// retention explains why a used segment is loaded or not, and why it is not taken out of use.
func (e *Explainer) retention(f *facts, tl *timeline.Timeline, s *timeline.Segment) (load, drop Decision) {
	if tl.SegmentIsOvershadowed(s) {
		const hidden = "newer segments hide it"
		by := map[string]any{"hiddenBy": hiding(tl, s)}
		load = decision(s, Load, "unwanted", hidden, by)
		wait := f.settings.MillisToWaitBeforeDeleting - (f.now - e.o.Started)
		switch {
		case f.settings.PauseCoordination:
			return load, decision(s, Drop, "waiting", hidden+paused, with(by, "pauseCoordination", true))
		case wait > 0:
			return load, decision(s, Drop, "waiting", hidden+"; it goes out of use when the Coordinator has been up for millisToWaitBeforeDeleting",
				with(by, "waitMillis", wait))
		}
		return load, decision(s, Drop, "dropped", hidden+"; it goes out of use in the next round", by)
	}
	m := f.match(s)
	switch {
	case !m.found:
		const none = "no retention rule is about it; it stays as it is"
		return f.loading(s, m, none), decision(s, Drop, "kept", none, nil)
	case m.rule.Action == rule.Drop:
		load = decision(s, Load, "unwanted", m.words+" drops it", m.shown)
		switch {
		case f.settings.PauseCoordination:
			return load, decision(s, Drop, "waiting", m.words+" drops it"+paused, with(m.shown, "pauseCoordination", true))
		case len(f.servers) == 0:
			return load, decision(s, Drop, "waiting", m.words+" drops it; rules do not run while there are no servers", with(m.shown, "historicals", 0))
		}
		return load, decision(s, Drop, "dropped", m.words+" drops it in the next round", m.shown)
	}
	return f.loading(s, m, m.words+" keeps it"), decision(s, Drop, "kept", m.words+" keeps it", m.shown)
}

// tierRoom is what a tier has for a segment of which it lacks copies.
type tierRoom struct {
	Servers  int `json:"servers"`
	WithCopy int `json:"withCopy"`
	// Full is the number of servers that have neither a copy nor enough free space for one. FreeBytes
	// is the maximum free space on a server without a copy.
	Full      int   `json:"full"`
	FreeBytes int64 `json:"freeBytes"`
}

// loading explains where the copies of a segment are that its rule wants.
func (f *facts) loading(s *timeline.Segment, m match, otherwise string) Decision {
	id := s.ID.String()
	on := []string{}
	loaded, servers, full := map[string]int{}, f.tiers, map[string]int{}
	room := map[string]int64{} // the most on a server of each tier that has no copy
	for _, server := range f.servers {
		if _, found := slices.BinarySearch(server.Loaded, id); found || s.IsTombstone() {
			on = append(on, server.Host)
			loaded[server.Tier]++
			continue
		}
		free := max(server.Max-server.Used, 0)
		if most, known := room[server.Tier]; !known || free > most {
			room[server.Tier] = free
		}
		if free < s.Size {
			full[server.Tier]++
		}
	}
	details := map[string]any{"servers": on, "size": s.Size}
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
	lacking := map[string]tierRoom{}
	reason := ""
	for _, tier := range slices.Sorted(maps.Keys(wants)) {
		lack := m.rule.Copies(tier, servers[tier]) - loaded[tier]
		if lack <= 0 {
			continue
		}
		missing[tier] = lack
		lacking[tier] = tierRoom{Servers: servers[tier], WithCopy: loaded[tier], Full: full[tier], FreeBytes: room[tier]}
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
		details["missing"], details["tiers"] = missing, lacking
		return decision(s, Load, "missing", reason, details)
	case len(on) > 0:
		return decision(s, Load, "loaded", "all copies that "+m.words+" wants are there", details)
	}
	return decision(s, Load, "unwanted", m.words+" keeps it in deep storage only", details)
}

// progress says in words how far loading a segment is.
func (f *facts) progress(id string) string {
	words := "; the Coordinator has not assigned it yet"
	if to := f.assigned.Told[id]; len(to) > 0 {
		words = fmt.Sprintf("; server [%s] is to load it", strings.Join(to, ", "))
	}
	if why := f.assigned.Failed[id]; why != "" {
		words += "; the last that did not is " + why
	}
	return words
}

// unused explains a segment that is out of use.
func (e *Explainer) unused(f *facts, s *timeline.Segment, since int64) []Decision {
	at := chrono.FormatMillis(since, chrono.UTC)
	details := map[string]any{"unusedSince": at}
	out := []Decision{decision(s, Drop, "dropped", "it has been out of use since ["+at+"]: a rule or a user dropped it, or newer segments replaced it", details)}
	k := e.o.AutoKill
	if k == nil {
		return append(out, decision(s, Kill, "kept", "no kill task was submitted, and service.coordinator.kill.on is false", details))
	}
	allowed := len(f.settings.KillDataSourceWhitelist) == 0 || slices.Contains(f.settings.KillDataSourceWhitelist, s.ID.DataSource)
	switch {
	case !allowed:
		return append(out, decision(s, Kill, "kept", "its datasource is not in killDataSourceWhitelist", with(details, "killDataSourceWhitelist", f.settings.KillDataSourceWhitelist)))
	case f.now-since < k.Buffer:
		return append(out, decision(s, Kill, "waiting", "it has not been unused for service.coordinator.kill.bufferPeriod",
			with(details, "deletedFrom", chrono.FormatMillis(since+k.Buffer, chrono.UTC))))
	case s.ID.Interval.End > f.now-k.Retain:
		return append(out, decision(s, Kill, "waiting", "its interval ends within service.coordinator.kill.durationToRetain",
			with(details, "deletedFrom", chrono.FormatMillis(s.ID.Interval.End+k.Retain, chrono.UTC))))
	}
	return append(out, decision(s, Kill, "waiting", "a kill task will delete it when its turn comes", details))
}
