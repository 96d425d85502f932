package budget

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// HeapFloor keeps the garbage collector from running before the heap has grown to a floor. Queries
// that hold little and allocate much would otherwise be collected hundreds of times a second: a
// heap of 5 MB is collected at 10 MB, one of 100 MB at 200 MB.
//
// The runtime has no such setting, but it lets the growth be set that starts the next collection. A
// finalizer runs after each collection and sets it from what is live now. ApplyGoLimit still bounds
// the whole.
type HeapFloor struct {
	floor int64

	mu      sync.Mutex
	percent int // the growth that is set, as SetGCPercent takes it
	before  int // what was set when the floor was made
	stopped bool
}

const (
	// defaultGrowth is the runtime's own: collect when the heap has doubled.
	defaultGrowth = 100
	// maxGrowth bounds what is set for a nearly empty heap.
	maxGrowth = 5000
	// hysteresis is by how many percent the wanted growth must differ from the one that is set:
	// setting it stops the program for a moment.
	hysteresis = 20
)

// NewHeapFloor sets a floor of bytes, until Stop.
func NewHeapFloor(bytes int64) *HeapFloor {
	h := &HeapFloor{floor: bytes}
	h.percent = min(maxGrowth, h.growth(liveHeap()))
	h.before = debug.SetGCPercent(h.percent)
	h.watch()
	return h
}

// Stop restores the growth that was set before.
func (h *HeapFloor) Stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped {
		h.stopped = true
		debug.SetGCPercent(h.before)
	}
}

// growth is the percentage at which a heap with this much alive is collected at the floor.
func (h *HeapFloor) growth(live int64) int {
	if live <= 0 {
		return maxGrowth
	}
	return int(min(max(h.floor*100/live-100, defaultGrowth), maxGrowth))
}

// watch leaves an object behind that the next collection finds dead.
func (h *HeapFloor) watch() {
	runtime.SetFinalizer(&struct{ _ [16]byte }{}, func(any) {
		if h.adjust() {
			h.watch()
		}
	})
}

// adjust sets the growth anew; false: the floor was stopped.
func (h *HeapFloor) adjust() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return false
	}
	want := h.growth(liveHeap())
	if diff := want - h.percent; diff*100 > hysteresis*h.percent || -diff*100 > hysteresis*h.percent {
		h.percent = want
		debug.SetGCPercent(want)
	}
	return true
}

// liveHeap returns the bytes that the last collection found alive.
func liveHeap() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(sample[0].Value.Uint64())
}
