package e2e

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/hengedb/henge/internal/clock"
)

// terminal is a program that runs in a pseudo-terminal.
type terminal struct {
	t    *testing.T
	file *os.File
	mu   sync.Mutex
	text strings.Builder
	came chan struct{} // something was printed
	end  chan error
}

// inTerminal runs henge in a terminal without colours, with home as the home of its user.
func inTerminal(t *testing.T, home string, args ...string) *terminal {
	t.Helper()
	return inColours(t, home, "NO_COLOR=1", args...)
}

// inColours runs henge in a terminal with one more variable in its environment.
func inColours(t *testing.T, home, variable string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(henge, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "TERM=xterm", "PAGER=", "HENGE_PAGER=", variable)
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 160})
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, file: file, came: make(chan struct{}, 1), end: make(chan error, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := file.Read(buf)
			x.mu.Lock()
			x.text.Write(buf[:n])
			x.mu.Unlock()
			for range strings.Count(string(buf[:n]), "\x1b[6n") { // where is the cursor?
				_, _ = io.WriteString(file, "\x1b[1;1R")
			}
			select {
			case x.came <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { x.end <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = file.Close()
		<-read
	})
	return x
}

// types sends keys.
func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.file, keys); err != nil {
		x.t.Fatal(err)
	}
}

// shows waits until a text was printed behind what shows waited for before.
func (x *terminal) shows(want string) {
	x.t.Helper()
	late := time.After(patience)
	for {
		x.mu.Lock()
		text := x.text.String()
		if _, rest, found := strings.Cut(text, want); found {
			x.text.Reset()
			x.text.WriteString(rest)
			x.mu.Unlock()
			return
		}
		x.mu.Unlock()
		select {
		case <-x.came:
		case <-late:
			x.t.Fatalf("the terminal does not show %q:\n%s", want, text)
		}
	}
}

// ends waits for the end of the program.
func (x *terminal) ends() {
	x.t.Helper()
	select {
	case err := <-x.end:
		if err != nil {
			x.t.Errorf("henge ended with %v", err)
		}
	case <-time.After(patience):
		x.t.Fatal("henge did not end")
	}
}

// slow is a query that takes longer than any test waits: 27,000,000,000 rows.
const slow = "SELECT SUM(LENGTH(a.x || b.x || c.x)) FROM (SELECT x FROM UNNEST(STRING_TO_ARRAY(REPEAT('1,', 3000), ',')) AS u(x)) a " +
	"CROSS JOIN (SELECT x FROM UNNEST(STRING_TO_ARRAY(REPEAT('1,', 3000), ',')) AS u(x)) b " +
	"CROSS JOIN (SELECT x FROM UNNEST(STRING_TO_ARRAY(REPEAT('1,', 3000), ',')) AS u(x)) c"

// runs waits until the server runs n queries of the prompt.
func runs(t *testing.T, p *process, n json.Number) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		rows, err := p.Query(t.Context(), "SELECT COUNT(*) FROM sys.queries WHERE state = 'RUNNING' AND id LIKE 'henge-sql-%'")
		if err == nil && rows[0][0] == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not run %s queries: %v, %v", n, rows, err)
		}
		if err := clock.System().Sleep(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPrompt runs the prompt in terminals, all at one server.
func TestPrompt(t *testing.T) {
	p := serve(t, t.TempDir())
	load := small("REPLACE INTO animals OVERWRITE ALL", "a cat")
	if err := p.Ingest(t.Context(), load, map[string]any{"waitUntilSegmentsLoad": true}); err != nil {
		t.Fatal(err)
	}
	for name, story := range map[string]func(*testing.T, *process){
		"lines": promptLines, "copy": promptCopies, "pages": promptPages, "page of docs": promptPageExamples, "top": topInATerminal,
	} {
		t.Run(name, func(t *testing.T) { story(t, p) })
	}
}

// promptLines types statements over several lines, completes, cancels, watches and looks back.
func promptLines(t *testing.T, p *process) {
	home := t.TempDir()
	x := inTerminal(t, home, "sql", "--server", p.Addresses["router"])
	x.shows(`\? lists the commands`)
	x.shows("henge> ")
	x.types("SELECT v\r")
	x.shows("   ... ")
	x.types("FROM ani\tx;\r") // Tab completes the name; the x makes it a wrong one
	x.shows("animalsx")
	x.shows("Error: ")
	x.shows("henge> ")
	x.types("SELECT v FROM ani\t;\r")
	x.shows("a cat")
	x.shows("henge> ")
	x.types("\x03")
	x.shows("quits.")

	x.types(slow + ";\r")
	runs(t, p, "1")
	x.types("\x03")
	x.shows("Canceled.")
	x.shows("henge> ")
	runs(t, p, "0")
	x.types("SELECT v || ' sat' FROM animals;\r")
	x.shows("a cat sat")
	x.types("\\watch 0.1\r")
	x.shows("a cat sat")
	x.shows("a cat sat")
	x.types("\x03")
	x.shows("henge> ")
	x.types("\\q\r")
	x.ends()

	// The next session knows what was typed in the one before.
	x = inTerminal(t, home, "sql", "--server", p.Addresses["router"])
	x.shows("henge> ")
	x.types("\x1b[A\x1b[A\x1b[A\r") // three lines up: \q, \watch, the statement
	x.shows("a cat sat")
	x.shows("henge> ")
	x.types("\x04")
	x.ends()
}

// promptCopies loads a file of this machine, and writes an answer to one.
func promptCopies(t *testing.T, p *process) {
	dir := t.TempDir()
	rows := filepath.Join(dir, "rows.csv")
	write(t, rows, "t,v,n\n2024-01-01T00:00:00Z,it's,1\n2024-01-02T00:00:00Z,,2\n")
	write(t, filepath.Join(dir, "bad.csv"), "t,v\n2024-01-01,x\n2024-01-02,y,z\n")
	write(t, filepath.Join(dir, "plain.ndjson"), "{\"a\":1}\n{\"a\":2}\n")
	x := inTerminal(t, t.TempDir(), "sql", "--server", p.Addresses["router"])
	x.shows("henge> ")
	for command, want := range map[string]string{
		"from '" + rows + "'":                           "2 rows in ",
		"FROM '" + filepath.Join(dir, "bad.csv") + "'":  "record 2: [z]",
		"FROM '" + filepath.Join(dir, "none.csv") + "'": "no such file",
	} {
		x.types("\\copy copied " + command + "\r")
		x.shows(want)
		x.shows("henge> ")
	}
	x.types("\\copy copied FROM '" + rows + "'\r")
	x.shows("already")
	x.shows("\\copy .. append adds")
	x.types("\\copy copied FROM '" + rows + "' append\r")
	x.shows("2 rows in ")
	x.types("\\copy copied FROM '" + rows + "' replace\r")
	x.shows("2 rows in ")
	x.types("\\copy plain FROM " + filepath.Join(dir, "plain.ndjson") + "\r")
	x.shows("2 rows in ")
	for _, suffix := range []string{"csv", "json.gz", "parquet"} {
		file := filepath.Join(dir, "out."+suffix)
		x.types("\\copy (SELECT v, n FROM copied ORDER BY n) TO '" + file + "'\r")
		x.shows("2 rows to ")
		r := tool(t, "", "sql", "--format", "csv", "-q", "SELECT * FROM '"+file+"'")
		if r.code != 0 || r.stdout != "v,n\nit's,1\n,2\n" {
			t.Errorf("%s: status %d, %q\n%s", file, r.code, r.stdout, r.stderr)
		}
	}
	x.types("\\q\r")
	x.ends()
}

// promptPages types in colours, looks at long and wide answers page by page, and draws one.
func promptPages(t *testing.T, p *process) {
	x := inColours(t, t.TempDir(), "NO_COLOR=", "sql", "--server", p.Addresses["router"])
	x.shows("henge> ")
	x.types("SELECT x AS n\r")
	x.shows("\x1b[1;34mSELECT\x1b[0m x \x1b[1;34mAS\x1b[0m n")
	x.shows("   ... ")
	x.types("FROM UNNEST(STRING_TO_ARRAY(REPEAT('1,', 3000), ',')) AS u(x);\r")
	x.shows("\x1b[32m'1,'\x1b[0m")
	x.shows("\x1b[?1049h")
	x.shows("lines 1 to 39")
	x.types(" ")
	x.shows("lines 40 to 78")
	x.types("G")
	x.shows("(end)")
	x.types("q")
	x.shows("\x1b[?1049l")
	x.shows("henge> ")
	x.types("SELECT REPEAT('ab', 100) || 'end' AS wide;\r")
	x.shows("lines 1 to 3 (end)")
	x.types("\x1b[C\x1b[C")
	x.shows("babend\r")
	x.types("q")
	x.shows("\x1b[?1049l")
	x.shows("henge> ")
	x.types("\\pager off\r")
	x.shows("The pager is off.")
	x.shows("henge> ")
	x.types("SELECT a, b FROM (VALUES ('x', 1), ('y', 2)) AS v (a, b);\r")
	x.shows("y | 2")
	x.shows("henge> ")
	x.types("\\bar\r")
	x.shows("y | 2 | " + strings.Repeat("█", 60))
	x.shows("henge> ")
	x.types("\\spark\r")
	x.shows("b | ▁█ | 1 to 2")
	x.shows("henge> ")
	x.types(slow + ";\r") // how far it is shows after a moment
	x.shows("s, ")
	x.types("\x03")
	x.shows("Canceled.")
	x.shows("henge> ")
	x.types("\\q\r")
	x.ends()
}

// A prompt without a server knows its files, cancels what reads them and leaves nothing.
func TestPromptWithoutAServer(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cities.csv"), "city,zz_since\nBiel,1275-01-01\nThun,1218-01-01\n")
	x := inTerminal(t, t.TempDir(), "sql", filepath.Join(dir, "cities.csv"))
	x.shows("Table cities: CSV, 2 rows: city VARCHAR, zz_since TIMESTAMP")
	x.shows("without a server")
	x.shows("henge> ")
	x.types("SELECT zz\t, ")
	x.types("city FROM citi\t;\r")
	x.shows("Thun")
	x.shows("henge> ")
	x.types(slow + ";\r")
	x.shows("s")
	x.types("\x03")
	x.shows("Canceled.")
	x.shows("henge> ")
	x.types("SELECT COUNT(*) || ' of them' FROM '" + filepath.Join(dir, "*.csv") + "';\r")
	x.shows("2 of them")
	x.shows("henge> ")
	x.types("\x04")
	x.ends()
}

func topInATerminal(t *testing.T, p *process) {
	at := []string{"--server", p.Addresses["router"]}
	var load struct {
		Queries, Tasks, Supervisors []any
		Memory                      struct{ UsedBytes, MaxBytes int64 }
	}
	r := tool(t, "", append([]string{"top", "--json"}, at...)...)
	if err := json.Unmarshal([]byte(r.stdout), &load); err != nil || r.code != 0 || load.Queries == nil || len(load.Queries) != 0 ||
		load.Tasks == nil || load.Supervisors == nil || load.Memory.UsedBytes == 0 || load.Memory.MaxBytes == 0 ||
		strings.Contains(r.stdout, "missing") {
		t.Errorf("status %d, %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}
	if r := tool(t, "", append([]string{"top", "--once"}, at...)...); r.code != 0 || !strings.Contains(r.stdout, "0 queries\n") {
		t.Errorf("status %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	for want, args := range map[string][]string{
		"Interval [0]": {"--interval", "0"}, "no server responds": {"--once", "--server", "localhost:1"},
	} {
		if r := tool(t, "", append([]string{"top"}, args...)...); r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("henge top %q: status %d, %s", args, r.code, r.stderr)
		}
	}
	asks := inTerminal(t, t.TempDir(), append([]string{"sql", "-q", slow}, at...)...)
	runs(t, p, "1")
	x := inTerminal(t, t.TempDir(), append([]string{"top", "--interval", "0.1"}, at...)...)
	x.shows("1 query")
	x.shows("SELECT SUM(LENGTH(")
	x.types("7\r")
	x.shows("No query has number [7].")
	x.types("1\r")
	x.shows("Query 1 was canceled.")
	asks.shows("Error: ")
	x.shows("0 queries")
	x.types("q\r")
	x.ends()
}
