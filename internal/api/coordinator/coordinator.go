package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// Tasks accepts the tasks that endpoints submit.
type Tasks interface {
	// Submit records a task; when it returns nil, the task survives a crash.
	Submit(ctx context.Context, t *task.Task) error
}

// Options are the settings of the endpoints.
type Options struct {
	// Leader returns the base URL of the leader of a role, coordinator or overlord, and whether it is
	// this process; empty: not known.
	Leader func(role string) (url string, here bool)
	// Seen returns the part of the published timeline that queries of this process see; nil: all of
	// it.
	Seen func() *timeline.State
	// Live returns the names of the datasources with live segments; may be nil.
	Live func() []string
	// Queues returns the pending loads and drops of servers, by address.
	Queues func() map[string]Queue
	// Nodes returns the processes of the cluster.
	Nodes func() []Node
	// History is the period, in milliseconds, that the Broker's description of a datasource covers.
	History int64
	// AuditWindow is the default period of audit histories, in milliseconds.
	AuditWindow int64
	// DefaultReplicas is the number of copies in the default rules of a new store.
	DefaultReplicas int
	// MaxRequestBytes is the maximum size of request bodies.
	MaxRequestBytes int64
	// RulesChanged, if not nil, is called after retention rules were written.
	RulesChanged func(context.Context) error
	// Compaction runs automatic compaction.
	Compaction *compact.Scheduler
	// Why explains the state of the cluster.
	Why *why.Explainer
	// Duties returns the records of the groups of duties.
	Duties func() []*duty.Runs
	// Supervisors store the settings of automatic compaction if the settings of the cluster say so.
	Supervisors *supervisor.Set
	// Deep is the deep storage of segment files.
	Deep deepstore.Store
	// LookupNodes returns the processes that load lookups.
	LookupNodes func() []LookupNode
	Clock       clock.Clock
	Log         *slog.Logger
}

// API serves the endpoints. Its methods are safe for use by many goroutines.
type API struct {
	store     *metastore.Store
	published *timeline.Published
	inventory Inventory
	tasks     Tasks
	o         Options

	// pushing is held while lookups are read and pushed.
	pushing sync.Mutex
}

// New returns the endpoints on a store and its published timeline. It writes the default rules into
// a store that has none.
func New(ctx context.Context, store *metastore.Store, published *timeline.Published, inventory Inventory, tasks Tasks, o Options) (*API, error) {
	a := &API{store: store, published: published, inventory: inventory, tasks: tasks, o: o}
	_, found, err := store.Rules(ctx, rule.Default)
	if err != nil || found {
		return a, err
	}
	text, err := json.Marshal(rule.LoadForever(o.DefaultReplicas))
	if err != nil {
		return nil, err
	}
	if _, err := store.SetRules(ctx, metastore.Fence{}, rule.Default, text, nil); err != nil {
		return nil, fmt.Errorf("writing the default rules: %w", err)
	}
	return a, nil
}

const (
	coordinatorBase = "/service/coordinator/v1"
	overlordBase    = "/service/indexer/v1"
)

// routes adds handlers whose errors have the form of management endpoints.
type routes struct{ *edge.Mux }

// On adds a route. The class "druidException" is what these endpoints put into the member [error]
// of structured errors.
func (m routes) On(pattern string, h edge.Handler) {
	m.Mux.On(pattern, func(w http.ResponseWriter, r *http.Request) error {
		err := h(w, r)
		if errors.Is(err, errMedia) {
			return empty(w, http.StatusUnsupportedMediaType)
		}
		if f := fault.Find(err); f != nil && f.Legacy == fault.LegacyNone {
			return f.WithLegacy("druidException")
		}
		return err
	})
}

// Routes adds the endpoints of the Coordinator and those of the Overlord to mux.
func (a *API) Routes(m *edge.Mux) {
	mux := routes{m}
	for _, base := range []string{coordinatorBase, overlordBase} {
		a.markRoutes(mux, base+"/datasources")
	}
	a.LeaderRoutes(m)
	a.clusterRoutes(mux)
	a.loadRoutes(mux)
	a.metadataRoutes(mux)
	a.servedRoutes(mux)
	a.layoutRoutes(mux)
	a.ruleRoutes(mux)
	a.configRoutes(mux)
	a.brokerConfigRoutes(mux)
	a.lookupRoutes(mux)
	a.compactionRoutes(mux)
	a.dutyRoutes(mux)
	mux.On("GET "+coordinatorBase+"/why", a.why)
}

// LeaderRoutes adds the endpoints that return the leader, which every process of the roles serves
// itself.
func (a *API) LeaderRoutes(mux *edge.Mux) {
	for base, role := range map[string]string{coordinatorBase: "coordinator", overlordBase: "overlord"} {
		mux.On("GET "+base+"/leader", func(w http.ResponseWriter, _ *http.Request) error {
			url, _ := a.o.Leader(role)
			writeText(w, http.StatusOK, url) // a bare URL: clients expect no quotes
			return nil
		})
		mux.On("GET "+base+"/isLeader", func(w http.ResponseWriter, _ *http.Request) error {
			_, here := a.o.Leader(role)
			if !here {
				edge.WriteJSON(w, http.StatusNotFound, map[string]bool{"leader": false})
				return nil
			}
			return write(w, map[string]bool{"leader": true})
		})
	}
}

// caught waits until the published timeline holds a change that was just written.
func (a *API) caught(ctx context.Context, number int64) error {
	if number == 0 {
		return nil
	}
	_, err := a.published.Wait(ctx, number)
	return err
}
