package task

import (
	"context"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
)

func TestRead(t *testing.T) {
	q := NewQueue(newMemStore(), map[string]Kind{NoopType: Noop{Clock: clock.System()}}, Options{})
	for _, c := range []struct {
		name, body, want string // want: the payload, "" where it is refused
		id               string // a pattern
	}{
		{"own id", `{"type":"noop","id":"mine","dataSource":"d","runTime":5,"context":{"priority":70}}`,
			`{"type":"noop","id":"mine","groupId":"mine","dataSource":"d","runTime":5,"isReadyTime":0,"isReadyResult":"YES","firehose":null,
			"resource":{"availabilityGroup":"mine","requiredCapacity":1},
			"context":{"priority":70,"forceTimeChunkLock":true,"useLineageBasedSegmentAllocation":true}}`, "^mine$"},
		{"no id", `{"type":"noop","context":null}`, "any", `^noop_none_[a-p]{8}_\d{4}-`},
		{"with an interval", `{"type":"noop","interval":"2020/2021"}`, "any",
			`^noop_none_[a-p]{8}_2020-01-01T00:00:00.000Z_2021-01-01T00:00:00.000Z_\d{4}-`},
		{"a list", `[]`, "", ""},
		{"no type", `{"id":"x"}`, "", ""},
		{"unknown type", `{"type":"frob"}`, "", ""},
		{"wrong member", `{"type":"noop","runTime":"long"}`, "", ""},
		{"an id without a character", `{"type":"noop","id":""}`, "", ""},
		{"resource that is no object", `{"type":"noop","resource":"a"}`, "", ""},
		{"resource without a group", `{"type":"noop","resource":{"requiredCapacity":1}}`, "", ""},
		{"resource without room", `{"type":"noop","resource":{"availabilityGroup":"a","requiredCapacity":0}}`, "", ""},
		{"resource of its own", `{"type":"noop","resource":{"availabilityGroup":"a","requiredCapacity":2}}`, "any", "^noop_"},
		{"context of a wrong type", `{"type":"noop","context":7}`, "", ""},
		{"priority that is no number", `{"type":"noop","context":{"priority":"high"}}`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := q.Read([]byte(c.body))
			if (err != nil) != (c.want == "") {
				t.Fatalf("got %v, %v", got, err)
			}
			if err != nil {
				return
			}
			if !regexp.MustCompile(c.id).MatchString(got.ID) {
				t.Errorf("id %s", got.ID)
			}
			if c.want == "any" {
				return
			}
			var want, payload any
			if err := json.Unmarshal([]byte(c.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(got.Payload, &payload); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, payload); d != "" || got.Priority != 70 {
				t.Errorf("priority %d, %s", got.Priority, d)
			}
		})
	}
}

// The context of a task is read as that of a query.
func TestPrioritiesOfTasks(t *testing.T) {
	q := NewQueue(newMemStore(), map[string]Kind{NoopType: Noop{Clock: clock.System()}}, Options{})
	for text, want := range map[string]int{`70`: 70, `"70"`: 70, `70.9`: 70, `null`: 0, `1e12`: 1<<31 - 1} {
		got, err := q.Read([]byte(`{"type":"noop","context":{"priority":` + text + `}}`))
		if err != nil || got.Priority != want {
			t.Errorf("priority %s is read as %v, %v, want %d", text, got, err, want)
		}
	}
}

// TestDisabledWorker submits a task to a worker that takes none, and lets it.
func TestDisabledWorker(t *testing.T) {
	q := NewQueue(newMemStore(), map[string]Kind{NoopType: Noop{Clock: clock.System()}}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	q.Enable(false)
	go func() { done <- q.Run(ctx) }()
	task, err := q.Read([]byte(`{"type":"noop","id":"mine","runTime":0}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Submit(ctx, task); err != nil {
		t.Fatal(err)
	}
	if s, err := q.Find(ctx, "mine"); err != nil || s.State > Pending || q.Enabled() {
		t.Errorf("while disabled: %v, %v", s, err)
	}
	q.Enable(true)
	if s, err := q.Wait(ctx, "mine"); err != nil || s.State != Succeeded || q.LastEnded() == 0 {
		t.Errorf("once enabled: %v, %v", s, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
