package segment

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

func TestSortedCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	random := func(n, length int, alphabet string, prefix string) []string {
		out := make([]string, n)
		for i := range out {
			b := []byte(prefix)
			for range r.IntN(length + 1) {
				b = append(b, alphabet[r.IntN(len(alphabet))])
			}
			out[i] = string(b)
		}
		return out
	}
	nested := make([]string, 3000) // each is the beginning of the next
	for i := range nested {
		nested[i] = strings.Repeat("a", i)
	}
	r.Shuffle(len(nested), func(i, j int) { nested[i], nested[j] = nested[j], nested[i] })
	for name, texts := range map[string][]string{
		"none": {}, "one": {"x"}, "few": {"b", "", "a", "a\x00", "b"},
		"short": random(5000, 3, "ab\x00\xff", ""), "long": random(2000, 40, "ab", "https://example.org/"),
		"zeros": random(3000, 30, "\x00", ""), "words": random(5000, 12, "abcdefgh", ""), "equal": slices.Repeat([]string{"the same text"}, 1000), "nested": nested,
	} {
		d := vector.NewDict(texts)
		d.Sorted = false
		want := make([]uint32, len(texts))
		for i := range want {
			want[i] = uint32(i)
		}
		slices.SortStableFunc(want, func(a, b uint32) int { return strings.Compare(texts[a], texts[b]) })
		if got := sortedCodes(d); !slices.Equal(got, want) {
			t.Errorf("%s: [%d] texts are not in order", name, len(texts))
		}
	}
}

// TestInternerThatMayRepeat adds mostly new strings, so that the interner stops looking for each,
// and some that it has.
func TestInternerThatMayRepeat(t *testing.T) {
	x := interner{loose: true}
	var texts []string
	for i := range 4 * looseAfter {
		texts = append(texts, fmt.Sprintf("value-%d", i*7919%(3*looseAfter)))
	}
	numbers := make([]uint32, len(texts))
	for i, s := range texts {
		var err error
		if numbers[i], err = x.add(s); err != nil {
			t.Fatal(err)
		}
	}
	if !x.repeats {
		t.Fatal("the interner still looks for every string")
	}
	dict, codes := x.sorted()
	if n := 3 * looseAfter; dict.Len() != n || !dict.Sorted {
		t.Errorf("[%d] entries, want [%d]", dict.Len(), n)
	}
	for i := 1; i < dict.Len(); i++ {
		if dict.Value(uint32(i-1)) >= dict.Value(uint32(i)) {
			t.Fatalf("entry [%d] does not ascend", i)
		}
	}
	for i, s := range texts {
		if got := dict.Value(codes[numbers[i]]); got != s {
			t.Fatalf("string [%d] is %q, want %q", i, got, s)
		}
	}
}

func BenchmarkSortedCodes(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, format := range map[string]string{"hex": "%08x", "url": "https://example.org/page/%010d"} {
		texts := make([]string, 300_000)
		for i := range texts {
			texts[i] = fmt.Sprintf(format, r.Uint32())
		}
		d := vector.NewDict(texts)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sortedCodes(d)
			}
			b.ReportMetric(float64(len(texts))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mtexts/s")
		})
	}
}
