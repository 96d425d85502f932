package vector

import (
	"math"
	"testing"
)

func TestOneZeroLeavesNoNegativeZero(t *testing.T) {
	b := NewBuilder(ListOf(Double), 1)
	b.Append([]any{math.Copysign(0, -1), nil, 1.5})
	lists := b.Build()
	for _, v := range []*Vector{lists, lists.Child} {
		made := OneZero(v)
		if made.Type.Kind == KindList {
			made = made.Child
		}
		if math.Signbit(made.DoubleAt(0)) || !made.IsNull(1) || made.DoubleAt(2) != 1.5 {
			t.Errorf("OneZero gives %v", made.Doubles)
		}
	}
	if !math.Signbit(lists.Child.DoubleAt(0)) {
		t.Error("OneZero has changed what it was given")
	}
}
