package batch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/rowplan"
	"github.com/hengedb/henge/internal/timeline"
)

// CompactType is the type of tasks that rewrite segments.
const CompactType = "compact"

// Compact is the kind of task that rewrites the segments of an interval: into fewer segments,
// another granularity, or other columns.
//
// The task takes its lock before it reads anything, and reads everything published until then, so
// that rows appended in between are not lost. Time chunks that keep their granularity are separate
// jobs, each replaced in one transaction.
type Compact struct{ *engine }

// NewCompact returns the task kind.
func NewCompact(o Options) *Compact { return &Compact{newEngine(o)} }

// DefaultPriority implements task.Prioritizer.
func (*Compact) DefaultPriority() int { return 25 }

// Complete implements task.Completer.
func (*Compact) Complete(fields map[string]json.RawMessage) error {
	if raw, ok := fields["dataSource"]; !ok || string(raw) == "null" {
		return fault.InvalidInput("Compact task has no [dataSource]")
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fault.Malformed("Compact task is not readable: %v", err)
	}
	c, err := spec.ParseCompaction(text)
	if err != nil {
		return err
	}
	if _, err := rowplan.FilterOf(c.Filter); err != nil {
		return err
	}
	if _, err := rowplan.AggregatorsOf(c.Metrics); err != nil {
		return err
	}
	return c.Fill(fields)
}

// Prepare implements task.Kind. It takes the lock on all time chunks that may change.
func (k *Compact) Prepare(ctx context.Context, t *task.Task) (bool, error) {
	c, err := spec.ParseCompaction(t.Payload)
	if err != nil {
		return false, err
	}
	s, _, err := contextOf(t)
	if err != nil {
		return false, err
	}
	used, err := k.meta.Used(ctx, t.DataSource, []chrono.Interval{searched(c, t.DataSource)})
	if err != nil {
		return false, err
	}
	intervals := make([]chrono.Interval, len(used))
	for i, u := range used {
		intervals[i] = u.ID.Interval
	}
	span, ok := changed(c, searched(c, t.DataSource), intervals)
	if !ok {
		return false, nothingToDo(c)
	}
	return k.lock(ctx, t, metastore.LockRequest{Request: tasklock.Request{Interval: span, Type: s.replaceLock()}})
}

// searched returns the interval whose segments are compacted: it is widened to whole time chunks of
// the granularity wanted.
func searched(c *spec.Compaction, dataSource string) chrono.Interval {
	iv := c.Interval
	for _, text := range c.Segments {
		if id, ok := timeline.ParseID(dataSource, text); ok {
			if iv.IsEmpty() {
				iv = id.Interval
			}
			iv = iv.Span(id.Interval)
		}
	}
	return aligned(iv, c.SegmentGranularity)
}

// aligned widens an interval to whole buckets of a granularity; nil: it stays.
func aligned(iv chrono.Interval, g *chrono.Granularity) chrono.Interval {
	if g == nil || iv.IsEmpty() || iv == chrono.Eternity {
		return iv
	}
	if g.IsAll() {
		return chrono.Eternity
	}
	return chrono.Interval{Start: g.Bucket(iv.Start).Start, End: g.Bucket(iv.End - 1).End}
}

// changed returns the span of the time chunks that may change when segments of these intervals are
// compacted.
func changed(c *spec.Compaction, within chrono.Interval, intervals []chrono.Interval) (chrono.Interval, bool) {
	span, ok := chrono.SpanAll(intervals)
	if !ok || c.SegmentGranularity == nil {
		return span, ok
	}
	clipped, ok := span.Intersect(within)
	return aligned(clipped, c.SegmentGranularity), ok
}

// Run implements task.Kind.
func (k *Compact) Run(ctx context.Context, t *task.Task) error {
	c, err := spec.ParseCompaction(t.Payload)
	if err != nil {
		return err
	}
	s, shown, err := contextOf(t)
	if err != nil {
		return err
	}
	r := newReport(t, shown, k.o.Clock)
	k.begin(t.ID, r)
	return k.end(ctx, t.ID, r, problem(k.run(ctx, t, c, &s, r)))
}

func (k *Compact) run(ctx context.Context, t *task.Task, c *spec.Compaction, s *settings, r *report) error {
	s.warn(tasktype.TaskLog(ctx))
	session, err := k.session(ctx)
	if err != nil {
		return err
	}
	within, err := k.locked(ctx, t, searched(c, t.DataSource))
	if err != nil {
		return err
	}
	var sources []source
	if !within.IsEmpty() {
		if sources, err = sourcesOf(ctx, session, t.DataSource, within); err != nil {
			return err
		}
		if sources, err = k.choose(ctx, t, c, sources); err != nil {
			return err
		}
		if err := k.absorb(ctx, t, sources); err != nil {
			return err
		}
	}
	if err := checkSources(c, sources); err != nil {
		return err
	}
	for _, g := range groupsOf(c, within, sources) {
		if err := k.compact(ctx, t, c, s, session, g, r.add()); err != nil {
			return err
		}
	}
	return nil
}

// locked returns what the task has locked of an interval, in whole time chunks. What has come
// beside it since is not read: it might still change.
func (k *Compact) locked(ctx context.Context, t *task.Task, within chrono.Interval) (chrono.Interval, error) {
	locks, err := k.o.Metastore.TaskLocks(ctx, t.ID)
	if err != nil {
		return chrono.Interval{}, err
	}
	for _, l := range locks {
		if l.Revoked {
			return chrono.Interval{}, fault.Conflict("Compact task [%s] lost its lock on interval [%s] to another task", t.ID, l.Interval)
		}
		if l.DataSource == t.DataSource && l.Interval.Overlaps(within) {
			return l.Interval, nil
		}
	}
	return chrono.Interval{}, nil
}

// absorb says which segments are read. Some may have been appended between the lock and the state
// of the timeline that is read: without a word they would be published again beside their rows.
func (k *Compact) absorb(ctx context.Context, t *task.Task, sources []source) error {
	ids := make([]string, len(sources))
	for i, s := range sources {
		ids[i] = s.id
	}
	return k.o.Metastore.Absorb(ctx, t.ID, ids)
}

// choose returns the segments among those of the interval that are compacted. The others stay: with
// the new segments they are published again.
func (k *Compact) choose(ctx context.Context, t *task.Task, c *spec.Compaction, sources []source) ([]source, error) {
	if c.Minor == nil {
		return sources, nil
	}
	wanted := map[string]bool{}
	for _, d := range c.Minor {
		id := timeline.SegmentID{DataSource: t.DataSource, Interval: d.Interval, Version: d.Version, Partition: d.Partition}
		wanted[id.String()] = true
	}
	var chosen []source
	found, others := map[string]bool{}, map[string]chrono.Interval{}
	for _, s := range sources {
		if wanted[s.id] {
			chosen, found[s.id] = append(chosen, s), true
		} else {
			others[s.id] = s.interval
		}
	}
	if len(found) < len(wanted) {
		return nil, fault.Conflict(sourcesDiffer)
	}
	return chosen, k.o.Metastore.Keep(ctx, t.ID, t.DataSource, others)
}

// source is a segment that is compacted.
type source struct {
	id       string
	interval chrono.Interval
	size     int64
	info     *segment.Info
}

// sourcesOf returns the visible segments of an interval that have rows, newest first: that is the
// order in which their columns count.
func sourcesOf(ctx context.Context, session *broker.Session, dataSource string, within chrono.Interval) ([]source, error) {
	var out []source
	err := session.Segments(ctx, dataSource, []chrono.Interval{within}, func(s query.Segment) error {
		info := *s.Info // columns and counts are copies: they stay when the file is let go
		out = append(out, source{s.ID, s.Interval, s.Size, &info})
		return nil
	})
	slices.SortStableFunc(out, func(a, b source) int { return cmp.Compare(b.interval.Start, a.interval.Start) })
	return out, err
}

func nothingToDo(c *spec.Compaction) error {
	return fault.InvalidInput("Can't find segments from inputSpec [%s], nothing to do.", inputText(c))
}

// checkSources refuses to compact other segments than those that were meant.
func checkSources(c *spec.Compaction, sources []source) error {
	if len(sources) == 0 {
		return nothingToDo(c)
	}
	ids := make([]string, 0, len(sources))
	for _, s := range sources {
		if c.Segments != nil || s.interval.Overlaps(c.Interval) {
			ids = append(ids, s.id)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if c.Segments != nil && !slices.Equal(ids, c.Segments) {
		return fault.Conflict(sourcesDiffer)
	}
	if c.SegmentsHash != "" {
		h := sha256.New()
		for _, id := range ids {
			_, _ = h.Write([]byte(id)) // never fails
		}
		if hex.EncodeToString(h.Sum(nil)) != c.SegmentsHash {
			return fault.Conflict(sourcesDiffer)
		}
	}
	return nil
}

const sourcesDiffer = "Specified segments in the spec are different from the current used segments. Possibly new segments would have been added or some " +
	"segments have been unpublished."

func inputText(c *spec.Compaction) string {
	if c.Segments != nil {
		return "segments"
	}
	return c.Interval.String()
}

// group is the segments of one job.
type group struct {
	sources []source
	// read is what is read of them, replaced what the new segments are within.
	read, replaced chrono.Interval
	granularity    chrono.Granularity
}

// groupsOf divides segments into jobs: with a granularity wanted they are one, else those whose
// intervals overlap stay together.
func groupsOf(c *spec.Compaction, within chrono.Interval, sources []source) []group {
	intervals := make([]chrono.Interval, len(sources))
	for i, s := range sources {
		intervals[i] = s.interval
	}
	if g := c.SegmentGranularity; g != nil {
		span, _ := changed(c, within, intervals)
		return []group{{sources, within, span, *g}}
	}
	var out []group
	byStart := slices.Clone(sources)
	slices.SortStableFunc(byStart, func(a, b source) int { return a.interval.Compare(b.interval) })
	for _, s := range byStart {
		if last := len(out) - 1; last >= 0 && out[last].read.Overlaps(s.interval) {
			out[last].sources = append(out[last].sources, s)
			out[last].read = out[last].read.Span(s.interval)
			continue
		}
		out = append(out, group{sources: []source{s}, read: s.interval})
	}
	for i := range out {
		g := &out[i]
		slices.SortStableFunc(g.sources, func(a, b source) int { return cmp.Compare(b.interval.Start, a.interval.Start) })
		g.replaced, g.granularity = g.read, granularityOf(g.read)
	}
	return out
}

// granularityOf returns the granularity of which an interval is one bucket.
func granularityOf(iv chrono.Interval) chrono.Granularity {
	if iv == chrono.Eternity {
		return chrono.All
	}
	for _, g := range chrono.SegmentGranularities() {
		if g.Bucket(iv.Start) == iv {
			return g
		}
	}
	g, err := chrono.DurationGranularity(iv.Millis(), iv.Start)
	if err != nil { // an interval that no segment has
		return chrono.All
	}
	return g
}

// visible yields the segments of a group, which may be some of those that are there.
func (g *group) visible(session *broker.Session) func(*plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
	mine := map[string]bool{}
	for _, s := range g.sources {
		mine[s.id] = true
	}
	return func(scan *plan.Scan) iter.Seq2[chrono.Interval, *timeline.Segment] {
		return func(yield func(chrono.Interval, *timeline.Segment) bool) {
			for visible, s := range session.Visible(scan) {
				if mine[s.ID.String()] && !yield(visible, s) {
					return
				}
			}
		}
	}
}

// compact runs the job of a group.
func (k *Compact) compact(ctx context.Context, t *task.Task, c *spec.Compaction, s *settings, session *broker.Session, g group, p *part) error {
	shape, err := shapeOf(ctx, t.DataSource, c, &g)
	if err != nil {
		return err
	}
	partitions := c.Tuning.Given()
	options, err := k.options(t, s, s.replaceLock(), max(1, min(c.Tuning.Workers, maxWorkers, len(g.sources))), partitions.Rows(), shape.order)
	if err != nil {
		return err
	}
	write := shape.write
	write.DataSource, write.Replace, write.PartitionBy, write.Intervals = t.DataSource, true, g.granularity, []chrono.Interval{g.replaced}
	target := shape.target
	// Rows that move leave nothing behind; segments that stay must not be hidden by a chunk that got
	// no rows.
	target.Touched = c.Minor != nil || !c.DropExisting && !c.MovesRows
	if err := partitioned(partitions, write, target); err != nil {
		return err
	}
	if target.CompactionState, err = shape.state(c, &g); err != nil {
		return err
	}
	env, done := k.env(session, t)
	defer done()
	deps := k.deps(ctx, env)
	deps.Join, deps.Segments = k.o.Join, tasktype.NewSlices(g.visible(session), k.o.Open)
	p.enter("BUILD_SEGMENTS")
	read, total := len(g.sources), int64(0)
	for _, src := range g.sources {
		p.build.bytes.Add(src.size)
		total += int64(src.info.Rows)
	}
	out, err := run(ctx, msq.Job{ID: t.ID, Part: g.replaced.String(), Plan: plan.Optimize(write, plan.Options{Context: *env.Expr}), Options: options, Target: target}, deps)
	if err != nil {
		return err
	}
	p.build.processed.Add(out.Rows)
	if c.Filter != nil {
		p.build.thrownAway.Add(max(0, total-out.Rows))
	}
	published := len(out.Segments)
	p.mu.Lock()
	p.mu.read, p.mu.published = &read, &published
	p.mu.Unlock()
	return nil
}
