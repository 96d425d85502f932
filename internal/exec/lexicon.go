package exec

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// Lexicons number the texts of the columns that queries group by, once for all queries of a
// process. With such numbers the groups of all segments and workers are told apart, and merged,
// without looking at text again. It takes a part of the memory; the columns that were not used for
// longest make room. Safe for use by many goroutines. A nil Lexicons has none: every query then
// numbers texts itself.
type Lexicons struct {
	memory *budget.Budget

	mu struct {
		sync.Mutex
		byColumn map[columnName]*lexicon
		uses     uint64
		// tooLarge are columns whose lexicon would fill most of the memory, which is of no use.
		tooLarge map[columnName]bool
	}
}

// columnName names a column of a datasource.
type columnName struct{ datasource, column string }

// lexiconShare is the part of the process's memory that lexicons may take.
const lexiconShare = 4

// NewLexicons returns lexicons that reserve what they hold from memory, the process's budget.
func NewLexicons(memory *budget.Budget) *Lexicons {
	l := &Lexicons{memory: memory.Child("numbers of texts", memory.Limit()/lexiconShare)}
	l.mu.byColumn, l.mu.tooLarge = map[columnName]*lexicon{}, map[columnName]bool{}
	return l
}

// of returns the lexicon of a column; nil: it has none.
func (l *Lexicons) of(name columnName) *lexicon {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.tooLarge[name] {
		return nil
	}
	x := l.mu.byColumn[name]
	if x == nil {
		x = &lexicon{owner: l, name: name}
		l.mu.byColumn[name] = x
	}
	l.mu.uses++
	x.used = l.mu.uses
	return x
}

// charge makes what is reserved for x so many bytes, at the expense of lexicons that were used less
// recently. When that is refused x is retired.
func (l *Lexicons) charge(x *lexicon, bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !x.retired.Load() {
		more := bytes - x.charged
		if l.memory.TryReserve(more) {
			l.memory.Release(-more)
			x.charged = bytes
			return
		}
		l.retireOldest()
	}
	if limit := l.memory.Limit(); limit != budget.Unlimited && bytes > limit/2 {
		l.mu.tooLarge[x.name] = true
	}
}

// retireOldest gives up the lexicon that was not used for longest. The lock is held.
func (l *Lexicons) retireOldest() {
	var oldest *lexicon
	for _, x := range l.mu.byColumn {
		if oldest == nil || x.used < oldest.used {
			oldest = x
		}
	}
	delete(l.mu.byColumn, oldest.name)
	oldest.retired.Store(true)
	l.memory.Release(oldest.charged)
	oldest.charged = 0
}

// lexicon numbers the texts of one column 0, 1, 2, ... It only grows: a number stands for its text
// as long as anybody has the lexicon. A retired one is not handed out any more, and its memory is
// that of the queries that still have it.
type lexicon struct {
	owner   *Lexicons
	name    columnName
	used    uint64 // and charged: under the owner's lock
	charged int64
	retired atomic.Bool

	mu    sync.RWMutex
	texts interner

	// words are those of the entries of segments' dictionaries, by code: number + 1.
	words vector.DictCache[uint32]
}

// len returns how many texts there are.
func (x *lexicon) len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.texts.len()
}

// number returns the number of s, adding it if it is new.
func (x *lexicon) number(s string) uint32 {
	x.mu.RLock()
	n, ok := x.texts.find(s)
	x.mu.RUnlock()
	if ok {
		return n
	}
	x.mu.Lock()
	n = x.texts.number(s)
	x.mu.Unlock()
	x.charge()
	return n
}

// dict returns the texts so far as a dictionary, of which codes are numbers.
func (x *lexicon) dict() *vector.Dict {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.texts.dict()
}

// owns reports whether d is what dict returns.
func (x *lexicon) owns(d *vector.Dict) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return d == x.texts.made
}

// full reports that no more texts can be numbered.
func (x *lexicon) full() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.texts.blob) > maxInterned
}

// bytes returns the memory held.
func (x *lexicon) bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.texts.bytes() + x.words.Bytes()
}

// charge reserves what is held and what the next texts may add.
func (x *lexicon) charge() {
	x.mu.RLock()
	bytes := x.texts.bytes() + x.words.Bytes()
	if bytes >= smallTable {
		bytes += x.texts.ahead(absorbRows)
	}
	x.mu.RUnlock()
	x.owner.charge(x, bytes)
}

// wordsOf returns the words of d's entries, 0: not asked for yet, and remembers them as long as d
// lives. All who have the slice share it: they read it atomically, and only learn changes it.
func (x *lexicon) wordsOf(d *vector.Dict) []uint32 {
	return x.words.Get(d, func([]uint32) {})
}

// learn sets the words of the entries of d that codes name.
func (x *lexicon) learn(d *vector.Dict, words, codes []uint32) {
	unknown := x.findAll(d, words, codes)
	if len(unknown) == 0 {
		return
	}
	x.addAll(d, words, unknown)
	x.charge()
}

// addAll numbers entries and sets their words.
func (x *lexicon) addAll(d *vector.Dict, words, codes []uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var l lookup
	var found [together]uint32
	for len(codes) > 0 {
		some := codes[:min(together, len(codes))]
		codes = codes[len(some):]
		l.read(d, some)
		x.texts.numberEach(d, some, found[:], &l)
		for i, c := range some {
			atomic.StoreUint32(&words[c], found[i])
		}
	}
}

// look writes the words of the entries of d that codes name to every s-th place of dst, and
// remembers nothing of d.
func (x *lexicon) look(d *vector.Dict, codes []uint32, dst []uint64, s int) {
	var l lookup
	var found [together]uint32
	added := false
	for len(codes) > 0 {
		some := codes[:min(together, len(codes))]
		codes = codes[len(some):]
		l.read(d, some)
		x.mu.RLock()
		x.texts.findEach(d, some, found[:], &l)
		x.mu.RUnlock()
		if slices.Contains(found[:len(some)], 0) {
			x.mu.Lock()
			x.texts.numberEach(d, some, found[:], &l)
			x.mu.Unlock()
			added = true
		}
		for i := range some {
			dst[i*s] = uint64(found[i])
		}
		dst = dst[min(len(some)*s, len(dst)):]
	}
	if added {
		x.charge()
	}
}

// findAll sets the words of entries that have numbers, and returns the codes of the others.
func (x *lexicon) findAll(d *vector.Dict, words, codes []uint32) (unknown []uint32) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var l lookup
	var asked, found [together]uint32
	for len(codes) > 0 {
		n := 0
		for len(codes) > 0 && n < together {
			if atomic.LoadUint32(&words[codes[0]]) == 0 {
				asked[n] = codes[0]
				n++
			}
			codes = codes[1:]
		}
		l.read(d, asked[:n])
		x.texts.findEach(d, asked[:n], found[:], &l)
		for i, c := range asked[:n] {
			if found[i] != 0 {
				atomic.StoreUint32(&words[c], found[i])
			} else {
				unknown = append(unknown, c)
			}
		}
	}
	return unknown
}

// lexicon returns the one of the text column that column of node is, as a scan reads it; nil: it is
// none.
func (e *Env) lexicon(node plan.Node, column int) *lexicon {
	if e.Lexicons == nil {
		return nil
	}
	for {
		switch n := node.(type) {
		case *plan.Scan:
			if c := n.Out[column]; c.Type.Runtime() == vector.String && !c.Type.Multi {
				return e.Lexicons.of(columnName{n.DataSource, c.Name})
			}
			return nil
		case *plan.Filter:
			node = n.Input
		case *plan.Project:
			c, ok := n.Exprs[column].(*expr.Column)
			if !ok {
				return nil
			}
			node, column = n.Input, c.Index
		case *plan.Join:
			if column >= len(n.Left.Columns()) {
				return nil
			}
			node = n.Left
		case *plan.Union:
			for _, in := range n.Ins[1:] {
				if e.lexicon(in, column) == nil {
					return nil
				}
			}
			node = n.Ins[0] // tables that are put together have many texts in common
		default:
			return nil
		}
	}
}
