package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// Errors in files of statements name the file and the line of it.
func TestErrorsNameTheLineOfTheFile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Query string }
		_ = json.NewDecoder(r.Body).Decode(&q) // what is no statement has none
		before, _, found := strings.Cut(q.Query, "nosuch")
		if !found {
			_, _ = w.Write([]byte("[\"a\"]\n[1]\n\n"))
			return
		}
		line := strings.Count(before, "\n") + 1
		column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:]) + 1
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{ // the client sees what arrives
			"errorMessage": fmt.Sprintf("Column 'nosuch' not found (line [%d], column [%d])", line, column), "category": "INVALID_INPUT",
			"context": map[string]string{"line": fmt.Sprintf("%d", line), "column": fmt.Sprintf("%d", column),
				"endLine": fmt.Sprintf("%d", line), "endColumn": fmt.Sprintf("%d", column+5)},
		})
	}))
	defer server.Close()
	t.Chdir(t.TempDir())
	for _, c := range []struct{ text, want string }{
		{"SELECT 1;\n\n\nSELECT\n  nosuch\nFROM t;",
			"f.sql:5: Error: Column 'nosuch' not found (line [5], column [3])\n    nosuch\n    ^^^^^^\n"},
		{"SELECT 1; SELECT nosuch;",
			"f.sql:1: Error: Column 'nosuch' not found (line [1], column [18])\n  SELECT nosuch\n         ^^^^^^\n"},
		{"-- a comment; with one\nSELECT nosuch",
			"f.sql:2: Error: Column 'nosuch' not found (line [2], column [8])\n  SELECT nosuch\n         ^^^^^^\n"},
		{"\n\nSELECT 1;\r\nSELECT nosuch;\r\n", "f.sql:4: Error: "},
		{"SET a = 1;\nSELECT 1;\nSET b = 2;\nSELECT nosuch;", "f.sql:4: Error: "},
		{"\\timing on\n\nSELECT 1; SELECT\n  nosuch;", "f.sql:4: Error: Column 'nosuch' not found (line [4], column [3])"},
		{"SELECT 'ä'; SELECT nosuch", "f.sql:1: Error: Column 'nosuch' not found (line [1], column [20])"},
		{"SELECT\t'東京', nosuch", "\n  SELECT '東京', nosuch\n                 ^^^^^^\n"},
		{"SELECT 1;\n\\foo\n", "f.sql:2: Error: Command [\\foo] is unknown"},
		{"SELECT 1;\n\\i g.sql\n", "g.sql:2: Error: Column 'nosuch'"},
		{"\\i g.sql\n", "g.sql:2: Error: Column 'nosuch'"},
	} {
		for name, text := range map[string]string{"f.sql": c.text, "g.sql": "\nSELECT nosuch;\n"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, errs, err := inProcess(t, "", "sql", "--server", server.URL, "f.sql")
		if err == nil || !strings.Contains(errs, c.want) {
			t.Errorf("%q: %v, %q, want %q", c.text, err, errs, c.want)
		}
		_, errs, err = inProcess(t, c.text, "sql", "--server", server.URL, "-")
		if want := strings.ReplaceAll(c.want, "f.sql", standardInput); err == nil || !strings.Contains(errs, want) {
			t.Errorf("%q of standard input: %v, %q, want %q", c.text, err, errs, want)
		}
	}
	_, errs, err := inProcess(t, "", "sql", "--server", server.URL, "-q", "SELECT 1;\nSELECT nosuch")
	if err == nil || !strings.HasPrefix(errs, "Error: Column 'nosuch' not found (line [2], column [8])") {
		t.Errorf("of -q: %v, %q", err, errs)
	}
	if err := os.WriteFile("f.sql", []byte("SELECT 1;\n\nSELECT nosuch;"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, err = inProcess(t, "", "sql", "--server", server.URL, "--json", "f.sql")
	if err == nil || !strings.Contains(errs, `"file":"f.sql","line":"3"`) || !strings.Contains(errs, `(line [3], column [8])`) {
		t.Errorf("as JSON: %v, %q", err, errs)
	}
	_, errs, err = inProcess(t, "", "sql", "--server", "http://127.0.0.1:1", "f.sql")
	if err == nil || !strings.HasPrefix(messageOf(err), "f.sql:1: no server responds") || exitOf(err, false) != exitNoServer {
		t.Errorf("without a server: %v, %q", err, errs)
	}
}

// A server that is not a Router has its address in the message, and no page for browsers.
func TestWrongServersAreNamed(t *testing.T) {
	for body, want := range map[string]string{
		"":                                  "has no [/service/v2/sql]; is it a Router?",
		"<html>none</html>":                 "is it a Router? Set its address with --server",
		"404 page not found\n":              "has no [/service/v2/sql]",
		"Cannot find any task with id: [x]": "Error: The server answered 404 Not Found: Cannot find any task with id: [x]",
		`{"error":"[x] does not exist"}`:    "Error: [x] does not exist",
		`{"errorMessage":"There is nothing at [/service/v2/sql]","category":"NOT_FOUND"}`: "has no [/service/v2/sql]",
		`{"errorMessage":"Datasource [x] does not exist","category":"NOT_FOUND"}`:         "Error: Datasource [x] does not exist",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(body))
		}))
		_, errs, err := inProcess(t, "", "sql", "--server", server.URL, "-q", "SELECT 1")
		server.Close()
		if err == nil || !strings.Contains(errs, want) || strings.Contains(errs, "<html>") {
			t.Errorf("%q: %v, %q, want %q", body, err, errs, want)
		}
	}
}
