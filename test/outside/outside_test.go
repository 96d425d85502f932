// Package outside runs clients and validators of other projects against a server. They are a
// separate module (clients), so that the product does not depend on their modules.
package outside

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hengedb/henge/internal/testkit/server"
)

// The official client of the Model Context Protocol uses all tools and resources, and recorded
// exchanges of Druid fit the API document.
func TestClientsOfOthers(t *testing.T) {
	get := exec.Command("go", "mod", "download")
	get.Dir = "clients"
	if out, err := get.CombinedOutput(); err != nil {
		t.Skipf("the modules of the clients could not be had: %v\n%s", err, out)
	}
	s := server.Start(t, server.Options{})
	const load = `REPLACE INTO "wiki" OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, page, added FROM (VALUES ` +
		`('2026-01-01T00:00:00Z', 'A', 1), ` +
		`('2026-01-01T01:00:00Z', 'B', 2), ('2026-01-01T02:00:00Z', 'C', 3), ('2026-01-01T03:00:00Z', 'D', 4), ` +
		`('2026-01-01T04:00:00Z', 'E', 5)) ` +
		`AS v(t, page, added) PARTITIONED BY DAY`
	if err := s.Ingest(t.Context(), load, nil); err != nil {
		t.Fatal(err)
	}
	status, document, err := s.Send(t.Context(), "router", "GET", "/openapi.json", "")
	if err != nil || status != 200 {
		t.Fatalf("the document: %d, %v", status, err)
	}
	at := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(at, document, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-count=1", "./...")
	cmd.Dir = "clients"
	cmd.Env = append(os.Environ(), "HENGE_URL="+s.Addresses["router"], "HENGE_OPENAPI="+at)
	if golden, err := filepath.Abs("../../../shared/golden"); err == nil {
		if _, err := os.Stat(golden); err == nil {
			cmd.Env = append(cmd.Env, "HENGE_GOLDEN="+golden)
		}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the clients: %v\n%s", err, out)
	}
}
