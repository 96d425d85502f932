package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// NULL, the empty text and a text that reads NULL differ in every format that can tell them apart,
// and no value breaks its row.
func TestFormats(t *testing.T) {
	const rows = `["a","b|c"]` + "\n" + `[null,""]` + "\n" + `["NULL","x\t\\\n<b>"]` + "\n" + `[1.50,"\u001b[2J"]` + "\n\n"
	const objects = `{"a":null,"b":"]"}` + "\n" + `{"a":1.50,"b":"x"}` + "\n\n"
	for name, tc := range map[string]struct {
		body, want string
		rows       int64
	}{
		"table": {rows, "a      | b|c\n-------+--------\nNULL   | \n\"NULL\" | x \\⏎<b>\n1.50   | \\x1b[2J\n", 3},
		"vertical": {
			rows, "-[ row 1 ]\na   | NULL\nb|c | \n-[ row 2 ]\na   | \"NULL\"\nb|c | x \\⏎<b>\n-[ row 3 ]\na   | 1.50\nb|c | \\x1b[2J\n", 3,
		},
		"csv":      {rows, "a,b|c\n,\"\"\nNULL,\"x\t\\\n<b>\"\n1.50,\x1b[2J\n", 3},
		"tsv":      {rows, "a\tb|c\n\\N\t\nNULL\tx\\t\\\\\\n<b>\n1.50\t\x1b[2J\n", 3},
		"markdown": {rows, "| a | b\\|c |\n| --- | --- |\n| NULL |  |\n| NULL | x \\\\<br>&lt;b> |\n| 1.50 | \\x1b[2J |\n", 3},
		"json":     {objects, `[{"a":null,"b":"]"},` + "\n" + `{"a":1.50,"b":"x"}]` + "\n", 2},
		"ndjson":   {objects, strings.TrimSuffix(objects, "\n"), 2},
	} {
		format, err := findFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		n, err := format.print(&out, strings.NewReader(tc.body))
		if err != nil || n != tc.rows || out.String() != tc.want {
			t.Errorf("%s: %d rows, %v\n%q\n%q", name, n, err, out.String(), tc.want)
		}
		out.Reset()
		if _, err := format.print(&out, strings.NewReader(tc.body[:len(tc.body)-6])); !errors.Is(err, errCut) {
			t.Errorf("%s, broken off: %v", name, err)
		} else if name == "json" && json.Valid([]byte(out.String())) {
			t.Errorf("what broke off is whole JSON: %s", out.String())
		}
	}
}

func TestFormatsWithoutRows(t *testing.T) {
	for name, want := range map[string]string{"vertical": "", "tsv": "a\n", "markdown": "| a |\n| --- |\n", "table": "a\n-\n"} {
		format, _ := findFormat(name)
		var out strings.Builder
		if n, err := format.print(&out, strings.NewReader("[\"a\"]\n\n")); n != 0 || err != nil || out.String() != want {
			t.Errorf("%s: %d, %v, %q", name, n, err, out.String())
		}
	}
	var out strings.Builder
	if n, err := printJSON(&out, strings.NewReader("\n")); n != 0 || err != nil || out.String() != "[]\n" {
		t.Errorf("json: %d, %v, %q", n, err, out.String())
	}
	for name, want := range map[string]string{
		"jsn": "did you mean [json]", "xml": "[table, vertical, csv, tsv, json, ndjson, markdown, parquet, arrow]", "": "unknown",
	} {
		if _, err := findFormat(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("format %q: %v", name, err)
		}
	}
}

// Lines come in pieces of any size.
func TestJSONListInPieces(t *testing.T) {
	var out strings.Builder
	l := &jsonList{w: &out}
	for _, piece := range []string{"{\"a\"", "", ":1}", "\n", "{\"a\":2}\n{}", "\n"} {
		if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := l.end(); err != nil || out.String() != "[{\"a\":1},\n{\"a\":2},\n{}]\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}
