package exec

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
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
func learnt(x *lexicon, d *vector.Dict) []uint32 {
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
func TestLexiconNumbersTextOnce(t *testing.T) {
	x := NewLexicons(budget.Root(1 << 30)).of(columnName{"d", "c"})
	dicts := make([]*vector.Dict, 8)
	got := make([][]uint32, len(dicts))
	var all sync.WaitGroup
	for i := range dicts {
		dicts[i] = vector.NewDict(words(3000, i*1000))
		all.Go(func() { got[i] = learnt(x, dicts[i]) })
	}
	all.Wait()
	if n := x.len(); n != 10_000 {
		t.Errorf("[%d] texts", n)
	}
	texts := x.dict()
	for i, d := range dicts {
		for c, w := range got[i] {
			if texts.Value(w-1) != d.Value(uint32(c)) {
				t.Fatalf("entry [%d] of dictionary [%d] has the word of [%s]", c, i, texts.Value(w-1))
			}
		}
	}
	if n := x.number("word 000000"); texts.Value(n) != "word 000000" {
		t.Error("a text has another number than in a dictionary")
	}
	runtime.KeepAlive(dicts)
}

// Tables that are put together share the numbers of the first one; texts that are computed have
// none.
func TestUnionsHaveTheLexiconOfTheirFirstTable(t *testing.T) {
	env := &Env{Lexicons: NewLexicons(budget.Root(1 << 20))}
	a, b := scanOf(nil, "s", "word"), scanOf(nil, "word", "s")
	b.DataSource = "other"
	computed := &plan.Project{Input: b, Exprs: []expr.Expr{column(0, str), &expr.Literal{Value: "x", T: expr.Of(expr.Varchar)}}, Names: []string{"a", "b"}}
	if got := env.lexicon(&plan.Union{Ins: []plan.Node{a, b}, Out: a.Out}, 1); got == nil || got != env.lexicon(a, 1) {
		t.Errorf("the union has %v, want that of its first table", got)
	}
	if got := env.lexicon(&plan.Union{Ins: []plan.Node{a, computed}, Out: a.Out}, 0); got == nil || got != env.lexicon(a, 0) {
		t.Errorf("the union has %v, want that of its first table", got)
	}
	if got := env.lexicon(&plan.Union{Ins: []plan.Node{a, computed}, Out: a.Out}, 1); got != nil {
		t.Errorf("a union with computed texts has %v, want none", got)
	}
}

func TestLexiconsStayWithinTheirShare(t *testing.T) {
	root := budget.Root(lexiconShare << 19) // 512 KiB for lexicons
	l := NewLexicons(root)
	first, second := l.of(columnName{"d", "a"}), l.of(columnName{"d", "b"})
	d := vector.NewDict(words(8000, 0))
	learnt(first, d)
	if root.Used() == 0 || first.retired.Load() {
		t.Fatal("a lexicon within the share was not kept")
	}
	learnt(second, d)
	if !first.retired.Load() || second.retired.Load() {
		t.Error("the lexicon used least recently did not make room")
	}
	if l.of(columnName{"d", "a"}) == first {
		t.Error("a retired lexicon was handed out")
	}
	large := l.of(columnName{"d", "large"})
	learnt(large, vector.NewDict(words(20_000, 0)))
	if !large.retired.Load() || root.Used() > root.Limit()/lexiconShare {
		t.Errorf("[%d] bytes are held", root.Used())
	}
	if l.of(columnName{"d", "large"}) != nil {
		t.Error("a column that is too large has a lexicon again")
	}
	if n, ok := large.texts.find("word 019999"); !ok || large.dict().Value(n) != "word 019999" {
		t.Error("a retired lexicon does not serve those who have it")
	}
}

// A table that began with a lexicon goes on, after it was emptied, without one that was retired
// meanwhile.
func TestKeyTableLeavesRetiredLexicon(t *testing.T) {
	x := NewLexicons(budget.Root(1 << 30)).of(columnName{"d", "c"})
	table := newKeyTable([]vector.Type{str}, []*lexicon{x})
	keys := []*vector.Vector{vector.FromStrings([]string{"b", "a", "b"})}
	check := func() {
		t.Helper()
		groups := table.find(keys, 3)
		if groups[0] != 0 || groups[1] != 1 || groups[2] != 0 {
			t.Errorf("groups %v", groups)
		}
		if v := table.keys(0, 2)[0]; v.StringAt(0) != "b" || v.StringAt(1) != "a" {
			t.Error("keys differ")
		}
	}
	check()
	before := table.bytes()
	x.retired.Store(true)
	if table.bytes() <= before {
		t.Error("nobody answers for the memory of a retired lexicon")
	}
	check()
	table.reset()
	if table.cols[0].lexicon != nil {
		t.Error("the table still has the lexicon")
	}
	check()
}

// Words that are looked up in groups, by several goroutines that add what is new, are those of the
// texts, wherever they are to be written.
func TestLexiconLooksUpWithoutRemembering(t *testing.T) {
	x := NewLexicons(budget.Root(1 << 30)).of(columnName{"d", "c"})
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
				texts := x.dict()
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

// BenchmarkLearn has a lexicon of two million texts learn the entries of a segment's dictionary,
// nearly all of which it knows.
func BenchmarkLearn(b *testing.B) {
	const known, entries = 2_000_000, 500_000
	rng := rand.New(rand.NewPCG(7, 7))
	text := func(n uint64) string { return fmt.Sprintf("%016x", n*0x9e3779b97f4a7c15) }
	x := NewLexicons(budget.Root(1 << 40)).of(columnName{"d", "c"})
	for n := range known {
		x.texts.number(text(uint64(n)))
	}
	chosen := make([]string, entries)
	for i := range chosen {
		chosen[i] = text(rng.Uint64N(known + known/50))
	}
	slices.Sort(chosen)
	codes := make([]uint32, entries)
	for i := range codes {
		codes[i] = uint32(i)
	}
	rng.Shuffle(entries, func(i, j int) { codes[i], codes[j] = codes[j], codes[i] })
	b.ResetTimer()
	for range b.N {
		d := vector.NewDict(chosen)
		words := make([]uint32, entries)
		for lo := 0; lo < entries; lo += 4096 {
			x.learn(d, words, codes[lo:min(lo+4096, entries)])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
}
