package keys

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/vector"
)

func words(n, from int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("word %06d", from+i)
	}
	return out
}

// learnt returns the words of all entries of d, asked for in pieces.
func learnt(x *GlobalDict, d *vector.Dict) []uint32 {
	out := x.wordsOf(d)
	codes := make([]uint32, 0, 100)
	for c := range uint32(d.Len()) {
		if codes = append(codes, c); len(codes) == cap(codes) || int(c) == d.Len()-1 {
			x.learn(d, out, codes)
			codes = codes[:0]
		}
	}
	return out
}

// Many goroutines number overlapping dictionaries; everywhere a text has the same number.
func TestGlobalDictNumbersStringOnce(t *testing.T) {
	x := NewGlobalDicts(budget.Root(1<<30)).Of("d", "c")
	dicts := make([]*vector.Dict, 8)
	got := make([][]uint32, len(dicts))
	var all sync.WaitGroup
	for i := range dicts {
		dicts[i] = vector.NewDict(words(3000, i*1000))
		all.Go(func() { got[i] = learnt(x, dicts[i]) })
	}
	all.Wait()
	if n := x.Len(); n != 10_000 {
		t.Errorf("[%d] texts", n)
	}
	texts := x.Dict()
	for i, d := range dicts {
		for c, w := range got[i] {
			if texts.Value(w-1) != d.Value(uint32(c)) {
				t.Fatalf("entry [%d] of dictionary [%d] has the word of [%s]", c, i, texts.Value(w-1))
			}
		}
	}
	if n := x.Number("word 000000"); texts.Value(n) != "word 000000" {
		t.Error("a text has another number than in a dictionary")
	}
	runtime.KeepAlive(dicts)
}

func TestGlobalDictsStayWithinTheirShare(t *testing.T) {
	root := budget.Root(globalDictShare << 19) // 512 KiB for global dictionaries
	l := NewGlobalDicts(root)
	first, second := l.Of("d", "a"), l.Of("d", "b")
	d := vector.NewDict(words(8000, 0))
	learnt(first, d)
	if root.Used() == 0 || first.retired.Load() {
		t.Fatal("a global dictionary within the share was not kept")
	}
	learnt(second, d)
	if !first.retired.Load() || second.retired.Load() {
		t.Error("the global dictionary used least recently did not make room")
	}
	if l.Of("d", "a") == first {
		t.Error("a retired global dictionary was handed out")
	}
	large := l.Of("d", "large")
	learnt(large, vector.NewDict(words(20_000, 0)))
	if !large.retired.Load() || root.Used() > root.Limit()/globalDictShare {
		t.Errorf("[%d] bytes are held", root.Used())
	}
	if l.Of("d", "large") != nil {
		t.Error("a column that is too large has a global dictionary again")
	}
	if n, ok := large.texts.Find("word 019999"); !ok || large.Dict().Value(n) != "word 019999" {
		t.Error("a retired global dictionary does not serve those who have it")
	}
}

// A table that began with a global dictionary goes on, after it was emptied, without one that was
// retired meanwhile.
func TestKeyTableLeavesRetiredGlobalDict(t *testing.T) {
	x := NewGlobalDicts(budget.Root(1<<30)).Of("d", "c")
	table := NewTable([]vector.Type{str}, []*GlobalDict{x})
	keys := []*vector.Vector{vector.FromStrings([]string{"b", "a", "b"})}
	check := func() {
		t.Helper()
		groups := table.Find(keys, 3)
		if groups[0] != 0 || groups[1] != 1 || groups[2] != 0 {
			t.Errorf("groups %v", groups)
		}
		if v := table.Keys(0, 2)[0]; v.StringAt(0) != "b" || v.StringAt(1) != "a" {
			t.Error("keys differ")
		}
	}
	check()
	before := table.Bytes()
	x.retired.Store(true)
	if table.Bytes() <= before {
		t.Error("nobody answers for the memory of a retired global dictionary")
	}
	check()
	table.Reset()
	if table.Cols[0].GlobalDict != nil {
		t.Error("the table still has the global dictionary")
	}
	check()
}

// Words that are looked up in groups, by several goroutines that add what is new, are those of the
// texts, wherever they are to be written.
func TestGlobalDictLooksUpWithoutRemembering(t *testing.T) {
	x := NewGlobalDicts(budget.Root(1<<30)).Of("d", "c")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			d := vector.NewDict(words(5000, g*2000))
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for n := range 300 {
				codes := make([]uint32, n)
				for i := range codes {
					codes[i] = rng.Uint32N(uint32(d.Len()))
				}
				const s = 3
				dst := make([]uint64, n*s)
				x.look(d, codes, dst, s)
				texts := x.Dict()
				for i, c := range codes {
					if got := texts.Value(uint32(dst[i*s]) - 1); got != d.Value(c) || dst[i*s+1] != 0 {
						t.Errorf("entry [%s] has the word of [%s]", d.Value(c), got)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// BenchmarkLearn has a global dictionary of two million texts learn the entries of a segment's
// dictionary, nearly all of which it knows.
func BenchmarkLearn(b *testing.B) {
	const known, entries = 2_000_000, 500_000
	rng := rand.New(rand.NewPCG(7, 7))
	text := func(n uint64) string { return fmt.Sprintf("%016x", n*0x9e3779b97f4a7c15) }
	x := NewGlobalDicts(budget.Root(1<<40)).Of("d", "c")
	codes := make([]uint32, entries)
	for i := range codes {
		codes[i] = uint32(i)
	}
	rng.Shuffle(entries, func(i, j int) { codes[i], codes[j] = codes[j], codes[i] })
	segment := func(choose func(i int) uint64) *vector.Dict {
		texts := make([]string, entries)
		for i := range texts {
			texts[i] = text(choose(i))
		}
		slices.Sort(texts)
		return vector.NewDict(slices.Compact(texts))
	}
	learn := func(d *vector.Dict) {
		words := make([]uint32, d.Len())
		for lo := 0; lo < len(codes); lo += 4096 {
			asked := slices.DeleteFunc(slices.Clone(codes[lo:min(lo+4096, entries)]), func(c uint32) bool { return int(c) >= d.Len() })
			x.learn(d, words, asked)
		}
	}
	for lo := 0; lo < known; lo += entries { // the segments before
		learn(segment(func(i int) uint64 { return uint64(lo + i) }))
	}
	d := segment(func(int) uint64 { return rng.Uint64N(known + known/50) })
	b.ResetTimer()
	for range b.N {
		learn(d)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
}
