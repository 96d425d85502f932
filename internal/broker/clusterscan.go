package broker

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/exec/progress"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/timeline"
)

// Servers lists the servers that read segments. Its methods do not block, and are safe for use by
// many goroutines.
type Servers interface {
	// Live returns all current servers, Holders the servers that have a segment. Callers must not
	// change the slices.
	Live() []*dispatch.Server
	Holders(segment string) []*dispatch.Server
}

// FragmentEnv implements fragments.Engine: the resources of this process for a query of another
// process.
func (b *Broker) FragmentEnv(zone *chrono.Zone, now int64, name string) (env *exec.Env, done func()) {
	return b.env(expr.Context{Zone: zone, Now: now, Lookups: mappings(b.o.Lookups.View())}, name, b.scheduler.Join())
}

// SegmentCache implements fragments.Engine.
func (b *Broker) SegmentCache(use, populate bool) *exec.SegmentCache {
	return cacheFor(b.o.Segments, use, populate)
}

// cacheFor returns a cache as far as a query wants it used and filled; nil: not at all.
func cacheFor(c exec.SegmentCache, use, populate bool) *exec.SegmentCache {
	c.Use, c.Populate = c.Use && use, c.Populate && populate
	if !c.Use && !c.Populate {
		return nil
	}
	return &c
}

// Relay implements fragments.Engine.
func (b *Broker) Relay(req *dispatch.Request, env *exec.Env) (exec.Remote, error) {
	if b.o.Dispatcher == nil {
		return nil, fault.Unavailable("This process asks no others")
	}
	return b.o.Dispatcher.Relay(req, env.Budget, env.Spill), nil
}

// Part implements fragments.Engine.
func (b *Broker) Part(id string) (progress *progress.Progress, end func()) { return b.parts.Begin(id) }

// PartsDone returns the progress of the parts of a query of another process in this process.
func (b *Broker) PartsDone(id string) progress.Done { return b.parts.Done(id) }

// SegmentTimes implements fragments.Engine.
func (b *Broker) SegmentTimes(id string) *exec.SegmentTimes {
	if b.o.Meter == nil {
		return nil
	}
	return &exec.SegmentTimes{Clock: b.o.Clock, Meter: b.o.Meter, Query: id}
}

// cacheOptions are the parts of a query's context that say how segments are read.
type cacheOptions struct {
	// use and populate are about the cache of single segments.
	use, populate bool
	clones        cloneMode
}

// cacheOptionsOf reads the cache options of a query. Values that can't be are refused where there
// is a cache, as in Druid, and count as none where there is none. See quirk Q012.
func (b *Broker) cacheOptionsOf(p *Prepared) (w cacheOptions, err error) {
	for param, value := range map[*querycontext.Param[bool]]*bool{querycontext.Cache: &w.use, querycontext.Fill: &w.populate} {
		sent := p.query.Context()
		if _, there := sent[param.Key()]; !there {
			sent = p.Context // with the defaults
		}
		if *value, err = param.Read(sent); err != nil && (b.o.Segments.Use || b.o.Segments.Populate || b.o.Remote.Use || b.o.Remote.Populate) {
			return w, err
		} else if err != nil {
			*value = true
		}
	}
	mode, err := querycontext.CloneQueryMode.Read(p.query.Context())
	if err != nil {
		return w, err
	}
	switch w.clones = cloneMode(mode); w.clones {
	case excludeClones, includeClones, preferClones:
		return w, nil
	}
	return w, fault.InvalidInput("Query context [cloneQueryMode] is [%s], but must be excludeClones, includeClones or preferClones", mode)
}

// cloneMode says whether clones are asked: servers that hold what others hold, for trying something
// out, or to be kept free for some queries.
type cloneMode string

const (
	excludeClones cloneMode = "excludeClones" // no
	includeClones cloneMode = "includeClones" // like all others
	preferClones  cloneMode = "preferClones"  // where they hold a segment, they alone are
)

// among returns those of some servers that a query asks. The slice is not changed.
func (m cloneMode) among(servers []*dispatch.Server, clones map[string]string) []*dispatch.Server {
	if len(clones) == 0 || m == includeClones {
		return servers
	}
	var are, others []*dispatch.Server
	for _, s := range servers {
		if _, clone := clones[s.Name]; clone {
			are = append(are, s)
		} else {
			others = append(others, s)
		}
	}
	if m == preferClones && slices.ContainsFunc(are, func(s *dispatch.Server) bool { return !s.Down() }) {
		return are
	}
	return others
}

// clusterScan reads the segments of one state where they are: some locally, others on other
// servers. It implements exec.Cluster.
type clusterScan struct {
	tables
	broker *Broker
	query  *dispatch.Query
}

// clusterScan returns where a query's segments are read; nil: all in this process.
func (b *Broker) clusterScan(p *Prepared, id string, env *exec.Env, w cacheOptions) *clusterScan {
	if b.o.Servers == nil || p.reading.own != nil {
		return nil
	}
	zone := env.Expr.Zone
	if zone == nil {
		zone = chrono.UTC
	}
	s := &clusterScan{*b.tablesOf(p), b, &dispatch.Query{
		ID: id, TimeZone: zone.Name(), Now: env.Expr.Now, BatchRows: env.BatchRows, Memory: env.Budget, Spill: env.Spill,
		Priority: p.query.Priority(), Lane: p.query.Lane(), NoCacheUse: !w.use, NoCachePopulate: !w.populate,
		Segments: cacheFor(b.o.Remote, w.use, w.populate), Progress: env.Progress,
		Live: b.o.Servers.Live, Holders: b.o.Servers.Holders, Pinned: p.State.Number(),
	}}
	if most, over := p.query.CPU(); most > 0 {
		s.query.CPUMillis, s.query.CPUOver = max(1, most.Milliseconds()), fault.Classify(over).Message
	}
	if b.o.Clones != nil {
		s.query.Live = func() []*dispatch.Server { return w.clones.among(b.o.Servers.Live(), b.o.Clones()) }
		s.query.Holders = func(id string) []*dispatch.Server { return w.clones.among(b.o.Servers.Holders(id), b.o.Clones()) }
	}
	return s
}

// holders returns who holds a published segment: Historicals, and until one of them does the worker
// that published it.
func (s *clusterScan) holders(seg *timeline.Segment, id string) []*dispatch.Server {
	held := s.query.Holders(id)
	if slices.ContainsFunc(held, func(o *dispatch.Server) bool { return !o.Down() }) {
		return held
	}
	if g := s.live.Find(seg.ID); g != nil && !slices.ContainsFunc(g.Servers(), func(o *dispatch.Server) bool { return o.Here }) {
		return append(slices.Clip(held), g.Servers()...)
	}
	return held
}

// Split implements exec.Cluster.
func (s *clusterScan) Split(ctx context.Context, scan *plan.Scan, columns []string) ([]exec.Leaf, exec.Remote, error) {
	var segments []dispatch.Segment
	var leaves []exec.Leaf
	var mine []*timeline.Segment
	var all bounds
	for visible, seg := range s.wanted(scan) {
		if all.take(scan, seg, visible) {
			continue
		}
		id := seg.ID.String()
		if known := knownRows(scan, seg, visible); known != nil {
			leaves, mine = append(leaves, exec.Leaf{Reader: known, ID: id, Visible: visible}), append(mine, seg)
			continue
		}
		segments = append(segments, dispatch.Segment{Of: seg, ID: id, Visible: visible, Holders: s.holders(seg, id)})
	}
	growing := map[string]*cluster.LiveSegment{}
	for _, g := range s.growing(scan) {
		growing[g.Text] = g
		segments = append(segments, dispatch.Segment{Of: g.Of, ID: g.Text, Visible: g.Of.ID.Interval, Holders: g.Servers(), Live: true})
	}
	s.counted(all.segments + len(segments) + len(mine))
	mine, leaves = all.put(mine, leaves)
	here, there, err := s.broker.o.Dispatcher.Split(s.query, segments)
	if err != nil {
		return nil, nil, err
	}
	var own []*cluster.LiveSegment
	for _, h := range here {
		if h.Live {
			own = append(own, growing[h.ID])
			continue
		}
		leaves, mine = append(leaves, exec.Leaf{ID: h.ID, Visible: h.Visible}), append(mine, h.Of)
	}
	if leaves, err = s.acquireLive(ctx, own, leaves); err != nil {
		return nil, nil, err
	}
	if err := s.acquire(ctx, scan, columns, mine, leaves); err != nil {
		return nil, nil, err
	}
	return leaves, there, nil
}
