// Package pgwire runs unmodified clients of PostgreSQL against a node, and compares the catalog
// with a real PostgreSQL.
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

// TestClients runs all clients against one node.
func TestClients(t *testing.T) {
	s := server.Start(t, server.Options{Settings: []string{"service.pgwire.plaintextPort=0"}})
	for _, sql := range []string{wiki, strings.NewReplacer("wiki OVERWRITE", "sink OVERWRITE", "1.5, 'a,b'", "1.25, 'a'").Replace(wiki)} {
		if err := s.Ingest(t.Context(), sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	address := strings.TrimPrefix(s.Addresses["pgwire"], "http://")
	for name, run := range map[string]func(t *testing.T, address string){
		"python": python, "psql": psql, "pgcli": pgcli, "jdbc": jdbc, "fdw": foreignTables, "catalog": catalog, "copy": psqlCopy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, address)
		})
	}
}

// interpreter is a Python with the packages psycopg, asyncpg, SQLAlchemy and pgcli.
func interpreter(t *testing.T) string {
	t.Helper()
	path := os.Getenv("HENGE_PG_PYTHON")
	if path == "" {
		t.Skip("HENGE_PG_PYTHON names no Python that has psycopg, asyncpg, SQLAlchemy and pgcli")
	}
	return path
}

func python(t *testing.T, address string) {
	out, err := exec.CommandContext(t.Context(), interpreter(t), "testdata/clients.py", address).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "all steps are right" {
		t.Errorf("%v\n%s", err, out)
	}
}

// psql runs the commands of psql that read the catalog: none may fail.
func psql(t *testing.T, address string) {
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skipf("no psql: %v", err)
	}
	host, port, _ := strings.Cut(address, ":")
	for command, want := range map[string]string{
		`\d`: "public|wiki|table|ann", `\d wiki`: "added|bigint|||", `\dt`: "public|wiki|table|ann", `\dv sys.*`: "sys|segments|view|ann",
		`\l`: "henge|ann|UTF8", `\dn`: "public|ann", `\df`: "", `\du`: "ann", `\di`: "", `\dp`: "public|wiki|table",
		`\d pg_am`: "amname|name||not null|",
		"select page, count(*) as n, sum(added) from wiki group by page order by n desc":                   "page|n|sum\nMain|2|40\nHelp|1|20",
		"begin; declare c cursor for select page from wiki order by __time; fetch 2 in c; fetch c; commit": "page\nMain\nHelp\n(2 rows)",
		"declare s scroll cursor with hold for select added from wiki order by __time; fetch all s; fetch prior s; fetch backward 5 s; " +
			"fetch absolute 2 s; move -1 in s; fetch s; fetch last s": "added\n10\n20\n30\n(3 rows)\nadded\n30\n(1 row)\nadded\n20\n10\n(2 rows)\n" +
			"added\n20\n(1 row)\nMOVE 1\nadded\n20\n(1 row)\nadded\n30",
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

// psqlCopy copies a file of the client with psql.
func psqlCopy(t *testing.T, address string) {
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skipf("no psql: %v", err)
	}
	file := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(file, []byte("__time,page,added,tags\n2024-02-01 00:00:00+00,\"a \"\"page\"\"\",7,\"{x,y}\"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(address, ":")
	run := func(command string) string {
		out, err := exec.CommandContext(t.Context(), "psql", "-X", "-A", "-t", "-h", host, "-p", port, "-U", "ann", "-v", "ON_ERROR_STOP=1",
			"-c", command, "henge").CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		return strings.TrimSpace(string(out))
	}
	for _, step := range []struct{ command, want string }{
		{`\copy sink (__time, page, added, tags) from '` + file + `' csv header`, "COPY 1"},
		{"select added, tags from sink where page = 'a \"page\"'", "7|{x,y}"},
		{"insert into sink (__time, page) values ('2024-02-02Z', 'b')", "INSERT 0 1"},
		{"select count(*) from sink where page = 'b'", "1"},
	} {
		if got := run(step.command); got != step.want {
			t.Errorf("%s: got %s, want %s", step.command, got, step.want)
		}
	}
}

// pgcli runs a shell with completion, which reads the whole catalog when it connects.
func pgcli(t *testing.T, address string) {
	program := filepath.Join(filepath.Dir(interpreter(t)), "pgcli")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("no pgcli: %v", err)
	}
	host, port, _ := strings.Cut(address, ":")
	args := []string{"-h", host, "-p", port, "-u", "ann", "-w", "-d", "henge"}
	var wants []string
	for _, step := range []struct{ command, want string }{
		{`\d wiki`, "| added  | bigint"}, {`\dt`, "| public | wiki"}, {`\l`, "| henge "}, {`\dn`, "| public "}, {`\du`, "| ann "}, {`\dv sys.*`,
			"segments"},
		{`\df`, "| Schema"}, {`\di`, ""}, {`\dT`, "| Schema"}, {"select page, count(*) as n from wiki group by page order by n desc",
			"| Main | 2 |"},
	} {
		args = append(args, "-c", step.command)
		wants = append(wants, step.want)
	}
	run := func(name string, args ...string) string {
		c := exec.CommandContext(t.Context(), name, args...)
		c.Env = append(os.Environ(), "HOME="+t.TempDir(), "PAGER=cat", "TERM=dumb")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	out := run(program, args...)
	for i, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("%s: no %q in\n%s", args[2*i+10], want, out)
		}
	}
	// What it reads for its completion.
	if out := run(interpreter(t), "testdata/completion.py", address); strings.TrimSpace(out) != "all is read" {
		t.Error(out)
	}
}

// jdbc runs a client with the unmodified driver.
func jdbc(t *testing.T, address string) {
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
		"jdbc:postgresql://"+address+"/henge")
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
