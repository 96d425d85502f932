package worker

import (
	"encoding/json"
	"time"

	"github.com/hengedb/henge/internal/msq"
)

// PartsPath is where a worker does parts of tasks that run on other workers. A session, which its
// name comes behind, is the part that this process has in a task. It is held by requests that
// answer with a beat now and then: that of the run of the task that began it, and those of later
// runs that take it up. What was written in it is there as long as one of them is, and for some
// time after the last, unless that says that it is not needed.
const PartsPath = "/service-internal/v1/parts"

const (
	// BeatEvery is the interval of the heartbeats of a session, beatLost the time for which the other
	// side waits for one.
	BeatEvery = 500 * time.Millisecond
	beatLost  = 5 * time.Second
	// SessionLinger is the time for which an abandoned session waits for the next run of the task: the
	// expiry of a lease, and an assignment.
	SessionLinger = time.Minute
	// MaxPart limits the body of a part: the splits and frames of one worker, some hundred bytes each.
	// It also limits the body of a job, because the spec of a load may name thousands of files.
	MaxPart = 256 << 20
)

// PartLine is a line of the response to a part: one of the three members is set.
type PartLine struct {
	Progress *msq.PartProgress `json:"progress,omitempty"`
	Result   *msq.PartResult   `json:"result,omitempty"`
	Fault    json.RawMessage   `json:"fault,omitempty"`
}

// TasksPath is the path at which a worker accepts tasks and returns its state.
const TasksPath = "/service-internal/v1/tasks"

// Order is a request to a worker.
type Order struct {
	ID     string `json:"id"`
	Run    int64  `json:"run"`
	Reason string `json:"reason,omitempty"`
}

// LookLong is the maximum time for which a worker waits for a change before it responds.
const LookLong = 5 * time.Second
