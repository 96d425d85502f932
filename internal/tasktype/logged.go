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

// Logged is a kind of task whose tasks have a log: when they began and how they ended. It is kept
// in deep storage at the end.
func Logged(kind task.Kind, files *Files, log *slog.Logger) task.Kind {
	return &logged{kind, files, log}
}

// logKey is the key of a task's log in its context.
type logKey struct{}

// TaskLog returns the log of the task that ctx belongs to; without one what is logged goes nowhere.
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

// Complete implements task.Completer where the kind does.
func (k *logged) Complete(fields map[string]json.RawMessage) error {
	if c, ok := k.Kind.(task.Completer); ok {
		return c.Complete(fields)
	}
	return nil
}

// DefaultPriority implements task.Prioritizer where the kind does.
func (k *logged) DefaultPriority() int {
	if p, ok := k.Kind.(task.Prioritizer); ok {
		return p.DefaultPriority()
	}
	return 0
}

// Allocator implements task.Allocating where the kind does.
func (k *logged) Allocator(t *task.Task) string {
	if a, ok := k.Kind.(task.Allocating); ok {
		return a.Allocator(t)
	}
	return ""
}

// Apart implements task.Standing where the kind does.
func (k *logged) Apart(t *task.Task) string {
	if s, ok := k.Kind.(task.Standing); ok {
		return s.Apart(t)
	}
	return ""
}

// Run implements task.Kind.
func (k *logged) Run(ctx context.Context, t *task.Task) error {
	log, closeLog, err := k.open(t.ID)
	if err != nil {
		return err
	}
	ctx = obs.WithTaskID(context.WithValue(ctx, logKey{}, log), t.ID) // what is logged on the way names the task
	ctx = secret.WithHeld(ctx, string(t.Payload))
	log.InfoContext(ctx, "task started", "task", t.ID, "datasource", t.DataSource)
	if err = secret.MaskError(ctx, k.Kind.Run(ctx, t)); err != nil {
		log.ErrorContext(ctx, "task failed", "task", t.ID, "error", err)
	} else {
		log.InfoContext(ctx, "task succeeded", "task", t.ID)
	}
	if logErr := closeLog(ctx, err); logErr != nil && !errors.Is(logErr, metastore.ErrDeposed) {
		k.log.ErrorContext(ctx, "the log of a task could not be kept", "task", t.ID, "error", logErr)
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
