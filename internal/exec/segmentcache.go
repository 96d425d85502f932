package exec

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/plan/wire"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// SegmentCache caches the results of aggregations over single segments: groups with intermediate
// values, as groupsOut returns them. A segment never changes, so entries remain valid; a replaced
// segment is no longer queried. The key consists of the id of the segment, the plan below the
// aggregation without its time bounds, and the time bounds that intersect the segment: queries over
// different intervals share the entries of segments that both fully contain.
type SegmentCache struct {
	Rows *RowCache
	// Use and Populate are true if queries read from the cache and write to it.
	Use, Populate bool
	// MaxEntry is the maximum size of an entry in bytes.
	MaxEntry int64
	// Not are the native types of queries that do not use the cache.
	Not []string
}

// wants reports whether the cache is for an aggregation over a pipeline. Joins, and what depends on
// more than the segments, are not for it.
func (c *SegmentCache) wants(n *plan.Aggregate, p *Pipeline, env *Env) bool {
	return c.takes(n) && groupsBySegment(p, env)
}

// groupsBySegment reports whether what an aggregation makes of a pipeline can be made of each of
// its segments.
func groupsBySegment(p *Pipeline, env *Env) bool {
	if env.Profile != nil || p == nil || p.scan == nil || p.scan.Limit >= 0 || len(p.leaves) == 0 {
		return false
	}
	for _, s := range p.steps {
		if s.build != nil {
			return false
		}
	}
	return true
}

// wantsSegments reports whether the sketches of columns are to be merged segment by segment, and
// these in their order: what sketches of sketches estimate depends on it, and does not depend on
// the number of workers then.
func wantsSegments(n *plan.Aggregate, p *Pipeline, env *Env) bool {
	return mergesSketches(n) && len(n.Order) == 0 && groupsBySegment(p, env) && len(p.leaves) > 1
}

// takes reports whether the cache is for an aggregation, whatever it is over.
func (c *SegmentCache) takes(n *plan.Aggregate) bool {
	return c != nil && (c.Use || c.Populate) && len(n.Order) == 0 &&
		!slices.ContainsFunc(nativeTypes(n), func(t string) bool { return slices.Contains(c.Not, t) })
}

// nativeTypes are the types of native queries that an aggregation may be a part of.
func nativeTypes(n *plan.Aggregate) []string {
	switch {
	case len(n.Keys) == 0 || len(n.Keys) == 1 && n.Input.Columns()[n.Keys[0]].Type.Base == expr.Timestamp:
		return []string{"timeseries"}
	case len(n.Keys) == 1:
		return []string{"topN", "groupBy"}
	}
	return []string{"groupBy"}
}

// keptGroups are the segments of an aggregation that its pipeline need not read: their groups are
// known, or are made one segment at a time to be known.
type keptGroups struct {
	cache   *SegmentCache // nil: they are not kept
	node    *plan.Aggregate
	p       *Pipeline
	known   []Operator
	wanting []keptLeaf
}

type keptLeaf struct {
	leaf Leaf
	key  RowKey
	// after is closed when the groups of the segment before were given, done when those of this one
	// were.
	after, done chan struct{}
}

// takeKept takes the segments off a pipeline that the cache knows or wants to know; nil: none.
func takeKept(n *plan.Aggregate, p *Pipeline, env *Env) *keptGroups {
	cache := env.Segments
	switch {
	case cache.wants(n, p, env):
	case wantsSegments(n, p, env):
		return takeApart(n, p)
	default:
		return nil
	}
	scan := *p.scan
	scan.Intervals = nil
	bare := &Pipeline{scan: &scan, steps: p.steps}
	zone := ""
	if env.Expr.Zone != nil {
		zone = env.Expr.Zone.Name()
	}
	base := keptBase(plan.WithInputs(n, []plan.Node{bare.fragment()}), zone)
	if base == nil {
		return nil
	}
	k := &keptGroups{cache: cache, node: n, p: p}
	var left []*leafScan
	for _, l := range p.leaves {
		if l.leaf.ID == "" {
			left = append(left, l)
			continue
		}
		key := keptKey(base, l.leaf.ID, l.leaf.Reader.Info().Fingerprint, l.cut(), l.times)
		if cache.Use {
			if op := cache.Rows.Get(key, nil); op != nil {
				k.known = append(k.known, op)
				env.Progress.Forget(&l.progress)
				l.leaf.Reader.Release()
				continue
			}
		}
		if !cache.Populate {
			left = append(left, l)
			continue
		}
		k.want(l.leaf, key)
		env.Progress.Forget(&l.progress) // a pipeline of its own reads it
	}
	if len(left) == len(p.leaves) {
		return nil
	}
	p.leaves = left
	p.recut()
	return k
}

// keptBase is what keys have of a plan whose scan has no bounds of time; nil: a plan that can't be
// told from others is not kept.
func keptBase(n plan.Node, zone string) []byte {
	base, fixed, err := wire.Fingerprint(n)
	if err != nil || !fixed {
		return nil
	}
	return append(append(base, 0), zone...)
}

// keptKey is the key of a plan over one segment, of which it sees all rows or, where that is cut,
// those at some times. The file is its fingerprint: a metastore that has lost its last moments
// gives ids again.
func keptKey(base []byte, id, file string, cut bool, times []chrono.Interval) RowKey {
	h := sha256.New()
	h.Write(base)
	h.Write([]byte{0})
	h.Write([]byte(id))
	h.Write([]byte{0})
	h.Write([]byte(file))
	if !cut {
		return RowKey(h.Sum(nil))
	}
	h.Write([]byte{0})
	for _, iv := range times {
		h.Write(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64([]byte{0}, uint64(iv.Start)), uint64(iv.End)))
	}
	return RowKey(h.Sum(nil))
}

// cut reports whether the bounds of time cut through the segment.
func (l *leafScan) cut() bool { return !l.exact || l.rows < l.leaf.Reader.Info().Rows }

// takeApart takes all segments off a pipeline, to be grouped one at a time.
func takeApart(n *plan.Aggregate, p *Pipeline) *keptGroups {
	k := &keptGroups{node: n, p: p}
	for _, l := range p.leaves {
		k.want(l.leaf, RowKey{})
		p.env.Progress.Forget(&l.progress) // likewise
	}
	p.leaves = nil
	p.recut()
	return k
}

// want adds a segment behind those that are wanted.
func (k *keptGroups) want(l Leaf, key RowKey) {
	w := keptLeaf{leaf: l, key: key, after: make(chan struct{}), done: make(chan struct{})}
	if n := len(k.wanting); n > 0 {
		w.after = k.wanting[n-1].done
	} else {
		close(w.after)
	}
	k.wanting = append(k.wanting, w)
}

// recut makes the morsels of the segments that are left.
func (p *Pipeline) recut() {
	kept := p.morsels[:0]
	for _, l := range p.leaves {
		from := len(kept)
		kept = append(kept, p.morsels[l.next:l.end]...)
		l.next, l.end = from, len(kept)
	}
	for i := range kept {
		kept[i].number = i
	}
	p.morsels, p.left = kept, len(kept)
}

// run gives the groups of all segments to f, from one goroutine at a time and in the order of the
// segments.
func (k *keptGroups) run(ctx context.Context, f func(*vector.Batch) error) error {
	for _, op := range k.known {
		began := k.p.env.Times.now()
		if err := Drain(ctx, op, f); err != nil {
			return err
		}
		k.p.env.Times.kept(k.p.scan.DataSource, k.p.env.Times.now().Sub(began))
	}
	lanes := min(len(k.wanting), k.p.env.Threads)
	if lanes == 0 {
		return nil
	}
	var mu sync.Mutex
	next := 0
	take := func() (l keptLeaf, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(k.wanting) {
			return l, false
		}
		next++
		l = k.wanting[next-1]
		k.wanting[next-1].leaf.Reader = nil // its pipeline releases it
		return l, true
	}
	env := *k.p.env
	env.Threads, env.Segments, env.profile = max(1, env.Threads/lanes), nil, nil
	work := func(ctx context.Context) error {
		for {
			l, ok := take()
			if !ok {
				return nil
			}
			err := k.one(ctx, l, &env, func(b *vector.Batch) error {
				if err := l.turn(ctx); err != nil {
					return err
				}
				return f(b)
			})
			if err == nil {
				err = l.turn(ctx) // without groups, too
			}
			if err != nil {
				return err
			}
			close(l.done)
		}
	}
	return k.p.env.atOnce(ctx, lanes, func(ctx context.Context, _ int) error { return work(ctx) })
}

// turn waits until the groups of the segments before were given. They are made before the first of
// them is, so that nobody waits for long.
func (l *keptLeaf) turn(ctx context.Context) error {
	select {
	case <-l.after:
		return nil
	default:
	}
	return scheduler.Wait(ctx, func() error {
		select {
		case <-l.after:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// one groups one segment, keeps the groups and gives them to f.
func (k *keptGroups) one(ctx context.Context, l keptLeaf, env *Env, f func(*vector.Batch) error) error {
	a, err := newAggregation(k.node, env)
	if err != nil {
		l.leaf.Reader.Release()
		return err
	}
	a.unfinished = true
	p, err := newPipeline(k.p.scan, k.p.reads, []Leaf{l.leaf}, env)
	if err != nil {
		return err
	}
	p.steps, p.need = k.p.steps, k.p.need
	groups := Operator(&groupsOut{a: &aggregateOp{a: a, pipeline: p}})
	if k.cache != nil {
		groups = k.cache.Rows.Record(l.key, nil, k.cache.MaxEntry, groups)
	}
	defer groups.Close()
	return segment.Guard(func() error { return Drain(ctx, groups, f) })
}

// close releases the segments that were not read.
func (k *keptGroups) close() {
	if k == nil {
		return
	}
	for _, l := range k.wanting {
		if l.leaf.Reader != nil {
			l.leaf.Reader.Release()
		}
	}
	k.wanting, k.known = nil, nil
}
