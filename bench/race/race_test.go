package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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
	for _, q := range slices.Concat(newEvents(1000, 0).queries(), visits{1000}.queries()) {
		for _, d := range []dialect{hengeSQL, duckSQL, clickSQL} {
			if sql := q.sql[d]; sql == "" || strings.ContainsAny(sql, "{}") {
				t.Errorf("%s for %s is %q", q.name, d, sql)
			}
		}
	}
}

func TestVisitsAreTheSameEveryTimeAndUneven(t *testing.T) {
	var a, b bytes.Buffer
	for _, to := range []*bytes.Buffer{&a, &b} {
		if err := (visits{20_000}).write(to, ndjson); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two runs wrote different rows")
	}
	count := map[string]map[string]int{}
	for line := range strings.Lines(a.String()) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		for name, v := range row {
			if count[name] == nil {
				count[name] = map[string]int{}
			}
			count[name][fmt.Sprint(v)]++
		}
	}
	for name, want := range map[string]int{"platform": 7, "country": 25, "city": 250} {
		most, all := 0, 20_000
		for _, n := range count[name] {
			most = max(most, n)
		}
		if len(count[name]) != want || most < 2*all/want {
			t.Errorf("%s has %d values, the most frequent %d times; want %d, uneven", name, len(count[name]), most, want)
		}
	}
	if n := len(count["delay"]); n < 200 || n > 2000 {
		t.Errorf("delay has %d values", n)
	}
}

func TestProcessorTimeOfThisProcessGrows(t *testing.T) {
	before, err := processorTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for now := before; now <= before; { // it ends because reading takes time
		if now, err = processorTime(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := processorTime(0); err == nil {
		t.Error("there is no process 0")
	}
	if used, err := wholeTime(os.Getpid()); err != nil || used > 2*before+time.Minute {
		t.Errorf("the process used %v, its threads %v before; %v", used, before, err)
	}
	if _, err := wholeTime(0); err == nil {
		t.Error("there is no process 0")
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

func TestOrdersArePermutationsOfASeed(t *testing.T) {
	a, b := ordersOf(1, 3, 43), ordersOf(1, 3, 43)
	if !slices.EqualFunc(a, b, slices.Equal) {
		t.Error("the same seed gave other orders")
	}
	if slices.EqualFunc(a, ordersOf(2, 3, 43), slices.Equal) {
		t.Error("another seed gave the same orders")
	}
	for c, order := range a {
		if c > 0 && slices.Equal(order, a[0]) {
			t.Errorf("connections 0 and %d ask in the same order", c)
		}
		for from := 0; from < len(order); from += 43 {
			one := slices.Sorted(slices.Values(order[from : from+43]))
			for i, k := range one {
				if i != k {
					t.Fatalf("connection %d: %v is no permutation", c, order[from:from+43])
				}
			}
		}
	}
}

func TestPermutedAnswersAreChecked(t *testing.T) {
	p := permuted{queries: []query{{}, {anyRows: true}}, answers: []answer{{rows: rows(t, `[[1,0.1],[2,0.2]]`)}, {rows: rows(t, `[[1],[2]]`)}}}
	for _, tt := range []struct {
		query int
		body  string
		same  bool
	}{
		{0, `[[2,0.2],[1,0.10000000000000001]]`, true},
		{0, `[[1,0.1],[3,0.2]]`, false},
		{0, `[[1,0.1]]`, false},
		{0, `[[1,0.1],[2,0.2]`, false},
		{1, `[[3],[4]]`, true},
		{1, `[[3]]`, false},
	} {
		if text := p.differs(tt.query, []byte(tt.body)); (text == "") != tt.same {
			t.Errorf("query %d, %s: %q, want same: %v", tt.query, tt.body, text, tt.same)
		}
	}
	r := report{Permutations: []permutationResult{{Engine: hengeName}}}
	if err := r.wrong(); err != nil {
		t.Error(err)
	}
	r.Permutations = append(r.Permutations, permutationResult{Engine: duckName, Wrong: 1, First: "C3: 1 rows against 2"})
	if err := r.wrong(); err == nil || !strings.Contains(err.Error(), "C3") {
		t.Errorf("a wrong answer gives %v", err)
	}
}

func TestAFileIsCutBehindALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.ndjson")
	if err := os.WriteFile(path, []byte("1\n22\n333\n4444\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	head, err := split(path, 3)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{head: "1\n22\n333\n", restOf(path): "4444\n"} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("[%s] holds %q, want %q (%v)", file, got, want, err)
		}
	}
}

func TestVariantsOfHenge(t *testing.T) {
	for _, tt := range []struct {
		o     options
		names []string
		fails bool
	}{
		{options{}, []string{"Henge"}, false},
		{options{live: 10, policy: true}, []string{"Henge", "Henge with live rows", "Henge with row rules"}, false},
		{options{live: 91}, nil, true},
		{options{live: -1}, nil, true},
		{options{live: 10, only: "queries,ingest"}, nil, true},
	} {
		tt.o.connections, tt.o.lasting = 1, 1
		if err := tt.o.check(); (err != nil) != tt.fails {
			t.Errorf("%+v: %v", tt.o, err)
		}
		var names []string
		for _, v := range tt.o.variants() {
			names = append(names, v.title)
		}
		if !tt.fails && !slices.Equal(names, tt.names) {
			t.Errorf("%+v gives %v", tt.o, names)
		}
	}
	for _, tt := range []struct {
		t    *table
		want string
	}{
		{newEvents(1000, 0).table("DAY"), `"d7" <> 'nobody' OR "d7" IS NULL`},
		{newSSB(1000).star()[0], `"lo_custkey" >= 0 OR "lo_custkey" IS NULL`},
	} {
		if got := tt.t.allRows(); got != tt.want {
			t.Errorf("the rule of [%s] is %s", tt.t.name, got)
		}
	}
	if n := (&henge{variant: variant{live: 10}}).liveRows(newSSB(1000).star()[1]); n != 0 {
		t.Errorf("%d rows of a table in one chunk are live", n)
	}
}
