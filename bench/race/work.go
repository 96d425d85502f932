package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"time"
)

// race is one run: its engines, its data, and what was measured.
type race struct {
	engines []engine
	events  *events
	dir     string
	rounds  int
	filter  *regexp.Regexp // names of queries to ask
	seconds time.Duration  // of each number of clients
	// processor says that queries are measured by the processor time of the engines.
	processor bool
	report    *report
}

// turns are the engines in the order of a round: each round another begins.
func (r *race) turns(round int) []engine {
	k := round % len(r.engines)
	return append(slices.Clone(r.engines[k:]), r.engines[:k]...)
}

// load fills a table of every engine, each round anew.
func (r *race) load(ctx context.Context, t *table, format fileFormat, rounds int) error {
	path, err := r.file(ctx, t, format)
	if err != nil {
		return err
	}
	work := fmt.Sprintf("load %s, %d rows of %s", t.name, t.rows, format)
	if t.shuffled {
		work += " in random order"
	}
	entry := newEntry(work, r.engines)
	for round := range rounds {
		for _, e := range r.turns(round) {
			if err := resetPeak(e.pid()); err != nil {
				return err
			}
			source, stays := path, false
			if p, ok := e.(*peer); ok && p.overParquet {
				if source, err = r.file(ctx, t, parquet); err != nil {
					return err
				}
				stays = true // where it is, to be read by each query
			}
			if err := readThrough(source); err != nil {
				return err
			}
			took, err := e.load(ctx, t, source, format)
			if err != nil {
				entry.fail(e, err)
				continue
			}
			if !stays {
				entry.add(e, took)
			}
			if err := r.peak(e, work); err != nil {
				return err
			}
		}
	}
	entry.finish()
	r.report.Loads = append(r.report.Loads, entry)
	for _, e := range r.engines {
		if h, ok := e.(*henge); ok && !entry.failed(e) {
			if err := h.complete(ctx, t, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// readThrough reads a file, so that the system has it in its cache as far as it fits. Otherwise the
// engine that is first would read it from the disk, and the next one what the first one has read.
func readThrough(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// file returns the table as a file; one of Parquet is written by DuckDB, with its defaults.
func (r *race) file(ctx context.Context, t *table, format fileFormat) (string, error) {
	if format != parquet || t.given != "" {
		return t.file(r.dir, format)
	}
	text, err := t.file(r.dir, ndjson)
	if err != nil {
		return "", err
	}
	path := t.path(r.dir, parquet)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	for _, e := range r.engines {
		if p, ok := e.(*peer); ok && p.kind == duckSQL && !p.overParquet {
			_, err := p.run(fmt.Sprintf(`COPY (SELECT * FROM %s) TO '%s' (FORMAT parquet)`, t.duckSource(text, ndjson), path))
			return path, err
		}
	}
	return "", errors.New("files of Parquet are written by DuckDB, which does not take part")
}

// peak keeps the largest memory an engine took for a kind of work.
func (r *race) peak(e engine, work string) error {
	if e.pid() == 0 {
		return nil
	}
	bytes, err := peakMemory(e.pid())
	if err != nil {
		return err
	}
	r.report.memory(work, e, bytes)
	return nil
}

// queries asks every query: once unmeasured, whose answers are compared, then in rounds in which
// the engines take turns.
func (r *race) queries(ctx context.Context, set string, list []query) error {
	group := &querySet{Name: set}
	r.report.Sets = append(r.report.Sets, group)
	for _, e := range r.engines {
		if err := resetPeak(e.pid()); err != nil {
			return err
		}
	}
	for _, q := range list {
		if !r.filter.MatchString(q.name) {
			continue
		}
		entry := newEntry(q.name, r.engines)
		answers := map[string]answer{}
		for _, e := range r.engines {
			a, err := e.ask(ctx, q.sql[e.dialect()])
			if err != nil {
				entry.fail(e, err)
				continue
			}
			answers[e.name()] = a
		}
		entry.compare(r.engines, answers, q)
		for round := range r.rounds {
			for _, e := range r.turns(round) {
				if entry.failed(e) {
					continue
				}
				took, err := r.askOnce(ctx, e, q.sql[e.dialect()])
				if err != nil {
					entry.fail(e, err)
					continue
				}
				entry.add(e, took)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		entry.finish()
		if r.processor {
			maps.Copy(entry.Median, entry.Least) // what is more than the least is other work's doing
		}
		group.Queries = append(group.Queries, entry)
	}
	for _, e := range r.engines {
		if err := r.peak(e, set); err != nil {
			return err
		}
	}
	return r.stillLive(ctx)
}

func (r *race) sizes(ctx context.Context, t *table) error {
	for _, e := range r.engines {
		if h, ok := e.(*henge); ok && h.live > 0 {
			continue // what is not published has no size
		}
		bytes, err := e.size(ctx, t)
		if err != nil {
			return fmt.Errorf("measuring the size of %s: %w", e.name(), err)
		}
		r.report.bytesPerRow(t.name, e, float64(bytes)/float64(t.rows))
	}
	return nil
}

// clientCounts are the numbers of clients that ask small queries at once.
var clientCounts = []int{1, 4, 16, 64}

func (r *race) smallQueries(ctx context.Context) error {
	heavy := r.events.heavyQuery()
	for _, beside := range []bool{false, true} {
		for _, n := range clientCounts {
			for _, e := range r.turns(n) {
				c := crowd{n: n, d: r.seconds}
				for _, q := range r.events.smallQueries() {
					c.statements = append(c.statements, q.sql[e.dialect()])
				}
				if beside {
					c.heavy = heavy.sql[e.dialect()]
				}
				measured, err := e.clients(ctx, c)
				if err != nil {
					return fmt.Errorf("letting %d clients ask %s: %w", n, e.name(), err)
				}
				r.report.clients(e, c, measured)
			}
		}
	}
	return nil
}
