package agg

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

func TestFrequencies(t *testing.T) {
	words := vec(vector.String, "b", "a", nil, "c", "b", "a", nil, nil)
	floats := vec(vector.Float, float32(1), float32(2), float32(2))
	if got := final(t, Spec{Name: "MODE", Args: []vector.Type{vector.String}}, words); got != "a" {
		t.Errorf("MODE = %v, want the least of those that are as frequent", got)
	}
	if got := final(t, Spec{Name: "MODE", Args: []vector.Type{vector.Float}}, floats); got != float32(2) {
		t.Errorf("MODE = %v", got)
	}
	if got := final(t, Spec{Name: "MODE", Args: []vector.Type{vector.String}}, vec(vector.String, nil)); got != nil {
		t.Errorf("MODE of nothing = %v", got)
	}
	top := Spec{Name: "APPROX_TOP_K", Params: []any{int64(2)}, Args: []vector.Type{vector.String}}
	if diff := cmp.Diff([]any{"a", "b"}, final(t, top, words)); diff != "" {
		t.Error(diff)
	}
}

// TestTopOfMany: of far more values than are kept, the frequent ones are found, whatever the order
// and the number of parts, in bounded memory.
func TestTopOfMany(t *testing.T) {
	spec := Spec{Name: "APPROX_TOP_K", Params: []any{int64(3)}, Args: []vector.Type{vector.Long}}
	var rows []any
	for i := range 100_000 {
		rows = append(rows, int64(1000+i))
	}
	for i, n := range []int{3000, 2000, 1000} {
		for range n {
			rows = append(rows, int64(i))
		}
	}
	rand.New(rand.NewPCG(7, 8)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	all, _ := spec.New()
	all.Grow(1)
	for part := range slices.Chunk(rows, len(rows)/4) {
		s, _ := spec.New()
		s.Grow(1)
		if err := s.Update([]*vector.Vector{vec(vector.Long, part...)}, nil, len(part)); err != nil {
			t.Fatal(err)
		}
		if s.Bytes() > 2*leastKept*64 {
			t.Errorf("a part takes [%d] bytes", s.Bytes())
		}
		if err := all.Merge(s.Partial(0, 1), nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	v, err := all.Final(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{int64(0), int64(1), int64(2)}, v.ValueAt(0)); diff != "" {
		t.Error(diff)
	}
}
