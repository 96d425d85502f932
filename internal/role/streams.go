package role

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/overlord/streams"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/stream/kafka"
	"github.com/hengedb/henge/internal/supervisor"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
)

// streamTypes are the types of streams that supervisors of this process read.
var streamTypes = []string{spec.Kafka, spec.Kinesis, spec.Push}

// checkStream tests what the parser of specifications leaves open: connections and computations.
func (s *services) checkStream(given *spec.Stream) error {
	types := native.AggregatorTypes()
	for _, m := range given.Schema.Metrics {
		var w struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(m.Wire, &w) == nil && !slices.Contains(types, w.Type) {
			return fault.UnknownSubtype("org.apache.druid.query.aggregation.AggregatorFactory", w.Type, types)
		}
	}
	if _, err := rowplan.IngestionOf(given.Schema); err != nil {
		return err
	}
	if given.IO.Stream.Type == spec.Kafka {
		return kafka.Check(given.IO.Stream, s.access())
	}
	return nil
}

// openSupervised makes what runs the supervisors that read streams, and returns their kinds.
func (s *services) openSupervised() map[string]supervisor.Kind {
	set := s.n.settings
	const prefix = "service.supervisor."
	s.keepers = streams.New(streams.Options{
		Queue: s.queue, Store: s.n.store, Open: s.opener().Open, Tasks: s.chatTasks(), Check: s.checkStream,
		Thresholds: streams.Thresholds{
			Unhealthy: int(set.Int(prefix + "unhealthinessThreshold")), Healthy: int(set.Int(prefix + "healthinessThreshold")),
			TaskUnhealthy: int(set.Int(prefix + "taskUnhealthinessThreshold")), TaskHealthy: int(set.Int(prefix + "taskHealthinessThreshold")),
			Events: int(set.Int(prefix + "maxStoredExceptionEvents")), Causes: set.Bool(prefix + "storeStackTrace"),
		},
		Idle: spec.Idle{
			Enabled: set.Bool(prefix + "idleConfig.enabled"), Inactive: set.Int(prefix + "idleConfig.inactiveAfterMillis"),
		},
		Meter: s.n.meter, Clock: s.n.o.Clock, Log: s.n.o.Log,
	})
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.keepers.Run)
	out := map[string]supervisor.Kind{}
	for _, kind := range streamTypes {
		out[kind] = streams.Kind{Stream: kind, Manager: s.keepers}
	}
	return out
}

// chatTasks finds the tasks that read streams, wherever they run.
func (s *services) chatTasks() chat.Tasks {
	return &chat.Remote{
		Local: s.streams, Client: s.n.peers.client, Clock: s.n.o.Clock,
		Where: func(id string) (string, bool) {
			at, ok := s.queue.RunsAt(id)
			return at.URL(), ok
		},
	}
}

// overlordChat is who takes the requests of tasks that read streams: the supervisors of the leading
// Overlord, wherever it is.
func (s *services) overlordChat() chat.Overlord {
	return overlordDoor{s, &chat.RemoteOverlord{
		Leader: func() string { return s.n.peers.leaders[cluster.Overlord].Leader() }, Client: s.n.peers.client,
	}}
}

type overlordDoor struct {
	s      *services
	remote chat.Overlord
}

// Checkpoint implements chat.Overlord.
func (d overlordDoor) Checkpoint(ctx context.Context, id string, group int, starts stream.Positions) error {
	if d.s.n.peers.leaders[cluster.Overlord].Leads() {
		return d.s.keepers.Checkpoint(ctx, id, group, starts)
	}
	return d.remote.Checkpoint(ctx, id, group, starts)
}
