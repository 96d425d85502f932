package tasktype

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/obs"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/task"
)

// Logged wraps a kind of task so that its tasks have a log with their start and end. The log is
// stored in deep storage at the end.
func Logged(kind task.Kind, files *Files, log *slog.Logger) task.Kind {
	return &logged{kind, files, log}
}

// logKey is the key of a task's log in its context.
type logKey struct{}

// TaskLog returns the log of the task that ctx belongs to. Without a task, log records are
// discarded.
func TaskLog(ctx context.Context) *slog.Logger {
	if log, ok := ctx.Value(logKey{}).(*slog.Logger); ok {
		return log
	}
	return slog.New(slog.DiscardHandler)
}

type logged struct {
	task.Kind
	files *Files
	log   *slog.Logger
}

// Complete implements task.Completer if the wrapped kind does.
func (k *logged) Complete(fields map[string]json.RawMessage) error {
	if c, ok := k.Kind.(task.Completer); ok {
		return c.Complete(fields)
	}
	return nil
}

// DefaultPriority implements task.Prioritizer if the wrapped kind does.
func (k *logged) DefaultPriority() int {
	if p, ok := k.Kind.(task.Prioritizer); ok {
		return p.DefaultPriority()
	}
	return 0
}

// Allocator implements task.Allocating if the wrapped kind does.
func (k *logged) Allocator(t *task.Task) string {
	if a, ok := k.Kind.(task.Allocating); ok {
		return a.Allocator(t)
	}
	return ""
}

// Apart implements task.Standing if the wrapped kind does.
func (k *logged) Apart(t *task.Task) string {
	if s, ok := k.Kind.(task.Standing); ok {
		return s.Apart(t)
	}
	return ""
}

// Run implements task.Kind.
func (k *logged) Run(ctx context.Context, t *task.Task) (err error) {
	log, closeLog, err := k.open(t.ID)
	if err != nil {
		return err
	}
	ctx = obs.WithTaskID(context.WithValue(ctx, logKey{}, log), t.ID) // what is logged on the way names the task
	ctx = secret.WithHeld(ctx, string(t.Payload))
	ctx, span := obs.BeginSpan(ctx, "task "+t.Type, obs.InternalSpan)
	if span != nil {
		span.Text("henge.task.id", t.ID)
		span.Text("henge.task.type", t.Type)
		span.Text("henge.datasource", t.DataSource)
		defer func() {
			span.Fail(err)
			span.End()
		}()
	}
	log.InfoContext(ctx, "task started", "task", t.ID, "datasource", t.DataSource)
	if err = secret.MaskError(ctx, k.Kind.Run(ctx, t)); err != nil {
		log.ErrorContext(ctx, "task failed", "task", t.ID, "error", task.Message(err))
	} else {
		log.InfoContext(ctx, "task succeeded", "task", t.ID)
	}
	if logErr := closeLog(ctx, err); logErr != nil && !errors.Is(logErr, metastore.ErrDeposed) {
		k.log.ErrorContext(ctx, "failed to store the log of a task", "task", t.ID, "error", logErr)
	}
	return err
}

// open begins the log of a task; an attempt before a restart may have begun it.
func (k *logged) open(id string) (*slog.Logger, func(ctx context.Context, failure error) error, error) {
	f, err := os.OpenFile(k.files.logPath(id), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the log of task [%s]: %w", id, err)
	}
	return slog.New(obs.Masked(slog.NewTextHandler(f, nil))), func(ctx context.Context, failure error) error {
		switch {
		case Interrupted(ctx) && k.files.o.Alone:
			return f.Close() // it goes on here
		case Interrupted(ctx) || errors.Is(failure, task.ErrAgain):
			return errors.Join(f.Close(), os.Remove(f.Name()))
		}
		return errors.Join(f.Close(), k.files.keepLog(context.WithoutCancel(ctx), id))
	}, nil
}
