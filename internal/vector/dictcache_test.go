package vector

import (
	"runtime"
	"testing"
)

func TestDictCacheComputesOnceAndForgetsDeadDictionaries(t *testing.T) {
	var c DictCache[uint32]
	d := NewDict([]string{"a", "b", "c"})
	if c.Known(d) != nil {
		t.Error("something is known of a new dictionary")
	}
	calls := 0
	for range 2 {
		got := c.Get(d, func(out []uint32) {
			calls++
			for i := range out {
				out[i] = uint32(i) + 7
			}
		})
		if len(got) != 3 || got[2] != 9 {
			t.Errorf("got %v", got)
		}
	}
	if calls != 1 || len(c.Known(d)) != 3 || c.Bytes() != 12 {
		t.Errorf("[%d] calls, [%d] bytes", calls, c.Bytes())
	}
	runtime.KeepAlive(d)
	for range 100 {
		if c.Bytes() == 0 {
			return
		}
		runtime.GC()
		runtime.Gosched()
	}
	t.Error("what was computed outlives its dictionary")
}

// What is known of a stored dictionary is known of all that were decoded from it.
func TestDictCacheBySource(t *testing.T) {
	var c DictCache[uint32]
	source := &DictSource{}
	first, again, other := NewDict([]string{"a"}), NewDict([]string{"a"}), NewDict([]string{"a"})
	first.Source, again.Source, other.Source = source, source, &DictSource{}
	c.Get(first, func(out []uint32) { out[0] = 5 })
	if got := c.Known(again); len(got) != 1 || got[0] != 5 || c.Known(other) != nil {
		t.Errorf("known are %v, and of another source %v", got, c.Known(other))
	}
	runtime.KeepAlive(source)
}

// Reading a dictionary may panic, as a mapped file that was cut short does.
func TestDictCacheAfterPanic(t *testing.T) {
	var c DictCache[uint32]
	d := NewDict([]string{"a"})
	func() {
		defer func() { _ = recover() }()
		c.Get(d, func([]uint32) { panic("unreadable") })
	}()
	if got := c.Get(d, func([]uint32) {}); got != nil || c.Known(d) != nil {
		t.Errorf("got %v", got)
	}
}
