package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
)

// reader reads splits for one worker of a load, in one of its phases, and counts what it meets
// there. If the worker is in another process, this one is told what the reader there has counted.
// It implements msq.RowWorker.
type reader struct {
	l     *load
	phase string
	count counts
	mu    struct {
		sync.Mutex
		failed   int64 // records that were no rows, or not wholly
		events   []event
		observed []observedSplit
		// notices are what a user should know of the inputs that were read.
		notices []string
	}
}

// observedSplit is what the records of a split have.
type observedSplit struct {
	File   int
	Offset int64
	Shape  *ingest.Shape
}

// reader makes the reader of a worker. What the one before it has counted was for nothing.
func (l *load) reader(phase string, worker int) *reader {
	r := &reader{l: l, phase: phase}
	if old := l.part.enroll(phase, worker, r); old != nil {
		l.failed.Add(-old.failed())
		l.parts.drop(old)
	}
	return r
}

func (r *reader) failed() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mu.failed
}

// Open implements msq.RowWorker.
func (r *reader) Open(ctx context.Context, ext *plan.External, split ingest.Split, o *ingest.Options) (msq.RowReader, error) {
	if r.phase == determinePartitions {
		return r.survey(ctx, split, o)
	}
	return r.open(ctx, ext, split, o)
}

// bad takes note of a record that is no row, or not wholly one, and says whether the load goes on.
// A record counts once, however often it is read.
func (r *reader) bad(input, kind string, details ...string) error {
	tuning := r.l.spec.Tuning
	build := r.phase == buildSegments
	if build && tuning.LogParseErrors {
		r.l.log.Error("failed to read a record", "kind", kind, "details", details)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if int64(len(r.mu.events)) < tuning.SavedParseErrors {
		r.mu.events = append(r.mu.events, event{r.l.clock(), input, kind, details})
	}
	if !build {
		return nil
	}
	r.mu.failed++
	total := r.l.failed.Add(1)
	if r.l.far {
		total = r.mu.failed // what others have met is known where the load is
	}
	return r.l.tolerates(total, details...)
}

// maxNotices bounds what a reader keeps of what a user should know of inputs.
const maxNotices = 20

// notice takes note of what a user should know of an input, and writes it to the log of the task.
func (r *reader) notice(n *ingest.Notice) {
	if r.phase != buildSegments {
		return // it comes again when the segments are built
	}
	r.l.log.Warn(n.Error())
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.notices) < maxNotices {
		r.mu.notices = append(r.mu.notices, n.Error())
	}
}

// notices returns what readers have noted of the inputs.
func (p *part) notices() []string {
	p.mu.Lock()
	out := slices.Clone(p.mu.notices)
	p.mu.Unlock()
	for _, r := range p.readers(buildSegments) {
		r.mu.Lock()
		out = append(out, r.mu.notices...)
		r.mu.Unlock()
	}
	return out
}

// tolerates fails if there were more bad records than a load may have. The details are those of the
// last.
func (l *load) tolerates(failed int64, details ...string) error {
	most := l.spec.Tuning.MaxParseErrors
	switch {
	case failed <= most:
		return nil
	case len(details) > 0:
		return fault.InvalidInput("Max parse exceptions[%d] exceeded: %s", most, strings.Join(details, "; "))
	}
	return fault.InvalidInput("Max parse exceptions[%d] exceeded", most)
}

// observed notes what the records of a split have.
func (r *reader) observed(split ingest.Split, shape *ingest.Shape) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.observed = append(r.mu.observed, observedSplit{split.File, split.Offset, shape})
}

// readerState is a reader on its way between processes.
type readerState struct {
	Host   string
	Counts countsJSON
	Failed int64
	Events []event         `json:",omitempty"`
	Splits []splitState    `json:",omitempty"`
	Learnt []observedSplit `json:",omitempty"`

	Notices []string `json:",omitempty"`
}

// State implements msq.RowWorker.
func (r *reader) State(ended bool) (json.RawMessage, error) {
	s := readerState{Host: r.l.host, Counts: r.count.json(), Splits: r.l.parts.of(r)}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Notices = slices.Clone(r.mu.notices)
	if s.Failed, s.Events = r.mu.failed, r.mu.events; ended {
		s.Learnt = r.mu.observed
	}
	return json.Marshal(&s)
}

// Set implements msq.RowWorker.
func (r *reader) Set(state json.RawMessage) error {
	var s readerState
	if err := json.Unmarshal(state, &s); err != nil {
		return fault.Unavailable("What another worker has counted can't be read").WithCause(err)
	}
	r.count.set(s.Counts)
	r.l.parts.set(r, s.Host, s.Splits)
	r.mu.Lock()
	defer r.mu.Unlock()
	more := s.Failed - r.mu.failed
	r.mu.failed, r.mu.events, r.mu.observed, r.mu.notices = s.Failed, s.Events, s.Learnt, s.Notices
	return r.l.tolerates(r.l.failed.Add(more))
}

// enroll makes a reader that of a worker in a phase, and returns the one before; nil: there was
// none.
func (p *part) enroll(phase string, worker int, r *reader) *reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.mu.readers[phase]
	for len(list) <= worker {
		list = append(list, nil)
	}
	old := list[worker]
	list[worker] = r
	p.mu.readers[phase] = list
	return old
}

// readers returns those of a phase, by worker.
func (p *part) readers(phase string) []*reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.mu.readers[phase]), func(r *reader) bool { return r == nil })
}

// events returns bad records of a phase: no more than the load keeps.
func (p *part) events(phase string) []event {
	p.mu.Lock()
	out := slices.Clone(p.mu.events[phase])
	p.mu.Unlock()
	for _, r := range p.readers(phase) {
		r.mu.Lock()
		out = append(out, r.mu.events...)
		r.mu.Unlock()
		out = out[:min(int64(len(out)), r.l.spec.Tuning.SavedParseErrors)]
	}
	return out
}

// observed returns what the records have, of one split after the other.
func (p *part) observed() []observedSplit {
	var out []observedSplit
	for _, r := range p.readers(determinePartitions) {
		r.mu.Lock()
		out = append(out, r.mu.observed...)
		r.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b observedSplit) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Offset, b.Offset))
	})
	return out
}
