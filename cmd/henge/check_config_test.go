package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/testkit/postgres"
)

func TestMain(m *testing.M) {
	code := m.Run()
	postgres.Stop()
	os.Exit(code)
}

// execute runs a command of henge in this process.
func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// anyPorts are settings by which ports that others have don't matter.
func anyPorts() []string {
	var out []string
	for _, role := range []string{"router", "coordinator", "broker", "historical", "overlord", "indexer"} {
		out = append(out, "--set", "service."+role+".plaintextPort=0")
	}
	return out
}

// takenPort returns a port that is in use until the test and its parts end.
func takenPort(t *testing.T) string {
	t.Helper()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	return strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
}

// addressOfNobody returns an address on which nothing listens.
func addressOfNobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestCheckConfigNamesEveryProblem(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer")
	if err := os.Mkdir(newer, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(newer, "version"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	port, nobody := takenPort(t), addressOfNobody(t)
	postgresAt := func(url string) []string {
		return []string{"service.metadata.storage.type=postgresql", "service.metadata.storage.connector.connectURI=" + url}
	}
	for name, c := range map[string]struct {
		set  []string
		more []string
		want []string // parts of the output; none: no problem
	}{
		"nothing wrong": {},
		"a misspelt name and a wrong value": {
			[]string{"service.router.plainTextPort=1", "service.memory.limit=lots"}, nil,
			[]string{"[service.router.plainTextPort]", "did you mean [service.router.plaintextPort]", "[lots]"},
		},
		"out of range":                    {[]string{"service.processing.numThreads=-5"}, nil, []string{"[-5]", "must be between"}},
		"a data directory that is a file": {[]string{"service.data.dir=" + file}, nil, []string{"problem  data directory", "is not a folder"}},
		"a data directory of a newer release": {
			[]string{"service.data.dir=" + newer}, nil, []string{"problem  data directory", "version [99]", "newer release"},
		},
		"a folder below a file, and a taken port": {
			[]string{"service.storage.storageDirectory=" + file + "/x", "service.broker.plaintextPort=" + port}, nil,
			[]string{"problem  folders", "(service.storage.storageDirectory)", "problem  ports: Port [" + port + "]"},
		},
		"one port twice": {
			[]string{"service.broker.plaintextPort=48123", "service.router.plaintextPort=48123"}, nil, []string{"Port [48123] is in two settings"},
		},
		"a host of another machine": {
			[]string{"service.host=192.0.2.7", "service.bindOnHost=true"}, nil, []string{"problem  ports", "192.0.2.7", "service.host"},
		},
		"certificates that are not there": {
			[]string{"service.enableTlsPort=true", "service.server.https.keyStorePath=" + dir + "/none.pem"}, nil,
			[]string{"problem  TLS", "none.pem"},
		},
		"networks that are none":       {[]string{`service.ingestion.http.blockedNetworks=["x"]`}, nil, []string{"problem  networks", "[x]"}},
		"roles without a shared store": {nil, []string{"broker"}, []string{"problem  roles", "[postgresql]"}},
		"a store without an address":   {[]string{"service.metadata.storage.type=postgresql"}, nil, []string{"problem  metadata store"}},
		"a store that does not answer": {
			postgresAt("postgresql://" + nobody + "/henge"), []string{"--connect"}, []string{"problem  metadata store"},
		},
		"a store that is not asked":      {postgresAt("postgresql://" + nobody + "/henge"), nil, nil},
		"a deep storage that is unknown": {[]string{"service.storage.type=tape"}, nil, []string{"problem  deep storage", "[tape]"}},
		"a bucket without a name":        {[]string{"service.storage.type=s3"}, nil, []string{"problem  deep storage", "service.storage.bucket"}},
		"a bucket that does not answer": {
			[]string{
				"service.storage.type=s3", "service.storage.bucket=b", "service.s3.endpoint.url=http://" + nobody, "service.s3.accessKey=a",
				"service.s3.secretKey=s", "service.s3.endpoint.signingRegion=us-east-1",
			},
			[]string{"--connect"},
			[]string{"problem  deep storage"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			args := append([]string{"check-config", "--data", data}, anyPorts()...)
			if strings.Contains(strings.Join(c.set, " "), "service.data.dir=") {
				args = append([]string{"check-config"}, anyPorts()...)
			}
			for _, s := range c.set {
				args = append(args, "--set", s)
			}
			out, err := execute(t, append(args, c.more...)...)
			if failed := errors.Is(err, errReported); failed != (len(c.want) > 0) {
				t.Errorf("check-config = %v\n%s", err, out)
			}
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("no %q in\n%s", w, out)
				}
			}
			if _, err := os.Stat(data); err == nil {
				t.Error("it made a data directory")
			}
		})
	}
}

func TestCheckConfigKnowsARunningServerAndOpenDoors(t *testing.T) {
	data := t.TempDir()
	lock, err := os.Create(filepath.Join(data, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.WriteString("4711\n"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, err := execute(t, "check-config", "--data", data, "--set", "service.host=localhost")
	if err != nil || !strings.Contains(out, "warning  data directory") || !strings.Contains(out, "process 4711") ||
		!strings.Contains(out, "warning  access: Authentication is off") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCheckConfigConnects(t *testing.T) {
	url := postgres.URL(t)
	out, err := execute(t, append([]string{
		"check-config", "historical", "--connect", "--data", filepath.Join(t.TempDir(), "data"),
		"--set", "service.metadata.storage.type=postgresql", "--set", "service.metadata.storage.connector.connectURI=" + url,
	}, anyPorts()...)...)
	if err != nil || !strings.Contains(out, "which the first start fills") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestListSettingsShowsWhatFilesSay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.properties")
	text := "service.router.plaintextPort=1234\nservice.s3.secretKey=hush\nservice.query.scheduler.limits.users.ann=7\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := execute(t, "server", "--list-settings", "--config", file, "--set", "service.host=h")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nservice.router.plaintextPort=1234\n", "set by file " + file + ", default 8888)", "\nservice.host=h\n", "; set by command line)",
		"\nservice.s3.secretKey=\n", "not shown)", "\nservice.query.scheduler.limits.users.ann=7\n", "\nservice.broker.plaintextPort=8082\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the list", want)
		}
	}
	if strings.Contains(out, "hush") {
		t.Error("the list shows a secret")
	}
	if _, err := execute(t, "server", "--list-settings", "--config", file, "--set", "service.nosuch=1"); err == nil {
		t.Error("a name that is unknown is accepted")
	}
}

// What the sample files have commented out can be used as it stands, and their defaults are true.
func TestSampleFilesAreValid(t *testing.T) {
	for _, name := range []string{"henge.properties", "cluster.properties"} {
		text, err := os.ReadFile("../../deploy/config/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all := regexp.MustCompile(`(?m)^#(service\.)`).ReplaceAll(text, []byte("$1"))
		for what, content := range map[string][]byte{"as it stands": text, "without comments": all} {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := execute(t, "server", "--list-settings", "--config", file)
			if err != nil {
				t.Errorf("%s %s: %v", name, what, err)
			}
			if what == "as it stands" && name == "henge.properties" && strings.Contains(out, "set by file") {
				t.Error("henge.properties sets something, before anybody has chosen it")
			}
		}
	}
}

func TestManPageNamesEveryCommand(t *testing.T) {
	page, err := execute(t, "man")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".TH HENGE 1", ".SS henge server [role ...]", ".SS henge check", `\fB\-\-list\-settings\fR`, ".SH FILES"} {
		if !strings.Contains(page, strings.ReplaceAll(want, "check-", `check\-`)) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, c := range command().Commands() {
		if c.IsAvailableCommand() && !strings.Contains(page, ".SS henge "+roff(c.Name())) {
			t.Errorf("the page does not have command [%s]", c.Name())
		}
	}
	if _, err := exec.LookPath("man"); err != nil {
		return // the rest needs the program that shows it
	}
	file := filepath.Join(t.TempDir(), "henge.1")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("man", "--warnings", "-l", file)
	cmd.Env = append(os.Environ(), "MANWIDTH=100", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning:") {
		t.Errorf("man: %v\n%s", err, fmt.Sprintf("%.2000s", out))
	}
}
