package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergochat/readline"
	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
)

// typist is a user who types lines; "^C" is Ctrl-C.
type typist struct {
	lines   []string
	prompts []string
	history []string
}

func (u *typist) ReadLine() (string, error) {
	if len(u.lines) == 0 {
		return "", io.EOF
	}
	line := u.lines[0]
	u.lines = u.lines[1:]
	if line == "^C" {
		return "", readline.ErrInterrupt
	}
	return line, nil
}

func (u *typist) SetPrompt(text string) { u.prompts = append(u.prompts, text) }

func (u *typist) SaveToHistory(text string) error {
	u.history = append(u.history, text)
	return nil
}

// echoed is a prompt at a server that answers each query with its text, and the queries it got.
func echoed(t *testing.T, lines ...string) (p *prompt, user *typist, out, errs *strings.Builder, asked *[]sqlRequest) {
	t.Helper()
	asked = &[]sqlRequest{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q sqlRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		*asked = append(*asked, q)
		text, _ := json.Marshal(q.Query)
		_, _ = io.WriteString(w, "[\"query\"]\n["+string(text)+"]\n\n")
	}))
	t.Cleanup(server.Close)
	out, errs, user = &strings.Builder{}, &strings.Builder{}, &typist{lines: lines}
	p = &prompt{
		session: &session{client: newClient(server.URL), format: "tsv", out: out, err: errs, clock: clock.System()},
		line:    user, typed: func() string { return "" },
	}
	return p, user, out, errs, asked
}

func TestPromptCollectsLines(t *testing.T) {
	p, user, out, errs, asked := echoed(t, "SELECT 1,", "  2;", "", "SELECT 'a", "b", "^C", "SELECT 3; SELECT 4;", `\q`, "SELECT 5;")
	if err := p.loop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, q := range *asked {
		queries = append(queries, q.Query)
	}
	if diff := cmp.Diff([]string{"SELECT 1,\n  2", "SELECT 3", "SELECT 4"}, queries); diff != "" {
		t.Error(diff)
	}
	prompts := []string{morePrompt, firstPrompt, firstPrompt, morePrompt, morePrompt, firstPrompt, firstPrompt}
	if diff := cmp.Diff(prompts, user.prompts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"SELECT 1, 2;", "SELECT 3; SELECT 4;", `\q`}, user.history); diff != "" {
		t.Error(diff)
	}
	if errs.String() != "" || !strings.Contains(out.String(), `SELECT 1,\n  2`) {
		t.Errorf("%q, %q", out.String(), errs.String())
	}
}

func TestCtrlCAtAnEmptyPromptTellsHowToLeave(t *testing.T) {
	p, _, _, errs, _ := echoed(t, "^C", "SELECT", "^C")
	if err := p.loop(t.Context()); err != nil || strings.Count(errs.String(), "quits") != 1 {
		t.Errorf("%v, %q", err, errs.String())
	}
}

func TestPromptCommands(t *testing.T) {
	dir := t.TempDir()
	answers, script := filepath.Join(dir, "answers"), filepath.Join(dir, "script.sql")
	self := filepath.Join(dir, "self.sql")
	for name, text := range map[string]string{script: "SELECT\n 'x\n\\q';\n\\timing on\nSELECT 8", self: `\i ` + self + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		lines            []string
		out, errs, saved string
	}{
		"mistyped":      {[]string{`\timimg`}, "", `did you mean [\timing]`, ""},
		"unknown":       {[]string{`\nothing`}, "", `\? lists all`, ""},
		"too much":      {[]string{`\q now`, "SELECT 1;"}, "SELECT 1", "has no arguments", ""},
		"help":          {[]string{`\?`}, `\watch [SECONDS [TIMES]]`, "", ""},
		"format":        {[]string{`\f markdown`, "SELECT 1;"}, "| SELECT 1 |", "", ""},
		"wrong format":  {[]string{`\f pdf`}, "", "[pdf] is unknown", ""},
		"vertical":      {[]string{`\x`, "SELECT 1;", `\x`, "SELECT 2;"}, "query | SELECT 1\nquery\nSELECT 2", "output format is tsv", ""},
		"wrong switch":  {[]string{`\x perhaps`, `\timing 3`}, "", "must be on or off", ""},
		"timing":        {[]string{`\timing on`, "SELECT 1;"}, "SELECT 1", "1 row in ", ""},
		"set":           {[]string{`\set timeout 500`, `\set priority "7"`, `\set`}, "priority = \"7\"\ntimeout = 500\n", "", ""},
		"set wrongly":   {[]string{`\set timeout soon`, `\set timeout`}, "", "needs a value", ""},
		"set unknown":   {[]string{`\set tiemout 1`}, "", "did you mean [timeout]", ""},
		"unset":         {[]string{`\set timeout 1`, `\unset timeout`, `\set`, `\unset timeout`}, "", "is not set", ""},
		"watch":         {[]string{"SELECT 1;", `\watch 0.1 3`}, strings.Repeat("query\nSELECT 1\n", 4), "every 0.1s", ""},
		"watch nothing": {[]string{`\watch`}, "", "no statement to watch", ""},
		"watch wrongly": {
			[]string{"SELECT 1;", `\watch 0`, `\watch NaN`, `\watch 1 0`, `\watch 1 2 3`}, "query\nSELECT 1\n", "but is [2 3]", "",
		},
		"file":             {[]string{`\i ` + script}, "query\nSELECT\\n 'x\\n\\\\q'\nquery\nSELECT 8\n", "1 row in", ""},
		"file of itself":   {[]string{`\i ` + self}, "", "does one include itself?", ""},
		"missing file":     {[]string{`\i ` + filepath.Join(dir, "none"), `\i`}, "", "needs a file", ""},
		"output":           {[]string{`\o ` + answers, "SELECT 1;", `\o`, "SELECT 2;"}, "query\nSELECT 2\n", "", "query\nSELECT 1\n"},
		"output nowhere":   {[]string{`\o ` + dir, "SELECT 2;"}, "SELECT 2", "can't be written", ""},
		"output at an end": {[]string{`\o ` + answers, "SELECT 3;"}, "", "", "query\nSELECT 3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, out, errs, _ := echoed(t, tc.lines...)
			if err := p.loop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tc.out) || tc.out == "" && out.String() != "" {
				t.Errorf("%q, want %q", out.String(), tc.out)
			}
			if !strings.Contains(errs.String(), tc.errs) || tc.errs == "" && errs.String() != "" {
				t.Errorf("errors: %q, want %q", errs.String(), tc.errs)
			}
			if text, err := os.ReadFile(answers); tc.saved != "" && (err != nil || string(text) != tc.saved) {
				t.Errorf("the file holds %q, %v", text, err)
			}
		})
	}
}

func TestContextOfThePrompt(t *testing.T) {
	p, _, _, _, asked := echoed(t, `\set timeout 500`, "SELECT 1;", `\unset timeout`, "SELECT 2;")
	if err := p.loop(t.Context()); err != nil || len(*asked) != 2 {
		t.Fatal(err, *asked)
	}
	first, second := (*asked)[0].Context, (*asked)[1].Context
	if first["timeout"] != 500.0 || second["timeout"] != nil || first["sqlQueryId"] == second["sqlQueryId"] {
		t.Errorf("%v, %v", first, second)
	}
}

func TestEdit(t *testing.T) {
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/1/2/' \"$1\"\n"), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	t.Setenv("VISUAL", editor)
	p, _, _, errs, asked := echoed(t, "SELECT 1;", `\e`)
	if err := p.loop(t.Context()); err != nil || len(*asked) != 2 || (*asked)[1].Query != "SELECT 2" {
		t.Errorf("%v, %v, %s", err, *asked, errs)
	}
	t.Setenv("VISUAL", filepath.Join(t.TempDir(), "none"))
	p, _, _, errs, _ = echoed(t, `\e`)
	if err := p.loop(t.Context()); err != nil || !strings.Contains(errs.String(), "$EDITOR names another") {
		t.Errorf("%v, %s", err, errs)
	}
}

// A query that is interrupted ends on the server, too, and the prompt stays.
func TestInterruptedQueries(t *testing.T) {
	canceled, id := make(chan string, 1), make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			canceled <- strings.TrimPrefix(r.URL.Path, "/service/v2/sql/")
			w.WriteHeader(http.StatusAccepted)
			return
		}
		var q sqlRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		id <- q.Context["sqlQueryId"].(string)
		<-r.Context().Done()
	}))
	defer server.Close()
	var out, errs strings.Builder
	p := &prompt{session: &session{client: newClient(server.URL), format: "table", out: &out, err: &errs, clock: clock.System()}}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.feed(ctx, "SELECT 1;") }()
	asked := <-id
	interrupt()
	if err := <-ended; !errors.Is(err, errReported) || errs.String() != "Canceled.\n" {
		t.Errorf("%v, %q", err, errs.String())
	}
	if got := <-canceled; got != asked {
		t.Errorf("query %s was canceled, not %s", got, asked)
	}
}

func TestSplitName(t *testing.T) {
	for in, want := range map[string][2]string{
		"t": {"", "t"}, "sys.t": {"sys", "t"}, `"a.b"`: {"", "a.b"},
		`s."a""b.c"`: {"s", `a"b.c`}, "a.b.c": {"a", "b.c"}, `"s".t`: {"s", "t"}, "": {},
	} {
		if schema, table := splitName(in); schema != want[0] || table != want[1] {
			t.Errorf("%q: %q, %q", in, schema, table)
		}
	}
}

func TestCompletion(t *testing.T) {
	names := &catalog{clock: clock.System(), functions: []string{"COUNT", "COALESCE"}}
	names.learn([][]string{
		{"service", "events", "__time"}, {"service", "events", "country"}, {"service", "events", "order"}, {"service", "web pages", "url"},
		{"sys", "tasks", "task_id"}, {"lookup", "names", "k"},
	})
	for _, tc := range []struct {
		before, line, after string
		want                []string // what is put in
	}{
		{"", "SELECT cou", "", []string{"ntry", "nt("}},
		{"", "SELECT COU", "", []string{"NT("}},
		{"", "whe", "", []string{"re ", "n "}},
		{"", "SELECT * FROM ev", "", []string{"ents"}},
		{"", "SELECT * FROM ", "", []string{`"web pages"`, "INFORMATION_SCHEMA.", "events", "lookup.", "names", "service.", "sys."}},
		{"", `SELECT * FROM "w`, "", []string{`eb pages"`}},
		{"", "SELECT * FROM sys.", "", []string{"tasks"}},
		{"SELECT *\nFROM events\n", "WHERE ", "", []string{`"order"`, "__time", "country"}},
		{"", "SELECT c", " FROM tasks", []string{"ase ", "ast ", "lustered ", "oalesce(", "ount(", "ross ", "urrent_timestamp "}},
		{"", "SELECT tas", " FROM sys.tasks", []string{"k_id"}},
		{"", "SELECT e.co", " FROM events e", []string{"untry"}},
		{"", "SELECT events.", "", []string{`"order"`, "__time", "country"}},
		{"", "SELECT 'cou", "", nil},
		{"", "SELECT 'it''s' || cou", "", []string{"nt(", "ntry"}},
		{"", `\ti`, "", []string{"ming"}},
		{"", `\d ev`, "", []string{"ents"}},
		{"", `\df coa`, "", []string{"lesce"}},
		{"", `\f mark`, "", []string{"down"}},
		{"", `\set sqlQ`, "", []string{"ueryId"}},
		{"", `\i x`, "", nil},
		{"", "SELECT zzz", "", nil},
		{"", "ü", "", nil},
	} {
		names.tables["INFORMATION_SCHEMA"] = nil
		c := &completer{names: names, before: func() string { return tc.before }}
		list, _ := c.Do([]rune(tc.line+tc.after), len([]rune(tc.line)))
		var got []string
		for _, s := range list {
			got = append(got, string(s))
		}
		slices.Sort(got)
		slices.Sort(tc.want)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q | %q: %s", tc.before+tc.line, tc.after, diff)
		}
	}
}
