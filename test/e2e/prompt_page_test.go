package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	iniBlock     = regexp.MustCompile("(?s)```ini\n(.*?)```")
	csvBlock     = regexp.MustCompile("(?s)```csv\n(.*?)```")
	// varying is what differs from run to run.
	varying = regexp.MustCompile(`Task query-[0-9a-f-]+|[0-9.]+(ns|µs|ms|s)\b|\([0-9,]+ rows/s\)|[0-9,]+ bytes`)
)

// promptPageExamples runs the examples of docs/prompt.md in their order, in one folder. Lines after
// "$ " are given to a shell, which keeps its state; lines after "> " continue them. What stands
// behind is all that they print.
func promptPageExamples(t *testing.T, p *process) {
	page, err := os.ReadFile("../../docs/prompt.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data := csvBlock.FindSubmatch(page)
	if data == nil {
		t.Fatal("docs/prompt.md has no CSV")
	}
	write(t, filepath.Join(dir, "trips.csv"), string(data[1]))
	settings := iniBlock.FindSubmatch(page)
	if settings == nil {
		t.Fatal("docs/prompt.md has no file of settings")
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "henge"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "henge", "config"), string(settings[1]))
	configured := exec.Command(henge, "sql", "--local", "--profile", "laptop", "-q", "SELECT 'so' AS form")
	configured.Env = append(os.Environ(), "XDG_CONFIG_HOME="+home)
	if out, err := configured.CombinedOutput(); err != nil || !strings.Contains(string(out), "form | so") {
		t.Errorf("the settings of docs/prompt.md: %v\n%s", err, out)
	}
	const mark = "-- next --"
	var script strings.Builder
	var commands, want []string
	for _, block := range consoleBlock.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			last := len(commands) - 1
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				commands, want = append(commands, command), append(want, "")
			} else if more, ok := strings.CutPrefix(line, "> "); ok && want[last] == "" {
				commands[last] += more
			} else {
				want[last] += line
			}
		}
	}
	for _, command := range commands {
		script.WriteString(strings.TrimSuffix(command, "\n") + "\nstatus=$?; echo '" + mark + "'; (exit $status)\n")
	}
	if len(commands) < 10 {
		t.Fatalf("docs/prompt.md has %d examples only", len(commands))
	}
	cmd := exec.Command("sh")
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, strings.NewReader("exec 2>&1\n"+script.String()), patience
	path := filepath.Dir(henge) + ":" + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "PATH="+path, "HOME="+dir, "XDG_CONFIG_HOME="+dir, "HENGE_URL="+p.Addresses["router"])
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the shell ends with %v\n%s", err, out)
	}
	got := strings.Split(string(out), mark+"\n")
	if len(got) != len(commands)+1 {
		t.Fatalf("%d commands print\n%s", len(commands), out)
	}
	for i, command := range commands {
		if diff := cmp.Diff(varying.ReplaceAllString(want[i], "…"), varying.ReplaceAllString(got[i], "…")); diff != "" {
			t.Errorf("docs/prompt.md: $ %s%s", command, diff)
		}
	}
}
