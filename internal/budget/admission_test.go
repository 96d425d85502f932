package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func TestAdmissionKeepsTheOrder(t *testing.T) {
	root := Root(64 << 20) // shares of 16 MiB, three of them
	a := NewAdmission(root, time.Hour, clock.System())
	var leaves []func()
	for n := range 3 {
		leave, err := a.Enter(t.Context(), fmt.Sprint("first ", n), 0)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	if leave, err := a.Enter(t.Context(), "first 0", 0); err != nil { // another part of what is in
		t.Fatal(err)
	} else {
		leave()
	}
	var mu sync.Mutex
	var order []int
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			leave, err := a.Enter(t.Context(), fmt.Sprint(n), 0)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, n)
			mu.Unlock()
			leave()
		})
		for a.Waiting() != n+1 {
		}
	}
	leaves[0]()
	all.Wait()
	if len(order) != 20 || order[0] != 0 {
		t.Errorf("they began as %v", order)
	}
	leaves[1]()
	leaves[2]()
	if len(a.mu.pieces) != 0 || a.Waiting() != 0 {
		t.Errorf("%v are left, [%d] wait", a.mu.pieces, a.Waiting())
	}
}

func TestAdmissionEnds(t *testing.T) {
	root := Root(64 << 20)
	fake := fakeclock.New(time.Unix(0, 0))
	a := NewAdmission(root, time.Minute, fake)
	if err := root.Reserve(60 << 20); err != nil {
		t.Fatal(err)
	}
	leave, err := a.Enter(t.Context(), "one always may", 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("cancelled")
	cancel(why)
	if _, err := a.Enter(ctx, "cancelled", 0); !errors.Is(err, why) {
		t.Errorf("a cancelled query: %v", err)
	}
	late := make(chan error)
	go func() {
		_, err := a.Enter(t.Context(), "late", 0)
		late <- err
	}()
	for a.Waiting() == 0 {
	}
	for ended := false; !ended; {
		fake.Advance(time.Second)
		select {
		case err := <-late:
			if err == nil {
				t.Error("memory that is taken was given")
			}
			ended = true
		default:
		}
	}
	root.Release(60 << 20)
	second, err := a.Enter(t.Context(), "there is memory again", 0)
	if err != nil {
		t.Fatal(err)
	}
	second()
	leave()
	if NewAdmission(Root(Unlimited), time.Minute, fake) != nil {
		t.Error("there is an admission to memory without a limit")
	}
}

// Whatever comes, goes and gives up, never are more in than there is room for, and in the end
// nobody is.
func TestAdmissionAtRandom(t *testing.T) {
	a := NewAdmission(Root(64<<20), time.Hour, clock.System())
	var mu sync.Mutex
	in, most := 0, 0
	var all sync.WaitGroup
	for seed := range uint64(200) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(16, seed))
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(20)+1)*time.Millisecond)
			defer cancel()
			leave, err := a.Enter(ctx, fmt.Sprint(seed), 0)
			if err != nil {
				return
			}
			mu.Lock()
			in++
			most = max(most, in)
			mu.Unlock()
			_ = slices.Sorted(slices.Values(r.Perm(2000)))
			mu.Lock()
			in--
			mu.Unlock()
			leave()
		})
	}
	all.Wait()
	if most > 3 || len(a.mu.pieces) != 0 || a.Waiting() != 0 {
		t.Errorf("[%d] were in at once; %v are left, [%d] wait", most, a.mu.pieces, a.Waiting())
	}
}

// What needs much begins one after the other, and what needs little beside it.
func TestAdmissionCountsWhatIsNeeded(t *testing.T) {
	root := Root(1 << 30) // of which three quarters are given, in pieces of 64 to 256 MiB
	a := NewAdmission(root, time.Hour, clock.System())
	var leaves []func()
	enter := func(id string, need int64) {
		t.Helper()
		leave, err := a.Enter(t.Context(), id, need)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	enter("large", 1<<40)
	enter("larger", 200<<20)
	for n := range 4 { // 312 MiB are left
		enter(fmt.Sprint("small ", n), 0)
	}
	enter("large", 1<<40) // another part of what is in
	waits := make(chan error)
	go func() {
		leave, err := a.Enter(t.Context(), "late", 100<<20)
		if err == nil {
			leave()
		}
		waits <- err
	}()
	for a.Waiting() == 0 {
	}
	leaves[0]() // one of its two parts
	if a.Waiting() != 1 {
		t.Error("a piece begins before there is memory for it")
	}
	leaves[6]()
	if err := <-waits; err != nil {
		t.Error(err)
	}
	for _, leave := range leaves[1:6] {
		leave()
	}
	if len(a.mu.pieces) != 0 || a.mu.needed != 0 {
		t.Errorf("%v are left, [%d] bytes needed", a.mu.pieces, a.mu.needed)
	}
}
