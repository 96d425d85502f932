package coordinator

import (
	"context"
	"fmt"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/obs"
)

// Measure records the metrics of segments, tiers and compaction. Only the leader calls it, so that
// sums over processes are correct.
func (a *API) Measure(ctx context.Context, emit func(obs.Sample)) error {
	rules, err := a.allRules(ctx)
	if err != nil {
		return err
	}
	gauge := func(metric string, value float64, dims ...string) {
		emit(obs.Sample{Service: "coordinator", Metric: metric, Value: value, Dims: dims})
	}
	v, now := a.view(), a.now()
	tiers := v.tiers()
	required, factor := map[string]int64{}, map[string]int{}
	overshadowed := 0
	for _, name := range v.state.DataSources() {
		sum := v.sum(name, rules, tiers, now)
		overshadowed += sum.overshadowed
		gauge("segment/size", float64(sum.size), "dataSource", name)
		gauge("segment/count", float64(sum.count), "dataSource", name)
		gauge("segment/unavailable/count", float64(sum.unavailable), "dataSource", name)
		gauge("segment/availableDeepStorageOnly/count", float64(sum.deepOnly), "dataSource", name)
		alert := func(sentence string) {
			emit(obs.Sample{Service: "coordinator", Alert: sentence, Data: map[string]any{"dataSource": name}})
		}
		if sum.unmatched > 0 {
			alert(fmt.Sprintf("No matching retention rule for [%d] segments in datasource[%s]", sum.unmatched, name))
		}
		for tier, bytes := range sum.required {
			required[tier] += bytes
			factor[tier] = max(factor[tier], sum.factor[tier])
		}
		for tier, missing := range sum.missing {
			if tiers[tier] == 0 && missing > 0 {
				alert(fmt.Sprintf("Load rules for datasource[%s] refer to invalid tiers[%s]", name, tier))
			}
			gauge("segment/underReplicated/count", float64(missing), "tier", tier, "dataSource", name)
		}
	}
	gauge("segment/overShadowed/count", float64(overshadowed))
	total := map[string]int64{}
	for i := range v.servers {
		if v.servers[i].replicates() {
			total[v.servers[i].Tier] += v.servers[i].MaxSize
		}
	}
	for tier, servers := range tiers {
		gauge("tier/historical/count", float64(servers), "tier", tier)
		gauge("tier/total/capacity", float64(total[tier]), "tier", tier)
		gauge("tier/required/capacity", float64(required[tier]), "tier", tier)
		gauge("tier/replication/factor", float64(factor[tier]), "tier", tier)
	}
	return a.measureCompaction(ctx, emit)
}

// sums are the segments of a datasource that are not overshadowed, against what the rules want.
type sums struct {
	size                                                  int64
	count, overshadowed, unavailable, deepOnly, unmatched int
	// missing copies, bytes wanted and the most copies wanted, by tier.
	missing  map[string]int
	required map[string]int64
	factor   map[string]int
}

// sum looks at every segment of a datasource once, and keeps nothing of them: there may be
// millions.
func (v *view) sum(dataSource string, rules ruleLists, tiers map[string]int, now int64) sums {
	out := sums{missing: map[string]int{}, required: map[string]int64{}, factor: map[string]int{}}
	type verdict struct {
		match        rule.Rule
		found, wants bool
	}
	verdicts := map[chrono.Interval]verdict{} // segments of one interval share their rule
	loaded := map[string]int{}
	tl := v.state.Timeline(dataSource)
	for s := range tl.All() {
		if tl.SegmentIsOvershadowed(s) {
			out.overshadowed++
			continue
		}
		out.count++
		out.size += s.Size
		d, known := verdicts[s.ID.Interval]
		if !known {
			d.match, d.found = rules.find(dataSource, s.ID.Interval, now)
			d.wants = d.found && wanted(d.match, tiers)
			verdicts[s.ID.Interval] = d
		}
		if !d.found {
			out.unmatched++
			continue
		}
		clear(loaded)
		id, held := s.ID.String(), false
		for i := range v.servers {
			if server := &v.servers[i]; server.holds(s, id) {
				held = true
				if server.replicates() {
					loaded[server.Tier]++
				}
			}
		}
		switch {
		case d.wants && !held:
			out.unavailable++
		case !d.wants && d.match.Action == rule.Load:
			out.deepOnly++
		}
		names := d.match.Replicas
		if names == nil && d.wants {
			names = tiers
		}
		for tier := range names {
			copies := d.match.Copies(tier, tiers[tier])
			out.missing[tier] += max(0, copies-loaded[tier])
			out.required[tier] += int64(copies) * s.Size
			out.factor[tier] = max(out.factor[tier], copies)
		}
	}
	return out
}

func (a *API) measureCompaction(ctx context.Context, emit func(obs.Sample)) error {
	gauge := func(metric string, value int64, dims ...string) {
		emit(obs.Sample{Service: "coordinator", Metric: metric, Value: float64(value), Dims: dims})
	}
	stats := a.o.Compaction.Stats()
	emit(obs.Sample{Service: "coordinator", Metric: "compact/task/count", Value: float64(stats.Submitted), Total: true})
	gauge("compactTask/maxSlot/count", int64(stats.Slots))
	gauge("compactTask/availableSlot/count", int64(stats.Free))
	snapshots, err := a.o.Compaction.Snapshots(ctx, "")
	if err != nil {
		return err
	}
	for _, s := range snapshots {
		gauge("segment/waitCompact/bytes", s.BytesAwaiting, "dataSource", s.DataSource)
		gauge("segment/waitCompact/count", s.SegmentsAwaiting, "dataSource", s.DataSource)
		gauge("interval/waitCompact/count", s.IntervalsAwait, "dataSource", s.DataSource)
		gauge("segment/compacted/bytes", s.BytesCompacted, "dataSource", s.DataSource)
		gauge("segment/compacted/count", s.SegmentsCompact, "dataSource", s.DataSource)
		gauge("interval/compacted/count", s.IntervalsCompact, "dataSource", s.DataSource)
		gauge("segment/skipCompact/bytes", s.BytesSkipped, "dataSource", s.DataSource)
		gauge("segment/skipCompact/count", s.SegmentsSkipped, "dataSource", s.DataSource)
		gauge("interval/skipCompact/count", s.IntervalsSkipped, "dataSource", s.DataSource)
	}
	return nil
}
