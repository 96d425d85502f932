package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
		leave, err := a.Enter(t.Context(), Work{ID: fmt.Sprint("first ", n)})
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	if leave, err := a.Enter(t.Context(), Work{ID: "first 0"}); err != nil { // another part of what is in
		t.Fatal(err)
	} else {
		leave()
	}
	var mu sync.Mutex
	var order []int
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			leave, err := a.Enter(t.Context(), Work{ID: fmt.Sprint(n)})
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
	leave, err := a.Enter(t.Context(), Work{ID: "one always may"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("cancelled")
	cancel(why)
	if _, err := a.Enter(ctx, Work{ID: "cancelled"}); !errors.Is(err, why) {
		t.Errorf("a cancelled query: %v", err)
	}
	late := make(chan error)
	go func() {
		_, err := a.Enter(t.Context(), Work{ID: "late", Wait: 10 * time.Second})
		late <- err
	}()
	for a.Waiting() == 0 {
	}
	for ended := false; !ended; {
		fake.Advance(time.Second)
		select {
		case err := <-late:
			if err == nil || !strings.Contains(err.Error(), "The query waited [10000] ms") {
				t.Errorf("memory that is taken was given, or it is not said how long was waited for it: %v", err)
			}
			ended = true
		default:
		}
	}
	root.Release(60 << 20)
	second, err := a.Enter(t.Context(), Work{ID: "there is memory again"})
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
			leave, err := a.Enter(ctx, Work{ID: fmt.Sprint(seed)})
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
		leave, err := a.Enter(t.Context(), Work{ID: id, Need: need})
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
		leave, err := a.Enter(t.Context(), Work{ID: "late", Need: 100 << 20})
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

// Two processes have room for one piece each. At both comes work that waits, while it is in, for
// work at the other one: all of it ends.
func TestAdmissionInARing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	processes := []*Admission{NewAdmission(Root(32<<20), time.Hour, clock.System()), NewAdmission(Root(32<<20), time.Hour, clock.System())}
	const each = 20
	var in, all sync.WaitGroup
	in.Add(len(processes)) // the first of each process holds its place before it waits for the other one
	for here := range processes {
		var once sync.Once
		for n := range each {
			all.Go(func() {
				id := fmt.Sprint(here, "/", n)
				leave, err := processes[here].Enter(ctx, Work{ID: id, Height: 2})
				if err != nil {
					t.Error(err)
					return
				}
				defer leave()
				once.Do(in.Done)
				in.Wait()
				for height := 1; height >= 0; height-- {
					below, err := processes[1-here].Enter(ctx, Work{ID: fmt.Sprint(id, " below ", height), Height: height})
					if err != nil {
						t.Error(err)
						return
					}
					defer below()
				}
			})
		}
	}
	all.Wait()
	for _, a := range processes {
		if len(a.mu.pieces) != 0 || len(a.mu.heights) != 0 || a.mu.needed != 0 || a.Waiting() != 0 {
			t.Errorf("%v are left, [%d] bytes needed, [%d] wait", a.mu.pieces, a.mu.needed, a.Waiting())
		}
	}
}
