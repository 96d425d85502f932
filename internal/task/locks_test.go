package task

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// lockingStore is a memStore with one lock.
type lockingStore struct {
	*memStore
	lock struct {
		sync.Mutex
		holder string
		free   *sync.Cond
	}
	refuses int // how many ends are not recorded
}

func newLockingStore() *lockingStore {
	s := &lockingStore{memStore: newMemStore()}
	s.lock.free = sync.NewCond(&s.lock)
	return s
}

// try takes the lock for a task, if it is free or the task has it.
func (s *lockingStore) try(id string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lock.holder == "" {
		s.lock.holder = id
	}
	return s.lock.holder == id
}

// acquire waits for the lock.
func (s *lockingStore) acquire(ctx context.Context, id string) error {
	defer context.AfterFunc(ctx, s.lock.free.Broadcast)()
	s.lock.Lock()
	defer s.lock.Unlock()
	for s.lock.holder != "" && s.lock.holder != id {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.lock.free.Wait()
	}
	s.lock.holder = id
	return nil
}

func (s *lockingStore) LockHolders(context.Context) ([]string, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.DeleteFunc([]string{s.lock.holder}, func(id string) bool { return id == "" }), nil
}

func (s *lockingStore) ReleaseLocks(_ context.Context, id string) error {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.lock.holder == id {
		s.lock.holder = ""
		s.lock.free.Broadcast()
	}
	return nil
}

func (s *lockingStore) FinishTask(ctx context.Context, st Status) error {
	if s.refuses > 0 {
		s.refuses--
		return fault.Unavailable("The metadata store can't be reached")
	}
	if err := s.memStore.FinishTask(ctx, st); err != nil {
		return err
	}
	return s.ReleaseLocks(ctx, st.Task.ID)
}

// kinds are loads, which wait for the lock while they run, and kills, which wait for it before.
func (s *lockingStore) kind() *scripted {
	return &scripted{
		prepare: func(t *Task) (bool, error) { return t.ID[:4] != "kill" || s.try(t.ID), nil },
		run: func(ctx context.Context, t *Task) error {
			if t.ID[:4] == "kill" {
				return nil
			}
			return s.acquire(ctx, t.ID)
		},
	}
}

// Loads that have all the slots wait for the lock of a kill task that was made ready and has no
// slot: it gives the lock back.
func TestATaskWithoutASlotHoldsUpNobody(t *testing.T) {
	s := newLockingStore()
	if !s.try("other") {
		t.Fatal("the lock is not free")
	}
	q := start(t, s, s.kind(), Options{Capacity: 2})
	submit(t, q, "load1")
	submit(t, q, "load2")
	for q.Used() < 2 { // both run, and wait
		if err := q.o.Clock.Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	submit(t, q, "kill1")
	if err := s.ReleaseLocks(t.Context(), "other"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"load1", "load2", "kill1"} {
		if st := wait(t, q, id); st.State != Succeeded {
			t.Errorf("%s: %v %s", id, st.State, st.Error)
		}
	}
}

// A kill task that had its lock when the process was killed goes first when it starts again, and
// whoever waits for the lock after it.
func TestAHolderOfALockGoesFirstAfterARestart(t *testing.T) {
	s := newLockingStore()
	for _, id := range []string{"load1", "load2", "kill1"} {
		priority := 50
		if id == "kill1" {
			priority = 0
		}
		if err := s.InsertTask(t.Context(), &Task{ID: id, Type: "t", DataSource: "ds", Priority: priority}); err != nil {
			t.Fatal(err)
		}
	}
	if !s.try("kill1") {
		t.Fatal("the lock is not free")
	}
	q := start(t, s, s.kind(), Options{Capacity: 2})
	for _, id := range []string{"kill1", "load1", "load2"} {
		for {
			st, err := q.Find(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if st != nil {
				break
			}
			if err := q.o.Clock.Sleep(t.Context(), time.Millisecond); err != nil { // it is being taken up
				t.Fatal(err)
			}
		}
		if st := wait(t, q, id); st == nil || st.State != Succeeded {
			t.Errorf("%s: %v", id, st)
		}
	}
}

// An end that could not be recorded is recorded when the store is back, without a restart.
func TestEndsAreRecordedWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLockingStore()
		s.refuses = 3
		q := start(t, s, s.kind(), Options{})
		submit(t, q, "load1")
		if st := wait(t, q, "load1"); st.State != Succeeded {
			t.Errorf("%v %s", st.State, st.Error)
		}
		if s.refuses != 0 {
			t.Errorf("[%d] attempts are left", s.refuses)
		}
	})
}
