package metastore

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// Appending while a replacement runs. The replacement holds a REPLACE lock, whose version v is
// above all that is there, and reads what was there when it began. Segments that are appended
// meanwhile have older versions and would be hidden by its publication. So:
//
//	append A publishes while the lock is held    A is recorded in upgrades (A, lock)
//	the replacement publishes version v          A is published again as A' of version v, after the
//	                                             partitions of the replacement; the core set of the
//	                                             chunk includes A', so both become visible together
//	an append B has allocated an id before,      the id gets a twin B' of version v in
//	and publishes after the replacement          pending_segments; when B publishes, B' is published
//	                                             too, and queries see B'
//
// A' and B' name the same files as A and B. Only A and B are ever noted for a later replacement,
// and it does not read their copies either: that would double their rows. But A or B may be hidden
// by its copy, marked unused for that, and deleted: then the copy has the bytes.
//
// An append that was promised an id in an interval that a replacement then cuts into finer ones
// can't have a twin. While the append may still publish, such a replacement is refused; when it
// publishes later nevertheless, it is refused itself (checkNotHidden).

// ErrReplaced marks the fault of an append into an interval that was replaced concurrently: the
// rows must be written under a new id.
var ErrReplaced = errors.New("replaced meanwhile")

// copies are further ids for bytes that are, or become, published under another id.
type copies struct {
	segments []*timeline.Segment
	from     map[string]string // text of a copy's id to that of its source
	// replacing are the segments of the replacement, with their core sets widened.
	replacing []*timeline.Segment
}

func (c *copies) add(source string, s *timeline.Segment) {
	if c.from == nil {
		c.from = make(map[string]string)
	}
	c.from[s.ID.String()] = source
	c.segments = append(c.segments, s)
}

// upgradeAppended makes the copies of what was appended under the task's REPLACE locks.
func (t *tx) upgradeAppended(ctx context.Context, p *Publication, held []tasklock.Lock) (copies, error) {
	out := copies{replacing: p.Segments}
	next := newPartitions(t, p.Segments)
	for _, l := range held {
		if l.Type != tasklock.Replace || l.Revoked {
			continue
		}
		appended, err := t.noted(ctx, l.ID)
		if err != nil {
			return out, err
		}
		for _, a := range appended {
			bytes, err := t.usedCopy(ctx, a)
			if err != nil {
				return out, err
			}
			if bytes == nil {
				continue // it was marked unused with all its copies: not wanted any more
			}
			iv, replaced, err := replacedInterval(p.Segments, a, l.Version)
			if err != nil {
				return out, err
			}
			if !replaced {
				continue // nothing hides it, and a copy would hide what the replacement left there
			}
			id := timeline.SegmentID{DataSource: p.DataSource, Interval: iv, Version: l.Version}
			if id.Partition, err = next.take(ctx, id); err != nil {
				return out, err
			}
			out.add(a.id, bytes.WithID(id, timeline.Numbered{Partition: id.Partition}))
		}
	}
	if len(out.segments) > 0 {
		out.widen()
	}
	return out, nil
}

// replacedInterval returns the interval of the replacement that an appended segment goes into, and
// false if the replacement has none there.
func replacedInterval(replacing []*timeline.Segment, appended notedSegment, version string) (chrono.Interval, bool, error) {
	for _, s := range replacing {
		switch {
		case s.ID.Interval.Contains(appended.interval):
			return s.ID.Interval, true, nil
		case s.ID.Interval.Overlaps(appended.interval):
			return chrono.Interval{}, false, tooFine(appended.id, version, s.ID.Interval)
		}
	}
	return chrono.Interval{}, false, nil
}

func tooFine(appended, version string, replacing chrono.Interval) error {
	return fault.InvalidInput("Replacing with a finer segment granularity than a concurrent append is unsupported. "+
		"Can't upgrade segment [%s] to version [%s], because the replacing interval [%s] does not contain its own", appended, version, replacing)
}

// notedSegment is a row of upgrades.
type notedSegment struct {
	id       string
	interval chrono.Interval
}

// noted returns what was appended under a REPLACE lock, by id.
func (c conn) noted(ctx context.Context, lockID int64) ([]notedSegment, error) {
	return list(ctx, c, func(rows *sql.Rows) (n notedSegment, err error) {
		return n, rows.Scan(&n.id, &n.interval.Start, &n.interval.End)
	}, "SELECT segment_id, start_ms, end_ms FROM upgrades WHERE lock_id = ? ORDER BY segment_id", lockID)
}

// usedCopy returns the noted segment if it is used, else a used copy, else nil.
func (t *tx) usedCopy(ctx context.Context, n notedSegment) (*timeline.Segment, error) {
	rows, err := t.store.segmentRows(ctx, t.conn, "WHERE s.used = 1 AND s.id = ?", n.id)
	if err == nil && len(rows) == 0 {
		rows, err = t.store.segmentRows(ctx, t.conn, "WHERE s.used = 1 AND s.upgraded_from = ? ORDER BY s.id LIMIT 1", n.id)
	}
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0].Segment, nil
}

// widen makes the core sets of chunks with copies include them.
func (c *copies) widen() {
	type chunk struct {
		iv      chrono.Interval
		version string
	}
	size := make(map[chunk]int)
	core := make(map[chunk]bool)
	for _, s := range c.segments {
		key := chunk{s.ID.Interval, s.ID.Version}
		size[key] = max(size[key], s.ID.Partition+1)
	}
	c.replacing = slices.Clone(c.replacing)
	for i, s := range c.replacing {
		key := chunk{s.ID.Interval, s.ID.Version}
		if size[key] == 0 || s.Shard.CorePartitions() <= 0 {
			continue
		}
		core[key] = true
		c.replacing[i] = s.WithID(s.ID, timeline.WithCore(s.Shard, size[key]))
	}
	for i, s := range c.segments {
		if key := (chunk{s.ID.Interval, s.ID.Version}); core[key] {
			c.segments[i] = s.WithID(s.ID, timeline.WithCore(s.Shard, size[key]))
		}
	}
}

// copyToReplaced makes the copies of appended segments whose promised ids got twins when a
// replacement published.
func (t *tx) copyToReplaced(ctx context.Context, p *Publication) (copies, error) {
	var out copies
	sources := make(map[string]*timeline.Segment, len(p.Segments))
	for _, s := range p.Segments {
		sources[s.ID.String()] = s
	}
	err := forIDs(textIDs(p.Segments), func(marks string, args []any) error {
		twins, err := t.pending(ctx, "WHERE upgraded_from IN ("+marks+")", args...)
		for _, twin := range twins {
			out.add(twin.UpgradedFrom, sources[twin.UpgradedFrom].WithID(twin.ID, twin.Shard))
		}
		return err
	})
	return out, err
}

// checkNotHidden refuses appended segments that newer versions would hide, wholly or in part, and
// that have no twin there: the interval was replaced since their ids were promised, in a way that
// left no place for them.
func (t *tx) checkNotHidden(ctx context.Context, p *Publication, twins copies) error {
	visible := make(map[chrono.Interval][]timeline.Holder)
	for _, s := range p.Segments {
		iv := s.ID.Interval
		if _, ok := visible[iv]; !ok {
			rows, err := t.store.overlappingRows(ctx, t.conn, p.DataSource, iv, "s.used = 1")
			if err != nil {
				return err
			}
			visible[iv] = timelineOf(rows).Lookup(iv)
		}
		for _, h := range visible[iv] {
			if h.Version() <= s.ID.Version {
				continue
			}
			stands := slices.ContainsFunc(twins.segments, func(twin *timeline.Segment) bool {
				return twins.from[twin.ID.String()] == s.ID.String() && twin.ID.Version >= h.Version() && twin.ID.Interval.Contains(h.Interval)
			})
			if !stands {
				return fault.Conflict("Segment [%s] can't be appended any more: interval [%s] was replaced by version [%s] since its id was promised",
					s.ID, h.Interval, h.Version()).WithCause(ErrReplaced)
			}
		}
	}
	return nil
}

// noteForUpgrade notes the appended segments for every replacement that runs over them.
func (t *tx) noteForUpgrade(ctx context.Context, p *Publication) error {
	locks, err := t.locks(ctx, "WHERE l.datasource = ? AND l.lock_type = ? AND l.revoked = 0", p.DataSource, string(tasklock.Replace))
	if err != nil || len(locks) == 0 {
		return err
	}
	var rows [][]any
	for _, l := range locks {
		for _, s := range p.Segments {
			if l.Interval.Overlaps(s.ID.Interval) {
				rows = append(rows, []any{s.ID.String(), l.ID, s.ID.Interval.Start, s.ID.Interval.End, t.now})
			}
		}
	}
	return t.insert(ctx, "upgrades", "segment_id, lock_id, start_ms, end_ms, created", "ON CONFLICT (lock_id, segment_id) DO NOTHING", rows)
}

// upgradePending gives twins to promised ids that lie inside an interval that was just replaced and
// are not published yet.
func (t *tx) upgradePending(ctx context.Context, published []*timeline.Segment) ([]PendingSegment, error) {
	type chunk struct {
		iv      chrono.Interval
		version string
	}
	core := make(map[chunk]int)
	var chunks []chunk
	for _, s := range published {
		key := chunk{s.ID.Interval, s.ID.Version}
		if _, ok := core[key]; !ok {
			chunks = append(chunks, key)
		}
		core[key] = max(core[key], s.Shard.CorePartitions())
	}
	if len(chunks) == 0 {
		return nil, nil
	}
	dataSource := published[0].ID.DataSource
	promised, err := t.pending(ctx, "WHERE datasource = ? AND upgraded_from IS NULL AND NOT EXISTS "+
		"(SELECT 1 FROM segments s WHERE s.id = pending_segments.id)", dataSource)
	if err != nil {
		return nil, err
	}
	appends, err := t.locks(ctx, "WHERE l.datasource = ? AND l.lock_type = ? AND l.revoked = 0", dataSource, string(tasklock.Append))
	if err != nil {
		return nil, err
	}
	next := newPartitions(t, published)
	var twins []PendingSegment
	for _, old := range promised {
		i := slices.IndexFunc(chunks, func(c chunk) bool { return c.iv.Overlaps(old.ID.Interval) && old.ID.Version < c.version })
		if i < 0 {
			continue
		}
		if !chunks[i].iv.Contains(old.ID.Interval) {
			if slices.ContainsFunc(appends, func(l tasklock.Lock) bool { return l.Interval.Contains(old.ID.Interval) }) {
				return nil, tooFine(old.ID.String(), chunks[i].version, chunks[i].iv)
			}
			continue
		}
		twin := old
		twin.ID.Interval, twin.ID.Version = chunks[i].iv, chunks[i].version
		if twin.ID.Partition, err = next.take(ctx, twin.ID); err != nil {
			return nil, err
		}
		twin.Shard = timeline.Numbered{Partition: twin.ID.Partition, Core: core[chunks[i]]}
		twin.UpgradedFrom, twin.Created = old.ID.String(), t.now
		if err := t.insertPending(ctx, twin, "upgraded:"+twin.ID.String()); err != nil {
			return nil, err
		}
		twins = append(twins, twin)
	}
	return twins, nil
}

// partitions hands out partition numbers of chunks, above those of segments to be published, stored
// and promised.
type partitions struct {
	t    *tx
	next map[timeline.SegmentID]int // the ids have partition 0: one stands for a chunk
}

func newPartitions(t *tx, publishing []*timeline.Segment) *partitions {
	p := &partitions{t: t, next: make(map[timeline.SegmentID]int)}
	for _, s := range publishing {
		chunk := s.ID
		chunk.Partition = 0
		p.next[chunk] = max(p.next[chunk], s.ID.Partition+1)
	}
	return p
}

// take returns the next number of the chunk that id names; its own partition does not matter.
func (p *partitions) take(ctx context.Context, id timeline.SegmentID) (int, error) {
	id.Partition = 0
	stored, err := p.t.nextStored(ctx, id)
	if err != nil {
		return 0, err
	}
	promised, err := p.t.pending(ctx, "WHERE datasource = ? AND end_ms - start_ms = ? AND start_ms = ? AND version = ?",
		id.DataSource, id.Interval.Millis(), id.Interval.Start, id.Version)
	if err != nil {
		return 0, err
	}
	n := max(p.next[id], stored)
	for _, other := range promised {
		n = max(n, other.ID.Partition+1)
	}
	p.next[id] = n + 1
	return n, nil
}

// Absorb records that a task with REPLACE locks has read these segments, given by the texts of
// their ids, or copies of them. Its publication does not upgrade those of them that were appended
// after its locks were granted, because it publishes their rows itself.
func (s *Store) Absorb(ctx context.Context, taskID string, segments []string) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		for some := range slices.Chunk(segments, 200) {
			args := []any{taskID}
			for range 2 {
				for _, id := range some {
					args = append(args, id)
				}
			}
			in := marks(len(some))
			if _, err := t.exec(ctx, "DELETE FROM upgrades WHERE lock_id IN (SELECT lock_id FROM task_lock_holders WHERE task_id = ?) AND (segment_id IN ("+
				in+") OR segment_id IN (SELECT upgraded_from FROM segments WHERE id IN ("+in+")))", args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Keep records that a task with REPLACE locks replaces their intervals but not these segments: its
// publication upgrades them, like concurrently appended segments. All of them must be within the
// locks.
func (s *Store) Keep(ctx context.Context, taskID, dataSource string, segments map[string]chrono.Interval) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		held, err := t.taskLocks(ctx, taskID, dataSource)
		if err != nil {
			return err
		}
		var rows [][]any
		for _, id := range slices.Sorted(maps.Keys(segments)) {
			iv := segments[id]
			i := slices.IndexFunc(held, func(l tasklock.Lock) bool { return l.Type == tasklock.Replace && !l.Revoked && l.Interval.Contains(iv) })
			if i < 0 {
				return fault.Conflict("Task [%s] has no lock of type [REPLACE] that covers segment [%s]", taskID, id)
			}
			rows = append(rows, []any{id, held[i].ID, iv.Start, iv.End, t.now})
		}
		return t.insert(ctx, "upgrades", "segment_id, lock_id, start_ms, end_ms, created", "ON CONFLICT (lock_id, segment_id) DO NOTHING", rows)
	})
}
