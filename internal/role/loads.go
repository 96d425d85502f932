package role

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// publishedRoutes lets others wait until this process sees a number of the change stream.
func (s *services) publishedRoutes(mux *edge.Mux) {
	mux.On("GET "+publishedPath, func(w http.ResponseWriter, r *http.Request) error {
		number, err := strconv.ParseInt(r.URL.Query().Get("number"), 10, 64)
		if err != nil {
			return fault.InvalidInput("Parameter [number] is not a whole number")
		}
		state, err := s.n.published.Wait(r.Context(), number)
		if err != nil {
			return nil // the asker has gone
		}
		edge.WriteJSON(w, http.StatusOK, map[string]int64{"number": state.Number()})
		return nil
	})
}

// awaitLoad waits until all Brokers see a number of the change stream and the segments that came
// with it are where the rules want them. It implements overlord.ControllerOptions.Loads.
func (s *services) awaitLoad(ctx context.Context, number int64, segments []*timeline.Segment, f func(ready int)) error {
	if err := s.awaitVisible(ctx, number); err != nil {
		return err
	}
	if err := s.rules.Refresh(ctx); err != nil {
		return err
	}
	inventory := s.n.peers.inventory
	for {
		changed := inventory.Changed()
		ready := 0
		for _, seg := range segments {
			if seg.IsTombstone() || !s.wanted(seg.ID.Interval, seg.ID.DataSource) || inventory.Held(seg.ID.String()) || !s.visible(seg) {
				ready++
			}
		}
		f(ready)
		if ready == len(segments) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitVisible waits until all Brokers see a number of the change stream.
func (s *services) awaitVisible(ctx context.Context, number int64) error {
	if _, err := s.n.published.Wait(ctx, number); err != nil {
		return err
	}
	return s.awaitBrokers(ctx, number)
}

// visible reports whether a segment is still in use and not overshadowed: only such are loaded.
func (s *services) visible(seg *timeline.Segment) bool {
	tl := s.n.published.Pin().Timeline(seg.ID.DataSource)
	return tl.Segment(seg.ID) != nil && !tl.SegmentIsOvershadowed(seg)
}

// wanted reports whether rules want segments of an interval on a tier that has servers.
func (s *services) wanted(iv chrono.Interval, dataSource string) bool {
	lists, _ := s.rules.Lists()
	match, ok := rule.Find(iv, clock.Millis(s.n.o.Clock), lists[dataSource], lists[rule.Default])
	if !ok {
		return false
	}
	tiers := map[string]int{}
	for _, m := range s.n.peers.members.Members(cluster.Historical) {
		tiers[m.Tier]++
	}
	for tier, servers := range tiers {
		if match.Copies(tier, servers) > 0 {
			return true
		}
	}
	return false
}

// awaitBrokers waits until the Brokers of other processes see a number of the change stream, which
// is published. One that does not answer is not waited for. Those count that are announced now, and
// not those of whom this process has heard: all others ask for the newest number (fresh).
func (s *services) awaitBrokers(ctx context.Context, number int64) error {
	if s.n.peers.alone {
		return nil
	}
	for {
		err := s.n.peers.membership.Look(ctx)
		if err == nil {
			break
		}
		if ctx.Err() == nil {
			s.n.o.Log.WarnContext(ctx, "failed to read the Brokers that a load waits for; retrying", "after", followAgain,
				"error", err)
		}
		if err := s.n.o.Clock.Sleep(ctx, followAgain); err != nil {
			return err
		}
	}
	var group errgroup.Group
	for _, m := range s.n.peers.members.Members(cluster.Broker) {
		if m.Holder == s.n.peers.membership.Holder {
			continue
		}
		group.Go(func() error {
			query := url.Values{"number": {strconv.FormatInt(number, 10)}}
			err := cluster.Call(ctx, s.n.peers.client, http.MethodGet, m.URL()+publishedPath+"?"+query.Encode(), nil, nil)
			if err != nil && ctx.Err() == nil {
				s.n.o.Log.WarnContext(ctx, "failed to read the timeline position of a Broker", "server", m.Address(), "error", err)
			}
			return nil
		})
	}
	_ = group.Wait() // failures were told
	return ctx.Err()
}

// askNewest is how long a query waits for the newest number of the change stream: a metastore that
// takes longer is taken for one that does not answer.
const askNewest = 5 * time.Second

// fresh returns when queries that begin now see all loads that are done. Loads wait for Brokers
// that are announced: a load is published, and then it is read which these are (awaitBrokers). A
// Broker is announced, and then it waits for the newest number that it reads: whatever was
// published before is in that, and whatever comes after waits for the Broker. Until it has done so
// once, and again when it withdraws, each query reads the number. While the metastore does not
// answer queries see the last state that is known.
func (s *services) fresh(ctx context.Context) error {
	term := s.n.peers.membership.Term()
	if term != 0 && s.n.peers.caughtUp.Load() == term {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, askNewest)
	defer cancel()
	number, err := s.n.store.Number(asking)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.n.o.Log.WarnContext(ctx, "failed to read the newest change; queries use the last known state", "error", err)
		return nil
	}
	if _, err := s.n.published.Wait(ctx, number); err != nil {
		return context.Cause(ctx)
	}
	if term != 0 {
		s.n.peers.caughtUp.Store(term)
	}
	return nil
}
