package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/pending"
	"github.com/hengedb/henge/internal/testkit/server"
)

// TestSamplerExchanges replays the previews of input.
func TestSamplerExchanges(t *testing.T) {
	shared := server.Shared(t)
	s := server.Start(t, server.Options{})
	player := &golden.Player{Addresses: s.Addresses, Wait: time.Minute} // the one datasource that is read has no rows in the interval
	list := pending.Read(t, "testdata/sampler_pending.txt")
	differs := pending.Read(t, "testdata/sampler_differs.txt")
	outcome, wanted := pending.Outcome{}, pending.Outcome{}
	exchanges, err := golden.Load(filepath.Join(shared, "golden", "sampler"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exchanges {
		r := player.Play(t.Context(), e)
		if r.Skipped+r.Missing != "" {
			t.Errorf("%s is not replayed: %s%s", e.Name, r.Skipped, r.Missing)
		}
		if differs.Has(e.Name) {
			wanted[e.Name] = r.Difference
			continue
		}
		outcome[e.Name] = r.Difference
		if r.Difference != "" {
			t.Logf("%s: %s", e.Name, r.Difference)
		}
	}
	list.Settle(t, outcome, true, *update)
	differs.Settle(t, wanted, true, *update)
}

// previewed is what the sampler answers.
type previewed struct {
	Read    int                           `json:"numRowsRead"`
	Indexed int                           `json:"numRowsIndexed"`
	Schema  []struct{ Name, Type string } `json:"logicalSegmentSchema"`
	Data    []struct {
		Input  map[string]any
		Parsed map[string]any
		Error  string
	}
}

// preview samples two records.
func preview(t *testing.T, s *server.Server, source, format, time string) (p previewed) {
	t.Helper()
	if format != "" {
		format = `,"inputFormat":` + format
	}
	body := `{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":` + source + format + `},"dataSchema":{"dataSource":"x","timestampSpec":` + time +
		`,"dimensionsSpec":{"useSchemaDiscovery":true},"granularitySpec":{"rollup":false}}},"samplerConfig":{"numRows":2,"timeoutMs":60000}}`
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/sampler", json.RawMessage(body), &p); err != nil {
		t.Errorf("%s: %v", source, err)
	}
	return p
}

// Every format and source can be previewed.
func TestSamplerReadsEveryFormatAndSource(t *testing.T) {
	s := server.Start(t, server.Options{})
	const at = `{"column":"t","format":"auto"}`
	externInputs(t, func(name, source, format string) {
		t.Helper()
		p := preview(t, s, source, format, at)
		if p.Read != 2 || p.Indexed != 2 || len(p.Data) != 2 {
			t.Errorf("%s: %+v", name, p)
			return
		}
		for i, row := range p.Data {
			if got := row.Parsed; fmt.Sprintf("%v %v %v", got["k"], got["n"], got["__time"]) != []string{"a 1 1704067200000", "b 2 1704070800000"}[i] {
				t.Errorf("%s: row [%d] is %v", name, i, got)
			}
			if row.Input == nil || row.Error != "" {
				t.Errorf("%s: row [%d]: %+v", name, i, row)
			}
		}
	})

	p := preview(t, s, `{"type":"inline","data":"{\"t\":1,\"a\":[1,2],\"b\":5,\"d\":[1.5,\"q\"],\"e\":1}\n{\"t\":2,\"a\":3,\"b\":\"s\",\"d\":true,\"e\":[\"z\",2]}"}`,
		`{"type":"json"}`, at)
	if got := fmt.Sprint(p.Schema); got != "[{__time LONG} {a ARRAY<LONG>} {b STRING} {d ARRAY<STRING>} {e ARRAY<STRING>}]" {
		t.Errorf("values of several kinds: the schema is %s", got)
	}
	if got := fmt.Sprint(p.Data[0].Parsed, p.Data[1].Parsed); got != "map[__time:1 a:[1 2] b:5 d:[1.5 q] e:1] map[__time:2 a:3 b:s d:true e:[z 2]]" {
		t.Errorf("values of several kinds: %s", got)
	}

	none := `{"column":"none","missingValue":"2024-01-01"}`
	orc, err := filepath.Abs("../../internal/ingest/testdata/orc/zstd.orc")
	if err != nil {
		t.Fatal(err)
	}
	if p := preview(t, s, fmt.Sprintf(`{"type":"local","files":[%q]}`, orc), `{"type":"orc"}`, none); p.Indexed != 2 || len(p.Data[0].Parsed) < 5 {
		t.Errorf("orc: %+v", p)
	}
	if p := preview(t, s, `{"type":"inline","data":"one line\nanother\nand more"}`, `{"type":"lines"}`, none); p.Indexed != 2 || p.Data[1].Parsed["line"] != "another" {
		t.Errorf("lines: %+v", p)
	}
	f := externFiles(t)["csv"]
	data, err := json.Marshal(f[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := load(t, s, "rows", `{"type":"inline","data":`+string(data)+`}`, f[1]); err != nil {
		t.Fatal(err)
	}
	p = preview(t, s, `{"type":"druid","dataSource":"rows","interval":"2024-01-01/2024-01-02"}`, "", `{"column":"__time","format":"millis"}`)
	if p.Indexed != 2 || p.Data[0].Parsed["k"] != "a" || p.Data[1].Parsed["k"] != "b" {
		t.Errorf("a datasource: %+v", p)
	}
	path := filepath.Join(t.TempDir(), "rows.json")
	if err := os.WriteFile(path, []byte(externFiles(t)["json"][0]), 0o600); err != nil {
		t.Fatal(err)
	}
	p = preview(t, s, fmt.Sprintf(`{"type":"local","files":[%q],"systemFields":["__file_path"]}`, path), `{"type":"json"}`, at)
	if p.Indexed != 2 || p.Data[0].Parsed["__file_path"] != path {
		t.Errorf("system fields: %+v", p)
	}
}

// How much is sampled has bounds, of which a refusal tells.
func TestSamplerRefusesWhatIsTooMuch(t *testing.T) {
	s := server.Start(t, server.Options{})
	for config, want := range map[string]string{
		`{"numRows":5001}`: "Failed to sample data: numRows must be <= 5000, not 5001",
		`{"numRows":0}`:    "Failed to sample data: Invalid max row count: 0",
		`{"timeoutMs":-1}`: "Failed to sample data: Invalid timeout: -1",
	} {
		status, _, text := post(t, s, "/service/indexer/v1/sampler", `{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":{"type":"inline","data":"{}"},
			"inputFormat":{"type":"json"}},"dataSchema":{"dataSource":"x","timestampSpec":{"column":"t"},"dimensionsSpec":{}}},"samplerConfig":`+config+`}`)
		if status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", config, status, text)
		}
	}
}
