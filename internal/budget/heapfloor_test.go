package budget

import (
	"runtime"
	"testing"
)

var garbage []byte

// collections allocates and drops a total of bytes and returns how many collections that took.
func collections(bytes int) uint32 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range bytes >> 16 {
		garbage = make([]byte, 1<<16)
	}
	runtime.ReadMemStats(&after)
	return after.NumGC - before.NumGC
}

func TestHeapFloorMakesCollectionsRare(t *testing.T) {
	// With many processors, of which the machine has few, or beside other work a collection takes so
	// long that there is time for few, whatever the heap. One round without that is enough.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	const total, rounds = 512 << 20, 10
	var with, without uint32
	for range rounds {
		without = collections(total)
		h := NewHeapFloor(128 << 20)
		with = collections(total)
		h.Stop()
		if with*4 <= without {
			return
		}
	}
	t.Errorf("[%d] collections with a floor, [%d] without, in the last of [%d] rounds", with, without, rounds)
}

func TestHeapFloorLeavesLargeHeapsAlone(t *testing.T) {
	h := &HeapFloor{floor: 64 << 20}
	for live, want := range map[int64]int{0: maxGrowth, 1 << 20: maxGrowth, 16 << 20: 300, 64 << 20: defaultGrowth, 1 << 30: defaultGrowth} {
		if got := h.growth(live); got != want {
			t.Errorf("growth(%d) = %d, want %d", live, got, want)
		}
	}
}
