package broker

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/duty/why"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/sql/infoschema"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

func system() *System {
	return &System{
		Servers: func(bool) []Server {
			return []Server{
				{Host: "h", Port: 8081, Role: "coordinator", Leads: true, Version: "1"},
				{Host: "h", Port: 8081, Role: "overlord", Leads: true, Version: "1"},
				{Host: "h", Port: 8083, Role: "historical", Tier: "hot", MaxBytes: 1000, Started: 1, Version: "1", Labels: `{"rack":"a"}`, Processors: 2, Memory: 77,
					Used: 10, Loaded: []string{"ds_1970-01-02T00:00:00.000Z_1970-01-03T00:00:00.000Z_2"}},
			}
		},
		Copies: func(context.Context) (func(*timeline.Segment) int64, error) {
			return func(s *timeline.Segment) int64 { return int64(len(s.ID.Version)) }, nil
		},
		Tasks: func(context.Context) ([]task.Status, error) {
			done := &task.Task{ID: "done", GroupID: "g", Type: "query_controller", DataSource: "ds", Created: 1000}
			return []task.Status{
				{Task: done, State: task.Failed, Queued: 1000, Duration: 5, Location: task.Location{Host: "h", Port: 8091}, Error: "why"},
				{Task: &task.Task{ID: "waits", GroupID: "waits", Type: "kill", DataSource: "ds", Created: 2000}, State: task.Pending, Queued: 2000, Duration: -1},
			}, nil
		},
		Supervisors: func(context.Context) ([]Supervisor, error) {
			return []Supervisor{{
				ID: "s", DataSource: "a,b", State: "RUNNING", Detailed: "RUNNING", Healthy: true, Type: "noop", Source: "noop",
				Spec: `{"type":"noop","id":"s","dataSources":["a","b"],"suspended":false,"source":"noop"}`,
			}}, nil
		},
		Decisions: func(context.Context) ([]why.Decision, error) {
			return []why.Decision{{Subject: "task", ID: "t", DataSource: "ds", Topic: "task", Outcome: "waiting", Reason: "a lock", Details: map[string]any{"x": 1}}}, nil
		},
		Queries: func(context.Context) []query.Info {
			return []query.Info{{ID: "q", SQL: `SELECT '{"password":"pw"}'`, Identity: "me", Started: time.UnixMilli(0), Took: 1500 * time.Millisecond, Rows: 7, Memory: 4096}}
		},
		Properties: func() map[string]string { return map[string]string{"service.b": "2", "service.a": "1"} },
	}
}

func TestTablesOfSys(t *testing.T) {
	overshadowed, loaded := segmentOf("ds", 1, "1", "a STRING", "m LONG metric"), segmentOf("ds", 1, "2", "a STRING", "m LONG metric")
	tombstone := timeline.NewTombstone(segmentOf("ds", 2, "3").ID)
	loaded.Details = &timeline.Details{LastCompactionState: json.RawMessage(`{"x":1}`), Projections: []string{"p"}}
	state := stateOf(overshadowed, loaded, tombstone)
	const start, end, third = "1970-01-02T00:00:00.000Z", "1970-01-03T00:00:00.000Z", "1970-01-04T00:00:00.000Z"
	const shard = `{"type":"numbered","partitionNum":0,"partitions":1}`
	no, yes, ten, rows := int64(0), int64(1), int64(10), int64(3)
	want := map[string][][]any{
		"segments": {
			{"ds_" + start + "_" + end + "_1", "ds", start, end, ten, "1", no, no, rows, no, yes, no, no, yes, shard, `["a"]`, `["m"]`, nil, nil, yes},
			{"ds_" + start + "_" + end + "_2", "ds", start, end, ten, "2", no, yes, rows, yes, yes, yes, no, no, shard, `["a"]`, `["m"]`, `["p"]`, `{"x":1}`, yes},
			{"ds_" + end + "_" + third + "_3", "ds", end, third, yes, "3", no, yes, no, yes, yes, yes, no, no, `{"type":"tombstone","partitionNum":0,"partitions":1}`, `[]`, `[]`, nil, nil, yes},
		},
		"servers": {
			{"h:8081", "h", int64(8081), int64(-1), "coordinator", nil, no, no, no, yes, "1970-01-01T00:00:00.000Z", "1", nil, nil, no, no},
			{"h:8081", "h", int64(8081), int64(-1), "overlord", nil, no, no, no, yes, "1970-01-01T00:00:00.000Z", "1", nil, nil, no, no},
			{"h:8083", "h", int64(8083), int64(-1), "historical", "hot", ten, int64(1000), int64(1000), nil, "1970-01-01T00:00:00.001Z", "1", nil, `{"rack":"a"}`, int64(2), int64(77)},
		},
		"server_segments": {{"h:8083", "ds_" + start + "_" + end + "_2"}},
		"tasks": {
			{"done", "g", "query_controller", "ds", "1970-01-01T00:00:01.000Z", "1970-01-01T00:00:00.000Z", "FAILED", "NONE", int64(5), "h:8091", "h", int64(8091), int64(-1), "why"},
			{"waits", "waits", "kill", "ds", "1970-01-01T00:00:02.000Z", "1970-01-01T00:00:02.000Z", "RUNNING", "PENDING", int64(-1), nil, nil, int64(-1), int64(-1), nil},
		},
		"queries": {{"q", "native", "RUNNING", `{"sqlQueryId":"q","sql":"SELECT '{\"password\":\"********\"}'","identity":"me","startTime":"1970-01-01T00:00:00.000Z"}`,
			"1970-01-01T00:00:00.000Z", int64(1500), int64(7), int64(4096), "me", nil}},
		"server_properties": {
			{"h:8081", "service/coordinator", `[coordinator,overlord]`, "service.a", "1", nil}, {"h:8081", "service/coordinator", `[coordinator,overlord]`, "service.b", "2", nil},
			{"h:8083", "service/historical", `[historical]`, "service.a", "1", nil}, {"h:8083", "service/historical", `[historical]`, "service.b", "2", nil},
		},
		"decisions":   {{"task", "t", "ds", "task", "waiting", "a lock", `{"x":1}`}},
		"supervisors": {{"s", "a,b", "RUNNING", "RUNNING", yes, "noop", "noop", no, `{"type":"noop","id":"s","dataSources":["a","b"],"suspended":false,"source":"noop"}`}},
	}
	tables := system().Tables()
	for name, table := range tables {
		got, err := rowsOf(t.Context(), name, table, state)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[name], got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		columns := infoschema.Columns(infoschema.System, name)
		if _, err := infoschema.Batch(columns, got, columns); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, row := range got {
			if len(row) != len(columns) {
				t.Errorf("%s has rows of %d values and %d columns", name, len(row), len(columns))
			}
		}
	}
	if len(tables) != len(want) {
		t.Errorf("%d tables", len(tables))
	}
}

// A scan of many segments stops with its query.
func TestScansOfSegmentsStop(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rowsOf(ctx, "segments", system().Tables()["segments"], stateOf(segmentOf("ds", 0, "1"))); err == nil {
		t.Error("the scan went on")
	}
}

// rowsOf returns all rows of a table.
func rowsOf(ctx context.Context, name string, table SystemTable, state *timeline.State) ([][]any, error) {
	if table.Scan == nil {
		return table.Rows(ctx, state, nil)
	}
	columns := infoschema.Columns(infoschema.System, name)
	b, err := table.Scan(ctx, SystemScan{State: state, May: func(string) bool { return true }, Out: columns})
	if err != nil {
		return nil, err
	}
	rows := make([][]any, b.N)
	for i := range rows {
		for _, c := range b.Cols {
			rows[i] = append(rows[i], c.ValueAt(i))
		}
	}
	return rows, nil
}

// A scan of segments makes the columns that are asked for, of the datasources that may be seen.
func TestAScanOfSegmentsHasWhatIsAskedFor(t *testing.T) {
	all := infoschema.Columns(infoschema.System, "segments")
	state := stateOf(segmentOf("a", 1, "1", "x STRING"), segmentOf("b", 1, "1", "x STRING"), segmentOf("b", 2, "1", "x STRING"))
	table := system().Tables()["segments"]
	for _, c := range all {
		if _, ok := segmentColumns[c.Name]; !ok {
			t.Errorf("nobody makes the column [%s]", c.Name)
		}
		b, err := table.Scan(t.Context(), SystemScan{State: state, May: func(name string) bool { return name == "b" }, Out: []plan.Column{c}})
		if err != nil || b.N != 2 || len(b.Cols) != 1 || b.Cols[0].Len != 2 {
			t.Fatalf("column [%s]: %+v, %v", c.Name, b, err)
		}
		if c.Name == "datasource" && (b.Cols[0].ValueAt(0) != "b" || b.Cols[0].ValueAt(1) != "b") {
			t.Errorf("datasources %v", b.Cols[0])
		}
	}
	if b, err := table.Scan(t.Context(), SystemScan{State: state, May: func(string) bool { return true }}); err != nil || b.N != 3 {
		t.Errorf("without columns: %+v, %v", b, err)
	}
}
