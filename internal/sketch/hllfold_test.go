package sketch

import (
	"math"
	"testing"
)

func TestSketchesOfSeveralSizesAreUnited(t *testing.T) {
	const n = 5000
	filled := func(log int) *HLL {
		h := NewHLL(log, 0)
		for i := range int64(n) {
			if err := h.AddLong(i); err != nil {
				t.Fatal(err)
			}
		}
		return h
	}
	for _, logs := range [][]int{{12, 8, 8}, {8, 12, 12}, {12, 12, 8}, {12, 8, 12}, {12, 14, 10}, {4, 12, 10}} { // that of the union, then those merged
		u, least := NewHLL(logs[0], 0), logs[0]
		for _, log := range logs[1:] {
			if err := u.Merge(filled(log)); err != nil {
				t.Fatalf("%v: %v", logs, err)
			}
			least = min(least, log)
		}
		got, err := u.Estimate()
		if err != nil {
			t.Fatalf("%v: %v", logs, err)
		}
		if off := math.Abs(got-n) / n; off > 5*1.04/math.Sqrt(float64(int(1)<<least)) {
			t.Errorf("%v: %v of %d", logs, got, n)
		}
		b, err := u.AppendBinary(nil)
		if err != nil || int(b[hllLogAt]) != least {
			t.Errorf("%v: the result has a log of %d, %v", logs, b[hllLogAt], err)
		}
		if _, err := ParseHLL(string(b)); err != nil {
			t.Errorf("%v: %v", logs, err)
		}
	}
}

func TestAFoldedSketchIsThatOfFewerRegisters(t *testing.T) {
	a, b := NewHLL(12, 2), NewHLL(8, 2)
	for i := range int64(3000) {
		for _, h := range []*HLL{a, b} {
			if err := h.AddLong(i); err != nil {
				t.Fatal(err)
			}
		}
	}
	folded, err := fold(a.plain, 8)
	if err != nil {
		t.Fatal(err)
	}
	got, err := folded.GetCompositeEstimate()
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.plain.GetCompositeEstimate()
	if err != nil || got != want {
		t.Errorf("estimate %v, want %v, %v", got, want, err)
	}
}
