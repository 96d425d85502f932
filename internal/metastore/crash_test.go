package metastore

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// copyDatabase copies what is on disk at this moment, as a crash would leave it.
func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(from + suffix)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPublishCrash stops at each step of each kind of publication, opens what is on disk then, and
// expects all or nothing (I1), a sound store, and that trying again succeeds.
func TestPublishCrash(t *testing.T) {
	for name, action := range map[string]PublishAction{"insert": PublishInsert, "append": PublishAppend, "replace": PublishReplace} {
		for _, step := range PublishSteps() {
			t.Run(name+"/"+step, func(t *testing.T) { publishCrash(t, action, step) })
		}
	}
}

func publishCrash(t *testing.T, action PublishAction, step string) {
	directory := t.TempDir()
	path, copied := filepath.Join(directory, "metadata.db"), filepath.Join(directory, "copy.db")
	armed, reached := false, false
	f := openFixture(t, Options{Path: path, FaultPoint: func(at string) error {
		if !armed || at != step {
			return nil
		}
		reached = true
		copyDatabase(t, path, copied)
		return errors.New("out of power")
	}})

	// There is old data, an append under the lock of the replacement, and an id promised before it.
	v1 := f.replace(day(1, 2), 1)
	v2 := f.replace(day(2, 3), 1)
	owner, other := f.owner(50), f.owner(50)
	kind := map[PublishAction]tasklock.Type{PublishInsert: tasklock.Exclusive, PublishAppend: tasklock.Append, PublishReplace: tasklock.Replace}[action]
	l := f.lock(owner, kind, day(1, 3))
	p := Publication{
		TaskID: owner.TaskID, DataSource: "wiki", Action: action,
		Offsets: &OffsetSwap{ID: "stream", Next: func(stored json.RawMessage) (json.RawMessage, error) {
			if stored != nil {
				return nil, errors.New("moved before")
			}
			return json.RawMessage(`7`), nil
		}},
	}
	switch action {
	case PublishAppend:
		f.lock(other, tasklock.Replace, day(1, 3))
		p.Segments = []*timeline.Segment{segment(day(1, 2), v1, 1, 1)}
	case PublishReplace:
		f.lock(other, tasklock.Append, day(1, 2))
		f.publish(Publication{TaskID: other.TaskID, Action: PublishAppend, Segments: []*timeline.Segment{segment(day(1, 2), v1, 1, 1)}})
		fallthrough
	default:
		p.Segments = []*timeline.Segment{segment(day(1, 2), l.Version, 0, 1)}
		p.MarkUnused = []chrono.Interval{day(2, 3)}
	}
	before := f.visible()
	after := map[PublishAction]string{
		PublishInsert:  f.saw(day(1, 2), l.Version, "0/1"),
		PublishAppend:  f.saw(day(1, 2), v1, "0/1 1/1") + "\n" + f.saw(day(2, 3), v2, "0/1"),
		PublishReplace: f.saw(day(1, 2), l.Version, "0/2 1/2"),
	}[action]

	armed = true
	_, err := f.Publish(f.ctx(), p)
	if !reached {
		// Not every step belongs to every action.
		f.ok(err)
		return
	}
	if !errors.Is(err, errCrashed) {
		t.Fatalf("publishing after the crash: %v", err)
	}
	if _, err := f.Publish(f.ctx(), p); !errors.Is(err, errCrashed) {
		t.Errorf("a crashed process went on writing: %v", err)
	}

	armed = false
	restarted := openFixture(t, Options{Path: copied})
	want := before
	if step == stepCommitted {
		want = after
	}
	if got := restarted.visible(); got != want {
		t.Fatalf("after the crash one sees\n%s\nwant\n%s", got, want)
	}
	f.ok(restarted.Check(f.ctx()))
	out, err := restarted.Publish(f.ctx(), p)
	f.ok(err)
	if out.Already != (step == stepCommitted) {
		t.Errorf("trying again: already published is %v", out.Already)
	}
	if got := restarted.visible(); got != after {
		t.Errorf("after trying again one sees\n%s\nwant\n%s", got, after)
	}
	stored, _, err := restarted.Offsets(f.ctx(), "stream")
	f.ok(err)
	if string(stored.Payload) != "7" {
		t.Errorf("offsets are %s", stored.Payload)
	}
}
