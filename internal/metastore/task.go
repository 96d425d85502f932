package metastore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
)

// Task is a task and its status.
type Task struct {
	ID, GroupID string
	// Allocator identifies the tasks that share allocated segment ids (AllocateRequest.Allocator). If
	// empty on insertion, it is set to the id.
	Allocator  string
	Type       string
	DataSource string
	Priority   int
	// Created is set on insertion if it is 0. Updated is the time of the last change.
	Created, Updated int64
	// Active is true if the task is not complete. StatusCode is RUNNING, SUCCESS or FAILED.
	Active     bool
	StatusCode string
	// Run is the number of the last run of the task (AssignTask), and Runner the process that was
	// assigned to it, in JSON; nil: the task was never assigned.
	Run    int64
	Runner json.RawMessage
	// Payload is the submitted task; nil in lists that do not request it. Status is the rest of its
	// status, in JSON.
	Payload, Status json.RawMessage
}

// InsertTask stores a new task and, if entry is not nil, its audit entry. A second task with the
// same id is a fault with code entryAlreadyExists.
func (s *Store) InsertTask(ctx context.Context, fence Fence, task Task, entry *AuditEntry) error {
	if task.ID == "" || task.GroupID == "" {
		return fault.InvalidInput("A task needs an id and a group")
	}
	if task.Allocator == "" {
		task.Allocator = task.ID
	}
	return s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		if task.Created == 0 {
			task.Created = t.now
		}
		n, err := t.exec(ctx, "INSERT INTO tasks (id, group_id, allocator, type, datasource, priority, created, updated, active, status_code, payload, "+
			"status) VALUES ("+marks(12)+") ON CONFLICT (id) DO NOTHING", task.ID, task.GroupID, task.Allocator, task.Type, task.DataSource,
			task.Priority, task.Created, t.now, flag(task.Active), task.StatusCode,
			t.sealer.Seal("tasks", jsonText(task.Payload)), jsonText(task.Status))
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.InvalidInput("Task[%s] already exists", task.ID).WithCode("entryAlreadyExists")
		}
		return t.audit(ctx, entry)
	})
}

// jsonText stores an absent JSON value as null.
func jsonText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}

// UpdateTask replaces the status of an active task. It does not change a complete task and returns
// false.
func (s *Store) UpdateTask(ctx context.Context, fence Fence, id, statusCode string, status json.RawMessage) (updated bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		n, err := t.exec(ctx, "UPDATE tasks SET status_code = ?, status = ?, updated = ? WHERE id = ? AND active = 1",
			statusCode, jsonText(status), t.now, id)
		if updated = n > 0; err != nil || updated {
			return err
		}
		return t.checkTask(ctx, id)
	})
	return updated, err
}

// AssignTask records the process that runs an active task, and returns the number of the run.
// Writes of earlier runs are rejected from then on. A complete task is a Conflict. Numbers are
// derived from the clock, so that a number that a database has lost with its last commits is not
// reused.
func (s *Store) AssignTask(ctx context.Context, fence Fence, id string, runner json.RawMessage) (run int64, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		err := t.row(ctx, []any{&run}, "UPDATE tasks SET run = CASE WHEN run < ? THEN ? ELSE run + 1 END, runner = ?, updated = ? WHERE id = ? AND active = 1 RETURNING run",
			t.now, t.now, jsonText(runner), t.now, id)
		if !errors.Is(err, errNoRow) {
			return err
		}
		if err := t.checkTask(ctx, id); err != nil {
			return err
		}
		return fault.Conflict("Task [%s] has ended and is not run again", id)
	})
	return run, err
}

// FinishTask completes a task: its status becomes final, its locks are released and, if no active
// task shares its allocator, its allocated and unpublished ids are deleted. It does not change a
// complete task and returns false.
func (s *Store) FinishTask(ctx context.Context, fence Fence, id, statusCode string, status json.RawMessage) (finished bool, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		n, err := t.exec(ctx, "UPDATE tasks SET active = 0, status_code = ?, status = ?, updated = ? WHERE id = ? AND active = 1",
			statusCode, jsonText(status), t.now, id)
		if err != nil {
			return err
		}
		if finished = n > 0; !finished {
			return t.checkTask(ctx, id)
		}
		if err := t.releaseLocks(ctx, id, nil); err != nil {
			return err
		}
		_, err = t.exec(ctx, "DELETE FROM pending_segments WHERE allocator = (SELECT allocator FROM tasks WHERE id = ?) AND NOT EXISTS "+
			"(SELECT 1 FROM tasks a WHERE a.allocator = pending_segments.allocator AND a.active = 1)", id)
		return err
	})
	return finished, err
}

func (c conn) checkTask(ctx context.Context, id string) error {
	var one int
	err := c.row(ctx, []any{&one}, "SELECT 1 FROM tasks WHERE id = ?", id)
	if errors.Is(err, errNoRow) {
		return taskNotFound(id)
	}
	return err
}

func taskNotFound(id string) error { return fault.NotFound("Cannot find any task with id: [%s]", id) }

// Task returns a task with its payload. An unknown id is a NotFound fault.
func (s *Store) Task(ctx context.Context, id string) (Task, error) {
	found, err := s.Tasks(ctx, TaskFilter{IDs: []string{id}, Payload: true})
	if err == nil && len(found) == 0 {
		err = taskNotFound(id)
	}
	if err != nil {
		return Task{}, err
	}
	return found[0], nil
}

// TaskFilter selects tasks; its zero value selects all.
type TaskFilter struct {
	// IDs, if not nil, selects tasks by id.
	IDs []string
	// Active, if not nil, selects active or complete tasks.
	Active     *bool
	DataSource string
	Type       string
	GroupID    string
	// Created, if not nil, selects tasks created in the interval. CompletedSince selects active tasks
	// and tasks that changed at or after it.
	Created        *chrono.Interval
	CompletedSince int64
	// Limit limits the number of tasks if it is not 0; the newest are first.
	Limit int
	// Payload is true if tasks include their payload.
	Payload bool
}

// Tasks returns tasks, the complete ones first, the newest of each first.
func (s *Store) Tasks(ctx context.Context, filter TaskFilter) ([]Task, error) {
	if filter.IDs != nil {
		var out []Task
		ids := filter.IDs
		filter.IDs = nil
		err := forIDs(ids, func(marks string, args []any) error {
			found, err := s.tasks(ctx, filter, " AND id IN ("+marks+")", args)
			out = append(out, found...)
			return err
		})
		return out, err
	}
	return s.tasks(ctx, filter, "", nil)
}

func (s *Store) tasks(ctx context.Context, filter TaskFilter, condition string, args []any) ([]Task, error) {
	add := func(text string, values ...any) {
		condition += " AND " + text
		args = append(args, values...)
	}
	if filter.Active != nil {
		add("active = ?", flag(*filter.Active))
	}
	if filter.DataSource != "" {
		add("datasource = ?", filter.DataSource)
	}
	if filter.Type != "" {
		add("type = ?", filter.Type)
	}
	if filter.GroupID != "" {
		add("group_id = ?", filter.GroupID)
	}
	if filter.Created != nil {
		add("created >= ? AND created < ?", filter.Created.Start, filter.Created.End)
	}
	if filter.CompletedSince != 0 {
		add("(active = 1 OR updated >= ?)", filter.CompletedSince)
	}
	payload := "'null'"
	if filter.Payload {
		payload = "payload"
	}
	condition += " ORDER BY active, created DESC, id"
	if filter.Limit > 0 {
		condition += " LIMIT ?"
		args = append(args, filter.Limit)
	}
	return list(ctx, s.read(), func(rows *sql.Rows) (t Task, err error) {
		var payload, status, runner string
		err = rows.Scan(&t.ID, &t.GroupID, &t.Allocator, &t.Type, &t.DataSource, &t.Priority, &t.Created, &t.Updated, &t.Active, &t.StatusCode,
			&t.Run, &runner, &payload, &status)
		if payload, openErr := s.options.Sealer.Open("tasks", payload); err == nil {
			t.Payload, t.Status, t.Runner, err = storedJSON(payload), storedJSON(status), storedJSON(runner), openErr
		}
		return t, err
	}, "SELECT id, group_id, allocator, type, datasource, priority, created, updated, active, status_code, run, runner, "+payload+", status FROM tasks "+
		"WHERE 1 = 1"+condition, args...)
}

func storedJSON(text string) json.RawMessage {
	if text == "null" {
		return nil
	}
	return json.RawMessage(text)
}

// StaleTasks returns the ids of the tasks that DeleteTasks would delete.
func (s *Store) StaleTasks(ctx context.Context, before int64, limit int) ([]string, error) {
	return list(ctx, s.read(), scanText, staleTasks, before, limit)
}

const staleTasks = "SELECT id FROM tasks WHERE active = 0 AND updated < ? ORDER BY created, id LIMIT ?"

// DeleteTasks deletes at most limit complete tasks that last changed before an instant, with their
// stages. It returns their ids and the locations of their reports and logs, which the caller
// deletes next.
func (s *Store) DeleteTasks(ctx context.Context, fence Fence, before int64, limit int) (ids []string, files []TaskFile, err error) {
	err = s.write(ctx, func(ctx context.Context, t *tx) error {
		if err := fence.check(ctx, t); err != nil {
			return err
		}
		var err error
		files = nil
		ids, err = list(ctx, t.conn, scanText, staleTasks, before, limit)
		if err != nil {
			return err
		}
		return forIDs(ids, func(marks string, args []any) error {
			part, err := t.taskFiles(ctx, "WHERE task_id IN ("+marks+")", args...)
			if err != nil {
				return err
			}
			files = append(files, part...)
			for _, selector := range []string{"task_stages WHERE task_id", "task_files WHERE task_id", "tasks WHERE id"} {
				if _, err := t.exec(ctx, "DELETE FROM "+selector+" IN ("+marks+")", args...); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return ids, files, err
}
