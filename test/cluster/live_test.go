package cluster

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/testkit/server"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

var liveDay = chrono.Interval{
	Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), End: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC).UnixMilli(),
}

// fill opens a live segment in a worker and appends rows to it, one a minute.
func fill(t *testing.T, p *server.Process, dataSource string, partition, rows int) *live.Segment {
	t.Helper()
	return fillWith(t, p, dataSource, partition, rows, nil)
}

// fillWith is fill for a task with a priority.
func fillWith(t *testing.T, p *server.Process, dataSource string, partition, rows int, priority *int) *live.Segment {
	t.Helper()
	id := timeline.SegmentID{DataSource: dataSource, Interval: liveDay, Version: "2026-01-01T00:00:00.000Z", Partition: partition}
	g, err := p.Live().Open(live.SegmentOptions{ID: id, Shard: timeline.Numbered{Partition: partition}, TaskID: "task", Priority: priority})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	times, keys, numbers := make([]int64, rows), make([]string, rows), make([]int64, rows)
	for i := range rows {
		times[i], keys[i], numbers[i] = liveDay.Start+int64(i)*60_000, fmt.Sprint("k", i%3), int64(i)
	}
	columns := []segment.ColumnSpec{
		{Name: segment.TimeColumn, Type: vector.Long}, {Name: "k", Type: vector.String}, {Name: "n", Type: vector.Long},
	}
	batch := &vector.Batch{N: rows, Cols: []*vector.Vector{vector.FromLongs(times), vector.FromStrings(keys), vector.FromLongs(numbers)}}
	if err := g.Append(t.Context(), batch, columns); err != nil {
		t.Fatal(err)
	}
	return g
}

// Live rows of two workers are in the answers of every door: SQL, native queries, the tables that
// describe the system, and tasks that want them. When a worker dies its rows are gone within two
// seconds.
func TestLiveRowsOfWorkers(t *testing.T) {
	c := server.StartCluster(t, server.ClusterOptions{Processes: [][]string{
		{"coordinator", "overlord"}, {"historical"}, {"worker"}, {"worker"}, {"broker"}, {"router"},
	}})
	fill(t, c.Nodes[2], "live", 0, 100)
	fill(t, c.Nodes[3], "live", 1, 50)
	// ask returns the rows of a query as text.
	ask := func(sql string) string {
		t.Helper()
		rows, err := c.Query(t.Context(), sql)
		if err != nil {
			return err.Error()
		}
		return strings.Trim(fmt.Sprint(rows), "[]")
	}
	c.Until("the Broker knows both", func() bool { return ask("SELECT COUNT(*) FROM live") == "150" })
	want := func(sql, answer string) {
		t.Helper()
		if got := ask(sql); got != answer {
			t.Errorf("%s gives %s, want %s", sql, got, answer)
		}
	}
	want("SELECT k, COUNT(*), SUM(n) FROM live GROUP BY k ORDER BY k", "k0 51 2091] [k1 50 2042] [k2 49 2042")
	want("SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = 'live' ORDER BY ORDINAL_POSITION",
		"__time TIMESTAMP] [k VARCHAR] [n BIGINT")
	want("SELECT partition_num, num_rows, is_published, is_realtime, is_available FROM sys.segments WHERE datasource = 'live' ORDER BY 1",
		"0 100 0 1 1] [1 50 0 1 1")
	want("SELECT s.server_type, COUNT(*) FROM sys.server_segments x JOIN sys.servers s ON x.server = s.server GROUP BY 1", "indexer 2")

	native := func(body, answer string) {
		t.Helper()
		status, got, err := c.Send(t.Context(), "router", http.MethodPost, "/service/v2", body)
		if err != nil || status != http.StatusOK || string(got) != answer {
			t.Errorf("%s gives %d %s, want %s; %v", body, status, got, answer, err)
		}
	}
	native(`{"queryType":"timeseries","dataSource":"live","granularity":"all","intervals":["2026-01-01/P1D"],`+
		`"aggregations":[{"type":"count","name":"n"}]}`,
		`[{"timestamp":"2026-01-01T00:00:00.000Z","result":{"n":150}}]`)
	native(`{"queryType":"timeBoundary","dataSource":"live","bound":"maxTime"}`,
		`[{"timestamp":"2026-01-01T01:39:00.000Z","result":{"maxTime":"2026-01-01T01:39:00.000Z"}}]`)
	native(`{"queryType":"dataSourceMetadata","dataSource":"live"}`,
		`[{"timestamp":"2026-01-01T01:39:00.000Z","result":{"maxIngestedEventTime":"2026-01-01T01:39:00.000Z"}}]`)
	native(`{"queryType":"segmentMetadata","dataSource":"live","merge":true,"analysisTypes":["cardinality","minmax","interval"],`+
		`"toInclude":{"type":"list","columns":["k"]}}`,
		`[{"id":"merged","intervals":["2026-01-01T00:00:00.000Z/2026-01-01T01:39:00.001Z"],"columns":{"k":{`+
			`"typeSignature":"STRING","type":"STRING",`+
			`"hasMultipleValues":false,"hasNulls":false,"size":0,`+
			`"cardinality":3,"minValue":"k0","maxValue":"k2","errorMessage":null}},"size":0,`+
			`"numRows":150,"aggregators":null,"timestampSpec":null,"queryGranularity":null,"rollup":null}]`)

	copy := func(source string) {
		t.Helper()
		sql := "REPLACE INTO copy OVERWRITE ALL SELECT __time, k, n FROM live PARTITIONED BY DAY"
		if err := c.Ingest(t.Context(), sql, map[string]any{"includeSegmentSource": source, "maxNumTasks": 3}); err != nil {
			t.Fatal(err)
		}
	}
	copy("REALTIME")
	want("SELECT COUNT(*), SUM(n) FROM copy", "150 6175")
	copy("NONE")
	if got := ask("SELECT COUNT(*) FROM copy"); got == "150" {
		t.Errorf("a task that wants published rows has read [%s] others", got)
	}

	at := slices.Index(c.Nodes, c.Nodes[3])
	began := time.Now()
	c.Kill(c.Nodes[at])
	c.Until("the rows of a worker that died are gone", func() bool {
		got := ask("SELECT COUNT(*) FROM live")
		if got != "150" && got != "100" {
			t.Fatalf("a query while a worker dies gives %s", got)
		}
		return got == "100"
	})
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took [%s]", took)
	}
}
