// Package documents stores the documents of users, roles and keys in memory, for tests that do not
// need a metastore or that intercept access to it.
//
// The central type is Store, a basic.Store.
package documents

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/hengedb/henge/internal/auth/basic"
)

// Store keeps documents in memory. Before is called before each swap, if it is not nil; it is set
// before the store is used. A Store is safe for use by many goroutines.
type Store struct {
	Before func()

	mu      sync.Mutex
	kept    map[string]json.RawMessage
	changes []basic.Change
	swaps   int
	down    error
}

// New returns an empty store.
func New() *Store { return &Store{kept: map[string]json.RawMessage{}} }

// Read implements basic.Store.
func (s *Store) Read(_ context.Context, names ...string) ([]json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []json.RawMessage
	for _, name := range names {
		out = append(out, s.kept[name])
	}
	return out, s.down
}

// Swap implements basic.Store.
func (s *Store) Swap(_ context.Context, documents []basic.Document, change *basic.Change) (bool, error) {
	if s.Before != nil {
		s.Before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swaps++
	for _, d := range documents {
		if string(s.kept[d.Name]) != string(d.Old) {
			return false, nil
		}
	}
	for _, d := range documents {
		s.kept[d.Name] = d.New
	}
	if change != nil {
		s.changes = append(s.changes, *change)
	}
	return true, s.down
}

// Fail has the store answer with an error from now on; nil: no more.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = err
}

// Put sets a document, as another process would.
func (s *Store) Put(name string, text json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[name] = text
}

// Kept returns a document.
func (s *Store) Kept(name string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[name]
}

// Changes returns the changes so far.
func (s *Store) Changes() []basic.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]basic.Change{}, s.changes...)
}

// Written counts the swaps so far.
func (s *Store) Written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.swaps
}
