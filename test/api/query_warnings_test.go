package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// A SELECT from external data says in the response context what it has replaced or left out: in
// the header of a short answer, in a trailer behind a long one.
func TestQueriesWarnOfExternalData(t *testing.T) {
	s := server.Start(t, server.Options{})
	path := filepath.Join(t.TempDir(), "latin.csv")
	rows := strings.Repeat("1,"+strings.Repeat("x", 2000)+"\n", 200)
	if err := os.WriteFile(path, []byte("id,name\n"+rows+"2,M\xfcller \xe9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	from := func(paths ...string) string {
		files, err := json.Marshal(paths)
		if err != nil {
			t.Fatal(err)
		}
		return `FROM TABLE(EXTERN('{"type":"local","files":` + string(files) + `}','{"type":"csv","findColumnsFromHeader":true}')) ` +
			`EXTEND (id VARCHAR, name VARCHAR)`
	}
	const what = "[2] byte sequences are not UTF-8 and were replaced by U+FFFD, the first on line [202]"
	warning := "Input [file:" + path + "]: " + what
	many := make([]string, 9)
	for i := range many {
		many[i] = path
	}
	for _, c := range []struct {
		name, role, sql string
		header, trailer []string
	}{
		{"a short answer", "broker", "SELECT COUNT(*) " + from(path), []string{warning}, nil},
		{"through the Router", "router", "SELECT COUNT(*) " + from(path), []string{warning}, nil},
		{"a long answer", "broker", "SELECT * " + from(path), nil, []string{warning}},
		{"a long answer through the Router", "router", "SELECT * " + from(path), nil, []string{warning}},
		{"many files", "broker", "SELECT COUNT(*) " + from(many...), []string{warning, warning, warning, warning, warning,
			"[4] more warnings are left out"}, nil},
		{"nothing to say", "broker", "SELECT 1", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := json.Marshal(map[string]any{"query": c.sql})
			if err != nil {
				t.Fatal(err)
			}
			r, err := http.Post(s.Addresses[c.role]+"/service/v2/sql", "application/json", strings.NewReader(string(body)))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%d %v %.200s", r.StatusCode, err, text)
			}
			for where, h := range map[string]struct {
				text string
				want []string
			}{"header": {r.Header.Get("X-Service-Response-Context"), c.header}, "trailer": {r.Trailer.Get("X-Service-Response-Context"),
				c.trailer}} {
				var said struct{ Warnings []string }
				if h.text != "" {
					if err := json.Unmarshal([]byte(h.text), &said); err != nil {
						t.Fatalf("%s: %v", h.text, err)
					}
				}
				if fmt.Sprint(said.Warnings) != fmt.Sprint(h.want) {
					t.Errorf("%s: %s, want %s", where, h.text, h.want)
				}
			}
		})
	}
}
