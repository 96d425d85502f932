package main

import (
	"context"
	"fmt"
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
	report  *report
}

// turns are the engines in the order of a round: each round another begins.
func (r *race) turns(round int) []engine {
	k := round % len(r.engines)
	return append(slices.Clone(r.engines[k:]), r.engines[:k]...)
}

// load fills a table of every engine, each round anew.
func (r *race) load(ctx context.Context, t *table, format fileFormat, rounds int) error {
	path, err := t.file(r.dir, format)
	if err != nil {
		return err
	}
	work := fmt.Sprintf("load %s, %d rows of %s", t.name, t.rows, format)
	entry := newEntry(work, r.engines)
	for round := range rounds {
		for _, e := range r.turns(round) {
			if err := resetPeak(e.pid()); err != nil {
				return err
			}
			took, err := e.load(ctx, t, path, format)
			if err != nil {
				entry.fail(e, err)
				continue
			}
			entry.add(e, took)
			if err := r.peak(e, work); err != nil {
				return err
			}
		}
	}
	entry.finish()
	r.report.Loads = append(r.report.Loads, entry)
	return nil
}

// peak keeps the largest memory an engine took for a kind of work.
func (r *race) peak(e engine, work string) error {
	bytes, err := peakMemory(e.pid())
	if err != nil {
		return err
	}
	r.report.memory(work, e, bytes)
	return nil
}

// queries asks every query: once unmeasured, whose answers are compared, then in rounds in which the engines take turns.
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
		entry.compare(r.engines, answers, q.near)
		for round := range r.rounds {
			for _, e := range r.turns(round) {
				if entry.failed(e) {
					continue
				}
				a, err := e.ask(ctx, q.sql[e.dialect()])
				if err != nil {
					entry.fail(e, err)
					continue
				}
				entry.add(e, a.took)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		entry.finish()
		group.Queries = append(group.Queries, entry)
	}
	for _, e := range r.engines {
		if err := r.peak(e, set); err != nil {
			return err
		}
	}
	return nil
}

func (r *race) sizes(ctx context.Context, t *table) error {
	for _, e := range r.engines {
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
	for _, n := range clientCounts {
		for _, e := range r.turns(n) {
			var statements []string
			for _, q := range r.events.smallQueries() {
				statements = append(statements, q.sql[e.dialect()])
			}
			measured, err := e.clients(ctx, n, r.seconds, statements)
			if err != nil {
				return fmt.Errorf("letting %d clients ask %s: %w", n, e.name(), err)
			}
			r.report.clients(e, n, r.seconds, measured)
		}
	}
	return nil
}
