package msq

import (
	"encoding/json"
	"time"
)

// core is what the controller of a job, and those who own a part of its state, all read. Nothing of
// it changes once the stages run, but the warnings, which guard themselves.
type core struct {
	job       Job
	deps      Deps
	opts      *Options
	workers   int
	threads   int
	sortBytes int64
	chunks    *chunker
	rows      *stage          // whose rows are written to segments
	rowsText  json.RawMessage // describes job.Rows; nil: it is for this process only
	warnings  warnings
}

func (k *core) now() time.Time { return k.deps.Clock.Now() }

// step tells the fault point where the job is.
func (k *core) step(name string) error {
	if k.deps.FaultPoint == nil {
		return nil
	}
	return k.deps.FaultPoint(name)
}
