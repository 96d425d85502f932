package sql

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// corpusDir has the statements that Druid was asked, and its answers.
const corpusDir = "../../../shared/golden/corpus"

type corpusRecord struct {
	ID                string
	SQL               string
	Context           map[string]any
	Parameters        json.RawMessage
	Columns, SQLTypes []string
	Rows              [][]string      `json:"-"`
	RawRows           json.RawMessage `json:"rows"`
	Error             *struct {
		Status int
		Body   json.RawMessage
	}
	Spec      string
	Unordered bool
}

func readCorpus(t testing.TB) []corpusRecord {
	files, _ := filepath.Glob(filepath.Join(corpusDir, "*.jsonl"))
	if len(files) == 0 {
		t.Skip("the recorded corpus is not beside this repository")
	}
	var out []corpusRecord
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<26)
		for lines.Scan() {
			var r corpusRecord
			d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
			d.UseNumber()
			if err := d.Decode(&r); err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal(r.RawRows, &r.Rows) // rows of EXPLAIN are all text
			out = append(out, r)
		}
	}
	return out
}

func (r *corpusRecord) prepare() (*Statement, error) {
	return prepare(r.SQL, func(q *Request) {
		q.Context = r.Context
		var params []struct {
			Type  string
			Value any
		}
		d := json.NewDecoder(bytes.NewReader(r.Parameters))
		d.UseNumber()
		_ = d.Decode(&params) // a list that is none is the edge's matter
		for _, p := range params {
			q.Params = append(q.Params, Param{Type: p.Type, Value: p.Value})
		}
	})
}

// mostRefused is how many of the statements that Druid answers are errors here: mostly accidents of
// its release, such as a time zone that is none being taken for UTC. It only shrinks.
const mostRefused = 116

var inBrackets = regexp.MustCompile(`'[^']*'|\[[^\]]*\]|\d+|<[^>]*>`)

// What Druid answers must be bound, or be refused as not supported yet. The counts by reason are in
// the log.
func TestCorpusBinds(t *testing.T) {
	refused := map[string][]string{}
	types := map[string][]string{}
	answered, bound, unsupported := 0, 0, 0
	for _, r := range readCorpus(t) {
		if r.Error != nil || strings.HasPrefix(r.ID, "sketch") {
			continue
		}
		answered++
		s, err := r.prepare()
		if err != nil {
			f := fault.Find(err)
			if f == nil {
				t.Errorf("%s: error is no fault: %v", r.SQL, err)
				continue
			}
			if f.Category == fault.CategoryUnsupported {
				unsupported++
			}
			key := inBrackets.ReplaceAllString(f.Message, "_")
			refused[key] = append(refused[key], r.SQL+"   -> "+f.Message)
			continue
		}
		bound++
		plan.Optimize(s.Plan, plan.Options{})
		if s.Explain {
			continue
		}
		var names, sqlTypes []string
		for _, c := range s.Columns {
			names = append(names, c.Name)
			sqlTypes = append(sqlTypes, c.Type.Base.String())
		}
		if !slices.Equal(names, r.Columns) && !strings.Contains(r.SQL, "* FROM sys.") { // which has more columns by now
			t.Errorf("%s: columns %q, want %q", r.SQL, names, r.Columns)
		}
		for i := range sqlTypes {
			if i < len(r.SQLTypes) && sqlTypes[i] != r.SQLTypes[i] && r.Spec == "" {
				key := r.SQLTypes[i] + " is " + sqlTypes[i]
				types[key] = append(types[key], r.SQL)
			}
		}
	}
	t.Logf("%d statements answered by Apache Druid: %d bound, %d not supported yet, %d refused otherwise", answered, bound, unsupported,
		answered-bound-unsupported)
	if refusedOtherwise := answered - bound - unsupported; refusedOtherwise > mostRefused {
		t.Errorf("%d statements that Apache Druid answers are refused, %d were before", refusedOtherwise, mostRefused)
	}
	report(t, "refused", refused)
	report(t, "types", types)
}

func report(t *testing.T, what string, m map[string][]string) {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int { return len(m[b]) - len(m[a]) })
	for _, k := range keys {
		t.Logf("%s %d: %s\n      e.g. %s", what, len(m[k]), k, m[k][0])
	}
}

// What Druid refuses as wrong must be refused here as well, unless this system can more.
func TestCorpusErrors(t *testing.T) {
	accepted := map[string][]string{}
	category := map[string][]string{}
	same, refused, total := 0, 0, 0
	for _, r := range readCorpus(t) {
		if r.Error == nil || r.Error.Status != 400 || strings.HasPrefix(r.ID, "sketch") {
			continue
		}
		var body struct{ ErrorMessage, ErrorCode, Category string }
		if json.Unmarshal(r.Error.Body, &body) != nil || body.ErrorCode == "general" {
			continue
		}
		total++
		_, err := r.prepare()
		key := inBrackets.ReplaceAllString(body.ErrorMessage, "_")
		if err == nil {
			accepted[key] = append(accepted[key], r.SQL+"   -> "+body.ErrorMessage)
			continue
		}
		refused++
		f := fault.Find(err)
		if f == nil {
			t.Errorf("%s: error is no fault: %v", r.SQL, err)
			continue
		}
		if errors.Is(err, f) && strings.HasPrefix(f.Message, body.ErrorMessage) {
			same++
		} else {
			category[key] = append(category[key], r.SQL+"\n    want "+body.ErrorMessage+"\n    got  "+f.Message)
		}
	}
	t.Logf("%d statements refused by Apache Druid with a reason: %d refused here, %d in the same words", total, refused, same)
	report(t, "accepted", accepted)
	report(t, "other words", category)
}
