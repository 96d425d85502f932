package exec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// The Longs of a partition have different places in their own order, and a table of them numbers
// keys as others do, also from one on that the array has no place for.
func TestDealtKeysAreNumberedAsOthers(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    int64
		span    uint64
		beyond  int64 // a key outside
		stays   bool
		masked  bool
		expects int
		deals   bool
	}{
		{name: "ids", from: 0, span: 1 << 20, expects: 1 << 10, deals: true, stays: true},
		{name: "around zero", from: -70_000, span: 1 << 18, expects: 1 << 10, deals: true, stays: true},
		{name: "from the least Long", from: math.MinInt64, span: 1 << 18, expects: 1 << 10, deals: true, stays: true},
		{name: "to the greatest Long", from: math.MaxInt64 - 1<<18, span: 1 << 18, expects: 1 << 10, deals: true, stays: true},
		{name: "a key before them", from: 1 << 20, span: 1 << 18, beyond: -1 << 40, expects: 1 << 10, deals: true},
		{name: "a key after them", from: 0, span: 1 << 18, beyond: 1 << 40, expects: 1 << 10, deals: true},
		{name: "too far from each other", from: 0, span: 1 << 40, expects: 1 << 10},
		{name: "with nulls", from: 0, span: 1 << 18, masked: true, expects: 1 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 1))
			var keys []int64
			for len(keys) < 3000 {
				if k := c.from + int64(r.Uint64N(c.span)); dealtTo(uint64(k)) == 3 {
					keys = append(keys, k, k)
				}
			}
			for i, a := range keys {
				b := keys[r.IntN(len(keys))]
				if (a < b) != (dealtPlace(uint64(a)) < dealtPlace(uint64(b))) {
					t.Fatalf("places of %d and %d are %d and %d", a, b, dealtPlace(uint64(a)), dealtPlace(uint64(b)))
				}
				if i == len(keys)/2 && c.beyond != 0 {
					keys[i] = c.beyond
				}
			}
			table := newKeyTable([]vector.Type{long}, nil).sibling()
			table.stride = table.places
			if c.masked {
				table.mask()
			}
			if got := table.deal(dealtRange{c.from, c.from + int64(c.span-1)}, c.expects); got != c.deals {
				t.Fatalf("deal says %v, want %v", got, c.deals)
			}
			numbers := map[int64]uint32{}
			for lo := 0; lo < len(keys); lo += 100 {
				for i, got := range table.find([]*vector.Vector{vector.FromLongs(keys[lo : lo+100])}, 100) {
					want, ok := numbers[keys[lo+i]]
					if !ok {
						want = uint32(len(numbers))
						numbers[keys[lo+i]] = want
					}
					if got != want {
						t.Fatalf("key %d has number [%d], want [%d]", keys[lo+i], got, want)
					}
				}
			}
			if table.dealt != c.stays {
				t.Errorf("the table is dealt in the end: %v, want %v", table.dealt, c.stays)
			}
			out := table.keys(0, table.len())[0]
			for key, number := range numbers {
				if got := out.LongAt(int(number)); got != key {
					t.Errorf("key [%d] is %d, want %d", number, got, key)
				}
			}
		})
	}
}

// Nothing lies within the range of no keys.
func TestNoKeysAreDealt(t *testing.T) {
	if newKeyTable([]vector.Type{long}, nil).deal(noLongs, 100) {
		t.Error("an array was made")
	}
}
