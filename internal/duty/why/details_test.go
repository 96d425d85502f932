package why

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/duty/compact"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// detailed checks the decision of a topic: its outcome, its reason, and its details as JSON. In
// texts $1 is the id of the first segment, and so on.
func (f *fixture) detailed(what string, list []Decision, topic, outcome, reason, details string) {
	f.t.Helper()
	for i, id := range f.ids {
		reason, details = strings.ReplaceAll(reason, fmt.Sprint("$", i+1), id), strings.ReplaceAll(details, fmt.Sprint("$", i+1), id)
	}
	for _, d := range list {
		if d.Topic != topic {
			continue
		}
		text, err := json.Marshal(d.Details)
		f.ok(err)
		var want, got any
		f.ok(json.Unmarshal([]byte(details), &want))
		f.ok(json.Unmarshal(text, &got))
		if diff := cmp.Diff([]any{outcome, reason, want}, []any{d.Outcome, d.Reason, got}); diff != "" {
			f.t.Errorf("%s: %s", what, diff)
		}
		return
	}
	f.t.Errorf("%s: nothing is said of [%s]: %v", what, topic, list)
}

func (f *fixture) about(i int) []Decision {
	f.t.Helper()
	list, err := f.Segment(f.t.Context(), f.ids[i])
	f.ok(err)
	return list
}

// Every reason for a segment not to be loaded has its facts: the rule as it was written, the
// servers with a copy, what is missing, and the room that there is.
func TestDetailsOfLoading(t *testing.T) {
	f := open(t)
	f.detailed("no rules", f.about(0), Load, "unwanted", "no retention rule is about it; it stays as it is", `{"servers":[],"size":100}`)
	f.detailed("no rules, but a copy", f.about(1), Load, "loaded", "no retention rule is about it; it stays as it is", `{"servers":["h:8083"],"size":100}`)
	const forever = `"ruleList":"wiki","ruleNumber":1,"rule":{"type":"loadForever","tieredReplicants":{"_default_tier":1},"useDefaultTierForNull":true}`
	const words = "rule [1] of [wiki], [loadForever],"
	f.rules(`[{"type":"loadForever","tieredReplicants":{"_default_tier":1}}]`)
	f.detailed("loaded", f.about(1), Load, "loaded", "all copies that "+words+" wants are there", `{"servers":["h:8083"],"size":100,`+forever+`}`)
	room := func(servers, with, full, free int) string {
		return fmt.Sprintf(`"missing":{"_default_tier":1},"tiers":{"_default_tier":{"servers":%d,"withCopy":%d,"full":%d,"freeBytes":%d}}`, servers, with, full, free)
	}
	f.detailed("nobody is told", f.about(0), Load, "missing", words+" wants it on tier [_default_tier]; the Coordinator has not "+
		"assigned it yet",
		`{"servers":[],"size":100,`+forever+`,`+room(1, 0, 0, 1000)+`}`)
	f.o.Assigned = func(context.Context) Assigned {
		return Assigned{Told: map[string][]string{f.ids[0]: {"a:1"}}, Failed: map[string]string{f.ids[0]: "server [c:1]: the disk is full"}}
	}
	f.detailed("told, after a failure", f.about(0), Load, "missing",
		words+" wants it on tier [_default_tier]; server [a:1] is to load it; the last that did not is server [c:1]: the disk is full",
		`{"servers":[],"size":100,`+forever+`,`+room(1, 0, 0, 1000)+`,"loading":["a:1"],"failed":"server [c:1]: the disk is full"}`)
	f.o.Assigned = nil
	f.server.Used = 901
	f.detailed("no room", f.about(0), Load, "missing", words+" wants it on tier [_default_tier], where no server has room for its [100] bytes",
		`{"servers":[],"size":100,`+forever+`,`+room(1, 0, 1, 99)+`}`)
	f.rules(`[{"type":"loadForever","tieredReplicants":{"_default_tier":2}}]`)
	two := strings.Replace(forever, `"_default_tier":1`, `"_default_tier":2`, 1)
	f.detailed("too few servers", f.about(1), Load, "missing", words+" wants [2] copies on tier [_default_tier], which has [1] servers, each with one",
		`{"servers":["h:8083"],"size":100,`+two+`,`+room(1, 1, 0, 0)+`}`)
	f.rules(`[{"type":"loadForever","tieredReplicants":{"hot":1}}]`)
	f.detailed("no server", f.about(1), Load, "missing", words+" wants [1] copies on tier [hot], which has no servers", `{"servers":["h:8083"],"size":100,`+
		strings.Replace(forever, "_default_tier", "hot", 1)+`,"missing":{"hot":1},"tiers":{"hot":{"servers":0,"withCopy":0,"full":0,"freeBytes":0}}}`)
	f.rules(`[{"type":"loadForever","tieredReplicants":{},"useDefaultTierForNull":false}]`)
	f.detailed("deep storage", f.about(0), Load, "unwanted", words+" keeps it in deep storage only",
		`{"servers":[],"size":100,"ruleList":"wiki","ruleNumber":1,"rule":{"type":"loadForever","tieredReplicants":{},"useDefaultTierForNull":false}}`)
	f.rules(`[{"type":"dropForever"}]`)
	f.detailed("dropped", f.about(0), Load, "unwanted", "rule [1] of [wiki], [dropForever], drops it", `{"ruleList":"wiki","ruleNumber":1,"rule":{"type":"dropForever"}}`)
	f.publish(1)
	f.detailed("hidden", f.about(0), Load, "unwanted", "newer segments hide it", `{"hiddenBy":["$5"]}`)
}

// Every reason for a segment to stay in use, or not to be deleted, has its facts: the rule, what
// the duty waits for, what hides the segment, and from when on it may go.
func TestDetailsOfDropping(t *testing.T) {
	f := open(t)
	f.detailed("no rules", f.about(0), Drop, "kept", "no retention rule is about it; it stays as it is", `{}`)
	f.rules(`[{"type":"loadByInterval","interval":"2026-03-02/2026-03-03","tieredReplicants":{"_default_tier":1}},{"type":"dropForever"}]`)
	f.detailed("kept", f.about(1), Drop, "kept", "rule [1] of [wiki], [loadByInterval], keeps it", `{"ruleList":"wiki","ruleNumber":1,"rule":
		{"type":"loadByInterval","interval":"2026-03-02T00:00:00.000Z/2026-03-03T00:00:00.000Z","tieredReplicants":{"_default_tier":1},"useDefaultTierForNull":true}}`)
	const drop, words = `"ruleList":"wiki","ruleNumber":2,"rule":{"type":"dropForever"}`, "rule [2] of [wiki], [dropForever], drops it"
	f.detailed("dropped", f.about(0), Drop, "dropped", words+" in the next round", `{`+drop+`}`)
	f.set("coordinator.config", `{"pauseCoordination":true}`)
	f.detailed("paused", f.about(0), Drop, "waiting", words+"; duties are paused (pauseCoordination)", `{`+drop+`,"pauseCoordination":true}`)
	f.publish(1)
	f.detailed("hidden and paused", f.about(0), Drop, "waiting", "newer segments hide it; duties are paused (pauseCoordination)", `{"hiddenBy":["$5"],"pauseCoordination":true}`)
	f.set("coordinator.config", `{"millisToWaitBeforeDeleting":60000}`)
	f.detailed("hidden for a while", f.about(0), Drop, "waiting",
		"newer segments hide it; it goes out of use when the Coordinator has been up for millisToWaitBeforeDeleting", `{"hiddenBy":["$5"],"waitMillis":60000}`)
	f.set("coordinator.config", `{"millisToWaitBeforeDeleting":0}`)
	f.detailed("hidden", f.about(0), Drop, "dropped", "newer segments hide it; it goes out of use in the next round", `{"hiddenBy":["$5"]}`)
	servers := f.o.Servers
	f.o.Servers = func() []Server { return nil }
	f.detailed("no servers", f.about(3), Drop, "waiting", words+"; rules do not run while there are no servers", `{`+drop+`,"historicals":0}`)
	f.o.Servers = servers

	_, err := f.store.MarkUnused(t.Context(), metastore.Fence{}, "wiki", metastore.Selection{IDs: f.ids[:1]}, nil)
	f.ok(err)
	f.ok(f.published.Advance(f.published.Pin().Number()+1, []timeline.Change{{ID: idOf(t, f.ids[0])}}))
	const since = `"unusedSince":"2026-03-10T12:00:00.000Z"`
	f.detailed("unused", f.about(0), Drop, "dropped",
		"it has been out of use since [2026-03-10T12:00:00.000Z]: a rule or a user dropped it, or newer segments replaced it", `{`+since+`}`)
	f.detailed("not unused for long", f.about(0), Kill, "waiting", "it has not been unused for service.coordinator.kill.bufferPeriod",
		`{`+since+`,"deletedFrom":"2026-03-11T12:00:00.000Z"}`)
	f.o.AutoKill.Buffer = 0
	f.detailed("too young", f.about(0), Kill, "waiting", "its interval ends within service.coordinator.kill.durationToRetain", `{`+since+`,"deletedFrom":"2026-05-31T00:00:00.000Z"}`)
	f.o.AutoKill.Retain = 0
	f.detailed("its turn", f.about(0), Kill, "waiting", "a kill task will delete it when its turn comes", `{`+since+`}`)
	f.set("coordinator.config", `{"killDataSourceWhitelist":["other"]}`)
	f.detailed("not listed", f.about(0), Kill, "kept", "its datasource is not in killDataSourceWhitelist", `{`+since+`,"killDataSourceWhitelist":["other"]}`)
	f.o.AutoKill = nil
	f.detailed("nobody kills", f.about(0), Kill, "kept", "no kill task was submitted, and service.coordinator.kill.on is false", `{`+since+`}`)
}

// taking is a queue with one slot. It implements compact.Tasks, and takes tasks if the test wants
// it; the queue in it knows no type of tasks.
type taking struct {
	*task.Queue
	takes bool
}

func (q *taking) Capacity() int { return 1 }

func (q *taking) Read(body []byte) (*task.Task, error) {
	if q.takes {
		return &task.Task{ID: "c", Type: "compact", DataSource: "wiki"}, nil
	}
	return q.Queue.Read(body)
}

func (q *taking) Submit(context.Context, *task.Task) error { return nil }

// Every reason for a segment not to be compacted has its facts: the interval, the settings, the
// lock, the slots.
func TestDetailsOfCompaction(t *testing.T) {
	f := open(t)
	f.detailed("no settings", f.about(0), Compact, "disabled", "its datasource has no compaction settings", `{}`)
	queue := &taking{Queue: task.NewQueue(nil, nil, task.Options{Clock: f.o.Clock})}
	anew := func() {
		f.o.Compaction = compact.New(f.store, f.published, queue, compact.Options{Clock: f.o.Clock, Log: slog.New(slog.DiscardHandler)})
	}
	settings := func(slots, size int) {
		t.Helper()
		f.set(compact.SettingName, fmt.Sprintf(`{"compactionTaskSlotRatio":1,"maxCompactionTaskSlots":%d,"compactionConfigs":[
			{"dataSource":"wiki","taskPriority":25,"inputSegmentSizeBytes":%d,"skipOffsetFromLatest":"P0D"}]}`, slots, size))
	}
	anew()
	settings(0, 1000)
	f.detailed("no round", f.about(0), Compact, "waiting", "no round of compaction has seen it yet", `{}`)
	f.ok(f.o.Compaction.Round(t.Context()))
	f.detailed("no slots at all", f.about(0), Compact, "waiting", "there are no task slots for compaction", `{"slots":0}`)
	first := `"interval":"` + day(1).String() + `","segments":1,"bytes":100`
	f.lock("kafka", day(1), 75)
	settings(1, 1000)
	f.ok(f.o.Compaction.Round(t.Context()))
	f.detailed("locked", f.about(0), Compact, "skipped", "interval ["+day(1).String()+"] is locked by another task",
		`{`+first+`,"heldByOthers":[{"interval":"`+day(1).String()+`","type":"EXCLUSIVE","groupId":"kafka","priority":75,"revoked":false}]}`)
	f.ok(f.store.ReleaseLocks(t.Context(), metastore.Fence{}, "kafka", nil))
	settings(1, 99)
	f.ok(f.o.Compaction.Round(t.Context()))
	f.detailed("too large", f.about(0), Compact, "skipped", "its total bytes are more than 'inputSegmentSizeBytes'", `{`+first+`}`)
	settings(1, 1000)
	f.ok(f.o.Compaction.Round(t.Context()))
	f.detailed("no task can be made", f.about(0), Compact, "waiting", "no task could be submitted: Task type [compact] is unknown; known types are []",
		`{`+first+`,"slots":1,"slotsFree":1}`)
	queue.takes = true
	anew()
	f.ok(f.o.Compaction.Round(t.Context()))
	newest := strings.ReplaceAll(first, day(1).String(), day(4).String())
	needs := f.o.Compaction.Outcomes("wiki")[0].Why
	f.detailed("running", f.about(3), Compact, "running", needs, `{`+newest+`,"task":"c"}`)
	f.detailed("all slots are taken", f.about(0), Compact, "waiting", needs+"; all [1] task slots of compaction are taken", `{`+first+`,"slots":1,"slotsFree":0}`)
	f.publish(1)
	f.detailed("hidden", f.about(0), Compact, "unwanted", "newer segments hide it", `{"hiddenBy":["$5"]}`)
}

// Every reason for a task to wait has its facts: the slots, its own locks, and those of others.
func TestDetailsOfTasks(t *testing.T) {
	f := open(t)
	ask := func(state task.State, failure string) []Decision {
		t.Helper()
		f.tasks = []task.Status{{Task: &task.Task{ID: "t", GroupID: "t", Type: "compact", DataSource: "wiki", Priority: 25}, State: state, Error: failure}}
		list, err := f.Task(t.Context(), "t")
		f.ok(err)
		return list
	}
	const of = `"type":"compact","priority":25`
	f.detailed("ended", ask(task.Failed, "no room"), Task, "ended", "it ended with status [FAILED]: no room", `{`+of+`}`)
	f.detailed("no slot", ask(task.Pending, ""), Task, "waiting", "all [2] task slots are taken; tasks of higher priority, then older ones, go first",
		`{`+of+`,"locks":[],"slots":2,"slotsUsed":2}`)
	f.disabled = true
	f.detailed("disabled", ask(task.Pending, ""), Task, "waiting", "the worker is disabled and takes no new tasks", `{`+of+`,"locks":[],"slots":2,"slotsUsed":2}`)
	f.detailed("no locks yet", ask(task.Waiting, ""), Task, "waiting", "it is about to be given its locks", `{`+of+`,"locks":[]}`)
	shown := func(iv chrono.Interval, group string, priority int) string {
		return fmt.Sprintf(`{"interval":"%s","type":"EXCLUSIVE","groupId":"%s","priority":%d,"revoked":false}`, iv, group, priority)
	}
	var words, all []string
	for n := 1; n <= 4; n++ {
		group := fmt.Sprint("kafka", n)
		f.lock(group, day(n), 75)
		words, all = append(words, "[EXCLUSIVE] on ["+day(n).String()+"] of ["+group+"], priority [75]"), append(all, shown(day(n), group, 75))
	}
	f.detailed("behind locks", ask(task.Waiting, ""), Task, "waiting",
		"it waits for a lock, and there are other locks on its datasource: "+strings.Join(words[:3], ", ")+", and [1] more", `{`+of+`,"locks":[],"heldByOthers":[`+strings.Join(all, ",")+`]}`)
	f.lock("t", day(5), 25)
	f.detailed("running", ask(task.Running, ""), Task, "running", "it is running", `{`+of+`,"locks":[`+shown(day(5), "t", 25)+`],"heldByOthers":[`+strings.Join(all, ",")+`]}`)
}
