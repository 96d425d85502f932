package metastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func TestTasks(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		insert := func(task Task) {
			t.Helper()
			f.clock.Advance(1e9)
			task.Active, task.StatusCode = true, "RUNNING"
			f.ok(f.InsertTask(f.ctx(), Fence{}, task, nil))
		}
		insert(Task{ID: "a", GroupID: "g", Type: "query_controller", DataSource: "wiki", Payload: json.RawMessage(`{"x":"\u0000"}`)})
		insert(Task{ID: "b", GroupID: "g", Type: "compact", DataSource: "wiki"})
		insert(Task{ID: "c", GroupID: "h", Type: "compact", DataSource: "other", Priority: 25})
		err := f.InsertTask(f.ctx(), Fence{}, Task{ID: "a", GroupID: "g"}, nil)
		f.refused(err, "Task[a] already exists")
		if found := fault.Find(err); found.Code != "entryAlreadyExists" || found.Category != fault.CategoryInvalidInput {
			t.Errorf("a second task: %+v", found)
		}
		f.clock.Advance(1e9)
		finished := f.now()
		for _, want := range []bool{true, false} {
			if ok, err := f.FinishTask(f.ctx(), Fence{}, "b", "SUCCESS", json.RawMessage(`{"duration":5}`)); err != nil || ok != want {
				t.Errorf("finishing: %v %v", ok, err)
			}
		}
		if ok, err := f.UpdateTask(f.ctx(), Fence{}, "b", "RUNNING", nil); err != nil || ok {
			t.Errorf("a complete task was updated: %v %v", ok, err)
		}
		if ok, err := f.UpdateTask(f.ctx(), Fence{}, "a", "RUNNING", json.RawMessage(`{"location":{}}`)); err != nil || !ok {
			t.Errorf("an active task was not updated: %v %v", ok, err)
		}
		_, err = f.FinishTask(f.ctx(), Fence{}, "nobody", "SUCCESS", nil)
		f.refused(err, "Cannot find any task with id: [nobody]")
		_, err = f.Task(f.ctx(), "nobody")
		if found := fault.Find(err); found == nil || found.Category != fault.CategoryNotFound {
			t.Errorf("unknown task: %v", err)
		}
		got, err := f.Task(f.ctx(), "b")
		f.ok(err)
		want := Task{
			ID: "b", GroupID: "g", Allocator: "b", Type: "compact", DataSource: "wiki", Created: testStart.UnixMilli() + 2000, Updated: finished,
			StatusCode: "SUCCESS", Status: json.RawMessage(`{"duration":5}`),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		active, complete := true, false
		created := chrono.Interval{Start: testStart.UnixMilli() + 2000, End: testStart.UnixMilli() + 3000}
		for name, tt := range map[string]struct {
			filter TaskFilter
			want   []string
		}{
			"all":             {TaskFilter{}, []string{"b", "c", "a"}},
			"active":          {TaskFilter{Active: &active}, []string{"c", "a"}},
			"complete":        {TaskFilter{Active: &complete}, []string{"b"}},
			"datasource":      {TaskFilter{DataSource: "wiki"}, []string{"b", "a"}},
			"type":            {TaskFilter{Type: "compact", Limit: 1, Active: &active}, []string{"c"}},
			"group":           {TaskFilter{GroupID: "g", Active: &active}, []string{"a"}},
			"created":         {TaskFilter{Created: &created}, []string{"b"}},
			"completed since": {TaskFilter{CompletedSince: finished + 1}, []string{"c", "a"}},
			"ids":             {TaskFilter{IDs: []string{"a", "nobody"}}, []string{"a"}},
			"no ids":          {TaskFilter{IDs: []string{}}, nil},
		} {
			found, err := f.Tasks(f.ctx(), tt.filter)
			f.ok(err)
			var got []string
			for _, task := range found {
				got = append(got, task.ID)
				if task.Payload != nil {
					t.Errorf("%s: a payload nobody asked for", name)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		withPayload, err := f.Task(f.ctx(), "a")
		f.ok(err)
		if string(withPayload.Payload) != `{"x":"\u0000"}` {
			t.Errorf("payload %s", withPayload.Payload)
		}

		f.ok(f.PutTaskStage(f.ctx(), Fence{}, "b", "stage-0", json.RawMessage(`1`)))
		f.ok(f.PutTaskStage(f.ctx(), Fence{}, "b", "stage-0", json.RawMessage(`2`)))
		stages, err := f.TaskStages(f.ctx(), "b")
		f.ok(err)
		if len(stages) != 1 || string(stages["stage-0"]) != "2" {
			t.Errorf("stages %v", stages)
		}
		report := TaskFile{TaskID: "b", Kind: "report", Location: json.RawMessage(`{"path":"r"}`)}
		f.ok(f.PutTaskFile(f.ctx(), Fence{}, report))
		ids, files, err := f.DeleteTasks(f.ctx(), Fence{}, finished+1, 10)
		f.ok(err)
		if diff := cmp.Diff([]string{"b"}, ids); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]TaskFile{report}, files); diff != "" {
			t.Error(diff)
		}
		if _, found, err := f.TaskFile(f.ctx(), "b", "report"); err != nil || found {
			t.Errorf("the file of a deleted task: %v %v", found, err)
		}
	})
}

// TestFinishTask expects locks to be released, and promised ids to be forgotten with the last task
// that shares them.
func TestFinishTask(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		for _, id := range []string{"a", "b"} {
			f.ok(f.InsertTask(f.ctx(), Fence{}, Task{ID: id, GroupID: "g", Allocator: "both", Active: true}, nil))
			r := f.appendRequest(tasklock.Owner{TaskID: id, GroupID: "g", Priority: 75}, "s", hour(1).Start)
			r.Allocator = "both"
			if _, _, granted, err := f.AllocateSegment(f.ctx(), r); err != nil || !granted {
				t.Fatal(granted, err)
			}
		}
		for _, tt := range []struct {
			id             string
			locks, pending int
		}{{"a", 1, 1}, {"b", 0, 0}} {
			_, err := f.FinishTask(f.ctx(), Fence{}, tt.id, "SUCCESS", nil)
			f.ok(err)
			locks, err := f.Locks(f.ctx(), "")
			f.ok(err)
			pending, err := f.PendingSegments(f.ctx(), "wiki")
			f.ok(err)
			if len(locks) != tt.locks || len(pending) != tt.pending {
				t.Errorf("after %s: %d locks, %d promised ids", tt.id, len(locks), len(pending))
			}
		}
	})
}

func TestRulesSettingsAudit(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		set := func(rules string, want bool) {
			t.Helper()
			f.clock.Advance(1e9)
			changed, err := f.SetRules(f.ctx(), Fence{}, "wiki", json.RawMessage(rules), &AuditEntry{
				Type: "rules", Key: "wiki", Author: "me", Comment: "why", Identity: "admin", IP: "10.0.0.1", Request: json.RawMessage(`{"method":"POST"}`),
			})
			f.ok(err)
			if changed != want {
				t.Errorf("setting %s: changed %v", rules, changed)
			}
		}
		if _, found, err := f.Rules(f.ctx(), "wiki"); err != nil || found {
			t.Errorf("before: %v %v", found, err)
		}
		set(`[1]`, true)
		first := f.now()
		set(`[1]`, false)
		set(`[]`, true)
		all, err := f.AllRules(f.ctx())
		f.ok(err)
		if diff := cmp.Diff(map[string]json.RawMessage{"wiki": json.RawMessage(`[]`)}, all); diff != "" {
			t.Error(diff)
		}
		history := func(filter AuditFilter) []string {
			t.Helper()
			entries, err := f.AuditHistory(f.ctx(), filter)
			f.ok(err)
			var got []string
			for _, e := range entries {
				got = append(got, e.Payload)
			}
			return got
		}
		exactly := chrono.Interval{Start: first, End: first}
		for name, tt := range map[string]struct {
			filter AuditFilter
			want   []string
		}{
			"oldest first":  {AuditFilter{Type: "rules"}, []string{`[1]`, `[]`}},
			"newest":        {AuditFilter{Type: "rules", Key: "wiki", Count: 1}, []string{`[]`}},
			"interval wins": {AuditFilter{Type: "rules", Count: 1, Interval: &exactly}, []string{`[1]`}},
			"other key":     {AuditFilter{Type: "rules", Key: "other"}, nil},
			"other type":    {AuditFilter{Type: "task"}, nil},
		} {
			if diff := cmp.Diff(tt.want, history(tt.filter)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		entries, err := f.AuditHistory(f.ctx(), AuditFilter{Type: "rules", Count: 1})
		f.ok(err)
		want := AuditEntry{
			Key: "wiki", Type: "rules", Author: "me", Comment: "why", Identity: "admin", IP: "10.0.0.1", Request: json.RawMessage(`{"method":"POST"}`),
			Payload: `[]`, At: f.now(),
		}
		if diff := cmp.Diff(want, entries[0]); diff != "" {
			t.Error(diff)
		}
		if deleted, err := f.DeleteRules(f.ctx(), Fence{}, "wiki"); err != nil || !deleted {
			t.Errorf("deleting rules: %v %v", deleted, err)
		}
		if n, err := f.DeleteAudit(f.ctx(), Fence{}, f.now()); err != nil || n != 1 {
			t.Errorf("deleting audit: %d %v", n, err)
		}

		wrong := errors.New("contradicts")
		_, err = f.UpdateSetting(f.ctx(), Fence{}, "coordinator.config", nil, func(stored json.RawMessage) (json.RawMessage, error) {
			if stored != nil {
				t.Error("a setting out of nothing")
			}
			return nil, wrong
		})
		if !errors.Is(err, wrong) {
			t.Errorf("a refused update: %v", err)
		}
		if changed, err := f.SetSetting(f.ctx(), Fence{}, "coordinator.config", json.RawMessage(`{}`), nil); err != nil || !changed {
			t.Errorf("setting: %v %v", changed, err)
		}
		_, err = f.SetSetting(f.ctx(), Fence{}, "coordinator.config", json.RawMessage(`{`), nil)
		f.refused(err, "is not JSON")
		f.reopen()
		if got, found, err := f.Setting(f.ctx(), "coordinator.config"); err != nil || !found || string(got) != `{}` {
			t.Errorf("setting after a restart: %s %v %v", got, found, err)
		}
		if deleted, err := f.DeleteSetting(f.ctx(), Fence{}, "coordinator.config", nil); err != nil || !deleted {
			t.Errorf("deleting: %v %v", deleted, err)
		}
		f.ok(f.Audit(f.ctx(), AuditEntry{Type: "segment.kill", Key: "wiki", Payload: "{}"}))
	})
}

func TestStatements(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		f.ok(f.PutStatement(f.ctx(), Statement{ID: "a", State: "ACCEPTED", Identity: "me"}))
		created := f.now()
		f.clock.Advance(1e9)
		f.ok(f.PutStatement(f.ctx(), Statement{ID: "b", State: "ACCEPTED"}))
		f.ok(f.PutStatement(f.ctx(), Statement{ID: "a", State: "SUCCESS", TaskID: "t", Payload: json.RawMessage(`{"pages":[]}`)}))
		f.reopen()
		got, found, err := f.Statement(f.ctx(), "a")
		f.ok(err)
		want := Statement{ID: "a", State: "SUCCESS", TaskID: "t", Identity: "me", Created: created, Updated: f.now(), Payload: json.RawMessage(`{"pages":[]}`)}
		if diff := cmp.Diff(want, got); diff != "" || !found {
			t.Error(diff)
		}
		for name, tt := range map[string]struct {
			before int64
			limit  int
			want   int
		}{"all": {0, 0, 2}, "old": {created + 1, 0, 1}, "limit": {0, 1, 1}} {
			if found, err := f.Statements(f.ctx(), tt.before, tt.limit); err != nil || len(found) != tt.want || found[0].ID != "a" {
				t.Errorf("%s: %+v %v", name, found, err)
			}
		}
		for _, want := range []bool{true, false} {
			if deleted, err := f.DeleteStatement(f.ctx(), "a"); err != nil || deleted != want {
				t.Errorf("deleting: %v %v", deleted, err)
			}
		}
	})
}

func TestSupervisors(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		for _, v := range []SupervisorVersion{
			{ID: "a", Payload: json.RawMessage(`1`)}, {ID: "b", Payload: json.RawMessage(`1`)}, {ID: "a", Payload: json.RawMessage(`2`)},
			{ID: "b", Payload: json.RawMessage(`{"type":"noop"}`), Tombstone: true},
		} {
			f.clock.Advance(1e9)
			f.ok(f.PutSupervisor(f.ctx(), Fence{}, v, nil))
		}
		current, err := f.Supervisors(f.ctx())
		f.ok(err)
		if len(current) != 1 || current[0].ID != "a" || string(current[0].Payload) != "2" {
			t.Errorf("current: %+v", current)
		}
		history, err := f.SupervisorHistory(f.ctx(), "b")
		f.ok(err)
		if len(history) != 2 || !history[0].Tombstone || history[0].Created <= history[1].Created {
			t.Errorf("history: %+v", history)
		}
		if n, err := f.DeleteSupervisors(f.ctx(), Fence{}, f.now()+1); err != nil || n != 2 {
			t.Errorf("deleting: %d %v", n, err)
		}
		all, err := f.AllSupervisorHistory(f.ctx())
		f.ok(err)
		if len(all) != 2 || string(all[0].Payload) != "2" {
			t.Errorf("what is left: %+v", all)
		}
	})
}

// Without a history entries go where they are told, and nowhere else.
func TestNoAuditHistory(t *testing.T) {
	f := &fixture{t: t, clock: fakeclock.New(testStart)}
	var told []AuditEntry
	s, err := Open(t.Context(), Options{
		Path: filepath.Join(t.TempDir(), "m.db"), Clock: f.clock, NoAudit: true, MaxAuditBytes: 5, Audited: func(e AuditEntry) { told = append(told, e) },
	})
	f.ok(err)
	defer func() { f.ok(s.Close()) }()
	f.ok(s.Audit(t.Context(), AuditEntry{Type: "x", Key: "k", Payload: "12345"}))
	f.ok(s.Audit(t.Context(), AuditEntry{Type: "x", Key: "l", Payload: "123456"}))
	got, err := s.AuditHistory(t.Context(), AuditFilter{Type: "x"})
	f.ok(err)
	if len(got) != 0 || len(told) != 2 || told[0].Payload != "12345" || told[1].Key != "l" || !strings.Contains(told[1].Payload, "size [6] was more than the limit [5]") {
		t.Errorf("the history is %+v, told was %+v", got, told)
	}
}

// A payload beyond the limit is not kept, and the history says so.
func TestAuditLimit(t *testing.T) {
	f := &fixture{t: t, clock: fakeclock.New(testStart)}
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "m.db"), Clock: f.clock, MaxAuditBytes: 5})
	f.ok(err)
	defer func() { f.ok(s.Close()) }()
	for _, payload := range []string{"12345", "123456"} {
		f.ok(s.Audit(t.Context(), AuditEntry{Type: "x", Key: "k", Payload: payload}))
	}
	got, err := s.AuditHistory(t.Context(), AuditFilter{Type: "x"})
	f.ok(err)
	if len(got) != 2 || got[0].Payload != "12345" || !strings.Contains(got[1].Payload, "size [6] was more than the limit [5]") {
		t.Errorf("%+v", got)
	}
}

func TestSavedQueries(t *testing.T) {
	onEach(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		save := func(id, owner, name string, shared bool) SavedQuery {
			t.Helper()
			f.clock.Advance(time.Second)
			payload := json.RawMessage(`{"statement":"SELECT 1"}`)
			q, err := f.CreateSavedQuery(ctx, SavedQuery{ID: id, Owner: owner, Name: name, Shared: shared, Payload: payload})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		first := save("a", "ann", "Visits by day", false)
		save("b", "ann", "100%_done", true)
		save("c", "bob", "Visits by hour", true)
		save("d", "bob", "Mine", false)
		if first.Version != 1 || first.Created == 0 || first.Updated != first.Created {
			t.Errorf("%+v", first)
		}
		if stored, found, err := f.SavedQuery(ctx, "a"); err != nil || !found || cmp.Diff(first, stored) != "" {
			t.Errorf("%+v, %v, %v", stored, found, err)
		}
		for _, c := range []struct {
			owner, text   string
			limit, offset int
			want          string
			total         int
		}{
			{"ann", "", 10, 0, "c b a", 3}, {"bob", "", 10, 0, "d c b", 3}, {"", "", 10, 0, "c b", 2},
			{"ann", "VISITS", 10, 0, "c a", 2}, {"ann", "%_", 10, 0, "b", 1}, {"ann", "_", 10, 0, "b", 1}, {"ann", `\`, 10, 0, "", 0},
			{"ann", "", 1, 1, "b", 3}, {"ann", "' OR 1=1 --", 10, 0, "", 0},
		} {
			page, total, err := f.SavedQueries(ctx, c.owner, c.text, c.limit, c.offset)
			var ids []string
			for _, q := range page {
				ids = append(ids, q.ID)
			}
			if got := strings.Join(ids, " "); err != nil || got != c.want || total != c.total {
				t.Errorf("%q of %s: [%s] of %d, %v", c.text, c.owner, got, total, err)
			}
		}
		f.clock.Advance(time.Second)
		changed, found, err := f.UpdateSavedQuery(ctx, "a", func(q *SavedQuery) error {
			q.Name, q.Shared, q.Payload = "Now", true, json.RawMessage(`{"statement":"SELECT 2"}`)
			return nil
		})
		if err != nil || !found || changed.Version != 2 || changed.Updated <= first.Updated || changed.Created != first.Created {
			t.Errorf("%+v, %v, %v", changed, found, err)
		}
		refused := errors.New("no")
		if _, _, err := f.UpdateSavedQuery(ctx, "a", func(*SavedQuery) error { return refused }); !errors.Is(err, refused) {
			t.Error(err)
		}
		if _, err := f.DeleteSavedQuery(ctx, "a", func(*SavedQuery) error { return refused }); !errors.Is(err, refused) {
			t.Error(err)
		}
		if stored, _, err := f.SavedQuery(ctx, "a"); err != nil || cmp.Diff(changed, stored) != "" {
			t.Errorf("%+v, %v", stored, err)
		}
		for _, want := range []bool{true, false} {
			if found, err := f.DeleteSavedQuery(ctx, "a", func(*SavedQuery) error { return nil }); err != nil || found != want {
				t.Error(found, err)
			}
		}
		if _, found, err := f.UpdateSavedQuery(ctx, "a", func(*SavedQuery) error { return nil }); err != nil || found {
			t.Error(found, err)
		}
		f.ok(f.write(ctx, func(ctx context.Context, x *tx) error {
			for n := range maxSavedOfOwner {
				_, err := x.exec(ctx, "INSERT INTO saved_queries (id, owner, shared, name, payload, version, created, updated) "+
					"VALUES (?, 'max', 0, '', '{}', 1, 0, 0)", fmt.Sprint("many", n))
				if err != nil {
					return err
				}
			}
			return nil
		}))
		_, err = f.CreateSavedQuery(ctx, SavedQuery{ID: "more", Owner: "max"})
		if full := fault.Find(err); full == nil || full.Category != fault.CategoryCapacityExceeded {
			t.Error(err)
		}
	})
}
