// Package flight runs unmodified clients of Arrow and Arrow Flight SQL against a node.
package flight

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/maven"
	"github.com/hengedb/henge/internal/testkit/server"
)

// wiki is a datasource that all clients read.
const wiki = `REPLACE INTO wiki OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, page, added, delta,
	ARRAY_TO_MV(STRING_TO_ARRAY(tags, ',')) AS tags
	FROM (VALUES ('2024-01-01T00:00:00Z', 'Main', 10, 1.5, 'a,b'), ('2024-01-01T01:00:00Z', 'Help', 20, 2.5, 'b'),
	('2024-01-02T00:00:00Z', 'Main', 30, 3.5, 'c')) AS v(t, page, added, delta, tags) PARTITIONED BY DAY`

// TestClients runs all clients against one server, each in its own process.
func TestClients(t *testing.T) {
	settings := []string{"service.auth.authenticator.meta.credentialIterations=1000"}
	for _, s := range server.Secured {
		if key, _, _ := strings.Cut(s, "="); strings.HasSuffix(strings.ToLower(key), "password") {
			s = key + "=" + server.Password
		}
		settings = append(settings, s)
	}
	s := server.Start(t, server.Options{Settings: settings})
	admin := s.As("admin")
	for _, statement := range []string{wiki, numbersOf()} {
		if err := admin.Ingest(t.Context(), statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	address := strings.TrimPrefix(s.Addresses["router"], "http://")
	t.Run("clients", func(t *testing.T) {
		t.Run("python", func(t *testing.T) { t.Parallel(); runPython(t, address) })
		t.Run("java", func(t *testing.T) { t.Parallel(); runJava(t, address) })
	})
}

// numbersOf makes the datasource of the numbers below 1000.
func numbersOf() string {
	digits := "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
	return "REPLACE INTO numbers OVERWRITE ALL SELECT TIME_PARSE('2024-01-01T00:00:00Z') AS __time, 100 * a.d + 10 * b.d + c.d AS n FROM " +
		digits + " AS a(d) CROSS JOIN " + digits + " AS b(d) CROSS JOIN " + digits + " AS c(d) PARTITIONED BY ALL"
}

// runPython runs ADBC, polars and pyarrow.
func runPython(t *testing.T, address string) {
	python := os.Getenv("HENGE_PYARROW_PYTHON")
	if python == "" {
		t.Skip("HENGE_PYARROW_PYTHON names no Python that has pyarrow, polars and adbc-driver-flightsql")
	}
	probe := exec.CommandContext(t.Context(), python, "-c", "import adbc_driver_flightsql, polars, pyarrow.flight")
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("the Python of HENGE_PYARROW_PYTHON lacks a client: %s", out)
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/clients.py", address, "admin", server.Password).CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "all steps are right") {
		t.Errorf("%v\n%s", err, out)
	}
}

// runJava runs the driver of JDBC.
func runJava(t *testing.T, address string) {
	pom := []byte(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId>` +
		`<artifactId>t</artifactId><version>1</version><dependencies><dependency><groupId>org.apache.arrow</groupId>` +
		`<artifactId>flight-sql-jdbc-driver</artifactId><version>18.3.0</version></dependency></dependencies></project>`)
	lib, err := maven.Jars("", "flight-sql-jdbc-18.3.0", pom, "java", "javac")
	if err != nil {
		t.Skipf("the driver can't be had: %v", err)
	}
	classes, jars := t.TempDir(), filepath.Join(lib, "*")
	compile := exec.CommandContext(t.Context(), "javac", "-encoding", "UTF-8", "-d", classes, "testdata/Flight.java")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), "java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Duser.timezone=UTC",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", classes+":"+jars, "Flight",
		"jdbc:arrow-flight-sql://"+address, "admin", server.Password)
	var problems strings.Builder
	run.Stderr = &problems
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, problems.String())
	}
	want, err := os.ReadFile("testdata/jdbc.txt")
	if err != nil || string(out) != string(want) {
		t.Errorf("%v: got\n%s\nwant\n%s", err, out, want)
	}
}
