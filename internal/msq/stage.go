package msq

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/explain/native"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// stage is a fragment of a plan, where its rows come from and how they are handed on. What mu
// guards changes while it runs.
type stage struct {
	number    int
	processor string
	// node is the fragment: a plan whose leaves are those in inputs. Nil for segmentGenerator.
	node plan.Node
	// query is what the fragment is part of, as a native query would say it; for reports.
	query  plan.Node
	inputs []*input
	// single says that one worker must see all rows.
	single  bool
	shuffle shuffle
	// columns is the output; generator's is empty.
	columns []plan.Column
	// native is what query is, and names the names that the columns of node have there.
	native native.Query
	names  []string
	// durable says that the output is in deep storage. Set before the stage begins.
	durable bool
	// same is a digest of what the stage does, "": it can't be told; steady says that it gives the
	// same rows to the same partitions each time it runs.
	same   string
	steady bool
	// definition is the JSON of reports, made when the stage is cut.
	definition json.RawMessage

	mu struct {
		sync.Mutex
		phase      phase
		workers    int
		partitions int
		started    time.Time
		ended      time.Time
		counters   []*counters // by worker
		outputs    []*output   // by worker
		output     string
	}
}

// readsExternal reports whether the stage reads external data.
func (s *stage) readsExternal() bool {
	return slices.ContainsFunc(s.inputs, func(in *input) bool { return in.kind == externalInput })
}

// shuffleKind says how a stage's rows are distributed.
type shuffleKind uint8

const (
	noShuffle     shuffleKind = iota
	mixShuffle                // one partition, in any order
	hashShuffle               // partitions by the hash of keys
	sortedShuffle             // one partition, sorted
	rangeShuffle              // partitions of about equal size by ranges of sorted keys
)

// shuffle is how the rows of a stage are distributed.
type shuffle struct {
	kind       shuffleKind
	keys       []int // columns of the output to hash
	partitions int
	order      sortOrder
	target     int64 // rows of a partition of a rangeShuffle
	aggregate  bool  // rows are partial aggregates; for the definition
	// names are the key columns as the definition shows them.
	names []keyName
}

// keyName is a key column of a shuffle: a column of the fragment, or one that the writing stage
// adds.
type keyName struct {
	column int
	desc   bool
}

// Columns that a stage adds, as keys.
const (
	bucketKey = -1
	boostKey  = -2
)

// inputKind is the kind of a stage's input.
type inputKind uint8

const (
	externalInput inputKind = iota
	tableInput
	inlineInput
	systemInput
	stageInput
)

// input is a leaf of a fragment.
type input struct {
	kind inputKind
	leaf plan.Node // *plan.External for external and stage inputs
	from *stage
	// broadcast says that every worker reads all rows.
	broadcast bool
}

// types returns the physical types of columns.
func types(columns []plan.Column) []vector.Type {
	out := make([]vector.Type, len(columns))
	for i, c := range columns {
		out[i] = c.Type.Runtime()
	}
	return out
}

// phase is where a stage is.
type phase string

// The phases as interface.md names them. No phase: the stage has not begun.
const (
	phaseNone     phase = ""
	phaseNew      phase = "NEW"
	phaseReading  phase = "READING_INPUT"
	phasePost     phase = "POST_READING"
	phaseResults  phase = "RESULTS_COMPLETE"
	phaseFinished phase = "FINISHED"
	phaseFailed   phase = "FAILED"
)

// next lists the phases that may follow each; FAILED may follow any that is not terminal.
var nextPhases = map[phase][]phase{
	phaseNone:    {phaseNew},
	phaseNew:     {phaseReading},
	phaseReading: {phasePost, phaseResults},
	phasePost:    {phaseResults},
	phaseResults: {phaseFinished},
}

// may reports whether p may be followed by to.
func (p phase) may(to phase) bool {
	if to == phaseFailed {
		return p != phaseFinished && p != phaseFailed && p != phaseNone
	}
	return slices.Contains(nextPhases[p], to)
}

// enter moves the stage on. Phases that are not reached from the present one are ignored: a failure
// may overtake a success.
func (s *stage) enter(to phase, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.phase.may(to) {
		return
	}
	s.mu.phase = to
	switch to {
	case phaseNew:
		s.mu.started = now
	case phaseFinished, phaseFailed:
		s.mu.ended = now
	}
}

// fail ends a stage that the end of its job interrupted. One that had done its work keeps the phase
// it was in.
func (s *stage) fail(now time.Time) {
	s.mu.Lock()
	running := s.mu.phase == phaseNew || s.mu.phase == phaseReading
	s.mu.Unlock()
	if running {
		s.enter(phaseFailed, now)
	}
}

// begin notes how many workers the stage has.
func (s *stage) begin(workers int, now time.Time) []*counters {
	s.mu.Lock()
	s.mu.phase, s.mu.ended = phaseNone, time.Time{} // it may have ended, and lost what it wrote
	s.mu.Unlock()
	s.enter(phaseNew, now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.workers = workers
	s.mu.counters = make([]*counters, workers)
	s.mu.outputs = make([]*output, workers)
	for i := range s.mu.counters {
		s.mu.counters[i] = newCounters()
	}
	return s.mu.counters
}

func (s *stage) setOutput(worker int, o *output) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.outputs[worker] = o
}

func (s *stage) outputs() []*output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*output(nil), s.mu.outputs...)
}

func (s *stage) setPartitions(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.partitions = n
}

// counterOf returns the counters of the worker that wrote o.
func (s *stage) counterOf(o *output) *counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, p := range s.mu.outputs {
		if p == o {
			return s.mu.counters[i]
		}
	}
	return newCounters()
}

// merged notes how many partitions the stage's sorted rows have, and how many of them were read to
// their end.
func (s *stage) merged(total, read int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.mu.counters {
		c.sorting(func(n *sortCounter) {
			n.known, n.partitions = true, total
			n.mergedPartitions += read
		})
	}
}
