// Command race compares Henge with DuckDB and ClickHouse on the same work in one run: the same
// generated data, native tables in time order, the same number of threads, engines that alternate
// within each round, and results that are compared with each other. Henge is a separate server that
// is queried over HTTP. The other engines run inside Python processes, so their times do not
// include a network.
//
//	go run ./race -henge ../bin/henge -rows 20000000
//	go run ./race -henge ../bin/henge -rows 2000000 -engines henge -live 10 -policy -only visits
//	go run ./race -henge ../bin/henge -rows 10000000 -only permutations -connections 10 -for 10m
//
// The second one measures Henge with live rows and Henge with row rules beside the plain one, the
// third one connections that ask at once, whose answers are all checked.
//
// setup.sh installs the peers from their Python packages, in the versions of requirements.txt, into
// a virtual environment.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hengedb/henge/bench/marked"
)

//go:embed setup.sh requirements.txt
var setupFiles embed.FS

type options struct {
	henge, only, engines, query, jsonFile, dir, venv, partitionedBy, print, memory, reference, write, from string
	rows, nulls, threads, rounds, loads, live, connections                                                 int
	keep, processor, quick, model, policy                                                                  bool
	seconds, lasting                                                                                       time.Duration
	seed                                                                                                   uint64
}

func main() {
	var o options
	flag.StringVar(&o.henge, "henge", "../bin/henge", "the binary of Henge")
	flag.IntVar(&o.rows, "rows", 20_000_000, "rows of the large tables, 1 M to 100 M (6 M are scale 1 of the Star Schema Benchmark)")
	flag.IntVar(&o.nulls, "nulls", 0, "per cent of NULLs in each column but the time")
	flag.IntVar(&o.threads, "threads", 2, "threads each engine may use")
	flag.StringVar(&o.memory, "memory", "", "memory each engine may use, in whole GiB as in 1GiB (default: their own)")
	flag.IntVar(&o.rounds, "rounds", 7, "times each query is measured")
	flag.IntVar(&o.loads, "loads", 3, "times each load is measured (work ingest)")
	flag.DurationVar(&o.seconds, "seconds", 5*time.Second, "how long each number of clients asks")
	flag.StringVar(&o.only, "only", "queries,ingest,size,clients,visits,ssb-flat,ssb-star,decisions,clickbench",
		"work to do, of: queries ingest size clients visits ssb-flat ssb-star decisions clickbench, and cold: event queries, "+
			"each the first of a process with cold caches, permutations: the shapes of ClickBench by -connections that each ask them "+
			"in orders of their own, all answers checked, and flights: real data of an npm package, which npm fetches")
	flag.IntVar(&o.connections, "connections", 10, "connections that ask at once (work permutations)")
	flag.DurationVar(&o.lasting, "for", 10*time.Minute, "how long they ask each engine (work permutations)")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the orders in which they ask (work permutations)")
	flag.IntVar(&o.live, "live", 0, "per cent of the rows of each table in order of time, the last ones, "+
		"that another Henge has in live segments: pushed over HTTP and not published. 0: there is no such Henge")
	flag.BoolVar(&o.policy, "policy", false, "another Henge takes part, which is secured "+
		"and whose user has a row rule on each table that keeps all rows")
	flag.StringVar(&o.engines, "engines", "henge,duckdb,chdb", "engines that take part, Henge first; also duckdb-parquet, which reads files of Parquet for each query, and reference")
	flag.StringVar(&o.reference, "reference", "", "address of the Router of a running Apache Druid, such as http://127.0.0.1:8888, on the same file system")
	flag.StringVar(&o.query, "query", "", "regular expression of the names of queries to ask")
	flag.StringVar(&o.partitionedBy, "partitioned-by", "DAY", "time chunk of Henge's segments")
	flag.StringVar(&o.jsonFile, "json", "", "file for the result as JSON")
	flag.StringVar(&o.write, "write", "", "also put a summary between <!-- race --> and <!-- /race --> of this file")
	flag.StringVar(&o.from, "from", "", "measure nothing: print the summary of a result that -json wrote")
	flag.StringVar(&o.dir, "dir", "", "folder for data, in which a new one is made (default: the system's for temporary files)")
	flag.StringVar(&o.venv, "venv", filepath.Join(os.TempDir(), "henge-race-venv"), "folder of the peers' virtual environment")
	flag.StringVar(&o.print, "print", "", "print the statements for this engine and stop")
	flag.BoolVar(&o.processor, "cpu", false, "measure queries by the processor time of each engine, not by the client's clock: "+
		"for machines on which other work runs; best with -threads 1")
	flag.BoolVar(&o.quick, "quick", false, "a run of a minute: as -rows 2000000 -threads 1 -cpu -rounds 5 "+
		"-engines henge,duckdb -only visits, where these are not given")
	flag.BoolVar(&o.model, "model", false, "a quick run of Henge alone, and what ten of the visits' queries read and take for a row, "+
		"which -write puts between <!-- model --> and <!-- /model -->")
	flag.BoolVar(&o.keep, "keep", false, "leave the data behind")
	flag.Parse()
	o.hurry()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "race:", err)
		os.Exit(1)
	}
}

// hurry sets what a quick run has otherwise, unless it was given.
func (o *options) hurry() {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if o.model && !given["engines"] {
		_ = flag.Set("engines", "henge")
		given["engines"] = true
	}
	if !o.quick && !o.model {
		return
	}
	for name, value := range map[string]string{
		"rows": "2000000", "threads": "1", "cpu": "true", "rounds": "5", "engines": "henge,duckdb", "only": "visits",
	} {
		if !given[name] {
			_ = flag.Set(name, value) // the values are of their types
		}
	}
}

func run(ctx context.Context, o options) (err error) {
	filter, err := regexp.Compile(o.query)
	if err != nil {
		return fmt.Errorf("-query: %w", err)
	}
	if o.print != "" {
		for _, q := range slices.Concat(newEvents(o.rows, o.nulls).queries(), visits{o.rows}.queries(),
			ssbQueries(true), ssbQueries(false), hits{o.rows}.queries()) {
			if filter.MatchString(q.name) {
				fmt.Printf("-- %s\n%s\n", q.name, q.sql[dialect(o.print)])
			}
		}
		return nil
	}
	if o.from != "" {
		r, err := readReport(o.from)
		if err != nil {
			return err
		}
		return summarize(r, o.write)
	}
	if err := o.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "henge-race-")
	if err != nil {
		return fmt.Errorf("making the folder for data: %w", err)
	}
	if !o.keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	engines, err := start(ctx, o, dir)
	defer func() {
		for _, e := range engines {
			if closing := e.close(); closing != nil {
				err = errors.Join(err, fmt.Errorf("stopping %s: %w", e.name(), closing))
			}
		}
	}()
	if err != nil {
		return err
	}
	r := &race{engines: engines, events: newEvents(o.rows, o.nulls), dir: dir, rounds: o.rounds, filter: filter, seconds: o.seconds, processor: o.processor, report: &report{
		BytesPerRow: map[string]map[string]float64{},
		Conditions: conditions{Rows: o.rows, NullsPercent: o.nulls, Threads: o.threads, Rounds: o.rounds, Processors: runtime.NumCPU(),
			ProcessorTime: o.processor,
			PartitionedBy: o.partitionedBy, MemoryLimit: o.memory, Versions: map[string]string{}, Began: time.Now().UTC()},
	}}
	for _, e := range engines {
		r.report.Conditions.Versions[e.name()] = e.version()
	}
	if err := r.work(ctx, strings.Split(o.only, ","), o); err != nil {
		return err
	}
	r.report.print(os.Stdout, engines)
	if err := r.report.wrong(); err != nil {
		return err
	}
	if o.model {
		return r.model(ctx, o.rows, o.write)
	}
	if o.jsonFile != "" {
		if err := r.report.writeJSON(o.jsonFile); err != nil {
			return err
		}
	}
	return summarize(r.report, o.write)
}

// summarize prints the summary and puts it into the file at path; "": into none.
func summarize(r *report, path string) error {
	fmt.Printf("\n%s", r.summary())
	if path == "" {
		return nil
	}
	return marked.Replace(path, "race", r.summary())
}

// works are the names of what can be chosen.
var works = []string{
	"queries", "ingest", "size", "clients", "cold", "visits", "ssb-flat", "ssb-star", "decisions", "clickbench", "permutations", "flights",
}

// work does what was chosen.
func (r *race) work(ctx context.Context, chosen []string, o options) error {
	for _, w := range chosen {
		if !slices.Contains(works, w) {
			return fmt.Errorf("-only: there is no work called [%s]; there are %s", w, strings.Join(works, " "))
		}
	}
	if slices.ContainsFunc(works[:5], func(w string) bool { return slices.Contains(chosen, w) }) {
		if err := r.workOnEvents(ctx, chosen, o); err != nil {
			return err
		}
	}
	if slices.Contains(chosen, "visits") {
		v := visits{o.rows}
		if err := r.load(ctx, v.table(o.partitionedBy), ndjson, 1); err != nil {
			return err
		}
		if err := r.queries(ctx, visitsSet, v.queries()); err != nil {
			return err
		}
	}
	if slices.Contains(chosen, "flights") {
		if err := r.flights(ctx, o.loads); err != nil {
			return err
		}
	}
	data := newSSB(o.rows)
	if slices.Contains(chosen, "ssb-flat") {
		if err := r.load(ctx, data.flat(), ndjson, 1); err != nil {
			return err
		}
		if err := r.sizes(ctx, data.flat()); err != nil {
			return err
		}
		if err := r.queries(ctx, "Star Schema Benchmark, flat", ssbQueries(true)); err != nil {
			return err
		}
	}
	if slices.Contains(chosen, "ssb-star") {
		for _, t := range data.star() {
			if err := r.load(ctx, t, ndjson, 1); err != nil {
				return err
			}
		}
		if err := r.queries(ctx, "Star Schema Benchmark, star", ssbQueries(false)); err != nil {
			return err
		}
	}
	if slices.Contains(chosen, "decisions") {
		for _, t := range newDecisions(o.rows).tables() {
			if err := r.load(ctx, t, ndjson, 1); err != nil {
				return err
			}
		}
		if err := r.queries(ctx, "Decision support", decisionsQueries()); err != nil {
			return err
		}
	}
	if slices.Contains(chosen, "clickbench") {
		h := hits{o.rows}
		if err := r.load(ctx, h.table(), ndjson, 1); err != nil {
			return err
		}
		if err := r.sizes(ctx, h.table()); err != nil {
			return err
		}
		if err := r.queries(ctx, "ClickBench shapes", h.queries()); err != nil {
			return err
		}
	}
	if slices.Contains(chosen, "permutations") {
		h := hits{o.rows}
		if !slices.Contains(chosen, "clickbench") {
			if err := r.load(ctx, h.table(), ndjson, 1); err != nil {
				return err
			}
		}
		return r.permutations(ctx, h.queries(), o)
	}
	return nil
}

// workOnEvents does the work on event data. CSV and Parquet come first, so that the queries ask
// what was read from NDJSON.
func (r *race) workOnEvents(ctx context.Context, chosen []string, o options) error {
	t, loads := r.events.table(o.partitionedBy), 1
	if slices.Contains(chosen, "ingest") {
		loads = o.loads
		shuffled := *t
		shuffled.shuffled = true
		for _, format := range []fileFormat{csv, parquet} {
			if err := r.load(ctx, t, format, loads); err != nil {
				return err
			}
		}
		for _, format := range []fileFormat{csv, parquet, ndjson} {
			if err := r.load(ctx, &shuffled, format, loads); err != nil {
				return err
			}
		}
	}
	if err := r.load(ctx, t, ndjson, loads); err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func() error
	}{
		{"size", func() error { return r.sizes(ctx, t) }},
		{"queries", func() error { return r.queries(ctx, "Event queries", r.events.queries()) }},
		{"clients", func() error { return r.smallQueries(ctx) }},
		{"cold", func() error { return r.cold(ctx, "Event queries, cold", r.events.queries()) }},
	}
	for _, s := range steps {
		if slices.Contains(chosen, s.name) {
			if err := s.do(); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts the engines that take part, and installs the peers if need be.
func start(ctx context.Context, o options, dir string) (list []engine, err error) {
	python := ""
	for _, name := range strings.Split(o.engines, ",") {
		var e engine
		switch name {
		case "henge":
			for _, v := range o.variants() {
				if e, err = startHenge(ctx, v, o.henge, dir, o.memory, o.threads); err != nil {
					return list, err
				}
				list = append(list, e)
			}
			continue
		case "duckdb", "chdb", "duckdb-parquet":
			if python == "" {
				if python, err = setUp(ctx, dir, o.venv); err != nil {
					return list, err
				}
			}
			e, err = startPeer(python, dir, name, o.memory, o.threads)
		case "reference":
			e, err = joinReference(ctx, o.reference)
		default:
			err = fmt.Errorf("-engines: there is no engine called [%s]", name)
		}
		if err != nil {
			return list, err
		}
		list = append(list, e)
	}
	return list, nil
}

// setUp runs setup.sh and returns the Python that has the peers.
func setUp(ctx context.Context, dir, venv string) (string, error) {
	for _, name := range []string{"setup.sh", "requirements.txt"} {
		text, err := setupFiles.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			return "", fmt.Errorf("writing [%s]: %w", name, err)
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "setup.sh"), venv)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("installing the peers: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
