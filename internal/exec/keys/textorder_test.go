package keys

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/vector"
)

// oddTexts returns sorted distinct texts, n of those with numbers below of; many begin alike or
// differ in zero bytes at their end.
func oddTexts(r *rand.Rand, n, of int) []string {
	seen := map[string]bool{}
	for len(seen) < n {
		i := r.IntN(of)
		switch i % 4 {
		case 0:
			seen[fmt.Sprintf("%x", i)] = true
		case 1:
			seen[fmt.Sprintf("https://www.example.org/%07d", i)] = true
		case 2:
			seen[string(make([]byte, i%9))+fmt.Sprint(i/9)] = true
		default:
			seen[fmt.Sprint(i/9)+string(make([]byte, i%9))] = true
		}
	}
	out := make([]string, 0, n)
	for s := range seen {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// Large dictionaries are learnt as a whole while others are asked for in part and texts are
// numbered one by one. A text has one number everywhere, and the order has each text once.
func TestDictionariesAreMergedWithTheOrder(t *testing.T) {
	const seed = 7
	x := NewGlobalDicts(budget.Root(1<<30)).Of("d", "c")
	dicts := make([]*vector.Dict, 5)
	got := make([][]uint32, len(dicts))
	var all sync.WaitGroup
	for i := range dicts {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		size := leastWhole + r.IntN(leastWhole)
		if i%4 == 3 {
			size = 100 + r.IntN(1000) // these stay below what is learnt as a whole
		}
		dicts[i] = vector.NewDict(oddTexts(r, size, 100_000))
		all.Go(func() {
			words := x.wordsOf(dicts[i])
			codes := make([]uint32, dicts[i].Len())
			for c := range codes {
				codes[c] = uint32(c)
			}
			r.Shuffle(len(codes), func(a, b int) { codes[a], codes[b] = codes[b], codes[a] })
			for lo := 0; lo < len(codes); lo += 2000 {
				x.learn(dicts[i], words, codes[lo:min(lo+2000, len(codes))])
				x.Number(dicts[i].Value(codes[lo]) + "!")
			}
			got[i] = words
		})
	}
	all.Wait()
	texts, number := x.Dict(), map[string]uint32{}
	for i, d := range dicts {
		for c, w := range got[i] {
			s := d.Value(uint32(c))
			if w == 0 || texts.Value(w-1) != s {
				t.Fatalf("seed %d: entry [%d] of dictionary [%d], [%q], has word [%d]", seed, c, i, s, w)
			}
			if n, known := number[s]; known && n != w {
				t.Fatalf("seed %d: text [%q] has the numbers [%d] and [%d]", seed, s, n, w)
			}
			number[s] = w
		}
	}
	if len(x.order.numbers) < leastWhole || len(x.order.heads) != len(x.order.numbers) {
		t.Fatalf("the order has [%d] texts, [%d] heads", len(x.order.numbers), len(x.order.heads))
	}
	for i, n := range x.order.numbers {
		if s := texts.Value(n); i > 0 && texts.Value(x.order.numbers[i-1]) >= s || x.order.heads[i] != vector.PrefixWord([]byte(s)) {
			t.Fatalf("seed %d: place [%d] of the order has [%q] behind [%q]", seed, i, s, texts.Value(x.order.numbers[max(i-1, 0)]))
		}
	}
}

// A dictionary that is small beside the order is learnt as a whole without passing over the order.
func TestASmallDictionaryBesideALargeOrder(t *testing.T) {
	x := NewGlobalDicts(budget.Root(1<<30)).Of("d", "c")
	large := vector.NewDict(words(leastWhole*(mergeShare+2), 0))
	few := make([]uint32, large.Len()/8)
	for i := range few {
		few[i] = uint32(i * 8)
	}
	x.learn(large, x.wordsOf(large), few)
	if n := x.Len(); n != large.Len() || len(x.order.numbers) != n {
		t.Fatalf("[%d] texts, [%d] in order, of [%d]", n, len(x.order.numbers), large.Len())
	}
	small := vector.NewDict(words(leastWhole+100, large.Len()-leastWhole))
	got := x.wordsOf(small)
	x.learn(small, got, few[:small.Len()/8])
	texts := x.Dict()
	for c, w := range got {
		if w == 0 || texts.Value(w-1) != small.Value(uint32(c)) {
			t.Fatalf("entry [%d] has word [%d]", c, w)
		}
	}
	if len(x.order.numbers) != large.Len() {
		t.Errorf("the order was passed over for a small dictionary: [%d] texts", len(x.order.numbers))
	}
}

// Where there is no memory for the texts of a whole dictionary, only those that are asked for are
// numbered.
func TestADictionaryForWhichThereIsNoRoom(t *testing.T) {
	x := NewGlobalDicts(budget.Root(globalDictShare<<20)).Of("d", "c")
	d := vector.NewDict(words(leastWhole+10, 0))
	got := x.wordsOf(d)
	x.learn(d, got, []uint32{7, 3, 7, leastWhole})
	for c, w := range got {
		if asked := c == 3 || c == 7 || c == leastWhole; asked != (w != 0) {
			t.Fatalf("entry [%d] has word [%d]", c, w)
		}
	}
	if used := x.owner.memory.Used(); used != x.charged {
		t.Errorf("[%d] bytes are reserved, [%d] charged", used, x.charged)
	}
}
