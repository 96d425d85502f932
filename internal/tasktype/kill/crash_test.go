package kill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/hengedb/henge/internal/duty/clean"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasklock"
)

var errKilled = errors.New("the process was killed")

// mortal is a process that ends before or behind its step number left: nothing is done from then
// on.
type mortal struct {
	left   int
	behind bool
	dead   bool
}

func (m *mortal) step(do func() error) error {
	if m.dead {
		return errKilled
	}
	m.left--
	m.dead = m.left == 0
	if m.dead && !m.behind {
		return errKilled
	}
	if err := do(); err != nil || !m.dead {
		return err
	}
	return errKilled
}

// living is a metastore of a mortal.
type living struct {
	m *mortal
	*metastore.Store
}

func (l living) TryLock(ctx context.Context, r metastore.LockRequest) (lock tasklock.Lock, granted bool, err error) {
	err = l.m.step(func() (err error) { lock, granted, err = l.Store.TryLock(ctx, r); return err })
	return lock, granted && err == nil, err
}

func (l living) UnusedSegments(ctx context.Context, dataSource string, f metastore.UnusedFilter) (rows []metastore.SegmentRow, err error) {
	err = l.m.step(func() (err error) { rows, err = l.Store.UnusedSegments(ctx, dataSource, f); return err })
	return rows, err
}

func (l living) DeleteUnused(ctx context.Context, f metastore.Fence, dataSource string, ids []string) (deleted []string, err error) {
	err = l.m.step(func() (err error) { deleted, err = l.Store.DeleteUnused(ctx, f, dataSource, ids); return err })
	return deleted, err
}

func (l living) UnreferencedFiles(ctx context.Context, limit int) (files []metastore.File, err error) {
	err = l.m.step(func() (err error) { files, err = l.Store.UnreferencedFiles(ctx, limit); return err })
	return files, err
}

func (l living) ForgetFiles(ctx context.Context, f metastore.Fence, ids []string) error {
	return l.m.step(func() error { return l.Store.ForgetFiles(ctx, f, ids) })
}

// deleting is a deep storage whose process ends.
type deleting struct {
	m *mortal
	clean.Bytes
}

func (d deleting) Delete(ctx context.Context, keys ...string) error {
	return d.m.step(func() error { return d.Bytes.Delete(ctx, keys...) })
}

// A kill task whose process is killed, before or behind any of its steps, is run again as it is and
// does the rest.
func TestAKillTaskThatIsCutOffAtAnyStepGoesOn(t *testing.T) {
	for step := 1; ; step++ {
		ended := false
		for _, behind := range []bool{false, true} {
			t.Run(fmt.Sprint("step", step, " behind=", behind), func(t *testing.T) {
				f := open(t)
				m := &mortal{left: step, behind: behind}
				whole := f.kill
				f.kill = New(living{m, f.store}, deleting{m, f.deep}, f, nil, slog.New(slog.DiscardHandler))
				const members = `"interval":"2026-03-01/2026-03-06","batchSize":2,"markAsUnused":true`
				k := &task.Task{ID: "kill1", GroupID: "kill1", Type: task.KillType, DataSource: "wiki", Payload: []byte(`{"type":"kill",` + members + `}`)}
				ready, err := f.kill.Prepare(t.Context(), k)
				if err == nil && ready {
					err = f.kill.Run(t.Context(), k)
				}
				if ended = err == nil && !m.dead; !ended && !errors.Is(err, errKilled) && err != nil {
					t.Fatal(err)
				}
				f.kill = whole
				if err := f.run(members); err != nil {
					t.Fatal(err)
				}
				rows, err := f.store.UnusedSegments(t.Context(), "wiki", metastore.UnusedFilter{})
				if files := f.files(); err != nil || len(rows) > 0 || len(files) > 0 {
					t.Errorf("left are %v, %v, %v", rows, files, err)
				}
				locks, err := f.store.LockHolders(t.Context())
				if err != nil || len(locks) > 0 {
					t.Errorf("locks are held by %v, %v", locks, err)
				}
			})
		}
		if ended {
			if step < 10 {
				t.Errorf("there are only [%d] steps", step-1)
			}
			return
		}
		if step > 100 {
			t.Fatal("it does not end")
		}
	}
}
