package streams

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
)

// TestOneCycle is the table of spec/streaming.md, section 7: a task reads for its duration, its
// successor goes on at its ends while it publishes.
func TestOneCycle(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		f.source.has("0", "0", "900")
		f.store.publish("sales", stream.Positions{"0": "100"})
		f.put(f.spec(`"taskDuration":"PT1H"`, "", ""))
		f.state(pendingState)
		f.starts("", "")
		f.after(1100 * time.Millisecond)
		f.state(runningState)
		f.after(2 * time.Second)
		f.starts(`{"0":100}`, "")
		a := f.only()
		if r := f.report(); r.Active[0].Started == nil || *r.Active[0].Remaining < 3590 || len(r.Active[0].Current) > 0 || r.Updated != nil {
			t.Errorf("before the first measure: %+v", r)
		}
		a.reads("0", "900")
		f.after(16 * time.Second)
		if r := f.report(); r.Active[0].Current["0"] != "900" || r.Latest["0"] != "900" || r.Lag["0"] != 0 || r.Total != 0 || r.Updated == nil {
			t.Errorf("after it: %+v", r)
		}
		f.after(time.Hour)
		f.starts(`{"0":900}`, `{"0":100}`)
		b := f.only()
		if b == a || b.task.ID == a.task.ID || a.ends["0"] != "900" {
			t.Fatalf("the ends of the first task are %v", a.ends)
		}
		if left := *f.report().Publishing[0].Remaining; left < 270 || left > 300 {
			t.Errorf("remaining seconds of publishing: %d", left)
		}
		a.publish()
		f.starts(`{"0":900}`, "")
		f.after(time.Minute)
		if f.only() != b {
			t.Error("the successor was replaced")
		}
	})
}

// TestGroups: partitions are shared by number, each group has its replicas, and ids have the form
// of the interface.
func TestGroups(t *testing.T) {
	inBubble(t, 5, func(f *fixture) {
		f.put(f.spec(`"taskCount":2,"replicas":2`, "", `"context":{"priority":80}`))
		f.after(2 * time.Second)
		f.starts(`{"0":0,"2":0,"4":0} {"0":0,"2":0,"4":0} {"1":0,"3":0} {"1":0,"3":0}`, "")
		for _, r := range f.report().Active {
			made := f.queue.find(r.ID)
			parts := strings.Split(r.ID, "_")
			if len(parts) != 5 || parts[0]+parts[1]+parts[2] != "indexkafkasales" || len(parts[3]) != 15 || len(parts[4]) != 8 ||
				made.task.Priority != 80 || made.task.GroupID != "index_kafka_sales" || made.spec.IO.Sequence+"_"+parts[4] != r.ID {
				t.Errorf("task %+v of sequence %s", made.task, made.spec.IO.Sequence)
			}
		}
	})
}

// TestGroupFormula: clients know in which group a partition of several topics is.
func TestGroupFormula(t *testing.T) {
	inBubble(t, 0, func(f *fixture) {
		for _, p := range []string{"orders-eu:0", "orders-eu:1", "orders-us:0", "zzzzzzzzzzzz:7"} {
			f.source.add(p, 0)
		}
		k := newKeeper(&f.manager.o, f.spec(`"topic":null,"topicPattern":"o.*|z.*","taskCount":3`, "", ""))
		for p, want := range map[stream.Partition]int{"orders-eu:0": 0, "orders-eu:1": 1, "orders-us:0": 2, "zzzzzzzzzzzz:7": 1} {
			if got := k.groupOf(p, f.source.partitions); got != want {
				t.Errorf("%s is in group %d, want %d", p, got, want)
			}
		}
	})
}

// TestLostTask: another takes its place at once, at the first checkpoint that is not published.
func TestLostTask(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		f.put(f.spec(`"period":"PT30S"`, "", ""))
		f.after(2 * time.Second)
		a := f.only()
		for i, to := range []string{"10", "20"} {
			a.reads("0", to)
			at := stream.Positions{"0": []stream.Position{"0", "10"}[i]}
			if err := f.manager.Checkpoint(f.t.Context(), "sales", 0, at); err != nil {
				t.Fatal(err)
			}
			f.after(time.Millisecond)
		}
		if a.number != 2 {
			t.Fatalf("the task has %d checkpoints", a.number)
		}
		// Asked twice: a replica was before.
		if err := f.manager.Checkpoint(f.t.Context(), "sales", 0, stream.Positions{"0": "10"}); err != nil {
			t.Fatal(err)
		}
		f.after(time.Millisecond)
		if a.number != 2 {
			t.Errorf("a request that came late made checkpoint %d", a.number)
		}
		f.store.publish("sales", stream.Positions{"0": "10"})
		a.reads("0", "25")
		f.queue.end(a.task.ID, false)
		f.after(100 * time.Millisecond)
		b := f.only()
		if b == a || b.spec.IO.Sequence != a.spec.IO.Sequence {
			t.Fatalf("the task that comes after is %+v", b.task)
		}
		want := map[int]stream.Positions{1: {"0": "10"}, 2: {"0": "20"}}
		if len(b.spec.IO.Checkpoints) != 2 || !samePositions(b.spec.IO.Checkpoints[1], want[1]) || !samePositions(b.spec.IO.Checkpoints[2],
			want[2]) {
			t.Errorf("it begins at %v, want %v", b.spec.IO.Checkpoints, want)
		}
	})
}

// TestFailingTasks: tasks that fail at once come once a period, and make their supervisor
// unhealthy.
func TestFailingTasks(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		f.queue.dies = true
		f.put(f.spec("", "", ""))
		f.after(20 * time.Second)
		f.state(unhealthyTasks)
		if n := f.queue.count(); n < 5 || n > 15 {
			t.Errorf("%d tasks were made in 20 s", n)
		}
	})
}

// TestFailedGroup: a group that does not publish takes its successors with it; all is read again.
func TestFailedGroup(t *testing.T) {
	for name, end := range map[string]func(f *fixture, a *fakeTask){
		"failed": func(f *fixture, a *fakeTask) { f.queue.end(a.task.ID, false) },
		"late":   func(f *fixture, _ *fakeTask) { f.after(5 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(f *fixture) {
				f.put(f.spec(`"taskDuration":"PT10M"`, "", ""))
				f.after(2 * time.Second)
				a := f.only()
				a.reads("0", "50")
				f.after(10 * time.Minute)
				b := f.only()
				f.starts(`{"0":50}`, `{"0":0}`)
				end(f, a)
				f.after(3 * time.Second)
				f.starts(`{"0":0}`, "")
				if !b.state.Done() || !a.state.Done() {
					t.Error("tasks go on that can't publish")
				}
			})
		})
	}
}

// TestWhoFollowsAnUnpublishedGroup: while nothing is stored of a partition, the tasks of whoever
// begins at the end of another group are told so, also those that are made again by a later
// leader. Who begins at what is stored, or at the beginning, follows nobody.
func TestWhoFollowsAnUnpublishedGroup(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		follows := func(who string, task *fakeTask, want ...stream.Partition) {
			t.Helper()
			if got := task.spec.IO.Follows; !slices.Equal(got, want) {
				t.Errorf("%s follows %v, not %v", who, got, want)
			}
		}
		f.put(f.spec(`"taskDuration":"PT10M","completionTimeout":"PT1H"`, "", ""))
		f.after(2 * time.Second)
		first := f.only()
		follows("the first", first)
		first.reads("0", "50")
		f.after(10 * time.Minute)
		second := f.only()
		f.starts(`{"0":50}`, `{"0":0}`)
		follows("the second", second, "0")
		f.resign()
		f.lead()
		f.after(3 * time.Second)
		f.queue.end(second.task.ID, false)
		f.after(time.Minute)
		again := f.only()
		if again == second {
			t.Fatal("a lost task was not replaced")
		}
		follows("the one in the place of the second", again, "0")
		first.publish()
		again.reads("0", "70")
		f.after(10 * time.Minute)
		f.starts(`{"0":70}`, `{"0":50}`)
		follows("the third", f.only())
	})
}

// TestStopTaskCount: the oldest groups roll over first, and not more at once than the specification
// says.
func TestStopTaskCount(t *testing.T) {
	inBubble(t, 4, func(f *fixture) {
		f.put(f.spec(`"taskCount":4,"stopTaskCount":1,"taskDuration":"PT10M"`, "", ""))
		f.after(2 * time.Second)
		f.after(10 * time.Minute)
		for range 4 {
			r := f.report()
			if len(r.Publishing) != 1 || len(r.Active) != 4 {
				t.Fatalf("%d publish, %d read", len(r.Publishing), len(r.Active))
			}
			f.queue.find(r.Publishing[0].ID).publish()
			f.after(2 * time.Second)
		}
		if r := f.report(); len(r.Publishing) != 0 {
			t.Errorf("%d publish", len(r.Publishing))
		}
	})
}

// TestGroupsRollOverOneAfterTheOther: groups that began together publish at different times, none
// before half of the duration of tasks, and from the second time on at equal distances.
func TestGroupsRollOverOneAfterTheOther(t *testing.T) {
	inBubble(t, 4, func(f *fixture) {
		f.put(f.spec(`"taskCount":4,"taskDuration":"PT40M"`, "", ""))
		f.after(2 * time.Second)
		var at []int // in minutes, when one published
		for minute := 1; minute <= 120; minute++ {
			f.after(time.Minute)
			r := f.report()
			for _, a := range r.Active {
				if a.Remaining != nil && (*a.Remaining < 0 || *a.Remaining > 2400) {
					t.Fatalf("remaining seconds: %d", *a.Remaining)
				}
			}
			for _, p := range r.Publishing {
				at = append(at, minute)
				f.queue.find(p.ID).publish()
			}
		}
		if len(at) < 9 || at[0] < 20 {
			t.Fatalf("groups published at %v", at)
		}
		for i := range at[5:] { // the first of each may have been early
			if gap := at[5+i] - at[4+i]; gap < 9 || gap > 11 {
				t.Errorf("groups published at %v", at)
			}
		}
	})
}

// TestNoStream: a stream that is not there makes the supervisor unhealthy after three runs, and
// healthy again after three good ones; tasks go on meanwhile.
func TestNoStream(t *testing.T) {
	gone := &stream.ConnectionError{Class: "org.apache.kafka.common.errors.TimeoutException",
		Message: "Timeout expired while fetching topic metadata"}
	inBubble(t, 1, func(f *fixture) {
		f.source.fail(gone)
		f.put(f.spec("", "", ""))
		f.after(1100 * time.Millisecond)
		f.state(connecting)
		f.after(2 * time.Second)
		f.state(connecting)
		f.after(2 * time.Second)
		f.state(unable)
		r := f.report()
		if len(r.Errors) != 3 || !r.Errors[0].Stream || r.Errors[0].Message != gone.Class+": "+gone.Message || r.Healthy {
			t.Errorf("errors %+v", r.Errors)
		}
		f.source.fail(nil)
		f.after(4 * time.Second)
		f.state(unable)
		f.starts(`{"0":0}`, "")
		f.after(2 * time.Second)
		f.state(runningState)
		a := f.only()
		f.source.fail(gone)
		f.after(7 * time.Second)
		f.state(lostContact)
		f.queue.end(a.task.ID, false)
		f.after(100 * time.Millisecond)
		if b := f.only(); b == a {
			t.Error("the lost task was not replaced while the stream is away")
		}
		f.source.fail(nil)
		f.after(7 * time.Second)
		f.state(runningState)
	})
	inBubble(t, 0, func(f *fixture) {
		f.put(f.spec("", "", ""))
		f.after(6 * time.Second)
		f.state(unable)
		if r := f.report(); r.Errors[0].Message != "org.apache.druid.java.util.common.ISE: No partitions found for stream [orders]" {
			t.Errorf("errors %+v", r.Errors)
		}
	})
}

// TestTroubleOfTasks: what keeps tasks from reading is the supervisor's trouble.
func TestTroubleOfTasks(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		f.put(f.spec("", "", ""))
		f.after(2 * time.Second)
		f.only().set(func(t *fakeTask) {
			t.problem = &chat.Problem{Class: "org.apache.kafka.common.errors.X", Message: "away", Stream: true,
				Since: f.manager.o.Clock.Now().UnixMilli()}
		})
		f.after(4 * time.Second)
		f.state(runningState)
		f.after(8 * time.Second)
		f.state(lostContact)
	})
}

// TestLostOffset: what the stream does not have any more is told with what to do, and nothing is
// skipped before somebody says so. Other groups go on.
func TestLostOffset(t *testing.T) {
	inBubble(t, 2, func(f *fixture) {
		f.source.has("0", "30", "40")
		f.store.publish("sales", stream.Positions{"0": "5", "1": "0"})
		f.put(f.spec(`"taskCount":2`, "", ""))
		f.after(6 * time.Second)
		f.state(unable)
		f.starts(`{"1":0}`, "")
		r := f.report()
		if !strings.Contains(r.Errors[0].Message, "Previous sequenceNumber [5] is no longer available for partition [0]. You can clear") {
			t.Errorf("errors %+v", r.Errors)
		}
		if a := r.Advice["0"]; a.Stored != "5" || a.Earliest != "30" || a.Latest != "40" || a.Text == "" {
			t.Errorf("advice %+v", r.Advice)
		}
		if err := (Kind{"kafka", f.manager}).Reset(f.t.Context(), specification{f.manager.find("sales").spec()}); err != nil {
			t.Fatal(err)
		}
		f.after(100 * time.Millisecond)
		f.starts(`{"0":30} {"1":0}`, "")
		f.state(unable) // until three runs were good
		f.after(6 * time.Second)
		f.state(runningState)
		if len(f.report().Advice) != 0 {
			t.Error("the advice is still there")
		}
	})
	for _, earliest := range []string{"true", "false"} {
		inBubble(t, 1, func(f *fixture) {
			f.source.has("0", "30", "40")
			f.store.publish("sales", stream.Positions{"0": "5"})
			f.put(f.spec(`"useEarliestOffset":`+earliest, `"resetOffsetAutomatically":true`, ""))
			f.after(2 * time.Second)
			want := map[string]string{"true": `{"0":30}`, "false": `{"0":40}`}[earliest]
			f.starts(want, "")
			f.state(runningState)
			if stored, _ := f.manager.find("sales").stored(f.t.Context()); string(stored.Positions.Plain()) != want {
				t.Errorf("stored are %s", stored.Positions.Plain())
			}
		})
	}
}

// TestFirstOffsets: where a stream is read from that was not read before.
func TestFirstOffsets(t *testing.T) {
	for _, c := range []struct{ earliest, want string }{{"true", `{"0":10}`}, {"false", `{"0":40}`}} {
		inBubble(t, 1, func(f *fixture) {
			f.source.has("0", "10", "40")
			f.put(f.spec(`"useEarliestOffset":`+c.earliest, "", ""))
			f.after(2 * time.Second)
			f.starts(c.want, "")
		})
	}
}

// TestNewPartition: it is known at once, the groups read on for two minutes and roll over, and it
// is read from its first record on.
func TestNewPartition(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		f.put(f.spec(`"useEarliestOffset":false`, "", ""))
		f.after(20 * time.Second)
		a := f.only()
		a.reads("0", "7")
		f.source.add("1", 50)
		f.after(10 * time.Second)
		f.starts(`{"0":0}`, "")
		if r := f.report(); r.Partitions != 2 || r.Latest["1"] != "50" {
			t.Errorf("report %+v", r)
		}
		f.after(105 * time.Second)
		if f.only() != a {
			t.Fatal("the group rolled over too early")
		}
		f.after(10 * time.Second)
		f.starts(`{"0":7,"1":0}`, `{"0":0}`)
	})
}

// TestSuspend: tasks publish, and a later version goes on where they ended.
func TestSuspend(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec("", "", "")
		f.put(s)
		f.after(2 * time.Second)
		a := f.only()
		a.reads("0", "7")
		f.put(s.Suspend(true))
		f.state(pendingState)
		f.starts("", "")
		if !f.report().Suspended || a.ends["0"] != "7" {
			t.Errorf("ends %v, report %+v", a.ends, f.report())
		}
		f.after(1100 * time.Millisecond)
		f.state(suspendedState)
		f.starts("", `{"0":0}`)
		a.publish()
		f.after(time.Minute)
		f.starts("", "")
		f.put(s)
		f.after(2 * time.Second)
		f.starts(`{"0":7}`, "")
	})
}

// TestUpdate: a version with other tasks has the old ones publish; one that only concerns the
// supervisor leaves them alone; the same one again does not.
func TestUpdate(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec("", "", "")
		f.put(s)
		f.after(2 * time.Second)
		a := f.only()
		f.put(f.spec(`"completionTimeout":"PT10M","period":"PT3S"`, "", ""))
		f.state(pendingState)
		f.after(2 * time.Second)
		if f.only() != a || f.queue.count() != 1 {
			t.Error("a task was replaced that is the same in the new version")
		}
		f.put(f.spec("", `"maxRowsPerSegment":1000`, ""))
		f.after(2 * time.Second)
		f.starts(`{"0":0}`, `{"0":0}`)
		b := f.only()
		if b == a || b.spec.IO.Sequence == a.spec.IO.Sequence {
			t.Error("the sequence of a task of another version is the same")
		}
		a.publish()
		f.put(f.spec("", `"maxRowsPerSegment":1000`, ""))
		f.after(2 * time.Second)
		if f.only() == b {
			t.Error("the same version again does not begin anew")
		}
	})
}

// TestTerminate: the tasks are told to publish, and the supervisor is gone.
func TestTerminate(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec("", "", "")
		f.put(s)
		f.after(2 * time.Second)
		a := f.only()
		a.reads("0", "9")
		f.store.put("sales", nil, true)
		Kind{"kafka", f.manager}.Changed(specification{s}, true)
		if f.manager.find("sales") != nil || a.ends["0"] != "9" || a.state != task.Running {
			t.Errorf("ends %v, state %v", a.ends, a.state)
		}
		a.publish()
		f.put(s)
		f.after(2 * time.Second)
		f.starts(`{"0":9}`, "")
	})
}

// TestNewLeader: who leads next takes over what reads and what publishes, and ends what is none of
// both.
func TestNewLeader(t *testing.T) {
	inBubble(t, 2, func(f *fixture) {
		s := f.spec(`"taskCount":2,"taskDuration":"PT10M"`, "", "")
		f.put(s)
		f.after(2 * time.Second)
		f.after(10 * time.Minute)
		before := f.report()
		if len(before.Publishing) != 2 || len(before.Active) != 2 {
			t.Fatalf("%+v", before)
		}
		deaf := f.queue.find(before.Active[0].ID)
		deaf.set(func(t *fakeTask) { t.deaf = true })
		f.resign()
		f.lead()
		f.after(3 * time.Second)
		if n := f.queue.count(); n != 4 {
			t.Errorf("%d tasks were made while one does not answer", n)
		}
		deaf.set(func(t *fakeTask) { t.deaf = false })
		f.after(3 * time.Second)
		f.starts(`{"0":0} {"1":0}`, `{"0":0} {"1":0}`)
		if n := f.queue.count(); n != 4 {
			t.Errorf("%d tasks were made; all were there", n)
		}
		f.resign()
		text := f.spec(`"taskCount":2,"taskDuration":"PT10M"`, `"maxRowsPerSegment":7`, "")
		payload, _ := text.MarshalJSON()
		f.store.put("sales", payload, false)
		f.lead()
		f.after(3 * time.Second)
		if deaf.state != task.Failed || !strings.Contains(f.queue.reason[deaf.task.ID], "has changed") {
			t.Errorf("a task of another version is %v: %s", deaf.state, f.queue.reason[deaf.task.ID])
		}
		f.starts(`{"0":0} {"1":0}`, `{"0":0} {"1":0}`)
	})
}

// TestResetOffsets: the groups of the partitions go on there; others don't notice.
func TestResetOffsets(t *testing.T) {
	inBubble(t, 2, func(f *fixture) {
		s := f.spec(`"taskCount":2`, "", "")
		f.put(s)
		f.after(2 * time.Second)
		kind := Kind{"kafka", f.manager}
		reset := func(body string) error {
			err := kind.ResetOffsets(f.t.Context(), specification{s}, []byte(body))
			f.after(50 * time.Millisecond)
			return err
		}
		before := f.report().Active
		if err := reset(`{"type":"kafka","partitions":{"type":"end","stream":"orders","partitionOffsetMap":{"1":390}}}`); err != nil {
			t.Fatal(err)
		}
		f.starts(`{"0":0} {"1":390}`, "")
		after := f.report().Active
		if after[0].ID != before[0].ID || after[1].ID == before[1].ID || !f.queue.find(before[1].ID).state.Done() {
			t.Errorf("tasks before %+v, after %+v", before, after)
		}
		for body, want := range map[string]string{
			`{"type":"kafka"}`: "no [partitions]", `{"type":"frob"}`: "type id 'frob'", `{}`: "'type'", `[]`: "not readable",
			`{"type":"kafka","partitions":{"type":"end","stream":"other","partitionOffsetMap":{"1":3}}}`:  "Stream[other] doesn't exist",
			`{"type":"kafka","partitions":{"type":"start","stream":"orders","partitionOffsetMap":{}}}`:    "[start]",
			`{"type":"kafka","partitions":{"type":"end","stream":"orders","partitionOffsetMap":{"x":3}}}`: `For input string: "x"`,
		} {
			if err := reset(body); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", body, err, want)
			}
		}
	})
}

// TestHandOff: a group rolls over though its time has not come; one that is not there is ignored.
func TestHandOff(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec("", "", "")
		f.put(s)
		f.after(2 * time.Second)
		f.only().reads("0", "5")
		if err := (Kind{"kafka", f.manager}).HandOff(f.t.Context(), specification{s}, []int{0, 7}); err != nil {
			t.Fatal(err)
		}
		f.after(50 * time.Millisecond)
		f.starts(`{"0":5}`, `{"0":0}`)
	})
}

// TestIdle: a quiet stream gets no new tasks, until there are records again.
func TestIdle(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		f.source.has("0", "0", "5")
		f.put(f.spec(`"idleConfig":{"enabled":true,"inactiveAfterMillis":60000},"taskDuration":"PT5M"`, "", ""))
		f.after(2 * time.Second)
		a := f.only()
		a.reads("0", "5")
		f.after(2 * time.Minute)
		f.state(idleState)
		f.after(4 * time.Minute)
		a.publish()
		f.after(time.Minute)
		f.starts("", "")
		f.source.has("0", "0", "8")
		f.after(10 * time.Second)
		f.state(runningState)
		f.starts(`{"0":5}`, "")
		if r := f.report(); r.Total != 3 {
			t.Errorf("lag %+v", r)
		}
	})
}

// TestStatsAndErrors: what tasks count and could not read, each row once though replicas have it
// twice; it stays when they have ended.
func TestStatsAndErrors(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec(`"replicas":2`, `"maxSavedParseExceptions":3`, "")
		f.put(s)
		f.after(2 * time.Second)
		k := f.manager.find("sales")
		if got := k.stats(f.t.Context()); len(got["0"]) != 2 {
			t.Errorf("stats %+v", got)
		}
		row := func(at int64, input string) chat.ParseError {
			return chat.ParseError{At: at, Input: input, Type: "unparseable"}
		}
		for i, r := range f.report().Active {
			f.queue.find(r.ID).set(func(t *fakeTask) {
				t.errors = []chat.ParseError{row(9, "d"), row(int64(5+i), "b"), row(int64(5+i), "b"), row(1, "a")}
			})
		}
		check := func() {
			t.Helper()
			got := k.parseErrors(f.t.Context())
			if len(got) != 3 || got[0].Input != "d" || got[1].Input != "b" || got[2].Input != "b" {
				t.Errorf("errors %+v", got)
			}
		}
		check()
		f.after(3 * time.Second)
		for _, r := range f.report().Active {
			f.queue.end(r.ID, false)
		}
		f.after(time.Second)
		check()
	})
}

// TestScale: each strategy changes the number of groups by what it measured, keeps the number in
// the specification, and says why.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		scaler string
		ends   []string // of both partitions, at each measure
		want   int
		why    string
	}{
		{`"lagCollectionIntervalMillis":5000,"lagCollectionRangeMillis":20000,"scaleActionStartDelayMillis":0,"scaleActionPeriodMillis":1000,` +
			`"scaleOutThreshold":100,"scaleOutStep":1`, []string{"5000", "9000", "9000", "9000"}, 2, "scaleOutThreshold"},
		{`"lagCollectionIntervalMillis":5000,"lagCollectionRangeMillis":20000,"scaleActionStartDelayMillis":0,"scaleActionPeriodMillis":1000,` +
			`"scaleOutThreshold":100000,"scaleInThreshold":1`, []string{"5000", "9000", "9000", "9000"}, 1, "between"},
		{`"autoScalerStrategy":"rateBased","recordsPerSecondPerTask":100,"scaleActionPeriodMillis":1000,"recoveryTargetMillis":60000`,
			[]string{"1000", "2500", "4000", "5500"}, 2, "inRate"},
		{`"autoScalerStrategy":"rateBased","recordsPerSecondPerTask":10000,"scaleActionPeriodMillis":1000`,
			[]string{"1000", "2500", "4000", "5500"}, 1, "inRate"},
		{`"autoScalerStrategy":"costBased","scaleActionPeriodMillis":1000`, []string{"100", "200", "300", "400"}, 1, "not known"},
	} {
		inBubble(t, 2, func(f *fixture) {
			f.put(f.spec(`"autoScalerConfig":{"enableTaskAutoScaler":true,"taskCountMin":1,"taskCountMax":4,`+c.scaler+`}`, "", ""))
			f.after(2 * time.Second)
			for _, end := range c.ends {
				f.source.has("0", "0", end)
				f.source.has("1", "0", end)
				f.after(7 * time.Second)
			}
			k := f.manager.find("sales")
			d := f.report().Scale
			if d == nil || k.spec().IO.Tasks != c.want || !strings.Contains(d.Why, c.why) {
				t.Errorf("%s: %d groups, decision %+v", c.scaler, k.spec().IO.Tasks, d)
				return
			}
			kept, err := parseAny(f.store.versions["sales"].Payload)
			if err != nil || kept.IO.Tasks != c.want {
				t.Errorf("%s: the specification says %+v (%v)", c.scaler, kept.IO, err)
			}
			if list := f.manager.Explain("sales"); len(list) != 2 || list[1].Outcome != "scaled" || list[1].Details["need"] == nil {
				t.Errorf("%s: %+v", c.scaler, list)
			}
			if len(f.report().Active) != c.want {
				t.Errorf("%s: %+v", c.scaler, f.report().Active)
			}
		})
	}
}

// TestExplain: why a supervisor does not read.
func TestExplain(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec("", "", "")
		outcome := func(want, reason string) {
			t.Helper()
			list := f.manager.Explain("sales")
			if len(list) != 2 || list[0].Outcome != want || !strings.Contains(list[0].Reason, reason) {
				t.Errorf("%+v, want %s", list, want)
			}
		}
		if f.manager.Explain("nosuch") != nil {
			t.Error("a supervisor that is not there is explained")
		}
		f.queue.held = true
		f.put(s)
		outcome("waiting", "startDelay")
		f.after(2 * time.Second)
		outcome("waiting", "have not begun")
		for _, r := range f.report().Active {
			f.queue.begin(r.ID)
		}
		f.after(3 * time.Second)
		outcome("reading", "")
		f.source.fail(&stream.ConnectionError{Class: "x.TimeoutException", Message: "away"})
		f.after(8 * time.Second)
		outcome("failing", "away")
		if list := f.manager.ExplainTroubled(); len(list) != 1 || list[0].ID != "sales" {
			t.Errorf("%+v", list)
		}
		f.source.fail(nil)
		f.put(s.Suspend(true))
		f.after(2 * time.Second)
		outcome("suspended", "")
	})
}

// TestBackfill: the supervisor goes on at the end, and another one reads what lies between, once.
func TestBackfill(t *testing.T) {
	inBubble(t, 1, func(f *fixture) {
		s := f.spec(`"useEarliestOffset":false`, "", `"context":{"useConcurrentLocks":true}`)
		kind := Kind{"kafka", f.manager}
		f.source.has("0", "0", "10")
		f.put(s)
		if _, err := kind.Backfill(f.t.Context(), specification{s}, 0); err == nil || !strings.Contains(err.Error(),
			"must be in a RUNNING state") {
			t.Errorf("before it runs: %v", err)
		}
		f.after(2 * time.Second)
		f.source.has("0", "0", "90")
		made, err := kind.Backfill(f.t.Context(), specification{s}, 3)
		if err != nil {
			t.Fatal(err)
		}
		f.after(time.Second)
		f.starts(`{"0":90}`, "")
		b := made.(specification)
		if !strings.HasPrefix(b.ID(), "sales_backfill_") || b.IO.Tasks != 3 || b.IO.Bounds.Starts["0"] != "10" || b.IO.Bounds.Ends["0"] != "90" {
			t.Errorf("%s %+v", b.ID(), b.IO.Bounds)
		}
		f.put(b.Stream)
		f.after(2 * time.Second)
		r := f.manager.find(b.ID()).report()
		if len(r.Active)+len(r.Publishing) != 1 {
			t.Fatalf("%+v", r)
		}
		f.after(3 * time.Second)
		r = f.manager.find(b.ID()).report()
		f.store.publish(b.ID(), stream.Positions{"0": "90"})
		f.queue.end(r.Publishing[0].ID, true)
		f.after(5 * time.Second)
		if r := f.manager.find(b.ID()).report(); r.Detailed != completed || len(r.Active)+len(r.Publishing) != 0 {
			t.Errorf("%+v", r)
		}
		for _, c := range []struct{ io, top, want string }{
			{"", `"context":{"useConcurrentLocks":true}`, "useEarliestOffset is true"}, {`"useEarliestOffset":false`, "", "useConcurrentLocks"},
		} {
			if _, err := kind.Backfill(f.t.Context(), specification{f.spec(c.io, "", c.top)}, 0); err == nil || !strings.Contains(err.Error(),
				c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
}

// TestEndedShard: a shard that was read to its end is not read again; the others of its group are.
func TestEndedShard(t *testing.T) {
	inBubble(t, 2, func(f *fixture) {
		f.store.publish("sales", stream.Positions{"0": endOfShard, "1": "5"})
		f.put(f.spec("", "", ""))
		f.after(2 * time.Second)
		f.starts(`{"1":5}`, "")
		f.state(runningState)
	})
}
