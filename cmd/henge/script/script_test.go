package script

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitStatements(t *testing.T) {
	for in, want := range map[string][]string{
		"":                              nil,
		" ;; ; ":                        nil,
		"SELECT 1":                      {"SELECT 1"},
		"SELECT 1;":                     {"SELECT 1"},
		"SELECT 1;\nSELECT 2 ;":         {"SELECT 1", "SELECT 2"},
		"SELECT ';' ; SELECT \"a;b\"":   {"SELECT ';'", "SELECT \"a;b\""},
		"SELECT 'it''s; ok'; SELECT 2":  {"SELECT 'it''s; ok'", "SELECT 2"},
		"SELECT 1 -- a; b\n; SELECT 2":  {"SELECT 1 -- a; b", "SELECT 2"},
		"SELECT /* a; b */ 1; SELECT 2": {"SELECT /* a; b */ 1", "SELECT 2"},
		"-- only a comment;\n":          nil,
		"SELECT 1; -- the end":          {"SELECT 1"},
		"SET a = 1; SELECT 1; SELECT 2": {"SET a = 1; SELECT 1", "SELECT 2"},
		"SET a = ';'; set b = 2;\nSELECT 1; SET c = 3; SELECT 2": {"SET a = ';'; set b = 2;\nSELECT 1", "SET c = 3; SELECT 2"},
		"SELECT 'never closed; SELECT 2":                         {"SELECT 'never closed; SELECT 2"},
		"SELECT /* never closed; SELECT 2":                       {"SELECT /* never closed; SELECT 2"},
		"SELECT 2 // it's; so\n; SELECT 3":                       {"SELECT 2 // it's; so", "SELECT 3"},
		"SELECT 'http://x;y'; // the end; it's\nSELECT 2;":       {"SELECT 'http://x;y'", "// the end; it's\nSELECT 2"},
		"SELECT U&'\\0041;'; SELECT 2":                           {"SELECT U&'\\0041;'", "SELECT 2"},
		"/* a */ SET a = 1; SELECT 1;":                           {"/* a */ SET a = 1; SELECT 1"},
	} {
		if diff := cmp.Diff(want, Split(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestEndsStatement(t *testing.T) {
	for in, want := range map[string]bool{
		"SELECT 1": false, "SELECT 1;": true, "SELECT 1; ": true, "SELECT 1; -- done": true, "SELECT ';'": false,
		"SELECT 1 -- ;": false, "SELECT 1; SELECT": false,
		"SELECT 'a": false, "": false, "SELECT 1 /* ; */": false, "SELECT 1; /* a": false, "SELECT 2 // it's": false,
		"SELECT 2 // it's;": false, "SELECT 2 // it's\n;": true, "SELECT 'http://x';": true, `SELECT \d;`: true,
	} {
		if got := Ended(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestWhatAStatementIs(t *testing.T) {
	type kind struct{ write, explained bool }
	for in, want := range map[string]kind{
		"SELECT 1": {}, "WITH x AS (SELECT 1) SELECT * FROM x": {}, "VALUES (1)": {}, "(SELECT 1)": {}, "": {},
		"insert into x SELECT 1": {write: true}, "REPLACE INTO x OVERWRITE ALL SELECT 1": {write: true},
		"SET a = 1; INSERT INTO x SELECT 1": {write: true}, "-- INSERT\nSELECT 1": {},
		"/* INSERT */ SELECT 1": {}, "SET a = 'INSERT'; SELECT 1": {},
		"select(1), replace ('abc','b','c')":                 {},
		"((SELECT 1)) UNION ALL SELECT REPLACE('a','b','c')": {}, "WITH insert_ AS (SELECT 1) SELECT 1": {},
		"// INSERT it's\nSELECT 1": {}, "// SELECT\nINSERT INTO x SELECT 1": {write: true}, "SELECT'INSERT'": {}, "SELECT\"INSERT\"FROM t": {},
		"INSERT/**/INTO x SELECT 1": {write: true}, "EXPLAIN ANALYZE SELECT REPLACE('a','b','c')": {explained: true},
		"EXPLAIN PLAN FOR SELECT REPLACE('a','b','c')": {explained: true},
		"EXPLAIN PLAN FOR SELECT 1":                    {explained: true}, "EXPLAIN PLAN FOR INSERT INTO x SELECT 1": {true, true},
	} {
		write, explained := IsWrite(in)
		if got := (kind{write, explained}); got != want {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func FuzzSplitStatements(f *testing.F) {
	f.Add("SET a = 1; SELECT ';' /* ; */ -- ;\n; SELECT \"x\"")
	f.Fuzz(func(t *testing.T, text string) {
		for _, statement := range Split(text) {
			if strings.TrimSpace(statement) == "" || !strings.Contains(text, statement) {
				t.Fatalf("%q has the statement %q", text, statement)
			}
		}
		Ended(text)
	})
}
