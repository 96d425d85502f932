package main

import (
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCharts(t *testing.T) {
	const days = `["day","n","x"]` + "\n" + `["mon",8,1.5]` + "\n" + `["tue",60,null]` + "\n" + `[null,0,-3]` + "\n\n"
	for name, tc := range map[string]struct {
		print func(io.Writer, io.Reader) (int64, error)
		body  string
		want  string
		err   string
	}{
		"bars": {printBars("n"), days, "mon  |  8 | ████████\ntue  | 60 | " + strings.Repeat("█", 60) + "\nNULL |  0 |\n", ""},
		"below zero": {printBars(""), days, "mon  |  1.5 | " + strings.Repeat(" ", 40) + "│" + strings.Repeat("█", 20) +
			"\ntue  | NULL |\nNULL |   -3 | " + strings.Repeat("█", 40) + "│\n", ""},
		"eighths": {printBars(""), "[\"a\",\"n\"]\n[1,480]\n[2,3]\n\n", "1 | 480 | " + strings.Repeat("█", 60) + "\n2 |   3 | ▍\n", ""},
		"lines":   {printSparks(""), days, "n | ▂█▁ | 0 to 60\nx | █ ▁ | -3 to 1.5\n", ""},
		"one line": {
			printSparks("x"), days, "x | █ ▁ | -3 to 1.5\n", "",
		},
		"the same":       {printSparks(""), `["n"]` + "\n[5]\n[5]\n\n", "n | ▅▅ | 5 to 5\n", ""},
		"no rows":        {printBars(""), `["n"]` + "\n\n", "", ""},
		"no numbers":     {printBars(""), `["a"]` + "\n" + `["x"]` + "\n\n", "", "no numeric column"},
		"not of numbers": {printSparks("day"), days, "", "[day] is not numeric"},
		"unknown":        {printBars("m"), days, "", "its columns are [day, n, x]"},
		"too long":       {printBars(""), `["n"]` + "\n" + strings.Repeat("[1]\n", chartRows+1) + "\n", "", "at most 100,000 rows"},
		"broken off":     {printSparks(""), `["n"]` + "\n[1", "", errCut.Error()},
	} {
		var out strings.Builder
		_, err := tc.print(&out, strings.NewReader(tc.body))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if diff := cmp.Diff(tc.want, out.String()); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if line, least, most := spark(make([]float64, 1000)); len([]rune(line)) != chartWidth || least != 0 || most != 0 {
		t.Errorf("%q, %v, %v", line, least, most)
	}
	if line, _, _ := spark([]float64{math.NaN(), math.Inf(1)}); line != "  " {
		t.Errorf("%q", line)
	}
}

func TestProgressOfQueries(t *testing.T) {
	half, left := 50.0, int64(3000)
	for want, p := range map[string]queryProgress{
		"1.2s": {Elapsed: 1234},
		"[===============               ] 50%, 2s, 2,000,000 rows (1,000,000 rows/s), 1.5 GB, 1 row returned, memory 512 B, 3s left": {
			Elapsed: 2000, RowsRead: 2_000_000, BytesRead: 1_500_000_000, Memory: 512, Returned: 1, Percent: &half, ETA: &left,
		},
		"0s, memory 123 MB": {Memory: 123_400_000},
	} {
		if got := p.line(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
