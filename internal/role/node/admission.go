package node

import (
	"context"
	"encoding/json"
	"runtime"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/query"
	"github.com/hengedb/henge/internal/fault"
)

// admission says which queries may run: the settings have the limits, the Coordinator's API the blocklist.
func (n *Node) admission() (query.RunningOptions, error) {
	set := n.settings
	total := int(set.Int("service.query.scheduler.numThreads"))
	threads := int(set.Int("service.server.http.numThreads"))
	if threads <= 0 {
		cores := runtime.GOMAXPROCS(0)
		threads = max(10, cores*17/16+2) + 30
	}
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
	switch strategy := set.Text("service.query.scheduler.laning.strategy"); strategy {
	case "none":
	case "hilo":
		o.Limits, err = query.HiLo(total, threads, set.Int("service.query.scheduler.laning.maxLowPercent"))
	case "manual":
		lanes := map[string]int64{}
		for name, text := range set.WithPrefix("service.query.scheduler.laning.lanes.") {
			limit, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return o, fault.InvalidInput("The limit [%s] of lane [%s] is not a whole number", text, name)
			}
			lanes[name] = limit
		}
		o.Limits, err = query.Manual(total, threads, lanes, set.Bool("service.query.scheduler.laning.isLimitPercent"))
	default:
		err = fault.InvalidInput("service.query.scheduler.laning.strategy [%s] is unknown; use none, hilo or manual", strategy)
	}
	return o, err
}

// blocklistPeriod is how soon a changed blocklist is obeyed by all Brokers.
const blocklistPeriod = 5 * time.Second

// followBlocklist reads the blocklist again and again. While the metastore can't be reached the last one holds.
func (n *Node) followBlocklist(ctx context.Context) error {
	for {
		text, found, err := n.store.Setting(ctx, coordinator.SettingBroker)
		var rules []query.BlockRule
		if err == nil && found {
			var set struct {
				Blocklist []query.BlockRule `json:"queryBlocklist"`
			}
			err = json.Unmarshal(text, &set)
			rules = set.Blocklist
		}
		if err == nil {
			n.blocklist.Store(&rules)
		} else if ctx.Err() == nil {
			n.o.Log.WarnContext(ctx, "the query blocklist could not be read; the last one holds", "error", err)
		}
		if n.o.Clock.Sleep(ctx, blocklistPeriod) != nil {
			return nil
		}
	}
}
