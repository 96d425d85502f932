package vector

import (
	"runtime"
	"sync"
	"unsafe"
	"weak"
)

// DictCache caches values computed from the entries of dictionaries, one T per entry, for the
// lifetime of the dictionary or of its source. The zero DictCache is empty. Safe for use by many
// goroutines.
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

// Known returns the cached values for d, or nil.
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

// Get returns the cached values for d. If there are none, it calls compute with a slice of d.Len()
// zero values to fill. The result is nil if compute panicked, as reading a segment may. All callers
// share the result.
func (c *DictCache[T]) Get(d *Dict, compute func(out []T)) []T {
	v := c.valuesOf(d)
	v.once.Do(func() {
		values := make([]T, d.Len())
		compute(values)
		v.values = values
	})
	return v.values
}

// valuesOf returns where the values of d are kept.
func (c *DictCache[T]) valuesOf(d *Dict) *dictValues[T] {
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

// Forget clears the cache.
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
