package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// summary is what readers of docs/figures.md want to know: one line for each kind of work, as
// ratios of the peers to Henge.
func (r *report) summary() string {
	var peers []string
	for _, name := range slices.Sorted(maps.Keys(r.Conditions.Versions)) {
		if name != hengeName {
			peers = append(peers, name)
		}
	}
	slices.SortStableFunc(peers, func(a, b string) int { // DuckDB first: it is the nearest
		return strings.Compare(strings.Replace(a, duckName, " ", 1), strings.Replace(b, duckName, " ", 1))
	})
	var b strings.Builder
	fmt.Fprint(&b, "| |")
	rule := "|---|"
	for _, p := range peers {
		fmt.Fprintf(&b, " %s %s |", p, r.Conditions.Versions[p])
		rule += "---:|"
	}
	fmt.Fprintf(&b, "\n%s\n", rule)
	line := func(what string, cell func(peer string) string) {
		fmt.Fprintf(&b, "| %s |", what)
		for _, p := range peers {
			fmt.Fprintf(&b, " %s |", cell(p))
		}
		fmt.Fprintln(&b)
	}
	for _, s := range r.Sets {
		line(fmt.Sprintf("%s, %d queries: time relative to Henge, geometric mean; minimum and maximum", s.Name, len(s.Queries)), func(peer string) string {
			mean, least, most := s.ratios(peer)
			return fmt.Sprintf("%.2f; %.2f to %.1f", mean, least, most)
		})
	}
	for _, l := range r.Loads {
		if rows := r.Conditions.Rows; strings.Contains(l.Name, fmt.Sprintf(" %d rows ", rows)) {
			line(l.Name+": time relative to Henge", func(peer string) string { return number(l.Median[peer] / l.Median[hengeName]) })
		}
	}
	for _, t := range slices.Sorted(maps.Keys(r.BytesPerRow)) {
		line(fmt.Sprintf("bytes per row of %s; Henge %.1f", t, r.BytesPerRow[t][hengeName]), func(peer string) string {
			return fmt.Sprintf("%.1f", r.BytesPerRow[t][peer])
		})
	}
	for _, ours := range r.Clients {
		if ours.Engine != hengeName || ours.Clients != clientCounts[len(clientCounts)-1] {
			continue
		}
		beside := ""
		if ours.BesideHeavy {
			beside = " beside a heavy query"
		}
		line(fmt.Sprintf("%d clients of small queries%s, per second and p99; Henge %.0f, %.0f ms", ours.Clients, beside, ours.PerSecond, ours.P99), func(peer string) string {
			for _, m := range r.Clients {
				if m.Engine == peer && m.Clients == ours.Clients && m.BesideHeavy == ours.BesideHeavy {
					return fmt.Sprintf("%.0f, %.0f ms", m.PerSecond, m.P99)
				}
			}
			return "-"
		})
	}
	for _, ours := range r.Permutations {
		if ours.Engine != hengeName {
			continue
		}
		line(fmt.Sprintf("%d connections ask %d statements in orders of their own for %.0f s, answers per second and p99; Henge %.1f, %.0f ms",
			ours.Connections, ours.Statements, ours.Seconds, ours.PerSecond, ours.P99), func(peer string) string {
			for _, p := range r.Permutations {
				if p.Engine == peer {
					return fmt.Sprintf("%.1f, %.0f ms", p.PerSecond, p.P99)
				}
			}
			return "-"
		})
	}
	c := r.Conditions
	fmt.Fprintf(&b, "\n%d rows, %d threads of %d processors, medians of %d rounds. "+
		"`make compare RACE=\"-rows %d -write ../docs/figures.md\"` measures them again.\n",
		c.Rows, c.Threads, c.Processors, c.Rounds, c.Rows)
	return b.String()
}

// ratios are how many times as long as Henge a peer took: the geometric mean, the least and the
// most.
func (r *querySet) ratios(peer string) (mean, least, most float64) {
	sum, n := 0.0, 0
	least = math.Inf(1)
	for _, q := range r.Queries {
		ours, theirs := q.Median[hengeName], q.Median[peer]
		if ours == 0 || theirs == 0 {
			continue
		}
		ratio := theirs / ours
		sum, n = sum+math.Log(ratio), n+1
		least, most = min(least, ratio), max(most, ratio)
	}
	return math.Exp(sum / float64(n)), least, most
}
