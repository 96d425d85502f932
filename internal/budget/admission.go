package budget

import (
	"context"
	"slices"
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
//
// Work that was admitted may wait for work at other processes, which waits for admission there.
// Work has a height for that: it waits only for work of lower heights. At each height one piece may
// always begin, so that no ring of processes waits for itself:
//
//	query at a Broker ──► part that merges others ──► part over segments (height 0: waits for nobody)
type Admission struct {
	memory *Budget
	share  int64 // what a piece needs at least
	most   int64 // what all need together
	wait   time.Duration
	clock  clock.Clock

	mu struct {
		sync.Mutex
		pieces  map[string]piece // that were admitted
		heights map[int]int      // how many of them have a height
		needed  int64            // by all of them
		waiting []*arrival       // by height, and of one height in the order they came
	}
}

// Work asks for admission.
type Work struct {
	// ID names the work. Parts of the work of one id are admitted together.
	ID string
	// Need is how many bytes it may need.
	Need int64
	// Height is above that of all work that this work waits for.
	Height int
	// Wait is how long it waits at most; 0: as long as all work does.
	Wait time.Duration
}

// piece is work that was admitted.
type piece struct {
	parts  int
	need   int64
	height int
}

// arrival is work that waits.
type arrival struct {
	id     string
	need   int64
	height int
	told   chan struct{} // closed when it is admitted, with the lock held
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
	a.mu.pieces, a.mu.heights = map[string]piece{}, map[int]int{}
	return a
}

// Enter waits until work may begin; leave is called at its end.
func (a *Admission) Enter(ctx context.Context, of Work) (leave func(), err error) {
	if a == nil {
		return func() {}, nil
	}
	need := min(max(of.Need, a.share), max(a.share, min(a.memory.Limit()/needPart, mostNeed)))
	w := a.arrive(&arrival{id: of.ID, need: need, height: of.Height, told: make(chan struct{})})
	if w == nil {
		return a.leaving(of.ID), nil
	}
	wait := a.wait
	if of.Wait > 0 {
		wait = min(wait, of.Wait)
	}
	began := a.clock.Now()
	ticker := a.clock.NewTicker(admissionLook)
	defer ticker.Stop()
	for {
		select {
		case <-w.told:
			return a.leaving(of.ID), nil
		case <-ticker.C():
			a.admit()
			if a.clock.Now().Sub(began) < wait {
				continue
			}
			err = fault.Capacity("The query waited [%d] ms for memory: queries that need much memory wait for each other. Please try your query "+
				"again later.", wait.Milliseconds())
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		if a.give(w) {
			return nil, err
		}
	}
}

// arrive admits work, or lets it wait and returns it.
func (a *Admission) arrive(w *arrival) *arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.joinLocked(w.id) {
		return nil
	}
	at := len(a.mu.waiting)
	for at > 0 && a.mu.waiting[at-1].height > w.height {
		at--
	}
	a.mu.waiting = slices.Insert(a.mu.waiting, at, w)
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
			if a.mu.heights[p.height]--; a.mu.heights[p.height] == 0 {
				delete(a.mu.heights, p.height)
			}
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

// admitLocked lets those begin that there is room for. At each height one always may: what it can
// do without memory it does without. Nothing passes what waits before it, but for that.
func (a *Admission) admitLocked() {
	full := false
	a.mu.waiting = slices.DeleteFunc(a.mu.waiting, func(w *arrival) bool {
		if !a.joinLocked(w.id) {
			full = full || a.mu.needed+w.need > a.most || a.memory.Free() < w.need/2
			if full && a.mu.heights[w.height] > 0 {
				return false
			}
			a.mu.pieces[w.id] = piece{1, w.need, w.height}
			a.mu.heights[w.height]++
			a.mu.needed += w.need
		}
		close(w.told)
		return true
	})
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
