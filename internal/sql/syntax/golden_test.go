package syntax

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/fault"
)

var rewrite = flag.Bool("rewrite", false, "write the results found into testdata")

// goldenTest runs a file of cases: an input line and, indented, what answer makes of it. Lines of
// comment and empty lines stay.
func goldenTest(t *testing.T, name string, answer func(input string) string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i] + "\n")
		if i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "    ") {
			continue
		}
		got := answer(lines[i])
		if want := strings.TrimPrefix(lines[i+1], "    "); got != want && !*rewrite {
			t.Errorf("%s\n got %s\nwant %s", lines[i], got, want)
		}
		out.WriteString("    " + got + "\n")
		i++
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExpressions(t *testing.T) {
	goldenTest(t, "expressions.txt", func(input string) string {
		e, err := ParseExpr(input)
		if err != nil {
			return err.Error()
		}
		tree := dump(e)
		again, err := ParseExpr(Print(e))
		if err != nil {
			t.Errorf("%s prints as %s: %v", input, Print(e), err)
		} else if dump(again) != tree {
			t.Errorf("%s prints as %s, with another tree:\n%s\n%s", input, Print(e), tree, dump(again))
		}
		return tree
	})
}

func TestStatements(t *testing.T) {
	goldenTest(t, "statements.txt", func(input string) string {
		s, err := Parse(input)
		if err != nil {
			return err.Error()
		}
		checkPrint(t, s)
		return dump(s)
	})
}

func TestErrors(t *testing.T) {
	goldenTest(t, "errors.txt", func(input string) string {
		_, err := Parse(input)
		f := fault.Find(err)
		if f == nil {
			t.Errorf("%s: got %v, want a fault", input, err)
			return "parses"
		}
		c := f.Context
		message := f.Message
		if len(message) > 300 {
			message = message[:300] + "..."
		}
		return strings.ReplaceAll(fmt.Sprintf("%s:%s-%s:%s %s", c["line"], c["column"], c["endLine"], c["endColumn"], message), "\n", `\n`)
	})
}

// The options of an error follow Druid where clients depend on them.
func TestOptions(t *testing.T) {
	for _, c := range []struct{ sql, token, expected string }{
		{"INSERT INTO", "<EOF>", `[<IDENTIFIER>, <QUOTED_IDENTIFIER>, <BACK_QUOTED_IDENTIFIER>, <BRACKET_QUOTED_IDENTIFIER>, ` +
			`<UNICODE_QUOTED_IDENTIFIER>]`},
		{"SELECT 1 FROM t ORDER BY a OFFSET 1 x", "x", `[<EOF>, ";", "LIMIT", "FETCH", "ROW", "ROWS"]`},
		{"SELECT a FROM t LIMIT 1 ROW", "ROW", `[<EOF>, ";", "OFFSET", ","]`},
	} {
		_, err := Parse(c.sql)
		f := fault.Find(err)
		if f == nil {
			t.Errorf("%s: got %v, want a fault", c.sql, err)
			continue
		}
		if f.Context["token"] != c.token || c.expected != f.Context["expected"] {
			t.Errorf("%s: got %s\nwant [%s], %s", c.sql, f.Message, c.token, c.expected)
		}
	}
}

// Every error of an unexpected token that may end the statement offers the semicolon.
func TestSemicolonIsOffered(t *testing.T) {
	for _, sql := range []string{"SELECT 1 )", "SELECT a FROM t x y", "VALUES (1) 2", "SELECT 1 LIMIT 1 2", "SELECT a FROM t WHERE b c"} {
		_, err := Parse(sql)
		if err == nil || !strings.Contains(err.Error(), `";"`) {
			t.Errorf("%s: got %v, want a list with a semicolon", sql, err)
		}
	}
}
