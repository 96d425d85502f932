package keys

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

var long, str = vector.Long, vector.String

// Longs that lie near each other are numbered as others are, wherever they lie and whatever comes
// later.
func TestNearKeysAreNumberedAsOthers(t *testing.T) {
	for name, c := range map[string]struct {
		next func(r *rand.Rand, i int) any
		near bool // in the end
	}{
		"ids":                     {func(r *rand.Rand, i int) any { return r.Int64N(3000) }, true},
		"ids that grow":           {func(r *rand.Rand, i int) any { return int64(i / 2) }, true},
		"ids that fall":           {func(r *rand.Rand, i int) any { return -int64(i) }, true},
		"both ways":               {func(r *rand.Rand, i int) any { return int64(i * (1 - 2*(i%2))) }, true},
		"at the least Long":       {func(r *rand.Rand, i int) any { return math.MinInt64 + r.Int64N(int64(i)+1) }, true},
		"down to the least Long":  {func(r *rand.Rand, i int) any { return math.MinInt64 + max(0, 15_000-int64(i)) }, true},
		"up to the greatest Long": {func(r *rand.Rand, i int) any { return math.MaxInt64 - max(0, 15_000-int64(i)) }, true},
		"far":                     {func(r *rand.Rand, i int) any { return r.Int64() }, false},
		"one that is far":         {func(r *rand.Rand, i int) any { return r.Int64N(3000) + int64(i/19_000)<<40 }, false},
		"the least and greatest": {func(r *rand.Rand, i int) any {
			return []any{r.Int64N(9), int64(math.MinInt64), int64(math.MaxInt64)}[i/19_000*(i%3)]
		}, false},
		"none, and then a null":    {func(r *rand.Rand, i int) any { return []any{r.Int64N(3000), nil}[i/19_000] }, false},
		"too many":                 {func(r *rand.Rand, i int) any { return int64(i) * 70 }, false},
		"many, one of each second": {func(r *rand.Rand, i int) any { return int64(i) * 60 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(41, 1))
			table := NewTable([]vector.Type{long}, nil)
			numbers := map[any]uint32{}
			const rows, batch = 20_000, 100
			for lo := 0; lo < rows; lo += batch {
				b := vector.NewBuilder(long, batch)
				values := make([]any, batch)
				for i := range values {
					values[i] = c.next(r, lo+i)
					b.Append(values[i])
				}
				for i, got := range table.Find([]*vector.Vector{b.Build()}, batch) {
					want, ok := numbers[values[i]]
					if !ok {
						want = uint32(len(numbers))
						numbers[values[i]] = want
					}
					if got != want {
						t.Fatalf("key %v in row %d has number [%d], want [%d]", values[i], lo+i, got, want)
					}
				}
				if lo == 500 {
					table.Approach(1 << 30)
				}
			}
			if table.near != c.near {
				t.Errorf("the table is near: %v, want %v", table.near, c.near)
			}
			keys := table.Keys(0, table.Len())[0]
			for key, number := range numbers {
				if got := keys.ValueAt(int(number)); got != key {
					t.Errorf("key [%d] is %v, want %v", number, got, key)
				}
			}
		})
	}
}

// An array that there is no memory for is not made.
func TestNearKeysTakeNoMemoryThatThereIsNot(t *testing.T) {
	table := NewTable([]vector.Type{long}, nil)
	table.Find([]*vector.Vector{vector.FromLongs([]int64{0, 1, 100})}, 3)
	for i, want := range []bool{false, true} {
		if table.Approach(int64(16*101 + i)); table.near != want {
			t.Errorf("with [%d] bytes the table is near: %v, want %v", 16*101+i, table.near, want)
		}
	}
}
