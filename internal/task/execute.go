package task

import (
	"context"
	"errors"

	"github.com/hengedb/henge/internal/fault"
)

// ErrAgain marks failures after which a task has no end, but is run anew from its start: it lost
// something that can be made again.
var ErrAgain = errors.New("to be run again")

// Execute runs a task; a panic becomes the task's failure.
func Execute(ctx context.Context, kind Kind, t *Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("Task [%s] met an unexpected condition; the log says more", t.ID).WithPanic(p)
		}
	}()
	return kind.Run(ctx, t)
}

// EndOf returns the end of a task that has run into err, or was ended by stop. How long it took and
// where is to be added.
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
