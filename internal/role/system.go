package role

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/api/sql"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// systemTables gives the tables of the schema sys. What they tell of is asked when they are read,
// so that parts may be opened later.
func (s *services) systemTables() map[string]broker.SystemTable {
	sys := &broker.System{
		Servers: s.servers, Copies: s.wantedCopies, Tasks: s.recentTasks, Queries: s.knownQueries, Properties: s.n.settings.Visible,
		Decisions: s.decisions, LiveRows: s.liveRows, Supervisors: s.knownSupervisors,
	}
	return sys.Tables()
}

// knownQueries returns the queries that Brokers ran lately, in the order in which they ended, and
// those that they run. What a Broker knows that does not answer is left out.
func (s *services) knownQueries(ctx context.Context) []query.Info {
	out := s.n.running.Recent()
	if s.n.peers.alone {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, knownPatience)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	for _, m := range s.n.peers.members.Members(cluster.Broker) {
		if m.Holder == s.n.peers.membership.Holder {
			continue
		}
		asked.Go(func() {
			var told sql.Known
			if err := cluster.Call(ctx, s.n.peers.client, http.MethodGet, m.URL()+sql.KnownPath, nil, &told); err != nil {
				s.n.o.Log.WarnContext(ctx, "failed to read the running queries of a Broker", "server", m.Address(), "error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out = append(out, told.Queries...)
		})
	}
	asked.Wait()
	slices.SortStableFunc(out, func(a, b query.Info) int {
		switch {
		case a.Ended != b.Ended && a.Ended:
			return -1
		case a.Ended != b.Ended:
			return 1
		case a.Ended:
			return a.Started.Add(a.Took).Compare(b.Started.Add(b.Took))
		}
		return a.Started.Compare(b.Started)
	})
	return out
}

// knownPatience bounds how long a Broker is asked for what it runs.
const knownPatience = 5 * time.Second

// servers gives the rows of sys.servers.
func (s *services) servers(segments bool) []broker.Server {
	stocks := map[string]cluster.Stock{}
	for _, stock := range s.n.peers.inventory.Stocks(segments) {
		slices.Sort(stock.IDs)
		stocks[stock.Member.Address()] = stock
	}
	var out []broker.Server
	for _, m := range s.n.peers.members.Members("") {
		server := broker.Server{
			Host: m.Host, Port: m.Port, TLSPort: m.TLSPort, Role: m.Role, Started: m.Started,
			Version: m.Version, Revision: m.Revision, Processors: m.Processors, Memory: m.Memory,
			Labels: m.Labels, Tier: m.Tier, MaxBytes: m.MaxBytes,
		}
		if l := s.n.peers.leaders[m.Role]; l != nil {
			server.Leads = l.Leader() == m.URL()
		}
		switch m.Role {
		case cluster.Historical:
			stock := stocks[m.Address()]
			server.Used, server.Loaded = stock.Used, stock.IDs
		case cluster.Indexer:
			server.Tier = rule.DefaultTier
		}
		out = append(out, server)
	}
	return out
}

// wantedCopies reads the retention rules and returns how many copies of a segment they want; -1 for
// one that no rule is about.
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

// decisions tells why things are as they are, which the leading Overlord knows.
func (s *services) decisions(ctx context.Context) ([]why.Decision, error) {
	l := s.n.peers.leaders[cluster.Overlord]
	if l.Leads() {
		return s.why.All(ctx)
	}
	leader := l.Leader()
	if leader == "" {
		return nil, fault.Unavailable("No Overlord leads at the moment; it is being chosen")
	}
	var answer struct {
		Decisions []why.Decision `json:"decisions"`
	}
	err := cluster.Call(ctx, s.n.peers.client, http.MethodGet, leader+"/service/coordinator/v1/why", nil, &answer)
	return answer.Decisions, err
}

// recentTasks returns the tasks that lists show: those that ended recently, newest first, then the
// active ones.
func (s *services) recentTasks(ctx context.Context) ([]task.Status, error) {
	since := clock.Millis(s.n.o.Clock) - s.n.settings.Duration("service.indexer.storage.recentlyFinishedThreshold").Milliseconds()
	if s.n.peers.leaders[cluster.Overlord].Leads() {
		done, active, err := s.queue.Known(ctx, since)
		return slices.Concat(done, active), err
	}
	records, err := s.records.ActiveTasks(ctx) // before those that have ended: in between a task may end
	if err != nil {
		return nil, err
	}
	done, err := s.queue.Finished(ctx, since)
	if err != nil {
		return nil, err
	}
	var active []task.Status
	for _, r := range records { // which of them wait is known to the leader
		active = append(active, task.Status{Task: r.Task, State: task.Running, Queued: r.Task.Created, Duration: -1, Location: r.Runner.Location})
	}
	return slices.Concat(done, task.Unfinished(active, done)), nil
}

// knownSupervisors returns those that have not ended. How they go is known to the leading Overlord.
func (s *services) knownSupervisors(ctx context.Context) (out []broker.Supervisor, err error) {
	l := s.n.peers.leaders[cluster.Overlord]
	if !l.Leads() {
		leader := l.Leader()
		if leader == "" {
			return nil, fault.Unavailable("No Overlord leads at the moment; it is being chosen")
		}
		err = cluster.Call(ctx, s.n.peers.client, http.MethodGet, leader+"/service/indexer/v1/supervisor?system", nil, &out)
		return out, err
	}
	list, err := s.supervisors.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		state, err := v.State(ctx)
		if err != nil {
			return nil, err
		}
		spec, err := jsontext.Marshal(v.Spec)
		if err != nil {
			return nil, err
		}
		out = append(out, broker.Supervisor{
			ID: v.ID(), DataSource: strings.Join(v.DataSources(), ","), State: state.State, Detailed: state.Detailed, Healthy: state.Healthy,
			Spec: string(spec), Type: v.Type, Source: v.Source(), Suspended: v.Suspended(),
		})
	}
	return out, nil
}
