package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rewriteDocs writes the results of the statements in docs into them: read the diff before you
// commit it.
var rewriteDocs = flag.Bool("rewrite-docs", false, "write the results of statements into docs/*.md")

var (
	// block is a fenced block with its label.
	block = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")
	// example is a statement, with the result that a block behind it shows.
	example = regexp.MustCompile("(?ms)^(<!-- not run: [^\n]* -->\n)?```sql\n(.*?)^```\n(?:```text\n(.*?)^```\n)?")
)

// labels are those of blocks, with what holds them true.
var labels = map[string]string{
	"sql":        "TestStatementsOfTheDocs runs it, and compares the result in a text block behind it",
	"json":       "TestBlocksOfTheDocs decodes it",
	"sh":         "what a page marks is run (readme_test.go, security_page_test.go), flags of the rest are looked for",
	"properties": "TestBlocksOfTheDocs looks for every setting",
	"http":       "internal/api/endpoints writes it from the description of an endpoint",
	"text":       "a drawing, a grammar or a result",
	"console":    "TestPrompt runs it and compares what it prints (prompt_page_test.go)",
	"csv":        "the data of those",
	"ini":        "TestPrompt has clients read it as their settings",
}

func pagesOfTheDocs(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(paths) < 15 {
		t.Fatalf("there are [%d] pages: %v", len(paths), err)
	}
	pages := map[string]string{}
	for _, path := range append(paths, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[path] = string(text)
	}
	return pages
}

// TestStatementsOfTheDocs runs every statement that a page shows, in the order of the page, beside
// 5,000 rows of events.
func TestStatementsOfTheDocs(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir())
	rows := tool(t, "", "sample", "--rows", "5000")
	if r := tool(t, rows.stdout, "ingest", "-", "--into", "events", "--server", p.Addresses["router"]); r.code != 0 {
		t.Fatalf("loading: %s%s", r.stdout, r.stderr)
	}
	for path, text := range pagesOfTheDocs(t) {
		name := filepath.Base(path)
		changed := example.ReplaceAllStringFunc(text, func(found string) string {
			m := example.FindStringSubmatch(found)
			if m[1] != "" {
				return found
			}
			statement, want := m[2], m[3]
			r := tool(t, "", "sql", "--server", p.Addresses["router"], "-q", statement)
			got := trimLines(r.stdout + r.stderr)
			if got != want && !*rewriteDocs {
				t.Errorf("%s: %s\ngives\n%s\nand the page says\n%s", name, statement, got, want)
			}
			return "```sql\n" + statement + "```\n```text\n" + got + "```\n"
		})
		if *rewriteDocs && changed != text {
			write(t, path, changed)
		}
	}
}

func trimLines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

var (
	command = regexp.MustCompile(`(?m)(?:^|[|&(] *|do )(?:bin/)?henge((?: [a-z][a-z-]*)+)([^|&)\n]*)`)
	option  = regexp.MustCompile(`(?:^| )(--[a-z-]+)`)
	setting = regexp.MustCompile(`(?m)^ *(service\.[A-Za-z0-9_.]+) *=`)
)

// TestBlocksOfTheDocs knows every block by its label, and finds what the blocks that are not run
// would not do: JSON that is none, flags and settings that do not exist.
func TestBlocksOfTheDocs(t *testing.T) {
	t.Parallel()
	known := tool(t, "", "server", "--list-settings").stdout
	help, flags := map[string]string{}, 0
	for path, text := range pagesOfTheDocs(t) {
		name := filepath.Base(path)
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			label, body := m[1], m[2]
			if labels[label] == "" {
				t.Errorf("%s: a block has the label [%s]; known are sql, json, sh, properties, http, text, console, csv and ini\n%s", name, label, body)
			}
			if label == "json" {
				for decoder := json.NewDecoder(strings.NewReader(body)); decoder.More(); {
					var value any
					if err := decoder.Decode(&value); err != nil {
						t.Errorf("%s: %v\n%s", name, err, body)
						break
					}
				}
			}
			if label == "sh" || label == "properties" {
				for _, s := range setting.FindAllStringSubmatch(body, -1) {
					if !isSetting(known, s[1]) {
						t.Errorf("%s: setting [%s] does not exist", name, s[1])
					}
				}
			}
			if label == "sh" {
				for _, c := range command.FindAllStringSubmatch(strings.ReplaceAll(body, "\\\n", " "), -1) {
					flags += checkFlags(t, name, help, strings.Fields(c[1]), c[2])
				}
			}
		}
	}
	if flags < 30 {
		t.Errorf("the pages have [%d] flags: the pattern of commands finds no more", flags)
	}
}

// isSetting reports whether a setting is listed; the name of an authenticator, authorizer or
// request logger in it stands for any.
func isSetting(list, name string) bool {
	parts := strings.Split(name, ".")
	for i := range parts {
		for _, any := range []string{"<name>", "{name}", "NAME"} {
			with := slices.Clone(parts)
			with[i] = any
			if strings.Contains(list, strings.Join(with, ".")) {
				return true
			}
		}
	}
	return strings.Contains(list, name)
}

// checkFlags looks for the flags of a line in the help of its command, and returns how many there
// are.
func checkFlags(t *testing.T, page string, help map[string]string, words []string, rest string) (n int) {
	t.Helper()
	// Words behind the command are its arguments: the longest that has a help of its own is the
	// command.
	for most := min(len(words), 2); most > 0; most-- {
		key := strings.Join(words[:most], " ")
		if _, ok := help[key]; !ok {
			r := tool(t, "", append(slices.Clone(words[:most]), "--help")...)
			help[key] = r.stdout + r.stderr
			if r.code != 0 {
				help[key] = ""
			}
		}
		if help[key] == "" {
			continue
		}
		for _, o := range option.FindAllStringSubmatch(strings.Join(words[most:], " ")+rest, -1) {
			if n++; !strings.Contains(help[key], o[1]) {
				t.Errorf("%s: henge %s has no flag %s", page, key, o[1])
			}
		}
		return n
	}
	t.Errorf("%s: there is no command [henge %s]", page, strings.Join(words, " "))
	return 0
}
