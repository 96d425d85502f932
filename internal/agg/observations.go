package agg

import (
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// Observations cache, for all queries of a process, the observations of hyperUnique sketches for
// the strings in dictionaries of segments. They use a limited part of the memory, and are cleared
// when it is full. Safe for use by many goroutines.
type Observations struct {
	memory *budget.Budget
	mu     sync.Mutex
	held   int64
	chars  vector.DictCache[sketch.Observation]
}

// observationShare is the part of the process's memory that observations may take.
const observationShare = 8

// NewObservations returns observations that reserve their memory from the budget of the process.
func NewObservations(memory *budget.Budget) *Observations {
	return &Observations{memory: memory.Child("observations of texts", memory.Limit()/observationShare)}
}

// known returns the observations of d's entries if they were asked for before; nil: they were not.
func (o *Observations) known(d *vector.Dict) []sketch.Observation {
	if o == nil {
		return nil
	}
	return o.chars.Known(d)
}

// of returns the observations of d's entries; nil: they could not be read.
func (o *Observations) of(d *vector.Dict) []sketch.Observation {
	entries := o.chars.Get(d, func(out []sketch.Observation) {
		for i := range out {
			out[i] = sketch.ObserveChars(d.Value(uint32(i)))
		}
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		more := o.chars.Bytes() - o.held
		if o.memory.TryReserve(more) {
			o.memory.Release(-more)
			o.held += more
			return entries
		}
		o.chars.Forget() // then there is less to hold than before
	}
}

// Remembering is implemented by states that can use cached observations of dictionaries.
type Remembering interface {
	// Remember is called before the first Update.
	Remember(o *Observations)
}
