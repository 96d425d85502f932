package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// report is what a run measured. Times are milliseconds, sizes bytes.
type report struct {
	Conditions  conditions
	Loads       []*entry
	Sets        []*querySet
	BytesPerRow map[string]map[string]float64 // by table and engine
	Memory      []memoryPeak
	Clients     []clientResult
	// Permutations are what connections that asked at once found out.
	Permutations []permutationResult `json:",omitempty"`
}

type conditions struct {
	Rows, NullsPercent, Threads, Rounds int
	Processors                          int
	ProcessorTime                       bool // queries are measured by it
	PartitionedBy                       string
	MemoryLimit                         string `json:",omitempty"` // that each engine was given
	Versions                            map[string]string
	Began                               time.Time
}

// entry is one piece of work that each engine did some times.
type entry struct {
	Name    string
	Runs    map[string][]float64
	Median  map[string]float64
	Least   map[string]float64
	Errors  map[string]string `json:",omitempty"`
	Differs map[string]string `json:",omitempty"` // how the answer differs from DuckDB's
}

// querySet is a benchmark's queries.
type querySet struct {
	Name    string
	Queries []*entry
}

type memoryPeak struct {
	Work, Engine string
	Bytes        int64
}

type clientResult struct {
	Engine          string
	Clients         int
	BesideHeavy     bool // one more client asks a heavy query without a pause
	PerSecond       float64
	P50, P99        float64
	Queries, Errors int
}

func newEntry(name string, engines []engine) *entry {
	e := &entry{Name: name, Runs: map[string][]float64{}, Median: map[string]float64{}, Least: map[string]float64{}, Errors: map[string]string{}, Differs: map[string]string{}}
	for _, x := range engines {
		e.Runs[x.name()] = nil
	}
	return e
}

func (e *entry) fail(by engine, err error) { e.Errors[by.name()] = err.Error() }
func (e *entry) failed(by engine) bool     { return e.Errors[by.name()] != "" }
func (e *entry) add(by engine, took time.Duration) {
	e.Runs[by.name()] = append(e.Runs[by.name()], inMillis(took))
}

func inMillis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (e *entry) finish() {
	for name, runs := range e.Runs {
		if len(runs) > 0 && e.Errors[name] == "" {
			e.Median[name], e.Least[name] = quantile(runs, 0.5), slices.Min(runs)
		}
	}
}

// compare holds every answer against DuckDB's, or where it does not take part against those of the
// first engine.
func (e *entry) compare(engines []engine, answers map[string]answer, q query) {
	base := duckName
	truth, ok := answers[base]
	if !ok {
		base = engines[0].name()
		if truth, ok = answers[base]; !ok {
			return
		}
	}
	for _, x := range engines {
		a, ok := answers[x.name()]
		if !ok || x.name() == base {
			continue
		}
		if q.anyRows && len(a.rows) == len(truth.rows) {
			continue
		}
		if text := compare(a.rows, truth.rows, q.near); text != "" {
			e.Differs[x.name()] = text
		}
	}
}

const (
	hengeName = "Henge"
	duckName  = "DuckDB"
)

// quantile of unsorted values, by the nearest rank; the median of an even number is the mean of the
// two in the middle.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	if q == 0.5 && len(v)%2 == 0 {
		return (v[len(v)/2-1] + v[len(v)/2]) / 2
	}
	return v[max(int(math.Ceil(q*float64(len(v))))-1, 0)]
}

func (r *report) memory(work string, e engine, bytes int64) {
	for i, m := range r.Memory {
		if m.Work == work && m.Engine == e.name() {
			r.Memory[i].Bytes = max(m.Bytes, bytes)
			return
		}
	}
	r.Memory = append(r.Memory, memoryPeak{work, e.name(), bytes})
}

func (r *report) bytesPerRow(table string, e engine, bytes float64) {
	if r.BytesPerRow[table] == nil {
		r.BytesPerRow[table] = map[string]float64{}
	}
	r.BytesPerRow[table][e.name()] = bytes
}

func (r *report) clients(e engine, c crowd, m clientTimes) {
	ms := make([]float64, len(m.times))
	for i, t := range m.times {
		ms[i] = inMillis(t)
	}
	r.Clients = append(r.Clients, clientResult{Engine: e.name(), Clients: c.n, BesideHeavy: c.heavy != "", PerSecond: float64(len(ms)-m.errors) / c.d.Seconds(),
		P50: quantile(ms, 0.5), P99: quantile(ms, 0.99), Queries: len(ms), Errors: m.errors})
}

// geometricMean of how many times longer DuckDB took than Henge, and the queries that Henge lost
// although DuckDB needed over 5 ms.
func (r *querySet) geometricMean() (mean float64, lost []string) {
	const counts = 5.0 // milliseconds; below it a request over HTTP is most of the time
	sum, n := 0.0, 0
	for _, q := range r.Queries {
		ours, theirs := q.Median[hengeName], q.Median[duckName]
		if ours == 0 || theirs == 0 {
			continue
		}
		sum, n = sum+math.Log(theirs/ours), n+1
		if theirs > counts && ours > theirs {
			lost = append(lost, q.Name)
		}
	}
	return math.Exp(sum / float64(n)), lost
}

func (r *report) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// readReport reads what writeJSON wrote.
func readReport(path string) (*report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("reading the result [%s]: %w", path, err)
	}
	return r, nil
}

// print writes the tables as Markdown.
func (r *report) print(w io.Writer, engines []engine) {
	c := r.Conditions
	fmt.Fprintf(w, "%d rows, %d %% NULLs, %d threads of %d processors, medians of %d rounds in which the engines take turns; segments by %s.\n",
		c.Rows, c.NullsPercent, c.Threads, c.Processors, c.Rounds, c.PartitionedBy)
	if c.ProcessorTime {
		fmt.Fprintln(w, "Queries by processor time of the engines, the least of the rounds instead of the median.")
	}
	if c.MemoryLimit != "" {
		fmt.Fprintf(w, "Each engine may use %s of memory.\n", c.MemoryLimit)
	}
	var versions []string
	for _, e := range engines {
		versions = append(versions, e.name()+" "+e.version())
	}
	fmt.Fprintf(w, "%s. Ratio: the peer's median over Henge's; above 1 Henge is faster. Henge's times include HTTP.\n", strings.Join(versions, ", "))
	printEntries(w, "Loading, ms", r.Loads, engines)
	for _, set := range r.Sets {
		printEntries(w, set.Name+", ms", set.Queries, engines)
		mean, lost := set.geometricMean()
		if math.IsNaN(mean) {
			continue
		}
		fmt.Fprintf(w, "\nGeometric mean of the ratio to DuckDB: %.2f. Slower where DuckDB needs over 5 ms: %d", mean, len(lost))
		if len(lost) > 0 {
			fmt.Fprintf(w, " (%s)", strings.Join(lost, "; "))
		}
		fmt.Fprintln(w, ".")
	}
	for _, t := range slices.Sorted(maps.Keys(r.BytesPerRow)) {
		fmt.Fprintf(w, "\nBytes per row of %s:", t)
		for _, e := range engines {
			fmt.Fprintf(w, " %s %.1f", e.name(), r.BytesPerRow[t][e.name()])
		}
		fmt.Fprintln(w)
	}
	if len(r.Clients) > 0 {
		fmt.Fprint(w, "\n| Clients of small queries | Engine | per second | p50 ms | p99 ms | errors |\n|--:|---|--:|--:|--:|--:|\n")
		for _, m := range r.Clients {
			beside := ""
			if m.BesideHeavy {
				beside = " beside a heavy query"
			}
			fmt.Fprintf(w, "| %d%s | %s | %.0f | %.2f | %.2f | %d |\n", m.Clients, beside, m.Engine, m.PerSecond, m.P50, m.P99, m.Errors)
		}
	}
	if len(r.Permutations) > 0 {
		fmt.Fprint(w, "\n| Connections that ask in orders of their own | Engine | answers | per second | "+
			"p50 ms | p99 ms | CPU ms an answer | errors | wrong answers |\n"+
			"|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
		for _, p := range r.Permutations {
			fmt.Fprintf(w, "| %d, %d statements, %.0f s | %s | %d | %.1f | %.1f | %.0f | %.1f | %d | %d |\n",
				p.Connections, p.Statements, p.Seconds, p.Engine, p.Queries, p.PerSecond, p.P50, p.P99, p.Used, p.Errors, p.Wrong)
		}
	}
	if len(r.Memory) > 0 {
		fmt.Fprint(w, "\n| Peak of resident memory during | Engine | MiB |\n|---|---|--:|\n")
		for _, m := range r.Memory {
			fmt.Fprintf(w, "| %s | %s | %d |\n", m.Work, m.Engine, m.Bytes>>20)
		}
	}
}

func printEntries(w io.Writer, title string, list []*entry, engines []engine) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n| %s |", title)
	rule := "|---|"
	for i, e := range engines {
		fmt.Fprintf(w, " %s |", e.name())
		rule += "--:|"
		if i > 0 {
			fmt.Fprint(w, " ratio |")
			rule += "--:|"
		}
	}
	fmt.Fprintf(w, " |\n%s---|\n", rule)
	for _, q := range list {
		fmt.Fprintf(w, "| %s |", q.Name)
		for i, e := range engines {
			fmt.Fprintf(w, " %s |", number(q.Median[e.name()]))
			if i > 0 {
				fmt.Fprintf(w, " %s |", number(q.Median[e.name()]/q.Median[engines[0].name()]))
			}
		}
		var notes []string
		for _, e := range engines {
			if text := q.Errors[e.name()]; text != "" {
				notes = append(notes, e.name()+" failed: "+text)
			}
			if text := q.Differs[e.name()]; text != "" {
				notes = append(notes, e.name()+" differs: "+text)
			}
		}
		fmt.Fprintf(w, " %s |\n", strings.ReplaceAll(strings.Join(notes, "; "), "\n", " "))
	}
}

func number(f float64) string {
	switch {
	case f == 0 || math.IsNaN(f) || math.IsInf(f, 0):
		return "-"
	case f < 10:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.0f", f)
}
