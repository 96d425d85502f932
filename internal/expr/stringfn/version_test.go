package stringfn

import (
	"cmp"
	"slices"
	"testing"
)

func TestVersionKey(t *testing.T) {
	inOrder := []string{"alpha", "snapshot", "", "sp", "abc", "foo", "1-alpha1", "1-beta", "1-m2", "1-rc1", "1-snapshot", "1", "1-sp",
		"1-abc", "1-1", "1-2", "1.0.0.1",
		"1.0.1", "1.1", "1.10-beta2", "1.10", "2", "10", "123456789012345678901"}
	shuffled := slices.Clone(inOrder)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, func(x, y string) int { return cmp.Compare(versionKey(x), versionKey(y)) })
	if !slices.Equal(shuffled, inOrder) {
		t.Errorf("sorted: %q, want %q", shuffled, inOrder)
	}
	for _, same := range [][2]string{{"1", "1.0.0"}, {"1", "1-ga"}, {"1.Final", "1"}, {"1-cr2", "1-RC2"}, {"1a1", "1-alpha-1"},
		{"01", "1"}, {"-5", "0-5"}, {"", "0"}} {
		if versionKey(same[0]) != versionKey(same[1]) {
			t.Errorf("%q and %q differ: %q, %q", same[0], same[1], versionKey(same[0]), versionKey(same[1]))
		}
	}
}
