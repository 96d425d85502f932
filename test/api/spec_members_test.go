package api

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// specSources are the files whose structs say which members a native spec may have.
var specSources = []string{
	"internal/ingest/spec/*.go", "internal/ingest/format_*.go", "internal/ingest/source_*.go", "internal/ingest/flatten.go",
	"internal/ingest/registry.go", "internal/ingest/store_*.go", "internal/duty/compact/config.go", "internal/duty/compact/partitions.go",
	"internal/duty/compact/dimension.go",
}

const noEffectTable = "### Members without effect"

// TestEveryMemberOfSpecsHasAnEffect walks the members that the parsers of specs know. Each has a
// row in specMembers: a change that a load or a compaction shows, a test elsewhere, or
// none, and then it stands in the table of members without effect of docs/ingestion.md.
func TestEveryMemberOfSpecsHasAnEffect(t *testing.T) {
	rows := map[string]specMember{}
	for _, m := range specMembers {
		for key := range strings.FieldsSeq(m.members) {
			if _, twice := rows[key]; twice {
				t.Errorf("[%s] has two rows", key)
			}
			rows[key] = m
		}
	}
	known := knownMembers(t)
	documented := membersWithoutEffect(t)
	without := map[string]bool{}
	for _, key := range known {
		row, ok := rows[key]
		_, name, _ := strings.Cut(key, ".")
		switch {
		case !ok:
			t.Errorf("member [%s] has no row in specMembers", key)
		case row.elsewhere != "":
			text, err := os.ReadFile(filepath.Join("../..", row.elsewhere))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(text), name) {
				t.Errorf("[%s] does not mention the member [%s]", row.elsewhere, name)
			}
		case row.without:
			if without[name] = true; !documented[name] {
				t.Errorf("[%s] has no effect and is not in the table %q of docs/ingestion.md", name, noEffectTable)
			}
		}
	}
	for key := range rows {
		if !slices.Contains(known, key) {
			t.Errorf("no parser knows the member [%s]", key)
		}
	}
	for name := range documented {
		if !without[name] {
			t.Errorf("docs/ingestion.md says of [%s] that it has no effect, and no row says so", name)
		}
	}
}

// TestMembersOfSpecsDoSomething loads with and without the change of each row.
func TestMembersOfSpecsDoSomething(t *testing.T) {
	w := &specWatcher{s: server.Start(t, server.Options{}), seen: map[string]string{}}
	again := &specWatcher{s: w.s, seen: map[string]string{}, loads: 500}
	for _, base := range []string{baseLoad, baseCompaction} {
		if a, b := w.watch(t, base, ""), again.watch(t, base, ""); a != b {
			t.Fatalf("the same spec shows two things:\n%s\n%s", a, b)
		}
	}
	for _, m := range specMembers {
		if m.with == "" {
			continue
		}
		t.Run(m.members, func(t *testing.T) {
			base := merged(t, m.spec(), m.beside)
			without, with := w.watch(t, base, m.first), w.watch(t, merged(t, base, m.with), m.first)
			if strings.Contains(without, "refused") {
				t.Errorf("the spec without the change is refused: %s", without)
			}
			if refused := strings.Contains(with, "refused"); refused != m.refused {
				t.Errorf("refused: %v, want %v: %s", refused, m.refused, with)
			}
			if with == without {
				t.Errorf("%s changes nothing of\n%s\n%s", m.with, base, without)
			}
		})
	}
}

// specMember is a row: members of a struct's file, as file.member, and what shows their effect.
type specMember struct {
	members string
	// with is merged into a spec, and must change what a load shows. beside is in the spec with and
	// without the change, first changes the load before; refused says that the change is refused.
	with, beside, first string
	compacts, refused   bool
	// elsewhere is a test that shows it.
	elsewhere string
	// without says that it has no effect.
	without bool
}

func (m *specMember) spec() string {
	if m.compacts {
		return baseCompaction
	}
	return baseLoad
}

const (
	baseLoad = `{"type":"index_parallel","spec":{"ioConfig":{"type":"index_parallel","inputSource":{"type":"inline","data":` +
		`"{\"t\":\"2024-01-01T00:00:00Z\",\"k\":\"a\",\"n\":1,\"m\":[\"b\",\"a\",\"a\"],\"s\":1.5,\"u\":\"2024-02-02\"}\n` +
		`{\"t\":\"2024-01-01T00:10:00Z\",\"k\":\"a\",\"n\":2,\"o\":{\"p\":[1,2]},\"x\":3,\"y\":4,\"s\":\"2\",` +
		`\"u\":\"2024-02-01\"}\nnope\n` +
		`{\"t\":\"2024-01-01T05:00:00Z\",\"k\":\"b\",\"n\":3,\"nul\":null}\n{\"k\":\"timeless\",\"n\":9}\n` +
		`{\"t\":\"2024-01-02T00:00:00Z\",\"k\":\"c\",\"n\":4}\n{\"t\":\"2024-01-02T00:00:00Z\",\"k\":\"c\",\"n\":5}"},` +
		`"inputFormat":{"type":"json"}},` +
		`"dataSchema":{"dataSource":"DS","timestampSpec":{"column":"t"},"dimensionsSpec":{"dimensions":["k","m"]},` +
		`"metricsSpec":[{"type":"count","name":"c"},{"type":"longSum","name":"n","fieldName":"n"}],` +
		`"granularitySpec":{"segmentGranularity":"DAY","queryGranularity":"NONE","rollup":true}},` +
		`"tuningConfig":{"type":"index_parallel"}}}`
	baseCompaction = `{"type":"compact","dataSource":"DS","ioConfig":{"type":"compact","inputSpec":{"type":"interval",` +
		`"interval":"2024-01-01/2024-01-03"}}}`
)

func merged(t *testing.T, base, patch string) string {
	t.Helper()
	if patch == "" {
		return base
	}
	return mustMerge(base, patch)
}

// mergePatch is that of RFC 7396.
func mergePatch(base, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if b, ok := base.(map[string]any); ok {
		maps.Copy(out, b)
	}
	for name, v := range p {
		if v == nil {
			delete(out, name)
			continue
		}
		out[name] = mergePatch(out[name], v)
	}
	return out
}

// specWatcher runs specs, each on a datasource of its own that the base load has filled before.
type specWatcher struct {
	s     *server.Server
	loads int
	seen  map[string]string
}

// watch returns all that a user sees of a spec: its refusal, or its end, its report, its log's
// words on bad records, the rows, the columns and the segments.
func (w *specWatcher) watch(t *testing.T, spec, first string) string {
	t.Helper()
	if seen, ok := w.seen[spec+first]; ok {
		return seen
	}
	w.loads++
	source := fmt.Sprintf("members%04d", w.loads)
	run := func(spec string) string { return w.run(t, strings.ReplaceAll(spec, `"DS"`, `"`+source+`"`)) }
	if before := run(merged(t, baseLoad, first)); !strings.Contains(before, "SUCCESS") {
		t.Fatal(before)
	}
	shown := run(spec)
	ask := asker(t, w.s)
	columns := ask("SELECT COLUMN_NAME, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_NAME = '" + source + "' ORDER BY 1")
	rows, err := w.s.Query(t.Context(), "SELECT * FROM "+source)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(rows))
	for i, r := range rows {
		texts[i] = fmt.Sprint(r)
	}
	slices.Sort(texts)
	segments := ask(`SELECT "start", "end", num_rows, "size", shard_spec FROM sys.segments WHERE ` +
		`datasource = '` + source + `' AND is_overshadowed = 0 ORDER BY 1, 2, partition_num`)
	_, described, err := w.s.Send(t.Context(), "router", http.MethodPost, "/service/v2",
		`{"queryType":"segmentMetadata","dataSource":"`+source+
			`","merge":true,"analysisTypes":["timestampSpec","queryGranularity","rollup","aggregators","cardinality"]}`)
	if err != nil {
		t.Fatal(err)
	}
	shown = strings.ReplaceAll(strings.Join([]string{shown, columns, strings.Join(texts, "\n"), segments, string(described)}, "\n"),
		source, "DS")
	w.seen[spec+first] = shown
	return shown
}

func (w *specWatcher) run(t *testing.T, spec string) string {
	t.Helper()
	status, answer, err := w.s.Send(t.Context(), "overlord", http.MethodPost, "/service/indexer/v1/task", spec)
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK {
		return "refused: " + string(answer)
	}
	var submitted struct{ Task string }
	if err := json.Unmarshal(answer, &submitted); err != nil {
		t.Fatal(err)
	}
	task, err := w.s.Await(t.Context(), submitted.Task)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Stats struct{ Payload map[string]any } `json:"ingestionStatsAndErrors"`
	}
	if err := w.s.Call(t.Context(), http.MethodGet, "/service/indexer/v1/task/"+task.ID+"/reports", nil, &report); err != nil {
		t.Fatal(err)
	}
	payload := report.Stats.Payload
	dropTimes(payload)
	stats, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	_, log, err := w.s.Send(t.Context(), "overlord", http.MethodGet, "/service/indexer/v1/task/"+task.ID+"/log", "")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %s\nrecords in the log: %v", task.StatusCode+" "+strings.ReplaceAll(task.ErrorMsg, task.ID, "TASK"),
		strings.ReplaceAll(string(stats), task.ID, "TASK"),
		strings.Contains(string(log), "failed to read a record"))
}

// dropTimes removes what differs between two runs of one spec.
func dropTimes(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "timeOfExceptionMillis")
		delete(v, "segmentAvailabilityWaitTimeMs")
		for _, of := range v {
			dropTimes(of)
		}
	case []any:
		for _, of := range v {
			dropTimes(of)
		}
	}
}

// knownMembers returns the members of the structs of specSources, as file.member.
func knownMembers(t *testing.T) []string {
	found := map[string]bool{}
	for _, pattern := range specSources {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			group := strings.TrimSuffix(filepath.Base(path), ".go")
			if strings.HasPrefix(group, "stream") || group == "format_kafka" {
				continue // specs of streams, which this batch load does not have
			}
			if strings.Contains(path, "/compact/") {
				group = "auto_" + group
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.StructType); ok {
					for _, f := range s.Fields.List {
						if name := jsonName(f); name != "" {
							found[group+"."+name] = true
						}
					}
				}
				return true
			})
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func jsonName(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
	return name
}

// membersWithoutEffect reads the table of the documentation.
func membersWithoutEffect(t *testing.T) map[string]bool {
	text, err := os.ReadFile("../../docs/ingestion.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), noEffectTable)
	if !ok {
		t.Fatalf("docs/ingestion.md has no section %q", noEffectTable)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	out := map[string]bool{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			for i, part := range strings.Split(cells[2], "`") {
				if i%2 == 1 {
					out[part] = true
				}
			}
		}
	}
	return out
}

// mustMerge merges two texts that are known to be JSON.
func mustMerge(base, patch string) string {
	var b, p any
	for text, into := range map[string]*any{base: &b, patch: &p} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			panic(err)
		}
	}
	out, err := json.Marshal(mergePatch(b, p))
	if err != nil {
		panic(err)
	}
	return string(out)
}
