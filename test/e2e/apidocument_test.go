package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// waits are operations after which no task reads what is sent, so that a client that sends rows
// waits for one; they are tried behind all others.
var waits = []string{"postIndexerV1SupervisorSuspendAll", "postIndexerV1SupervisorTerminateAll", "postIndexerV1SupervisorResumeAll"}

// endless are paths whose answer ends when its client leaves, which schemathesis never does. Their
// wrong requests are in test/api, their answers in TestTailOfADatasource.
const endless = "/tail$"

// Requests that schemathesis makes from the API document, valid ones and wrong ones, are answered
// as the document says: with no failure of the server, no other status, type or shape. In CI they
// are the same each time; HENGE_APITEST is how long other ones are made, of HENGE_APITEST_SEED.
func TestTheServerAnswersAsItsAPIDocumentSays(t *testing.T) {
	st := os.Getenv("HENGE_SCHEMATHESIS")
	if st == "" {
		t.Skip("HENGE_SCHEMATHESIS names no schemathesis: test/setup installs it")
	}
	p := serve(t, t.TempDir(), "--set", "service.memory.limit=512MiB")
	const load = `REPLACE INTO "wiki" OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, page, added FROM ` +
		`(VALUES ('2026-01-01T00:00:00Z', 'A', 1), ('2026-01-01T01:00:00Z', 'B', 2)) AS v(t, page, added) PARTITIONED BY DAY`
	if err := p.Ingest(t.Context(), load, nil); err != nil {
		t.Fatal(err)
	}
	last := make([]string, 0, 2*len(waits))
	first := make([]string, 0, 2*len(waits))
	for _, id := range waits {
		first, last = append(first, "--exclude-operation-id", id), append(last, "--include-operation-id", id)
	}
	first = append(first, "--exclude-path-regex", endless)
	phases := []string{"--phases", "examples,coverage,fuzzing", "-m", "positive", "-n", "2", "--max-time", "25", "--seed", "1"}
	limit := 3 * time.Minute
	if long, err := time.ParseDuration(os.Getenv("HENGE_APITEST")); err == nil {
		seed := os.Getenv("HENGE_APITEST_SEED")
		if seed == "" {
			seed = strconv.FormatInt(time.Now().Unix(), 10)
		}
		t.Logf("HENGE_APITEST_SEED=%s", seed)
		phases = []string{"--phases", "examples,coverage,fuzzing", "-n", "1000", "--max-time", strconv.Itoa(int(long.Seconds())), "--seed", seed}
		limit += long
	}
	tryDocument(t, st, p, limit, append(first, phases...))
	tryDocument(t, st, p, limit, append(last, "--phases", "examples,coverage"))
	if rows, err := p.Query(t.Context(), "SELECT 1 AS n"); err != nil || len(rows) != 1 {
		t.Errorf("behind all that, a query has %v, %v", rows, err)
	}
	if log := p.errors.String(); strings.Contains(log, "unexpected condition") || strings.Contains(log, "panic") {
		t.Errorf("the log tells of a mistake in the code:\n%s", log)
	}
}

// tryDocument runs schemathesis over operations of the API document, with one thread: with more,
// the parser of some releases of Python fails now and then.
func tryDocument(t *testing.T, st string, p *process, limit time.Duration, args []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	hooks, err := filepath.Abs("testdata/apidocument/hooks.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, st, append([]string{
		"run", p.Addresses["router"] + "/openapi.json", "-w", "1", "--warnings", "off", "--continue-on-failure", "--request-timeout", "30",
		"-c", "no_failure,status_code_conformance,body_as_documented",
	}, args...)...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SCHEMATHESIS_HOOKS="+hooks, "PYTHONDONTWRITEBYTECODE=1", "NO_COLOR=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		if len(out) > 100_000 {
			out = out[len(out)-100_000:] // what failed is told last
		}
		t.Errorf("schemathesis: %v\n%s", err, out)
	}
}
