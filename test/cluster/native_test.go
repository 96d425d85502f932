package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// loadReport is what the report of a native load, or its live one, counts.
type loadReport struct {
	Stats struct {
		Payload struct {
			State string `json:"ingestionState"`
			Rows  map[string]struct {
				Processed, ThrownAway, Unparseable int64
			} `json:"rowStats"`
		}
	} `json:"ingestionStatsAndErrors"`
}

func reportOf(t *testing.T, c *server.Cluster, id string) (r loadReport) {
	t.Helper()
	if err := c.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+id+"/reports", nil, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// columns and days are parts of a dataSchema; learnt are columns that follow from the records.
const (
	columns = `"dimensionsSpec":{"dimensions":[{"type":"long","name":"n"}]}`
	learnt  = `"dimensionsSpec":{"useSchemaDiscovery":true}`
	byDay   = `"granularitySpec":{"segmentGranularity":"DAY","rollup":false}`
)

// chat asks a running task about itself, where it runs.
func chat(t *testing.T, at *server.Process, id, path string) string {
	t.Helper()
	_, answer, _ := get(t, http.DefaultClient, at.Addresses["indexer"]+"/service/worker/v1/chat/"+id+"/"+path)
	return answer
}

// readersOf returns the ports of the processes that have read files for a load, by what its
// subtasks say.
func readersOf(t *testing.T, at *server.Process, id string) map[int]bool {
	t.Helper()
	out := map[int]bool{}
	var specs []struct{ ID string }
	if json.Unmarshal([]byte(chat(t, at, id, "subtaskspecs")), &specs) != nil {
		return out // it has not begun
	}
	for _, s := range specs {
		var subtask struct {
			Attempts []struct{ Location struct{ Port int } } `json:"attemptHistory"`
		}
		if err := json.Unmarshal([]byte(chat(t, at, id, "subtaskspec/"+s.ID+"/history")), &subtask); err != nil {
			t.Fatal(err)
		}
		for _, a := range subtask.Attempts {
			out[a.Location.Port] = true
		}
	}
	return out
}

func TestANativeLoadSpreadsOverWorkers(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 100)
	g.Files = 2
	id := submit(t, c, g.Load("t", "", columns+","+byDay, `"maxNumConcurrentSubTasks":2`))
	<-g.Reading
	<-g.Reading
	runner, helper := runnerOf(t, c, id), other(t, c, id)
	c.Until("subtasks run in two processes", func() bool { return len(readersOf(t, runner, id)) == 2 })
	for path, want := range map[string]string{"mode": "parallel", "progress": `"running":2`} {
		if answer := chat(t, runner, id, path); !strings.Contains(answer, want) {
			t.Errorf("%s answers %s", path, answer)
		}
	}
	goesOnWithout(t, c, g, helper, id)
	if rows := reportOf(t, c, id).Stats.Payload.Rows["buildSegments"]; rows.Processed != 200 || rows.ThrownAway+rows.Unparseable != 0 {
		t.Errorf("the report counts %+v", rows)
	}
}

// Whatever a spec asks, several workers give what one gives.
func TestNativeLoadsInPartsAreAsWhole(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 1000)
	g.Files = 4
	g.Release()
	for name, spec := range map[string]struct{ schema, tuning, ask, want string }{
		"plain":   {columns + "," + byDay, "", "COUNT(*), SUM(n), MIN(__time)", `[[4000,1998000,"2024-01-01T00:00:00.000Z"]]`},
		"learnt":  {learnt + "," + byDay, "", "COUNT(*), SUM(n), MIN(__time)", `[[4000,1998000,"2024-01-01T00:00:00.000Z"]]`},
		"strings": {`"dimensionsSpec":{},` + byDay, "", "COUNT(*), MIN(n), MAX(n)", `[[4000,"0","999"]]`},
		"rollup": {columns + `,"metricsSpec":[{"type":"count","name":"c"},{"type":"longSum","name":"s","fieldName":"n"}],` +
			`"granularitySpec":{"segmentGranularity":"DAY","rollup":true}`, `,"forceGuaranteedRollup":true,"partitionsSpec":{"type":"hashed"}`,
			"COUNT(*), SUM(c), MIN(c), MAX(c), SUM(s)", `[[1000,4000,4,4,1998000]]`},
		"hashed": {columns + "," + byDay, `,"forceGuaranteedRollup":true,"partitionsSpec":{"type":"hashed","numShards":3,"partitionDimensions":["n"]}`,
			"COUNT(*), SUM(n), MAX(n)", `[[4000,1998000,999]]`},
		"ranges": {`"dimensionsSpec":{"dimensions":["n"]},` + byDay, `,"forceGuaranteedRollup":true,"partitionsSpec":{"type":"range","partitionDimensions":["n"],` +
			`"targetRowsPerSegment":300}`, "COUNT(*), MIN(n), MAX(n)", `[[4000,"0","999"]]`},
		"computed": {columns + `,"transformSpec":{"transforms":[{"type":"expression","name":"n","expression":"n * 2"}],` +
			`"filter":{"type":"bound","dimension":"n","lower":"1000","ordering":"numeric"}},` + byDay, "", "COUNT(*), MIN(n), MAX(n)", `[[2000,1000,1998]]`},
		"metrics": {`"dimensionsSpec":{"dimensions":["t"]},"metricsSpec":[{"type":"doubleSum","name":"d","fieldName":"n"}],` + byDay, "",
			"COUNT(*), SUM(d)", `[[4000,1998000.0]]`},
	} {
		whole, parts := name+"1", name+"4"
		for dataSource, tuning := range map[string]string{whole: `"maxNumConcurrentSubTasks":1`, parts: `"maxNumConcurrentSubTasks":4`} {
			id := submit(t, c, g.Load(dataSource, "", spec.schema, tuning+spec.tuning))
			if task := await(t, c, id); task.StatusCode != "SUCCESS" {
				t.Fatalf("%s: %+v", dataSource, task)
			}
			rows := reportOf(t, c, id).Stats.Payload.Rows
			if n := rows["buildSegments"]; n.Processed+n.ThrownAway != 4000 || name != "computed" && n.ThrownAway != 0 || rows["determinePartitions"].Processed != 4000 {
				t.Errorf("%s: the report counts %+v", dataSource, rows)
			}
			got, err := c.Query(t.Context(), fmt.Sprintf("SELECT %s FROM \"%s\"", spec.ask, dataSource))
			if text, _ := json.Marshal(got); err != nil || string(text) != spec.want {
				t.Errorf("%s: %s %v", dataSource, text, err)
			}
		}
		// Segments, their partitions and their columns.
		shapes := map[string]string{}
		for _, dataSource := range []string{whole, parts} {
			rows, err := c.Query(t.Context(), `SELECT "start", partition_num, num_rows, shard_spec FROM sys.segments WHERE datasource = '`+dataSource+`' ORDER BY 1, 2`)
			if err != nil {
				t.Fatal(err)
			}
			columns, err := c.Query(t.Context(), "SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = '"+dataSource+"' ORDER BY 1")
			if err != nil {
				t.Fatal(err)
			}
			text, _ := json.Marshal(append(slices.Clip(rows), columns...))
			shapes[dataSource] = string(text)
		}
		if name != "ranges" && shapes[whole] != shapes[parts] { // where ranges are cut follows from samples of what workers have
			t.Errorf("%s: in parts there is\n%s\nand as a whole\n%s", name, shapes[parts], shapes[whole])
		}
	}
}

// A worker is lost that has read its part, while another still reads: only what it had written is
// done again, and a run of the task after its own worker is lost finds what the others have.
func TestANativeLoadGoesOnWithoutItsWorker(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 100)
	g.Files = 2
	id := submit(t, c, g.Load("t", "", learnt+","+byDay, `"maxNumConcurrentSubTasks":2`))
	for range 2 { // both files are surveyed
		close(<-g.Reading)
	}
	<-g.Reading
	<-g.Reading
	c.Kill(runnerOf(t, c, id))
	g.Release()
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Errorf("the task: %+v", task)
	}
	if got := ask(t, c, "SELECT COUNT(*) FROM t"); got != "200" {
		t.Errorf("rows: %s", got)
	}
	// Two files were surveyed once, and read by the run that was lost and by the next one: what they
	// have is known from the note.
	if again := len(g.Reading); again != 2 {
		t.Errorf("[%d] files were read by the second run", again)
	}
	if rows := reportOf(t, c, id).Stats.Payload.Rows; rows["buildSegments"].Processed != 200 || rows["determinePartitions"].Processed != 200 {
		t.Errorf("the report counts %+v", rows)
	}
}

// A long spec, as of a load that names thousands of files, is no order too large for other workers.
func TestALoadWithALongSpecSpreads(t *testing.T) {
	c, g := withWorkers(t), server.NewGate(t, 100)
	g.Files = 2
	long := strings.Replace(columns, `{"dimensions"`, `{"dimensionExclusions":["`+strings.Repeat("x", 2<<20)+`"],"dimensions"`, 1)
	id := submit(t, c, g.Load("t", "", long+","+byDay, `"maxNumConcurrentSubTasks":2`))
	<-g.Reading
	<-g.Reading
	runner := runnerOf(t, c, id)
	c.Until("subtasks run in two processes", func() bool { return len(readersOf(t, runner, id)) == 2 })
	g.Release()
	if task := await(t, c, id); task.StatusCode != "SUCCESS" {
		t.Errorf("%+v", task)
	}
}
