package metastore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/timeline"
)

// changeEntry is a segment that became used or stopped being so.
type changeEntry struct {
	id    timeline.SegmentID
	added bool
}

func (t *tx) added(id timeline.SegmentID)   { t.entries = append(t.entries, changeEntry{id, true}) }
func (t *tx) removed(id timeline.SegmentID) { t.entries = append(t.entries, changeEntry{id, false}) }

// writeChanges gives the entries of the operation their number.
func (t *tx) writeChanges(ctx context.Context) error {
	if len(t.entries) == 0 {
		return nil
	}
	if err := t.store.step(stepChanges); err != nil {
		return err
	}
	number, err := t.counter(ctx, "change", 1)
	if err != nil {
		return err
	}
	t.number = number
	rows := make([][]any, len(t.entries))
	for i, e := range t.entries {
		rows[i] = []any{
			number, i, flag(e.added), e.id.String(), e.id.DataSource, e.id.Interval.Start, e.id.Interval.End, e.id.Version, e.id.Partition,
		}
	}
	if err := t.insert(ctx, "changes", "number, ordinal, added, segment_id, datasource, start_ms, end_ms, version, partition_num", "", rows); err != nil {
		return err
	}
	_, err = t.exec(ctx, "INSERT INTO change_heads (number, entries, at) VALUES (?, ?, ?)", number, len(t.entries), t.now)
	return err
}

// ErrTooOld means that the change stream no longer contains the requested number: the reader must
// restart from a Snapshot.
var ErrTooOld = errors.New("the change stream does not reach back that far")

// Batch contains consecutive changes up to a number. Applied to the preceding state, they result in
// exactly the state of that number.
type Batch struct {
	Number  int64
	Changes []timeline.Change
}

// Changes returns a batch of the changes after a number of the change stream, with all changes of
// each included number. The batch is empty if there are none yet.
func (s *Store) Changes(ctx context.Context, since int64) (Batch, error) {
	batch, _, err := s.changes(ctx, since, 0)
	return batch, err
}

// A mark is when a number of the change stream was written, 0: that is not known any more. A
// database that has lost its last moments, or was put back, may give a number a second time; then
// it has another mark.

// changes is Changes for one who knows the mark of the number asked for, 0: not. It returns that of
// the number reached.
func (s *Store) changes(ctx context.Context, since, mark int64) (Batch, int64, error) {
	var batch Batch
	known := mark
	err := s.view(ctx, func(c conn) error {
		batch = Batch{Number: since}
		var interner timeline.Interner
		var newest, floor int64
		if err := c.row(ctx, []any{&newest}, "SELECT value FROM counters WHERE name = 'change'"); err != nil {
			return err
		}
		if err := c.row(ctx, []any{&floor}, "SELECT value FROM counters WHERE name = 'change_floor'"); err != nil {
			return err
		}
		if since < floor || since > newest {
			return ErrTooOld
		}
		now, err := c.mark(ctx, since)
		if err != nil {
			return err
		}
		if known != 0 && now != known && since > floor {
			return ErrTooOld
		}
		mark = now
		upTo, entries := since, int64(0)
		err = c.each(ctx, func(rows *sql.Rows) error {
			var number, n int64
			if err := rows.Scan(&number, &n); err != nil {
				return err
			}
			if upTo == since || entries+n <= maxChangeEntries {
				upTo, entries = number, entries+n
			} else {
				entries = maxChangeEntries + 1 // the rest waits for the next read
			}
			return nil
		}, "SELECT number, entries FROM change_heads WHERE number > ? ORDER BY number LIMIT 1000", since)
		if err != nil || upTo == since {
			return err
		}
		scanned, err := s.scanChanges(ctx, c, since, upTo)
		if err != nil {
			return err
		}
		for _, change := range scanned {
			if change.Segment != nil {
				interner.Segment(change.Segment)
			}
		}
		batch.Number, batch.Changes = upTo, scanned
		mark, err = c.mark(ctx, upTo)
		return err
	})
	return batch, mark, err
}

// mark returns that of a number, 0: it is not known.
func (c conn) mark(ctx context.Context, number int64) (mark int64, err error) {
	err = c.row(ctx, []any{&mark}, "SELECT at FROM change_heads WHERE number = ?", number)
	if errors.Is(err, errNoRow) {
		return 0, nil
	}
	return mark, err
}

// scanChanges reads the entries of the numbers in (since, upTo].
func (s *Store) scanChanges(ctx context.Context, c conn, since, upTo int64) ([]timeline.Change, error) {
	var changes []timeline.Change
	var added []int // indexes of changes that need a descriptor
	err := c.each(ctx, func(rows *sql.Rows) error {
		var change timeline.Change
		var isAdded bool
		id := &change.ID
		if err := rows.Scan(&isAdded, &id.DataSource, &id.Interval.Start, &id.Interval.End, &id.Version, &id.Partition); err != nil {
			return err
		}
		if isAdded {
			added = append(added, len(changes))
		}
		changes = append(changes, change)
		return nil
	}, "SELECT added, datasource, start_ms, end_ms, version, partition_num FROM changes WHERE number > ? AND number <= ? "+
		"ORDER BY number, ordinal", since, upTo)
	if err != nil || len(added) == 0 {
		return changes, err
	}
	scanned, err := list(ctx, c, scanSegment, selectSegments+
		"WHERE s.id IN (SELECT segment_id FROM changes WHERE number > ? AND number <= ? AND added = 1)", since, upTo)
	if err != nil {
		return nil, err
	}
	rows, err := s.resolve(ctx, c, scanned)
	if err != nil {
		return nil, err
	}
	byID := make(map[timeline.SegmentID]*timeline.Segment, len(rows))
	for _, r := range rows {
		byID[r.ID] = r.Segment
	}
	for _, i := range added {
		// Deleting a row raises the floor of the stream above its entries, so a descriptor is never
		// missing.
		if changes[i].Segment = byID[changes[i].ID]; changes[i].Segment == nil {
			return nil, fmt.Errorf("the change stream names segment [%s], which is not stored", changes[i].ID)
		}
	}
	return changes, nil
}

// Number returns the newest number of the change stream.
func (s *Store) Number(ctx context.Context) (number int64, err error) {
	return number, s.read().row(ctx, []any{&number}, "SELECT value FROM counters WHERE name = 'change'")
}

// WaitChange returns when the change stream has a number above since, or ctx is done.
func (s *Store) WaitChange(ctx context.Context, since int64) error {
	return s.waitChange(ctx, since, 0)
}

// waitChange is WaitChange for one who knows the mark of since, 0: not. It also returns when that
// has become another, or the stream ends before it.
func (s *Store) waitChange(ctx context.Context, since, mark int64) error {
	for {
		changed := s.changed.next()
		var number, now int64
		err := s.read().row(ctx, []any{&number, &now}, "SELECT c.value, COALESCE((SELECT h.at FROM change_heads h WHERE h.number = c.value), 0) "+
			"FROM counters c WHERE c.name = 'change'")
		if err != nil || number > since || mark != 0 && (number < since || now != 0 && now != mark) {
			return err
		}
		if err := s.await(ctx, changed, pollChanges); err != nil {
			return err
		}
	}
}

// Snapshot returns all used segments at one number of the change stream.
func (s *Store) Snapshot(ctx context.Context) (*timeline.State, error) {
	state, _, err := s.snapshot(ctx)
	return state, err
}

// snapshot also returns the mark of the number.
func (s *Store) snapshot(ctx context.Context) (state *timeline.State, mark int64, err error) {
	err = s.view(ctx, func(c conn) (err error) {
		var number int64
		if err := c.row(ctx, []any{&number}, "SELECT value FROM counters WHERE name = 'change'"); err != nil {
			return err
		}
		if mark, err = c.mark(ctx, number); err != nil {
			return err
		}
		rows, err := s.segmentRows(ctx, c, "WHERE s.used = 1")
		if err != nil {
			return err
		}
		var interner timeline.Interner
		state = timeline.NewState(number, func(yield func(*timeline.Segment) bool) {
			for _, r := range rows {
				interner.Segment(r.Segment)
				if !yield(r.Segment) {
					return
				}
			}
		})
		return nil
	})
	return state, mark, err
}

// Follow advances p to the newest published state until ctx is done, and then returns the error of
// ctx. If the database has lost its last commits, the state is reset to the surviving one.
func (s *Store) Follow(ctx context.Context, p *timeline.Published) error {
	state, mark, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	p.Reset(state)
	for {
		at := p.Pin().Number()
		batch, reached, err := s.changes(ctx, at, mark)
		switch {
		case errors.Is(err, ErrTooOld):
			if state, mark, err = s.snapshot(ctx); err != nil {
				return err
			}
			p.Reset(state)
			continue
		case err != nil:
			return err
		case batch.Number > at:
			if err := p.Advance(batch.Number, batch.Changes); err != nil {
				return err
			}
		default:
			if err := s.waitChange(ctx, at, reached); err != nil {
				return err
			}
		}
		mark = reached
	}
}

// CompactChanges deletes the entries of the change stream that are older than an instant. Readers
// that have not read them need a snapshot.
func (s *Store) CompactChanges(ctx context.Context, fence Fence, before int64) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		var number sql.NullInt64
		if err := t.row(ctx, []any{&number}, "SELECT MAX(number) FROM change_heads WHERE at < ?", before); err != nil || !number.Valid {
			return err
		}
		return t.raiseFloor(ctx, number.Int64)
	})
}

// raiseFloor forgets the change stream up to a number.
func (t *tx) raiseFloor(ctx context.Context, number int64) error {
	for _, query := range []string{
		"UPDATE counters SET value = ? WHERE name = 'change_floor' AND value < ?",
		"DELETE FROM changes WHERE number <= ? AND number <= ?",
		"DELETE FROM change_heads WHERE number <= ? AND number <= ?",
	} {
		if _, err := t.exec(ctx, query, number, number); err != nil {
			return err
		}
	}
	return nil
}
