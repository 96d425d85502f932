package stringfn

import (
	"math"
	"testing"
)

func TestExactLong(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"7", 7, true},
		{"-0", 0, true},
		{"007", 7, true},
		{"1e3", 1000, true},
		{"2.0", 2, true},
		{"9223372036854775807.0", math.MaxInt64, true},
		{"9007199254740993.0", 9007199254740993, true},
		{"9223372036854775808", 0, false},
		{"1.9", 0, false},
		{"0.1", 0, false},
		{"1e400", 0, false},
		{"1e-99999999", 0, false},
		{"5f", 0, false},
		{"NaN", 0, false},
		{"true", 0, false},
		{" 7", 0, false},
		{"", 0, false},
	} {
		if n, ok := exactLong(c.text); n != c.want || ok != c.ok {
			t.Errorf("%q: %d %v, want %d %v", c.text, n, ok, c.want, c.ok)
		}
	}
}
