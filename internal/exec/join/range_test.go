package join

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMaxTreeFindsTheNextValueThatIsLargeEnough(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for _, n := range []int{0, 1, 31, 32, 33, 1000, 1024, 1025, 40_000} {
		values := make([]int64, n)
		for i := range values {
			values[i] = int64(r.IntN(1 + n*(1+r.IntN(2)))) // few are among the greatest
		}
		tree := newMaxTree(slices.Clone(values))
		for range 500 {
			from, to, limit := r.IntN(n+1), r.IntN(n+1), int64(r.IntN(2*n+2))
			want := max(from, to)
			for i := from; i < to; i++ {
				if values[i] >= limit {
					want = i
					break
				}
			}
			if got := tree.next(from, to, limit); got != want {
				t.Fatalf("of %d values the first of at least %d from %d to %d is at %d, want %d", n, limit, from, to, got, want)
			}
		}
	}
}
