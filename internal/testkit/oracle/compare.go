package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// nearly is how far two doubles may be apart, by the larger of them: sums depend on the order
	// in which their parts are added.
	nearly = 1e-9
	// cancelled is how far they may always be apart: a sum of large values that cancel one another
	// out is zero in one order and what rounding has left in another.
	cancelled = 1e-9
	// Close to the largest double, a variance or a product has lost most of its digits.
	huge, nearlyHuge = 1e300, 1e-3
)

// Differ tells how an engine's rows differ from the oracle's, "" if they do not. Unless the rows
// are ordered, only which rows there are counts. Zeros are equal whatever their sign, since which
// of two equal values represents a group is not defined. Doubles are equal within a tolerance,
// not after rounding: two values on either side of a boundary of rounding are close and round to
// different texts.
func Differ(want, got [][]any, ordered bool) string {
	w, g := measured(want), measured(got)
	if !ordered {
		slices.SortFunc(w, compareRows)
		slices.SortFunc(g, compareRows)
	}
	if len(w) != len(g) {
		return fmt.Sprintf("%d rows, want %d\nwant %s\ngot  %s", len(g), len(w), sample(w), sample(g))
	}
	for i := range w {
		if w[i].near(g[i]) {
			continue
		}
		if !ordered {
			// Doubles in the first cells may have sorted nearly equal rows in different ways.
			i = unmatched(w, g)
		}
		if i >= 0 {
			return fmt.Sprintf("row %d of %d\nwant %s\ngot  %s", i, len(w), w[i], g[i])
		}
		break
	}
	return ""
}

// unmatched pairs each row of want with another row of got that is near it. It returns a row of
// want for which there is none, or -1. Being near is not transitive, so that a row may have to
// leave its partner to another row: these are augmenting paths in a bipartite graph.
func unmatched(want, got []measuredRow) int {
	partner := make([]int, len(got)) // of a row of got, the row of want; -1 while it is free
	for j := range partner {
		partner[j] = -1
	}
	for i := range want {
		if got[i].near(want[i]) && partner[i] < 0 {
			partner[i] = i
			continue
		}
		tried := make(map[int]bool)
		if !augment(want, got, i, partner, tried) {
			return i
		}
	}
	return -1
}

func augment(want, got []measuredRow, i int, partner []int, tried map[int]bool) bool {
	first, _ := slices.BinarySearchFunc(got, want[i], func(g, w measuredRow) int {
		if c := cmp.Compare(g.shape, w.shape); c != 0 {
			return c
		}
		if len(w.numbers) == 0 || near(g.numbers[0], w.numbers[0]) {
			return 0
		}
		return compareNumbers(g.numbers[0], w.numbers[0])
	})
	for j := first; j < len(got) && got[j].shape == want[i].shape; j++ {
		if tried[j] || !got[j].near(want[i]) {
			if !got[j].startsLike(want[i]) {
				break
			}
			continue
		}
		tried[j] = true
		if partner[j] < 0 || augment(want, got, partner[j], partner, tried) {
			partner[j] = i
			return true
		}
	}
	return false
}

// measuredRow is a row apart into its numbers, which are compared with a tolerance, and its
// shape: the text of everything else, with a mark in place of each number.
type measuredRow struct {
	shape   string
	numbers []any // int64, float32 and float64
}

func measured(rows [][]any) []measuredRow {
	out := make([]measuredRow, len(rows))
	for i, row := range rows {
		var shape strings.Builder
		out[i].measure(&shape, row, "(", ", ", ")")
		out[i].shape = shape.String()
	}
	return out
}

const mark = "\x00"

func (r *measuredRow) measure(shape *strings.Builder, cells []any, open, between, end string) {
	shape.WriteString(open)
	for i, v := range cells {
		if i > 0 {
			shape.WriteString(between)
		}
		switch x := v.(type) {
		case nil:
			shape.WriteString("NULL")
		case int64, float32, float64:
			shape.WriteString(mark)
			r.numbers = append(r.numbers, x)
		case string:
			fmt.Fprintf(shape, "%q", x)
		case []any:
			r.measure(shape, x, "[", " ", "]")
		default:
			fmt.Fprint(shape, x)
		}
	}
	shape.WriteString(end)
}

func (r measuredRow) String() string {
	parts := strings.Split(r.shape, mark)
	for i, n := range r.numbers {
		parts[i] += fmt.Sprint(n)
	}
	return strings.Join(parts, "")
}

func (r measuredRow) near(o measuredRow) bool {
	return r.shape == o.shape && slices.EqualFunc(r.numbers, o.numbers, near)
}

// startsLike says that the first numbers of both are near: by them rows of one shape are sorted.
func (r measuredRow) startsLike(o measuredRow) bool {
	return len(r.numbers) == 0 || near(r.numbers[0], o.numbers[0])
}

func compareRows(a, b measuredRow) int {
	if c := cmp.Compare(a.shape, b.shape); c != 0 {
		return c
	}
	return slices.CompareFunc(a.numbers, b.numbers, compareNumbers)
}

func compareNumbers(a, b any) int {
	x, whole := a.(int64)
	y, both := b.(int64)
	if whole && both {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(number(a), number(b))
}

// near says that two numbers are equal: whole ones exactly, others within the tolerance.
func near(a, b any) bool {
	x, whole := a.(int64)
	y, both := b.(int64)
	if whole && both {
		return x == y
	}
	f, g := number(a), number(b)
	if f == g || math.IsNaN(f) && math.IsNaN(g) {
		return true
	}
	large := max(math.Abs(f), math.Abs(g))
	if math.IsInf(large, 0) || math.IsNaN(large) {
		return false
	}
	if large > huge {
		return math.Abs(f/large-g/large) <= nearlyHuge
	}
	return math.Abs(f-g) <= max(cancelled, nearly*large)
}

func sample(rows []measuredRow) string {
	var out []string
	for i, r := range rows {
		if i == 5 {
			out = append(out, "...")
			break
		}
		out = append(out, r.String())
	}
	return strings.Join(out, " ")
}
