package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// pair is one figure of two binaries.
type pair struct {
	Henge  figure `json:"henge"`
	Beside figure `json:"beside"`
}

// compare measures the binary and another one in turns, so that what else the machine does in the
// meantime meets both: each round measures every figure of both once.
func (m *measurement) compare(ctx context.Context, other string) ([]pair, error) {
	var rounds [2][][]figure
	for range m.times {
		for i, binary := range []string{m.binary, other} {
			once := *m
			once.binary, once.times = binary, 1
			figures, err := once.all(ctx, false)
			if err != nil {
				return nil, fmt.Errorf("measuring [%s]: %w", binary, err)
			}
			rounds[i] = append(rounds[i], figures)
		}
	}
	return pairs(medians(rounds[0]), medians(rounds[1])), nil
}

// medians makes one list of figures of those of several rounds.
func medians(rounds [][]figure) []figure {
	var out []figure
	for i, f := range rounds[0] {
		values := make([]float64, len(rounds))
		for r := range rounds {
			values[r] = rounds[r][i].Value
		}
		out = append(out, newFigure(f.Name, f.Unit, f.Limit, values))
	}
	return out
}

// pairs joins the figures that both have.
func pairs(henge, beside []figure) []pair {
	byName := map[string]figure{}
	for _, f := range beside {
		byName[f.Name] = f
	}
	var out []pair
	for _, f := range henge {
		if other, ok := byName[f.Name]; ok {
			out = append(out, pair{f, other})
		}
	}
	return out
}

// compared writes the medians of both, and how much the first is of the second.
func compared(henge, beside string, pairs []pair) string {
	a, b := filepath.Base(henge), filepath.Base(beside)
	if a == b {
		a, b = henge, beside
	}
	var out strings.Builder
	fmt.Fprintf(&out, "| | %s | %s | ratio | worst |\n|---|---:|---:|---:|---:|\n", a, b)
	for _, p := range pairs {
		ratio := "-"
		if p.Beside.Value != 0 {
			ratio = fmt.Sprintf("%.3f", p.Henge.Value/p.Beside.Value)
		}
		fmt.Fprintf(&out, "| %s | %.4g %s | %.4g %s | %s | %.4g and %.4g %s |\n", p.Henge.Name, p.Henge.Value, p.Henge.Unit,
			p.Beside.Value, p.Beside.Unit, ratio, p.Henge.Worst, p.Beside.Worst, p.Henge.Unit)
	}
	fmt.Fprintf(&out, "\n%s/%s, %d cores, %s.\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	return out.String()
}
