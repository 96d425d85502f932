package metastore

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
)

// Two workers finish the same partition: the one whose run was followed by another publishes
// nothing, whoever comes first.
func TestOnlyTheNewestRunOfATaskWrites(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		f.ok(f.InsertTask(f.ctx(), Fence{}, Task{ID: owner.TaskID, GroupID: owner.GroupID, Active: true, StatusCode: "RUNNING"}, nil))
		first, err := f.AssignTask(f.ctx(), Fence{}, owner.TaskID, json.RawMessage(`{"host":"a"}`))
		f.ok(err)
		second, err := f.AssignTask(f.ctx(), Fence{}, owner.TaskID, json.RawMessage(`{"host":"b"}`))
		f.ok(err)
		if first < 1 || second <= first {
			t.Fatalf("runs [%d] and [%d]", first, second)
		}
		zombie := Patient(WithFence(f.ctx(), Fence{Task: owner.TaskID, Epoch: first})) // patience does not help it
		alive := WithFence(f.ctx(), Fence{Task: owner.TaskID, Epoch: second})
		l := f.lock(owner, tasklock.Exclusive, day(1, 2))
		file := func(name string) []*timeline.Segment {
			s := segment(day(1, 2), l.Version, 0, 1)
			s.File = name
			return []*timeline.Segment{s}
		}
		publish := func(name string) Publication {
			return Publication{TaskID: owner.TaskID, DataSource: "wiki", Segments: file(name)}
		}
		deposed := func(what string, err error) {
			t.Helper()
			if !errors.Is(err, ErrDeposed) {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err = f.Publish(zombie, publish("of the zombie"))
		deposed("publishing before the other", err)
		f.sees()
		_, err = f.Publish(alive, publish("of the second"))
		f.ok(err)
		_, err = f.Publish(zombie, publish("of the zombie"))
		deposed("publishing after the other", err)
		f.sees(f.saw(day(1, 2), l.Version, "0/1"))

		f.ok(f.CheckFence(f.ctx()))
		f.ok(f.CheckFence(alive))
		deposed("looking", f.CheckFence(zombie))
		_, err = f.FinishTask(zombie, Fence{}, owner.TaskID, "FAILED", nil)
		deposed("ending the task", err)
		got, err := f.Task(f.ctx(), owner.TaskID)
		f.ok(err)
		if !got.Active || got.Run != second || string(got.Runner) != `{"host":"b"}` {
			t.Errorf("the task is %+v", got)
		}
		ok, err := f.FinishTask(alive, Fence{}, owner.TaskID, "SUCCESS", nil)
		if f.ok(err); !ok {
			t.Error("the newest run could not end the task")
		}
		deposed("writing after the end", f.CheckFence(alive))
		_, err = f.AssignTask(f.ctx(), Fence{}, owner.TaskID, nil)
		if found := fault.Find(err); found == nil || found.Category != fault.CategoryConflict {
			t.Errorf("running an ended task: %v", err)
		}
	})
}

func TestALaterRunKnowsWhatWasPublished(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		owner := f.owner(50)
		l := f.lock(owner, tasklock.Exclusive, day(1, 3))
		want := []*timeline.Segment{segment(day(1, 2), l.Version, 0, 1), segment(day(2, 3), l.Version, 0, 1)}
		if _, found, err := f.TaskPublished(f.ctx(), owner.TaskID, "part"); found || err != nil {
			t.Fatalf("before: %v %v", found, err)
		}
		p := f.publish(Publication{TaskID: owner.TaskID, Part: "part", Segments: want})
		got, found, err := f.TaskPublished(f.ctx(), owner.TaskID, "part")
		f.ok(err)
		var ids []string
		for _, s := range got.Segments {
			ids = append(ids, s.ID.String())
		}
		if diff := cmp.Diff(textIDs(want), ids); diff != "" || !found || got.Number < p.Number {
			t.Errorf("found %v, number %d of %d, %s", found, got.Number, p.Number, diff)
		}
		if _, found, err := f.TaskPublished(f.ctx(), owner.TaskID, "other"); found || err != nil {
			t.Errorf("another part: %v %v", found, err)
		}
	})
}
