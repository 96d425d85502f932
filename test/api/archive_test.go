package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// TestArchivedSegmentsComeBack archives the segments of an interval and asks for them again: while
// they are archived, and restored.
func TestArchivedSegmentsComeBack(t *testing.T) {
	s := server.Start(t, server.Options{})
	ask := asker(t, s)
	if err := s.Ingest(t.Context(), inline("REPLACE INTO x OVERWRITE ALL", `{"t":"2024-01-01","k":"a","n":1}`, `{"t":"2024-01-02","k":"b","n":2}`), nil); err != nil {
		t.Fatal(err)
	}
	const day = `"interval":"2024-01-01/2024-01-02"`
	for _, step := range []struct{ task, rows string }{
		{`{"type":"archive","dataSource":"x",` + day + `}`, "/archive/segments/x/"},
		{`{"type":"restore","dataSource":"x",` + day + `}`, "/segments/x/"},
		{`{"type":"move","dataSource":"x",` + day + `,"target":{"baseKey":"cold"}}`, "/cold/segments/x/"},
	} {
		if err := s.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/datasources/x/markUnused", map[string]string{"interval": "2024-01-01/2024-01-02"}, nil); err != nil {
			t.Fatal(err)
		}
		if task := awaitTask(t, s, step.task); task.ErrorMsg != "" {
			t.Fatal(task.ErrorMsg)
		}
		if err := s.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/datasources/x/markUsed", map[string]string{"interval": "2024-01-01/2024-01-02"}, nil); err != nil {
			t.Fatal(err)
		}
		var segments []struct {
			LoadSpec struct{ Path string } `json:"loadSpec"`
		}
		if err := s.Call(t.Context(), http.MethodGet, "/service/coordinator/v1/metadata/datasources/x/segments?full", nil, &segments); err != nil {
			t.Fatal(err)
		}
		if len(segments) != 2 || !strings.Contains(segments[0].LoadSpec.Path, step.rows) {
			t.Errorf("%s: the segments are %+v", step.task, segments)
		}
		if got := ask("SELECT k, n FROM x ORDER BY k"); got != "[[a 1] [b 2]]" {
			t.Errorf("%s: the rows are %s", step.task, got)
		}
	}
	var refused any
	if err := s.Call(t.Context(), http.MethodPost, "/service/indexer/v1/task", map[string]string{"type": "move", "dataSource": "x", "interval": "2024-01-01/2024-01-02"}, &refused); err == nil ||
		!strings.Contains(fmt.Sprint(err), "[target]") {
		t.Errorf("%v", err)
	}
}
