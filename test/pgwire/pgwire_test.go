// Package pgwire runs unmodified clients of PostgreSQL against a node, and compares what the
// catalog answers with a real PostgreSQL.
package pgwire

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/testkit/maven"
	"github.com/hengedb/henge/internal/testkit/postgres"
	"github.com/hengedb/henge/internal/testkit/server"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// wiki is the datasource that all clients read.
const wiki = `REPLACE INTO wiki OVERWRITE ALL SELECT TIME_PARSE(t) AS __time, page, added, delta,
	ARRAY_TO_MV(STRING_TO_ARRAY(tags, ',')) AS tags, flag
	FROM (VALUES ('2024-01-01T00:00:00Z', 'Main', 10, 1.5, 'a,b', 1), ('2024-01-01T01:00:00Z', 'Help', 20, 2.5, 'b', 1),
	('2024-01-02T00:00:00Z', 'Main', 30, 3.5, 'c', 0)) AS v(t, page, added, delta, tags, flag) PARTITIONED BY DAY`

// open starts a node with the datasource and returns the host and port of its wire.
func open(t *testing.T) string {
	t.Helper()
	s := server.Start(t, server.Options{Settings: []string{"service.pgwire.plaintextPort=0"}})
	if err := s.Ingest(t.Context(), wiki, nil); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(s.Addresses["pgwire"], "http://")
}

// python is one with the packages psycopg, asyncpg and SQLAlchemy.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("HENGE_PG_PYTHON")
	if path == "" {
		t.Skip("HENGE_PG_PYTHON names no Python that has psycopg, asyncpg and SQLAlchemy")
	}
	return path
}

func TestPython(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), python(t), "testdata/clients.py", open(t)).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "all steps are right" {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPsql runs the commands of psql that read the catalog: none may fail.
func TestPsql(t *testing.T) {
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skipf("no psql: %v", err)
	}
	host, port, _ := strings.Cut(open(t), ":")
	for command, want := range map[string]string{
		`\d`: "public|wiki|table|ann", `\d wiki`: "added|bigint|||", `\dt`: "public|wiki|table|ann", `\dv sys.*`: "sys|segments|view|ann",
		`\l`: "henge|ann|UTF8", `\dn`: "public|ann", `\df`: "", `\du`: "ann", `\di`: "", `\dp`: "public|wiki|table",
		`\d pg_am`: "amname|name||not null|",
		"select page, count(*) as n, sum(added) from wiki group by page order by n desc":                   "page|n|sum\nMain|2|40\nHelp|1|20",
		"begin; declare c cursor for select page from wiki order by __time; fetch 2 in c; fetch c; commit": "page\nMain\nHelp\n(2 rows)",
		// Copies have no summary line.
		"copy (select page, added from wiki order by __time) to stdout csv header": "page,added\nMain,10\nHelp,20\nMain,30",
	} {
		out, err := exec.CommandContext(t.Context(), "psql", "-X", "-A", "-h", host, "-p", port, "-U", "ann", "-v", "ON_ERROR_STOP=1",
			"-c", command, "henge").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "ERROR") {
			t.Errorf("%s: %v\n%s\nwant %q in it", command, err, out, want)
		}
	}
}

// TestJDBC runs a client with the unmodified driver.
func TestJDBC(t *testing.T) {
	pom := []byte(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>t</groupId>` +
		`<artifactId>t</artifactId><version>1</version><dependencies><dependency><groupId>org.postgresql</groupId>` +
		`<artifactId>postgresql</artifactId><version>42.7.8</version></dependency></dependencies></project>`)
	lib, err := maven.Jars("", "pgjdbc-42.7.8", pom, "java", "javac")
	if err != nil {
		t.Skipf("the driver can't be had: %v", err)
	}
	classes := t.TempDir()
	jars := filepath.Join(lib, "*")
	compile := exec.CommandContext(t.Context(), "javac", "-cp", jars, "-encoding", "UTF-8", "-d", classes, "testdata/Pg.java")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), "java", "-Duser.timezone=UTC", "-cp", classes+":"+jars, "Pg",
		"jdbc:postgresql://"+open(t)+"/henge")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile("testdata/pgjdbc.txt")
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
}
