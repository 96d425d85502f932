package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// run runs the program with some arguments against a server, and returns what it prints.
func runAgainst(t *testing.T, url string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetIn(strings.NewReader(""))
	cmd.SetArgs(append(args, "--server", url))
	err = cmd.ExecuteContext(context.WithoutCancel(t.Context()))
	return out.String(), errOut.String(), err
}

func TestKeyCommands(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Header.Get("Authorization")+" "+r.Method+" "+r.URL.Path+" "+string(body))
		switch r.Method {
		case http.MethodGet:
			_ = json.NewEncoder(w).Encode([]map[string]any{
				{"id": "a1", "description": "nightly\tload", "roles": []string{"r", "s"}, "created": "2026-01-01", "createdBy": "ann"},
				{"id": "b2", "roles": []string{"r"}, "networks": []string{"10.0.0.0/8"},
					"expires": "2026-02-01", "expired": true, "lastUsed": "2026-01-02"},
			})
		case http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		default:
			_ = json.NewEncoder(w).Encode(map[string]any{"id": "a1", "key": "hg_a1_secret", "roles": []string{"r"}})
		}
	}))
	defer s.Close()
	t.Setenv(keyVariable, "hg_mine_x")
	for _, test := range []struct {
		args              []string
		ask, out, problem string
	}{
		{
			[]string{"create", "--role", "r", "--role", "s", "--network", "10.0.0.0/8", "--lifetime", "P1D"},
			`Bearer hg_mine_x POST /service-ext/access/keys {"lifetime":"P1D","networks":["10.0.0.0/8"],"roles":["r","s"]}`, "hg_a1_secret\n", "",
		},
		{
			[]string{"rotate", "a1", "--overlap", "PT1H"},
			`Bearer hg_mine_x POST /service-ext/access/keys/a1/rotate {"overlap":"PT1H"}`, "hg_a1_secret\n", "",
		},
		{[]string{"rotate", "hg_a1_secret"}, `Bearer hg_mine_x POST /service-ext/access/keys/a1/rotate {}`, "hg_a1_secret\n", ""},
		{[]string{"revoke", "hg_a1"}, `Bearer hg_mine_x DELETE /service-ext/access/keys/a1 `, "", ""},
		{[]string{"list"}, `Bearer hg_mine_x GET /service-ext/access/keys `, "2026-02-01 (expired)", ""},
		{[]string{"list", "--format", "json"}, `Bearer hg_mine_x GET /service-ext/access/keys `, `"createdBy":"ann"`, ""},
		{[]string{"list", "--format", "csv"}, "", "", "[csv]"}, {[]string{"create"}, "", "", "--role"},
		{[]string{"revoke"}, "", "", "The id of the key is missing"},
		{[]string{"create", "--role", "r", "--lifetime", "P1D", "--expires", "2030-01-01"}, "", "",
			"Give either --expires or --lifetime, not both"},
	} {
		asked = nil
		out, _, err := runAgainst(t, s.URL, append([]string{"key"}, test.args...)...)
		if (err != nil) != (test.problem != "") || err != nil && !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%v: %v, want %q", test.args, err, test.problem)
		}
		if got := strings.Join(asked, "\n"); got != test.ask {
			t.Errorf("%v: asked\n%s\nwant\n%s", test.args, got, test.ask)
		}
		if !strings.Contains(out, test.out) {
			t.Errorf("%v: printed\n%s\nwant %q in it", test.args, out, test.out)
		}
	}
}

func TestTokensGoToTheServerOnly(t *testing.T) {
	var seen []string
	note := func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "[]")
	}
	other := httptest.NewServer(http.HandlerFunc(note))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
			return
		}
		note(w, r)
	}))
	defer s.Close()
	t.Setenv(keyVariable, "hg_mine_x")
	c := newClient(s.URL)
	for _, path := range []string{"/here", "/away"} {
		if err := c.call(t.Context(), http.MethodGet, path, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 2 || seen[0] != "Bearer hg_mine_x" || seen[1] != "" {
		t.Errorf("sent %q", seen)
	}
}
