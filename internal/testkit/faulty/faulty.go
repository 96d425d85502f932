// Package faulty wraps a deepstore.Store so that its operations fail at random, from a seed, or at
// one chosen call. Tests of code that stores or fetches files use it.
package faulty

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"

	"github.com/hengedb/henge/internal/deepstore"
)

// ErrInjected marks every failure that a Store of this package makes up.
var ErrInjected = errors.New("injected failure")

// Op is an operation of a Store.
type Op string

// The operations that can fail.
const (
	Put    Op = "put"
	Open   Op = "open"
	Read   Op = "read"
	Stat   Op = "stat"
	List   Op = "list"
	Delete Op = "delete"
)

// Plan says how often operations fail, each a share between 0 and 1. The zero Plan lets everything
// pass.
type Plan struct {
	// Before makes an operation fail without effect.
	Before float64
	// After makes a Put or a Delete take effect and fail all the same, as when the answer is lost.
	After float64
	// Short makes a read return fewer bytes than there are, with io.ErrUnexpectedEOF.
	Short float64
	// Flip changes one bit of what a read returns, and reports nothing.
	Flip float64
}

// Store passes operations on to another Store, or fails.
type Store struct {
	deepstore.Store
	plan Plan

	mu struct {
		sync.Mutex
		rand  *rand.Rand
		next  map[Op]error
		calls map[Op]int
	}
}

// New wraps store. The same seed and the same order of calls give the same failures.
func New(store deepstore.Store, seed uint64, plan Plan) *Store {
	s := &Store{Store: store, plan: plan}
	s.mu.rand = rand.New(rand.NewPCG(seed, seed))
	s.mu.next, s.mu.calls = map[Op]error{}, map[Op]int{}
	return s
}

// FailNext makes the next call of op fail with err, before it has an effect.
func (s *Store) FailNext(op Op, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.next[op] = err
}

// Calls returns how often op was called.
func (s *Store) Calls(op Op) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.calls[op]
}

// begin counts a call of op and decides whether it fails before it has an effect, and after.
func (s *Store) begin(op Op) (before, after error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.calls[op]++
	if err := s.mu.next[op]; err != nil {
		delete(s.mu.next, op)
		return err, nil
	}
	if s.mu.rand.Float64() < s.plan.Before {
		return ErrInjected, nil
	}
	if s.mu.rand.Float64() < s.plan.After {
		return nil, ErrInjected
	}
	return nil, nil
}

// Put stores the object, or fails before or after doing so.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) error {
	before, after := s.begin(Put)
	if before != nil {
		return before
	}
	if err := s.Store.Put(ctx, key, r); err != nil {
		return err
	}
	return after
}

// Open opens the object; its reads fail as the plan says.
func (s *Store) Open(ctx context.Context, key string) (deepstore.Object, error) {
	if before, _ := s.begin(Open); before != nil {
		return nil, before
	}
	o, err := s.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return &object{Object: o, store: s}, nil
}

// Stat describes the object.
func (s *Store) Stat(ctx context.Context, key string) (deepstore.Info, error) {
	if before, _ := s.begin(Stat); before != nil {
		return deepstore.Info{}, before
	}
	return s.Store.Stat(ctx, key)
}

// List returns a page of objects.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]deepstore.Info, error) {
	if before, _ := s.begin(List); before != nil {
		return nil, before
	}
	return s.Store.List(ctx, prefix, after, limit)
}

// Delete removes the objects, or fails before or after doing so.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	before, after := s.begin(Delete)
	if before != nil {
		return before
	}
	if err := s.Store.Delete(ctx, keys...); err != nil {
		return err
	}
	return after
}

type object struct {
	deepstore.Object
	store *Store
}

func (o *object) ReadAt(b []byte, off int64) (int, error) {
	if before, _ := o.store.begin(Read); before != nil {
		return 0, before
	}
	n, err := o.Object.ReadAt(b, off)
	s := o.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 && s.mu.rand.Float64() < s.plan.Short {
		return s.mu.rand.IntN(n), io.ErrUnexpectedEOF
	}
	if n > 0 && s.mu.rand.Float64() < s.plan.Flip {
		b[s.mu.rand.IntN(n)] ^= 1 << s.mu.rand.IntN(8)
	}
	return n, err
}
