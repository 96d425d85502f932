package explain

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/sql"
	"github.com/hengedb/henge/internal/testkit/corpus"
	"github.com/hengedb/henge/internal/testkit/tables"
)

var rewrite = flag.Bool("rewrite", false, "write what statements give into testdata")

type catalog struct{}

func (catalog) Table(_ context.Context, schema sql.Schema, name string) (*sql.Table, error) {
	columns := tables.Columns(name)
	if columns == nil || schema != sql.SchemaData {
		return nil, nil
	}
	return &sql.Table{Columns: columns}, nil
}

func (catalog) Names(_ context.Context, schema sql.Schema) []string {
	if schema != sql.SchemaData {
		return nil
	}
	return tables.Names()
}

// prepare prepares text over the test tables at a fixed time.
func prepare(text string, change ...func(*sql.Request)) (*sql.Statement, error) {
	r := sql.Request{Text: text, Catalog: catalog{}, Now: tables.Now, Dialect: "druid"}
	for _, f := range change {
		f(&r)
	}
	return sql.Prepare(context.Background(), r)
}

// describe returns the row of an EXPLAIN PLAN FOR, a value a line, or its error.
func describe(text string) string {
	s, err := prepare(text, func(r *sql.Request) {
		if strings.Contains(text, "INSERT") || strings.Contains(text, "REPLACE INTO") || strings.Contains(text, "EXTERN") {
			r.Engine = sql.MSQ
		}
	})
	if err != nil {
		if f := fault.Find(err); f != nil {
			return string(f.Category) + ": " + f.Message
		}
		return "no fault: " + err.Error()
	}
	e, err := Of(s, nil, nil)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(e.Plan, "\n") + "\n" + e.Resources + "\n" + e.Attributes
}

var comments = regexp.MustCompile(`(?m)^#.*\n`)

// The statements of testdata/statements.txt give the rows below them. With -rewrite the rows are
// replaced.
func TestStatements(t *testing.T) {
	const name = "testdata/statements.txt"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		text, want, _ := strings.Cut(block, "\n----\n")
		got := describe(comments.ReplaceAllString(text, ""))
		if got != want && !*rewrite {
			t.Errorf("%s\ngives\n%s\nwant\n%s", text, got, want)
		}
		out = append(out, text+"\n----\n"+got)
	}
	if *rewrite {
		write(t, name, out)
	}
}

func write(t *testing.T, name string, blocks []string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(blocks, "\n\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The PLAN of a statement is JSON that says the same as the one that Apache Druid gave. Statements
// whose PLAN differs stand in testdata/differs.txt with the PLAN that they have; with -rewrite the
// list is made anew.
func TestRecordedPlans(t *testing.T) {
	const name = "testdata/differs.txt"
	records, err := corpus.Load("../../../shared/golden/corpus", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) == 0 {
		t.Skip("the recorded corpus is not beside this repository")
	}
	var differ []string
	for _, r := range records {
		if !strings.HasPrefix(strings.ToUpper(r.SQL), "EXPLAIN") || r.Error != nil || len(r.Rows) == 0 {
			continue
		}
		s, err := prepare(r.SQL, func(q *sql.Request) { q.Context = r.Context })
		if err != nil {
			differ = append(differ, r.SQL+"\n----\n"+err.Error())
			continue
		}
		context := map[string]any{"timeout": json.Number("10000")}
		maps.Copy(context, s.Context)
		got, err := Of(s, context, nil)
		if err != nil {
			t.Errorf("%s: %v", r.SQL, err)
			continue
		}
		var want []string
		if err := json.Unmarshal(r.Rows[0], &want); err != nil {
			t.Fatal(err)
		}
		if !sameJSON(got.Resources, want[1]) || !sameJSON(got.Attributes, want[2]) {
			t.Errorf("%s: resources %s, attributes %s, want %s, %s", r.SQL, got.Resources, got.Attributes, want[1], want[2])
		}
		if !sameJSON(got.Plan, want[0]) {
			differ = append(differ, r.SQL+"\n----\n"+got.Plan)
		}
	}
	if *rewrite {
		write(t, name, differ)
		return
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n\n")
	for _, d := range differ {
		if !slices.Contains(known, d) {
			t.Errorf("differs from the recorded plan, or in another way than before:\n%s", d)
		}
	}
	for _, k := range known {
		if !slices.Contains(differ, k) {
			t.Errorf("%s has this plan no longer: run go test ./internal/explain -rewrite\n%s", name, k)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}
