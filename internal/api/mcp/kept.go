package mcp

import (
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
)

// kept are results of which not all rows were given yet. They are bounded by a number of bytes, and
// reserved from the memory of the process; the oldest ones go first.
type kept struct {
	limits Limits
	memory *budget.Budget
	clock  clock.Clock

	mu struct {
		sync.Mutex
		byID  map[string]*result
		bytes int64
	}
}

// result is that of a query.
type result struct {
	user    string
	made    time.Time
	columns []column
	rows    [][]byte // JSON arrays
	bytes   int64
	// cut says why it has not all rows; "": it has.
	cut string
}

func newKept(l Limits, memory *budget.Budget, c clock.Clock) *kept {
	k := &kept{limits: l, memory: memory, clock: c}
	k.mu.byID = map[string]*result{}
	return k
}

// keep takes a result and returns its id; "": there is no memory for it.
func (k *kept) keep(r *result) string {
	r.made = k.clock.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, other := range k.mu.byID {
		if r.made.Sub(other.made) > k.limits.KeepFor {
			k.dropLocked(id)
		}
	}
	for k.mu.bytes+r.bytes > k.limits.KeptBytes && len(k.mu.byID) > 0 {
		k.dropLocked(k.oldestLocked())
	}
	if k.mu.bytes+r.bytes > k.limits.KeptBytes || !k.memory.TryReserve(r.bytes) {
		return ""
	}
	id := rand.Text()
	k.mu.byID[id] = r
	k.mu.bytes += r.bytes
	return id
}

func (k *kept) oldestLocked() string {
	oldest := ""
	for id, r := range k.mu.byID {
		if oldest == "" || r.made.Before(k.mu.byID[oldest].made) {
			oldest = id
		}
	}
	return oldest
}

func (k *kept) dropLocked(id string) {
	n := k.mu.byID[id].bytes
	delete(k.mu.byID, id)
	k.mu.bytes -= n
	k.memory.Release(n)
}

// handleOf names a row of a result.
func handleOf(id string, row int) string { return id + "." + strconv.Itoa(row) }

// find returns the result and the row that a handle of a user names.
func (k *kept) find(handle, user string) (id string, r *result, row int, ok bool) {
	id, number, found := strings.Cut(handle, ".")
	row, err := strconv.Atoi(number)
	k.mu.Lock()
	defer k.mu.Unlock()
	r = k.mu.byID[id]
	if !found || err != nil || r == nil || r.user != user || row < 0 || row >= len(r.rows) ||
		k.clock.Now().Sub(r.made) > k.limits.KeepFor {
		return "", nil, 0, false
	}
	return id, r, row, true
}
