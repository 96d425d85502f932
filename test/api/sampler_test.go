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
	Warnings []string
	Read     int                           `json:"numRowsRead"`
	Indexed  int                           `json:"numRowsIndexed"`
	Schema   []struct{ Name, Type string } `json:"logicalSegmentSchema"`
	Data     []struct {
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

// Dimensions show the values that records have: nested ones as they are, numbers of their kind, and
// what can't be a number as an error of the row.
func TestSamplerShowsValuesAsDimensionsHaveThem(t *testing.T) {
	const records = `{"t":"2022-01-01","o":{"a":1,"b":{"c":"x"}},"l":[3,1],"m":["b","a"],"z":null,"f":1.5,"b":true,"big":12345678901234567890,"s":"7"}` + "\n" +
		`{"t":"2022-01-01","o":{"a":2},"l":[4],"m":"c","f":2,"b":false,"big":3,"s":"x"}`
	const event = `{t=2022-01-01, l=[4], m=c, f=2, b=false, big=3, s=x}`
	row := func(event, dimension, problem string) string {
		return "Found unparseable columns in row: [SamplerInputRow{row=MapBasedInputRow{timestamp=2022-01-01T00:00:00.000Z, event=" + event + ", dimensions=[" + dimension +
			"]}}], exceptions: [" + problem + "]"
	}
	s := server.Start(t, server.Options{})
	for _, c := range []struct {
		dimensions, metrics string
		types               string // of the columns
		rows                [2]string
		errors              [2]string
	}{
		{`{}`, ``, "[l:STRING m:STRING f:STRING b:STRING big:STRING s:STRING]", [2]string{
			`{"b":"true","big":"1.2345678901234567E19","f":"1.5","l":["1","3"],"m":["a","b"],"s":"7"}`,
			`{"b":"false","big":"3","f":"2","l":"4","m":"c","s":"x"}`}, [2]string{}},
		{`{"dimensions":[{"type":"json","name":"o"},{"type":"json","name":"l"},{"type":"json","name":"s"},{"type":"json","name":"f"}]}`, ``,
			"[o:COMPLEX<json> l:COMPLEX<json> s:STRING f:COMPLEX<json>]", [2]string{
				`{"f":1.5,"l":[3,1],"o":{"a":1,"b":{"c":"x"}},"s":"7"}`, `{"f":2,"l":[4],"o":{"a":2},"s":"x"}`}, [2]string{}},
		{`{"dimensions":["o",{"type":"auto","name":"m"}]}`, ``, "[o:STRING m:ARRAY<STRING>]", [2]string{
			`{"m":["b","a"],"o":"{a=1, b={c=x}}"}`, `{"m":"c","o":"{a=2}"}`}, [2]string{}},
		{`{"dimensions":[{"type":"double","name":"s"}]}`, ``, "[s:DOUBLE]", [2]string{`{"s":7.0}`, `{"s":null}`},
			[2]string{"", row(event, "s", "could not convert value [x] to double")}},
		{`{"dimensions":[{"type":"long","name":"b"},{"type":"long","name":"l"}]}`, ``, "[b:LONG l:LONG]", [2]string{`{"b":1,"l":null}`, `{"b":0,"l":null}`}, [2]string{
			row("{t=2022-01-01, l=[3, 1], m=[b, a], f=1.5, b=true, big=1.2345678901234567E19, s=7}", "b, l",
				"Could not ingest value [3, 1] as long. A long column cannot have multiple values in the same row."),
			row(event, "b, l", "Could not ingest value [4] as long. A long column cannot have multiple values in the same row.")}},
		{`{"dimensions":[{"type":"float","name":"o"}]}`, ``, "[o:FLOAT]", [2]string{`{"o":null}`, `{"o":null}`}, [2]string{
			row("{t=2022-01-01, l=[3, 1], m=[b, a], f=1.5, b=true, big=1.2345678901234567E19, s=7}", "o",
				"Could not convert value [{a=1, b={c=x}}] to float. Invalid type: [class java.util.LinkedHashMap]"),
			row(event, "o", "Could not convert value [{a=2}] to float. Invalid type: [class java.util.LinkedHashMap]")}},
		{`{"dimensions":["b"]}`, `{"type":"hyperUnique","name":"h","fieldName":"s"},{"type":"stringFirst","name":"p","fieldName":"s"},{"type":"longLast","name":"q","fieldName":"f"}`,
			"[b:STRING h:COMPLEX<hyperUnique> p:COMPLEX<serializablePairLongString> q:LONG]", [2]string{
				`{"b":"true","h":"AQAAAQAAAACxIA==","p":{"lhs":1640995200000,"rhs":"7"},"q":{"lhs":1640995200000,"rhs":1}}`,
				`{"b":"false","h":"AQAAAQAAAALyAQ==","p":{"lhs":1640995200000,"rhs":"x"},"q":{"lhs":1640995200000,"rhs":2}}`}, [2]string{}},
	} {
		var got struct {
			Indexed int                           `json:"numRowsIndexed"`
			Schema  []struct{ Name, Type string } `json:"logicalSegmentSchema"`
			Data    []struct {
				Parsed      map[string]any
				Unparseable bool
				Error       string
			}
		}
		body, err := json.Marshal(map[string]any{"type": "index", "spec": map[string]any{
			"ioConfig": map[string]any{"type": "index", "inputSource": map[string]any{"type": "inline", "data": records}, "inputFormat": map[string]any{"type": "json"}},
			"dataSchema": map[string]any{"dataSource": "x", "timestampSpec": map[string]any{"column": "t"}, "dimensionsSpec": json.RawMessage(c.dimensions),
				"metricsSpec": json.RawMessage("[" + c.metrics + "]"), "granularitySpec": map[string]any{"rollup": false}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/sampler", json.RawMessage(body), &got); err != nil {
			t.Errorf("%s: %v", c.dimensions, err)
			continue
		}
		var types []string
		for _, f := range got.Schema[1:] {
			types = append(types, f.Name+":"+f.Type)
		}
		if fmt.Sprint(types) != c.types {
			t.Errorf("%s: types %v, not %s", c.dimensions, types, c.types)
		}
		indexed := 2
		for i, row := range got.Data {
			delete(row.Parsed, "__time")
			if text, err := json.Marshal(row.Parsed); err != nil || string(text) != c.rows[i] {
				t.Errorf("%s: row [%d] is %s (%v), not %s", c.dimensions, i, text, err, c.rows[i])
			}
			if row.Error != c.errors[i] || row.Unparseable != (row.Error != "") {
				t.Errorf("%s: the error of row [%d] is\n%s, not\n%s", c.dimensions, i, row.Error, c.errors[i])
			}
			if row.Error != "" {
				indexed--
			}
		}
		if got.Indexed != indexed || len(got.Data) != 2 {
			t.Errorf("%s: %d of %d rows", c.dimensions, got.Indexed, len(got.Data))
		}
	}
}

// Without field discovery only the fields of the flattenSpec are found, but all that is at the root
// can be named; transforms may make lists; what metrics of numbers can't take is an error of the
// row, and what they read is no dimension.
func TestSamplerFindsAndMakesColumns(t *testing.T) {
	const records = `{"t":"2022-01-01","k":"ab","n":1,"l":[3,1],"x":{"y":[7,8]}}` + "\n" + `{"t":"2022-01-02","k":"5","n":2}`
	row := func(event, dimension, problem string) string {
		return "Found unparseable columns in row: [SamplerInputRow{row=MapBasedInputRow{timestamp=2022-01-01T00:00:00.000Z, event=" + event + ", dimensions=[" + dimension +
			"]}}], exceptions: [" + problem + "]"
	}
	const event = "{t=2022-01-01, k=ab, n=1, l=[3, 1]}"
	s := server.Start(t, server.Options{})
	for _, c := range []struct {
		format, schema string
		types          string // of the columns
		first, error   string // of the first row
	}{
		{`{"type":"json","flattenSpec":{"useFieldDiscovery":false}}`, `"dimensionsSpec":{}`, "[]", `{}`, ""},
		{`{"type":"json","flattenSpec":{"useFieldDiscovery":false}}`, `"dimensionsSpec":{"dimensions":["k",{"type":"json","name":"x"}]}`, "[k:STRING x:COMPLEX<json>]",
			`{"k":"ab","x":{"y":[7,8]}}`, ""},
		{`{"type":"json","flattenSpec":{"useFieldDiscovery":false,"fields":["k",{"type":"path","name":"z","expr":"$.x.z"}]}}`, `"dimensionsSpec":{}`,
			"[k:STRING z:STRING]", `{"k":"ab","z":null}`, ""},
		{`{"type":"json"}`, `"dimensionsSpec":{"dimensions":["a",{"type":"auto","name":"b"},"c",{"type":"auto","name":"d"},{"type":"auto","name":"e"}]},"transformSpec":{"transforms":[{"type":"expression","name":"a",` +
			`"expression":"array(k,'z')"},{"type":"expression","name":"b","expression":"array(n,2)"},{"type":"expression","name":"c","expression":"array(k)"},` +
			`{"type":"expression","name":"d","expression":"array(k)"},{"type":"expression","name":"e","expression":"mv_to_array(nosuch)"}]}`,
			"[a:STRING b:ARRAY<LONG> c:STRING d:ARRAY<STRING> e:STRING]", `{"a":["ab","z"],"b":[1,2],"c":"ab","d":["ab"],"e":null}`, ""},
		{`{"type":"json"}`, `"dimensionsSpec":{},"metricsSpec":[{"type":"longSum","name":"s","expression":"n * 2"},{"type":"floatSum","name":"f","fieldName":"n"}]`,
			"[k:STRING l:STRING s:LONG f:FLOAT]", `{"f":1.0,"k":"ab","l":["1","3"],"s":2}`, ""},
		{`{"type":"json"}`, `"dimensionsSpec":{"dimensions":["n"]},"metricsSpec":[{"type":"longSum","name":"s","fieldName":"k"},{"type":"doubleMax","name":"m","fieldName":"l"}]`,
			"[n:STRING s:LONG m:DOUBLE]", `{"m":null,"n":"1","s":null}`,
			row(event, "n", "Unable to parse value[ab] for field[k],Unknown type[class java.util.ArrayList] for field[l]")},
	} {
		var got struct {
			Schema []struct{ Name, Type string } `json:"logicalSegmentSchema"`
			Data   []struct {
				Parsed map[string]any
				Error  string
			}
		}
		inline, err := json.Marshal(records)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"type":"index","spec":{"ioConfig":{"type":"index","inputSource":{"type":"inline","data":` + string(inline) + `},"inputFormat":` + c.format +
			`},"dataSchema":{"dataSource":"x","timestampSpec":{"column":"t"},"granularitySpec":{"rollup":false},` + c.schema + `}}}`
		if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/sampler", json.RawMessage(body), &got); err != nil || len(got.Data) != 2 {
			t.Errorf("%s %s: %v, %d rows", c.format, c.schema, err, len(got.Data))
			continue
		}
		types := []string{}
		for _, f := range got.Schema[1:] {
			types = append(types, f.Name+":"+f.Type)
		}
		delete(got.Data[0].Parsed, "__time")
		if first, err := json.Marshal(got.Data[0].Parsed); err != nil || string(first) != c.first || fmt.Sprint(types) != c.types || got.Data[0].Error != c.error {
			t.Errorf("%s %s: types %v, the first row %s, its error\n%s, not %s, %s,\n%s", c.format, c.schema, types, first, got.Data[0].Error, c.types, c.first, c.error)
		}
	}
}
