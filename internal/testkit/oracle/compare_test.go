package oracle

import (
	"math"
	"testing"
)

func TestDiffer(t *testing.T) {
	rows := func(rows ...[]any) [][]any { return rows }
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name      string
		want, got [][]any
		ordered   bool
		equal     bool
	}{
		// To nine digits these are 1.00000001 and 1.00000002.
		{"on either side of a boundary of rounding", rows([]any{1.0000000149999999}), rows([]any{1.0000000150000001}), true, true},
		{"in the sixth digit", rows([]any{1.00001}), rows([]any{1.00002}), true, false},
		{"what rounding left of a sum that cancels", rows([]any{0.0}), rows([]any{-3.5e-11}), true, true},
		{"small and not zero", rows([]any{0.0}), rows([]any{1e-6}), true, false},
		{"zeros", rows([]any{0.0}), rows([]any{math.Copysign(0, -1)}), true, true},
		{"whole numbers are exact", rows([]any{int64(1 << 60)}), rows([]any{int64(1<<60 + 1)}), true, false},
		{"a whole number as a double", rows([]any{int64(3)}), rows([]any{3.0}), true, true},
		{"NaN", rows([]any{nan}), rows([]any{nan}), true, true},
		{"NaN and a number", rows([]any{nan}), rows([]any{1.0}), true, false},
		{"infinities", rows([]any{inf}), rows([]any{inf}), true, true},
		{"infinity and the largest", rows([]any{inf}), rows([]any{math.MaxFloat64}), true, false},
		{"huge", rows([]any{1.7e308}), rows([]any{1.7001e308}), true, true},
		{"huge, other sign", rows([]any{1.7e308}), rows([]any{-1.7e308}), true, false},
		{"a number and its text", rows([]any{1.0}), rows([]any{"1"}), true, false},
		{"a number and NULL", rows([]any{0.0}), rows([]any{nil}), true, false},
		{"in arrays", rows([]any{[]any{0.3, nil}}), rows([]any{[]any{0.1 + 0.2, nil}}), true, true},
		{"arrays of other lengths", rows([]any{[]any{0.3}}), rows([]any{[]any{0.3, 0.3}}), true, false},
		{"order", rows([]any{1.0}, []any{2.0}), rows([]any{2.0}, []any{1.0}), true, false},
		{"no order", rows([]any{1.0}, []any{2.0}), rows([]any{2.0}, []any{1.0}), false, true},
		// The keys sort the rows in opposite ways.
		{"keys that are doubles", rows([]any{0.3, "a", int64(1)}, []any{0.1 + 0.2, "a", int64(2)}),
			rows([]any{0.3, "a", int64(2)}, []any{0.1 + 0.2, "a", int64(1)}), false, true},
		{"keys that are doubles, one count wrong", rows([]any{0.3, int64(1)}, []any{0.1 + 0.2, int64(2)}),
			rows([]any{0.3, int64(2)}, []any{0.1 + 0.2, int64(2)}), false, false},
		// 1 is near the middle row only, which has to leave 1+6e-10 to the last.
		{"a chain of near values", rows([]any{1 + 6e-10, int64(0)}, []any{1.0, int64(0)}),
			rows([]any{1 + 6e-10, int64(0)}, []any{1 + 12e-10, int64(0)}), false, true},
		{"how often a row is there", rows([]any{1.0}, []any{1.0}, []any{2.0}), rows([]any{1.0}, []any{2.0}, []any{2.0}), false, false},
		{"one row fewer", rows([]any{1.0}), nil, false, false},
	} {
		if d := Differ(c.want, c.got, c.ordered); (d == "") != c.equal {
			t.Errorf("%s: %q, want equal: %v", c.name, d, c.equal)
		}
		if d := Differ(c.got, c.want, c.ordered); (d == "") != c.equal {
			t.Errorf("%s, turned round: %q, want equal: %v", c.name, d, c.equal)
		}
	}
}
