package metastore

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

// File is a file of segments in deep storage.
type File struct {
	ID       string
	LoadSpec json.RawMessage
	Size     int64
}

// addReferences makes sure that the files are there and counts new references to them. A file whose
// last reference is gone may be under deletion: it can't be published again.
func (t *tx) addReferences(ctx context.Context, files [][]any, refs map[string]int64) error {
	if len(files) == 0 {
		return nil
	}
	ids := make([]string, 0, len(files))
	for _, f := range files {
		ids = append(ids, f[0].(string))
	}
	condemned := ""
	err := forIDs(ids, func(marks string, args []any) error {
		return t.each(ctx, func(rows *sql.Rows) error { return rows.Scan(&condemned) },
			"SELECT id FROM files WHERE refs = 0 AND id IN ("+marks+")", args...)
	})
	if err != nil {
		return err
	}
	if condemned != "" {
		return fault.Conflict("The file [%s] is being deleted from deep storage and can't be published: write the segment to a new file", condemned)
	}
	if err := t.insert(ctx, "files", "id, load_spec, size, refs, created", "ON CONFLICT (id) DO NOTHING", files); err != nil {
		return err
	}
	// Nearly all files are named once: one statement for each count.
	byCount := make(map[int64][]string)
	for _, id := range ids {
		byCount[refs[id]] = append(byCount[refs[id]], id)
	}
	for n, ids := range byCount {
		err := forIDs(ids, func(marks string, args []any) error {
			_, err := t.exec(ctx, "UPDATE files SET refs = refs + ? WHERE id IN ("+marks+")", append([]any{n}, args...)...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// UnreferencedFiles returns the files that no segment row references any more, by id: the caller
// may delete their bytes and then call ForgetFiles.
func (s *Store) UnreferencedFiles(ctx context.Context, limit int) ([]File, error) {
	return list(ctx, s.read(), scanFile, "SELECT id, load_spec, size FROM files WHERE refs = 0 ORDER BY id LIMIT ?", limit)
}

// DataSourceFiles calls fn with each file of used and unused segments of a datasource, until fn
// returns an error. fn must not use the Store.
func (s *Store) DataSourceFiles(ctx context.Context, dataSource string, fn func(File) error) error {
	return s.read().each(ctx, func(rows *sql.Rows) error {
		f, err := scanFile(rows)
		if err != nil {
			return err
		}
		return fn(f)
	}, "SELECT f.id, f.load_spec, f.size FROM files f WHERE f.id IN (SELECT s.file_id FROM segments s WHERE s.datasource = ?)", dataSource)
}

func scanFile(rows *sql.Rows) (f File, err error) {
	var loadSpec string
	err = rows.Scan(&f.ID, &loadSpec, &f.Size)
	f.LoadSpec = json.RawMessage(loadSpec)
	return f, err
}

// ForgetFiles deletes the rows of files whose bytes were deleted. Referenced files are kept.
func (s *Store) ForgetFiles(ctx context.Context, fence Fence, ids []string) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		return forIDs(ids, func(marks string, args []any) error {
			_, err := t.exec(ctx, "DELETE FROM files WHERE refs = 0 AND id IN ("+marks+")", args...)
			return err
		})
	})
}

func sortByText(rows []SegmentRow) {
	texts := make(map[timeline.SegmentID]string, len(rows))
	for _, r := range rows {
		texts[r.ID] = r.ID.String()
	}
	slices.SortFunc(rows, func(a, b SegmentRow) int { return cmp.Compare(texts[a.ID], texts[b.ID]) })
}

// MoveFile records that the bytes of a file at f.LoadSpec were copied to to, and reports whether it
// accepts the new location. It rejects the move if a used segment references the file, because
// queries know its old location, or if the file was moved or deleted concurrently. The superfluous
// bytes, old or new, become an unreferenced file with the id left: see UnreferencedFiles.
func (s *Store) MoveFile(ctx context.Context, fence Fence, f File, to json.RawMessage) (left string, moved bool, err error) {
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", false, err
	}
	left = f.ID + "#" + hex.EncodeToString(random[:])
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		n, err := t.exec(ctx, "UPDATE files SET load_spec = ? WHERE id = ? AND load_spec = ? AND refs > 0 AND NOT EXISTS "+
			"(SELECT 1 FROM segments s WHERE s.file_id = files.id AND s.used = 1)", string(to), f.ID, string(f.LoadSpec))
		if err != nil {
			return err
		}
		unwanted := to
		if moved = n > 0; moved {
			unwanted = f.LoadSpec
		}
		return t.insert(ctx, "files", "id, load_spec, size, refs, created", "", [][]any{{left, string(unwanted), f.Size, 0, t.now}})
	})
	return left, moved, err
}
