package api

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/testkit/server"
)

// What can be in the place of a value of a path or of a parameter, as it is sent.
var hostile = []string{"x", "-1", "99999999999999999999", "%00%FF", "..%2F..%2Fetc", "2026-01-02%2F2026-01-01"}

// hostileBodies are what no endpoint can want; {} some take.
var hostileBodies = []string{"", "null", "[]", "{}", `"x"`, "7", "{", "\xff\xfe", strings.Repeat("[", 20_000), `{"a":` + strings.Repeat(`{"a":`, 5000)}

// Every endpoint of every role gets each value of its path, each parameter that any endpoint knows,
// and its body wrong in turn. It answers all of it: never with a failure of the server's own, and
// what it refuses in an object is an error object.
func TestEveryParameterOfEveryEndpointIsWrongInTurn(t *testing.T) {
	s := withEvents(t)
	names := parameterNames(t)
	if len(names) < 20 {
		t.Fatalf("only the parameters %v were found in the sources", names)
	}
	seen := map[string]bool{}
	for _, role := range []string{"router", "coordinator", "overlord", "broker", "historical", "indexer"} {
		for _, pattern := range s.Routes(role) {
			if seen[pattern] { // what a role of its own answers the Router answers by the same code
				continue
			}
			seen[pattern] = true
			everyWrong(t, s, role, pattern, names)
		}
	}
	if len(seen) < 150 {
		t.Errorf("there are only [%d] endpoints", len(seen))
	}
	if rows, err := s.Query(t.Context(), "SELECT 1 AS n"); err != nil || len(rows) != 1 {
		t.Errorf("behind all that, a query has %v, %v", rows, err)
	}
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// everyWrong tries an endpoint.
func everyWrong(t *testing.T, s *server.Server, role, pattern string, names []string) {
	t.Helper()
	method, path, found := strings.Cut(pattern, " ")
	if !found {
		method, path = http.MethodGet, pattern
	}
	path = strings.ReplaceAll(path, "{$}", "")
	places := wildcard.FindAllString(path, -1)
	// fill puts a value into one place of the path, and what there may be into the others.
	fill := func(place int, value string) string {
		out := path
		for i, p := range places {
			v := "events"
			if i == place {
				v = value
			}
			out = strings.Replace(out, p, v, 1)
		}
		return out
	}
	for i := range places {
		for _, v := range hostile {
			send(t, s, role, method, fill(i, v), "{}")
		}
	}
	for _, name := range names {
		for _, v := range hostile[:4] {
			send(t, s, role, method, fill(-1, "")+"?"+name+"="+v, "")
		}
	}
	if method == http.MethodPost || method == http.MethodPut || method == http.MethodDelete {
		for _, body := range hostileBodies {
			send(t, s, role, method, fill(-1, ""), body)
		}
	}
}

// send sends a request that can't be meant, and looks at its answer.
func send(t *testing.T, s *server.Server, role, method, path, body string) {
	t.Helper()
	limit := time.Minute
	route, _, _ := strings.Cut(path, "?")
	endless := strings.HasSuffix(route, "/tail") // a live tail goes on until its client leaves
	if endless {
		limit = 50 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	status, answer, err := s.Send(ctx, role, method, path, body)
	what := method + " " + path
	if len(body) > 60 {
		body = body[:60]
	}
	if body != "" {
		what += " with " + body
	}
	switch {
	case err != nil && endless && ctx.Err() != nil:
	case err != nil:
		t.Errorf("%s: %v", what, err)
	case status == http.StatusServiceUnavailable && strings.Contains(string(answer), "Can't find chatHandler"): // as Druid says it of a task that does not run
	case status >= 500 && status != http.StatusNotImplemented && !avatica500(path, status):
		t.Errorf("%s: %d %.300s", what, status, answer)
	case status >= 400 && strings.HasPrefix(string(answer), "{"):
		var object map[string]any
		if err := json.Unmarshal(answer, &object); err != nil || len(object) == 0 {
			t.Errorf("%s: %d, and no object: %.300s", what, status, answer)
		}
	}
}

var parameter = regexp.MustCompile(`(?:\.(?:Get|Has)\(|\(r, )"([a-z][A-Za-z]*)"`)

// parameterNames are the names of all parameters that some endpoint reads, found in the sources.
func parameterNames(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"../../internal/api", "../../internal/role"} {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range parameter.FindAllStringSubmatch(string(text), -1) {
				out = append(out, m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
