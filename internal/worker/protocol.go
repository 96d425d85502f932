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
	// BeatEvery is how often a session says that it is alive, beatLost how long the other side waits
	// for that.
	BeatEvery = 500 * time.Millisecond
	beatLost  = 5 * time.Second
	// SessionLinger is how long a session that nobody holds waits for the next run of the task: it
	// takes a lease that runs out, and an assignment.
	SessionLinger = time.Minute
	// MaxPart bounds the body of a part: the splits and frames of one worker, some hundred bytes each.
	// So it does that of a job: the spec of a load may name thousands of files.
	MaxPart = 256 << 20
)

// PartLine is a line of the answer to a part: one of the three.
type PartLine struct {
	Progress *msq.PartProgress `json:"progress,omitempty"`
	Result   *msq.PartResult   `json:"result,omitempty"`
	Fault    json.RawMessage   `json:"fault,omitempty"`
}

// TasksPath is where a worker takes tasks and tells what it does.
const TasksPath = "/service-internal/v1/tasks"

// Order is what a worker is asked.
type Order struct {
	ID     string `json:"id"`
	Run    int64  `json:"run"`
	Reason string `json:"reason,omitempty"`
}

// LookLong is how long a worker waits before it answers that nothing has changed.
const LookLong = 5 * time.Second
