package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

// configured writes a file of settings of clients and returns its folder.
func configured(t *testing.T, text string) string {
	t.Helper()
	for _, name := range []string{serverVariable, profileVariable, userVariable, passwordVariable, keyVariable, authorityVariable} {
		t.Setenv(name, "")
	}
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	if err := os.MkdirAll(filepath.Join(dir, "henge"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "henge", "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWrongConfigFiles(t *testing.T) {
	for text, want := range map[string]string{
		"servr = a":                         "line 1: setting [servr] is unknown; did you mean [server]?",
		"# x\n\nzzz = 1":                    "line 3: setting [zzz] is unknown; known are [server, user,",
		"server":                            "line 1: [server] is not of the form KEY = VALUE",
		"server =":                          "not of the form KEY = VALUE",
		"[a\nserver = b":                    "line 1: section [[a] is not of the form [NAME]",
		"[a]\n[b]\n[a]":                     "line 3: section [a] occurs twice",
		"password = secret":                 "line 1: a password must not be in this file; use password-file for a file",
		"token = secret":                    "use token-file for a file",
		"server = http://ana:secret@h":      "line 1: the address contains a user",
		"timing = often":                    "line 1: value [often] of [timing] is wrong",
		"user = ana\npassword-file = none":  "Password file [none] can't be read",
		"token-file = none":                 "Token file [none] can't be read",
		"cacert = none":                     "none",
		"[a]\nuser = ana":                   "", // of another profile
		"format = pdf":                      "Format [pdf] is unknown",
		"server = localhost:1\nformat = md": "Format [md] is unknown; ",
	} {
		configured(t, text)
		_, errs, err := inProcess(t, "", "sql", "-q", "SELECT 1", "--server", "localhost:8888")
		if strings.Contains(text, "-file") || strings.Contains(text, "format") {
			_, errs, err = inProcess(t, "", "sql", "-q", "SELECT 1")
		}
		if err == nil || !strings.Contains(errs+messageOf(err), want) {
			t.Errorf("%q: %v, %s, want %q", text, err, errs, want)
		}
		if strings.Contains(want, "line ") && exitOf(err, false) != exitUsage {
			t.Errorf("%q: status %d", text, exitOf(err, false))
		}
		if strings.Contains(messageOf(err), "secret") {
			t.Errorf("the secret shows: %v", err)
		}
	}
	configured(t, "[a]\n[b]\n")
	_, _, err := inProcess(t, "", "sql", "-q", "SELECT 1", "--profile", "c")
	if err == nil || !strings.Contains(err.Error(), "it has [a, b]") {
		t.Error(err)
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	_, _, err = inProcess(t, "", "sql", "-q", "SELECT 1", "--profile", "c")
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

// What is said nearer to the command goes before what is said farther away, and nobody but the
// server of the file gets its credentials.
func TestConfigFile(t *testing.T) {
	var authorization string
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("[\"a\"]\n[1]\n\n"))
	})
	here, there := httptest.NewServer(answer), httptest.NewServer(answer)
	defer here.Close()
	defer there.Close()
	const basic, other, bearer = "Basic YW5hOnNlY3JldA==", "Basic Ym9iOnNlY3JldA==", "Bearer key"
	const ana = "\nuser = ana\npassword-file = ~/password"
	for name, tc := range map[string]struct {
		config, args, env string
		authorization     string
		out               string
	}{
		"all of it": {
			config:        "url = HERE/\nuser=ana\npassword-file = ~/password\nformat = tsv\ntiming = true",
			authorization: basic, out: "a\n1\n",
		},
		"a profile": {
			config: "server = THERE\nformat = csv\n[p]\nserver = HERE" + ana + "\n[q]\nuser = bob",
			args:   "--profile p", authorization: basic, out: "a\n1\n",
		},
		"a profile of the environment": {
			config: "[p]\nserver = HERE" + ana, env: "HENGE_PROFILE=p", authorization: basic, out: "a\n-\n1\n",
		},
		"another server":  {config: "server = THERE" + ana + "\ntoken-file = ~/token\nformat = tsv", args: "--server HERE", out: "a\n1\n"},
		"an address":      {config: "server = THERE" + ana, args: "HERE", out: "a\n-\n1\n"},
		"the same server": {config: "server = HERE" + ana, args: "--server HERE/", authorization: basic, out: "a\n-\n1\n"},
		"another in the environment": {
			config: "server = THERE" + ana, env: "HENGE_URL=HERE", out: "a\n-\n1\n",
		},
		"another user": {
			config: "server = HERE\nuser = ana\npassword-file = ~/none",
			args:   "--user bob --password-file HOME/password", authorization: other, out: "a\n-\n1\n",
		},
		"a user of the environment": {
			config: "server = HERE\nuser = ana\npassword-file = ~/none",
			env:    "HENGE_USER=bob HENGE_PASSWORD=secret", authorization: other, out: "a\n-\n1\n",
		},
		"a token":                {config: "server = HERE\ntoken-file = ~/token", authorization: bearer, out: "a\n-\n1\n"},
		"a token of the command": {config: "server = HERE", args: "--token-file HOME/token", authorization: bearer, out: "a\n-\n1\n"},
		"a token of the environment": {
			config: "server = HERE\ntoken-file = ~/none",
			env:    "HENGE_API_KEY=key", authorization: bearer, out: "a\n-\n1\n",
		},
		"another format": {config: "server = HERE\nformat = tsv", args: "--format table", out: "a\n-\n1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := strings.NewReplacer("THERE", there.URL, "HERE", here.URL)
			dir := configured(t, r.Replace(tc.config))
			for file, text := range map[string]string{"password": "secret\n", "token": "key\n"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for pair := range strings.FieldsSeq(r.Replace(tc.env)) {
				key, value, _ := strings.Cut(pair, "=")
				t.Setenv(key, value)
			}
			authorization = ""
			args := append([]string{"sql", "-q", "SELECT 1"}, strings.Fields(strings.ReplaceAll(r.Replace(tc.args), "HOME", dir))...)
			out, errs, err := inProcess(t, "", args...)
			if err != nil || out != tc.out || authorization != tc.authorization {
				t.Errorf("%v, %q, %q\n%s", err, out, authorization, errs)
			}
			if strings.Contains(tc.config, "timing") && !strings.Contains(errs, "1 row in ") {
				t.Errorf("no timing: %s", errs)
			}
		})
	}
}

func TestExitStatuses(t *testing.T) {
	configured(t, "")
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer refuses.Close()
	for want, calls := range map[int][][]string{
		0:          {{"sql", "--local", "-q", "SELECT 1"}, {"sql", "--local", "-q", `\l`}},
		exitFailed: {{"sql", "--local", "-q", "SELECT x"}, {"sql", "--local", "-q", `\d none`}, {"sql", "-q", "SELECT 1 FROM 'none.csv'"}},
		exitUsage: {{"sql", "--nothing"}, {"nothing"}, {"sql", "--format", "pdf", "--local", "-q", "SELECT 1"}, {"sql", "-q", ""},
			{"sql", "none.sql"}},
		exitNoServer: {{"sql", "--server", "localhost:1", "-q", "SELECT 1"}, {"sql", "--server", "localhost:1", "-q", `\d`}},
		exitRefused:  {{"sql", "--server", refuses.URL, "-q", "SELECT 1"}},
	} {
		for _, args := range calls {
			if _, errs, err := inProcess(t, "", args...); exitOf(err, false) != want {
				t.Errorf("%q: status %d, want %d: %v\n%s", args, exitOf(err, false), want, err, errs)
			}
		}
	}
	if _, errs, err := inProcess(t, "", "sql", "--local", "--json", "-q", "SELECT 1 AS a; SELECT b"); exitOf(err, false) != exitFailed ||
		!strings.HasPrefix(errs, `{"error":{"message":"Column 'b' not found in any table (line [1], column [23])","category":"INVALID_INPUT"`) {
		t.Errorf("%v, %s", err, errs)
	}
	if _, errs, err := inProcess(t, "", "sql", "--json", "--server", "localhost:1", "-q", "SELECT 1"); !errors.Is(err, errReported) ||
		!strings.Contains(errs, `"exitStatus":3`) || strings.Count(errs, "\n") != 1 {
		t.Errorf("%v, %s", err, errs)
	}
	if exitOf(fault.Forbidden("no"), false) != exitRefused || exitOf(t.Context().Err(), true) != 0 {
		t.Error("a status is wrong")
	}
}
