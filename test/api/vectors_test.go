package api

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/golden"
	"github.com/hengedb/henge/internal/testkit/server"
)

// vectorCells splits a row of a table: a "|" inside of code is written "\|".
var vectorCells = regexp.MustCompile(`\s+\|\s+`)

// The constant expressions of the SQL specification, appendix B.1, with their values. The six-row
// table of B.2 is in test/sql.
func TestConstantVectors(t *testing.T) {
	shared := server.Shared(t)
	spec, err := os.ReadFile(filepath.Join(shared, "spec", "sql.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(spec), "### B.1 ")
	section, _, ended := strings.Cut(section, "### B.2 ")
	if !found || !ended {
		t.Fatal("the specification has no appendix B.1")
	}
	s := server.Start(t, server.Options{})
	count := 0
	for line := range strings.SplitSeq(section, "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := vectorCells.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), -1)
		for i := 0; i+1 < len(cells); i += 2 {
			expression := strings.ReplaceAll(strings.Trim(cells[i], "`"), `\|`, "|")
			want := wantedValue(cells[i+1])
			count++
			t.Run(expression, func(t *testing.T) {
				status, answer, err := s.Send(t.Context(), "router", http.MethodPost, "/service/v2/sql",
					query(t, "SELECT "+expression, `"resultFormat":"array"`))
				if err != nil {
					t.Fatal(err)
				}
				var rows [][]json.RawMessage
				if err := json.Unmarshal(answer, &rows); status != 200 || err != nil || len(rows) != 1 || len(rows[0]) != 1 {
					t.Fatalf("status %d: %.300s", status, answer)
				}
				if got := string(rows[0][0]); !sameValue(want, got) {
					t.Errorf("%s, want %s", got, want)
				}
			})
		}
	}
	if count < 100 {
		t.Errorf("only %d vectors were found", count)
	}
}

// wantedValue drops the notes behind a value: who answers it, and what may differ.
func wantedValue(cell string) string {
	for _, note := range []string{" [H]", " [R]", " (last digit"} {
		cell, _, _ = strings.Cut(cell, note)
	}
	return cell
}

func sameValue(want, got string) bool {
	if want == got {
		return true
	}
	var x, y any
	if json.Unmarshal([]byte(want), &x) != nil || json.Unmarshal([]byte(got), &y) != nil {
		return false
	}
	switch x := x.(type) {
	case float64:
		_, number := y.(float64)
		return number && golden.EqualNumbers(want, got)
	case string:
		return x == y
	}
	return false
}
