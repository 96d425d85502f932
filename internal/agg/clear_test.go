package agg

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hengedb/henge/internal/vector"
)

// A state that was cleared does what a new one does, and leaves alone what it has returned.
func TestClearedStatesAreLikeNewOnes(t *testing.T) {
	args := map[vector.Type][2]*vector.Vector{
		vector.Long:   {vec(vector.Long, int64(5), nil, int64(-7), int64(9)), vec(vector.Long, nil, int64(3), nil, int64(1))},
		vector.Double: {vec(vector.Double, 5.5, nil, -7.0, 9.0), vec(vector.Double, nil, 3.25, nil, 1.0)},
		vector.Float:  {vec(vector.Float, float32(5.5), nil, float32(-7), float32(9)), vec(vector.Float, nil, float32(3), nil, float32(1))},
	}
	for _, name := range []string{"COUNT", "SUM", "AVG", "MIN", "MAX"} {
		for typ, arg := range args {
			t.Run(name+" "+typ.String(), func(t *testing.T) {
				s := Spec{Name: name, Args: []vector.Type{typ}}
				results := func(st State, arg *vector.Vector, groups []uint32, n int) *vector.Vector {
					t.Helper()
					st.Grow(n)
					if err := st.Update([]*vector.Vector{arg}, groups, len(groups)); err != nil {
						t.Fatal(err)
					}
					v, err := st.Final(0, n)
					if err != nil {
						t.Fatal(err)
					}
					return v
				}
				used, err := s.New()
				if err != nil {
					t.Fatal(err)
				}
				fresh, err := s.New()
				if err != nil {
					t.Fatal(err)
				}
				before := results(used, arg[0], []uint32{0, 1, 2, 3}, 6)
				parts := used.Partial(0, 6)
				used.(Clearing).Clear()
				after, want := results(used, arg[1], []uint32{0, 4, 2, 4}, 5), results(fresh, arg[1], []uint32{0, 4, 2, 4}, 5)
				if diff := cmp.Diff(values(want), values(after), cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("-new +cleared:\n%s", diff)
				}
				again, err := s.New()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(values(results(again, arg[0], []uint32{0, 1, 2, 3}, 6)), values(before), cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("results from before have changed:\n%s", diff)
				}
				for i, p := range again.Partial(0, 6) {
					if diff := cmp.Diff(values(p), values(parts[i]), cmpopts.EquateNaNs()); diff != "" {
						t.Errorf("intermediate values from before have changed:\n%s", diff)
					}
				}
			})
		}
	}
}

func values(v *vector.Vector) []any {
	out := make([]any, v.Len)
	for i := range out {
		out[i] = v.ValueAt(i)
	}
	return out
}
