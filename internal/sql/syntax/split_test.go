package syntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for in, want := range map[string][]Piece{
		"":                               nil,
		" ;; // nothing\n; -- at all":    nil,
		"SELECT 1":                       {{0, 8, []string{"SELECT"}, false, false, false}},
		"select(1), replace('a','b')":    {{0, 27, []string{"SELECT"}, false, false, false}},
		"SELECT 2 // it's; so\n;":        {{0, 21, []string{"SELECT"}, true, false, false}},
		"(((WITH x AS (SELECT 1;":        {{0, 22, []string{"WITH", "X", "AS"}, true, false, false}},
		"SELECT '; // '' --' ; VALUES(1": {{0, 20, []string{"SELECT"}, true, false, false}, {21, 30, []string{"VALUES"}, false, false, false}},
		`SELECT U&"a;" "b;c";`:           {{0, 19, []string{"SELECT"}, true, false, false}},
		"SELECT 'a; b":                   {{0, 12, []string{"SELECT"}, false, true, false}},
		"SELECT 1; /* a; b":              {{0, 8, []string{"SELECT"}, true, false, false}, {9, 17, nil, false, true, false}},
		"SELECT 1 /*+ a; b */; x":        {{0, 20, []string{"SELECT"}, true, false, false}, {21, 23, []string{"X"}, false, false, false}},
		`SELECT \d; SELECT 2`:            {{0, 19, []string{"SELECT"}, false, false, true}},
	} {
		if diff := cmp.Diff(want, Split(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("SET a = 1; SELECT ';' // ;\n /* ; */ -- ;\n; SELECT \"x\"")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, p := range Split(text) {
			if p.From < at || p.To < p.From || p.To > len(text) || strings.TrimSpace(text[p.From:p.To]) == "" {
				t.Fatalf("%q has the piece %+v", text, p)
			}
			at = p.To
		}
	})
}
