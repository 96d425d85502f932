package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	body := `["country","n","ratio","ok","tags"]` + "\n" + `["DE",1234,0.5,true,["a","b"]]` + "\n" + `[null,7,1.0E-4,false,null]` + "\n" +
		`["ü\n\t\"",-1,"NaN",null,[]]` + "\n\n"
	want := strings.Join([]string{
		"country |    n | ratio  | ok    | tags",
		"--------+------+--------+-------+----------",
		`DE      | 1234 | 0.5    | true  | ["a","b"]`,
		"NULL    |    7 | 1.0E-4 | false | NULL",
		`ü⏎ "    |   -1 | NaN    | NULL  | []`,
	}, "\n") + "\n"
	var out strings.Builder
	rows, err := printTable(&out, strings.NewReader(body))
	if err != nil || rows != 3 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTableWithoutRows(t *testing.T) {
	for body, want := range map[string]string{
		`["a","long name"]` + "\n\n": "a | long name\n--+----------\n",
		"\n\n":                       "",
	} {
		var out strings.Builder
		if rows, err := printTable(&out, strings.NewReader(body)); rows != 0 || err != nil || out.String() != want {
			t.Errorf("%q: %d, %v, %q", body, rows, err, out.String())
		}
	}
}

func TestLongCellsAreCut(t *testing.T) {
	long := strings.Repeat("ü", maxCellLength)
	var out strings.Builder
	if _, err := printTable(&out, strings.NewReader(`["a","b"]`+"\n"+`["","`+long+`"]`+"\n"+`["","`+long+`x"]`+"\n\n")); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if lines[2] != "  | "+long || lines[3] != "  | "+long[:len(long)-len("ü")]+"…" {
		t.Errorf("%q", lines)
	}
	out.Reset()
	if _, err := printTable(&out, strings.NewReader(`["PLAN"]`+"\n"+`["`+long+`x"]`+"\n\n")); err != nil || !strings.Contains(out.String(), long+"x\n") {
		t.Errorf("a cell alone in its row: %v, %q", err, out.String())
	}
}

// A table longer than its sample goes on with the widths it has.
func TestLongTables(t *testing.T) {
	var body strings.Builder
	body.WriteString(`["n"]` + "\n")
	for range tableSample + 5 {
		body.WriteString("[1]\n")
	}
	body.WriteString(`["wider than the rest"]` + "\n\n")
	var out strings.Builder
	rows, err := printTable(&out, strings.NewReader(body.String()))
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if err != nil || rows != tableSample+6 || len(lines) != tableSample+8 || lines[len(lines)-1] != "wider than the rest" {
		t.Errorf("%d rows in %d lines, %v", rows, len(lines), err)
	}
}

func TestAnAnswerThatBreaksOff(t *testing.T) {
	var out strings.Builder
	if _, err := printTable(&out, strings.NewReader(`["a"]`+"\n"+`["b"]`+"\n"+`["c`)); !errors.Is(err, errCut) || !strings.Contains(out.String(), "b\n") {
		t.Errorf("table: %v, %q", err, out.String())
	}
	for _, body := range []string{"a\nb\n", "a\nb", ""} {
		out.Reset()
		if _, err := copyLines(&out, strings.NewReader(body)); !errors.Is(err, errCut) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestCopyLines(t *testing.T) {
	for _, tc := range []struct {
		body, want string
		rows       int64
	}{
		{"{\"a\":1}\n{\"a\":2}\n\n", "{\"a\":1}\n{\"a\":2}\n", 2},
		{"\n", "", 0},
		{"{\"a\":\"\\\"\"}\n\n", "{\"a\":\"\\\"\"}\n", 1},
	} {
		var out strings.Builder
		rows, err := copyLines(&out, strings.NewReader(tc.body))
		if err != nil || rows != tc.rows || out.String() != tc.want {
			t.Errorf("%q: %d, %v, %q", tc.body, rows, err, out.String())
		}
	}
}

func TestNumbersAreGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567890: "1,234,567,890"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if counted(1, "row") != "1 row" || counted(0, "row") != "0 rows" {
		t.Error(counted(1, "row"), counted(0, "row"))
	}
}

func TestLongListsOfTokensAreCut(t *testing.T) {
	short := "Received [x], acceptable options: [\"A\", \"B\"]"
	if got := shortened(short); got != short {
		t.Errorf("%q", got)
	}
	long := "Received [x], acceptable options: [" + strings.Repeat("\"TOKEN\", ", 100) + "\"LAST\"]"
	for _, advice := range []string{"", ". Write instead: WHERE"} {
		got := shortened(long + advice)
		if len(got) > 200 || !strings.HasSuffix(got, "\"TOKEN\", …]"+advice) {
			t.Errorf("%q", got)
		}
	}
}
