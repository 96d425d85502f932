package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// NoopType is the type of tasks that do nothing for a while, for tests of slots, priorities and
// shutdowns.
const NoopType = "noop"

// KillType is the type of tasks that delete unused segments for good. Users and the Coordinator
// submit them.
const KillType = "kill"

// Noop is the kind of such tasks.
type Noop struct{ Clock clock.Clock }

// noop is such a task as it is submitted.
type noop struct {
	RunTime       int64   `json:"runTime"`
	IsReadyTime   int64   `json:"isReadyTime"`
	IsReadyResult string  `json:"isReadyResult"`
	Firehose      *string `json:"firehose"` // a name of old, shown and not used
}

func parseNoop(payload []byte) (noop, error) {
	n := noop{RunTime: 2500, IsReadyResult: "YES"}
	if err := jsontext.Read(payload, &n); err != nil {
		return n, fault.Malformed("Task of type [%s] is not readable: %v", NoopType, err)
	}
	switch n.IsReadyResult {
	case "YES", "NO", "EXCEPTION":
	default:
		return n, fault.InvalidInput("Result [%s] of isReady is unknown; known are YES, NO and EXCEPTION", n.IsReadyResult)
	}
	return n, nil
}

// Complete implements Completer.
func (Noop) Complete(fields map[string]json.RawMessage) error {
	text, err := json.Marshal(fields)
	if err != nil {
		return fault.Malformed("Task of type [%s] is not readable: %v", NoopType, err)
	}
	n, err := parseNoop(text)
	if err != nil {
		return err
	}
	setDefault(fields, "dataSource", "none")
	setDefault(fields, "runTime", n.RunTime)
	setDefault(fields, "isReadyTime", n.IsReadyTime)
	setDefault(fields, "isReadyResult", n.IsReadyResult)
	setDefault(fields, "firehose", nil)
	return nil
}

// Prepare implements Kind.
func (Noop) Prepare(_ context.Context, t *Task) (bool, error) {
	n, err := parseNoop(t.Payload)
	if err != nil {
		return false, err
	}
	if n.IsReadyResult == "EXCEPTION" {
		return false, fault.InvalidInput("Task [%s] was to fail before it runs", t.ID)
	}
	return n.IsReadyResult == "YES", nil
}

// Run implements Kind.
func (k Noop) Run(ctx context.Context, t *Task) error {
	n, err := parseNoop(t.Payload)
	if err != nil {
		return err
	}
	return k.Clock.Sleep(ctx, time.Duration(n.RunTime)*time.Millisecond)
}

// Release implements Kind.
func (Noop) Release(context.Context, *Task) error { return nil }
