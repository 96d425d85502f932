package role

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/hengedb/henge/internal/api/supervisors"
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
var streamTypes = []string{spec.Kafka}

// openStream connects to a stream.
func (s *services) openStream(_ context.Context, config stream.Config) (stream.Source, error) {
	if config.Type == spec.Kafka {
		return kafka.Open(config, s.access(), s.n.o.Log)
	}
	return nil, fault.Unsupported("Streams of type [%s] can't be read", config.Type)
}

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
	s.streams = streams.New(streams.Options{
		Queue: s.queue, Store: s.n.store, Open: s.openStream, Tasks: s.chatTasks(), Check: s.checkStream,
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
	s.leads[cluster.Overlord] = append(s.leads[cluster.Overlord], s.streams.Run)
	out := map[string]supervisor.Kind{}
	for _, kind := range streamTypes {
		out[kind] = streams.Kind{Stream: kind, Manager: s.streams}
	}
	return out
}

// noTasks finds no tasks.
type noTasks struct{}

// Find implements chat.Tasks.
func (noTasks) Find(string) chat.Task { return nil }

// chatTasks finds the tasks that read streams, wherever they run.
func (s *services) chatTasks() chat.Tasks { return noTasks{} }

// overlordDoor asks the supervisors of the leading Overlord, wherever it is.
type overlordDoor struct{ s *services }

// Checkpoint implements chat.Overlord.
func (d overlordDoor) Checkpoint(ctx context.Context, id string, group int, starts stream.Positions) error {
	l := d.s.n.peers.leaders[cluster.Overlord]
	if l.Leads() {
		return d.s.streams.Checkpoint(ctx, id, group, starts)
	}
	leader := l.Leader()
	if leader == "" {
		return fault.Unavailable("No Overlord leads at the moment; it is being chosen")
	}
	body, err := json.Marshal(supervisors.CheckpointRequest{Group: group, Starts: starts})
	if err != nil {
		return err
	}
	return cluster.Call(ctx, d.s.n.peers.client, http.MethodPost, leader+supervisors.CheckpointPath(id), body, nil)
}
