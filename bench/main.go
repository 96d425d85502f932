// Command bench measures the figures of docs/figures.md on the real binary: the time until it is
// ready, its idle memory, the time until loaded rows can be queried, and its size. It is not a
// test: figures depend on the machine, and nothing fails.
//
//	go run . -henge ../bin/henge
//	go run . -henge ../bin/henge -build -write ../docs/figures.md
//	go run . -henge ../bin/henge -segments 10000
//	go run . -henge ../bin/henge -beside /tmp/henge-before
//
//	go run . -henge ../bin/henge -streams -write ../docs/figures.md
//	go run . -henge ../bin/henge -security -write ../docs/figures.md
//	go run . -henge ../bin/henge -arrow -write ../docs/figures.md
//	go run . -henge ../bin/henge -wire -write ../docs/figures.md
//
// With -segments it starts the server on that many small local segments; docs/operations.md has the
// results. With -generated it loads input of any size in little memory and groups it;
// docs/ingestion.md has the results.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/hengedb/henge/bench/marked"
)

// figure is one measured value with what it should stay below.
type figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	// Worst is the largest of several measurements, Value their median.
	Worst float64 `json:"worst"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	binary := flags.String("henge", "../bin/henge", "the binary to measure")
	beside := flags.String("beside", "", "another binary to measure in the same run, in turns with -henge; the table has a column for each")
	sample := flags.String("wiki", "../../shared/data/wikiticker-2015-09-12-sampled.json.gz", "the sample of a day's edits; without it that figure is left out")
	times := flags.Int("times", 5, "how often each figure is measured; the median counts")
	build := flags.Bool("build", false, "also build the binary with an empty cache, which takes minutes")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	into := flags.String("write", "", "also put the table between <!-- figures --> and <!-- /figures --> of this file")
	generated := flags.Int64("generated", 0, "instead: load so many files of 1 GB, made up while they are read, under -memory, and group them by a key of nearly each row")
	segments := flags.Int("segments", 0, "instead: load so many small segments, and start the server anew on them, after a stop and after kill -9")
	streams := flags.Bool("streams", false,
		"instead: read topics of a real Kafka, which is started (needs Java): the figures of docs/figures.md")
	arrow := flags.Bool("arrow", false, "instead: how fast clients read Arrow; HENGE_PYARROW_PYTHON names a Python with pyarrow")
	security := flags.Bool("security", false, "instead: what access control costs")
	wire := flags.Bool("wire", false, "instead: the PostgreSQL wire, with psycopg of the Python that HENGE_PG_PYTHON names")
	rows := flags.Int64("rows", 1_000_000, "how many rows the queries of -security and -wire read")
	backlog := flags.Int64("backlog", 10_000_000, "how many rows the backlog of -streams has")
	memory := flags.String("memory", "1GiB", "service.memory.limit with -generated")
	dir := flags.String("dir", "", "folder for the servers' data (default: the system's for temporary files)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *times < 1 {
		return errors.New("-times must be at least 1")
	}
	m := &measurement{binary: *binary, sample: *sample, dir: *dir, times: *times, log: stderr}
	if *streams {
		return m.streams(ctx, *backlog, *into, stdout)
	}
	if *arrow {
		return m.arrow(ctx, *into, stdout)
	}
	if *security {
		return m.security(ctx, *rows, *into, stdout)
	}
	if *wire {
		return m.wire(ctx, *rows, *into, stdout)
	}
	if *generated > 0 {
		return m.large(ctx, *generated, *memory, stdout)
	}
	if *beside != "" {
		if *build || *into != "" || *segments > 0 {
			return errors.New("-beside compares binaries: it can't be combined with -build, -write and -segments")
		}
		pairs, err := m.compare(ctx, *beside)
		if err != nil {
			return err
		}
		if *asJSON {
			return writeJSON(stdout, pairs)
		}
		fmt.Fprint(stdout, compared(*binary, *beside, pairs))
		return nil
	}
	measure := func() ([]figure, error) { return m.all(ctx, *build) }
	if *segments > 0 {
		measure = func() ([]figure, error) { return m.segments(ctx, *segments) }
	}
	figures, err := measure()
	if err != nil {
		return err
	}
	if *asJSON {
		if err := writeJSON(stdout, figures); err != nil {
			return err
		}
	} else {
		fmt.Fprint(stdout, table(figures))
	}
	if *into != "" {
		part := "figures"
		if *segments > 0 {
			part = "segments"
		}
		return marked.Replace(*into, part, table(figures))
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table writes the figures as docs/figures.md shows them.
func table(figures []figure) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | median | worst | limit |\n|---|---:|---:|---:|\n")
	for _, f := range figures {
		over, limit := "", ""
		if f.Limit > 0 {
			limit = fmt.Sprintf("%.4g %s", f.Limit, f.Unit)
			if f.Value > f.Limit {
				over = " (over)"
			}
		}
		fmt.Fprintf(&b, "| %s | %.4g %s%s | %.4g %s | %s |\n", f.Name, f.Value, f.Unit, over, f.Worst, f.Unit, limit)
	}
	fmt.Fprintf(&b, "\n%s/%s, %d cores, %s.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	return b.String()
}

// newFigure takes the median and the worst of several values.
func newFigure(name, unit string, limit float64, values []float64) figure {
	slices.Sort(values)
	return figure{Name: name, Value: values[len(values)/2], Worst: values[len(values)-1], Limit: limit, Unit: unit}
}
