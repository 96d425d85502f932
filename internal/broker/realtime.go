package broker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/querycontext"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/timeline"
)

// A query pins a view of the live segments and then a state of the published timeline, in this
// order: a live segment that is published between the two is in both, and never in neither. It
// reads the visible segments of the state, and every live segment that is not among its used ones,
// whatever hides its interval: the rows of a live segment are in no published version yet. The
// worker that has a live segment knows whether the state is behind its publication (package live).

// Live knows the live segments. Its methods do not wait, and are safe for use by many goroutines.
type Live interface {
	View() *cluster.LiveView
	// Changed returns a channel that is closed when the view is another than now.
	Changed() <-chan struct{}
}

// LiveSegments makes live segments of this process readable.
type LiveSegments interface {
	// Acquire returns the rows that a query may see which has pinned a number of the change stream.
	Acquire(ctx context.Context, id string, pinned int64) ([]segment.Reader, error)
}

// reading says which rows a query wants: published ones, those of streaming tasks that are not
// published yet, or both.
type reading struct {
	published, live bool
	// only are the segments of datasources that a query names; of others it reads all.
	only map[string][]native.Descriptor
	// own, if not nil, has the query read what this process holds, and nothing else.
	own *own
}

// readingOf returns what a query's context wants.
func readingOf(context map[string]any) (reading, error) {
	only, err := querycontext.RealtimeSegmentsOnly.Read(context)
	if err != nil {
		return reading{}, err
	}
	mode, err := querycontext.RealtimeSegmentsMode.Read(context)
	if err != nil {
		return reading{}, err
	}
	switch mode {
	case "include", "exclude", "exclusive":
		only = only || mode == "exclusive"
		return reading{published: !only, live: only || mode == "include"}, nil
	}
	return reading{}, fault.BadContext("Expected key [realtimeSegmentsMode] to be one of [include, exclude, exclusive], but got [%s]", mode)
}

// readingOfTask returns what the context of a task wants: published rows, and others only if it
// says so.
func readingOfTask(context map[string]any) (reading, error) {
	source, err := querycontext.SegmentSource.Read(context)
	return reading{published: true, live: source == "REALTIME"}, err
}

// pin is what a query has pinned.
type pin struct {
	state *timeline.State
	live  *cluster.LiveView
}

// pin pins what there is now.
func (b *Broker) pin(ctx context.Context) (pin, error) {
	if b.o.Fresh != nil {
		if err := b.o.Fresh(ctx); err != nil {
			return pin{}, err
		}
	}
	if b.o.Live == nil {
		return pin{state: b.Seen()}, nil
	}
	view := b.o.Live.View()
	if _, err := b.published.Wait(ctx, view.Number); err != nil {
		return pin{}, context.Cause(ctx)
	}
	if b.o.VisibleDataSources != nil {
		view = view.Only(b.o.VisibleDataSources)
	}
	return pin{b.Seen(), view}, nil
}

const (
	// maxMoves is how often a query that has given no rows begins anew because live rows are found
	// elsewhere.
	maxMoves = 20
	// moveWait is how long a query waits for news of a live segment that nobody has any more.
	moveWait = 250 * time.Millisecond
)

// repin returns what a query pins anew since it has failed, false: not because live rows have
// moved.
func (b *Broker) repin(ctx context.Context, before pin, failed error) (pin, bool) {
	gone, ok := errors.AsType[*live.Gone](failed)
	if !ok || b.o.Live == nil {
		return before, false
	}
	if gone.Number > 0 {
		if _, err := b.published.Wait(ctx, gone.Number); err != nil {
			return before, false
		}
	} else {
		timer := b.o.Clock.NewTimer(moveWait)
		defer timer.Stop()
		for changed := b.o.Live.Changed(); before.live.IsOf(b.o.Live.View()); changed = b.o.Live.Changed() {
			select {
			case <-changed:
				continue
			case <-timer.C():
			case <-ctx.Done():
				return before, false
			}
			break
		}
	}
	next, err := b.pin(ctx)
	return next, err == nil
}

// anew lets the operators of a query begin again when live rows have moved.
func (b *Broker) anew(p *Prepared, env *exec.Env) {
	if b.o.Live == nil || !p.reading.live || p.fixed {
		return
	}
	moves := 0
	env.Anew = func(ctx context.Context, failed error) bool {
		if moves++; moves > maxMoves {
			return false
		}
		next, ok := b.repin(ctx, pin{p.State, p.live}, failed)
		if !ok {
			return false
		}
		p.State, p.live = next.state, next.live
		t := b.tablesOf(p)
		switch own := env.Tables.(type) {
		case *tables:
			own.pinned, own.state, own.live = t.pinned, t.state, t.live
		}
		if s, ok := env.Cluster.(*clusterScan); ok {
			s.pinned, s.state, s.live = t.pinned, t.state, t.live
			s.query.Pinned = t.pinned.Number()
		}
		return true
	}
}

// tablesOf gives the segments that a query reads.
func (b *Broker) tablesOf(p *Prepared) *tables {
	t := &tables{segments: b.segments, own: b.o.LiveSegments, pinned: p.State, state: p.State, only: p.reading.only, held: p.reading.own,
		alone: b.o.Servers == nil}
	if p.reading.live {
		t.live = p.live
	}
	if !p.reading.published {
		t.state = timeline.NewState(p.State.Number(), slices.Values([]*timeline.Segment(nil)))
	}
	return t
}

// growing returns the live segments of a scan.
func (t *tables) growing(scan *plan.Scan) []*cluster.LiveSegment {
	all := t.live.Table(scan.DataSource)
	if all == nil {
		return nil
	}
	used, intervals := t.pinned.Timeline(scan.DataSource), intervalsOf(scan)
	var out []*cluster.LiveSegment
	for _, s := range all.Segments {
		overlaps := slices.ContainsFunc(intervals, func(iv chrono.Interval) bool { return iv.Overlaps(s.Of.ID.Interval) })
		counts := overlaps && s.Asked() && used.Segment(s.Of.ID) == nil
		if counts && (t.held == nil || t.isHere(s)) && len(t.partsAsked(s.Of.ID, s.Of.ID.Interval)) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// readsWhole reports whether the query reads all of what is visible of published segments: it
// neither names some nor wants only those of this process.
func (t *tables) readsWhole() bool { return t.held == nil && t.only == nil }

// readsAll reports whether the query reads all published rows of the pinned state.
func (t *tables) readsAll() bool { return t.readsWhole() && t.state == t.pinned }

// parts returns the parts of a published segment's visible time that the query reads.
func (t *tables) parts(id timeline.SegmentID, visible chrono.Interval) []chrono.Interval {
	if t.held != nil && !t.held.held[id.String()] {
		return nil
	}
	return t.partsAsked(id, visible)
}

// partsAsked returns the parts of a segment's visible time that the query does not exclude by
// naming others.
func (t *tables) partsAsked(id timeline.SegmentID, visible chrono.Interval) []chrono.Interval {
	only, named := t.only[id.DataSource]
	if !named {
		return []chrono.Interval{visible}
	}
	var out []chrono.Interval
	for _, asked := range native.Parts(only, id.Interval, id.Version, id.Partition) {
		if part, ok := asked.Intersect(visible); ok && !part.IsEmpty() {
			out = append(out, part)
		}
	}
	return out
}

// acquireLive adds the rows of live segments of this process to leaves. When it fails none of them
// is left acquired.
func (t *tables) acquireLive(ctx context.Context, list []*cluster.LiveSegment, leaves []exec.Leaf) ([]exec.Leaf, error) {
	for _, s := range list {
		readers, err := t.own.Acquire(ctx, s.Text, t.pinned.Number())
		if err != nil {
			exec.ReleaseLeaves(leaves)
			return nil, err
		}
		for _, r := range readers {
			leaves = append(leaves, exec.Leaf{Reader: r, Visible: s.Of.ID.Interval})
		}
	}
	return leaves, nil
}
