package segment

import (
	"container/list"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/vector"
)

// decoded are the packed dictionaries that are kept decoded, those looked at last first. One that is dropped stays valid for whoever holds it;
// the next reader decodes it again.
var decoded decodedDicts

type decodedDicts struct {
	sync.Mutex
	account budget.Account
	limit   int64 // bytes; 0: defaultDecodedBytes, and nobody counts them
	held    int64
	order   list.List // of *fileColumn
}

// KeepDictionaries makes dictionaries that are kept decoded count in b, and bounds them to a share of its limit. It is called once, by
// the owner of the process's memory, before segments are read.
func KeepDictionaries(b *budget.Budget) {
	decoded.Lock()
	defer decoded.Unlock()
	decoded.account = budget.NewAccount(b.Child("dictionaries", budget.Unlimited))
	decoded.limit = max(b.Limit()/decodedShare, 1)
}

// keep takes note of a dictionary that c has decoded.
func (k *decodedDicts) keep(c *fileColumn, d *vector.Dict) {
	k.Lock()
	defer k.Unlock()
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
	for k.limit > 0 && !k.account.TrySet(k.held+size) {
		if k.order.Len() == 0 {
			return
		}
		k.drop(k.oldest())
	}
	k.held += size
	c.kept = k.order.PushFront(c)
	c.dict.Store(d)
}

// oldest returns one that was not read since it was last looked at here, or else the one looked at first. The lock is held, and there is one.
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

// drop is called with the lock held.
func (k *decodedDicts) drop(e *list.Element) {
	c := k.order.Remove(e).(*fileColumn)
	k.held -= dictMemory(c.dict.Load())
	if k.limit > 0 {
		_ = k.account.Set(k.held) // less than before, which does not fail
	}
	c.kept = nil
	c.dict.Store(nil)
}

// dictMemory is the memory of a dictionary.
func dictMemory(d *vector.Dict) int64 { return int64(cap(d.Blob)) + 4*int64(cap(d.Offsets)) }
