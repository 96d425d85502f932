package duty

import (
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/obs"
)

// Runs records how often a group of duties ran and how long the runs took. All methods are safe for
// use by many goroutines.
type Runs struct {
	// Name is the name of the group, Duties are the names of its duties, and Period is the maximum
	// time between two runs.
	Name   string
	Duties []string
	Period time.Duration
	Clock  clock.Clock
	// Meter records the duration of each run; may be nil.
	Meter *obs.Meter

	mu struct {
		sync.Mutex
		stats RunStats
		spent time.Duration
		first time.Time
	}
}

// RunStats are the statistics of the runs so far.
type RunStats struct {
	Count int64
	// Start and End are the times of the last run; zero if there was none.
	Start, End time.Time
	// Runtime and Gap are the average duration of a run and the average time between the starts of two
	// runs.
	Runtime, Gap time.Duration
}

// Begin records the start of a run. The function that it returns records the end. Begin of a nil
// Runs does nothing.
func (r *Runs) Begin() (end func()) {
	if r == nil {
		return func() {}
	}
	start := r.Clock.Now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		s := &r.mu.stats
		if s.Count == 0 {
			r.mu.first = start
		}
		s.Count++
		s.Start, s.End = start, r.Clock.Now()
		r.Meter.Time(obs.Occurrence{Service: "coordinator", Metric: "coordinator/global/time", Dims: []string{"dutyGroup", r.Name}}, s.End.Sub(start))
		for _, name := range r.Duties { // they are done in one go
			r.Meter.Time(obs.Occurrence{Service: "coordinator", Metric: "coordinator/time", Dims: []string{"duty", name}}, s.End.Sub(start)/time.Duration(len(r.Duties)))
		}
		r.mu.spent += s.End.Sub(start)
		s.Runtime = r.mu.spent / time.Duration(s.Count)
		if s.Count > 1 {
			s.Gap = start.Sub(r.mu.first) / time.Duration(s.Count-1)
		}
	}
}

// Stats returns the statistics so far.
func (r *Runs) Stats() RunStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.stats
}
