package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// What statements limit (time chunks, columns, the bytes of a row) native loads do not.
func TestNativeLoadsHaveNoLimitsOfStatements(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	long, wide := strings.Repeat("x", 3<<20), map[string]any{"t": "2024-01-01"}
	for i := range 2100 {
		wide[fmt.Sprintf("c%d", i)] = i
	}
	columns, err := json.Marshal(wide)
	if err != nil {
		t.Fatal(err)
	}
	var hours []string
	for i := range 5001 {
		hours = append(hours, fmt.Sprintf(`{"t":%d,"k":"a"}`, 1577836800000+3600000*int64(i)))
	}
	for _, c := range []struct {
		name      string
		load      nativeLoad
		sql, want string
	}{
		{"a row of 3 MB", nativeLoad{lines: []string{`{"t":"2024-01-01","k":"` + long + `"}`}}, "SELECT CHAR_LENGTH(k) FROM x", "[[3145728]]"},
		{"2,100 columns", nativeLoad{lines: []string{string(columns)}, dimensions: `{"useSchemaDiscovery":true}`}, "SELECT c0, c2099 FROM x", "[[0 2099]]"},
		{"5,001 time chunks", nativeLoad{lines: hours, granularity: `{"segmentGranularity":"HOUR","rollup":false}`}, "SELECT COUNT(*) FROM x WHERE __time < TIMESTAMP '2021-01-01'", "[[5001]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if task, _ := runCounted(t, s, c.load.spec(t)); task.StatusCode != "SUCCESS" {
				t.Fatal(task.ErrorMsg)
			}
			if got := ask(c.sql); got != c.want {
				t.Errorf("%.200s, want %s", got, c.want)
			}
		})
	}
}

// Limits that the context of a native task sets hold, and what is said of them names settings that
// it has.
func TestContextOfNativeTasksSetsLimits(t *testing.T) {
	s := server.Start(t, server.Options{})
	with := func(spec, context string) string {
		return strings.TrimSuffix(spec, "}") + `,"context":` + context + "}"
	}
	two := nativeLoad{lines: []string{`{"t":"2024-01-01","k":"a"}`, `{"t":"2024-01-02","k":"` + strings.Repeat("y", 2000) + `"}`}}.spec(t)
	if task, _ := runCounted(t, s, two); task.StatusCode != "SUCCESS" {
		t.Fatal(task.ErrorMsg)
	}
	const compact = `{"type":"compact","dataSource":"x","ioConfig":{"type":"compact","inputSpec":{"type":"interval","interval":"2024/2025"}},"granularitySpec":{"segmentGranularity":"YEAR"}}`
	for _, c := range []struct{ name, spec, want string }{
		{"bytes of a row", with(two, `{"maxFrameSize":1000}`), "increase the context parameter[maxFrameSize]"},
		{"partitions", with(two, `{"maxPartitions":1}`), "Increase or remove [maxPartitions] in the context of the task"},
		{"input files", with(compact, `{"maxInputFilesPerWorker":1}`), "set [maxNumConcurrentSubTasks] in the [tuningConfig] to at least [2]"},
		{"no number", with(two, `{"maxFrameSize":-1}`), "[maxFrameSize] must be a positive integer"},
		{"enough of all", with(compact, `{"maxInputFilesPerWorker":2,"maxFrameSize":"1000000"}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			task, _ := runCounted(t, s, c.spec)
			if c.want == "" && task.StatusCode != "SUCCESS" || !strings.Contains(task.ErrorMsg, c.want) {
				t.Errorf("%s: %s", task.StatusCode, task.ErrorMsg)
			}
		})
	}
}
