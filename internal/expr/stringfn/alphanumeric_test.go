package stringfn

import (
	"cmp"
	"slices"
	"testing"
)

func TestAlphanumericKey(t *testing.T) {
	inOrder := []string{"", "0", "00", "1", "01", "2", "10", "10a", "10a2", "10a10", "a", "a1", "a01", "a2b", "a10", "a10b", "ab", "b", "é"}
	shuffled := slices.Clone(inOrder)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, func(x, y string) int { return cmp.Compare(alphanumericKey(x), alphanumericKey(y)) })
	if !slices.Equal(shuffled, inOrder) {
		t.Errorf("sorted: %q, want %q", shuffled, inOrder)
	}
	for _, same := range [][2]string{{"aB1", "Ab1"}, {"x٣", "X3"}} {
		if alphanumericKey(same[0]) != alphanumericKey(same[1]) {
			t.Errorf("%q and %q differ", same[0], same[1])
		}
	}
}
