package role

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// emitTimeout bounds the sending of a batch of events.
const emitTimeout = 30 * time.Second

// openMonitor measures the roles in the words of the interface, for scrapers and for those who take
// events.
func (s *services) openMonitor(ctx context.Context) error {
	set := s.n.settings
	emitter, err := s.emitter(set.Text("service.emitter"))
	if err != nil {
		return err
	}
	labels := map[string]string{}
	if err := json.Unmarshal([]byte(set.Text("service.emitter.prometheus.extraLabels")), &labels); err != nil {
		return fault.InvalidInput("service.emitter.prometheus.extraLabels must be an object of texts").WithCause(err)
	}
	dimensions, err := dimensionMap(set.Text("service.emitter.prometheus.dimensionMapPath"))
	if err != nil {
		return err
	}
	address := s.n.member(cluster.Coordinator).Address()
	if set.Bool("service.emitter.prometheus.addHostAsLabel") {
		labels["host_name"] = address
	}
	m := obs.NewMonitor(obs.MonitorOptions{
		Period: set.Duration("service.monitoring.emissionPeriod"), Emitter: emitter,
		Product: set.Text("service.emitter.prometheus.namespace"), Host: address,
		Version: s.n.o.Version, Meter: s.n.meter, Map: dimensions, Labels: labels, Clock: s.n.o.Clock, Log: s.n.o.Log,
	}, s.measures()...)
	s.n.metrics.MustRegister(m)
	s.n.roles.Go(func() error { return m.Run(ctx) })
	return s.openPusher(ctx, address)
}

// measures are of the services that the process has opened.
func (s *services) measures() []obs.Measure {
	out := []obs.Measure{s.measureHTTP, s.measureTLS, s.measureLeads}
	if s.n.opens(queryService) {
		out = append(out, s.measureCache, s.measureHistorical)
	}
	if s.n.opens(taskService) {
		out = append(out, s.measureTasks)
	}
	if s.n.opens(managementService) {
		out = append(out, s.measureSegments, s.measureDuties, s.keepers.Measure)
	}
	return out
}

// openPusher begins to push metrics, if that is how they reach Prometheus. Scrapes are answered all
// the same.
func (s *services) openPusher(ctx context.Context, address string) error {
	set := s.n.settings
	switch strategy := set.Text("service.emitter.prometheus.strategy"); strategy {
	case "exporter":
		return nil
	case "pushgateway":
	default:
		return fault.InvalidInput("service.emitter.prometheus.strategy [%s] is unknown; use exporter or pushgateway", strategy)
	}
	p := &obs.Pusher{
		URL: set.Text("service.emitter.prometheus.pushGatewayAddress"), Job: set.Text("service.emitter.prometheus.namespace"), Instance: address,
		Period: time.Duration(max(1, set.Int("service.emitter.prometheus.flushPeriod"))) * time.Second,
		Forget: set.Bool("service.emitter.prometheus.deletePushGatewayMetricsOnShutdown"), From: s.n.metrics, Client: &http.Client{},
		Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	if err := p.Validate(); err != nil {
		return fault.InvalidInput("service.emitter.prometheus.pushGatewayAddress: %v", err)
	}
	s.n.roles.Go(func() error { return p.Run(ctx) })
	return nil
}

// dimensionMap reads which metrics scrapers see; nil: all.
func dimensionMap(path string) (obs.DimensionMap, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.InvalidInput("service.emitter.prometheus.dimensionMapPath [%s] can't be read", path).WithCause(err)
	}
	m, err := obs.ParseDimensionMap(text)
	if err != nil {
		return nil, fault.InvalidInput("service.emitter.prometheus.dimensionMapPath [%s] is not a map of metrics: %v", path, err)
	}
	return m, nil
}

// emitter returns what sends events; nil is nothing.
func (s *services) emitter(kind string) (obs.Emitter, error) {
	set := s.n.settings
	switch kind {
	case "noop", "prometheus": // scrapes are answered whatever the emitter
		return nil, nil
	case "logging":
		var level slog.Level
		if err := level.UnmarshalText([]byte(set.Text("service.emitter.logging.logLevel"))); err != nil {
			return nil, fault.InvalidInput("service.emitter.logging.logLevel [%s] is not a level; use debug, info, warn or error",
				set.Text("service.emitter.logging.logLevel")).WithCause(err)
		}
		return obs.LogEmitter{Log: s.n.o.Log, Level: level}, nil
	case "http":
		url := set.Text("service.emitter.http.recipientBaseUrl")
		if url == "" {
			return nil, fault.InvalidInput("Emitter [http] needs service.emitter.http.recipientBaseUrl")
		}
		return obs.HTTPEmitter{URL: url, Timeout: emitTimeout, Client: &http.Client{}}, nil
	case "composing":
		var all obs.Emitters
		for _, name := range set.List("service.emitter.composing.emitters") {
			if name == "composing" {
				return nil, fault.InvalidInput("service.emitter.composing.emitters can't name [composing]")
			}
			e, err := s.emitter(name)
			if err != nil {
				return nil, err
			}
			if e != nil {
				all = append(all, e)
			}
		}
		return all, nil
	}
	return nil, fault.InvalidInput("Emitter [%s] is unknown; use noop, logging, http, composing or prometheus", kind)
}

// measureCache counts what the cache does, of results and of single segments together: since the
// start, and as counts whose events are what came to them in a period.
func (s *services) measureCache(_ context.Context, emit func(obs.Sample)) error {
	service := "historical"
	if s.n.peers.alone || s.n.has("broker") {
		service = "broker"
		emit(obs.Sample{Service: service, Metric: "query/resultCache/hit", Value: float64(s.broker.ResultHits()), Total: true})
	}
	stats := s.cache.Stats()
	for metric, n := range map[string]int64{"hits": stats.Hits, "misses": stats.Misses, "evictions": stats.Evictions, "put/ok": stats.Puts, "put/oversized": stats.Oversized} {
		emit(obs.Sample{Service: service, Metric: "query/cache/total/" + metric, Value: float64(n)})
		emit(obs.Sample{Service: service, Metric: "query/cache/delta/" + metric, Value: float64(n), Total: true})
	}
	for metric, n := range map[string]float64{
		"numEntries": float64(stats.Entries), "sizeBytes": float64(stats.Bytes),
		"averageBytes": float64(stats.Bytes) / float64(max(1, stats.Entries)),
	} {
		emit(obs.Sample{Service: service, Metric: "query/cache/total/" + metric, Value: n})
	}
	if asked := stats.Hits + stats.Misses; asked > 0 {
		emit(obs.Sample{Service: service, Metric: "query/cache/total/hitRate", Value: float64(stats.Hits) / float64(asked)})
	}
	return nil
}

// measureHTTP counts the connections of the ports, and those on which a request is under way. There
// is no pool of threads: as many as there are requests work on them.
func (s *services) measureHTTP(_ context.Context, emit func(obs.Sample)) error {
	for _, role := range s.n.ownRoles() {
		open, busy := 0, 0
		for _, l := range s.n.listeners {
			if l.role == role {
				o, b := l.connections.count()
				open, busy = open+o, busy+b
			}
		}
		emit(obs.Sample{Service: role, Metric: "jetty/numOpenConnections", Value: float64(open)})
		emit(obs.Sample{Service: role, Metric: "jetty/threadPool/busy", Value: float64(busy)})
	}
	return nil
}

func (s *services) measureHistorical(_ context.Context, emit func(obs.Sample)) error {
	set := s.n.settings
	dims := []string{"tier", set.Text("service.server.tier"), "priority", strconv.FormatInt(set.Int("service.server.priority"), 10)}
	limit, used := float64(s.n.maxSegmentBytes()), float64(s.historical.Used())
	gauge := func(metric string, value float64) {
		emit(obs.Sample{Service: "historical", Metric: metric, Value: value, Dims: dims})
	}
	gauge("segment/max", limit)
	gauge("segment/used", used)
	if limit > 0 {
		gauge("segment/usedPercent", used/limit)
	}
	active, pending := s.broker.Load()
	gauge("segment/pendingDelete", 0) // what is dropped is deleted at once
	gauge("segment/scan/active", float64(active))
	gauge("segment/scan/pending", float64(pending))
	return nil
}

func (s *services) measureTasks(_ context.Context, emit func(obs.Sample)) error {
	type key struct {
		state, dataSource string
	}
	counts := map[key]int{}
	for _, t := range s.queue.Active() {
		state := map[task.State]string{task.Waiting: "waiting", task.Pending: "pending", task.Running: "running"}[t.State]
		counts[key{state, t.Task.DataSource}]++
	}
	for k, n := range counts {
		emit(obs.Sample{Service: "overlord", Metric: "task/" + k.state + "/count", Value: float64(n), Dims: []string{"dataSource", k.dataSource}})
	}
	for end, n := range s.queue.Ends() {
		metric := "task/failed/count"
		if end.State == task.Succeeded {
			metric = "task/success/count"
		}
		emit(obs.Sample{
			Service: "overlord", Metric: metric, Value: float64(n), Total: true, Dims: []string{"dataSource", end.DataSource, "taskType", end.Type},
		})
	}
	total, used := s.queue.Capacity(), s.queue.Used()
	for metric, n := range map[string]int{"total": total, "used": used, "idle": max(0, total-used)} {
		emit(obs.Sample{Service: "overlord", Metric: "taskSlot/" + metric + "/count", Value: float64(n)})
	}
	for _, metric := range []string{"lazy", "blacklisted"} { // no worker is
		emit(obs.Sample{Service: "overlord", Metric: "taskSlot/" + metric + "/count"})
	}
	return nil
}

// measureLeads says whether a Coordinator or Overlord leads.
func (s *services) measureLeads(_ context.Context, emit func(obs.Sample)) error {
	for _, role := range []string{cluster.Coordinator, cluster.Overlord} {
		if !s.n.has(role) {
			continue
		}
		leads := "0"
		if s.n.peers.leaders[role].Leads() {
			leads = "1"
		}
		emit(obs.Sample{Service: role, Metric: "service/heartbeat", Value: 1, Dims: []string{"leader", leads}})
	}
	return nil
}

// measureSegments is for the Coordinator that leads: other processes open its service, too.
func (s *services) measureSegments(ctx context.Context, emit func(obs.Sample)) error {
	if !s.n.peers.leaders[cluster.Coordinator].Leads() {
		return nil
	}
	return s.coordinator.Measure(ctx, emit)
}

// measureDuties counts what was deleted for good.
func (s *services) measureDuties(_ context.Context, emit func(obs.Sample)) error {
	total := func(metric string, value int64) {
		emit(obs.Sample{Service: "coordinator", Metric: metric, Value: float64(value), Total: true})
	}
	for _, name := range clean.Chores {
		metric := "metadata/kill/" + name + "/count"
		if name == clean.Pending {
			metric = "kill/pendingSegments/count"
		}
		total(metric, s.cleaner.Forgotten(name))
	}
	gauge := func(metric string, value int, dims ...string) {
		emit(obs.Sample{Service: "coordinator", Metric: metric, Value: float64(value), Dims: dims})
	}
	if s.n.peers.leaders[cluster.Coordinator].Leads() {
		for server, q := range s.assigner.Queues() {
			gauge("segment/loadQueue/count", len(q.Load), "server", server)
			gauge("segment/loadQueue/size", int(s.bytesOf(q.Load)), "server", server)
			gauge("segment/dropQueue/count", len(q.Drop), "server", server)
		}
		for server, kbps := range s.assigner.Rates() {
			gauge("segment/loading/rateKbps", int(kbps), "server", server)
		}
		for _, stock := range s.n.peers.inventory.Stocks(false) {
			healthy := 1
			if stock.Down {
				healthy = 0
			}
			gauge("serverview/sync/healthy", healthy, "server", stock.Member.Address(), "tier", stock.Member.Tier)
		}
	}
	if s.autoKill == nil {
		return nil
	}
	stats := s.autoKill.Stats()
	total("kill/task/count", stats.Submitted)
	gauge("killTask/maxSlot/count", stats.Slots)
	gauge("killTask/availableSlot/count", stats.Free)
	for name, n := range stats.Eligible {
		gauge("kill/eligibleUnusedSegments/count", n, "dataSource", name)
	}
	return nil
}

// bytesOf is how large segments are together, by their ids. Those that are published no more count
// as nothing.
func (s *services) bytesOf(ids map[string]string) (bytes int64) {
	state := s.n.published.Pin()
	for text := range ids {
		for _, id := range timeline.ParseAnyID(text) {
			if seg := state.Timeline(id.DataSource).Segment(id); seg != nil {
				bytes += seg.Size
			}
		}
	}
	return bytes
}
