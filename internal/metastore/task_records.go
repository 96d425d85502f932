package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/timeline"
)

const putStage = "INSERT INTO task_stages (task_id, name, payload, updated) VALUES (?, ?, ?, ?) " +
	"ON CONFLICT (task_id, name) DO UPDATE SET payload = excluded.payload, updated = excluded.updated"

// PutTaskStage stores a record from which a task can continue, and replaces the record with the
// same name.
func (s *Store) PutTaskStage(ctx context.Context, fence Fence, taskID, name string, payload json.RawMessage) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		_, err := t.exec(ctx, putStage, taskID, name, t.sealer.Seal("task_stages", jsonText(payload)), t.now)
		return err
	})
}

// TaskStages returns the records of a task by name.
func (s *Store) TaskStages(ctx context.Context, taskID string) (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage)
	err := s.read().gather(ctx, func() { clear(out) }, func(rows *sql.Rows) error {
		var name, payload string
		err := rows.Scan(&name, &payload)
		if err == nil {
			payload, err = s.options.Sealer.Open("task_stages", payload)
		}
		out[name] = json.RawMessage(payload)
		return err
	}, "SELECT name, payload FROM task_stages WHERE task_id = ?", taskID)
	return out, err
}

// DeleteTaskStages deletes the records of a task.
func (s *Store) DeleteTaskStages(ctx context.Context, fence Fence, taskID string) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM task_stages WHERE task_id = ?", taskID)
		return err
	})
}

// publishedStage begins the names of the records of what a task has published.
const publishedStage = "published/"

// notePublished records what a publication made visible, in its transaction: a run of the task that
// comes after it knows what is done.
func (t *tx) notePublished(ctx context.Context, p *Publication, segments []*timeline.Segment) error {
	ids, err := json.Marshal(textIDs(segments))
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, putStage, p.TaskID, publishedStage+p.Part, t.sealer.Seal("task_stages", string(ids)), t.now)
	return err
}

// TaskPublished returns the result of a publication by an earlier run of a task; false: there was
// none. Segments that were deleted meanwhile are omitted, and the number is the current one.
func (s *Store) TaskPublished(ctx context.Context, taskID, part string) (Published, bool, error) {
	var text string
	err := s.read().row(ctx, []any{&text}, "SELECT payload FROM task_stages WHERE task_id = ? AND name = ?", taskID, publishedStage+part)
	if errors.Is(err, errNoRow) {
		return Published{}, false, nil
	}
	if err != nil {
		return Published{}, false, err
	}
	if text, err = s.options.Sealer.Open("task_stages", text); err != nil {
		return Published{}, false, err
	}
	var ids []string
	if err := json.Unmarshal([]byte(text), &ids); err != nil {
		return Published{}, false, fmt.Errorf("reading what task [%s] has published: %w", taskID, err)
	}
	number, err := s.Number(ctx)
	if err != nil {
		return Published{}, false, err
	}
	rows, err := s.rowsByID(ctx, s.read(), ids)
	if err != nil {
		return Published{}, false, err
	}
	out := Published{Number: number, Already: true}
	for _, r := range rows {
		out.Segments = append(out.Segments, r.Segment)
	}
	return out, true, nil
}

// TaskFile is the location of a file of a task.
type TaskFile struct {
	TaskID string
	// Kind is "report" or "log".
	Kind string
	// Location is the load spec of the file in JSON.
	Location json.RawMessage
}

// PutTaskFile stores the location of a file of a task, and replaces the one of the same kind.
func (s *Store) PutTaskFile(ctx context.Context, fence Fence, file TaskFile) error {
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		_, err := t.exec(ctx, "INSERT INTO task_files (task_id, kind, location, updated) VALUES (?, ?, ?, ?) "+
			"ON CONFLICT (task_id, kind) DO UPDATE SET location = excluded.location, updated = excluded.updated",
			file.TaskID, file.Kind, jsonText(file.Location), t.now)
		return err
	})
}

// TaskFile returns the location of a file of a task, and whether it exists.
func (s *Store) TaskFile(ctx context.Context, taskID, kind string) (TaskFile, bool, error) {
	files, err := s.read().taskFiles(ctx, "WHERE task_id = ? AND kind = ?", taskID, kind)
	if err != nil || len(files) == 0 {
		return TaskFile{}, false, err
	}
	return files[0], true, nil
}

func (c conn) taskFiles(ctx context.Context, condition string, args ...any) ([]TaskFile, error) {
	return list(ctx, c, func(rows *sql.Rows) (f TaskFile, err error) {
		var location string
		err = rows.Scan(&f.TaskID, &f.Kind, &location)
		f.Location = json.RawMessage(location)
		return f, err
	}, "SELECT task_id, kind, location FROM task_files "+condition+" ORDER BY task_id, kind", args...)
}
