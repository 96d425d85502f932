package role

import (
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/fault"
)

// tiers are which Historicals the Broker of this process asks.
func (s *services) tiers() (*dispatch.Tiers, error) {
	const of = "service.broker.select.tier"
	set := s.n.settings
	o := dispatch.TierOptions{
		Select: set.Text(of), Preferred: set.Text(of + ".preferred.tier"), PreferredPriority: set.Text(of + ".preferred.priority"),
		Watched: set.List("service.broker.segment.watchedTiers"), Ignored: set.List("service.broker.segment.ignoredTiers"),
	}
	for name, priorities := range map[string]*[]int{"custom": &o.Custom, "strict": &o.Strict, "pooled": &o.Pooled} {
		key := of + "." + name + ".priorities"
		if err := json.Unmarshal([]byte(set.Text(key)), priorities); err != nil {
			return nil, fault.InvalidInput("Setting [%s] is not a list of whole numbers", key)
		}
	}
	return dispatch.NewTiers(o)
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
