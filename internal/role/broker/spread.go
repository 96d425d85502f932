package broker

import (
	"context"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
)

// Servers says which servers read segments. Its methods do not wait, and are safe for use by many goroutines.
type Servers interface {
	// Live returns all of them that are there now, Holders those of them that hold a segment. Callers do not change the slices.
	Live() []*dispatch.Server
	Holders(segment string) []*dispatch.Server
}

// FragmentEnv implements fragments.Engine: what this process gives to a query of another one.
func (b *Broker) FragmentEnv(zone *chrono.Zone, now int64, name string) (env *exec.Env, done func()) {
	return b.env(expr.Context{Zone: zone, Now: now, Lookups: mappings(b.o.Lookups.View())}, name)
}

// spread reads the segments of one state where they are: some in this process, others on other servers. It implements exec.Cluster.
type spread struct {
	tables
	broker *Broker
	query  *dispatch.Query
}

// spread returns where a query's segments are read; nil: all in this process.
func (b *Broker) spread(p *Prepared, id string, env *exec.Env) exec.Cluster {
	if b.o.Servers == nil {
		return nil
	}
	zone := env.Expr.Zone
	if zone == nil {
		zone = chrono.UTC
	}
	return &spread{tables{b.segments, p.State}, b, &dispatch.Query{
		ID: id, TimeZone: zone.Name(), Now: env.Expr.Now, BatchRows: env.BatchRows, Memory: env.Budget, Spill: env.Spill,
		Live: b.o.Servers.Live, Holders: b.o.Servers.Holders,
	}}
}

// Split implements exec.Cluster.
func (s *spread) Split(ctx context.Context, scan *plan.Scan) ([]exec.Leaf, exec.Remote, error) {
	var segments []dispatch.Segment
	for visible, seg := range s.wanted(scan) {
		id := seg.ID.String()
		segments = append(segments, dispatch.Segment{Of: seg, ID: id, Visible: visible, Holders: s.query.Holders(id)})
	}
	here, there, err := s.broker.o.Dispatcher.Split(s.query, segments)
	if err != nil {
		return nil, nil, err
	}
	leaves, mine := make([]exec.Leaf, len(here)), make([]*timeline.Segment, len(here))
	for i := range here {
		leaves[i].Visible, mine[i] = here[i].Visible, here[i].Of
	}
	if err := s.acquire(ctx, mine, leaves); err != nil {
		return nil, nil, err
	}
	return leaves, there, nil
}
