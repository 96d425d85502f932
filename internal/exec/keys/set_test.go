package keys

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

func TestLongKeysAgreeWithAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 1))
	for _, c := range []struct {
		name   string
		n      int
		spread int64
		far    bool // not a bitmap
	}{
		{"none", 0, 1, false}, {"one", 1, 1, false}, {"close", 500, 1000, false}, {"gaps", 100, 40_000, false}, {"far", 300, 1 << 60, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			values := make([]int64, c.n)
			in := map[int64]bool{}
			for i := range values {
				values[i] = r.Int64N(c.spread) - c.spread/2
				in[values[i]] = true
			}
			s := LongSet(values)
			if s.N != len(in) || (s.slots != nil) != c.far {
				t.Fatalf("%d keys, in a hash table: %v, want %d, %v", s.N, s.slots != nil, len(in), c.far)
			}
			for range 2000 {
				x := r.Int64N(2*c.spread) - c.spread
				if s.HasLong(x) != in[x] {
					t.Fatalf("hasLong(%d) is %v", x, !in[x])
				}
				y := x + r.Int64N(50)
				some, every := false, true
				for v := x; v <= y; v++ {
					some, every = some || in[v], every && in[v]
				}
				if s.HasNone(x, y) && some || c.n > 0 && !c.far && s.HasNone(x, y) == some {
					t.Fatalf("hasNone(%d, %d) is %v", x, y, !some)
				}
				if s.HasAll(x, y) && !every || !c.far && s.HasAll(x, y) != every {
					t.Fatalf("hasAll(%d, %d) is %v", x, y, !every)
				}
			}
		})
	}
}

func TestLongKeysAtTheEndsOfTheRange(t *testing.T) {
	ends := []int64{math.MinInt64, math.MaxInt64, 0}
	s := LongSet(ends)
	for _, x := range ends {
		if !s.HasLong(x) {
			t.Errorf("[%d] is not in the set", x)
		}
	}
	if s.N != 3 || s.HasLong(1) || s.HasLong(math.MaxInt64-1) || s.HasNone(math.MinInt64, math.MaxInt64) {
		t.Errorf("the set is not what it was made of: %d keys", s.N)
	}
	top := LongSet([]int64{math.MaxInt64, math.MaxInt64 - 1})
	if !top.HasAll(math.MaxInt64-1, math.MaxInt64) || top.HasLong(math.MinInt64) || !top.HasNone(math.MinInt64, 0) {
		t.Error("the greatest numbers are not a set of two")
	}
	if none := LongSet(nil); none.HasLong(math.MaxInt64) || none.HasLong(math.MinInt64) || !none.HasNone(math.MinInt64, math.MaxInt64) {
		t.Error("the empty set has a key")
	}
}

func TestKeysOfEveryEncoding(t *testing.T) {
	dict := vector.NewDict([]string{"a", "b", "c"})
	nulls := vector.FromStrings([]string{"a", "no", "c"})
	nulls.Valid = vector.FullBitmap(3)
	nulls.Valid.Clear(1)
	for name, c := range map[string]struct {
		v    *vector.Vector
		want []string
	}{
		"flat":     {vector.FromStrings([]string{"a", "c", "a"}), []string{"a", "c"}},
		"codes":    {vector.FromCodes([]uint32{2, 0, 2}, dict), []string{"a", "c"}},
		"constant": {vector.Constant(str, "c", 5), []string{"c"}},
		"nulls":    {nulls, []string{"a", "c"}},
		"all null": {vector.Nulls(str, 3), nil},
	} {
		s := SetOf(c.v)
		if s.N != len(c.want) || s.HasText("no") {
			t.Errorf("%s: %d keys, want %d", name, s.N, len(c.want))
		}
		for _, x := range c.want {
			if !s.HasText(x) {
				t.Errorf("%s: [%s] is missing", name, x)
			}
		}
	}
	if SetOf(vector.FromDoubles([]float64{1})) != nil {
		t.Error("there are no sets of doubles")
	}
	if s := SetOf(vector.Nulls(long, 3)); s.N != 0 {
		t.Errorf("%d keys of nulls", s.N)
	}
}
