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
	// needPart and mostNeed bound what one piece that says it needs more is taken to need: three can
	// always begin, and what only may need much does not hold up many others where there is much
	// memory.
	needPart = 4
	mostNeed = 256 << 20
	// admissionLook is how often work that waits looks whether others have given memory back.
	admissionLook = 50 * time.Millisecond
)

// Admission begins heavy work in the order in which it came, and only as much at a time as there is
// memory for: each piece is taken to need a share. Without it hundreds of queries would begin
// at once, each would get too little to get on with, and what is too small to be reserved would add
// up. A nil Admission admits everything. All methods are safe for use by many goroutines.
type Admission struct {
	memory *Budget
	share  int64 // what a piece needs at least
	most   int64 // what all need together
	wait   time.Duration
	clock  clock.Clock

	mu struct {
		sync.Mutex
		pieces  map[string]piece // that were admitted
		needed  int64            // by all of them
		waiting []*arrival       // in the order they came
	}
}

// piece is work that was admitted.
type piece struct {
	parts int
	need  int64
}

// arrival is work that waits.
type arrival struct {
	id   string
	need int64
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
	a := &Admission{memory: memory, share: share, most: limit / 4 * 3, wait: wait, clock: c}
	a.mu.pieces = map[string]piece{}
	return a
}

// Enter waits until work may begin that may need so many bytes; leave is called at its end. Parts
// of the work of one id are admitted together.
func (a *Admission) Enter(ctx context.Context, id string, need int64) (leave func(), err error) {
	if a == nil {
		return func() {}, nil
	}
	w := a.arrive(id, min(max(need, a.share), max(a.share, min(a.memory.Limit()/needPart, mostNeed))))
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
func (a *Admission) arrive(id string, need int64) *arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.joinLocked(id) {
		return nil
	}
	w := &arrival{id: id, need: need, told: make(chan struct{})}
	a.mu.waiting = append(a.mu.waiting, w)
	a.admitLocked()
	select {
	case <-w.told:
		return nil
	default:
		return w
	}
}

// joinLocked admits a further part of a piece that was admitted; false: it was not.
func (a *Admission) joinLocked(id string) bool {
	p, in := a.mu.pieces[id]
	if in {
		p.parts++
		a.mu.pieces[id] = p
	}
	return in
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
		p := a.mu.pieces[id]
		if p.parts--; p.parts > 0 {
			a.mu.pieces[id] = p
		} else {
			a.mu.needed -= p.need
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

// admitLocked lets those begin that there is room for. One always may: what it can do without it
// does without.
func (a *Admission) admitLocked() {
	for len(a.mu.waiting) > 0 {
		w := a.mu.waiting[0]
		joined := a.joinLocked(w.id)
		if !joined && len(a.mu.pieces) > 0 && (a.mu.needed+w.need > a.most || a.memory.Free() < w.need/2) {
			return
		}
		if !joined {
			a.mu.pieces[w.id] = piece{1, w.need}
			a.mu.needed += w.need
		}
		a.mu.waiting = a.mu.waiting[1:]
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
