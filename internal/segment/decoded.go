package segment

import (
	"container/list"
	"runtime"
	"sync"
	"weak"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// decoded are the packed dictionaries that are in memory decoded.
//
// Some are kept, those looked at last first. One that is not kept, or is dropped, is lent: it stays
// valid for whoever holds it, and counts until the garbage collector has found that nobody does.
// The next reader after that decodes it again.
var decoded decodedDicts

type decodedDicts struct {
	sync.Mutex
	account budget.Account // of held and lent
	limit   int64          // of held, in bytes; 0: defaultDecodedBytes, and nobody counts
	memory  *budget.Budget // of the account
	held    int64
	order   list.List // of *fileColumn
	lent    int64
	loans   map[*loan]struct{}
}

// loan is a dictionary that is lent. It has no dictionary while it is being decoded.
type loan struct {
	dict weak.Pointer[vector.Dict]
	size int64
}

// KeepDictionaries charges decoded dictionaries to b, and limits cached dictionaries to a share of
// its limit. The owner of the memory of the process calls it once, before segments are read.
func KeepDictionaries(b *budget.Budget) {
	decoded.Lock()
	defer decoded.Unlock()
	decoded.memory = b.Child("dictionaries", budget.Unlimited)
	decoded.account = budget.NewAccount(decoded.memory)
	decoded.limit = max(b.Limit()/decodedShare, 1)
}

// lend counts the dictionary of so many bytes that is about to be decoded. What is kept and what
// nobody holds any more makes room for it. The error is a fault that says what was needed, as
// noRoom tells.
func (k *decodedDicts) lend(size int64) (*loan, error) {
	k.Lock()
	defer k.Unlock()
	err := k.count(size)
	if err != nil {
		for dropped := int64(0); dropped < size && k.order.Len() > 0; {
			dropped += k.drop(k.oldest())
		}
		runtime.GC()
		k.collect()
		if err = k.count(size); err != nil {
			return nil, err
		}
	}
	l := &loan{size: size}
	if k.loans == nil {
		k.loans = map[*loan]struct{}{}
	}
	k.loans[l] = struct{}{}
	return l, nil
}

// noRoom reports whether an error says that memory does not do to decode a dictionary.
func noRoom(err error) bool {
	f := fault.Find(err)
	return f != nil && f.Legacy == fault.LegacyResourceLimit
}

// count adds to what is lent. The lock is held.
func (k *decodedDicts) count(size int64) error {
	if k.limit > 0 {
		if err := k.account.Set(k.held + k.lent + size); err != nil {
			return err
		}
	}
	k.lent += size
	return nil
}

// end takes a loan off what is lent, unless that was done.
func (k *decodedDicts) end(l *loan) {
	k.Lock()
	defer k.Unlock()
	k.endLocked(l)
}

func (k *decodedDicts) endLocked(l *loan) {
	if _, open := k.loans[l]; !open {
		return
	}
	delete(k.loans, l)
	k.lent -= l.size
	k.settle()
}

// settle makes the account what is held and lent after one of them became less. The lock is held.
func (k *decodedDicts) settle() {
	if k.limit > 0 {
		_ = k.account.Set(k.held + k.lent) // less than before, which does not fail
	}
}

// collect ends the loans of dictionaries that the garbage collector has found nobody to hold. The
// lock is held.
func (k *decodedDicts) collect() {
	for l := range k.loans {
		if l.dict != (weak.Pointer[vector.Dict]{}) && l.dict.Value() == nil {
			k.endLocked(l)
		}
	}
}

// watch makes a loan end when nobody holds its dictionary any more. The lock is held.
func (k *decodedDicts) watch(l *loan, d *vector.Dict) {
	l.dict = weak.Make(d)
	runtime.AddCleanup(d, k.end, l)
}

// keep takes note of a dictionary that c has, which was decoded in memory of a loan, nil: of one
// before.
func (k *decodedDicts) keep(c *fileColumn, d *vector.Dict, l *loan) {
	k.Lock()
	defer k.Unlock()
	if l != nil {
		k.watch(l, d)
	}
	if c.dict.Load() != nil {
		return
	}
	size := dictMemory(d)
	limit := k.limit
	if limit == 0 {
		limit = defaultDecodedBytes
	}
	if size > limit {
		return
	}
	for k.held+size > limit {
		k.drop(k.oldest())
	}
	if k.limit > 0 && k.memory.Free() == 0 { // others need it more
		return
	}
	k.held += size
	for l := range k.loans {
		if l.dict.Value() == d {
			delete(k.loans, l)
			k.lent -= l.size
		}
	}
	k.settle()
	c.kept = k.order.PushFront(c)
	c.dict.Store(d)
}

// oldest returns one that was not read since it was last looked at here, or else the one looked at
// first. The lock is held, and there is one.
func (k *decodedDicts) oldest() *list.Element {
	for range k.order.Len() {
		e := k.order.Back()
		if !e.Value.(*fileColumn).asked.Swap(false) {
			return e
		}
		k.order.MoveToFront(e)
	}
	return k.order.Back()
}

// forget drops the dictionary of c, whose segment is closed.
func (k *decodedDicts) forget(c *fileColumn) {
	k.Lock()
	defer k.Unlock()
	if c.kept != nil {
		k.drop(c.kept)
	}
}

// drop makes a dictionary that is kept one that is lent, and returns its size. The lock is held.
func (k *decodedDicts) drop(e *list.Element) int64 {
	c := k.order.Remove(e).(*fileColumn)
	d := c.dict.Load()
	size := dictMemory(d)
	k.held -= size
	k.lent += size
	l := &loan{size: size}
	k.loans[l] = struct{}{}
	k.watch(l, d)
	c.kept = nil
	c.dict.Store(nil)
	return size
}

// dictMemory is the memory of a dictionary.
func dictMemory(d *vector.Dict) int64 { return int64(cap(d.Blob)) + 4*int64(cap(d.Offsets)) }
