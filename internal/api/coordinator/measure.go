package coordinator

import (
	"context"
	"fmt"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/obs"
)

// Measure takes the metrics of segments, tiers and compaction (spec/cluster.md, section 19).
func (a *API) Measure(ctx context.Context, emit func(obs.Sample)) error {
	rules, err := a.allRules(ctx)
	if err != nil {
		return err
	}
	gauge := func(metric string, value float64, dims ...string) {
		emit(obs.Sample{Service: "coordinator", Metric: metric, Value: value, Dims: dims})
	}
	gauge("service/heartbeat", 1, "leader", "1")
	v, now := a.view(), a.now()
	tiers := v.tiers()
	required, factor := map[string]int64{}, map[string]int{}
	overshadowed := 0
	for _, name := range v.state.DataSources() {
		var size int64
		count, unavailable, deepOnly, unmatched := 0, 0, 0, 0
		lacking := map[string]int{}
		for _, w := range v.status(name, chrono.Eternity, rules, now) {
			count++
			size += w.Size
			if w.unloaded {
				unavailable++
			}
			match, ok := rules.find(name, w.ID.Interval, now)
			if !ok {
				unmatched++
			}
			if ok && match.Action == rule.Load && !wanted(match, tiers) {
				deepOnly++
			}
			for tier, missing := range w.missing {
				lacking[tier] += missing
				copies := match.Copies(tier, tiers[tier])
				required[tier] += int64(copies) * w.Size
				factor[tier] = max(factor[tier], copies)
			}
		}
		tl := v.state.Timeline(name)
		overshadowed += tl.Len() - count
		gauge("segment/size", float64(size), "dataSource", name)
		gauge("segment/count", float64(count), "dataSource", name)
		gauge("segment/unavailable/count", float64(unavailable), "dataSource", name)
		gauge("segment/availableDeepStorageOnly/count", float64(deepOnly), "dataSource", name)
		alert := func(sentence string) {
			emit(obs.Sample{Service: "coordinator", Alert: sentence, Data: map[string]any{"dataSource": name}})
		}
		if unmatched > 0 {
			alert(fmt.Sprintf("No matching retention rule for [%d] segments in datasource[%s]", unmatched, name))
		}
		for tier, missing := range lacking {
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
