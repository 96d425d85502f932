package budget

import (
	"context"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

const (
	// admissionPart is which part of a limit one piece of heavy work is taken to need, as a divisor,
	// between the two bounds. It may reserve more where more is free.
	admissionPart  = 16
	leastAdmission = 16 << 20
	mostAdmission  = 64 << 20
	// admissionLook is how often work that waits looks whether others have given memory back.
	admissionLook = 50 * time.Millisecond
)

// Admission begins heavy work in the order in which it came, and only as much at a time as there is
// memory for: each piece is taken to need a fixed share. Without it hundreds of queries would begin
// at once, each would get too little to get on with, and what is too small to be reserved would add
// up. A nil Admission admits everything. All methods are safe for use by many goroutines.
type Admission struct {
	memory *Budget
	share  int64
	most   int // pieces at once
	wait   time.Duration
	clock  clock.Clock

	mu struct {
		sync.Mutex
		pieces  map[string]int // parts of each piece that was admitted
		waiting []*arrival     // in the order they came
	}
}

// arrival is work that waits.
type arrival struct {
	id   string
	told chan struct{} // closed when it is admitted, with the lock held
}

// NewAdmission returns an Admission to the memory of a root with a limit, in which work waits at
// most so long. Without a limit it is nil.
func NewAdmission(memory *Budget, wait time.Duration, c clock.Clock) *Admission {
	limit := memory.Limit()
	if limit == Unlimited {
		return nil
	}
	share := min(max(limit/admissionPart, leastAdmission), mostAdmission)
	a := &Admission{memory: memory, share: share, most: int(max(1, limit/4*3/share)), wait: wait, clock: c}
	a.mu.pieces = map[string]int{}
	return a
}

// Enter waits until work may begin; leave is called at its end. Parts of the work of one id are
// admitted together.
func (a *Admission) Enter(ctx context.Context, id string) (leave func(), err error) {
	if a == nil {
		return func() {}, nil
	}
	w := a.arrive(id)
	if w == nil {
		return a.leaving(id), nil
	}
	began := a.clock.Now()
	ticker := a.clock.NewTicker(admissionLook)
	defer ticker.Stop()
	for {
		select {
		case <-w.told:
			return a.leaving(id), nil
		case <-ticker.C():
			a.admit()
			if a.clock.Now().Sub(began) < a.wait {
				continue
			}
			err = fault.Capacity("There was no memory for the query for [%d] ms: queries that need much wait for each other. Please try your query again later.", a.wait.Milliseconds())
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if a.give(w) {
			return nil, err
		}
	}
}

// arrive admits work, or lets it wait.
func (a *Admission) arrive(id string) *arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.pieces[id] > 0 {
		a.mu.pieces[id]++
		return nil
	}
	w := &arrival{id: id, told: make(chan struct{})}
	a.mu.waiting = append(a.mu.waiting, w)
	a.admitLocked()
	select {
	case <-w.told:
		return nil
	default:
		return w
	}
}

// give takes back that work waits; false: it was admitted.
func (a *Admission) give(w *arrival) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, o := range a.mu.waiting {
		if o == w {
			a.mu.waiting = append(a.mu.waiting[:i], a.mu.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func (a *Admission) leaving(id string) func() {
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.mu.pieces[id]--; a.mu.pieces[id] == 0 {
			delete(a.mu.pieces, id)
		}
		a.admitLocked()
	})
}

func (a *Admission) admit() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.admitLocked()
}

// admitLocked lets those begin that there is room for. One always may: what it can do without it does without.
func (a *Admission) admitLocked() {
	for len(a.mu.waiting) > 0 {
		w := a.mu.waiting[0]
		if n := len(a.mu.pieces); a.mu.pieces[w.id] == 0 && n > 0 && (n >= a.most || a.memory.Free() < a.share/2) {
			return
		}
		a.mu.waiting = a.mu.waiting[1:]
		a.mu.pieces[w.id]++
		close(w.told)
	}
}

// Waiting returns how much work waits.
func (a *Admission) Waiting() int {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.mu.waiting)
}
