package lookup

import (
	"context"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/budget"
)

// Table contains the keys and values of a lookup. It is immutable and safe for use by many
// goroutines.
//
// A table that is similar to another table shares its values:
//
//	values   a ► 1   b ► 2   c ► 3
//	changes          b ► 5   c ► nil   d ► 4     is a ► 1, b ► 5, d ► 4
type Table struct {
	values  map[string]string
	changes map[string]*string // nil values are of keys that are gone
	keys    int
	// base is the bytes of values, more those of changes.
	base, more int64
	// memory is that of the newest of the tables that share values.
	memory *budget.Account
	sorted func() []string
}

// NewTable returns a table of m. The caller must not change m afterwards.
func NewTable(m map[string]string) *Table {
	t := &Table{values: m, keys: len(m), memory: &budget.Account{}}
	return t.order()
}

func (t *Table) order() *Table {
	t.sorted = sync.OnceValue(func() []string {
		keys := make([]string, 0, t.keys)
		for k := range t.each() {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		return keys
	})
	return t
}

// Get implements expr.Mapping.
func (t *Table) Get(key string) (string, bool) {
	if len(t.changes) > 0 {
		if v, ok := t.changes[key]; ok {
			if v == nil {
				return "", false
			}
			return *v, true
		}
	}
	v, ok := t.values[key]
	return v, ok
}

// Len returns the number of keys.
func (t *Table) Len() int { return t.keys }

// All iterates over keys and values in the order of keys.
func (t *Table) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, k := range t.sorted() {
			if v, _ := t.Get(k); !yield(k, v) {
				return
			}
		}
	}
}

// each yields keys and values in no order.
func (t *Table) each() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for k, v := range t.values {
			if _, changed := t.changes[k]; !changed && !yield(k, v) {
				return
			}
		}
		for k, v := range t.changes {
			if v != nil && !yield(k, *v) {
				return
			}
		}
	}
}

// with returns the table with changes, which takes its memory over. Queries go on with the table as
// it was. When memory is refused nothing is changed.
func (t *Table) with(changes map[string]*string) (*Table, error) {
	next := &Table{values: t.values, keys: t.keys, base: t.base, memory: t.memory}
	next.changes = make(map[string]*string, len(t.changes)+len(changes))
	maps.Copy(next.changes, t.changes)
	for k, v := range changes {
		if _, had := t.Get(k); had {
			next.keys--
		}
		if v != nil {
			next.keys++
		}
		if _, below := t.values[k]; v == nil && !below {
			delete(next.changes, k)
		} else {
			next.changes[k] = v
		}
	}
	for k, v := range next.changes {
		next.more += entryBytes
		if v != nil {
			next.more += int64(len(k) + len(*v))
		}
	}
	if len(next.changes) > max(foldAbove, 2*int(math.Sqrt(float64(len(t.values))))) {
		return next.folded()
	}
	return next.order(), t.memory.Set(next.base + next.more)
}

// folded returns the same table without changes.
func (t *Table) folded() (*Table, error) {
	bytes := int64(0)
	for k, v := range t.each() {
		bytes += int64(len(k)+len(v)) + entryBytes
	}
	if err := t.memory.Set(t.base + t.more + bytes); err != nil { // both are there for a moment
		return nil, err
	}
	next := &Table{values: make(map[string]string, t.keys), keys: t.keys, base: bytes, memory: t.memory}
	maps.Insert(next.values, t.each())
	return next.order(), t.memory.Set(bytes)
}

// builder collects a table. Its memory is reserved as it grows.
type builder struct {
	values map[string]string
	bytes  int64
	memory budget.Account
}

func newBuilder(memory *budget.Budget) *builder {
	return &builder{values: map[string]string{}, memory: budget.NewAccount(memory)}
}

// add sets the value of a key; the last one counts.
func (b *builder) add(key, value string) error {
	if old, ok := b.values[key]; ok {
		b.bytes += int64(len(value) - len(old))
	} else {
		b.bytes += int64(len(key)+len(value)) + entryBytes
	}
	if b.bytes > b.memory.Held() {
		if err := b.memory.Set(b.bytes + reserveStep); err != nil {
			return err
		}
	}
	b.values[key] = value
	return nil
}

// put sets the value of a key; nil takes the key away.
func (b *builder) put(key string, value *string) error {
	if value != nil {
		return b.add(key, *value)
	}
	if old, ok := b.values[key]; ok {
		b.bytes -= int64(len(key)+len(old)) + entryBytes
		delete(b.values, key)
	}
	return nil
}

// fill adds a whole map.
func (b *builder) fill(ctx context.Context, m map[string]string) error {
	for k, v := range m {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.add(k, v); err != nil {
			return err
		}
	}
	return nil
}

// table ends the collecting. The table holds the memory from now on.
func (b *builder) table() (*Table, error) {
	if err := b.memory.Set(b.bytes); err != nil {
		return nil, err
	}
	t := NewTable(b.values)
	t.base, t.memory = b.bytes, &b.memory
	return t, nil
}

// free gives the memory of what was collected back.
func (b *builder) free() { b.memory.Close() }

// close gives the memory of a table back, which queries that still use it may hold for a little
// longer.
func (t *Table) close() { t.memory.Close() }
