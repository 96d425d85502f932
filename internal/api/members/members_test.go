package members

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const task = "/service/indexer/v1/task"
	for _, c := range []struct{ path, body, want string }{
		{"/service/v2/sql", `{"query":"SELECT 1","resultFormatt":"array"}`,
			"Member [resultFormatt] of the body is unknown. Did you mean [resultFormat]?"},
		{"/service/v2/sql", `{"querry":"SELECT 1"}`, "Did you mean [query]?"},
		{"/service/v2/sql", `{"query":"SELECT 1","context":{"timeoutt":1}}`,
			"Member [timeoutt] of [context] is unknown. Did you mean [timeout]?"},
		{"/service/v2/sql", `{"query":"SELECT 1","context":{"unknownKey":{"timeoutt":5},"implyUser":"x"},` +
			`"parameters":[{"type":"VARCHAR","value":"{\"querry\":1}"}]}`,
			""},
		{"/service/v2/sql/", `{"qeury":"SELECT 1"}`, "[query]"},
		{"/service/v2/sql/task", `{"query":"x","contextt":{}}`, "[context]"},
		{"/service/v2/sql/statements", `{"query":"x","ressultFormat":"x"}`, "[resultFormat]"},
		{"/service/v2/", `{"queryType":"timeseries","agregations":[]}`, "Did you mean [aggregations]?"},
		{"/service/v2", `{"aggregations":[{"type":"count","fildName":"x"}]}`,
			"Member [fildName] of [aggregations] is unknown. Did you mean [fieldName]?"},
		{"/service/v2", `{"context":{"Timeout":1}}`, "Did you mean [timeout]?"},
		{task, `{"type":"index_parallel","spec":{"dataSchema":{"dimensionSpec":{}}}}`,
			"Member [dimensionSpec] of [dataSchema] is unknown. Did you mean [dimensionsSpec]?"},
		{task, `{"spec":{"ioConfig":{"appendToExistin":true}}}`, "Did you mean [appendToExisting]?"},
		{task, `{"spec":{"ioConfig":{"inputFormat":{"featureSpecc":{}}}}}`, "Member [featureSpecc] of [inputFormat]"},
		{task, `{"type":"kill","intervall":"2020/2021"}`, "Did you mean [interval]?"},
		{"/service/indexer/v1/supervisor", `{"spec":{"ioConfig":{"topicc":"x","consumerProperties":{"bootstrap.servers":1,"topicc":2}}}}`,
			"Did you mean [topic]?"},
		{"/service/coordinator/v1/config/compaction", `{"dataSource":"x","skipOffsetFromLatestt":"P1D"}`, "Did you mean [skipOffsetFromLatest]?"},
		{"/service/coordinator/v1/config", `{"maxSegmentsToMovee":5}`, "Did you mean [maxSegmentsToMove]?"},
		{"/service/coordinator/v1/rules/x", `[{"type":"loadForever","tieredReplicantss":{}}]`, "Did you mean [tieredReplicants]?"},
		{"/service/coordinator/v1/rules/x", `[{"type":"loadForever","tieredReplicants":{"tieredReplicantss":1}}]`, ""},
		{"/service/coordinator/v1/datasources/x/markUnused", `{"intervall":"2020/2021"}`, "Did you mean [interval]?"},
		{"/service/coordinator/v1/lookups/config/t/l", `{"versionn":"v0"}`, "Did you mean [version]?"},
		{"/service/coordinator/v1/lookups/config/t/l", `{"lookupExtractorFactory":{"type":"map","map":{"versionn":"x"}}}`, ""},
		{"/service/coordinator/v1/lookups/config", `{"versionn":{"versionn":{"version":"v0","lookupExtractorFactory":{}}}}`, ""},
		{"/service/coordinator/v1/lookups/config", `{"t":{"l":{"versionn":"v0"}}}`, "Did you mean [version]?"},
		{"/service/indexer/v1/worker", `{"selectStrategyy":{}}`, "Did you mean [selectStrategy]?"},
		// What is not near, what is not JSON and what is data is for others.
		{task, `{"spec":{"aMemberOfALaterRelease":1}}`, ""},
		{task, `{"spec":{"dimensionSpec"`, ""},
		{task, `[[[{"a":`, ""},
		{"/service/v2/ingest/t", `{"querry":1}`, ""},
		{"/service/v2/sql", strings.Repeat(`{"a":`, 10_000), ""},
		{"/service/v2/sql", strings.Repeat(`[`, 10_000), ""},
	} {
		err := Check(c.path, []byte(c.body))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.100s: %v, want %q", c.path, c.body, err, c.want)
		}
	}
}

// TestVocabulary fails if a name that the packages read would be refused.
func TestVocabulary(t *testing.T) {
	written := filepath.Join(t.TempDir(), "vocabulary.json")
	if out, err := exec.CommandContext(t.Context(), "go", "run", "./gen", written).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	var now map[string][]string
	if err := json.Unmarshal(text, &now); err != nil {
		t.Fatal(err)
	}
	for family, names := range now {
		for _, name := range names {
			w := &walk{}
			if w.judge(families()[family], "", name); w.found != nil {
				t.Errorf("a member that is read is refused: run go run ./gen in internal/api/members (%v)", w.found)
			}
		}
	}
}
