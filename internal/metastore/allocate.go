package metastore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// ErrCannotAllocate marks the fault of an allocation that conflicts with existing segments:
// retrying the same request does not help.
var ErrCannotAllocate = errors.New("can't allocate")

// AllocateRequest requests the id of a segment to which rows of one time chunk are appended.
type AllocateRequest struct {
	Fence      Fence
	Owner      tasklock.Owner
	DataSource string
	// Timestamp is the time of a row; the interval of the segment contains its bucket of
	// QueryGranularity.
	Timestamp        int64
	QueryGranularity chrono.Granularity
	// SegmentGranularity is the preferred interval if there is no data yet. If the interval is locked,
	// finer granularities are tried.
	SegmentGranularity chrono.Granularity
	// SequenceName and PreviousID identify the allocation: equal requests return the same id, so
	// replicas and retries agree. With SkipLineage, the segment of the sequence in the interval does
	// not depend on PreviousID.
	SequenceName string
	PreviousID   string
	SkipLineage  bool
	// tasklock.Type is EXCLUSIVE, SHARED or APPEND.
	LockType tasklock.Type
	// Allocator identifies the tasks that share the ids: when the last of them ends, unpublished ids
	// are deleted. Empty: the task.
	Allocator string
}

// PendingSegment is an id that was allocated and is not published yet.
type PendingSegment struct {
	ID    timeline.SegmentID
	Shard timeline.ShardSpec
	// SequenceName and PreviousID are copied from the request.
	SequenceName, PreviousID string
	Allocator                string
	// UpgradedFrom is the id that this one represents after a replacement of its interval; empty for
	// other ids.
	UpgradedFrom string
	Created      int64
}

// AllocateSegment allocates an id and locks its interval in one transaction. ErrCannotAllocate:
// existing segments do not permit an append there; ErrLockRevoked: the group has lost the lock.
// Otherwise, false means that another group holds the lock.
func (s *Store) AllocateSegment(ctx context.Context, r AllocateRequest) (pending PendingSegment, lock tasklock.Lock, granted bool, err error) {
	if err := r.validate(); err != nil {
		return PendingSegment{}, tasklock.Lock{}, false, err
	}
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := r.Fence.check(ctx, t); err != nil {
			return err
		}
		var err error
		pending, lock, granted, err = t.allocate(ctx, &r)
		return err
	})
	return pending, lock, granted && err == nil, err
}

// AllocateSegments allocates an id for each of several timestamps, in their order and in one
// transaction: each is the result of AllocateSegment with the preceding id as PreviousID. It stops
// at the first timestamp whose interval another group has locked, and returns the ids before it.
func (s *Store) AllocateSegments(ctx context.Context, r AllocateRequest, timestamps []int64) (pending []PendingSegment, err error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := r.Fence.check(ctx, t); err != nil {
			return err
		}
		pending = nil
		next := r
		for _, next.Timestamp = range timestamps {
			p, _, granted, err := t.allocate(ctx, &next)
			if err != nil || !granted {
				return err
			}
			pending, next.PreviousID = append(pending, p), p.ID.String()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pending, nil
}

func (r *AllocateRequest) validate() error {
	if r.LockType != tasklock.Exclusive && r.LockType != tasklock.Shared && r.LockType != tasklock.Append {
		return fault.InvalidInput("Segments are allocated under locks of type [EXCLUSIVE], [SHARED] or [APPEND], got [%s]", r.LockType)
	}
	if r.SequenceName == "" {
		return fault.InvalidInput("An allocation needs a sequence name")
	}
	if r.Allocator == "" {
		r.Allocator = r.Owner.TaskID
	}
	check := r.lockRequest(chrono.Interval{Start: r.Timestamp, End: r.Timestamp + 1})
	return check.Validate()
}

func (r *AllocateRequest) lockRequest(iv chrono.Interval) LockRequest {
	return LockRequest{Request: tasklock.Request{Owner: r.Owner, DataSource: r.DataSource, Interval: iv, Type: r.LockType}}
}

func (r *AllocateRequest) refuse(format string, args ...any) error {
	return fault.Conflict("Can't allocate a segment of datasource [%s] for a row at [%s]: %s", r.DataSource,
		chrono.FormatMillis(r.Timestamp, chrono.UTC), fmt.Sprintf(format, args...)).WithCause(ErrCannotAllocate)
}

func (t *tx) allocate(ctx context.Context, r *AllocateRequest) (PendingSegment, tasklock.Lock, bool, error) {
	row := r.QueryGranularity.Bucket(r.Timestamp)
	if known, ok, err := t.allocated(ctx, r, row); err != nil || ok {
		if err != nil {
			return PendingSegment{}, tasklock.Lock{}, false, err
		}
		lock, granted, err := t.tryLock(ctx, r.lockRequest(known.ID.Interval))
		return known, lock, granted, err
	}

	// What a query of the row's interval sees decides the interval: appends follow the granularity
	// that is there.
	used, err := t.store.overlappingRows(ctx, t.conn, r.DataSource, row, "s.used = 1")
	if err != nil {
		return PendingSegment{}, tasklock.Lock{}, false, err
	}
	if holders := timelineOf(used).Lookup(row); len(holders) > 0 {
		iv := holders[0].Chunk.Interval
		if !iv.Contains(row) {
			return PendingSegment{}, tasklock.Lock{}, false, r.refuse("there are segments of interval [%s], which does not contain the row's "+
				"interval [%s]", iv, row)
		}
		pending, lock, granted, refusal, err := t.allocateIn(ctx, r, iv)
		if err == nil {
			err = refusal
		}
		return pending, lock, granted, err
	}
	var first error
	locked := false
	for _, granularity := range r.SegmentGranularity.AndFiner() {
		iv := granularity.Bucket(r.Timestamp)
		if !iv.Contains(row) {
			continue
		}
		pending, lock, granted, refusal, err := t.allocateIn(ctx, r, iv)
		if err != nil || granted {
			return pending, lock, granted, err
		}
		locked = locked || refusal == nil
		if first == nil {
			first = refusal
		}
	}
	switch {
	case locked:
		return PendingSegment{}, tasklock.Lock{}, false, nil
	case first == nil:
		first = r.refuse("no granularity as fine as [%s] has a bucket that contains the row's interval [%s]", r.SegmentGranularity, row)
	}
	return PendingSegment{}, tasklock.Lock{}, false, first
}

// allocated returns the id that an equal request got before.
func (t *tx) allocated(ctx context.Context, r *AllocateRequest, row chrono.Interval) (PendingSegment, bool, error) {
	var found []PendingSegment
	var err error
	if r.SkipLineage {
		found, err = t.overlappingPending(ctx, r.DataSource, row)
		found = slices.DeleteFunc(found, func(p PendingSegment) bool {
			return p.SequenceName != r.SequenceName || p.UpgradedFrom != "" || !p.ID.Interval.Contains(row)
		})
	} else {
		found, err = t.pending(ctx, "WHERE sequence_key = ?", r.sequenceKey(chrono.Interval{}))
	}
	if err != nil || len(found) == 0 {
		return PendingSegment{}, false, err
	}
	if !found[0].ID.Interval.Contains(row) {
		return PendingSegment{}, false, r.refuse("sequence [%s] has segment [%s] after [%s] already, which is of another interval",
			r.SequenceName, found[0].ID, r.PreviousID)
	}
	return found[0], true, nil
}

// sequenceKey is unique for an allocation: for its position in the sequence or, when lineage does
// not matter, its interval.
func (r *AllocateRequest) sequenceKey(iv chrono.Interval) string {
	parts := []string{r.DataSource, r.SequenceName, "after", r.PreviousID}
	if r.SkipLineage {
		parts = []string{r.DataSource, r.SequenceName, "in", iv.String()}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

// allocateIn tries one interval. The refusal says why the data there takes no append; without it,
// the lock was granted or not.
func (t *tx) allocateIn(ctx context.Context, r *AllocateRequest, iv chrono.Interval) (p PendingSegment, lock tasklock.Lock, granted bool, refusal, err error) {
	slot, refusal, err := t.slot(ctx, r, iv)
	if err != nil || refusal != nil {
		return p, lock, false, refusal, err
	}
	if lock, granted, err = t.tryLock(ctx, r.lockRequest(iv)); err != nil || !granted {
		return p, lock, false, nil, err
	}
	p = PendingSegment{
		ID:           timeline.SegmentID{DataSource: r.DataSource, Interval: iv, Version: slot.version, Partition: slot.partition},
		SequenceName: r.SequenceName, PreviousID: r.PreviousID, Allocator: r.Allocator, Created: t.now,
	}
	if p.ID.Version == "" {
		p.ID.Version = lock.Version
	}
	if err := t.avoidStored(ctx, r, &p.ID, slot.version == ""); err != nil {
		return p, lock, false, nil, err
	}
	p.Shard = timeline.Numbered{Partition: p.ID.Partition, Core: slot.core}
	return p, lock, true, nil, t.insertPending(ctx, p, r.sequenceKey(iv))
}

// slot is where in an interval the next segment goes. No version: it takes the lock's.
type slot struct {
	version         string
	partition, core int
}

// slot looks at the visible chunk of an interval and at the ids that were promised there.
func (t *tx) slot(ctx context.Context, r *AllocateRequest, iv chrono.Interval) (p slot, refusal, err error) {
	used, err := t.store.overlappingRows(ctx, t.conn, r.DataSource, iv, "s.used = 1")
	if err != nil {
		return p, nil, err
	}
	holders := timelineOf(used).Lookup(iv)
	for _, h := range holders {
		if h.Chunk.Interval != iv {
			return p, r.refuse("there are segments of interval [%s], which is not interval [%s]", h.Chunk.Interval, iv), nil
		}
	}
	var chunk *timeline.Chunk
	if len(holders) > 0 {
		chunk = holders[0].Chunk
		if chunk.CorePartitions() == timeline.UnknownCore {
			return p, r.refuse("the segments of interval [%s] and version [%s] do not record their number", iv, chunk.Version), nil
		}
		p = slot{version: chunk.Version, partition: chunk.MaxPartition() + 1, core: chunk.CorePartitions()}
	}
	promised, err := t.overlappingPending(ctx, r.DataSource, iv)
	if err != nil {
		return p, nil, err
	}
	if chunk == nil && len(promised) > 0 {
		p.version = slices.MaxFunc(promised, func(a, b PendingSegment) int { return cmp.Compare(a.ID.Version, b.ID.Version) }).ID.Version
	}
	for _, other := range promised {
		if chunk != nil && other.ID.Version != chunk.Version {
			continue // hidden by the chunk, or not published yet: no matter which, it is not appended to
		}
		if other.ID.Interval != iv {
			return p, r.refuse("the pending segment [%s] overlaps interval [%s]", other.ID, iv), nil
		}
		if other.ID.Version == p.version {
			p.partition = max(p.partition, other.ID.Partition+1)
		}
	}
	return p, nil, nil
}

// avoidStored changes an id that segments have, or had before they were marked unused: the
// partition number goes above them. A first append (the version is its lock's) must not join unused
// segments, which could be marked used again: its version gets a suffix.
func (t *tx) avoidStored(ctx context.Context, r *AllocateRequest, id *timeline.SegmentID, first bool) error {
	for range maxVersionSuffixes {
		next, err := t.nextStored(ctx, *id)
		if err != nil {
			return err
		}
		if !first || next == 0 {
			id.Partition = max(id.Partition, next)
			return nil
		}
		id.Version += "S"
	}
	return r.refuse("interval [%s] has too many versions of unused segments", id.Interval)
}

// nextStored returns the partition number above those that segments of the id's chunk have, used or
// not; 0 if there are none.
func (t *tx) nextStored(ctx context.Context, id timeline.SegmentID) (int, error) {
	var highest sql.NullInt64
	err := t.row(ctx, []any{&highest},
		"SELECT MAX(partition_num) FROM segments WHERE datasource = ? AND span = ? AND start_ms = ? AND end_ms = ? AND version = ?",
		id.DataSource, spanOf(id.Interval), id.Interval.Start, id.Interval.End, id.Version)
	if err != nil || !highest.Valid {
		return 0, err
	}
	return int(highest.Int64) + 1, nil
}
