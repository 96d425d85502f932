package role

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/fault"
)

// tiers are which Historicals the Broker of this process asks.
func (s *services) tiers() (*dispatch.Tiers, error) {
	o, err := s.tierOptions(selectTier)
	if err != nil {
		return nil, err
	}
	set := s.n.settings
	o.Watched, o.Ignored = set.List("service.broker.segment.watchedTiers"), set.List("service.broker.segment.ignoredTiers")
	return dispatch.NewTiers(o)
}

const (
	selectTier         = "service.broker.select.tier"
	realtimeSelectTier = "service.broker.realtime.select.tier"
)

// liveTiers are which tasks that read streams the Broker of this process asks, of those that have a
// priority. They are in no tier.
func (s *services) liveTiers() (*dispatch.Tiers, error) {
	of := realtimeSelectTier
	if s.n.settings.Text(of) == "" {
		of = selectTier
	}
	o, err := s.tierOptions(of)
	if err != nil {
		return nil, err
	}
	if o.Select == "preferred" && of == selectTier { // is of tiers
		if o.Select = "highestPriority"; strings.EqualFold(o.PreferredPriority, "lowest") {
			o.Select = "lowestPriority"
		}
	}
	return dispatch.NewTiers(o)
}

// tierOptions reads a setting and those below it.
func (s *services) tierOptions(of string) (dispatch.TierOptions, error) {
	set := s.n.settings
	o := dispatch.TierOptions{Setting: of, Select: set.Text(of)}
	if of == selectTier {
		o.Preferred, o.PreferredPriority = set.Text(of+".preferred.tier"), set.Text(of+".preferred.priority")
	}
	for name, priorities := range map[string]*[]int{"custom": &o.Custom, "strict": &o.Strict, "pooled": &o.Pooled} {
		key := of + "." + name + ".priorities"
		if err := json.Unmarshal([]byte(set.Text(key)), priorities); err != nil {
			return o, fault.InvalidInput("Setting [%s] is not a list of whole numbers", key)
		}
	}
	return o, nil
}

// balance is how the Broker of this process chooses of several servers.
func (s *services) balance() (dispatch.Balance, error) {
	const key = "service.broker.balancer.type"
	switch b := dispatch.Balance(s.n.settings.Text(key)); b {
	case dispatch.LeastRows, dispatch.ConnectionCount, dispatch.Random:
		return b, nil
	default:
		return "", fault.InvalidInput("Setting [%s] is [%s], but must be leastRows, connectionCount or random", key, b)
	}
}

// watchedDataSources are those that the Broker of this process knows; nil: all. Tasks know all, and
// so does a Broker in one process with them.
func (s *services) watchedDataSources() []string {
	if s.n.has(cluster.Overlord, cluster.Indexer) {
		return nil
	}
	if list := s.n.settings.List("service.broker.segment.watchedDataSources"); len(list) > 0 {
		return list
	}
	return nil
}

// asked are the Historicals that queries of this process ask. It implements broker.Servers.
type asked struct{ inventory *cluster.Inventory }

// Live implements broker.Servers.
func (a asked) Live() []*dispatch.Server { return withoutUnasked(a.inventory.Live()) }

// Holders implements broker.Servers.
func (a asked) Holders(segment string) []*dispatch.Server {
	return withoutUnasked(a.inventory.Holders(segment))
}

// withoutUnasked does not change the slice.
func withoutUnasked(servers []*dispatch.Server) []*dispatch.Server {
	unasked := func(s *dispatch.Server) bool { return s.Unasked }
	if !slices.ContainsFunc(servers, unasked) {
		return servers
	}
	return slices.DeleteFunc(slices.Clone(servers), unasked)
}
