// Package budget enforces the memory limit of a process, as a tree of reservations: process, query
// or task, operator.
//
// The central type is Budget. Everything that buffers (operators, live indexes, appenders,
// exchanges, caches) reserves before it grows and releases when it shrinks. A reservation counts at
// every level up to the root. If it would exceed the limit of a level, it fails with a fault that
// names the amount, the caller and the limit; the caller then spills (SpillDir), waits, or returns
// the fault. Disk space for spilled data is a second tree of the same type.
//
// There are two ways to reserve. Callers that can spill, evict or use less call TryReserve, which
// never uses the last eighth of the memory of the process, and of the query. Other callers use
// Reserve, which may use that eighth too: the minimum of a query is available even while other
// queries use all that TryReserve grants, and concurrent heavy queries complete instead of failing
// for lack of a buffer.
//
// Budgets count what callers declare; they neither allocate nor measure. ApplyGoLimit sets the
// limit of the garbage collector to the same number.
package budget

import (
	"fmt"
	"sync/atomic"

	"github.com/hengedb/henge/internal/fault"
)

// Unlimited is the limit of a budget that only its parents bound.
const Unlimited int64 = 0

// resource is what a tree counts, in words for messages.
type resource struct {
	noun, setting string
}

var (
	memory = &resource{noun: "memory", setting: "service.memory.limit"}
	disk   = &resource{noun: "disk space for spilled data", setting: "service.spill.limit"}
)

// Budget is a node of the tree. All methods are safe for use by many goroutines, and a nil Budget
// is one without limits that counts nothing.
type Budget struct {
	parent *Budget
	res    *resource
	name   string
	limit  int64 // bytes; Unlimited: none
	spare  int64 // of the limit: what TryReserve leaves for Reserve; of the root and of queries
	used   atomic.Int64
	peak   atomic.Int64
}

// spareShare is which part of the memory of a process TryReserve leaves for Reserve, as a divisor.
// Ten heavy queries at once under a limit that does for none of them took up to a sixth of it.
const spareShare = 8

// Root returns the root of a memory tree with a limit in bytes.
func Root(limit int64) *Budget {
	return &Budget{res: memory, name: "process", limit: limit, spare: limit / spareShare}
}

// DiskRoot returns the root of a tree for spilled data with a limit in bytes.
func DiskRoot(limit int64) *Budget {
	return &Budget{res: disk, name: "process", limit: limit}
}

// Child returns a budget whose reservations also count in b. The name completes "... is needed by
// [name]". Close it when done.
func (b *Budget) Child(name string, limit int64) *Budget {
	if b == nil {
		return &Budget{res: memory, name: name, limit: limit}
	}
	return &Budget{parent: b, res: b.res, name: name, limit: limit}
}

// Query is Child for something whose parts share its limit: of it, too, TryReserve leaves an eighth
// for Reserve, so that one part does not fail because others hold all they could get.
func (b *Budget) Query(name string, limit int64) *Budget {
	q := b.Child(name, limit)
	q.spare = limit / spareShare
	return q
}

// Reserve takes n bytes that the caller can't do without, at every level or at none.
func (b *Budget) Reserve(n int64) error {
	if full := b.take(n, false); full != nil {
		used := full.used.Load()
		return fault.ResourceLimit("Not enough %s: [%s] needs [%d] more bytes (%s), but [%s] already holds [%d] "+
			"of its limit of [%d] bytes (%s). "+
			"Reduce the memory of the query, or raise [%s].",
			b.res.noun, b.name, n, inUnits(n), full.name, used, full.limit, inUnits(full.limit), b.res.setting).
			WithCause(&Exceeded{Disk: b.res == disk, Needed: used + n, Limit: full.limit})
	}
	return nil
}

// inUnits returns a number of bytes in the largest binary unit of which there is at least one.
func inUnits(n int64) string {
	value, unit := float64(n), 0
	units := [...]string{"B", "KiB", "MiB", "GiB", "TiB"}
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Exceeded is the cause of a refused reservation, for those who tell clients in words of their own.
type Exceeded struct {
	Disk bool
	// Needed is how many bytes the limit would have had to be.
	Needed, Limit int64
}

// Error says so.
func (e *Exceeded) Error() string { return "a budget is exceeded" }

// TryReserve takes n bytes at every level, or reports false and takes none. It leaves what is
// spared for Reserve.
func (b *Budget) TryReserve(n int64) bool { return b.take(n, true) == nil }

// take returns the level that refuses, or nil.
func (b *Budget) take(n int64, sparing bool) *Budget {
	if n <= 0 {
		return nil
	}
	for l := b; l != nil; l = l.parent {
		limit := l.limit
		if sparing {
			limit -= l.spare
		}
		if used := l.used.Add(n); l.limit != Unlimited && used > limit {
			for u := b; ; u = u.parent {
				u.used.Add(-n)
				if u == l {
					return l
				}
			}
		}
	}
	for l := b; l != nil; l = l.parent {
		l.raisePeak()
	}
	return nil
}

func (b *Budget) raisePeak() {
	used := b.used.Load()
	for {
		p := b.peak.Load()
		if used <= p || b.peak.CompareAndSwap(p, used) {
			return
		}
	}
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	if n <= 0 {
		return
	}
	for l := b; l != nil; l = l.parent {
		l.used.Add(-n)
	}
}

// Close gives back whatever b still holds. Closing twice does nothing more.
func (b *Budget) Close() {
	if b == nil {
		return
	}
	b.Release(b.used.Load())
}

// Used returns the bytes reserved now, children included.
func (b *Budget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// Peak returns the most bytes that were ever reserved at once.
func (b *Budget) Peak() int64 {
	if b == nil {
		return 0
	}
	return b.peak.Load()
}

// Limit returns the limit in bytes, or Unlimited.
func (b *Budget) Limit() int64 {
	if b == nil {
		return Unlimited
	}
	return b.limit
}

// Free returns how many bytes TryReserve could take now, as far as the levels above have limits;
// without any it is 1<<62.
func (b *Budget) Free() int64 {
	free := int64(1) << 62
	for l := b; l != nil; l = l.parent {
		if l.limit != Unlimited {
			free = min(free, l.limit-l.spare-l.used.Load())
		}
	}
	return max(free, 0)
}
