package stringfn

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumericOrder(t *testing.T) {
	ordered := []string{
		"", " 7", "0x10", "1,000", "2020-01-01", "7 ", "FALSE", "Infinity", "NaN", "abc", "true",
		"-9223372036854775808", "-5", "-1.9", "0", "0.1", ".5", "1", "2.5", "+3", "007", "99", "1e3", "9223372036854775807",
		"12345678901234567890", "1E400",
	}
	got := slices.Clone(ordered)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, func(a, b string) int {
		ka, kb := numericOrderKey(a), numericOrderKey(b)
		switch {
		case ka < kb:
			return -1
		case ka > kb:
			return 1
		}
		return 0
	})
	if d := cmp.Diff(ordered, got); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	if numericOrderKey("-0") != numericOrderKey("0.0") {
		t.Error("-0 and 0.0 are not the same number")
	}
}
