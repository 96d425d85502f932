package api

import (
	"bufio"

	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestManyBadRowsOfANativeLoad loads a million records of which one is none, and as many of which
// only one is one: both are counted, and the report stays small.
func TestManyBadRowsOfANativeLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: millions of records")
	}
	const records = 1_000_000
	s := server.Start(t, server.Options{})
	for _, c := range []struct {
		name      string
		good, bad string // what most and what one of the records are
		tuning    string
		processed int64
		lost      int64
		events    int
	}{
		{"one bad", `{"t":"2024-01-01","k":"a"}`, `{"t":"2024-01-01","k":`, `{"type":"index_parallel","maxParseExceptions":1,"maxSavedParseExceptions":10}`, records - 1, 1, 1},
		{"one good", `{"t":"soon","k":"a"}`, `{"t":"2024-01-01","k":"a"}`, `{"type":"index_parallel","maxSavedParseExceptions":10}`, 1, records - 1, 10},
	} {
		path := filepath.Join(t.TempDir(), "rows.json")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		for i := range records {
			line := c.good
			if i == records/2 {
				line = c.bad
			}
			fmt.Fprintln(w, line)
		}
		if err := errors.Join(w.Flush(), f.Close()); err != nil {
			t.Fatal(err)
		}
		load := nativeLoad{source: fmt.Sprintf(`{"type":"local","files":[%q]}`, path), tuning: c.tuning}
		task, r := runNative(t, s, load.spec(t))
		counts, events := r.Stats.Payload.Rows["buildSegments"], r.Stats.Payload.Events["buildSegments"]
		if task.ErrorMsg != "" || counts["processed"] != c.processed || counts["unparseable"] != c.lost || len(events) != c.events {
			t.Errorf("%s: %s, %v and [%d] events", c.name, task.ErrorMsg, counts, len(events))
		}
	}
	load := nativeLoad{lines: []string{"{", "{", `{"t":"2024-01-01"}`}, tuning: `{"type":"index_parallel","maxParseExceptions":1}`}
	if task, _ := runNative(t, s, load.spec(t)); !strings.HasPrefix(task.ErrorMsg, "Max parse exceptions[1] exceeded: Unable to parse row [") {
		t.Errorf("more bad records than allowed: %q", task.ErrorMsg)
	}
}

// TestTaskPayloadsOfTheWrongType puts a value of each JSON type in the place of every member of a
// task, one at a time: tasks are accepted, or refused with a message that shows nothing of the
// program.
func TestTaskPayloadsOfTheWrongType(t *testing.T) {
	s := server.Start(t, server.Options{})
	var task any
	load := nativeLoad{lines: []string{`{"t":"2024-01-01"}`}, metrics: `[{"type":"longSum","name":"n","fieldName":"n"}]`,
		granularity: `{"segmentGranularity":"DAY","intervals":["2024/2025"],"rollup":true}`, dimensions: `{"dimensions":["k",{"type":"long","name":"l"}]}`,
		transform: `{"transforms":[{"type":"expression","name":"e","expression":"1"}],"filter":{"type":"selector","dimension":"k","value":"x"}}`,
		tuning:    `{"type":"index_parallel","partitionsSpec":{"type":"hashed","numShards":2}}`}
	if err := json.Unmarshal([]byte(load.spec(t)), &task); err != nil {
		t.Fatal(err)
	}
	refused := 0
	try := func(place string) {
		body, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		status, _, text := post(t, s, "/service/indexer/v1/task", string(body))
		switch {
		case status == http.StatusOK:
		case status != http.StatusBadRequest && status != http.StatusNotImplemented:
			t.Errorf("%s: status [%d]: %.300s", place, status, text)
		default:
			refused++
			for _, leak := range []string{"goroutine", ".go:", "panic", "spec.", "struct", "interface", "json: "} {
				if strings.Contains(text, leak) {
					t.Errorf("%s: the message says [%s]: %.300s", place, leak, text)
				}
			}
		}
	}
	var walk func(v any, place string)
	change := func(set func(any), old any, place string) {
		for _, other := range []any{"text", 7.5, true, []any{1}, map[string]any{"a": 1}} {
			if fmt.Sprintf("%T", other) != fmt.Sprintf("%T", old) {
				set(other)
				try(fmt.Sprintf("%s = %v", place, other))
			}
		}
		set(old)
		walk(old, place)
	}
	walk = func(v any, place string) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				change(func(x any) { v[name] = x }, member, place+"."+name)
			}
		case []any:
			for i, e := range v {
				change(func(x any) { v[i] = x }, e, fmt.Sprintf("%s[%d]", place, i))
			}
		}
	}
	walk(task, "task")
	if refused < 100 {
		t.Errorf("only [%d] payloads were refused", refused)
	}
}
