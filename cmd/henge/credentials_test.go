package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/secret"
)

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "from: file \r\nmore")
	const server = "http://h:1"
	for name, tt := range map[string]struct {
		login                   login
		environment             [2]string
		user, password, refusal string
		warned                  bool
	}{
		"nothing":          {login: login{server: server}},
		"file":             {login: login{server: server, user: "bob", file: good}, user: "bob", password: "from: file "},
		"environment":      {login: login{server: server}, environment: [2]string{"ann", "pw"}, user: "ann", password: "pw"},
		"user wins":        {login: login{server: server, user: "bob"}, environment: [2]string{"ann", "pw"}, user: "bob", password: "pw"},
		"file wins":        {login: login{server: server, file: good}, environment: [2]string{"ann", "pw"}, user: "ann", password: "from: file "},
		"command line":     {login: login{server: server, user: "bob", password: secret.NewText("x")}, user: "bob", password: "x", warned: true},
		"address":          {login: login{server: "http://bob:x@h:1"}, user: "bob", password: "x", warned: true},
		"only a user":      {login: login{server: server, user: "bob"}, user: "bob"},
		"stray password":   {login: login{server: server}, environment: [2]string{"", "pw"}},
		"both":             {login: login{server: server, user: "bob", file: good, password: secret.NewText("x")}, refusal: "not both"},
		"no user":          {login: login{server: server, file: good}, refusal: "no user"},
		"colon":            {login: login{server: server, user: "a:b", file: good}, refusal: "colon"},
		"missing file":     {login: login{server: server, user: "bob", file: filepath.Join(dir, "x")}, refusal: "can't be read"},
		"empty first line": {login: login{server: server, user: "bob", file: file("empty", "\nx")}, refusal: "has no password"},
	} {
		t.Setenv(userVariable, tt.environment[0])
		t.Setenv(passwordVariable, tt.environment[1])
		var warnings strings.Builder
		c := newClient(tt.login.server)
		user, password, err := tt.login.credentials(c, &warnings)
		if tt.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refusal) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || user != tt.user || password.Reveal() != tt.password || (warnings.Len() > 0) != tt.warned || c.base != server {
			t.Errorf("%s: %q %q %v, warned %q, asks %s", name, user, password, err, &warnings, c.base)
		}
	}
}

// TestAServerThatWantsALogin asks with, without and with a wrong password.
func TestAServerThatWantsALogin(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		switch {
		case password != "pw":
			w.WriteHeader(http.StatusUnauthorized)
		case user != "admin":
			w.WriteHeader(http.StatusForbidden)
		default:
			_, _ = w.Write([]byte(`"yes"`)) // the client would notice
		}
	}))
	defer s.Close()
	for _, tt := range []struct{ user, password, want string }{
		{"", "", "requires a user and a password"}, {"admin", "x", "does not accept the password of user [admin]"},
		{"bob", "pw", "User [bob] does not have the permission for this (GET /x)"}, {"admin", "pw", ""},
	} {
		c := newClient(s.URL)
		c.logIn(tt.user, secret.NewText(tt.password))
		err := c.call(t.Context(), http.MethodGet, "/x?y", nil, nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", tt.user, err)
		}
	}
	c, asked := newClient(s.URL), 0
	c.ask = func() (string, secret.Text, error) { asked++; return "admin", secret.NewText("pw"), nil }
	for range 2 {
		if err := c.call(t.Context(), http.MethodPost, "/x", map[string]string{"a": "b"}, nil); err != nil || asked != 1 {
			t.Errorf("asked [%d] times, %v", asked, err)
		}
	}
}

func TestPermissionsOfTheCommandLine(t *testing.T) {
	policy, err := policyOf("a = 1", []string{"card=SUBSTRING(card, 1 = 1)"}, []string{"email"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := permissionsOf("read,WRITE", "datasource", "wiki.*", nil)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := permissionsOf("READ", "DATASOURCE", "o", policy)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range slices.Concat(list, limited) {
		got = append(got, p.text())
	}
	want := []string{
		"READ DATASOURCE wiki.*", "WRITE DATASOURCE wiki.*",
		"READ DATASOURCE o, rows: a = 1, columns: card as SUBSTRING(card, 1 = 1), email hidden",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for _, refused := range [][2]string{{"DROP", "STATE"}, {"", "STATE"}, {"READ", "TABLE"}} {
		if _, err := permissionsOf(refused[0], refused[1], "x", nil); err == nil {
			t.Errorf("%v is taken", refused)
		}
	}
	for _, masks := range [][]string{{"card"}, {"=x"}, {"card="}, {"email=x"}} {
		if _, err := policyOf("", masks, []string{"email"}); err == nil {
			t.Errorf("%v is taken", masks)
		}
	}
}
