package role

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/hengedb/henge/internal/api/data"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/fragments"
	"github.com/hengedb/henge/internal/api/nativequery"
	"github.com/hengedb/henge/internal/api/workbench"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/historical"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// liveShare is which part of the memory of the process live rows take at most, as a divisor: beyond
// it they are spilled.
const liveShare = 3

// openLive makes the set of the live segments of this process, if it runs tasks, and begins to
// follow those of others, if it asks for them.
func (s *services) openLive(ctx context.Context) error {
	o := cluster.LiveOptions{
		View: s.n.peers.members, Client: s.n.peers.client, Pulse: s.n.peers.pulse, Clock: s.n.o.Clock, Log: s.n.o.Log,
	}
	if s.n.has(cluster.Broker) {
		var err error
		if o.Tiers, err = s.liveTiers(); err != nil {
			return err
		}
	}
	if s.n.has(cluster.Indexer) {
		o.Here = s.n.member(cluster.Indexer).Address()
	}
	s.liveSegments = cluster.NewLiveInventory(o)
	if s.n.has(cluster.Indexer) {
		dir, err := s.n.dir.sub("live")
		if err != nil {
			return err
		}
		s.liveLog = cluster.NewLiveLog(clock.Millis(s.n.o.Clock), func() []live.Announcement { return s.live.Announced() })
		s.live, err = live.NewSet(live.Options{
			Dir: dir, Memory: s.n.memory.Child("live rows", s.n.memory.Limit()/liveShare), Clock: s.n.o.Clock, Log: s.n.o.Log,
			Announcer: announcers{s.liveLog, s.liveSegments}, Number: func() int64 { return s.n.published.Pin().Number() },
		})
		if err != nil {
			return err
		}
		s.n.live = s.live
		s.n.onClose(func() error { s.live.Close(); return nil })
	}
	if !s.n.peers.alone && s.n.has(cluster.Broker, cluster.Coordinator, cluster.Indexer) {
		s.n.roles.Go(func() error { return s.liveSegments.Run(ctx) })
	}
	return nil
}

// Live returns the live segments of the process; nil: it does not run tasks. For tests only.
func (n *Node) Live() *live.Set { return n.live }

// announcers are told one after the other.
type announcers []live.Announcer

// Announce implements live.Announcer.
func (l announcers) Announce(a live.Announcement) {
	for _, to := range l {
		to.Announce(a)
	}
}

// Withdraw implements live.Announcer.
func (l announcers) Withdraw(id timeline.SegmentID, number int64) {
	for _, to := range l {
		to.Withdraw(id, number)
	}
}

// withLive lets a Broker read live segments.
func (s *services) withLive(o *broker.Options) {
	if !s.n.settings.Bool("service.broker.segment.watchRealtimeTasks") {
		return
	}
	o.Live = s.liveSegments
	if s.live != nil {
		o.LiveSegments = s.live
	}
}

// ownSegments are those that a worker has for the queries of other processes. It implements
// fragments.Segments, fragments.Live and query.LiveFiles.
type ownSegments struct {
	historical.Named
	live *live.Set
}

// Acquire returns a used segment that was filled here, else one that is read from deep storage.
func (o ownSegments) Acquire(ctx context.Context, id string, loadSpec json.RawMessage) (segment.Reader, error) {
	if own, err := o.own(id, segment.FingerprintAt(string(loadSpec))); err == nil {
		return own, nil
	} else if loadSpec == nil {
		return nil, err
	}
	return o.Named.Acquire(ctx, id, loadSpec)
}

// Held returns a used segment that was filled here.
func (o ownSegments) Held(_ context.Context, id, fingerprint string) (segment.Reader, error) {
	return o.own(id, fingerprint)
}

// own returns a used segment that was filled here, as the file with a fingerprint if there is one.
func (o ownSegments) own(id, fingerprint string) (segment.Reader, error) {
	readers, err := o.live.AcquireUsed(id)
	if err != nil {
		return nil, err
	}
	if len(readers) == 1 {
		if has := readers[0].Info().Fingerprint; fingerprint == "" || has == "" || has == fingerprint {
			return readers[0], nil
		}
	}
	for _, r := range readers {
		r.Release()
	}
	return nil, fault.NotFound("Segment [%s] is not served here as it was published", id)
}

// AcquireLive implements query.LiveFiles.
func (o ownSegments) AcquireLive(ctx context.Context, id string, pinned int64) ([]segment.Reader, error) {
	return o.live.Acquire(ctx, id, pinned)
}

// liveRoutes adds what a worker answers of its live segments to other processes.
func (s *services) liveRoutes(mux *edge.Mux) {
	own := ownSegments{historical.Named{Historical: s.historical}, s.live}
	data.LiveRoutes(mux, s.liveLog.Log(), s.live, s.n.o.Clock)
	nativequery.AnalysesRoutes(mux, own)
	workbench.PartRoutes(mux, s.broker.PartsDone)
	workbench.FactsRoutes(mux, own)
	fragments.New(s.broker, own, s.live, s.n.gate, s.n.meter, s.n.o.Clock, s.n.o.Log, s.n.o.Protocol).Routes(mux)
}

// liveRows asks the workers that have live segments how many rows these have. It implements
// broker.System.LiveRows.
func (s *services) liveRows(ctx context.Context, view *cluster.LiveView) map[string]int64 {
	out := map[string]int64{}
	var mu sync.Mutex
	note := func(rows map[string]int64) {
		mu.Lock()
		defer mu.Unlock()
		for id, n := range rows {
			out[id] = max(out[id], n)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, knownPatience)
	defer cancel()
	var asked sync.WaitGroup
	for _, server := range view.Servers() {
		if server.Here {
			note(data.LiveRows(s.live))
			continue
		}
		asked.Go(func() {
			var rows map[string]int64
			if err := cluster.Call(ctx, s.n.peers.client, http.MethodGet, server.URL+data.LivePath, nil, &rows); err != nil {
				s.n.o.Log.WarnContext(ctx, "failed to read the number of live rows of a worker", "server", server.Name, "error", err)
				return
			}
			note(rows)
		})
	}
	asked.Wait()
	return out
}
