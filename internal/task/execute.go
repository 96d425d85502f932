package task

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// ErrAgain marks failures that do not end a task: the task restarts, because it lost data that can
// be recreated.
var ErrAgain = errors.New("to be run again")

// Execute runs a task; a panic becomes the failure of the task.
func Execute(ctx context.Context, kind Kind, t *Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("Task [%s] met an unexpected condition; the log says more", t.ID).WithPanic(p)
		}
	}()
	return kind.Run(ctx, t)
}

// EndOf returns the end of a task that failed with err or was ended by stop. The caller adds its
// duration and location.
func EndOf(t *Task, err error, stop *Shutdown) Status {
	s := Status{Task: t, State: Succeeded, Duration: -1}
	switch {
	case stop != nil && err != nil:
		s.State, s.Error = Failed, stop.Reason
	case err != nil:
		s.State, s.Error = Failed, cutError(Message(err))
	}
	return s
}

// Log writes the line of the end of a task that ran into err. A failure is told once, as the status
// tells it, and behind it what only operators see of its cause.
func (s *Status) Log(ctx context.Context, log *slog.Logger, err error, more ...any) {
	args := append([]any{"task", s.Task.ID, "ms", s.Duration}, more...)
	if s.State != Failed {
		log.InfoContext(ctx, "task succeeded", args...)
		return
	}
	args = append(args, "error", s.Error)
	if f := fault.Find(err); f != nil && f.Message != "" {
		said := err.Error()
		if !strings.Contains(said, f.Error()) { // a fault of msq says nothing of its cause
			said += ": " + f.Error()
		}
		cause := strings.Trim(strings.NewReplacer(f.Message, "", s.Error, "", f.Code+": ", "").Replace(said), ": ")
		if cause != "" {
			args = append(args, "cause", cause)
		}
	}
	log.WarnContext(ctx, "task failed", args...)
}
