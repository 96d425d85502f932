package node

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/role/broker"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// systemTables gives the tables of the schema sys. What they tell of is asked when they are read, so that parts may be opened later.
func (s *services) systemTables() map[string]broker.SystemTable {
	set := s.n.settings
	started := clock.Millis(s.n.o.Clock)
	sys := &broker.System{
		Loaded: s.historical.Loaded, Used: s.historical.Used, Copies: s.wantedCopies, Tasks: s.recentTasks, Queries: s.n.running.Recent,
		Decisions:   func(ctx context.Context) ([]why.Decision, error) { return s.why.All(ctx) },
		Supervisors: func(ctx context.Context) ([]*supervisor.Supervisor, error) { return s.supervisors.List(ctx) },
		Properties:  set.Visible,
	}
	for _, role := range rolePorts {
		host, port := s.n.roleAddress(role)
		server := broker.Server{
			Host: host, Port: port, Role: role, Started: started, Version: s.n.o.Version, Processors: runtime.GOMAXPROCS(0), Memory: s.n.memory.Limit(),
			Leads: role == "coordinator" || role == "overlord",
		}
		if labels := set.Text("service.labels"); labels != "{}" {
			server.Labels = labels
		}
		switch role {
		case "historical":
			server.Tier, server.MaxBytes = set.Text("service.server.tier"), set.Bytes("service.server.maxSize", 0)
			sys.DataServer = server.Address()
		case "indexer":
			server.Tier = rule.DefaultTier
		}
		sys.Servers = append(sys.Servers, server)
	}
	return sys.Tables()
}

// wantedCopies reads the retention rules and returns how many copies of a segment they want; -1 for one that no rule is about.
func (s *services) wantedCopies(ctx context.Context) (func(*timeline.Segment) int64, error) {
	stored, err := s.n.store.AllRules(ctx)
	if err != nil {
		return nil, err
	}
	lists := make(map[string]rule.List, len(stored))
	for name, text := range stored {
		if lists[name], err = rule.Parse(text); err != nil {
			return nil, fmt.Errorf("reading the rules of datasource [%s]: %w", name, err)
		}
	}
	now := clock.Millis(s.n.o.Clock)
	return func(seg *timeline.Segment) int64 {
		match, ok := rule.Find(seg.ID.Interval, now, lists[seg.ID.DataSource], lists[rule.Default])
		if !ok {
			return -1
		}
		copies := int64(0)
		for tier := range match.Replicas {
			copies += int64(match.Copies(tier, 1))
		}
		if match.Action == rule.Broadcast {
			copies = 1
		}
		return copies
	}, nil
}

// recentTasks returns the tasks that lists show: those that ended recently, newest first, then the active ones.
func (s *services) recentTasks(ctx context.Context) ([]task.Status, error) {
	since := clock.Millis(s.n.o.Clock) - s.n.settings.Duration("service.indexer.storage.recentlyFinishedThreshold").Milliseconds()
	done, err := s.queue.Finished(ctx, since)
	if err != nil {
		return nil, err
	}
	return slices.Concat(done, s.queue.Active()), nil
}
