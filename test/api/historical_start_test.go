package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/testkit/faulty"
	"github.com/hengedb/henge/internal/testkit/server"
)

// A Historical that holds ten thousand segments is ready and has announced all of them without a
// look at one: their files are not there, and deep storage is not asked. What is asked for is
// opened then.
func TestAHistoricalOfManySegmentsIsReadyAtOnce(t *testing.T) {
	const many = 10_000
	dir := t.TempDir()
	s := server.Start(t, server.Options{Dir: dir})
	if err := s.Ingest(t.Context(), inline("REPLACE INTO events OVERWRITE ALL", `{"t":"2024-01-01","k":"a","n":1}`), nil); err != nil {
		t.Fatal(err)
	}
	for held := 0; held == 0 && t.Context().Err() == nil; held = len(announced(t, s)) {
	}
	// Nobody is to drop what nobody has published.
	if err := s.Call(t.Context(), http.MethodPost, "/service/coordinator/v1/config", map[string]bool{"pauseCoordination": true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.OpenFile(filepath.Join(dir, "cache", "manifest"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range many {
		if _, err := fmt.Fprintf(manifest, `{"id":"wiki_2026-01-01T00:00:00.000Z_2026-01-02T00:00:00.000Z_2026-03-01T00:00:00.000Z_%d","key":"wiki/many%d/index","size":1000}`+"\n", i, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := manifest.Close(); err != nil {
		t.Fatal(err)
	}
	var deep *faulty.Store
	s = server.Start(t, server.Options{Dir: dir, Deep: func(real deepstore.Store) deepstore.Store {
		deep = faulty.New(real, 1, faulty.Plan{})
		return deep
	}})
	for _, path := range []string{"/service/historical/v1/readiness", "/status/ready"} {
		if status, answer, err := s.Send(t.Context(), "historical", http.MethodGet, path, ""); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %s %v", path, status, answer, err)
		}
	}
	if n := len(announced(t, s)); n != many+1 {
		t.Errorf("[%d] segments are announced, want [%d]", n, many+1)
	}
	if n := deep.Calls(faulty.Open) + deep.Calls(faulty.Stat) + deep.Calls(faulty.Read); n > 0 {
		t.Errorf("deep storage was asked [%d] times", n)
	}
	if rows, err := s.Query(t.Context(), "SELECT COUNT(*) FROM events"); err != nil || fmt.Sprint(rows) != "[[1]]" {
		t.Errorf("%v %v", rows, err)
	}
}

// announced returns the ids of the segments that the Historical has announced.
func announced(t *testing.T, s *server.Server) []string {
	t.Helper()
	status, answer, err := s.Send(t.Context(), "historical", http.MethodGet, "/service-internal/v1/segments?counter=-1&hash=0&timeout=1&ids", "")
	if err != nil || status != http.StatusOK && status != http.StatusNoContent {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	if status == http.StatusNoContent {
		return nil
	}
	var delta struct {
		Requests []struct{ ID string }
	}
	if err := json.Unmarshal(answer, &delta); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(delta.Requests))
	for i, r := range delta.Requests {
		out[i] = r.ID
	}
	return out
}
