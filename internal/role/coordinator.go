package role

import (
	"context"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty"
	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/duty/kill"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/overlord/scheduled"
	"github.com/hengedb/henge/internal/supervisor"
)

// defaultReplicas is the number of copies in the default rules: what survives the loss of a server.
// A single process could never have it.
func (n *Node) defaultReplicas() int {
	if n.peers.alone {
		return 1
	}
	return 2
}

// followRetry is how long after a segment could not be loaded or marked it is tried again.
const followRetry = 30 * time.Second

// compactionGap is the shortest time between two rounds of automatic compaction.
const compactionGap = 250 * time.Millisecond

// late returns duties of a Coordinator that begin some time after its process: so the Historicals
// that start with it are there when it says what each of them loads. One that begins to lead later
// does not wait.
func (s *services) late(run func(context.Context) error) func(context.Context) error {
	const key = "service.coordinator.startDelay"
	delay := s.n.settings.Duration(key)
	if s.n.peers.alone && !s.n.settings.IsSet(key) { // there is nobody to wait for
		delay = 0
	}
	first := s.n.o.Clock.Now().Add(delay)
	return func(ctx context.Context) error {
		if wait := first.Sub(s.n.o.Clock.Now()); wait > 0 && s.n.o.Clock.Sleep(ctx, wait) != nil {
			return nil // it has stopped to lead before its duties began
		}
		return run(ctx)
	}
}

// openCoordinator makes the management endpoints of the Coordinator and Overlord, and the Broker's
// about datasources, and starts the Coordinator's duties.
func (s *services) openCoordinator(ctx context.Context) error {
	set := s.n.settings
	groups, err := dutyGroups(set)
	if err != nil {
		return err
	}
	own := groupOf(groups, compactSegments)
	if own == nil {
		own = &dutyGroup{
			name: "IndexingServiceDuties", duties: []string{compactSegments}, period: set.Duration("service.coordinator.period.indexingPeriod"),
		}
	}
	s.compaction = compact.New(s.n.store, s.n.published, s.queue, compact.Options{
		Period: own.period, Gap: compactionGap, Clock: s.n.o.Clock, Log: s.n.o.Log, Runs: s.runs(own.name, own.period, own.duties...),
	})
	kinds := s.openSupervised()
	maps.Copy(kinds, map[string]supervisor.Kind{
		supervisor.NoopType: supervisor.Noop{}, "noop": supervisor.Noop{}, compact.SupervisorType: compact.Kind{Scheduler: s.compaction},
		scheduled.Type: s.openScheduled(),
	})
	s.supervisors = supervisor.New(s.n.store, kinds)
	s.openWhy()
	s.coordinator, err = coordinator.New(ctx, s.n.store, s.n.published, s, taskDoor{s}, coordinator.Options{
		Leader: s.leader, Nodes: s.nodes, Seen: s.broker.Seen, Queues: s.queues, DefaultReplicas: s.n.defaultReplicas(),
		Live:            func() []string { return s.liveSegments.View().DataSources() },
		AuditWindow:     set.Int("service.audit.manager.auditHistoryMillis"),
		History:         set.Duration("service.query.segmentMetadata.defaultHistory").Milliseconds(),
		MaxRequestBytes: set.Bytes("service.server.http.maxRequestBytes", 0), Clock: s.n.o.Clock, Log: s.n.o.Log,
		RulesChanged: s.rules.Refresh, Compaction: s.compaction, Supervisors: s.supervisors, Why: s.why,
		Duties: func() []*duty.Runs { return s.duties }, Deep: s.deep,
		LookupNodes: s.lookupNodes,
	})
	if err != nil {
		return err
	}
	s.leads[cluster.Coordinator] = append(s.leads[cluster.Coordinator], func(ctx context.Context) error {
		return s.coordinator.KeepLookups(ctx, set.Duration("service.manager.lookups.period"))
	})
	s.leads[cluster.Coordinator] = append(s.leads[cluster.Coordinator], s.pushToNew)
	if err := s.rules.Refresh(ctx); err != nil { // the default ones may have just been written
		return err
	}
	if s.assigner, err = s.newAssigner(); err != nil {
		return err
	}
	retention := duty.NewRetention(s.n.store, s.follower(),
		s.runs("HistoricalManagementDuties", set.Duration("service.coordinator.period"), "runRules", "markOvershadowedSegmentsUnused"))
	s.leads[cluster.Coordinator] = append(s.leads[cluster.Coordinator], s.late(retention.Run), s.late(s.assign))
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.compaction.Run) // they submit tasks
	s.openCleaning(groupOf(groups, killSupervisors))
	return nil
}

// follower returns a new follower of the retention rules: one for each part that acts by them.
func (s *services) follower() *duty.Follower {
	return &duty.Follower{
		Published: s.n.published, Rules: s.rules, Period: s.n.settings.Duration("service.coordinator.period"), Retry: followRetry,
		Clock: s.n.o.Clock, Log: s.n.o.Log, Meter: s.n.meter,
	}
}

// runs makes the record of a group of duties, and lists it.
func (s *services) runs(name string, period time.Duration, duties ...string) *duty.Runs {
	r := &duty.Runs{Name: name, Duties: duties, Period: period, Clock: s.n.o.Clock, Meter: s.n.meter}
	s.duties = append(s.duties, r)
	return r
}

// openWhy makes what tells why things are as they are.
func (s *services) openWhy() {
	set := s.n.settings
	o := why.Options{
		Store: s.n.store, Published: s.n.published, Compaction: s.compaction, Tasks: s.queue,
		Started: clock.Millis(s.n.o.Clock), Clock: s.n.o.Clock,
		Servers: func() []why.Server {
			var out []why.Server
			for _, server := range s.Servers() {
				if server.Type == "historical" {
					out = append(out, why.Server{Host: server.Host, Tier: server.Tier, Max: server.MaxSize, Used: server.UsedSize, Loaded: server.Loaded})
				}
			}
			return out
		},
	}
	o.Supervisors = func(id string) []why.Decision {
		list := s.keepers.ExplainTroubled()
		if id != "" {
			list = s.keepers.Explain(id)
		}
		var out []why.Decision
		for _, x := range list {
			out = append(out, why.Decision{
				Subject: "supervisor", ID: x.ID, DataSource: x.DataSource, Topic: x.Topic, Outcome: x.Outcome, Reason: x.Reason, Details: x.Details,
			})
		}
		return out
	}
	o.Copy = func(id string) (why.CopyState, bool) {
		c, held := s.cached.Copy(id)
		return why.CopyState{Verified: c.Verified, Damaged: c.Damaged, Mended: c.Mended, Reason: c.Reason, Failure: c.Failure}, held
	}
	if set.Bool("service.coordinator.kill.on") {
		o.AutoKill = &why.AutoKill{
			Buffer: set.Duration("service.coordinator.kill.bufferPeriod").Milliseconds(),
			Retain: set.Duration("service.coordinator.kill.durationToRetain").Milliseconds(),
		}
		if set.Bool("service.coordinator.kill.ignoreDurationToRetain") {
			o.AutoKill.Retain = math.MinInt64 / 2
		}
	}
	o.Assigned = s.assigned
	s.why = why.New(o)
}

// openCleaning starts the duties that delete what is no longer needed: unused segments, if that is
// on, and old records; those of supervisors with the period of a group of their own, where there is
// one.
func (s *services) openCleaning(supervisors *dutyGroup) {
	const prefix = "service.coordinator.kill."
	set := s.n.settings
	if set.Bool(prefix + "on") {
		period := set.Duration(prefix + "period")
		if period <= 0 {
			period = set.Duration("service.coordinator.period.indexingPeriod")
		}
		s.autoKill = kill.NewAuto(s.n.store, s.queue, kill.AutoOptions{
			Period: period, Retain: set.Duration(prefix + "durationToRetain"), IgnoreRetain: set.Bool(prefix + "ignoreDurationToRetain"),
			Buffer: set.Duration(prefix + "bufferPeriod"), MaxSegments: int(set.Int(prefix + "maxSegments")),
			MaxInterval: set.Duration(prefix + "maxInterval"), Runs: s.runs("KillUnusedSegments", period, "killUnusedSegments"),
			Clock: s.n.o.Clock, Log: s.n.o.Log,
		})
		s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.autoKill.Run)
	}
	chores, on := map[string]clean.Chore{}, []string{}
	for _, name := range clean.Chores {
		if name == clean.Ended { // which has settings of its own
			const prefix = "service.indexer.logs.kill."
			chores[name] = clean.Chore{On: set.Bool(prefix + "enabled"), Retain: set.Duration(prefix + "durationToRetain")}
			if chores[name].On {
				on = append(on, "kill:"+name)
			}
			continue
		}
		chore := clean.Chore{On: set.Bool(prefix + name + ".on"), Period: set.Duration(prefix + name + ".period")}
		switch name {
		case clean.Compaction, clean.Unreferenced: // no age: what they belong to is there or not
		case clean.Pending:
			chore.Retain = 24 * time.Hour
		default:
			chore.Retain = set.Duration(prefix + name + ".durationToRetain")
		}
		chores[name] = chore
		if chore.On {
			on = append(on, "kill:"+name)
		}
	}
	period := set.Duration("service.coordinator.period.metadataStoreManagementPeriod")
	prefixes := segmentPrefixes(set)
	if g := supervisors; g != nil {
		records := map[string]clean.Chore{clean.Supervisors: {On: true, Retain: g.retain}}
		o := clean.Options{Period: g.period, Chores: records, Clock: s.n.o.Clock, Log: s.n.o.Log}
		if !slices.Contains(g.duties, compactSegments) { // which notes when the group runs
			o.Runs = s.runs(g.name, g.period, g.duties...)
		}
		s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], clean.New(s.n.store, s.queue, o).Run)
	}
	s.cleaner = clean.New(s.n.store, s.queue, clean.Options{
		Period: period, Chores: chores, Deep: s.deep, Prefixes: prefixes, DropTask: s.files.Drop, Clock: s.n.o.Clock,
		Log: s.n.o.Log, Runs: s.runs("MetadataStoreManagementDuties", period, on...),
	})
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.cleaner.Run)
}

// management makes the handler of managementRoutes; nil: this process never leads a role of theirs.
func (s *services) management(errors *edge.Errors) http.Handler {
	if s.coordinator == nil {
		return nil
	}
	return s.handler(errors, s.managementRoutes)
}

// managementRoutes are those of the leaders of both roles, with the statements that become tasks.
func (s *services) managementRoutes(mux *edge.Mux) {
	s.n.process().Routes(mux)
	s.overlordRoutes(mux)
	if s.n.settings.Bool("service.sql.enable") {
		s.statements.Routes(mux)
	}
}
