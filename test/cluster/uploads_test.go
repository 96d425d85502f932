package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/parquet-go/parquet-go"
)

type measured struct {
	When int64  `parquet:"when,timestamp(millisecond)"`
	Name string `parquet:"name"`
	N    int64  `parquet:"n"`
}

// A file that was sent to the Router is read by workers and Brokers from the Overlord that has it.
func TestUploadsAreReadByOtherProcesses(t *testing.T) {
	c := withWorkers(t)
	const rows = 20_000
	var file bytes.Buffer
	w := parquet.NewGenericWriter[measured](&file, parquet.MaxRowsPerRowGroup(rows/4))
	for i := range rows {
		if _, err := w.Write([]measured{{1704067200000 + int64(i)*1000, fmt.Sprint("name ", i%100), int64(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Repeat([]byte(`{"when":1704067200000,"name":"text","n":0}`+"\n"), 1000)
	send := func(name string, body []byte) (id string) {
		status, answer, err := c.Send(t.Context(), "router", http.MethodPost, "/service/indexer/v1/uploads?name="+name, string(body))
		var sent struct{ ID string }
		if err != nil || status != 200 || json.Unmarshal(answer, &sent) != nil {
			t.Fatal(status, string(answer), err)
		}
		return sent.ID
	}
	columns := map[string]string{"parquet": send("a.parquet", file.Bytes()), "json": send("a.json", lines)}
	want := map[string]string{"parquet": fmt.Sprintf("[[%d %d]]", rows, rows*(rows-1)/2), "json": "[[1000 0]]"}
	for format, id := range columns {
		from := `TABLE(EXTERN('{"type":"upload","ids":["` + id + `"]}', '{"type":"` + format +
			`"}')) EXTEND ("when" BIGINT, name VARCHAR, n BIGINT)`
		if got, err := c.Query(t.Context(), "SELECT COUNT(*), SUM(n) FROM "+from); err != nil || fmt.Sprint(got) != want[format] {
			t.Errorf("%s by the Broker: %v %v", format, got, err)
		}
		statement := "REPLACE INTO t_" + format + " OVERWRITE ALL SELECT MILLIS_TO_TIMESTAMP(\"when\") AS __time, name, n FROM " +
			from + " PARTITIONED BY DAY"
		if err := c.Ingest(t.Context(), statement, map[string]any{"maxNumTasks": 3, "waitUntilSegmentsLoad": true}); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Query(t.Context(), "SELECT COUNT(*), SUM(n) FROM t_"+format); err != nil || fmt.Sprint(got) != want[format] {
			t.Errorf("%s by tasks: %v %v", format, got, err)
		}
	}
	var left struct{ Uploads []any }
	if err := c.Call(t.Context(), http.MethodGet, "/service/indexer/v1/uploads", nil, &left); err != nil || len(left.Uploads) != 0 {
		t.Errorf("left: %+v %v", left, err)
	}
}
