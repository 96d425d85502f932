package msq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/timeline"
)

// segmentPlan is a segment to be: a partition of the sorted rows and the identity it will have.
type segmentPlan struct {
	partition partition
	id        timeline.SegmentID
	shard     timeline.ShardSpec
}

// overwritten returns the intervals that a REPLACE replaces.
func overwritten(w *plan.Write) []chrono.Interval {
	if w.ReplaceAll {
		return []chrono.Interval{chrono.Eternity}
	}
	return chrono.Condense(w.Intervals)
}

// lock takes the locks of a REPLACE: their version decides what it hides. What pins the state that
// a job reads has them before it does so, or rows that are published between the two would be
// hidden without having been read.
func (c *Controller) lock(ctx context.Context, w *plan.Write) error {
	if !w.Replace || c.job.Target.touched() {
		return nil
	}
	for _, iv := range overwritten(w) {
		lock, err := c.deps.Metastore.Lock(ctx, LockRequest{Task: c.job.ID, Group: c.job.ID, DataSource: w.DataSource, Interval: iv,
			Type: c.opts.Lock(w.Replace), Priority: c.opts.Priority})
		if err != nil {
			return err
		}
		c.locks = append(c.locks, lock)
	}
	return nil
}

// lockTouched takes the locks of the time chunks that get rows.
func (c *Controller) lockTouched(ctx context.Context, w *plan.Write, parts []partition) error {
	chunks := c.chunksOf(parts)
	if limit := c.job.Target.MaxLocks; limit > 0 && len(chunks) > limit {
		return fault.InvalidInput("Number of locks exceeded maxAllowedLockCount [%d]: rows are in [%d] time chunks", limit, len(chunks))
	}
	for _, iv := range chrono.Condense(chunks) { // one lock does for neighbours
		lock, err := c.deps.Metastore.Lock(ctx, LockRequest{Task: c.job.ID, Group: c.job.ID, DataSource: w.DataSource, Interval: iv,
			Type: c.opts.Lock(w.Replace), Priority: c.opts.Priority})
		if err != nil {
			return err
		}
		c.locks = append(c.locks, lock)
	}
	return nil
}

// chunksOf returns the time chunks of partitions, which come in the order of time.
func (c *Controller) chunksOf(parts []partition) []chrono.Interval {
	var out []chrono.Interval
	for i := range parts {
		if i == 0 || parts[i].bucket != parts[i-1].bucket {
			out = append(out, c.bucketOf(&parts[i]))
		}
	}
	return out
}

// identify gives every partition the id and shard spec of its segment.
func (c *Controller) identify(ctx context.Context, w *plan.Write, parts []partition, shardColumns []string) ([]segmentPlan, error) {
	if c.opts.MaxNumSegments > 0 {
		if err := c.checkSegmentsPerChunk(w, parts); err != nil {
			return nil, err
		}
	}
	for i := range parts {
		if bucket := c.bucketOf(&parts[i]); !chrono.ContainsAll([]chrono.Interval{chrono.Eternity}, []chrono.Interval{bucket}) {
			return nil, timeOutOfBounds(bucket, []chrono.Interval{chrono.Eternity})
		}
	}
	if w.Replace {
		return c.identifyReplace(w, parts, shardColumns)
	}
	return c.identifyAppend(ctx, w, parts)
}

// identifyAppend allocates the ids of an append.
func (c *Controller) identifyAppend(ctx context.Context, w *plan.Write, parts []partition) ([]segmentPlan, error) {
	r := AllocateRequest{Task: c.job.ID, Group: c.job.ID, DataSource: w.DataSource, Granularity: w.PartitionBy, Sequence: c.job.ID,
		Type: c.opts.Lock(w.Replace), Priority: c.opts.Priority}
	for i := range parts {
		r.Intervals = append(r.Intervals, c.bucketOf(&parts[i]))
	}
	allocated, err := c.deps.Metastore.Allocate(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]segmentPlan, len(parts))
	for i, bucket := range r.Intervals {
		if i == len(allocated) {
			return nil, c.cannotAllocate(w, bucket, nil)
		}
		id := allocated[i].ID
		if id.Interval != bucket && !(c.job.Target.follows() && id.Interval.Contains(bucket)) {
			return nil, c.cannotAllocate(w, bucket, &id.Interval)
		}
		out[i] = segmentPlan{partition: parts[i], id: id, shard: allocated[i].Shard}
	}
	return out, nil
}

// cannotAllocate says that rows of a bucket can't be appended; got is the interval that was offered
// instead, nil: none was.
func (c *Controller) cannotAllocate(w *plan.Write, bucket chrono.Interval, got *chrono.Interval) error {
	switch {
	case c.job.Target != nil:
		return cannotAppend(bucket.Start)
	case got != nil:
		return cannotAllocate(w.DataSource, bucket, got, granularityOf(*got))
	}
	return cannotAllocate(w.DataSource, bucket, nil, "")
}

// granularityOf names the granularity that an interval is a bucket of, or prints the interval.
func granularityOf(iv chrono.Interval) string {
	if iv == chrono.Eternity {
		return "ALL"
	}
	for _, g := range chrono.SegmentGranularities() {
		if g.Bucket(iv.Start) == iv {
			return g.String()
		}
	}
	return iv.String()
}

func granularityName(g chrono.Granularity) string {
	if name, ok := g.SegmentName(); ok {
		return name
	}
	return g.String()
}

func (c *Controller) checkSegmentsPerChunk(w *plan.Write, parts []partition) error {
	for lo := 0; lo < len(parts); {
		hi := lo
		for hi < len(parts) && parts[hi].bucket == parts[lo].bucket {
			hi++
		}
		if hi-lo > c.opts.MaxNumSegments {
			return tooManySegments(c.bucketOf(&parts[lo]), hi-lo, c.opts.MaxNumSegments, granularityName(w.PartitionBy))
		}
		lo = hi
	}
	return nil
}

// identifyReplace numbers the partitions of each time chunk under the version of the lock that
// covers it.
func (c *Controller) identifyReplace(w *plan.Write, parts []partition, shardColumns []string) ([]segmentPlan, error) {
	bounds := overwritten(w)
	for i := range parts {
		if c.job.Target.touched() {
			break
		}
		if bucket := c.bucketOf(&parts[i]); !chrono.ContainsAll(bounds, []chrono.Interval{bucket}) {
			return nil, timeOutOfBounds(bucket, bounds)
		}
	}
	out := make([]segmentPlan, 0, len(parts))
	for lo := 0; lo < len(parts); {
		hi := lo
		for hi < len(parts) && parts[hi].bucket == parts[lo].bucket {
			hi++
		}
		bucket := c.bucketOf(&parts[lo])
		version, ok := c.versionFor(bucket)
		if !ok {
			return nil, lockPreempted()
		}
		for i := lo; i < hi; i++ {
			id := timeline.SegmentID{DataSource: w.DataSource, Interval: bucket, Version: version, Partition: i - lo}
			out = append(out, segmentPlan{partition: parts[i], id: id, shard: c.shardSpec(w, parts[lo:hi], i-lo, shardColumns)})
		}
		lo = hi
	}
	return out, nil
}

// shardSpec returns the place of partition i among those of its time chunk.
func (c *Controller) shardSpec(w *plan.Write, parts []partition, i int, shardColumns []string) timeline.ShardSpec {
	core := len(parts)
	if p := &parts[i]; p.hashes > 0 {
		s := timeline.Hashed{Partition: i, Core: core, Bucket: p.hash, Buckets: p.hashes, Dimensions: []string{}, Function: timeline.GroupHashFunction}
		for _, at := range c.job.Target.Hash.Columns {
			s.Dimensions = append(s.Dimensions, w.Columns()[at].Name)
		}
		return s
	}
	if len(shardColumns) == 0 {
		return timeline.Numbered{Partition: i, Core: core}
	}
	r := timeline.Range{Dimensions: shardColumns, Partition: i, Core: core}
	if i > 0 {
		r.Start = parts[i].start
	}
	if i+1 < core {
		r.End = parts[i+1].start
	}
	if c.job.Target == nil || !c.job.Target.SingleRanges {
		return r
	}
	s := timeline.Single{Dimension: shardColumns[0], Partition: i, Core: core}
	if r.Start != nil {
		s.Start = r.Start[0]
	}
	if r.End != nil {
		s.End = r.End[0]
	}
	return s
}

// versionFor returns the version of the lock that covers an interval.
func (c *Controller) versionFor(iv chrono.Interval) (string, bool) {
	// The locks of time chunks come in the order of time, and do not overlap.
	i, _ := slices.BinarySearchFunc(c.locks, iv.Start, func(l Lock, at int64) int { return cmp.Compare(l.Interval.End, at+1) })
	if i < len(c.locks) && c.locks[i].Interval.Contains(iv) {
		return c.locks[i].Version, true
	}
	return "", false
}

// shardColumns decides between range and numbered shard specs and says why (spec/ingestion.md,
// section 2). Ranges are over the leading CLUSTERED BY columns that are strings with one value per
// row.
func shardColumns(w *plan.Write) (columns []string, kind, details string) {
	const numbered = "NumberedShardSpec"
	if !w.Replace {
		return nil, numbered, "Using NumberedShardSpec to generate segments since the query is inserting rows."
	}
	if len(w.Cluster) == 0 {
		return nil, numbered, "Using NumberedShardSpec to generate segments since the query does not have a CLUSTERED BY clause."
	}
	out := w.Columns()
	for _, i := range w.Cluster {
		if i >= len(out) {
			return nil, numbered, fmt.Sprintf("Cannot use RangeShardSpec, Could not find output column name for column [%s]. Using NumberedShardSpec instead.",
				w.Input.Columns()[i].Name)
		}
		if out[i].Type.Multi {
			return nil, numbered, "Cannot use RangeShardSpec, the fields in the CLUSTERED BY clause contains a multi-valued field. Using NumberedShardSpec instead."
		}
	}
	for _, i := range w.Cluster {
		if base := out[i].Type.Base; base != expr.Varchar && base != expr.Char {
			if len(columns) == 0 {
				return nil, numbered, fmt.Sprintf("Using NumberedShardSpec as the first CLUSTERED BY column [%s] is of type [%s]; RangeShardSpec needs VARCHAR.",
					out[i].Name, out[i].Type)
			}
			return columns, "DimensionRangeShardSpec", fmt.Sprintf("Using only[%d] CLUSTERED BY columns for 'range' shard specs, since the next column was of "+
				"type[%s].", len(columns), out[i].Type)
		}
		columns = append(columns, out[i].Name)
	}
	return columns, "DimensionRangeShardSpec", "Using RangeShardSpec to generate segments."
}

// tombstones returns the segments that hide old rows in parts of the overwritten intervals that got
// no new ones.
func (c *Controller) tombstones(ctx context.Context, w *plan.Write, segments []*timeline.Segment) (hide []*timeline.Segment, drop []chrono.Interval, err error) {
	if !w.Replace || c.job.Target.touched() {
		return nil, nil, nil
	}
	written := make([]chrono.Interval, len(segments))
	for i, s := range segments {
		written[i] = s.ID.Interval
	}
	drop = chrono.Subtract(overwritten(w), chrono.Condense(written))
	if len(drop) == 0 {
		return nil, nil, nil
	}
	used, err := c.deps.Metastore.Used(ctx, w.DataSource, drop)
	if err != nil {
		return nil, nil, err
	}
	intervals := make([]chrono.Interval, 0, len(used))
	for _, s := range used {
		if !s.IsTombstone() {
			intervals = append(intervals, s.ID.Interval)
		}
	}
	gone, err := timeline.TombstoneIntervals(drop, chrono.Condense(intervals), w.PartitionBy, c.opts.maxBuckets())
	if err != nil {
		return nil, nil, tooManyBuckets()
	}
	for _, iv := range gone {
		version, ok := c.versionFor(iv)
		if !ok {
			return nil, nil, lockPreempted()
		}
		hide = append(hide, timeline.NewTombstone(timeline.SegmentID{DataSource: w.DataSource, Interval: iv, Version: version}))
	}
	if len(segments) == 0 && len(hide) == 0 && len(used) > 0 {
		return nil, drop, nil
	}
	return hide, nil, nil
}

// publish makes the segments visible, all in one transaction, and waits until they can be queried:
// a job that says SUCCESS is queryable in full. What was pushed is removed only if nothing can have
// been published.
func (c *Controller) publish(ctx context.Context, w *plan.Write, segments []*timeline.Segment) ([]*timeline.Segment, error) {
	hide, drop, err := c.tombstones(ctx, w, segments)
	if err != nil {
		return nil, err
	}
	all := slices.Concat(segments, hide)
	if len(all) == 0 && len(drop) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	c.published.Store(true)
	p, err := c.deps.Metastore.Publish(ctx, Publication{Task: c.job.ID, Group: c.job.ID, Part: c.job.Part, DataSource: w.DataSource,
		Type: c.opts.Lock(w.Replace), Segments: all, Drop: drop})
	if err != nil {
		if errors.Is(err, ErrPreempted) {
			c.published.Store(false) // the transaction was refused: nothing refers to what was pushed
		}
		return nil, err
	}
	if p.Segments == nil {
		p.Segments = all
	}
	c.sweep(ctx, p.Segments)
	return p.Segments, c.await(ctx, w, p)
}

// earlier ends a job whose segments are published: by a run of the task that was cut off before it
// could say so. Nil: there is none.
func (c *Controller) earlier(ctx context.Context, w *plan.Write) (*Outcome, error) {
	p, found, err := c.deps.Metastore.Earlier(ctx, c.job.ID, c.job.Part)
	if err != nil || !found {
		return nil, err
	}
	out := &Outcome{Segments: p.Segments}
	for _, s := range p.Segments {
		out.Rows += max(s.Rows, 0)
	}
	c.published.Store(true)
	return out, c.await(ctx, w, p)
}

// await waits until what was published can be queried, at most for the time that the interface
// gives it.
func (c *Controller) await(ctx context.Context, w *plan.Write, p Published) error {
	begin := c.now()
	load := &LoadStatus{State: "INIT", DataSource: w.DataSource, Start: begin, Total: len(p.Segments)}
	c.setLoad(load)
	if c.deps.Loads == nil {
		c.setLoad(load.done("SUCCESS", LoadCounts{Used: len(p.Segments), Precached: len(p.Segments)}, 0))
		return nil
	}
	last := LoadCounts{Used: len(p.Segments), Pending: len(p.Segments)}
	patience, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	err := c.deps.Loads.Await(patience, p, func(n LoadCounts) {
		last = n
		c.setLoad(load.done("WAITING", n, c.now().Sub(begin)))
	})
	took := c.now().Sub(begin)
	switch {
	case err == nil:
		last.Pending, last.Unknown = 0, 0
		if last.Precached+last.OnDemand < len(p.Segments) {
			last.Used, last.Precached = len(p.Segments), len(p.Segments)-last.OnDemand
		}
		c.setLoad(load.done("SUCCESS", last, took))
		return nil
	case patience.Err() != nil && ctx.Err() == nil:
		// The data is in; that it takes longer than one waits is no failure.
		c.setLoad(load.done("TIMED_OUT", last, took))
		return nil
	}
	c.setLoad(load.done("FAILED", last, took))
	return err
}

// discard removes what was pushed for segments that did not become visible, but for what another
// run of the task may publish.
func (c *Controller) discard(ctx context.Context) {
	if c.published.Load() {
		return
	}
	_ = c.deps.Store.Delete(ctx, c.unused(nil, c.deps.Current != nil)...) // garbage without a reference is collected later
	if c.deps.Current == nil {                                            // another run of the task may have files of the same segments
		c.sweep(ctx, nil)
	}
}

// sweep removes what workers that were given up have pushed of the segments that others built in
// their place. A worker that is still at it leaves garbage that nothing refers to.
func (c *Controller) sweep(ctx context.Context, published []*timeline.Segment) {
	c.pushed.Lock()
	defer c.pushed.Unlock()
	c.sweepLocked(ctx, published)
}

func (c *Controller) sweepLocked(ctx context.Context, published []*timeline.Segment) {
	if len(c.pushed.twice) == 0 {
		return
	}
	kept := map[string]bool{}
	for _, s := range published {
		if key, err := c.deps.Store.Key(s.LoadSpec()); err == nil {
			kept[key] = true
		}
	}
	for _, id := range c.pushed.twice {
		list, err := c.deps.Store.List(ctx, segmentPrefix(id), "", sweepLimit)
		if err != nil {
			return
		}
		for _, o := range list {
			if !kept[o.Key] {
				_ = c.deps.Store.Delete(ctx, o.Key) // as above
			}
		}
	}
	c.pushed.twice = nil
}

// sweepLimit bounds the files of one segment that are looked at.
const sweepLimit = 100
