package basic

import (
	"hash/maphash"
	"sync"
)

// memory remembers what was computed. It is bounded, belongs to one state of the roles, and is safe
// for concurrent use.
type memory[K comparable, V any] struct {
	seed   maphash.Seed
	shards [16]memoryShard[K, V]
}

type memoryShard[K comparable, V any] struct {
	sync.RWMutex
	known map[K]V
}

func newMemory[K comparable, V any]() *memory[K, V] { return &memory[K, V]{seed: maphash.MakeSeed()} }

func (m *memory[K, V]) shard(key K) *memoryShard[K, V] {
	return &m.shards[maphash.Comparable(m.seed, key)%uint64(len(m.shards))]
}

func (m *memory[K, V]) get(key K) (V, bool) {
	s := m.shard(key)
	s.RLock()
	defer s.RUnlock()
	out, found := s.known[key]
	return out, found
}

// put remembers a value. A shard that is full begins anew: what is asked often comes again soon.
func (m *memory[K, V]) put(key K, value V) {
	s := m.shard(key)
	s.Lock()
	defer s.Unlock()
	if s.known == nil || len(s.known) >= cachedDecisions/len(m.shards) {
		s.known = make(map[K]V)
	}
	s.known[key] = value
}
