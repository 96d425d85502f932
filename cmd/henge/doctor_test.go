package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/config"
)

// reportFiles reads the files of a report.
func reportFiles(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for files := tar.NewReader(packed); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimPrefix(head.Name, "henge-doctor/")] = string(text)
	}
}

// planted returns settings that each have a secret in them, in every form that the kind of the
// setting has, and which secrets these are.
func planted() (settings []string, secrets []string) {
	list := append(append([]config.Property{}, config.Properties...), config.Accepted...)
	for i, p := range list {
		key := strings.ReplaceAll(p.Key, "<name>", "mine")
		word := fmt.Sprintf("planted%dsecret", i)
		value := ""
		switch {
		case p.Secret && p.Kind == config.JSON:
			value = `{"x":"` + word + `"}`
		case p.Secret:
			value = word
		case p.Kind == config.Text:
			value = "https://ann:" + word + "@h.example/?password=" + word
		case p.Kind == config.List:
			value = `["https://ann:` + word + `@h.example/"]`
		case p.Kind == config.JSON:
			value = `{"password":"` + word + `","url":"https://ann:` + word + `@h.example/"}`
		default:
			continue // a number, a time or a truth value has no room for one
		}
		if key == "service.data.dir" || key == "service.api.aliases" || key == "service.segmentCache.locations" {
			continue // these are used before anything else is
		}
		settings, secrets = append(settings, key+"="+value), append(secrets, word)
	}
	return settings, secrets
}

// However many secrets the settings have, a report has none: with a server and without one, in the
// archive and on the terminal.
func TestReportsHaveNoSecrets(t *testing.T) {
	settings, secrets := planted()
	if len(settings) < 100 {
		t.Fatalf("only %d settings have a secret", len(settings))
	}
	seen := regexp.MustCompile(`planted\d+secret`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/service/v2/sql" {
			fmt.Fprintf(w, "{\"version\":\"1\",\"told\":%q}\n", strings.Join(secrets, " ")) // whatever it gives away
			return
		}
		_ = json.NewEncoder(w).Encode([][]any{{"error_msg", "labels"}, {secrets[0], secrets[1]}}) // it is read or not
	}))
	defer server.Close()
	// A value that is no good is told of, too: of one file all are read.
	dir := t.TempDir()
	for name, of := range map[string][]string{"all": settings, "wrong": append([]string{"service.nothing=1"}, settings...)} {
		file := filepath.Join(dir, name+".properties")
		if err := os.WriteFile(file, []byte(strings.Join(of, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		log := filepath.Join(dir, "log")
		text := "level=INFO msg=x error=" + secrets[2] + "\n" + `{"msg":"y","error":"` + strings.Join(secrets, " ") + `"}` + "\n"
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{server.URL, "http://127.0.0.1:1"} {
			if name == "wrong" && address == server.URL {
				continue // the server of this test gives away what only settings that can be read make known
			}
			for _, more := range [][]string{{}, {"--with-statements"}} {
				output := filepath.Join(dir, "report.tar.gz")
				args := append([]string{
					"doctor", "--data", filepath.Join(dir, "none"), "--config", file, "--server", address, "--output", output,
				}, more...)
				if name == "all" {
					args = append(args, "--log", log)
				}
				out, errs, err := inProcess(t, "", args...)
				if err != nil {
					t.Fatal(err)
				}
				parts := reportFiles(t, output)
				if name == "all" && strings.Count(parts["settings.properties"], "because it is secret") < 20 ||
					name == "all" && strings.Count(parts["settings.properties"], "********") < 100 {
					t.Errorf("the settings were not read: %s", parts["settings.properties"])
				}
				for part, text := range parts {
					if found := seen.FindString(text); found != "" {
						at := strings.Index(text, found)
						t.Errorf("%s, %s: [%s] of %s is in %s: ...%s...", name, address, found, settingOf(settings, found), part,
							text[max(0, at-60):at+20])
					}
				}
				if found := seen.FindString(out + errs); found != "" {
					t.Errorf("%s, %s: [%s] of %s is printed", name, address, found, settingOf(settings, found))
				}
				if err := os.Remove(output); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func settingOf(settings []string, word string) string {
	for _, s := range settings {
		if strings.Contains(s, word) {
			return s
		}
	}
	return ""
}

// A report of a server has what it should, and neither statements nor values of rows.
func TestReportOfAServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Query string }
		switch r.URL.Path {
		case "/service/v2/sql":
			_ = json.NewDecoder(r.Body).Decode(&q) // it is ours
			rows := [][]any{{"n"}, {1}}
			switch {
			case strings.Contains(q.Query, "sys.servers"):
				_, port, _ := strings.Cut(strings.TrimPrefix(r.Host, "http://"), ":")
				rows = [][]any{
					{"server", "host", "plaintext_port", "tls_port", "server_type"}, {r.Host, "127.0.0.1", port, -1, "router"},
					{"x", "127.0.0.1", 1, -1, "broker"},
				}
			case strings.Contains(q.Query, "sys.tasks"):
				rows = [][]any{{"task_id", "error_msg"}, {"t1", "Unable to parse row [{\"name\":\"Alice\"}] (Line: 2)\nAlice again"}}
			case strings.Contains(q.Query, "sys.queries") && strings.Contains(q.Query, "info"):
				rows = [][]any{{"id", "info", "error_msg"}, {"q1", "SELECT 'Alice'", "Value 'Alice' is wrong"}}
			case strings.Contains(q.Query, "sys.queries"):
				rows = [][]any{{"id", "error_msg"}, {"q1", "Value 'Alice' is wrong"}}
			case strings.Contains(q.Query, "sys.decisions"):
				http.Error(w, `{"errorMessage":"Table [Alice] is not there"}`, http.StatusForbidden)
				return
			}
			_ = json.NewEncoder(w).Encode(rows) // it is read
		case "/metrics":
			fmt.Fprintln(w, "henge_up 1")
		default:
			fmt.Fprintln(w, `{"version":"9.9","memory":{}}`)
		}
	}))
	defer server.Close()
	data := t.TempDir()
	const wiki = "segments/segments/wiki/a/"
	for name, size := range map[string]int{"metastore.db": 100, wiki + "b.segment": 2000, wiki + "c.segment": 1} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(data, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(t.TempDir())
	const log = "time=1 level=WARN msg=\"query failed\" queryId=q1 error=\"Value [Alice] is wrong\" statement=\"SELECT 'Alice'\"\n" +
		`{"level":"INFO","msg":"slow query","queryId":"q2","statement":"SELECT 'Alice'","rows":3,"error":"'Alice'"}` + "\n" +
		"panic: [Alice]\n\tmain.go:12 +0x1\n"
	for _, whole := range []bool{false, true} {
		args := []string{"doctor", "--data", data, "--server", server.URL, "--log", "-", "--output", fmt.Sprintf("%v.tar.gz", whole)}
		if whole {
			args = append(args, "--with-statements")
		}
		out, _, err := inProcess(t, log, args...)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out, "The report is in ") || !strings.Contains(out, "broker at http://127.0.0.1:1 does not respond") ||
			strings.Contains(out, "--with-statements") == whole {
			t.Errorf("printed: %s", out)
		}
		parts := reportFiles(t, args[8])
		for name, wants := range map[string][]string{
			"henge.txt": {"henge " + version, "system: "}, "settings.properties": {"service.data.dir=" + data},
			"check.txt": {"ok       data directory"},
			"disks.txt": {"bytes are free"}, "layout.txt": {"2,001          2  segments/segments/wiki", "100          1  ."},
			"server.txt": {"9.9"}, "metrics.txt": {"henge_up 1"},
			"members.txt":        {`router ` + server.URL + `: version "9.9"`, "broker http://127.0.0.1:1: no server responds"},
			"tasks.csv":          {"task_id,error_msg", "t1,", "Unable to parse row ["},
			"queries-failed.csv": {"q1,", "is wrong"}, "clock.txt": {"clocks of this machine and the server: "},
			"log.txt": {`msg="query failed" queryId=q1`, "slow query", "main.go:12"}, "found.txt": {"broker at"}, "segments.csv": {"n\n1\n"},
			"decisions.csv": {"Table ["},
		} {
			for _, want := range wants {
				if !strings.Contains(parts[name], want) {
					t.Errorf("%q is not in %s:\n%s", want, name, parts[name])
				}
			}
		}
		for _, name := range []string{"tasks.csv", "queries-failed.csv", "log.txt", "decisions.csv"} {
			if strings.Contains(parts[name], "Alice") != whole {
				t.Errorf("%s with statements %v:\n%s", name, whole, parts[name])
			}
		}
		if info, err := os.Stat(args[8]); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if _, _, err := inProcess(t, log, args...); err == nil || !strings.Contains(messageOf(err), "can't be written: file exists") {
			t.Errorf("over a report: %v", err)
		}
	}
}

// Without a server, and with settings that can't be, a report has what can be found.
func TestReportWithoutAServer(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"nothing runs": {[]string{"--output", "-"}, []string{
			"===== found.txt =====", "No server responds at http://127.0.0.1:1", "ok       metadata store", "===== layout.txt",
		}},
		"wrong settings": {[]string{"--output", "-", "--set", "service.nothing=1", "--set", "service.storage.type=tape"},
			[]string{
				"The settings can't be read: Setting [service.nothing] (command line) is unknown", "skipped: the settings can't be read",
			}},
		"a problem": {[]string{"--output", "-", "--set", "service.storage.type=tape"}, []string{"Problem: deep storage: Value [tape]"}},
		"no role":   {[]string{"rooter", "--output", "-"}, []string{"Role [rooter] is unknown"}},
	} {
		out, _, err := inProcess(t, "", append([]string{"doctor", "--data", "none", "--server", "http://127.0.0.1:1"}, c.args...)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, out)
			}
		}
	}
	if _, err := os.Stat("none"); err == nil {
		t.Error("a report made a data directory")
	}
	for args, want := range map[string]string{
		"--log nothing": "Log [nothing] can't be read: no such file", "--output no/such/file": "Report [no/such/file] can't be written",
	} {
		all := append([]string{"doctor", "--data", "none", "--server", "http://127.0.0.1:1"}, strings.Fields(args)...)
		_, _, err := inProcess(t, "", all...)
		if err == nil || !strings.Contains(messageOf(err), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
