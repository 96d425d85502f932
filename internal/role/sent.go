package role

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	api "github.com/hengedb/henge/internal/api/push"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/push"
	"github.com/hengedb/henge/internal/worker/pushlog"
)

// sent is what takes the rows that clients send over HTTP.
type sent struct {
	store *push.Store // nil: this process has no logs
	api   *api.API
	// locations is who has which log, and keeper has those of this process; nil: there are no other
	// processes, or this one is no worker.
	locations *pushlog.Locations
	keeper    *pushlog.Keeper
}

// prepareSent finds out who has the logs of what was sent, where there are several workers.
func (s *services) prepareSent() {
	if s.sent = (&sent{}); !s.n.peers.alone {
		s.sent.locations = pushlog.NewLocations(s.n.store, s.n.peers.members)
	}
}

// openSent opens the logs of this process, if it is a worker.
func (s *services) openSent() error {
	if !s.n.has(cluster.Indexer) {
		return nil
	}
	dir, err := s.n.dir.sub("push")
	if err != nil {
		return err
	}
	s.sent.store, err = push.OpenStore(push.Options{
		Dir: dir, Disk: s.n.disk, MaxBytes: s.n.settings.Bytes("service.ingest.push.maxBytes", 0), Clock: s.n.o.Clock, Log: s.n.o.Log,
	})
	if err != nil {
		return err
	}
	s.n.onClose(s.sent.store.Close)
	if s.sent.locations != nil {
		o := s.logOptions()
		o.Store, o.Open = s.sent.store, func() bool { return s.n.ready.Load() && s.worker.Enabled() }
		s.sent.keeper = pushlog.NewKeeper(o)
	}
	return nil
}

// logOptions are what logs of several workers have in common.
func (s *services) logOptions() pushlog.Options {
	return pushlog.Options{
		Places: s.sent.locations, Own: s.n.peers.membership.Holder, Client: s.n.peers.client, Pulse: s.n.peers.pulse,
		Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
}

// runSent keeps the logs where they should be, and tells them what was published.
func (s *services) runSent(ctx context.Context) {
	if s.sent.store == nil {
		return
	}
	s.n.roles.Go(func() error { return s.followSent(ctx) })
	if s.sent.keeper != nil {
		s.n.roles.Go(func() error { return s.sent.keeper.Run(ctx) })
	}
}

// sentStream opens the rows that were sent to a datasource as a stream.
func (s *services) sentStream(dataSource string) (stream.Source, error) {
	if s.sent.locations == nil {
		return s.sent.store.Source(dataSource)
	}
	sources := &pushlog.Sources{Options: s.logOptions(), Keeper: s.sent.keeper}
	if s.liveLog != nil {
		sources.Seen = func(ctx context.Context) { s.liveLog.Log().AwaitFollowers(ctx, seenPatience, s.n.o.Clock) }
	}
	return sources.Open(dataSource), nil
}

// seenPatience is how long rows wait to be acknowledged until all who follow the live segments of a
// worker have asked for what is newer.
const seenPatience = 500 * time.Millisecond

// lookAtSent is how often the logs are told what was published.
const lookAtSent = 200 * time.Millisecond

// followSent tells the logs what was published of them, until ctx is done.
func (s *services) followSent(ctx context.Context) error {
	ticker := s.n.o.Clock.NewTicker(lookAtSent)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return nil
		}
		for _, name := range s.sent.store.DataSources() {
			log := s.sent.store.Find(name)
			if log == nil || !log.Unpublished() {
				continue
			}
			at, err := s.publishedOf(ctx, name)
			if err == nil {
				err = log.Published(at)
			}
			if err != nil && ctx.Err() == nil {
				s.n.o.Log.WarnContext(ctx, "failed to read which pushed rows are published; retrying",
					"dataSource", name, "error", err)
			}
		}
	}
}

// publishedOf returns up to where a log of the store is in published segments.
func (s *services) publishedOf(ctx context.Context, name string) (int64, error) {
	dataSource, partition := name, s.sent.store.Partition()
	if s.sent.locations != nil {
		of, id, ok := pushlog.DivideName(name)
		if !ok {
			return 0, nil // of a time when this process was alone
		}
		dataSource, partition = of, stream.Partition(id)
	}
	stored, found, err := s.n.store.Offsets(ctx, api.SupervisorOf(dataSource))
	if err != nil || !found {
		return 0, err
	}
	var w struct {
		Partitions struct {
			Positions map[string]json.Number `json:"partitionSequenceNumberMap"`
		} `json:"partitions"`
	}
	if err := json.Unmarshal(stored.Payload, &w); err != nil {
		return 0, fault.Defensive("The offsets of [%s] can't be read", api.SupervisorOf(dataSource)).WithCause(err)
	}
	at, ok := w.Partitions.Positions[string(partition)]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(at.String(), 10, 64)
}

// sentRoutes adds the endpoints by which rows are sent, on a port of any role.
func (s *services) sentRoutes(mux *edge.Mux) {
	own := s.sentAPI()
	if s.sent.locations == nil {
		own.Routes(mux)
		return
	}
	d := &sentDoor{s: s, own: own}
	config := s.n.led(cluster.Overlord, s.handler(mux.Errors, own.Routes), s.n.toLeader(cluster.Overlord).ServeHTTP)
	api.Mount(mux, d.to(own.Receive), d.to(own.Channel), config, config)
}

// sentAPI returns the endpoints of this process.
func (s *services) sentAPI() *api.API {
	if s.sent.api == nil {
		o := api.Options{
			Supervisors: s.supervisors, Audit: coordinator.Audit,
			MaxBytes: s.n.settings.Bytes("service.ingest.push.maxRequestBytes", 0), Clock: s.n.o.Clock,
		}
		if s.sent.locations == nil {
			o.Logs = api.Stored{Store: s.sent.store}
		} else {
			o.Logs, o.Supervisors, o.Replicate = sentLogs{s.sent}, leadingSupervisors{s}, s.replicateSent
		}
		s.sent.api = api.New(o)
	}
	return s.sent.api
}

// replicateSent says on how many workers the logs of a datasource are to be. It has logs from then
// on, so that its supervisor has something to read.
func (s *services) replicateSent(ctx context.Context, dataSource string, n int) error {
	if err := s.sent.locations.SetReplicas(ctx, dataSource, n); err != nil {
		return err
	}
	_, err := s.sent.locations.Make(ctx, dataSource)
	return err
}
