package role

import (
	"context"
	"net/http"

	"github.com/hengedb/henge/internal/api/coordinator"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/lookups"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/lookup"
)

// usesLookups reports whether queries or tasks run or are planned here, so that lookups must be
// here, too.
func (n *Node) usesLookups() bool {
	return n.has(cluster.Broker, cluster.Historical, cluster.Indexer, cluster.Overlord) // the Overlord plans statements
}

func (s *services) openLookups(ctx context.Context) error {
	access := s.access()
	access.Uploads = nil // they do not last as long as a lookup
	access.S3 = s3Options(s.n.settings, s.n.outside)
	s.lookups = lookup.NewSet(lookup.Options{Access: access, Memory: s.n.memory, Clock: s.n.o.Clock, Log: s.n.o.Log})
	s.n.roles.Go(func() error { return s.lookups.Run(ctx) })
	return nil
}

// loadLookups has the lookups loaded that are in the store, and waits for them: they are there for
// the first query.
func (s *services) loadLookups(ctx context.Context) error {
	if !s.n.usesLookups() {
		return nil
	}
	if err := coordinator.ApplyLookups(ctx, s.n.store, s.n.settings.Text("service.lookup.lookupTier"), s.lookups); err != nil {
		return err
	}
	s.lookups.Settled(ctx)
	return nil
}

// lookupNodes returns the processes that hold lookups, each once: this one, if it uses them, and of
// the others those that run queries or tasks.
func (s *services) lookupNodes() []coordinator.LookupNode {
	var out []coordinator.LookupNode
	if s.n.usesLookups() {
		out = append(out, coordinator.LookupNode{
			Host: s.n.member(cluster.Indexer).Address(), Tier: s.n.settings.Text("service.lookup.lookupTier"), Holder: s.lookups,
		})
	}
	if s.n.peers.alone {
		return out
	}
	seen := map[string]bool{s.n.peers.membership.Holder: true}
	for _, m := range s.n.peers.members.Members("") {
		if m.LookupTier == "" || seen[m.Holder] {
			continue
		}
		seen[m.Holder] = true
		out = append(out, coordinator.LookupNode{Host: m.Address(), Tier: m.LookupTier, Holder: &farLookups{s.n, m.URL()}})
	}
	return out
}

// pushToNew tells processes their lookups when some have come.
func (s *services) pushToNew(ctx context.Context) error {
	for {
		changed := s.n.peers.members.Changed()
		if err := s.coordinator.PushLookups(ctx); err != nil && ctx.Err() == nil {
			s.n.o.Log.WarnContext(ctx, "failed to push lookups; retrying", "error", err)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// farLookups are the lookups of another process.
type farLookups struct {
	n   *Node
	url string
}

// lookupState is what a process has and is to have, as Coordinators exchange it.
type lookupState struct {
	Current map[string]lookup.Container `json:"current,omitempty"`
	ToLoad  map[string]lookup.Container `json:"toLoad"`
	ToDrop  []string                    `json:"toDrop"`
}

// Apply implements coordinator.LookupHolder.
func (l *farLookups) Apply(ctx context.Context, want map[string]lookup.Container) {
	have, err := l.state(ctx)
	if err == nil {
		update := lookupState{ToLoad: want, ToDrop: []string{}}
		for name := range have.Current {
			if _, stays := want[name]; !stays {
				update.ToDrop = append(update.ToDrop, name)
			}
		}
		err = cluster.Call(ctx, l.n.peers.client, http.MethodPost, l.url+lookupsPath+"/updates", update, nil)
	}
	if err != nil && ctx.Err() == nil {
		l.n.o.Log.WarnContext(ctx, "failed to push lookups to a process; retrying", "server", l.url, "error", err)
	}
}

func (l *farLookups) state(ctx context.Context) (s lookupState, err error) {
	return s, cluster.Call(ctx, l.n.peers.client, http.MethodGet, l.url+lookupsPath, nil, &s)
}

// Status implements coordinator.LookupHolder. Of a process that does not answer nothing is loaded.
func (l *farLookups) Status() lookup.Status {
	s, err := l.state(context.Background())
	if err != nil {
		return lookup.Status{}
	}
	return lookup.Status{Current: s.Current, Next: s.ToLoad}
}

// lookupRoutes adds the endpoints about the lookups of this process.
func (s *services) lookupRoutes(mux *edge.Mux) {
	lookups.New(s.lookups, s.n.settings.Bytes("service.server.http.maxRequestBytes", 0)).Routes(mux)
}
