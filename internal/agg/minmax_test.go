package agg

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

// Texts that come as codes of changing sorted dictionaries have the extremes that they have as
// texts.
func TestExtremesOfCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for _, name := range []string{"MIN", "MAX"} {
		spec := Spec{Name: name, Args: []vector.Type{vector.String}}
		coded, flat := newState(t, spec), newState(t, spec)
		const groups = 5
		coded.Grow(groups)
		flat.Grow(groups)
		var dict *vector.Dict
		for batch := range 60 {
			if batch%4 == 0 {
				var texts []string
				for range 1 + r.IntN(6) {
					texts = append(texts, fmt.Sprint(r.IntN(100)))
				}
				slices.Sort(texts)
				dict = vector.NewDict(slices.Compact(texts))
				dict.Sorted = true
			}
			n := 1 + r.IntN(8)
			codes, of := make([]uint32, n), make([]uint32, n)
			for i := range codes {
				codes[i], of[i] = uint32(r.IntN(dict.Len())), uint32(r.IntN(groups))
			}
			v := vector.FromCodes(codes, dict)
			if batch%3 == 0 {
				v.Valid = vector.FullBitmap(n)
				v.Valid.Clear(r.IntN(n))
			}
			for s, in := range map[State]*vector.Vector{coded: v, flat: v.Flat()} {
				if err := s.Update([]*vector.Vector{in}, of, n); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(texts(t, flat, groups), texts(t, coded, groups)); diff != "" {
				t.Fatalf("%s after batch %d (-flat +coded):\n%s", name, batch, diff)
			}
		}
	}
}

// Extremes of all rows together are those of a group that has all rows, whatever zeros and NaNs
// come in whatever order.
func TestExtremesWithoutGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 8))
	some := []float64{0, math.Copysign(0, -1), 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 2.5}
	for round := range 300 {
		n, few := 1+r.IntN(9), 1+r.IntN(len(some))
		doubles, longs := make([]float64, n), make([]int64, n)
		for i := range doubles {
			doubles[i], longs[i] = some[r.IntN(few)], r.Int64N(5)-2
		}
		for _, v := range []*vector.Vector{vector.FromDoubles(doubles), vector.FromLongs(longs)} {
			for _, name := range []string{"MIN", "MAX"} {
				spec := Spec{Name: name, Args: []vector.Type{v.Type}}
				whole, grouped := newState(t, spec), newState(t, spec)
				whole.Grow(1)
				grouped.Grow(1)
				for at := 0; at < n; at += 3 {
					part := v.Slice(at, min(at+3, n))
					if err := errors.Join(whole.Update([]*vector.Vector{part}, nil, part.Len),
						grouped.Update([]*vector.Vector{part}, make([]uint32, part.Len), part.Len)); err != nil {
						t.Fatal(err)
					}
				}
				got, err := whole.Final(0, 1)
				want, err2 := grouped.Final(0, 1)
				if err := errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
				if a, b := fmt.Sprint(got.ValueAt(0)), fmt.Sprint(want.ValueAt(0)); a != b { // -0 is shown as such
					t.Fatalf("round %d: %s of %v %v is %s, want %s", round, name, doubles, longs, a, b)
				}
			}
		}
	}
}

func newState(t *testing.T, s Spec) State {
	t.Helper()
	st, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func texts(t *testing.T, s State, groups int) (out []any) {
	t.Helper()
	v, err := s.Final(0, groups)
	if err != nil {
		t.Fatal(err)
	}
	for i := range groups {
		if v.IsNull(i) {
			out = append(out, nil)
		} else {
			out = append(out, v.StringAt(i))
		}
	}
	return out
}
