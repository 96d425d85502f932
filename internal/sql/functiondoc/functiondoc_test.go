package functiondoc

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

var rewrite = flag.Bool("rewrite", false, "write the results of the examples into examples.txt")

func TestReferenceIsGenerated(t *testing.T) {
	got, err := os.ReadFile("../../../docs/functions.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Markdown() {
		t.Error("docs/functions.md is out of date: run go generate ./internal/sql/functiondoc")
	}
}

func TestEveryFunctionHasASentenceAndAnExample(t *testing.T) {
	all, seen := allFunctions(), map[string]bool{}
	for _, topic := range topics() {
		for _, e := range topic.examples {
			if _, known := all[e.function]; !known {
				t.Errorf("examples.txt has an example of [%s], which is not a function, or another name of one", e.function)
			}
			if seen[e.function] {
				t.Errorf("examples.txt has function [%s] twice", e.function)
			}
			if e.result == "" && !*rewrite {
				t.Errorf("the example of [%s] has no result: run go test ./internal/sql/functiondoc -rewrite", e.function)
			}
			seen[e.function] = true
		}
	}
	for name, f := range all {
		if !seen[name] {
			t.Errorf("function [%s] has no example: add a line to its topic in internal/sql/functiondoc/examples.txt", name)
		}
		if f.summary == "" {
			t.Errorf("function [%s] has no sentence that says what it does", name)
		}
	}
}

func TestFormsAreReadable(t *testing.T) {
	for want, forms := range map[string][]string{
		"F(expr[, lgK[, type]])": {"'F(<COLUMN>)'", "'F(<COLUMN>, <lgK>)'", "'F(<COLUMN>, <lgK>, <type>)'"},
		"F(number)":              {"F(<NUMERIC>)", "F(<NUMERIC>)"},
		"F(string[, integer])":   {"F(<CHARACTER>, [<INTEGER>])"},
	} {
		if got := readable(forms); len(got) != 1 || got[0] != want {
			t.Errorf("%q are %q, want %q", forms, got, want)
		}
	}
	for name, f := range allFunctions() {
		for _, form := range f.forms {
			if bracketed.MatchString(form) || strings.Contains(form, "'"+name) {
				t.Errorf("form [%s] of [%s] is not readable", form, name)
			}
		}
	}
}

// TestExamplesGiveTheirResults runs every example on a server that has table t and a lookup.
func TestExamplesGiveTheirResults(t *testing.T) {
	s := server.Start(t, server.Options{})
	err := s.Ingest(t.Context(), `REPLACE INTO t OVERWRITE ALL
		SELECT TIME_PARSE(d) AS __time, city, x, y
		FROM (VALUES
			('2026-01-01', 'Bern', 1, 10), ('2026-01-02', 'Oslo', 2, 20), ('2026-01-03', 'Oslo', 3, 33), ('2026-01-04', 'Rome', 4, NULL)
		) AS v(d, city, x, y)
		PARTITIONED BY ALL`, nil)
	if err != nil {
		t.Fatal(err)
	}
	const lookup = `{"__default":{"countries":{"version":"v1","lookupExtractorFactory":{"type":"map","map":{"no":"Norway"}}}}}`
	for _, body := range []string{"{}", lookup} {
		status, answer, err := s.Send(t.Context(), "coordinator", http.MethodPost, "/service/coordinator/v1/lookups/config", body)
		if err != nil || status >= 300 {
			t.Fatalf("making the lookup: %d %s %v", status, answer, err)
		}
	}
	server.Until(t, "the lookup is loaded", func() bool {
		_, err := s.Query(t.Context(), "SELECT LOOKUP('no', 'countries')")
		return err == nil
	})
	results := map[string]string{}
	for _, topic := range topics() {
		for _, e := range topic.examples {
			got, err := run(t, s, topic.title, e)
			switch {
			case err != nil:
				t.Errorf("%s: %s: %v", e.function, e.sql, err)
			case e.result == "varies":
				got = "varies"
			case got != e.result && !*rewrite:
				t.Errorf("%s: %s gives %s, want %s", e.function, e.sql, got, e.result)
			}
			results[e.function] = got
		}
	}
	if !*rewrite || t.Failed() {
		return
	}
	var out strings.Builder
	for line := range strings.Lines(examples) {
		if strings.HasPrefix(line, "  = ") {
			continue
		}
		out.WriteString(line)
		form, _, _ := strings.Cut(line, ": ")
		name, _, _ := strings.Cut(form, "(")
		name, _, _ = strings.Cut(name, "[")
		if results[name] != "" {
			out.WriteString("  = " + results[name] + "\n")
		}
	}
	if err := os.WriteFile("examples.txt", []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run returns the result of an example as the page shows it: values with commas between them, rows
// with semicolons, and strings in quotes.
func run(t *testing.T, s *server.Server, topic string, e example) (string, error) {
	t.Helper()
	sql := e.sql
	switch {
	case e.whole():
	case strings.HasPrefix(topic, "Window"):
		sql = "SELECT " + sql + " AS v FROM t ORDER BY x"
	case topic == "Aggregates" || topic == "Statistics" || topic == "Sketches" || strings.HasPrefix(topic, "Approximate"):
		sql = "SELECT " + sql + " FROM t"
	default:
		sql = "SELECT " + sql
	}
	body, err := json.Marshal(map[string]any{
		"query": sql, "resultFormat": "array", "header": true, "typesHeader": true, "sqlTypesHeader": true,
		"context": map[string]any{"sqlStringifyArrays": false},
	})
	if err != nil {
		return "", err
	}
	status, answer, err := s.Send(t.Context(), "router", http.MethodPost, "/service/v2/sql", string(body))
	if err != nil {
		return "", err
	}
	if status != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", status, answer)
	}
	var rows [][]json.RawMessage
	if err := json.Unmarshal(answer, &rows); err != nil {
		return "", err
	}
	types := rows[2]
	var out []string
	for _, row := range rows[3:] {
		values := make([]string, len(row))
		for i, v := range row {
			values[i] = shown(v, string(types[i]))
		}
		out = append(out, strings.Join(values, ", "))
	}
	if strings.HasPrefix(topic, "Window") {
		return strings.Join(out, ", "), nil
	}
	return strings.Join(out, "; "), nil
}

// shown writes a value of a type as SQL would, as far as SQL has literals for it.
func shown(value json.RawMessage, kind string) string {
	var text string
	switch {
	case string(value) == "null":
		return "NULL"
	case kind == `"TIMESTAMP"` || kind == `"DATE"`:
		return strings.ReplaceAll(strings.Trim(string(value), `"`), ".000Z", "Z")
	case kind == `"COMPLEX<json>"` && json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &text) == nil:
		return "'" + text + "'"
	}
	var small bytes.Buffer
	if json.Compact(&small, value) != nil {
		return string(value)
	}
	return strings.ReplaceAll(small.String(), ",", ", ")
}
