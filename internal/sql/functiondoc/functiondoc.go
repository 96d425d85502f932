// Package functiondoc writes docs/functions.md, the page of all functions. Names, forms and
// sentences come from packages expr/catalog, agg and infoschema; topics, their order and the
// examples come from examples.txt. Tests compare the page with the code, run every example, and
// report functions without examples.
package functiondoc

//go:generate go run ./gen ../../../docs/functions.md

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/expr/catalog"
	"github.com/hengedb/henge/internal/sql/infoschema"
)

//go:embed examples.txt
var examples string

// topic is a section of the page.
type topic struct {
	title, intro string
	examples     []example
}

// example shows what a function does.
type example struct {
	// form, if not empty, names the arguments better than the catalog's types do.
	function, form, sql string
	// result is "varies" where it differs from run to run.
	result string
}

// whole reports whether the example is a statement and not an expression.
func (e example) whole() bool { return strings.HasPrefix(e.sql, "SELECT ") }

// described is a function as its catalog describes it.
type described struct {
	name, summary string
	forms         []string
}

// topics reads examples.txt.
func topics() []topic {
	var out []topic
	for line := range strings.SplitSeq(examples, "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			out = append(out, topic{title: title})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t := &out[len(out)-1]
		if intro, ok := strings.CutPrefix(line, "> "); ok {
			t.intro = intro
		} else if result, ok := strings.CutPrefix(line, "  = "); ok {
			t.examples[len(t.examples)-1].result = result
		} else {
			form, sql, _ := strings.Cut(line, ": ")
			e := example{function: form, sql: sql}
			if at := strings.IndexAny(form, "(["); at >= 0 {
				e.function, e.form = form[:at], form
			}
			t.examples = append(t.examples, e)
		}
	}
	return out
}

// allFunctions returns all functions by name. Further names of a function are in its summary.
func allFunctions() map[string]described {
	out := map[string]described{}
	also := map[string]bool{}
	add := func(name string, aliases, forms []string, summary string) {
		if len(aliases) > 0 {
			summary += " Also called `" + strings.Join(aliases, "`, `") + "`."
		}
		for _, a := range aliases {
			also[a] = true
		}
		out[name] = described{name, summary, readable(forms)}
	}
	for _, f := range catalog.Functions() {
		add(f.Name, f.Aliases, f.Signatures(), f.Summary)
	}
	for _, f := range agg.Functions() {
		if !f.Internal {
			add(f.Name, f.Aliases, strings.Split(f.Signature, "\n"), f.Doc)
		}
	}
	for _, f := range append(infoschema.Windows, infoschema.Forms...) {
		add(f.Name, nil, strings.Split(cmp.Or(f.Syntax, f.Signatures), "\n"), f.Summary)
	}
	for name := range also {
		delete(out, name)
	}
	return out
}

// words are what readers call the types of arguments. Functions without arguments that differ only
// in these have one form.
var words = strings.NewReplacer(
	"<EXACT_NUMERIC>", "integer", "<NUMERIC>", "number", "<INTEGER>", "integer",
	"<CHARACTER>", "string", "<STRING>", "string", "CHARACTER", "string",
	"<DATETIME>", "timestamp", "<TIMESTAMP>", "timestamp", "<DATE>", "date",
	"<DATETIME_INTERVAL>", "interval", "<LITERAL ISO8601 INTERVAL>", "'start/end'", "<TIME_UNIT>", "unit",
	"<BOOLEAN>", "condition", "<ANY>", "expr", "[ANY", "[expr", "<COMPARABLE_TYPE>", "expr", "<expr>", "expr",
	"<COLUMN>", "expr", "<ARRAY>", "array", "COUNT()", "COUNT(*)",
	"<maxBytesPerStringInt>", "maxBytes", "<allValuesBoolean>", "allValues", "<maxSizeBytes>", "maxBytes",
	"<arrayOfDoublesSketch>", "sketch", "<HLLSketch>", "sketch", "<thetaSketch>", "sketch", "<quantilesDoublesSketch>", "sketch",
)

var bracketed = regexp.MustCompile(`<(\w+)>`)

// readable makes forms of functions easy on the eye: no brackets around types, optional
// arguments with their comma, and one form where another only has more arguments.
func readable(forms []string) []string {
	var out []string
	for _, f := range forms {
		f = bracketed.ReplaceAllString(words.Replace(strings.Trim(f, "'")), "$1")
		f = strings.ReplaceAll(f, ", [", "[, ")
		last := len(out) - 1
		if last >= 0 {
			if f == out[last] {
				continue
			}
			// f(a, b) behind f(a[..]) is f(a[, b]).
			short := strings.TrimSuffix(out[last], ")")
			closing := strings.TrimRight(short, "]")
			plain := strings.ReplaceAll(closing, "[", "")
			more, ok := strings.CutPrefix(strings.TrimSuffix(f, ")"), plain+", ")
			if ok && short != out[last] && !strings.HasPrefix(more, ".") {
				out[last] = closing + "[, " + more + strings.Repeat("]", len(short)-len(closing)+1) + ")"
				continue
			}
		}
		out = append(out, f)
	}
	return out
}

// Markdown returns the page.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Functions\n" +
		"All functions of Henge's SQL by topic, each with an example and its result. Names are case-insensitive. " +
		"Brackets mark optional arguments.\n\n" +
		"`SELECT * FROM INFORMATION_SCHEMA.ROUTINES` lists the same functions. In the prompt, `\\df` does ([prompt.md](prompt.md)). " +
		"Operators, such\nas `+`, `||`, `IN` and `IS NULL`, are in [sql.md](sql.md). `go generate ./...` writes this page, and a test runs every example.\n\n" +
		"Unless a function says otherwise, its result is NULL when an argument is NULL.\n\n")
	all := allFunctions()
	for _, t := range topics() {
		fmt.Fprintf(&b, "- [%s](#%s)\n", t.title, strings.ReplaceAll(strings.ToLower(t.title), " ", "-"))
	}
	for _, t := range topics() {
		b.WriteString("\n## " + t.title + "\n")
		if t.intro != "" {
			b.WriteString(t.intro + "\n\n")
		}
		if t.title == "Aggregates" {
			b.WriteString(table + "\n")
		}
		b.WriteString("| Function | What it does | Example |\n|---|---|---|\n")
		for _, e := range t.examples {
			f := all[e.function]
			shown := code(e.sql) + " → " + code(e.result)
			if e.result == "varies" {
				shown = code(e.sql)
			}
			forms := make([]string, len(f.forms))
			for i := range forms {
				forms[i] = code(f.forms[i])
			}
			if e.form != "" {
				forms = []string{code(e.form)}
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", strings.Join(forms, "<br>"), escape.Replace(f.summary), shown)
		}
	}
	return b.String()
}

// table is `t` of the examples.
const table = `| __time | city | x | y |
|---|---|---|---|
| 2026-01-01 | Bern | 1 | 10 |
| 2026-01-02 | Oslo | 2 | 20 |
| 2026-01-03 | Oslo | 3 | 33 |
| 2026-01-04 | Rome | 4 | NULL |
`

var escape = strings.NewReplacer("|", `\|`, "\n", " ")

// code writes text as code in a cell.
func code(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + escape.Replace(text) + " ``"
	}
	return "`" + escape.Replace(text) + "`"
}
