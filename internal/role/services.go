package role

import (
	"context"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/nativequery"
	"github.com/hengedb/henge/internal/api/sampler"
	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/api/statements"
	"github.com/hengedb/henge/internal/api/tasks"
	"github.com/hengedb/henge/internal/api/workers"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/assign"
	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/kill"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/overlord"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/router"
	"github.com/hengedb/henge/internal/segment/cache"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/worker"
)

// services are the parts of the roles that endpoints talk to.
type services struct {
	n          *Node
	deep       deepstore.Store
	cache      *exec.RowCache // of results, and of single segments
	cached     *cache.Cache
	uploads    *deepstore.Local // of which uploads are swept; nil: deep storage is no directory
	historical *historical.Historical
	broker     *broker.Broker
	query      *sql.API
	native     *nativequery.API
	queue      *task.Queue
	records    *overlord.Store // of the queue
	worker     *worker.Worker  // nil: this process is none that other processes know
	parts      *workers.Parts
	files      *tasktype.Files
	tasks      *tasks.API
	sampler    *sampler.API
	statements *statements.API

	coordinator *coordinator.API
	compaction  *compact.Scheduler
	supervisors *supervisor.Set
	autoKill    *kill.Auto // nil if it is off
	cleaner     *clean.Cleaner
	why         *why.Explainer
	duties      []*duty.Runs // complete when all roles are open
	lookups     *lookup.Set
	rules       *duty.Rules
	assigner    *assign.Duty
	choice      *router.Choice // of Brokers; nil: this process is no Router

	// leads are what the leaders of the roles run.
	leads map[string][]func(context.Context) error
}

// openServices makes the roles' parts and starts what runs in them.
func (n *Node) openServices(ctx context.Context) (*services, error) {
	admission, err := n.admission()
	if err != nil {
		return nil, err
	}
	n.running, n.gate = query.NewRunning(n.o.Clock, admission), query.NewGate(admission.Limits, "historical", n.meter)
	s := &services{n: n, leads: map[string][]func(context.Context) error{}}
	access := s.access()
	access.S3 = s3Options(n.settings)
	s.lookups = lookup.NewSet(lookup.Options{Access: access, Memory: n.memory, Clock: n.o.Clock, Log: n.o.Log})
	n.roles.Go(func() error { return s.lookups.Run(ctx) })
	if err := s.openStorage(ctx); err != nil {
		return nil, err
	}
	n.roles.Go(func() error { return s.cached.RunScrub(ctx) })
	n.roles.Go(func() error { return s.sweep(ctx) })
	s.rules = duty.NewRules(n.store)
	if err := s.openInventory(ctx); err != nil {
		return nil, err
	}
	if err := s.openBroker(); err != nil {
		return nil, err
	}
	if err := s.openOverlord(ctx); err != nil {
		return nil, err
	}
	if err := s.openCoordinator(ctx); err != nil {
		return nil, err
	}
	if err := s.openRouter(ctx); err != nil {
		return nil, err
	}
	n.followSettings(ctx, s.compaction.Nudge)
	if err := s.openMonitor(ctx); err != nil {
		return nil, err
	}
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.runQueue)
	for _, role := range []string{cluster.Coordinator, cluster.Overlord} {
		n.lead(ctx, role, s.leads[role])
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
	if !s.n.peers.alone {
		s.clusterRoutes(role, mux)
		return
	}
	s.aloneRoutes(role, mux)
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
		s.proxyRoutes(mux)
		s.sqlRoutes(mux)
		s.native.Routes(mux)
		s.coordinator.BrokerRoutes(mux)
		if s.n.settings.Bool("service.router.managementProxy.enabled") {
			s.overlordRoutes(mux)
		}
	case "broker":
		s.sqlRoutes(mux)
		s.native.Routes(mux)
		s.coordinator.BrokerRoutes(mux)
	case "historical":
		s.dataRoutes(mux)
	case "indexer":
		s.tasks.WorkerRoutes(mux)
	case "coordinator", "overlord": // merged: both serve the Overlord's paths
		s.overlordRoutes(mux)
		s.coordinator.SecurityRoutes(mux)
	}
}
