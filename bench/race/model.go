package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hengedb/henge/bench/marked"
)

// modelled are ten queries of the visits with what they read and do for each row: what a model of
// their time is made of.
var modelled = []struct {
	query   string // the beginning of its name
	columns []string
	// passes are the loops over all rows, or over those that are left, that Henge makes of it.
	passes []string
}{
	{"X1 ", []string{"delay"}, []string{"decode delay", "look FLOOR up by delay", "address by key", "look the group up", "count"}},
	{"X7 ", []string{"price"}, []string{"divide", "round", "address by key", "look the group up", "count"}},
	{"X8 ", []string{"__time", "mm"}, []string{"decode __time", "decode mm", "hour", "address by key", "look the group up", "count", "add"}},
	{"P1 ", []string{"country", "ms", "mm", "ml"}, []string{
		"widen country", "decode ms", "decode mm", "decode ml", "multiply", "subtract", "look the group up", "add",
	}},
	{"P3 ", []string{"ms", "mm", "ml"}, []string{"decode ms", "decode mm", "decode ml", "multiply", "subtract", "add 1", "three sums"}},
	{"R1 ", []string{"ml"}, []string{"compare ml as stored", "1 % of the rows: pick and add mm"}},
	{"R2 ", []string{"ml", "mm"}, []string{
		"compare ml as stored", "row numbers of bits", "decode mm", "half of the rows: gather and add mm",
	}},
	{"G1 ", []string{"__time", "city", "campaign", "mm"}, []string{
		"decode __time", "decode mm", "day", "words of keys and mm", "hash", "deal words to partitions",
		"by partition: hash, find or add the group, count, add", "order",
	}},
	{"G3 ", []string{"country", "city", "ml", "mm"}, []string{
		"decode ml", "decode mm", "address by two codes", "look the group up", "count", "add", "raise",
	}},
	{"G4 ", []string{"city", "price", "score"}, []string{"widen city", "look the group up", "two adds", "two counts"}},
}

// model writes for ten queries what they touch, what the memory could do, and what they take.
// Queries were measured by the processor time of one thread.
func (r *race) model(ctx context.Context, rows int, path string) error {
	h, ok := r.engines[0].(*henge)
	set := slices.IndexFunc(r.report.Sets, func(s *querySet) bool { return s.Name == visitsSet })
	if !ok || set < 0 {
		return nil
	}
	sizes, err := h.columnSizes(ctx, "visits")
	if err != nil {
		return err
	}
	bandwidth := memoryBandwidth()
	var b strings.Builder
	fmt.Fprintf(&b, "| | reads, bytes a row | at %.1f GB/s, ns a row | takes, ns a row | passes | ns a pass |\n", bandwidth)
	fmt.Fprintf(&b, "|---|---:|---:|---:|---|---:|\n")
	for _, m := range modelled {
		at := slices.IndexFunc(r.report.Sets[set].Queries, func(e *entry) bool { return strings.HasPrefix(e.Name, m.query) })
		if at < 0 {
			continue
		}
		e := r.report.Sets[set].Queries[at]
		bytes := 0.0
		for _, c := range m.columns {
			bytes += float64(sizes[c]) / float64(rows)
		}
		took := e.Least[hengeName] * 1e6 / float64(rows)
		fmt.Fprintf(&b, "| %s | %s: %.1f | %.2f | %.2f | %d: %s | %.2f |\n", e.Name,
			strings.Join(m.columns, ", "), bytes, bytes/bandwidth, took, len(m.passes), strings.Join(m.passes, "; "), took/float64(len(m.passes)))
	}
	fmt.Fprintf(&b, "\n%d rows, one thread, minimum CPU time of %d rounds, planning and HTTP included. "+
		"Bandwidth: the fastest of several sequential reads of 256 MiB. "+
		"Cycles and cache misses are not counted, because the machine does not expose its counters.\n", rows, r.rounds)
	fmt.Printf("\n%s", b.String())
	if path == "" {
		return nil
	}
	return marked.Replace(path, "model", b.String())
}

// columnSizes returns how many bytes each column of a datasource takes in its segments.
func (h *henge) columnSizes(ctx context.Context, table string) (map[string]int64, error) {
	text, err := h.post(ctx, "/"+h.product+"/v2", map[string]any{
		"queryType": "segmentMetadata", "dataSource": table, "merge": true, "analysisTypes": []string{"size"},
		"intervals": []string{"-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z"},
	})
	if err != nil {
		return nil, err
	}
	var merged []struct {
		Columns map[string]struct{ Size int64 }
	}
	if err := json.Unmarshal(text, &merged); err != nil {
		return nil, fmt.Errorf("reading the sizes of the columns of [%s]: %w", table, err)
	}
	if len(merged) == 0 {
		return nil, fmt.Errorf("datasource [%s] has no segments", table)
	}
	sizes := map[string]int64{}
	for name, c := range merged[0].Columns {
		sizes[name] = c.Size
	}
	return sizes, nil
}

// memoryBandwidth returns how many GB a second one thread reads in order, by the processor time
// that it uses.
func memoryBandwidth() float64 {
	words := make([]uint64, 256<<20/8)
	for i := range words {
		words[i] = uint64(i)
	}
	best := time.Duration(1 << 62)
	for range 10 {
		before := ownTime()
		var a, b, c, d uint64
		for at := 0; at+8 <= len(words); at += 8 {
			w := (*[8]uint64)(words[at:])
			a += w[0] + w[4]
			b += w[1] + w[5]
			c += w[2] + w[6]
			d += w[3] + w[7]
		}
		took := ownTime() - before
		if a+b+c+d == 0 {
			continue // never, but the sums are wanted
		}
		best = min(best, took)
	}
	return float64(8*len(words)) / float64(best.Nanoseconds())
}

// ownTime is what this process has used of processors; nothing else runs in it.
func ownTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
