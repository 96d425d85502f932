package role

import (
	"context"
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/assign"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/task"
)

// publishedPath is where a process tells how far its published timeline is.
const publishedPath = "/service-internal/v1/published"

// openInventory begins to follow what Historicals hold, and if this process is one, to load what it
// is told.
func (s *services) openInventory(ctx context.Context) (err error) {
	o := cluster.InventoryOptions{View: s.n.peers.members, Client: s.n.peers.client, Clock: s.n.o.Clock, Log: s.n.o.Log}
	if s.n.has(cluster.Broker) {
		if o.Tiers, err = s.tiers(); err != nil {
			return err
		}
	}
	if s.n.has(cluster.Historical) {
		o.Here = &cluster.Local{Address: s.n.member(cluster.Historical).Address(), Log: s.historical.Changes()}
		s.n.roles.Go(func() error { return s.historical.Run(ctx) })
	}
	s.n.peers.inventory = cluster.NewInventory(o)
	if s.n.peers.alone || s.n.has(cluster.Broker, cluster.Coordinator, cluster.Overlord, cluster.Indexer) {
		s.n.roles.Go(func() error { return s.n.peers.inventory.Run(ctx) })
	}
	return nil
}

// settle returns when what the process knows of the others is enough to answer.
func (s *services) settle(ctx context.Context) error {
	if s.n.peers.alone || !s.n.has(cluster.Broker) {
		return nil
	}
	began := s.n.o.Clock.Now()
	err := s.n.peers.inventory.Synced(ctx)
	if err == nil {
		err = s.liveSegments.Synced(ctx)
	}
	s.n.meter.Time(obs.Occurrence{Service: "broker", Metric: "serverview/init/time"}, s.n.o.Clock.Now().Sub(began))
	return err
}

// assign is what the leading Coordinator runs to have segments loaded.
func (s *services) assign(ctx context.Context) error {
	return s.assigner.Run(ctx, s.n.peers.leaders[cluster.Coordinator].Epoch())
}

// newAssigner returns the duty that has segments loaded.
func (s *services) newAssigner() (*assign.Duty, error) {
	strategy, err := assign.ParseStrategy(s.n.settings.Text("service.coordinator.balancer.strategy"))
	if err != nil {
		return nil, err
	}
	return assign.New(assign.Options{
		Follow: s.follower(), Inventory: s.n.peers.inventory, Commander: commander{s}, Settings: s.n.store, Strategy: strategy,
		LoadTimeout: s.n.settings.Duration("service.coordinator.load.timeout"), Clock: s.n.o.Clock, Log: s.n.o.Log,
	}), nil
}

// commander gives commands to Historicals, that of this process without a detour.
type commander struct{ s *services }

// Send implements assign.Commander.
func (c commander) Send(ctx context.Context, to cluster.Member, command cluster.Command) (cluster.QueueState, error) {
	if c.s.n.has(cluster.Historical) && c.s.n.member(cluster.Historical).Address() == to.Address() {
		return c.s.historical.Command(ctx, command)
	}
	remote := cluster.Commander{Client: c.s.n.peers.client}
	return remote.Send(ctx, to, command)
}

// Servers implements coordinator.Inventory.
func (s *services) Servers() []coordinator.Server {
	var out []coordinator.Server
	clones := s.n.cloneServers()
	for _, stock := range s.n.peers.inventory.Stocks(true) {
		if stock.Down {
			continue
		}
		slices.Sort(stock.IDs)
		m := &stock.Member
		_, clone := clones[m.Address()]
		out = append(out, coordinator.Server{
			Host: m.Address(), Plain: m.PlainAddress(), Secure: m.SecureAddress(), Type: cluster.Historical,
			Tier: m.Tier, Priority: m.Priority, MaxSize: m.MaxBytes,
			UsedSize: stock.Used, Loaded: stock.IDs, Clone: clone,
		})
	}
	for _, m := range s.n.peers.members.Members(cluster.Indexer) {
		out = append(out, coordinator.Server{
			Host: m.Address(), Plain: m.PlainAddress(), Secure: m.SecureAddress(), Type: "indexer-executor", Tier: rule.DefaultTier,
		})
	}
	return out
}

// leader implements coordinator.Options.Leader.
func (s *services) leader(role string) (url string, here bool) {
	l := s.n.peers.leaders[role]
	return l.Leader(), l.Leads()
}

// nodes implements coordinator.Options.Nodes.
func (s *services) nodes() []coordinator.Node {
	var out []coordinator.Node
	for _, role := range cluster.Roles {
		for _, m := range s.n.peers.members.Members(role) {
			node := coordinator.Node{
				Role: m.Role, Service: m.ServiceName(), Host: m.Host, Port: m.Port, TLSPort: m.TLSPort, Started: m.Started,
				Version: m.Version, Revision: m.Revision, Labels: m.Labels, Bound: m.Bound, LookupTier: m.LookupTier,
			}
			switch m.Role {
			case cluster.Historical:
				node.Data = &coordinator.DataService{Type: "dataNodeService", Tier: m.Tier, MaxSize: m.MaxBytes, Server: m.Role, Priority: m.Priority}
			case cluster.Indexer: // a data server of the interface, too, if one without room
				node.Data = &coordinator.DataService{Type: "dataNodeService", Tier: rule.DefaultTier, Server: "indexer-executor"}
				node.Worker = &coordinator.WorkerService{
					Type: "workerNodeService", IP: m.Host, Capacity: m.Capacity, Version: "0", Category: m.Category,
				}
			}
			out = append(out, node)
		}
	}
	return out
}

const lookupsPath = "/service/listen/v1/lookups"

// taskDoor submits tasks to the leading Overlord, wherever it is.
type taskDoor struct{ s *services }

// Submit implements coordinator.Tasks.
func (d taskDoor) Submit(ctx context.Context, t *task.Task) error {
	l := d.s.n.peers.leaders[cluster.Overlord]
	if l.Leads() {
		return d.s.queue.Submit(ctx, t)
	}
	leader := l.Leader()
	if leader == "" {
		return fault.Unavailable("No Overlord leads at the moment; it is being chosen")
	}
	return cluster.Call(ctx, d.s.n.peers.client, http.MethodPost, leader+"/service/indexer/v1/task", t.Payload, nil)
}
