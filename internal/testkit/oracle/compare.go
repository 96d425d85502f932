package oracle

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// Differ tells how an engine's rows differ from the oracle's, "" if they do not. Unless the rows are ordered, only which there are counts.
// Zeros are equal whatever their sign, for which of two equal values stands for a group is nobody's promise; doubles are compared to
// nine digits.
func Differ(want, got [][]any, ordered bool) string {
	w, g := texts(want), texts(got)
	if !ordered {
		sort.Strings(w)
		sort.Strings(g)
	}
	if len(w) != len(g) {
		return fmt.Sprintf("%d rows, want %d\nwant %s\ngot  %s", len(g), len(w), sample(w), sample(g))
	}
	for i := range w {
		if w[i] != g[i] {
			return fmt.Sprintf("row %d of %d\nwant %s\ngot  %s", i, len(w), w[i], g[i])
		}
	}
	return ""
}

func sample(rows []string) string {
	if len(rows) > 5 {
		return strings.Join(rows[:5], " ") + " ..."
	}
	return strings.Join(rows, " ")
}

func texts(rows [][]any) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for c, v := range row {
			cells[c] = text(v)
		}
		out[i] = "(" + strings.Join(cells, ", ") + ")"
	}
	return out
}

func text(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case float64, float32:
		f := number(x)
		if f == 0 {
			return "0"
		}
		if math.Abs(f) > 1e300 {
			return fmt.Sprintf("%.3g", f)
		}
		return fmt.Sprintf("%.9g", f)
	case string:
		return fmt.Sprintf("%q", x)
	case []any:
		cells := make([]string, len(x))
		for i, e := range x {
			cells[i] = text(e)
		}
		return "[" + strings.Join(cells, " ") + "]"
	}
	return fmt.Sprint(v)
}
