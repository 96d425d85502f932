package role

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/config"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/query"
)

// admission says which queries may run: the settings have the limits, the Coordinator's API the
// blocklist.
func (n *Node) admission() (query.RunningOptions, error) {
	set := n.settings
	total := int(set.Int("service.query.scheduler.numThreads"))
	threads := requestThreads(set)
	o := query.RunningOptions{
		Limits: query.Limits{Total: total}, Meter: n.meter,
		Blocklist: func() []query.BlockRule {
			if rules := n.blocklist.Load(); rules != nil {
				return *rules
			}
			return nil
		},
	}
	var err error
	if o.Thresholds, err = thresholds(set); err != nil {
		return o, err
	}
	switch strategy := set.Text("service.query.scheduler.laning.strategy"); strategy {
	case "none":
	case "hilo":
		o.Limits, err = query.HiLo(total, threads, set.Int("service.query.scheduler.laning.maxLowPercent"))
	case "manual":
		var lanes map[string]int64
		if lanes, err = named(set, "service.query.scheduler.laning.lanes"); err == nil {
			o.Limits, err = query.Manual(total, threads, lanes, set.Bool("service.query.scheduler.laning.isLimitPercent"))
		}
	default:
		err = fault.InvalidInput("service.query.scheduler.laning.strategy [%s] is unknown; use none, hilo or manual", strategy)
	}
	if err != nil {
		return o, err
	}
	if lane, most := set.Text("service.mcp.lane"), int(set.Int("service.mcp.maxConcurrentQueries")); lane != "" && most > 0 {
		if o.Limits.Lanes == nil {
			o.Limits.Lanes = map[string]int{}
		}
		if _, named := o.Limits.Lanes[lane]; !named {
			o.Limits.Lanes[lane] = most
		}
	}
	if o.Limits.Users, err = quota(set, "service.query.scheduler.limits.perUser", "service.query.scheduler.limits.users"); err != nil {
		return o, err
	}
	o.Limits.DataSources, err = quota(set, "service.query.scheduler.limits.perDataSource", "service.query.scheduler.limits.dataSources")
	return o, err
}

// named returns the whole numbers of the properties below a key, by what follows it.
func named(set *config.Settings, key string) (map[string]int64, error) {
	out := map[string]int64{}
	for name, text := range set.WithPrefix(key + ".") {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, fault.InvalidInput("The limit [%s] of [%s.%s] is not a whole number that could be meant", text, key, name)
		}
		out[name] = n
	}
	return out, nil
}

// quota returns the limit of all names and those of single ones.
func quota(set *config.Settings, each, single string) (query.Quota, error) {
	limits, err := named(set, single)
	if err != nil {
		return query.Quota{}, err
	}
	q := query.Quota{Each: int(set.Int(each)), Named: map[string]int{}}
	for name, n := range limits {
		q.Named[name] = int(n)
	}
	return q, q.Validate(each, single)
}

// thresholds lower the priority of queries that read much; nil: the priority is what their context
// says.
func thresholds(set *config.Settings) (*query.Thresholds, error) {
	const prefix = "service.query.scheduler.prioritization."
	switch strategy := set.Text(prefix + "strategy"); strategy {
	case "manual":
		return nil, nil
	case "threshold":
		t := &query.Thresholds{
			Period: set.Duration(prefix + "periodThreshold"), Duration: set.Duration(prefix + "durationThreshold"),
			SegmentRange: set.Duration(prefix + "segmentRangeThreshold"), SegmentCount: set.Int(prefix + "segmentCountThreshold"),
			Adjustment: set.Int(prefix + "adjustment"),
		}
		return t, t.Validate()
	default:
		return nil, fault.InvalidInput("%sstrategy [%s] is unknown; use manual or threshold", prefix, strategy)
	}
}

// settingsPeriod is how soon a changed dynamic configuration is obeyed by a process that nobody
// tells of it.
const settingsPeriod = 5 * time.Second

// followSettings obeys dynamic configuration as it changes, until ctx is done: the Brokers the
// blocklist, and which servers are clones; compaction is told when its settings are others, which
// may have been written by another process. While the metastore can't be reached the last ones
// hold. The first ones hold when it returns.
func (n *Node) followSettings(ctx context.Context, compaction func()) {
	changed := n.store.SettingsChanged()
	known := n.readSettings(ctx, "")
	n.roles.Go(func() error {
		for {
			timer := n.o.Clock.NewTimer(settingsPeriod)
			select {
			case <-changed:
			case <-timer.C():
			case <-ctx.Done():
			}
			timer.Stop()
			if ctx.Err() != nil {
				return nil
			}
			changed = n.store.SettingsChanged()
			if now := n.readSettings(ctx, known); now != known {
				known = now
				compaction()
			}
		}
	})
}

// readSettings reads what Brokers obey, and returns the settings of compaction as they are stored;
// those that are known if they can't be read.
func (n *Node) readSettings(ctx context.Context, known string) (compaction string) {
	var broker struct {
		Blocklist []query.BlockRule `json:"queryBlocklist"`
	}
	if n.readSetting(ctx, coordinator.SettingBroker, &broker) {
		n.blocklist.Store(&broker.Blocklist)
	}
	config := duty.DefaultSettings()
	if n.readSetting(ctx, duty.SettingName, &config) {
		n.clones.Store(&config.CloneServers)
	}
	var text json.RawMessage
	if !n.readSetting(ctx, compact.SettingName, &text) {
		return known
	}
	return string(text)
}

// readSetting fills into with a setting; false: it could not be read. One that nobody has set
// leaves it empty.
func (n *Node) readSetting(ctx context.Context, name string, into any) bool {
	text, found, err := n.store.Setting(ctx, name)
	if err == nil && found {
		err = json.Unmarshal(text, into)
	}
	if err != nil && ctx.Err() == nil {
		n.o.Log.WarnContext(ctx, "failed to read a dynamic configuration; using the last one", "setting", name, "error", err)
	}
	return err == nil
}

// cloneServers are the servers that are clones, with the servers of which they are.
func (n *Node) cloneServers() map[string]string {
	if clones := n.clones.Load(); clones != nil {
		return *clones
	}
	return nil
}
