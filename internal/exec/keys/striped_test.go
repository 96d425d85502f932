package keys

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// The Longs of a partition have different positions in their own order, and a table of them numbers
// keys as others do, also from one on that the array has no room for.
func TestStripedKeysAreNumberedAsOthers(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    int64
		span    uint64
		beyond  int64 // a key outside
		stays   bool
		masked  bool
		expects int
		indexed bool
	}{
		{name: "ids", from: 0, span: 1 << 20, expects: 1 << 10, indexed: true, stays: true},
		{name: "around zero", from: -70_000, span: 1 << 18, expects: 1 << 10, indexed: true, stays: true},
		{name: "from the least Long", from: math.MinInt64, span: 1 << 18, expects: 1 << 10, indexed: true, stays: true},
		{name: "to the greatest Long", from: math.MaxInt64 - 1<<18, span: 1 << 18, expects: 1 << 10, indexed: true, stays: true},
		{name: "a key before them", from: 1 << 20, span: 1 << 18, beyond: -1 << 40, expects: 1 << 10, indexed: true},
		{name: "a key after them", from: 0, span: 1 << 18, beyond: 1 << 40, expects: 1 << 10, indexed: true},
		{name: "too far from each other", from: 0, span: 1 << 40, expects: 1 << 10},
		{name: "with nulls", from: 0, span: 1 << 18, masked: true, expects: 1 << 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 1))
			var keys []int64
			for len(keys) < 3000 {
				if k := c.from + int64(r.Uint64N(c.span)); StripedPartition(uint64(k)) == 3 {
					keys = append(keys, k, k)
				}
			}
			for i, a := range keys {
				b := keys[r.IntN(len(keys))]
				if (a < b) != (stripedPosition(uint64(a)) < stripedPosition(uint64(b))) {
					t.Fatalf("positions of %d and %d are %d and %d", a, b, stripedPosition(uint64(a)), stripedPosition(uint64(b)))
				}
				if i == len(keys)/2 && c.beyond != 0 {
					keys[i] = c.beyond
				}
			}
			table := NewTable([]vector.Type{long}, nil).Sibling()
			table.Stride = table.KeyWords
			if c.masked {
				table.Mask()
			}
			if got := table.IndexStripes(LongRange{c.from, c.from + int64(c.span-1)}, c.expects); got != c.indexed {
				t.Fatalf("IndexStripes says %v, want %v", got, c.indexed)
			}
			numbers := map[int64]uint32{}
			for lo := 0; lo < len(keys); lo += 100 {
				for i, got := range table.Find([]*vector.Vector{vector.FromLongs(keys[lo : lo+100])}, 100) {
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
			if table.striped != c.stays {
				t.Errorf("the table is striped in the end: %v, want %v", table.striped, c.stays)
			}
			out := table.Keys(0, table.Len())[0]
			for key, number := range numbers {
				if got := out.LongAt(int(number)); got != key {
					t.Errorf("key [%d] is %d, want %d", number, got, key)
				}
			}
		})
	}
}

// Nothing lies within the range of no keys.
func TestNoKeysAreStriped(t *testing.T) {
	if NewTable([]vector.Type{long}, nil).IndexStripes(NoLongs, 100) {
		t.Error("an array was made")
	}
}
