package msq

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// publisher owns what a job writes to the metastore: its locks, the ids of its segments, what was
// pushed to deep storage for them, and the transaction that makes them visible.
type publisher struct {
	*core
	locks []tasklock.Lock
	// compaction is the settings that each segment keeps as its lastCompactionState; nil: none.
	compaction json.RawMessage
	published  atomic.Bool

	mu struct {
		sync.Mutex
		pushed []string // keys in deep storage
		// twice are segments whose worker was given up, so that it may have pushed them beside the one
		// that took its place.
		twice    []timeline.SegmentID
		segments []*timeline.Segment // by number, nil until built
		report   *SegmentReport
		load     *LoadStatus
	}
}

// expect begins to note so many segments.
func (pub *publisher) expect(segments int) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.mu.segments = make([]*timeline.Segment, segments)
}

// note keeps a segment that is built.
func (pub *publisher) note(number int, s *timeline.Segment) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.mu.segments[number] = s
}

// built reports whether a segment is built.
func (pub *publisher) built(number int) bool {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	return pub.mu.segments[number] != nil
}

// all returns the segments, all of which are built.
func (pub *publisher) all() []*timeline.Segment {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	return pub.mu.segments
}

// pushing notes a key before anything is written there.
func (pub *publisher) pushing(key string) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.mu.pushed = append(pub.mu.pushed, key)
}

// givenUp notes segments whose worker was given up.
func (pub *publisher) givenUp(plans []segmentPlan, numbers []int) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	for _, n := range numbers {
		pub.mu.twice = append(pub.mu.twice, plans[n].id)
	}
}

func (pub *publisher) setReport(r *SegmentReport) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.mu.report = r
}

func (pub *publisher) setLoad(l *LoadStatus) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.mu.load = l
}

// reports returns what is reported of the segments, and of their loading.
func (pub *publisher) reports() (*SegmentReport, *LoadStatus) {
	pub.mu.Lock()
	defer pub.mu.Unlock()
	return pub.mu.report, pub.mu.load
}

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

// owner is the job as one that takes locks.
func (pub *publisher) owner() tasklock.Owner {
	return tasklock.Owner{TaskID: pub.job.ID, GroupID: pub.job.ID, Priority: pub.opts.Priority}
}

// lock takes the locks of a REPLACE: their version decides what it hides. What pins the state that
// a job reads has them before it does so, or rows that are published between the two would be
// hidden without having been read.
func (pub *publisher) lock(ctx context.Context, w *plan.Write) error {
	if !w.Replace || pub.job.Target.touched() {
		return nil
	}
	for _, iv := range overwritten(w) {
		lock, err := pub.deps.Metastore.Lock(ctx, tasklock.Request{Owner: pub.owner(), DataSource: w.DataSource, Interval: iv,
			Type: pub.opts.Lock(w.Replace)})
		if err != nil {
			return err
		}
		pub.locks = append(pub.locks, lock)
	}
	return nil
}

// lockTouched takes the locks of the time chunks that get rows.
func (pub *publisher) lockTouched(ctx context.Context, w *plan.Write, parts []partition) error {
	chunks := pub.chunksOf(parts)
	if limit := pub.job.Target.MaxLocks; limit > 0 && len(chunks) > limit {
		return fault.InvalidInput("Number of locks exceeded maxAllowedLockCount [%d]: rows are in [%d] time chunks", limit, len(chunks))
	}
	for _, iv := range chrono.Condense(chunks) { // one lock does for neighbours
		lock, err := pub.deps.Metastore.Lock(ctx, tasklock.Request{Owner: pub.owner(), DataSource: w.DataSource, Interval: iv,
			Type: pub.opts.Lock(w.Replace)})
		if err != nil {
			return err
		}
		pub.locks = append(pub.locks, lock)
	}
	return nil
}

// chunksOf returns the time chunks of partitions, which come in the order of time.
func (pub *publisher) chunksOf(parts []partition) []chrono.Interval {
	var out []chrono.Interval
	for i := range parts {
		if i == 0 || parts[i].bucket != parts[i-1].bucket {
			out = append(out, pub.bucketOf(&parts[i]))
		}
	}
	return out
}

// identify gives every partition the id and shard spec of its segment.
func (pub *publisher) identify(ctx context.Context, w *plan.Write, parts []partition, shardColumns []string) ([]segmentPlan, error) {
	if pub.opts.MaxNumSegments > 0 {
		if err := pub.checkSegmentsPerChunk(w, parts); err != nil {
			return nil, err
		}
	}
	for i := range parts {
		if bucket := pub.bucketOf(&parts[i]); !chrono.ContainsAll([]chrono.Interval{chrono.Eternity}, []chrono.Interval{bucket}) {
			return nil, timeOutOfBounds(bucket, []chrono.Interval{chrono.Eternity})
		}
	}
	if w.Replace {
		return pub.identifyReplace(w, parts, shardColumns)
	}
	return pub.identifyAppend(ctx, w, parts)
}

// identifyAppend allocates the ids of an append.
func (pub *publisher) identifyAppend(ctx context.Context, w *plan.Write, parts []partition) ([]segmentPlan, error) {
	r := AllocateRequest{Owner: pub.owner(), DataSource: w.DataSource, Granularity: w.PartitionBy, Sequence: pub.job.ID,
		Type: pub.opts.Lock(w.Replace)}
	for i := range parts {
		r.Intervals = append(r.Intervals, pub.bucketOf(&parts[i]))
	}
	allocated, err := pub.deps.Metastore.Allocate(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]segmentPlan, len(parts))
	for i, bucket := range r.Intervals {
		if i == len(allocated) {
			return nil, pub.cannotAllocate(w, bucket, nil)
		}
		id := allocated[i].ID
		if id.Interval != bucket && !(pub.job.Target.follows() && id.Interval.Contains(bucket)) {
			return nil, pub.cannotAllocate(w, bucket, &id.Interval)
		}
		out[i] = segmentPlan{partition: parts[i], id: id, shard: allocated[i].Shard}
	}
	return out, nil
}

// cannotAllocate says that rows of a bucket can't be appended; got is the interval that was offered
// instead, nil: none was.
func (pub *publisher) cannotAllocate(w *plan.Write, bucket chrono.Interval, got *chrono.Interval) error {
	switch {
	case pub.job.Target != nil:
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

func (pub *publisher) checkSegmentsPerChunk(w *plan.Write, parts []partition) error {
	for lo := 0; lo < len(parts); {
		hi := lo
		for hi < len(parts) && parts[hi].bucket == parts[lo].bucket {
			hi++
		}
		if hi-lo > pub.opts.MaxNumSegments {
			return tooManySegments(pub.bucketOf(&parts[lo]), hi-lo, pub.opts.MaxNumSegments, granularityName(w.PartitionBy))
		}
		lo = hi
	}
	return nil
}

// identifyReplace numbers the partitions of each time chunk under the version of the lock that
// covers it.
func (pub *publisher) identifyReplace(w *plan.Write, parts []partition, shardColumns []string) ([]segmentPlan, error) {
	bounds := overwritten(w)
	for i := range parts {
		if pub.job.Target.touched() {
			break
		}
		if bucket := pub.bucketOf(&parts[i]); !chrono.ContainsAll(bounds, []chrono.Interval{bucket}) {
			return nil, timeOutOfBounds(bucket, bounds)
		}
	}
	out := make([]segmentPlan, 0, len(parts))
	for lo := 0; lo < len(parts); {
		hi := lo
		for hi < len(parts) && parts[hi].bucket == parts[lo].bucket {
			hi++
		}
		bucket := pub.bucketOf(&parts[lo])
		version, ok := pub.versionFor(bucket)
		if !ok {
			return nil, lockPreempted()
		}
		for i := lo; i < hi; i++ {
			id := timeline.SegmentID{DataSource: w.DataSource, Interval: bucket, Version: version, Partition: i - lo}
			out = append(out, segmentPlan{partition: parts[i], id: id, shard: pub.shardSpec(w, parts[lo:hi], i-lo, shardColumns)})
		}
		lo = hi
	}
	return out, nil
}

// shardSpec returns the place of partition i among those of its time chunk.
func (pub *publisher) shardSpec(w *plan.Write, parts []partition, i int, shardColumns []string) timeline.ShardSpec {
	core := len(parts)
	if p := &parts[i]; p.hashes > 0 {
		s := timeline.Hashed{Partition: i, Core: core, Bucket: p.hash, Buckets: p.hashes, Dimensions: []string{}, Function: timeline.GroupHashFunction}
		for _, at := range pub.job.Target.Hash.Columns {
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
	if pub.job.Target == nil || !pub.job.Target.SingleRanges {
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
func (pub *publisher) versionFor(iv chrono.Interval) (string, bool) {
	// The locks of time chunks come in the order of time, and do not overlap.
	i, _ := slices.BinarySearchFunc(pub.locks, iv.Start, func(l tasklock.Lock, at int64) int { return cmp.Compare(l.Interval.End, at+1) })
	if i < len(pub.locks) && pub.locks[i].Interval.Contains(iv) {
		return pub.locks[i].Version, true
	}
	return "", false
}

// shardColumns decides between range and numbered shard specs and says why (docs/ingestion.md).
// Ranges are over the leading CLUSTERED BY columns that are strings with one value per row.
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
func (pub *publisher) tombstones(ctx context.Context, w *plan.Write, segments []*timeline.Segment) (hide []*timeline.Segment, drop []chrono.Interval, err error) {
	if !w.Replace || pub.job.Target.touched() {
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
	used, err := pub.deps.Metastore.Used(ctx, w.DataSource, drop)
	if err != nil {
		return nil, nil, err
	}
	intervals := make([]chrono.Interval, 0, len(used))
	for _, s := range used {
		if !s.IsTombstone() {
			intervals = append(intervals, s.ID.Interval)
		}
	}
	gone, err := timeline.TombstoneIntervals(drop, chrono.Condense(intervals), w.PartitionBy, pub.opts.maxBuckets())
	if err != nil {
		return nil, nil, tooManyBuckets()
	}
	for _, iv := range gone {
		version, ok := pub.versionFor(iv)
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
func (pub *publisher) publish(ctx context.Context, w *plan.Write, segments []*timeline.Segment) ([]*timeline.Segment, error) {
	hide, drop, err := pub.tombstones(ctx, w, segments)
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
	pub.published.Store(true)
	p, err := pub.deps.Metastore.Publish(ctx, Publication{Task: pub.job.ID, Group: pub.job.ID, Part: pub.job.Part, DataSource: w.DataSource,
		Type: pub.opts.Lock(w.Replace), Segments: all, Drop: drop})
	if err != nil {
		if errors.Is(err, ErrPreempted) {
			pub.published.Store(false) // the transaction was refused: nothing refers to what was pushed
		}
		return nil, err
	}
	if p.Segments == nil {
		p.Segments = all
	}
	pub.sweep(ctx, p.Segments)
	return p.Segments, pub.await(ctx, w, p)
}

// earlier ends a job whose segments are published: by a run of the task that was cut off before it
// could say so. Nil: there is none.
func (pub *publisher) earlier(ctx context.Context, w *plan.Write) (*Outcome, error) {
	p, found, err := pub.deps.Metastore.Earlier(ctx, pub.job.ID, pub.job.Part)
	if err != nil || !found {
		return nil, err
	}
	out := &Outcome{Segments: p.Segments}
	for _, s := range p.Segments {
		out.Rows += max(s.Rows, 0)
	}
	pub.published.Store(true)
	return out, pub.await(ctx, w, p)
}

// await waits until what was published can be queried, at most for the time that the interface
// gives it.
func (pub *publisher) await(ctx context.Context, w *plan.Write, p Published) error {
	begin := pub.now()
	load := &LoadStatus{State: "INIT", DataSource: w.DataSource, Start: begin, Total: len(p.Segments)}
	pub.setLoad(load)
	if pub.deps.Loads == nil {
		pub.setLoad(load.done("SUCCESS", LoadCounts{Used: len(p.Segments), Precached: len(p.Segments)}, 0))
		return nil
	}
	last := LoadCounts{Used: len(p.Segments), Pending: len(p.Segments)}
	patience, cancel := context.WithTimeout(ctx, loadPatience)
	defer cancel()
	err := pub.deps.Loads.Await(patience, p, func(n LoadCounts) {
		last = n
		pub.setLoad(load.done("WAITING", n, pub.now().Sub(begin)))
	})
	took := pub.now().Sub(begin)
	switch {
	case err == nil:
		last.Pending, last.Unknown = 0, 0
		if last.Precached+last.OnDemand < len(p.Segments) {
			last.Used, last.Precached = len(p.Segments), len(p.Segments)-last.OnDemand
		}
		pub.setLoad(load.done("SUCCESS", last, took))
		return nil
	case patience.Err() != nil && ctx.Err() == nil:
		// The data is in; that it takes longer than one waits is no failure.
		pub.setLoad(load.done("TIMED_OUT", last, took))
		return nil
	}
	pub.setLoad(load.done("FAILED", last, took))
	return err
}

// unused returns the files of segments that the job has built, in this run or an earlier one, and
// not published; recorded are the files that have a record. With kept those that have a record are
// left out.
func (pub *publisher) unused(recorded map[string]bool, published []*timeline.Segment, kept bool) []string {
	used := map[string]bool{}
	for _, s := range published {
		if key, err := pub.deps.Store.Key(s.LoadSpec()); err == nil {
			used[key] = true
		}
	}
	pub.mu.Lock()
	defer pub.mu.Unlock()
	var out []string
	for _, key := range pub.mu.pushed {
		if !recorded[key] && !used[key] {
			out = append(out, key)
		}
	}
	for key := range recorded {
		if !kept && !used[key] {
			out = append(out, key)
		}
	}
	return out
}

// discard removes what was pushed for segments that did not become visible, but for what another
// run of the task may publish.
func (pub *publisher) discard(ctx context.Context, recorded map[string]bool) {
	if pub.published.Load() {
		return
	}
	_ = pub.deps.Store.Delete(ctx, pub.unused(recorded, nil, pub.deps.Current != nil)...) // garbage without a reference is collected later
	if pub.deps.Current == nil {                                                          // another run of the task may have files of the same segments
		pub.sweep(ctx, nil)
	}
}

// sweep removes what workers that were given up have pushed of the segments that others built in
// their place. A worker that is still at it leaves garbage that nothing refers to.
func (pub *publisher) sweep(ctx context.Context, published []*timeline.Segment) {
	pub.mu.Lock()
	twice := pub.mu.twice
	pub.mu.Unlock()
	if len(twice) == 0 {
		return
	}
	kept := map[string]bool{}
	for _, s := range published {
		if key, err := pub.deps.Store.Key(s.LoadSpec()); err == nil {
			kept[key] = true
		}
	}
	for _, id := range twice {
		list, err := pub.deps.Store.List(ctx, segmentPrefix(id), "", sweepLimit)
		if err != nil {
			return
		}
		for _, o := range list {
			if !kept[o.Key] {
				_ = pub.deps.Store.Delete(ctx, o.Key) // as above
			}
		}
	}
	pub.mu.Lock()
	defer pub.mu.Unlock()
	pub.mu.twice = nil
}

// sweepLimit bounds the files of one segment that are looked at.
const sweepLimit = 100
