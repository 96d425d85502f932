package vector

import (
	"runtime"
	"sync"
	"unsafe"
	"weak"
)

// DictCache remembers what was computed from the entries of dictionaries, one value of T for each
// entry, as long as the dictionary, or its source, lives. The zero DictCache is empty. Safe for use
// by many goroutines.
type DictCache[T any] struct {
	mu      sync.Mutex
	entries map[weak.Pointer[DictSource]]*dictValues[T]
	bytes   int64
	made    int // entries ever
}

type dictValues[T any] struct {
	number int // of the entry: one made after Forget is another
	once   sync.Once
	values []T
}

// Known returns what is remembered for d; nil: nothing.
func (c *DictCache[T]) Known(d *Dict) []T {
	c.mu.Lock()
	v := c.entries[weak.Make(d.source())]
	c.mu.Unlock()
	if v == nil {
		return nil
	}
	v.once.Do(func() {}) // somebody may be computing it
	return v.values
}

// Get returns what is remembered for d, after compute if that is nothing; compute gets a slice of
// d.Len() zero values to fill. The result is nil if compute panicked, as reading a segment may. It
// is shared by all who ask.
func (c *DictCache[T]) Get(d *Dict, compute func(out []T)) []T {
	v := c.place(d)
	v.once.Do(func() {
		values := make([]T, d.Len())
		compute(values)
		v.values = values
	})
	return v.values
}

// place returns where the values of d are kept.
func (c *DictCache[T]) place(d *Dict) *dictValues[T] {
	source := d.source()
	p := weak.Make(source)
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.entries[p]; v != nil {
		return v
	}
	if c.entries == nil {
		c.entries = map[weak.Pointer[DictSource]]*dictValues[T]{}
	}
	c.made++
	v := &dictValues[T]{number: c.made}
	var one T
	size := int64(d.Len()) * int64(unsafe.Sizeof(one))
	c.entries[p] = v
	c.bytes += size
	// The cleanup keeps neither the cache nor the values alive.
	cache, number := weak.Make(c), v.number
	runtime.AddCleanup(source, func(p weak.Pointer[DictSource]) {
		if c := cache.Value(); c != nil {
			c.drop(p, number, size)
		}
	}, p)
	return v
}

func (c *DictCache[T]) drop(p weak.Pointer[DictSource], number int, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.entries[p]; v != nil && v.number == number {
		delete(c.entries, p)
		c.bytes -= size
	}
}

// Forget drops everything.
func (c *DictCache[T]) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries, c.bytes = nil, 0
}

// Bytes returns the memory held.
func (c *DictCache[T]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
