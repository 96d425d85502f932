package segment

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Strings given many at a time get the numbers they get one by one.
func TestInternerTakesMany(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var one, many interner
	texts := make([]string, 1000)
	numbers := make([]uint32, len(texts))
	for round := range 40 {
		for i := range texts {
			texts[i] = fmt.Sprint(r.IntN(100 + 500*round))
		}
		n := r.IntN(len(texts))
		if err := many.addAll(texts[:n], numbers); err != nil {
			t.Fatal(err)
		}
		for i, s := range texts[:n] {
			want, err := one.add(s)
			if err != nil || numbers[i] != want || many.text(want) != s {
				t.Fatalf("round %d: %q is %d, want %d: %v", round, s, numbers[i], want, err)
			}
		}
	}
	if many.len() != one.len() || many.len() < 5000 {
		t.Errorf("%d strings, %d one by one", many.len(), one.len())
	}
}

// Strings of which nearly all are new take no memory anew when it is known how many will come, and
// whatever is expected, they come out the same.
func TestInternerExpectsStrings(t *testing.T) {
	const n = 4 * looseAfter
	for _, c := range []struct {
		expected int
		bytes    int64
		reserved bool
	}{{0, 1 << 30, false}, {100, 1 << 30, false}, {n, 1 << 30, true}, {n, 1000, false}} {
		x := interner{loose: true, expected: c.expected, expectedBytes: c.bytes}
		moved := 0
		for i := range n {
			before := cap(x.blob)
			if number, err := x.add(fmt.Sprintf("%07d", i)); err != nil || x.text(number) != fmt.Sprintf("%07d", i) {
				t.Fatal(i, number, err)
			}
			if x.repeats && cap(x.blob) != before {
				moved++
			}
		}
		if !x.repeats || c.reserved != (moved == 1) {
			t.Errorf("[%d] expected: memory was taken [%d] times", c.expected, moved)
		}
		if d, codes := x.sorted(); d.Len() != n || codes[n-1] != n-1 {
			t.Errorf("[%d] strings", d.Len())
		}
	}
}

func BenchmarkIntern(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, distinct := range []int{1000, 50_000, 1_000_000} {
		texts := make([]string, 650_000)
		for i := range texts {
			texts[i] = fmt.Sprintf("%016x", uint64(r.IntN(distinct))*0x9e3779b97f4a7c15)
		}
		numbers := make([]uint32, 4096)
		b.Run(fmt.Sprint(distinct, "/one"), func(b *testing.B) {
			for b.Loop() {
				var x interner
				for _, s := range texts {
					if _, err := x.add(s); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(fmt.Sprint(distinct, "/many"), func(b *testing.B) {
			for b.Loop() {
				var x interner
				for lo := 0; lo < len(texts); lo += len(numbers) {
					if err := x.addAll(texts[lo:min(lo+len(numbers), len(texts))], numbers); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
