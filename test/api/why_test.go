package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/testkit/server"
)

// said is one decision, as every place tells it.
type said struct {
	Subject, ID, DataSource, Topic, Outcome, Reason string
	Details                                         map[string]any
}

// What is decided about a thing is told alike by its own question, by that for its datasource, by
// the question for everything, and by sys.decisions, with all facts.
func TestDecisionsAreTheSameEverywhere(t *testing.T) {
	held := newHold()
	s := server.Start(t, server.Options{FaultPoint: held.step})
	const rows = "SELECT * FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00', 1)) AS v(__time, n) PARTITIONED BY DAY"
	if err := s.Ingest(t.Context(), "REPLACE INTO t OVERWRITE ALL "+rows, nil); err != nil {
		t.Fatal(err)
	}
	const rules = `[{"type":"loadForever","tieredReplicants":{"hot":2}}]`
	if status, text, err := s.Send(t.Context(), "router", http.MethodPost, "/service/coordinator/v1/rules/t", rules); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, text, err)
	}
	held.arm()
	task, err := s.Submit(t.Context(), "REPLACE INTO t OVERWRITE ALL "+rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	held.wait()
	defer held.release()

	ask := func(query string) []said {
		t.Helper()
		var out struct{ Decisions []said }
		if err := s.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/why"+query, nil, &out); err != nil {
			t.Fatal(err)
		}
		return out.Decisions
	}
	find := func(list []said, topic string) said {
		t.Helper()
		i := slices.IndexFunc(list, func(d said) bool { return d.Topic == topic && d.Subject != "datasource" })
		if i < 0 {
			t.Fatalf("nothing is said of [%s]: %+v", topic, list)
		}
		return list[i]
	}
	all := ask("")
	load, work := find(all, "load"), find(all, "task")
	if load.Subject != "segment" || load.DataSource != "t" || load.Outcome != "missing" ||
		load.Reason != "rule [1] of [t], [loadForever], wants [2] copies on tier [hot], which has no servers" {
		t.Errorf("%+v", load)
	}
	for _, name := range []string{"ruleList", "ruleNumber", "rule", "servers", "size", "missing", "tiers"} {
		if load.Details[name] == nil {
			t.Errorf("no [%s] in %v", name, load.Details)
		}
	}
	if locks, _ := work.Details["locks"].([]any); work.ID != task || work.Outcome != "running" || len(locks) != 1 {
		t.Errorf("%+v", work)
	}
	for query, want := range map[string]said{
		"?segment=" + url.QueryEscape(load.ID): load, "?datasource=t": load, "?task=" + task: work,
	} {
		if diff := cmp.Diff(want, find(ask(query), want.Topic)); diff != "" {
			t.Errorf("%s: %s", query, diff)
		}
	}
	listed, err := s.Query(t.Context(), "SELECT subject, subject_id, datasource, topic, outcome, reason, details FROM sys.decisions")
	if err != nil || len(listed) != len(all) {
		t.Fatalf("%v, %v; want [%d] decisions", listed, err, len(all))
	}
	for i, r := range listed {
		got := said{r[0].(string), r[1].(string), r[2].(string), r[3].(string), r[4].(string), r[5].(string), nil}
		if err := json.Unmarshal([]byte(r[6].(string)), &got.Details); err != nil {
			t.Fatal(err)
		}
		want := all[i]
		text, err := json.Marshal(want.Details) // numbers of a client are texts
		if err != nil {
			t.Fatal(err)
		}
		want.Details = nil
		if err := json.Unmarshal(text, &want.Details); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sys.decisions: %s", diff)
		}
	}
}
