package exec

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/vector"
)

// indexed are the groups of workers whose tables all find keys in an array by word, of words that
// mean the same in each. Such arrays are merged side by side, a run of words after the other:
// nothing is hashed, and what a run needs lies in a core's cache.
type indexed struct {
	workers []*grouper
	states  [][]*vector.Vector // by worker: intermediate values of all groups
	least   uint64             // the first word
	run     uint64             // words of a part
}

// indexedPart is how many words a part of indexed groups has at least.
const indexedPart = 1 << 15

// indexedParts returns the groups of workers as parts of the words, nil if they are not indexed
// alike, are few, or their values take more memory than there is.
func indexedParts(workers []*grouper) *groupParts {
	first := workers[0]
	if len(workers) == 1 || first.table == nil || !first.numeric {
		return nil
	}
	least, greatest, total, cells := int64(math.MaxInt64), int64(math.MinInt64), 0, 0
	for _, g := range workers {
		t := g.table
		if t.N == 0 {
			continue
		}
		if t.ByWord == nil || !t.SameWords(first.table) {
			return nil
		}
		least, greatest = min(least, int64(t.Least)), max(greatest, int64(t.Least)+int64(len(t.ByWord)-1))
		total += t.N
		cells += len(t.ByWord)
	}
	span := uint64(greatest) - uint64(least)
	if total < first.env.many.merge || total == first.table.N || span >= 2*uint64(cells) {
		return nil
	}
	values := budget.NewAccount(first.env.Budget)
	if !values.TrySet(8 * int64(total*len(first.states))) {
		return nil
	}
	s := &indexed{workers: workers, states: make([][]*vector.Vector, len(workers)), least: uint64(least)}
	for i, g := range workers {
		for _, st := range g.states {
			s.states[i] = append(s.states[i], st.Partial(0, g.groups())...)
		}
	}
	parts := max(int(span/indexedPart), len(workers))
	s.run = span/uint64(parts) + 1
	return &groupParts{n: parts, takers: parts, build: s.part, free: func() {
		values.Close()
		for _, g := range workers {
			g.close()
		}
	}}
}

// indexedScratch is the memory that making one part takes.
type indexedScratch struct {
	numbers []uint32 // by word: the number + 1 of its group
	words   []uint64 // of the groups
	rows    []uint32 // groups of a worker
	groups  []uint32 // what they are in the part
}

var indexedScratches = sync.Pool{New: func() any { return new(indexedScratch) }}

func (s *indexedScratch) release() {
	invariant.Poison(s.numbers)
	invariant.Poison(s.words)
	invariant.Poison(s.rows)
	invariant.Poison(s.groups)
	indexedScratches.Put(s)
}

// part makes the groups of the words of part p.
func (s *indexed) part(ctx context.Context, p int) (Operator, error) {
	g, err := s.workers[0].sibling()
	if err != nil {
		return nil, err
	}
	g.account = budget.NewAccount(g.env.Budget)
	from := s.least + uint64(p)*s.run
	scratch := indexedScratches.Get().(*indexedScratch)
	scratch.numbers, scratch.words = vector.Sized(scratch.numbers, int(s.run)), scratch.words[:0]
	clear(scratch.numbers)
	for i, w := range s.workers {
		if err = s.merge(g, w.table, s.states[i], from, scratch); err != nil {
			break
		}
	}
	g.table.Words = slices.Clone(scratch.words)
	scratch.release()
	var op Operator
	if err == nil {
		err = g.fit(ctx)
	}
	if err == nil {
		op, err = g.results(ctx)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return op, nil
}

// merge adds what a worker has of the words from `from` on to g, but the words themselves.
func (s *indexed) merge(g *grouper, t *keys.Table, states []*vector.Vector, from uint64, scratch *indexedScratch) error {
	numbers := scratch.numbers
	lo := uint64(0)
	if skip := t.Least - from; skip < uint64(len(numbers)) { // what lies before it wraps around to beyond the end
		lo = skip
	}
	at := from + lo - t.Least
	if at >= uint64(len(t.ByWord)) {
		return nil
	}
	theirs := t.ByWord[at:min(at+uint64(len(numbers))-lo, uint64(len(t.ByWord)))]
	rows, groups, words := vector.Sized(scratch.rows, len(numbers))[:0], vector.Sized(scratch.groups, len(numbers))[:0], scratch.words
	for i, r := range theirs {
		if r == 0 {
			continue
		}
		n := &numbers[lo+uint64(i)]
		if *n == 0 {
			words = append(words, from+lo+uint64(i))
			*n = uint32(len(words))
		}
		rows, groups = append(rows, r-1), append(groups, *n-1)
	}
	scratch.rows, scratch.groups, scratch.words = rows, groups, words
	before := g.table.N
	g.table.N = len(words)
	g.grow(before)
	return g.mergeStates(gathered(states, rows), groups, len(rows))
}
