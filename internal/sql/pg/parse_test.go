package pg

import (
	"os"
	"strings"
	"testing"
)

func TestStatementsOfClients(t *testing.T) {
	script, err := os.ReadFile("testdata/statements.sql")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(string(script) + ";;\n") {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTextsThatAreNoStatements(t *testing.T) {
	for text, want := range map[string]string{
		"foo":                     `syntax error at or near "foo"`,
		"fetch":                   "syntax error at end of input",
		"set x":                   "syntax error at end of input",
		"begin; copy (select":     "syntax error at end of input",
		"select 'a":               `unterminated quoted string at or near "'a"`,
		"select /* a":             "unterminated /* comment",
		"select $$a":              `unterminated dollar-quoted string at or near "$$a"`,
		`select "`:                `unterminated quoted identifier at or near """`,
		`select ""`:               "zero-length delimited identifier",
		"listen; close":           "syntax error at end of input",
		"select \x01":             "syntax error at or near \"\x01\"",
		"select 1a":               `trailing junk after numeric literal at or near "1a"`,
		"insert into t select $1": "parameters are for queries only",
	} {
		_, err := Parse(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	list, err := Parse("select 1; select from from")
	if err != nil || len(list) != 2 || list[1].Node.(*Native).Why == nil {
		t.Errorf("a query that can't be read is left to package sql: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("select a::int[] from \"t\" where $1 = any(array[1]) -- x")
	f.Add("copy (select E'\\x41') to stdout (format csv)")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Parse(text)
		if err == nil {
			for _, s := range list {
				if s.Node == nil {
					t.Errorf("%q has a statement without a node", text)
				}
			}
		}
	})
}
