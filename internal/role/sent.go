package role

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	api "github.com/hengedb/henge/internal/api/push"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream/push"
)

// sent is what takes the rows that clients send over HTTP.
type sent struct {
	store *push.Store
	api   *api.API
}

// errNotSent is for processes of a cluster: a log is on the disk of one of them, and only a task
// there can read it.
var errNotSent = fault.Unsupported("Rows can be sent over HTTP to a process that has all roles. In a cluster, send them through Kafka, " +
	"or load files of them")

// openSent opens the logs of what was sent, if this process has all roles.
func (s *services) openSent(ctx context.Context) error {
	if !s.n.peers.alone {
		return nil
	}
	dir, err := s.n.dir.sub("push")
	if err != nil {
		return err
	}
	store, err := push.OpenStore(push.Options{
		Dir: dir, Disk: s.n.disk, MaxBytes: s.n.settings.Bytes("service.ingest.push.maxBytes", 0), Clock: s.n.o.Clock, Log: s.n.o.Log,
	})
	if err != nil {
		return err
	}
	s.n.onClose(store.Close)
	s.sent = &sent{store: store}
	s.n.roles.Go(func() error { return s.followSent(ctx) })
	return nil
}

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
			if !log.Unpublished() {
				continue
			}
			at, err := s.publishedOf(ctx, name)
			if err == nil {
				err = log.Published(at)
			}
			if err != nil && ctx.Err() == nil {
				s.n.o.Log.WarnContext(ctx, "what was published of the rows that were sent can't be told; it is tried again",
					"dataSource", name, "error", err)
			}
		}
	}
}

// publishedOf returns up to where the log of a datasource is in published segments.
func (s *services) publishedOf(ctx context.Context, dataSource string) (int64, error) {
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
	at, ok := w.Partitions.Positions[string(s.sent.store.Partition())]
	if !ok {
		return 0, nil
	}
	return strconv.ParseInt(at.String(), 10, 64)
}

// sentRoutes adds the endpoints by which rows are sent.
func (s *services) sentRoutes(mux *edge.Mux) {
	if s.sent == nil {
		mux.On("POST "+api.Path+"{datasource}", func(http.ResponseWriter, *http.Request) error { return errNotSent })
		return
	}
	if s.sent.api == nil {
		s.sent.api = api.New(api.Options{
			Store: s.sent.store, Supervisors: s.supervisors, Audit: coordinator.Audit,
			MaxBytes: s.n.settings.Bytes("service.ingest.push.maxRequestBytes", 0), Clock: s.n.o.Clock,
		})
	}
	s.sent.api.Routes(mux)
}
