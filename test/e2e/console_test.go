package e2e

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// consoleTools returns the folder of the console's sources, with what builds and tests them, or
// skips the test.
func consoleTools(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../console")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("no Node")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "vite")); err != nil {
		t.Skip("the packages of the console are not installed: npm ci --prefix console")
	}
	return dir
}

func inConsole(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return out
}

// The files in the binary are what the sources are built into, and keep to the budgets.
func TestTheConsoleIsBuiltFromItsSources(t *testing.T) {
	dir := consoleTools(t)
	built, packed := t.TempDir(), t.TempDir()
	inConsole(t, dir, "npx", "tsc", "--noEmit")
	inConsole(t, dir, "npx", "vite", "build", "--outDir", built, "--emptyOutDir")
	inConsole(t, dir, "node", "pack.mjs", built, packed)
	want, got := filesOf(t, packed), filesOf(t, filepath.Join("..", "..", "internal", "console", "dist"))
	for name, text := range want {
		if !bytes.Equal(text, got[name]) {
			t.Errorf("internal/console/dist/%s is not what the sources give: npm run build --prefix console", name)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("internal/console/dist/%s comes from no source", name)
		}
	}
}

func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPartsOfTheConsole(t *testing.T) {
	inConsole(t, consoleTools(t), "npx", "vitest", "run")
}

// The stories of console/test in a real browser. HENGE_SHOTS names a folder that keeps the
// screenshots.
func TestTheConsoleInABrowser(t *testing.T) {
	dir, browser := consoleTools(t), chromium(t)
	p := serve(t, t.TempDir())
	folder := t.TempDir()
	secure := serve(t, folder, "--secure", "--set", "service.audit.enabled=true")
	passwordFile := filepath.Join(folder, "security", "admin-password")
	password, err := os.ReadFile(passwordFile)
	if err != nil {
		t.Fatal(err)
	}
	events := tool(t, "", "sample", "--rows", "20000")
	admin := []string{"--cacert", filepath.Join(folder, "security", "server.crt"), "--user", "admin", "--password-file", passwordFile}
	for url, login := range map[string][]string{p.Addresses["router"]: nil, secure.Addresses["router"]: admin} {
		args := append([]string{"ingest", "-", "--into", "events", "--server", url}, login...)
		if r := tool(t, events.stdout, args...); r.code != 0 {
			t.Fatalf("loading: %s%s", r.stdout, r.stderr)
		}
	}
	shots := tell(t, dir, p, 34, "", "HENGE_CHROMIUM="+browser, "HENGE_SECURE="+secure.Addresses["router"],
		"HENGE_SECURE_PASSWORD="+strings.TrimSpace(string(password)), "HENGE_PARQUET="+parquetFile(t))
	pagePictures(t, shots)
}

// chromium returns the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	if browser := os.Getenv("HENGE_CHROMIUM"); browser != "" {
		return browser
	}
	for _, name := range []string{"chromium", "chromium-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium")
	return ""
}

// tell runs the stories whose names have a text, which are at least so many. It returns the folder
// of the screenshots.
func tell(t *testing.T, dir string, p *process, least int, only string, environment ...string) (shots string) {
	t.Helper()
	shots = os.Getenv("HENGE_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	arguments := []string{"test/stories.mjs", p.Addresses["router"], shots}
	if only != "" {
		arguments = append(arguments, only)
	}
	cmd := exec.CommandContext(t.Context(), "node", arguments...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), environment...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	failed := cmd.Run()
	stories := 0
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		line := lines.Text()
		name, ok := strings.CutPrefix(line, "ok   ")
		switch {
		case ok:
			stories++
			t.Log(name)
		case strings.HasPrefix(line, "     "): // what a story tells of itself
			t.Log(strings.TrimSpace(line))
		default:
			t.Error(line)
		}
	}
	if failed != nil || stories < least {
		t.Errorf("%d stories went well: %v\n%s", stories, failed, problems.String())
	}
	return shots
}

// pagePictures sees that every picture of docs/console.md is there, and that it is one that the
// stories take. With -rewrite-docs they are those of this run.
func pagePictures(t *testing.T, shots string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`\]\((pictures/([^)]+\.png))\)`).FindAllStringSubmatch(string(page), -1)
	if len(found) < 4 {
		t.Errorf("docs/console.md has [%d] pictures", len(found))
	}
	for _, m := range found {
		taken, err := os.ReadFile(filepath.Join(shots, m[2]))
		if err != nil {
			t.Errorf("no story takes picture [%s] of docs/console.md", m[2])
			continue
		}
		in := filepath.Join("..", "..", "docs", m[1])
		if *rewriteDocs {
			if err := os.MkdirAll(filepath.Dir(in), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, in, string(taken))
		}
		if _, err := os.Stat(in); err != nil {
			t.Error(err)
		}
	}
}
