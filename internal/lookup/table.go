package lookup

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/budget"
)

// Table is the keys and values of a lookup. It is immutable and safe for use by many goroutines.
type Table struct {
	values map[string]string
	memory budget.Account
	sorted func() []string
}

// NewTable returns a table of m, which must not be changed any more.
func NewTable(m map[string]string) *Table {
	return &Table{values: m, sorted: sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(m)) })}
}

// Get implements expr.Mapping.
func (t *Table) Get(key string) (string, bool) {
	v, ok := t.values[key]
	return v, ok
}

// Len returns the number of keys.
func (t *Table) Len() int { return len(t.values) }

// All yields keys and values in the order of keys.
func (t *Table) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, k := range t.sorted() {
			if !yield(k, t.values[k]) {
				return
			}
		}
	}
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
	t.memory = b.memory
	return t, nil
}

// free gives the memory of what was collected back.
func (b *builder) free() { b.memory.Close() }

// close gives the memory of a table back, which queries that still use it may hold for a little
// longer.
func (t *Table) close() { t.memory.Close() }
