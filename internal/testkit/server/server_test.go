package server

import (
	"errors"
	"net/http"
	"path/filepath"
	"testing"
)

// A Router whose way to the Broker is cut refuses queries, also those that could go on a connection
// that was there, until it is mended.
func TestACutClusterIsInParts(t *testing.T) {
	c := StartCluster(t, ClusterOptions{Processes: [][]string{{"coordinator", "overlord", "worker", "historical", "broker"}, {"router"}}})
	ask := func() error {
		_, err := c.Query(t.Context(), "SELECT 1 AS n")
		return err
	}
	for range 2 {
		c.Until("it is answered", func() bool { return ask() == nil })
		c.Cut(c.Nodes[0], c.Nodes[1])
		var refusal *Refusal
		if err := ask(); !errors.As(err, &refusal) || refusal.Status != http.StatusServiceUnavailable {
			t.Errorf("in parts: %v", err)
		}
		c.Heal()
	}
}

func TestServerAnswersLoadsAndComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := Start(t, Options{Dir: dir})
	for _, role := range roles {
		if status, _, err := s.Send(t.Context(), role, http.MethodGet, "/status/health", ""); err != nil || status != http.StatusOK {
			t.Errorf("the %s answers %d, %v", role, status, err)
		}
	}
	const load = `REPLACE INTO x OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, n FROM TABLE(EXTERN('{"type":"inline","data":"{\"t\":\"2024-01-01\",\"n\":7}"}',
		'{"type":"json"}')) EXTEND (t VARCHAR, n BIGINT) PARTITIONED BY DAY`
	if err := s.Ingest(t.Context(), load, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Ingest(t.Context(), `INSERT INTO x SELECT TIME_PARSE('2024-01-01') AS __time, 1/n AS n FROM x WHERE n / 0 > 0 PARTITIONED BY DAY`, nil); err == nil {
		t.Error("a task that fails is no error")
	}
	var refusal *Refusal
	if _, err := s.Query(t.Context(), "SELECT nothing"); !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest {
		t.Errorf("a statement that is refused gives %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = Start(t, Options{Dir: dir})
	if rows, err := s.Query(t.Context(), "SELECT n FROM x"); err != nil || len(rows) != 1 {
		t.Errorf("after a restart: %v, %v", rows, err)
	}
}
