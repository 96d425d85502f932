package join

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/exec/keys"
)

// onGoroutines runs f n times at once.
func onGoroutines(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	failed := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { failed[i] = f(ctx, i) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// A table of keys finds all rows of each, in their order, however many parts it has and however
// many goroutines build it.
func TestJoinHashFindsTheRowsOfEachKey(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for _, c := range []struct {
		rows, stride, values, threads int
	}{
		{0, 1, 1, 1}, {1, 2, 1, 4}, {300, 1, 40, 1}, {300, 3, 4, 1}, {5000, 1, 1, 1}, {20_000, 2, 60, 4}, {70_000, 1, 1 << 40, 4},
		{70_000, 2, 100, 3}, {100_000, 1, 5, 4},
	} {
		for _, rare := range []int{0, 7} {
			name := fmt.Sprintf("%d rows of %d words, %d values, %d goroutines, every %d without key", c.rows, c.stride, c.values, c.threads, rare)
			t.Run(name, func(t *testing.T) {
				words := make([]uint64, c.rows*c.stride)
				for i := range words {
					words[i] = r.Uint64N(uint64(c.values))
				}
				var without []bool
				if rare > 0 {
					without = make([]bool, c.rows)
				}
				want := map[[3]uint64][]uint32{}
				key := func(row []uint64) (k [3]uint64) {
					copy(k[:], row)
					return k
				}
				several := false
				for i := range c.rows {
					if rare > 0 && r.IntN(rare) == 0 {
						without[i] = true
						continue
					}
					k := key(words[i*c.stride : (i+1)*c.stride])
					want[k] = append(want[k], uint32(i))
					several = several || len(want[k]) > 1
				}
				options := &Options{Threads: c.threads, AtOnce: onGoroutines}
				h, err := newHashTable(t.Context(), words, c.stride, c.rows, without, options)
				if err != nil {
					t.Fatal(err)
				}
				if (h.order != nil) != several {
					t.Fatalf("there is an order: %v, want %v", h.order != nil, several)
				}
				asked := words
				for range 100 * c.stride { // most of them unknown
					asked = append(asked, r.Uint64N(uint64(2*c.values)))
				}
				n := len(asked) / c.stride
				hashes, slots, from, to := make([]uint64, n), make([]uint64, n), make([]uint32, n), make([]uint32, n)
				for i := range hashes {
					hashes[i] = keys.HashWords(asked[i*c.stride : (i+1)*c.stride])
				}
				h.find(asked, hashes, slots, from, to)
				for i := range n {
					var got []uint32
					switch {
					case several:
						got = h.order[from[i]:to[i]]
					case to[i] > 0:
						got = []uint32{to[i] - 1}
					}
					if k := key(asked[i*c.stride : (i+1)*c.stride]); !slices.Equal(got, want[k]) {
						t.Fatalf("key %v has rows %v, want %v", k, got, want[k])
					}
				}
			})
		}
	}
}
