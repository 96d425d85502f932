package keys

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/vector"
)

// GlobalDicts number the strings of group columns once for all queries of a process. Operators
// distinguish and merge the groups of all segments and workers by these numbers, without comparing
// strings. They use a limited part of the memory; the least recently used columns are evicted. Safe
// for use by many goroutines. With nil GlobalDicts, every query numbers strings itself.
type GlobalDicts struct {
	memory *budget.Budget

	mu struct {
		sync.Mutex
		byColumn map[columnName]*GlobalDict
		uses     uint64
		// tooLarge are columns whose global dictionary would fill most of the memory, which is of no use.
		tooLarge map[columnName]bool
	}
}

// columnName names a column of a datasource.
type columnName struct{ datasource, column string }

// globalDictShare is the part of the process's memory that global dictionaries may take.
const globalDictShare = 4

// NewGlobalDicts returns global dictionaries that reserve their memory from the budget of the
// process.
func NewGlobalDicts(memory *budget.Budget) *GlobalDicts {
	l := &GlobalDicts{memory: memory.Child("numbers of texts", memory.Limit()/globalDictShare)}
	l.mu.byColumn, l.mu.tooLarge = map[columnName]*GlobalDict{}, map[columnName]bool{}
	return l
}

// Of returns the global dictionary of a column of a datasource, or nil.
func (l *GlobalDicts) Of(dataSource, column string) *GlobalDict {
	if l == nil {
		return nil
	}
	name := columnName{dataSource, column}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.tooLarge[name] {
		return nil
	}
	x := l.mu.byColumn[name]
	if x == nil {
		x = &GlobalDict{owner: l, name: name}
		l.mu.byColumn[name] = x
	}
	l.mu.uses++
	x.used = l.mu.uses
	return x
}

// charge makes what is reserved for x so many bytes, at the expense of global dictionaries that
// were used less recently. When that is refused x is retired.
func (l *GlobalDicts) charge(x *GlobalDict, bytes int64) {
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

// retireOldest gives up the global dictionary that was not used for longest. The lock is held.
func (l *GlobalDicts) retireOldest() {
	var oldest *GlobalDict
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

// GlobalDict numbers the strings of one column 0, 1, 2, ... It only grows: a number is valid as
// long as the global dictionary is in use. A retired dictionary is no longer returned by Of, and
// the queries that still use it account for its memory.
type GlobalDict struct {
	owner   *GlobalDicts
	name    columnName
	used    uint64 // and charged: under the owner's lock
	charged int64
	retired atomic.Bool

	mu    sync.RWMutex
	texts Interner

	order textOrder

	// words are those of the entries of segments' dictionaries, by code: number + 1.
	words vector.DictCache[uint32]
}

// Len returns the number of strings.
func (x *GlobalDict) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.texts.Len()
}

// Number returns the number of s, and adds s if it is new.
func (x *GlobalDict) Number(s string) uint32 {
	x.mu.RLock()
	n, ok := x.texts.Find(s)
	x.mu.RUnlock()
	if ok {
		return n
	}
	x.mu.Lock()
	n = x.texts.Number(s)
	x.mu.Unlock()
	x.charge()
	return n
}

// Dict returns the current strings as a dictionary whose codes are the numbers.
func (x *GlobalDict) Dict() *vector.Dict {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.texts.Dict()
}

// owns reports whether d is what dict returns.
func (x *GlobalDict) owns(d *vector.Dict) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return d == x.texts.made
}

// Full reports whether no more strings can be numbered.
func (x *GlobalDict) Full() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.texts.blob) > maxInterned
}

// Bytes returns the memory held.
func (x *GlobalDict) Bytes() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.texts.Bytes() + x.words.Bytes() + x.order.bytes.Load()
}

// charge reserves what is held and what the next texts may add.
func (x *GlobalDict) charge() {
	x.mu.RLock()
	bytes := x.texts.Bytes() + x.words.Bytes() + x.order.bytes.Load()
	if bytes >= SmallTable {
		bytes += x.texts.Ahead(AbsorbRows)
	}
	x.mu.RUnlock()
	x.owner.charge(x, bytes)
}

// wordsOf returns the words of d's entries, 0: not asked for yet, and remembers them as long as d
// lives. All who have the slice share it: they read it atomically, and only learn changes it.
func (x *GlobalDict) wordsOf(d *vector.Dict) []uint32 {
	return x.words.Get(d, func([]uint32) {})
}

// learn sets the words of the entries of d that codes name, and of all others of a large sorted
// dictionary, if there is room for them: its words are only kept when many rows ask for them
// (useMemo).
func (x *GlobalDict) learn(d *vector.Dict, words, codes []uint32) {
	if len(words) < leastWhole || !d.Sorted || !x.learnWhole(d, words) {
		x.learnSome(d, words, codes)
	}
	x.charge()
}

func (x *GlobalDict) learnSome(d *vector.Dict, words, codes []uint32) {
	unknown := x.findAll(d, words, codes)
	if len(unknown) > 0 {
		x.addAll(d, words, unknown)
	}
}

// addAll numbers entries and sets their words.
func (x *GlobalDict) addAll(d *vector.Dict, words, codes []uint32) {
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

// look writes the words of the entries of d that codes name to every s-th position of dst, and
// remembers nothing of d.
func (x *GlobalDict) look(d *vector.Dict, codes []uint32, dst []uint64, s int) {
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
func (x *GlobalDict) findAll(d *vector.Dict, words, codes []uint32) (unknown []uint32) {
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
