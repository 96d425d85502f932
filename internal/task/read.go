package task

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/querycontext"
)

// Completer is a Kind whose tasks are submitted as JSON.
type Completer interface {
	// Complete validates the members of a task and adds missing ones.
	Complete(fields map[string]json.RawMessage) error
}

// Prioritizer is a Kind with its own default priority of tasks.
type Prioritizer interface {
	DefaultPriority() int
}

// Read parses the JSON of a submitted task, and adds a missing id, group and context.
func (q *Queue) Read(body []byte) (*Task, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, fault.Malformed("Task is not a JSON object but a JSON %s", kind.Value)
		}
		return nil, fault.Malformed("Task is not a JSON object: %v", err)
	}
	t := &Task{Created: clock.Millis(q.o.Clock)}
	if err := readText(fields, "type", &t.Type); err != nil {
		return nil, err
	}
	if t.Type == "" {
		return nil, fault.InvalidInput("Task has no [type]")
	}
	kind, err := q.kind(t.Type)
	if err != nil {
		return nil, err
	}
	if c, ok := kind.(Completer); ok {
		if err := c.Complete(fields); err != nil {
			return nil, err
		}
	}
	for key, into := range map[string]*string{"id": &t.ID, "groupId": &t.GroupID, "dataSource": &t.DataSource} {
		if err := readText(fields, key, into); err != nil {
			return nil, err
		}
	}
	if raw, ok := fields["id"]; ok && string(raw) == `""` {
		return nil, fault.InvalidInput("Invalid value for field [id]: must not be empty")
	}
	if err := checkResource(fields["resource"]); err != nil {
		return nil, err
	}
	if t.ID == "" {
		t.ID = NewID(t.Type, t.DataSource, spanOf(fields), t.Created)
	}
	if t.GroupID == "" {
		t.GroupID = t.ID
	}
	if p, ok := kind.(Prioritizer); ok {
		t.Priority = p.DefaultPriority()
	}
	if raw, ok := fields["context"]; ok {
		var context map[string]any
		if err := json.Unmarshal(raw, &context); err != nil {
			return nil, fault.Malformed("Member [context] of the task is not an object")
		}
		if t.Priority, err = querycontext.Priority.Or(context, t.Priority); err != nil {
			return nil, err
		}
	}
	set(fields, "id", t.ID)
	set(fields, "groupId", t.GroupID)
	setDefault(fields, "resource", map[string]any{"availabilityGroup": t.GroupID, "requiredCapacity": 1})
	shown := map[string]json.RawMessage{}
	if raw, ok := fields["context"]; ok {
		if err := json.Unmarshal(raw, &shown); err != nil {
			return nil, fault.Malformed("Member [context] of the task is not an object")
		}
	}
	if shown == nil {
		shown = map[string]json.RawMessage{}
	}
	setDefault(shown, querycontext.ForceTimeChunk.Key(), true)
	setDefault(shown, querycontext.LineageAllocator.Key(), true)
	set(fields, "context", shown)
	if t.Payload, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("encoding task [%s]: %w", t.ID, err)
	}
	return t, nil
}

// checkResource reads the member "resource", which is shown and has no effect.
func checkResource(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var resource struct {
		Group    *string `json:"availabilityGroup"`
		Capacity int     `json:"requiredCapacity"`
	}
	if err := jsontext.Read(raw, &resource); err != nil {
		return fault.Malformed("Member [resource] of the task is not readable: %v", err)
	}
	if resource.Group == nil || resource.Capacity < 1 {
		return fault.InvalidInput("Member [resource] of the task must have an [availabilityGroup] and a [requiredCapacity] of at least 1")
	}
	return nil
}

func readText(fields map[string]json.RawMessage, key string, into *string) error {
	raw, ok := fields[key]
	if !ok || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.Malformed("Member [%s] of the task is not text", key)
	}
	return nil
}

// spanOf returns the interval of a task that has one, which its id then shows.
func spanOf(fields map[string]json.RawMessage) *chrono.Interval {
	var iv chrono.Interval
	if raw, ok := fields["interval"]; !ok || json.Unmarshal(raw, &iv) != nil || iv.IsEmpty() {
		return nil
	}
	return &iv
}

// set sets a member; setDefault only one that is missing or null. The values always encode.
func set(fields map[string]json.RawMessage, key string, value any) {
	fields[key], _ = json.Marshal(value)
}

func setDefault(fields map[string]json.RawMessage, key string, value any) {
	if raw, ok := fields[key]; !ok || string(raw) == "null" {
		set(fields, key, value)
	}
}
