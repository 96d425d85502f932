package timeline

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
)

const wikiJSON = `{"dataSource":"wiki","interval":"2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z","version":"2026-03-05T10:00:00.000Z",` +
	`"loadSpec":{"type":"local","path":"/deep/0/index.zip"},"dimensions":"page,user","metrics":"count,added",` +
	`"shardSpec":{"type":"numbered","partitionNum":1,"partitions":2},"lastCompactionState":{"rollup":true},"binaryVersion":9,"size":5998634,` +
	`"totalRows":24433,"identifier":"wiki_2026-03-01T00:00:00.000Z_2026-03-02T00:00:00.000Z_2026-03-05T10:00:00.000Z_1"}`

func TestSegmentJSON(t *testing.T) {
	var s Segment
	if err := json.Unmarshal([]byte(wikiJSON), &s); err != nil {
		t.Fatal(err)
	}
	if s.Rows != 24433 || s.ID.Partition != 1 || string(s.Details.LastCompactionState) != `{"rollup":true}` {
		t.Errorf("read %+v", s)
	}
	got, err := s.JSON(WithRows)
	if err != nil || string(got) != wikiJSON {
		t.Errorf("JSON: got %s (%v)\nwant %s", got, err, wikiJSON)
	}
	short, _ := s.JSON(WithoutLoadSpec)
	const want = `{"dataSource":"wiki","interval":"2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z","version":"2026-03-05T10:00:00.000Z",` +
		`"dimensions":"page,user","metrics":"count,added","shardSpec":{"type":"numbered","partitionNum":1,"partitions":2},"binaryVersion":9,` +
		`"size":5998634,"identifier":"wiki_2026-03-01T00:00:00.000Z_2026-03-02T00:00:00.000Z_2026-03-05T10:00:00.000Z_1"}`
	if string(short) != want {
		t.Errorf("without load spec: %s", short)
	}
}

func TestSegmentJSONForms(t *testing.T) {
	const head = `{"dataSource":"w","interval":"2026-03-01/2026-03-02","version":"v",`
	var s Segment
	if err := json.Unmarshal([]byte(head+`"loadSpec":null,"dimensions":["a","b"],"metrics":null,"shardSpec":null,"size":1}`), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, s.Schema.Dimensions()); diff != "" || s.LoadSpec() != nil || s.Rows != -1 || s.Details != nil {
		t.Errorf("read %+v %s", s, diff)
	}
	for _, bad := range []string{
		`{`, `{}`, head + `"size":-1}`, head + `"shardSpec":{"type":"x"}}`, head + `"dimensions":7}`,
		`{"dataSource":"w","interval":"2026-03-02/2026-03-02","version":"v"}`,
		`{"dataSource":"w","interval":"x","version":"v"}`,
	} {
		if err := s.UnmarshalJSON([]byte(bad)); fault.Find(err) == nil {
			t.Errorf("%s: got %v, want a fault", bad, err)
		}
	}
	deep := make([]byte, 0, 200)
	for range 100 {
		deep = append(deep, '[')
	}
	if err := s.UnmarshalJSON(deep); fault.Find(err) == nil {
		t.Error("deep nesting was not refused")
	}
}

func TestTombstoneJSON(t *testing.T) {
	s := NewTombstone(SegmentID{DataSource: "w", Interval: interval(t, "2026-03-01/2026-03-02"), Version: "v"})
	got, err := json.Marshal(s)
	const want = `{"dataSource":"w","interval":"2026-03-01T00:00:00.000Z/2026-03-02T00:00:00.000Z","version":"v","loadSpec":{"type":"tombstone","path":null},` +
		`"dimensions":"","metrics":"","shardSpec":{"type":"tombstone","partitionNum":0,"partitions":1},"binaryVersion":9,"size":1,` +
		`"identifier":"w_2026-03-01T00:00:00.000Z_2026-03-02T00:00:00.000Z_v"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v)\nwant %s", got, err, want)
	}
}

// TestSegmentJSONRecorded reads the segments in recorded answers of Druid and writes them again.
func TestSegmentJSONRecorded(t *testing.T) {
	files, err := filepath.Glob("../../../shared/golden/metadata/*metadata-segments*.json")
	if err != nil || len(files) == 0 {
		t.Skip("the recorded answers ../shared/golden are not there")
	}
	segments := 0
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var exchange struct {
			Response struct {
				Body []json.RawMessage `json:"body"`
			} `json:"response"`
		}
		if json.Unmarshal(content, &exchange) != nil {
			continue // an answer that is no list
		}
		for _, text := range exchange.Response.Body {
			var recorded map[string]any
			if json.Unmarshal(text, &recorded) != nil || recorded["identifier"] == nil {
				continue
			}
			delete(recorded, "overshadowed")
			delete(recorded, "replicationFactor")
			var s Segment
			if err := json.Unmarshal(text, &s); err != nil {
				t.Errorf("%s: %v", filepath.Base(name), err)
				continue
			}
			written, err := json.Marshal(&s)
			if err != nil {
				t.Fatal(err)
			}
			var again map[string]any
			if err := json.Unmarshal(written, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(recorded, again); diff != "" {
				t.Errorf("%s: %s", filepath.Base(name), diff)
			}
			segments++
		}
	}
	if segments == 0 {
		t.Error("no segment was found in the recorded answers")
	}
}

func FuzzSegmentJSON(f *testing.F) {
	f.Add(wikiJSON)
	f.Add(`{"dataSource":"w","interval":"2026-03-01/2026-03-02","version":"v","dimensions":["a"],"shardSpec":{"type":"tombstone"}}`)
	f.Fuzz(func(t *testing.T, in string) {
		var s Segment
		if s.UnmarshalJSON([]byte(in)) != nil {
			return
		}
		out, err := s.JSON(WithRows | WithFile)
		if err != nil {
			t.Fatal(err)
		}
		var again Segment
		if err := again.UnmarshalJSON(out); err != nil {
			t.Fatalf("%s became %s, which is refused: %v", in, out, err)
		}
	})
}

func TestInterner(t *testing.T) {
	var in Interner
	var a, b Segment
	for _, s := range []*Segment{&a, &b} {
		if err := json.Unmarshal([]byte(wikiJSON), s); err != nil {
			t.Fatal(err)
		}
		in.Segment(s)
	}
	if a.Schema != b.Schema || a.Details != b.Details {
		t.Error("equal schemas or details are not shared")
	}
	if in.SchemaByFingerprint(a.Schema.Fingerprint()) != a.Schema {
		t.Error("the schema is not found by its fingerprint")
	}
	back, err := ParseSchema(a.Schema.JSON())
	if err != nil || back.Fingerprint() != a.Schema.Fingerprint() {
		t.Errorf("the schema's JSON gives another schema: %v", err)
	}
}
