package role

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/data"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/fragments"
	"github.com/hengedb/henge/internal/api/nativequery"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/assign"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// publishedPath is where a process tells how far its published timeline is.
const publishedPath = "/service-internal/v1/published"

// openInventory begins to follow what Historicals hold, and if this process is one, to load what it is told.
func (s *services) openInventory(ctx context.Context) (err error) {
	o := cluster.InventoryOptions{View: s.n.peers.members, Client: s.n.peers.client, Clock: s.n.o.Clock, Log: s.n.o.Log}
	if s.n.has(cluster.Broker) {
		if o.Tiers, err = s.tiers(); err != nil {
			return err
		}
	}
	if s.n.has(cluster.Historical) {
		host, port := s.n.roleAddress(cluster.Historical)
		o.Here = &cluster.Local{Address: (&cluster.Member{Host: host, Port: port}).Address(), Log: s.historical.Changes()}
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
	if c.s.n.has(cluster.Historical) {
		if host, port := c.s.n.roleAddress(cluster.Historical); host == to.Host && port == to.Port {
			return c.s.historical.Command(ctx, command)
		}
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
			Host: m.Address(), Type: cluster.Historical, Tier: m.Tier, Priority: m.Priority, MaxSize: m.MaxBytes, UsedSize: stock.Used, Loaded: stock.IDs, Clone: clone,
		})
	}
	for _, m := range s.n.peers.members.Members(cluster.Indexer) {
		out = append(out, coordinator.Server{Host: m.Address(), Type: "indexer-executor", Tier: rule.DefaultTier})
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
				Role: m.Role, Service: m.ServiceName(), Host: m.Host, Port: m.Port, Started: m.Started,
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

// usesLookups reports whether queries or tasks run or are planned here, so that lookups must be here, too.
func (n *Node) usesLookups() bool {
	return n.has(cluster.Broker, cluster.Historical, cluster.Indexer, cluster.Overlord) // the Overlord plans statements
}

// lookupNodes returns the processes that hold lookups, each once: this one, if it uses them, and of the others those that run queries or tasks.
func (s *services) lookupNodes() []coordinator.LookupNode {
	var out []coordinator.LookupNode
	if s.n.usesLookups() {
		host, port := s.n.roleAddress(cluster.Indexer)
		out = append(out, coordinator.LookupNode{
			Host: (&cluster.Member{Host: host, Port: port}).Address(), Tier: s.n.settings.Text("service.lookup.lookupTier"), Holder: s.lookups,
		})
	}
	if s.n.peers.alone {
		return out
	}
	seen := map[string]bool{s.n.peers.membership.Holder: true}
	for _, m := range s.n.peers.members.Members("") {
		if m.LookupTier == "" || seen[m.Holder] {
			continue
		}
		seen[m.Holder] = true
		out = append(out, coordinator.LookupNode{Host: m.Address(), Tier: m.LookupTier, Holder: &farLookups{s.n, m.URL()}})
	}
	return out
}

// pushToNew tells processes their lookups when some have come.
func (s *services) pushToNew(ctx context.Context) error {
	for {
		changed := s.n.peers.members.Changed()
		if err := s.coordinator.PushLookups(ctx); err != nil && ctx.Err() == nil {
			s.n.o.Log.WarnContext(ctx, "lookups could not be pushed; it is tried again", "error", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// farLookups are the lookups of another process.
type farLookups struct {
	n   *Node
	url string
}

// lookupState is what a process has and is to have, as Coordinators exchange it.
type lookupState struct {
	Current map[string]lookup.Container `json:"current,omitempty"`
	ToLoad  map[string]lookup.Container `json:"toLoad"`
	ToDrop  []string                    `json:"toDrop"`
}

const lookupsPath = "/service/listen/v1/lookups"

// Apply implements coordinator.LookupHolder.
func (l *farLookups) Apply(ctx context.Context, want map[string]lookup.Container) {
	have, err := l.state(ctx)
	if err == nil {
		update := lookupState{ToLoad: want, ToDrop: []string{}}
		for name := range have.Current {
			if _, stays := want[name]; !stays {
				update.ToDrop = append(update.ToDrop, name)
			}
		}
		err = cluster.Call(ctx, l.n.peers.client, http.MethodPost, l.url+lookupsPath+"/updates", update, nil)
	}
	if err != nil && ctx.Err() == nil {
		l.n.o.Log.WarnContext(ctx, "a process could not be told its lookups; it is tried again", "server", l.url, "error", err)
	}
}

func (l *farLookups) state(ctx context.Context) (s lookupState, err error) {
	return s, cluster.Call(ctx, l.n.peers.client, http.MethodGet, l.url+lookupsPath, nil, &s)
}

// Status implements coordinator.LookupHolder. Of a process that does not answer nothing is loaded.
func (l *farLookups) Status() lookup.Status {
	s, err := l.state(context.Background())
	if err != nil {
		return lookup.Status{}
	}
	return lookup.Status{Current: s.Current, Next: s.ToLoad}
}

// dataRoutes adds what a Historical answers to other processes.
func (s *services) dataRoutes(mux *edge.Mux) {
	data.New(s.historical, s.n.published, s.n.o.Clock).Routes(mux)
	nativequery.AnalysesRoutes(mux, historical.Named{Historical: s.historical})
	fragments.New(s.broker, historical.Named{Historical: s.historical}, s.n.gate, s.n.meter, s.n.o.Clock, s.n.o.Log, s.n.o.Protocol).Routes(mux)
}

// publishedRoutes lets others wait until this process sees a number of the change stream.
func (s *services) publishedRoutes(mux *edge.Mux) {
	mux.On("GET "+publishedPath, func(w http.ResponseWriter, r *http.Request) error {
		number, err := strconv.ParseInt(r.URL.Query().Get("number"), 10, 64)
		if err != nil {
			return fault.InvalidInput("Parameter [number] is not a whole number")
		}
		state, err := s.n.published.Wait(r.Context(), number)
		if err != nil {
			return nil // the asker has gone
		}
		edge.WriteJSON(w, http.StatusOK, map[string]int64{"number": state.Number()})
		return nil
	})
}

// awaitLoad waits until all Brokers see a number of the change stream and the segments that came with it are where the rules want them. It
// implements overlord.ControllerOptions.Loads.
func (s *services) awaitLoad(ctx context.Context, number int64, segments []*timeline.Segment, f func(ready int)) error {
	if err := s.awaitVisible(ctx, number); err != nil {
		return err
	}
	if err := s.rules.Refresh(ctx); err != nil {
		return err
	}
	inventory := s.n.peers.inventory
	for {
		changed := inventory.Changed()
		ready := 0
		for _, seg := range segments {
			if seg.IsTombstone() || !s.wanted(seg.ID.Interval, seg.ID.DataSource) || inventory.Held(seg.ID.String()) || !s.visible(seg) {
				ready++
			}
		}
		f(ready)
		if ready == len(segments) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitVisible waits until all Brokers see a number of the change stream.
func (s *services) awaitVisible(ctx context.Context, number int64) error {
	if _, err := s.n.published.Wait(ctx, number); err != nil {
		return err
	}
	return s.awaitBrokers(ctx, number)
}

// visible reports whether a segment is still in use and not overshadowed: only such are loaded.
func (s *services) visible(seg *timeline.Segment) bool {
	tl := s.n.published.Pin().Timeline(seg.ID.DataSource)
	return tl.Segment(seg.ID) != nil && !tl.SegmentIsOvershadowed(seg)
}

// wanted reports whether rules want segments of an interval on a tier that has servers.
func (s *services) wanted(iv chrono.Interval, dataSource string) bool {
	lists, _ := s.rules.Lists()
	match, ok := rule.Find(iv, clock.Millis(s.n.o.Clock), lists[dataSource], lists[rule.Default])
	if !ok {
		return false
	}
	tiers := map[string]int{}
	for _, m := range s.n.peers.members.Members(cluster.Historical) {
		tiers[m.Tier]++
	}
	for tier, servers := range tiers {
		if match.Copies(tier, servers) > 0 {
			return true
		}
	}
	return false
}

// awaitBrokers waits until the Brokers of other processes see a number of the change stream. One that does not answer is not waited for.
func (s *services) awaitBrokers(ctx context.Context, number int64) error {
	if s.n.peers.alone {
		return nil
	}
	var group errgroup.Group
	for _, m := range s.n.peers.members.Members(cluster.Broker) {
		if m.Holder == s.n.peers.membership.Holder {
			continue
		}
		group.Go(func() error {
			query := url.Values{"number": {strconv.FormatInt(number, 10)}}
			err := cluster.Call(ctx, s.n.peers.client, http.MethodGet, m.URL()+publishedPath+"?"+query.Encode(), nil, nil)
			if err != nil && ctx.Err() == nil {
				s.n.o.Log.WarnContext(ctx, "a Broker does not tell how far it is", "server", m.Address(), "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // failures were told
	return ctx.Err()
}

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
