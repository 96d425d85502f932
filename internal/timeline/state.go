package timeline

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/invariant"
)

// Change is one step of the published change stream: a segment became used, or is no longer.
type Change struct {
	ID SegmentID
	// Segment is the descriptor of a segment that became used, and nil for one that is no longer used.
	Segment *Segment
}

// Added returns the changes that add segments.
func Added(segments ...*Segment) []Change {
	changes := make([]Change, len(segments))
	for i, s := range segments {
		changes[i] = Change{ID: s.ID, Segment: s}
	}
	return changes
}

// State is the timelines of all datasources at one number of the change stream. It is immutable: a
// query that pins a State sees the same segments until it ends.
type State struct {
	number      int64
	dataSources map[string]*Timeline
}

// NewState returns the state with these segments.
func NewState(number int64, segments iter.Seq[*Segment]) *State {
	var changes []Change
	for s := range segments {
		changes = append(changes, Change{ID: s.ID, Segment: s})
	}
	return (&State{}).Apply(number, changes)
}

// Number returns the number of the last change that is in the state.
func (s *State) Number() int64 { return s.number }

// Timeline returns the timeline of a datasource; the empty one if it has no used segments.
func (s *State) Timeline(dataSource string) *Timeline { return s.dataSources[dataSource] }

// DataSources returns the names of the datasources with used segments, sorted.
func (s *State) DataSources() []string { return slices.Sorted(maps.Keys(s.dataSources)) }

// Only returns the state restricted to the datasources in names.
func (s *State) Only(names []string) *State {
	out := &State{number: s.number, dataSources: map[string]*Timeline{}}
	for _, name := range names {
		if t, ok := s.dataSources[name]; ok {
			out.dataSources[name] = t
		}
	}
	return out
}

// Apply returns the state after the changes up to a higher number.
func (s *State) Apply(number int64, changes []Change) *State {
	next := &State{number: number, dataSources: s.dataSources}
	if len(changes) == 0 {
		return next
	}
	byName := make(map[string][]Change)
	for _, c := range changes {
		byName[c.ID.DataSource] = append(byName[c.ID.DataSource], c)
	}
	next.dataSources = make(map[string]*Timeline, len(s.dataSources)+len(byName))
	maps.Copy(next.dataSources, s.dataSources)
	for name, list := range byName {
		t := s.dataSources[name].Apply(list)
		if t.Len() == 0 {
			delete(next.dataSources, name)
			continue
		}
		next.dataSources[name] = t
	}
	return next
}

// Published is the newest State. Pin is one atomic load; one goroutine advances it.
type Published struct {
	current atomic.Pointer[State]

	mu struct {
		sync.Mutex
		advanced chan struct{} // closed and replaced at each step
	}
}

// NewPublished returns a Published at number 0, without segments.
func NewPublished() *Published {
	p := &Published{}
	p.current.Store(&State{})
	p.mu.advanced = make(chan struct{})
	return p
}

// Pin returns the newest state.
func (p *Published) Pin() *State { return p.current.Load() }

// Advance applies the changes up to a number. Numbers only grow.
func (p *Published) Advance(number int64, changes []Change) error {
	old := p.current.Load()
	if number <= old.number {
		return invariant.Failed("the published timeline went from change [%d] to [%d]", old.number, number)
	}
	p.set(old.Apply(number, changes))
	return nil
}

// Reset replaces the state by a snapshot, for a reader that fell behind the change stream.
func (p *Published) Reset(s *State) { p.set(s) }

func (p *Published) set(s *State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current.Store(s)
	close(p.mu.advanced)
	p.mu.advanced = make(chan struct{})
}

// Wait returns the newest state as soon as its number is at least number.
func (p *Published) Wait(ctx context.Context, number int64) (*State, error) {
	return p.until(ctx, func(s *State) bool { return s.number >= number })
}

// Next returns the newest state as soon as it differs from seen. Code that follows every change
// uses Next and not Wait, because a restored metastore continues with lower numbers.
func (p *Published) Next(ctx context.Context, seen *State) (*State, error) {
	return p.until(ctx, func(s *State) bool { return s != seen })
}

func (p *Published) until(ctx context.Context, enough func(*State) bool) (*State, error) {
	for {
		p.mu.Lock()
		advanced := p.mu.advanced
		p.mu.Unlock()
		if s := p.Pin(); enough(s) {
			return s, nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
