package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func rows(t *testing.T, text string) [][]any {
	t.Helper()
	var out [][]any
	if err := decodeExact([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCompare(t *testing.T) {
	tests := []struct {
		name, a, b string
		near       float64
		same       bool
	}{
		{"order of rows", `[["a",1],["b",2]]`, `[["b",2],["a",1]]`, 0, true},
		{"time as text and as milliseconds", `[["2023-11-15T00:00:00.000Z",1]]`, `[[1700006400000,1]]`, 0, true},
		{"sum that wrapped", `[[-8446744073709551616]]`, `[[10000000000000000000]]`, 0, true},
		{"last digits of a sum of doubles", `[[1.00000000000001]]`, `[[1.00000000000002]]`, 0, true},
		{"integer as double", `[[5]]`, `[[5.0]]`, 0, true},
		{"estimate", `[[100]]`, `[[103]]`, 0.05, true},
		{"estimate too far", `[[100]]`, `[[110]]`, 0.05, false},
		{"another integer", `[[5]]`, `[[6]]`, 0, false},
		{"NULL is not zero", `[[null]]`, `[[0]]`, 0, false},
		{"NULL is not empty text", `[[null]]`, `[[""]]`, 0, false},
		{"fewer rows", `[[1]]`, `[[1],[1]]`, 0, false},
		{"fewer columns", `[[1]]`, `[[1,2]]`, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if text := compare(rows(t, tt.a), rows(t, tt.b), tt.near); (text == "") != tt.same {
				t.Errorf("compare() = %q, want same: %v", text, tt.same)
			}
		})
	}
}

// answering is an engine of which only the name matters.
type answering struct {
	engine
	called string
}

func (a answering) name() string { return a.called }

func TestAnswersAreComparedWithWhomeverThereIs(t *testing.T) {
	right, wrong := answer{rows: rows(t, `[[1]]`)}, answer{rows: rows(t, `[[2]]`)}
	for _, tt := range []struct {
		engines []string
		answers map[string]answer
		differs string
	}{
		{[]string{"Henge", duckName, "reference"}, map[string]answer{"Henge": wrong, duckName: right, "reference": right}, "Henge"},
		{[]string{"Henge", duckName, "reference"}, map[string]answer{"Henge": right, duckName: right, "reference": right}, ""},
		{[]string{"Henge", "reference"}, map[string]answer{"Henge": right, "reference": wrong}, "reference"},
		{[]string{"Henge", duckName, "reference"}, map[string]answer{"Henge": right, "reference": wrong}, "reference"}, // DuckDB failed
		{[]string{"Henge", "reference"}, map[string]answer{"reference": wrong}, ""},
	} {
		var engines []engine
		for _, name := range tt.engines {
			engines = append(engines, answering{called: name})
		}
		e := newEntry("query", engines)
		e.compare(engines, tt.answers, query{})
		differs := ""
		for name := range e.Differs {
			differs += name
		}
		if differs != tt.differs {
			t.Errorf("%v: [%s] differs, want [%s]", tt.engines, differs, tt.differs)
		}
	}
}

func TestEventsAreTheSameEveryTime(t *testing.T) {
	write := func(rows, nulls int, format fileFormat) string {
		var b bytes.Buffer
		if err := newEvents(rows, nulls).write(&b, format); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if a, b := write(500, 10, ndjson), write(500, 10, ndjson); a != b {
		t.Error("two runs wrote different rows")
	}
	text := strings.TrimSpace(write(2000, 10, ndjson))
	absent, before := 0, int64(0)
	for line := range strings.Lines(text) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		for _, v := range row {
			if v == nil {
				absent++
			}
		}
		if now := int64(row["t"].(float64)); now < before {
			t.Fatalf("time %d comes after %d", now, before)
		} else {
			before = now
		}
	}
	if share := float64(absent) / (2000 * 12); math.Abs(share-0.1) > 0.01 {
		t.Errorf("%.3f of the values are NULL, want 0.1", share)
	}
	if n := strings.Count(write(100, 0, csv), "\n"); n != 101 {
		t.Errorf("CSV of 100 rows has %d lines, want 101 with the header", n)
	}
}

func TestQueriesAreInEveryDialect(t *testing.T) {
	for _, q := range newEvents(1000, 0).queries() {
		for _, d := range []dialect{hengeSQL, duckSQL, clickSQL} {
			if sql := q.sql[d]; sql == "" || strings.ContainsAny(sql, "{}") {
				t.Errorf("%s for %s is %q", q.name, d, sql)
			}
		}
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{4, 1, 3, 2}
	for _, tt := range []struct{ q, want float64 }{{0.5, 2.5}, {0.99, 4}, {0.25, 1}} {
		if got := quantile(values, tt.q); got != tt.want {
			t.Errorf("quantile(%v) = %v, want %v", tt.q, got, tt.want)
		}
	}
}

func TestACommandKeepsToItsProcessors(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("there is one processor")
	}
	for _, n := range []int{1, runtime.NumCPU()} {
		cmd := exec.Command("nproc")
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := errors.Join(startOn(cmd, n), cmd.Wait()); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); got != strconv.Itoa(n) {
			t.Errorf("it has [%s] processors, not [%d]", got, n)
		}
	}
}

func TestDecisionsQueriesAreInTheWordsOfEachEngine(t *testing.T) {
	list := decisionsQueries()
	if len(list) != 22 {
		t.Fatalf("%d questions", len(list))
	}
	for _, q := range list {
		for d, sql := range q.sql {
			if strings.ContainsAny(sql, "{}") {
				t.Errorf("%s, %s: %s", q.name, d, sql)
			}
		}
	}
	for d, want := range map[dialect]string{hengeSQL: "items.__time<TIMESTAMP '1998-09-03'", duckSQL: "items.__time<904780800000", clickSQL: "items.__time<904780800000"} {
		if sql := list[0].sql[d]; !strings.Contains(sql, want) {
			t.Errorf("%s: %s", d, sql)
		}
	}
}
