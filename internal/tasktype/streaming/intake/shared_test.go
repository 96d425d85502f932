package intake

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/stream"
)

// TestMakersShareRecords: tasks that read a stream once for all have the same bytes, which nobody
// changes.
func TestMakersShareRecords(t *testing.T) {
	records := values(
		`{"ts":"2026-01-01","a":"x\u00e9\n","b":[1,2],"c":{"d":"\"q\""}}`,
		"{\"ts\":\"2026-01-02\",\"a\":\"\xff\xfe\"}{\"ts\":\"2026-01-03\"} bad",
		`"2026-01-04","x ""y""",3`, "2026-01-05\tx\\ty\t4", "no row",
	)
	for i := range records {
		records[i].Key = []byte(`{"k":"a\tb"}`)
		records[i].Headers = []stream.Header{{Name: "h", Value: []byte("\xff1")}}
	}
	before := make([]string, len(records))
	for i, r := range records {
		before[i] = string(r.Value) + string(r.Key) + string(r.Headers[0].Value)
	}
	for _, format := range []string{
		`{"type":"json"}`, `{"type":"csv","columns":["ts","a","b"]}`, `{"type":"tsv","columns":["ts","a","b"]}`, `{"type":"lines"}`,
		`{"type":"regex","pattern":"(?<ts>[^,]*),(?<a>.*)","columns":["ts","a"]}`,
		`{"type":"kafka","valueFormat":{"type":"json"},"keyFormat":{"type":"json"},"headerFormat":{"type":"string"}}`,
	} {
		var wait sync.WaitGroup
		for range 3 {
			m, _ := maker(t, `{"dataSource":"d","timestampSpec":{"column":"ts"},"dimensionsSpec":{"useSchemaDiscovery":true}}`, format)
			wait.Go(func() {
				for range 20 {
					if _, err := m.Make(t.Context(), slices.Clone(records)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		for i, r := range records {
			if got := string(r.Value) + string(r.Key) + string(r.Headers[0].Value); got != before[i] {
				t.Errorf("%s has changed %q to %q", strings.Trim(format, "{}"), before[i], got)
			}
		}
	}
}
