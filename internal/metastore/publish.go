package metastore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// The steps of Publish, in their order. The first six are inside the transaction; only the chosen
// action's are passed. After stepCommitted the caller is told.
const (
	stepChecked   = "publish-1-checked"   // the epoch and the locks were checked
	stepOffsets   = "publish-2-offsets"   // the offsets were moved
	stepUnused    = "publish-3-unused"    // replaced intervals without new rows were marked unused
	stepSegments  = "publish-4-segments"  // the segments, their files and schemas were written
	stepUpgrades  = "publish-5-upgrades"  // concurrent appends were upgraded, or noted for upgrade
	stepChanges   = "publish-6-changes"   // the change stream is written next, then the commit
	stepCommitted = "publish-7-committed" // the transaction is on disk
)

// PublishSteps are the steps for which Options.FaultPoint is called, in order.
func PublishSteps() []string {
	return []string{stepChecked, stepOffsets, stepUnused, stepSegments, stepUpgrades, stepChanges, stepCommitted}
}

// PublishAction is the relation of new segments to existing ones.
type PublishAction int

const (
	// PublishInsert is for holders of EXCLUSIVE and SHARED locks: replacements without concurrency,
	// and appends.
	PublishInsert PublishAction = iota
	// PublishAppend is for holders of APPEND locks: a concurrent replacement keeps the rows.
	PublishAppend
	// PublishReplace is for holders of REPLACE locks: rows that were appended after the lock was
	// granted remain visible.
	PublishReplace
)

// ErrNotLocked marks the fault of publishing without a lock.
var ErrNotLocked = errors.New("not locked")

// Publication is an atomic change that a task publishes, with its conditions.
type Publication struct {
	Fence  Fence
	TaskID string
	// Part identifies the publication among those of the task, for TaskPublished.
	Part       string
	DataSource string
	Action     PublishAction
	// Segments become used. Their bytes must already be in deep storage. The file name of a segment
	// without File is its id.
	Segments []*timeline.Segment
	// MarkUnused are replaced intervals without new segments or tombstones: the segments fully inside
	// become unused.
	MarkUnused []chrono.Interval
	// Offsets, if not nil, are moved in the same transaction.
	Offsets *OffsetSwap
}

// OffsetSwap changes the offsets of a stream.
type OffsetSwap struct {
	// ID is the id of the supervisor.
	ID string
	// Next gets the stored payload, nil if there is none, and returns the one to store. If it returns
	// an error, nothing is published and the caller gets the error. It runs inside the transaction: no
	// waiting, no I/O.
	Next func(stored json.RawMessage) (json.RawMessage, error)
}

// Published is the result of a publication.
type Published struct {
	// Number is the number of the change stream. A query that pins this number or a higher one sees
	// the whole publication.
	Number int64
	// Segments are the segments of the task and the upgraded segments that were published with them:
	// its appends under the versions of replacements, or the appends of other tasks under its version.
	Segments []*timeline.Segment
	// Already is true if all segments were already published, by an attempt whose response was lost or
	// by a replica.
	Already bool
	// UpgradedPending are the allocated ids of running appends under the new version: UpgradedFrom is
	// the id that they know.
	UpgradedPending []PendingSegment
}

// Publish makes segments visible in one transaction, or does nothing.
func (s *Store) Publish(ctx context.Context, p Publication) (Published, error) {
	if err := p.prepare(); err != nil {
		return Published{}, err
	}
	var out Published
	var done *tx
	err := s.write(ctx, func(ctx context.Context, t *tx) error {
		done = t
		var err error
		out, err = t.publish(ctx, &p)
		return err
	})
	if err != nil {
		return Published{}, err
	}
	if done.number > 0 {
		out.Number = done.number
	}
	return out, nil
}

// prepare validates the publication and completes its segments, without changing the caller's.
func (p *Publication) prepare() error {
	if p.TaskID == "" || p.DataSource == "" {
		return fault.InvalidInput("A publication needs a task and a datasource")
	}
	seen := make(map[timeline.SegmentID]bool, len(p.Segments))
	p.Segments = slices.Clone(p.Segments)
	for i, s := range p.Segments {
		if err := s.Validate(); err != nil {
			return err
		}
		if s.ID.DataSource != p.DataSource {
			return fault.InvalidInput("Segment [%s] does not belong to datasource [%s]", s.ID, p.DataSource)
		}
		if seen[s.ID] {
			return fault.InvalidInput("Segment [%s] is published twice", s.ID)
		}
		seen[s.ID] = true
		switch {
		case s.IsTombstone() && s.File != "":
			return fault.InvalidInput("Segment [%s] is a tombstone and has a file", s.ID)
		case !s.IsTombstone() && !s.IsLocated():
			return fault.InvalidInput("Segment [%s] has no load spec", s.ID)
		case !s.IsTombstone() && s.File == "":
			c := *s
			c.File = s.ID.String()
			p.Segments[i] = &c
		}
	}
	slices.SortFunc(p.Segments, func(a, b *timeline.Segment) int { return a.ID.Compare(b.ID) })
	return nil
}

func (t *tx) publish(ctx context.Context, p *Publication) (Published, error) {
	out := Published{Segments: p.Segments}
	if err := p.Fence.check(ctx, t); err != nil {
		return out, err
	}
	already, err := t.alreadyPublished(ctx, p)
	if err != nil {
		return out, err
	}
	if already {
		out.Already = true
		return out, t.row(ctx, []any{&out.Number}, "SELECT value FROM counters WHERE name = 'change'")
	}
	held, err := t.taskLocks(ctx, p.TaskID, p.DataSource)
	if err != nil {
		return out, err
	}
	if err := p.checkLocks(held); err != nil {
		return out, err
	}
	if err := t.store.step(stepChecked); err != nil {
		return out, err
	}
	if p.Offsets != nil {
		if err := t.swapOffsets(ctx, p.DataSource, p.Offsets); err != nil {
			return out, err
		}
		if err := t.store.step(stepOffsets); err != nil {
			return out, err
		}
	}
	var copies copies
	if p.Action == PublishReplace {
		if copies, err = t.upgradeAppended(ctx, p, held); err != nil {
			return out, err
		}
		out.Segments = copies.replacing
	}
	if len(p.MarkUnused) > 0 {
		if err := t.markReplacedUnused(ctx, p, held); err != nil {
			return out, err
		}
		if err := t.store.step(stepUnused); err != nil {
			return out, err
		}
	}
	if p.Action == PublishAppend {
		if copies, err = t.copyToReplaced(ctx, p); err != nil {
			return out, err
		}
		if err := t.checkNotHidden(ctx, p, copies); err != nil {
			return out, err
		}
	}
	out.Segments = slices.Concat(out.Segments, copies.segments)
	if err := t.insertSegments(ctx, p.TaskID, out.Segments, copies.from); err != nil {
		return out, err
	}
	if err := t.notePublished(ctx, p, out.Segments); err != nil {
		return out, err
	}
	if err := t.store.step(stepSegments); err != nil {
		return out, err
	}
	switch p.Action {
	case PublishAppend:
		err = t.noteForUpgrade(ctx, p)
	case PublishReplace:
		out.UpgradedPending, err = t.upgradePending(ctx, out.Segments)
	}
	if err != nil {
		return out, err
	}
	if p.Action != PublishInsert {
		err = t.store.step(stepUpgrades)
	}
	if len(t.entries) == 0 && err == nil {
		// Nothing became visible: offsets that advanced over rejected rows.
		err = t.row(ctx, []any{&out.Number}, "SELECT value FROM counters WHERE name = 'change'")
	}
	return out, err
}

// alreadyPublished reports whether all segments are stored with the same bytes. Some, or other
// bytes, are a conflict.
func (t *tx) alreadyPublished(ctx context.Context, p *Publication) (bool, error) {
	if len(p.Segments) == 0 {
		return false, nil
	}
	stored, err := t.store.rowsByID(ctx, t.conn, textIDs(p.Segments))
	if err != nil || len(stored) == 0 {
		return false, err
	}
	files := make(map[timeline.SegmentID]string, len(stored))
	for _, r := range stored {
		files[r.ID] = r.File
	}
	for _, s := range p.Segments {
		if file, ok := files[s.ID]; ok && file != s.File {
			return false, fault.Conflict("Segment [%s] is published already with other contents", s.ID)
		}
	}
	if len(stored) < len(p.Segments) {
		return false, fault.Conflict("Segment [%s] is published already, but not with all segments of this publication", stored[0].ID)
	}
	return true, nil
}

// checkLocks refuses intervals that the task has no lock over.
func (p *Publication) checkLocks(held []tasklock.Lock) error {
	exact := make(map[chrono.Interval][]tasklock.Lock, len(held)) // of many chunks with a lock each, most are found here
	for _, l := range held {
		exact[l.Interval] = append(exact[l.Interval], l)
	}
	for _, s := range p.Segments {
		if p.checkLock(exact[s.ID.Interval], s.ID.Interval, s.ID.Version) == nil {
			continue
		}
		if err := p.checkLock(held, s.ID.Interval, s.ID.Version); err != nil {
			return err
		}
	}
	for _, iv := range p.MarkUnused {
		if err := p.checkLock(held, iv, ""); err != nil {
			return err
		}
	}
	return nil
}

func (p *Publication) checkLock(held []tasklock.Lock, iv chrono.Interval, version string) error {
	var revoked *tasklock.Lock
	for i, l := range held {
		if !p.Action.allows(l.Type) || !l.Interval.Contains(iv) {
			continue
		}
		// Appended segments take the version that is there, which a lock of type APPEND does not know.
		if l.Type != tasklock.Append && version > l.Version {
			continue
		}
		if !l.Revoked {
			return nil
		}
		revoked = &held[i]
	}
	if revoked != nil {
		return revokedFault(p.TaskID, *revoked)
	}
	return fault.Conflict("Task [%s] has no lock to publish into interval [%s] of datasource [%s]",
		p.TaskID, iv, p.DataSource).WithCause(ErrNotLocked)
}

func (a PublishAction) allows(l tasklock.Type) bool {
	switch a {
	case PublishInsert:
		return l == tasklock.Exclusive || l == tasklock.Shared
	case PublishAppend:
		return l == tasklock.Append
	case PublishReplace:
		return l == tasklock.Replace
	}
	return false
}

// markReplacedUnused marks the segments inside MarkUnused unused, except what was appended since
// the REPLACE lock was granted.
func (t *tx) markReplacedUnused(ctx context.Context, p *Publication, held []tasklock.Lock) error {
	keep := make(map[string]bool)
	if p.Action == PublishReplace {
		for _, l := range held {
			appended, err := t.noted(ctx, l.ID)
			if err != nil {
				return err
			}
			for _, n := range appended {
				keep[n.id] = true
			}
		}
	}
	var ids []timeline.SegmentID
	for _, iv := range chrono.Condense(p.MarkUnused) {
		rows, err := t.store.overlappingRows(ctx, t.conn, p.DataSource, iv, "s.used = 1")
		if err != nil {
			return err
		}
		for _, r := range rows {
			if iv.Contains(r.ID.Interval) && !keep[r.ID.String()] && !keep[r.UpgradedFrom] {
				ids = append(ids, r.ID)
			}
		}
	}
	slices.SortFunc(ids, func(a, b timeline.SegmentID) int { return cmp.Compare(a.String(), b.String()) })
	return t.setUsed(ctx, ids, false)
}
