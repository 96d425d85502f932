package role

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/api/access"
	"github.com/hengedb/henge/internal/api/avatica"
	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/flight"
	"github.com/hengedb/henge/internal/api/nativequery"
	"github.com/hengedb/henge/internal/api/sampler"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/api/statements"
	"github.com/hengedb/henge/internal/api/tasks"
	"github.com/hengedb/henge/internal/api/workbench"
	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/console"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/assign"
	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/kill"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/overlord"
	"github.com/hengedb/henge/internal/overlord/streams"
	"github.com/hengedb/henge/internal/overlord/uploads"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/router"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/sqltask"
	"github.com/hengedb/henge/internal/tasktype/streaming"
	"github.com/hengedb/henge/internal/worker"
)

// services are the parts of the roles that endpoints talk to.
type services struct {
	n          *Node
	starting   context.Context // of the start, which ends when the process answers
	deep       deepstore.Store
	cache      *exec.RowCache // of results, and of single segments
	cached     *cache.Cache
	uploads    *deepstore.Local // of which uploads are swept; nil: deep storage is no directory
	historical *historical.Historical
	broker     *broker.Broker
	query      *sql.API
	jdbc       *avatica.API
	flight     *flight.API // nil: it is turned off
	pushes     pushes      // what flight sends rows to
	preview    *access.Preview
	workbench  *workbench.API
	sent       *sent // what clients send over HTTP
	native     *nativequery.API
	// nativeHeld answers from the segments that this process holds, nativeLive from those that its
	// tasks fill.
	nativeHeld, nativeLive *nativequery.API
	queue                  *task.Queue
	records                *overlord.Store // of the queue
	worker                 *worker.Worker  // nil: this process is none that other processes know
	parts                  *workers.Parts
	streams                *streaming.Running  // tasks of this process that read streams
	chats                  workers.ChatOptions // who answers for the tasks of this process
	files                  *tasktype.Files
	tasks                  *tasks.API
	sampler                *sampler.API
	given                  *uploads.Store // what clients have sent; nil: this process never leads as Overlord
	statements             *statements.API
	controller             *sqltask.Controller // of statements that are tasks

	coordinator *coordinator.API
	compaction  *compact.Scheduler
	supervisors *supervisor.Set
	keepers     *streams.Manager // of the supervisors that read streams
	autoKill    *kill.Auto       // nil if it is off
	cleaner     *clean.Cleaner
	why         *why.Explainer
	duties      []*duty.Runs // complete when all roles are open
	lookups     *lookup.Set
	rules       *duty.Rules
	live        *live.Set // nil: this process runs no tasks
	liveLog     *cluster.LiveLog
	// liveSegments are those of all workers.
	liveSegments *cluster.LiveInventory
	assigner     *assign.Duty
	choice       *router.Choice // of Brokers; nil: this process is no Router

	// leads are what the leaders of the roles run.
	leads map[string][]func(context.Context) error
}

// service is one of the parts of the roles.
type service struct {
	name string
	// roles use it themselves, and needs are the services that it is made of.
	roles, needs []string
	open         func(s *services, ctx context.Context) error
}

// The services that a process may open.
const (
	timelineService   = "timeline"   // of published segments
	lookupService     = "lookups"    // in memory
	storageService    = "storage"    // deep storage
	segmentService    = "segments"   // the cache of segment files
	ruleService       = "rules"      // of retention
	inventoryService  = "inventory"  // of what Historicals hold
	liveService       = "live"       // segments that are filled, here and by other workers
	queryService      = "queries"    // plans and runs them
	taskService       = "tasks"      // the queue, the types, and the worker
	managementService = "management" // endpoints and duties of Coordinator and Overlord
	routingService    = "routing"    // which Brokers get queries
)

// serviceList lists the services in the order in which they are opened: each stands behind those
// that it needs. A process opens those that its roles use, with what these need.
var serviceList = []service{
	{name: timelineService, open: func(s *services, ctx context.Context) error { return s.n.follow(s.starting, ctx) }},
	{name: lookupService, roles: []string{cluster.Historical, cluster.Indexer}, open: (*services).openLookups},
	{name: storageService, open: (*services).openStorage},
	{name: segmentService, roles: []string{cluster.Historical}, needs: []string{storageService}, open: (*services).openSegments},
	{name: ruleService, open: func(s *services, _ context.Context) error { s.rules = duty.NewRules(s.n.store); return nil }},
	{name: inventoryService, needs: []string{segmentService}, open: (*services).openInventory},
	{name: liveService, needs: []string{timelineService}, open: (*services).openLive},
	{
		name: queryService, roles: []string{cluster.Historical}, // which runs parts of them
		needs: []string{timelineService, lookupService, segmentService, inventoryService, liveService},
		open:  (*services).openBroker,
	},
	{
		name: taskService, roles: []string{cluster.Indexer},
		needs: []string{timelineService, storageService, segmentService, ruleService, inventoryService, queryService},
		open:  (*services).openOverlord,
	},
	{
		// Brokers and tasks ask it for the tables of the schema sys, and Brokers for what they tell of
		// datasources.
		name: managementService, roles: []string{cluster.Broker, cluster.Coordinator, cluster.Overlord, cluster.Indexer},
		needs: []string{timelineService, storageService, segmentService, ruleService, inventoryService, queryService, taskService},
		open:  (*services).openCoordinator,
	},
	{name: routingService, roles: []string{cluster.Router}, needs: []string{ruleService}, open: (*services).openRouter},
}

// servicesOf returns the services that a process with some roles opens, in their order.
func servicesOf(roles []string) []service {
	wanted := map[string]bool{}
	var out []service
	for _, v := range slices.Backward(serviceList) { // who needs a service stands behind it
		if !wanted[v.name] && !slices.ContainsFunc(v.roles, func(r string) bool { return slices.Contains(roles, r) }) {
			continue
		}
		for _, need := range v.needs {
			wanted[need] = true
		}
		out = append(out, v)
	}
	slices.Reverse(out)
	return out
}

// Services returns the names of the opened services in order.
func (n *Node) Services() []string {
	var out []string
	for _, v := range servicesOf(n.o.Roles) {
		out = append(out, v.name)
	}
	return out
}

// opens reports whether the process opens a service.
func (n *Node) opens(name string) bool { return slices.Contains(n.Services(), name) }

// openServices makes the parts of the roles that the process has, and starts what runs in them
// until background is done.
func (n *Node) openServices(ctx, background context.Context) (*services, error) {
	admission, err := n.admission()
	if err != nil {
		return nil, err
	}
	n.openAudit()
	admission.Audit = n.audit
	admission.Logging = query.Logging{Log: n.o.Log, Slow: n.settings.Duration("service.query.slowThreshold")}
	n.running, n.gate = query.NewRunning(n.o.Clock, admission), query.NewGate(admission.Limits, "historical", n.meter)
	s := &services{n: n, starting: ctx, leads: map[string][]func(context.Context) error{}}
	s.prepareSent()
	for _, v := range servicesOf(n.o.Roles) {
		if err := v.open(s, background); err != nil {
			return nil, err
		}
	}
	s.runAudit(background)
	n.followSettings(background, func() {
		if s.compaction != nil {
			s.compaction.Nudge()
		}
	})
	if err := s.openMonitor(background); err != nil {
		return nil, err
	}
	for _, role := range []string{cluster.Coordinator, cluster.Overlord} {
		n.lead(background, role, s.leads[role])
	}
	return s, nil
}

// path returns a configured directory, or its default in the data directory.
func (s *services) path(key, name string) (string, error) {
	return storagePath(s.n.settings, s.n.dir, key, name)
}

// routes adds the endpoints of a role to a port's mux.
func (s *services) routes(role string, mux *edge.Mux) {
	s.readinessRoutes(role, mux)
	s.n.tokens.routes(mux)
	switch { // where one process has all roles, both Coordinator and Overlord serve the Overlord's paths
	case role == cluster.Coordinator, role == cluster.Overlord && s.n.peers.alone:
		s.userRoutes(mux, true)
	default:
		s.userRoutes(mux, false)
	}
	if s.n.peers.alone {
		s.aloneRoutes(role, mux)
	} else {
		s.clusterRoutes(role, mux)
	}
	if role == cluster.Router && s.n.settings.Bool("service.mcp.enable") {
		s.agentRoutes(mux)
	}
}

// aloneRoutes adds the endpoints of a role where one process has all. The Router serves those of
// every role.
func (s *services) aloneRoutes(role string, mux *edge.Mux) {
	switch role {
	case "router", "broker", "historical", "indexer":
		s.lookupRoutes(mux)
	}
	switch role {
	case "router":
		console.Routes(mux)
		s.proxyRoutes(mux)
		s.sentRoutes(mux)
		s.sqlRoutes(mux)
		s.native.Routes(mux)
		s.coordinator.BrokerRoutes(mux)
		if s.n.settings.Bool("service.router.managementProxy.enabled") {
			s.overlordRoutes(mux)
		}
	case "broker":
		s.sentRoutes(mux)
		s.sqlRoutes(mux)
		s.native.Routes(mux)
		s.coordinator.BrokerRoutes(mux)
	case "historical":
		s.dataRoutes(mux)
		s.nativeHeld.Routes(mux)
	case "indexer":
		s.nativeLive.Routes(mux)
		s.tasks.WorkerRoutes(mux)
		workers.ChatRoutes(mux, s.chats)
	case "coordinator", "overlord": // merged: both serve the Overlord's paths
		s.overlordRoutes(mux)
	}
}
