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
	"github.com/hengedb/henge/internal/timeline"
)

// ErrCannotAllocate marks the fault of an allocation that is refused because of what is there:
// trying again as it is does not help.
var ErrCannotAllocate = errors.New("can't allocate")

// AllocateRequest asks for the id of a segment that rows from one time chunk are appended to.
type AllocateRequest struct {
	Fence      Fence
	Owner      LockOwner
	DataSource string
	// Timestamp is of a row; the segment's interval contains its bucket of QueryGranularity.
	Timestamp        int64
	QueryGranularity chrono.Granularity
	// SegmentGranularity is the interval wanted where there is no data yet. If it is taken, finer ones
	// are tried.
	SegmentGranularity chrono.Granularity
	// SequenceName and PreviousID name the allocation: asking again gives the same id, so replicas and
	// retries agree. With SkipLineage the sequence's segment in the interval is the same whatever was
	// before it.
	SequenceName string
	PreviousID   string
	SkipLineage  bool
	// LockType is EXCLUSIVE, SHARED or APPEND.
	LockType LockType
	// Allocator names those who share the ids: when its last task ends, ids that were not published
	// are forgotten. Empty: the task.
	Allocator string
}

// PendingSegment is an id that was promised and is not published yet.
type PendingSegment struct {
	ID    timeline.SegmentID
	Shard timeline.ShardSpec
	// SequenceName and PreviousID are those of the request.
	SequenceName, PreviousID string
	Allocator                string
	// UpgradedFrom is the id that this one stands for since a replacement went over it; empty for
	// others.
	UpgradedFrom string
	Created      int64
}

// AllocateSegment promises an id and locks its interval, in one transaction. ErrCannotAllocate:
// what is there does not take appends there; ErrLockRevoked: the group has lost the lock. Otherwise
// false means that another group holds the lock.
func (s *Store) AllocateSegment(ctx context.Context, r AllocateRequest) (pending PendingSegment, lock Lock, granted bool, err error) {
	if err := r.validate(); err != nil {
		return PendingSegment{}, Lock{}, false, err
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

// AllocateSegments promises an id for each of several timestamps, in their order and in one
// transaction: each is what AllocateSegment gives with the one before as PreviousID. It stops at
// the first timestamp whose interval another group has locked, and returns the ids before it.
func (s *Store) AllocateSegments(ctx context.Context, r AllocateRequest, timestamps []int64) (pending []PendingSegment, err error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := r.Fence.check(ctx, t); err != nil {
			return err
		}
		for _, r.Timestamp = range timestamps {
			p, _, granted, err := t.allocate(ctx, &r)
			if err != nil || !granted {
				return err
			}
			pending, r.PreviousID = append(pending, p), p.ID.String()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pending, nil
}

func (r *AllocateRequest) validate() error {
	if r.LockType != Exclusive && r.LockType != Shared && r.LockType != Append {
		return fault.InvalidInput("Segments are allocated under locks of type [EXCLUSIVE], [SHARED] or [APPEND], got [%s]", r.LockType)
	}
	if r.SequenceName == "" {
		return fault.InvalidInput("An allocation needs a sequence name")
	}
	if r.Allocator == "" {
		r.Allocator = r.Owner.TaskID
	}
	check := r.lockRequest(chrono.Interval{Start: r.Timestamp, End: r.Timestamp + 1})
	return check.validate()
}

func (r *AllocateRequest) lockRequest(iv chrono.Interval) LockRequest {
	return LockRequest{Owner: r.Owner, DataSource: r.DataSource, Interval: iv, Type: r.LockType}
}

func (r *AllocateRequest) refuse(format string, args ...any) error {
	return fault.Conflict("Can't allocate a segment of datasource [%s] for a row at [%s]: %s", r.DataSource,
		chrono.FormatMillis(r.Timestamp, chrono.UTC), fmt.Sprintf(format, args...)).WithCause(ErrCannotAllocate)
}

func (t *tx) allocate(ctx context.Context, r *AllocateRequest) (PendingSegment, Lock, bool, error) {
	row := r.QueryGranularity.Bucket(r.Timestamp)
	if known, ok, err := t.allocated(ctx, r, row); err != nil || ok {
		if err != nil {
			return PendingSegment{}, Lock{}, false, err
		}
		lock, granted, err := t.tryLock(ctx, r.lockRequest(known.ID.Interval))
		return known, lock, granted, err
	}

	// What a query of the row's interval sees decides the interval: appends follow the granularity
	// that is there.
	used, err := t.store.overlappingRows(ctx, t.conn, r.DataSource, row, "s.used = 1")
	if err != nil {
		return PendingSegment{}, Lock{}, false, err
	}
	if holders := timelineOf(used).Lookup(row); len(holders) > 0 {
		iv := holders[0].Chunk.Interval
		if !iv.Contains(row) {
			return PendingSegment{}, Lock{}, false, r.refuse("segments of interval [%s] are there, which does not contain the row's interval [%s]", iv, row)
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
		return PendingSegment{}, Lock{}, false, nil
	case first == nil:
		first = r.refuse("no granularity as fine as [%s] has a bucket that contains the row's interval [%s]", r.SegmentGranularity, row)
	}
	return PendingSegment{}, Lock{}, false, first
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

// sequenceKey is unique for an allocation: for its place in the sequence or, when lineage does not
// matter, its interval.
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
func (t *tx) allocateIn(ctx context.Context, r *AllocateRequest, iv chrono.Interval) (p PendingSegment, lock Lock, granted bool, refusal, err error) {
	place, refusal, err := t.place(ctx, r, iv)
	if err != nil || refusal != nil {
		return p, lock, false, refusal, err
	}
	if lock, granted, err = t.tryLock(ctx, r.lockRequest(iv)); err != nil || !granted {
		return p, lock, false, nil, err
	}
	p = PendingSegment{
		ID:           timeline.SegmentID{DataSource: r.DataSource, Interval: iv, Version: place.version, Partition: place.partition},
		SequenceName: r.SequenceName, PreviousID: r.PreviousID, Allocator: r.Allocator, Created: t.now,
	}
	if p.ID.Version == "" {
		p.ID.Version = lock.Version
	}
	if err := t.avoidStored(ctx, r, &p.ID, place.version == ""); err != nil {
		return p, lock, false, nil, err
	}
	p.Shard = timeline.Numbered{Partition: p.ID.Partition, Core: place.core}
	return p, lock, true, nil, t.insertPending(ctx, p, r.sequenceKey(iv))
}

// place is where in an interval the next segment goes. No version: it takes the lock's.
type place struct {
	version         string
	partition, core int
}

// place looks at the visible chunk of an interval and at the ids that were promised there.
func (t *tx) place(ctx context.Context, r *AllocateRequest, iv chrono.Interval) (p place, refusal, err error) {
	used, err := t.store.overlappingRows(ctx, t.conn, r.DataSource, iv, "s.used = 1")
	if err != nil {
		return p, nil, err
	}
	holders := timelineOf(used).Lookup(iv)
	for _, h := range holders {
		if h.Chunk.Interval != iv {
			return p, r.refuse("segments of interval [%s] are there, which is not interval [%s]", h.Chunk.Interval, iv), nil
		}
	}
	var chunk *timeline.Chunk
	if len(holders) > 0 {
		chunk = holders[0].Chunk
		if chunk.CorePartitions() == timeline.UnknownCore {
			return p, r.refuse("the segments of interval [%s] and version [%s] do not tell how many they are", iv, chunk.Version), nil
		}
		p = place{version: chunk.Version, partition: chunk.MaxPartition() + 1, core: chunk.CorePartitions()}
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
