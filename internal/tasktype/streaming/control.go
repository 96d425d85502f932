package streaming

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// control is what the goroutine that reads shares with those who steer the task: how far it is,
// its sequences, and whether it is to pause.
//
//	steering            control                 reading
//	Pause   ──► pause = true    ──► gate: state PAUSED, waits
//	SetEnds ──► ends, sequences ──► gate: goes on
//
// Positions move only when the rows before them were taken (advance), and never while the task is
// paused: what Pause returns holds until Resume or SetEnds.
type control struct {
	clock   clock.Clock
	base    string
	compare func(a, b stream.Position) int
	// keep notes the sequences for a later run of the task, before anybody is told that they are
	// so.
	keep func(ctx context.Context, cuts []cut) error
	// cutting lets one change of the sequences happen at a time.
	cutting sync.Mutex

	mu struct {
		sync.Mutex
		state   chat.State
		started int64
		current stream.Positions
		// sequences are those that are not published, in their order. There is always one.
		sequences []*sequence
		// all are those that there were ever.
		all      []*sequence
		over     bool // the run has ended
		pause    bool
		stop     stop
		problems []*trouble
		changed  chan struct{} // closed at each change of what others wait for
	}
}

// stop says that the task ends before its supervisor gave it ends.
type stop int

const (
	goesOn      stop = iota
	stopPublish      // publish what was read
	stopForget       // forget what was read
)

// trouble is what a task waits for.
type trouble struct {
	problem chat.Problem
	since   time.Time
}

// patience is how long a task may wait for something before its status says so.
const patience = 2 * time.Second

func newControl(c clock.Clock, base string, compare func(a, b stream.Position) int) *control {
	ctl := &control{clock: c, base: base, compare: compare}
	ctl.mu.state, ctl.mu.changed = chat.NotStarted, make(chan struct{})
	return ctl
}

func (c *control) changeLocked() {
	close(c.mu.changed)
	c.mu.changed = make(chan struct{})
}

// begin says what is read from where on.
func (c *control) begin(sequences []*sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.sequences, c.mu.all, c.mu.current = sequences, slices.Clone(sequences), maps.Clone(sequences[0].starts)
	c.changeLocked()
}

// enter changes the state.
func (c *control) enter(s chat.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s == chat.Reading && c.mu.started == 0 {
		c.mu.started = clock.Millis(c.clock)
	}
	c.mu.state = s
	c.changeLocked()
}

// gate lets the goroutine that reads go on, after a pause if one is wanted, and returns how. While
// it is paused, again is called now and then.
func (c *control) gate(ctx context.Context, again func()) (stop, error) {
	var ticker clock.Ticker
	for {
		c.mu.Lock()
		if c.mu.stop != goesOn || !c.mu.pause {
			how := c.mu.stop
			if c.mu.state == chat.Paused {
				c.mu.state = chat.Reading
				c.changeLocked()
			}
			c.mu.Unlock()
			if ticker != nil {
				ticker.Stop()
			}
			return how, ctx.Err()
		}
		if c.mu.state != chat.Paused {
			c.mu.state = chat.Paused
			c.changeLocked()
		}
		changed := c.mu.changed
		c.mu.Unlock()
		if ticker == nil {
			ticker = c.clock.NewTicker(askAgain)
		}
		select {
		case <-changed:
		case <-ticker.C():
			again()
		case <-ctx.Done():
			ticker.Stop()
			return goesOn, context.Cause(ctx)
		}
	}
}

// pauseSelf is a pause that the task wants itself. It is called by the goroutine that reads, which
// enters the gate next: nothing is read any more.
func (c *control) pauseSelf() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pause, c.mu.state = true, chat.Paused
	c.changeLocked()
}

// advance moves the position of a partition, at most to the end of the task's last sequence.
func (c *control) advance(p stream.Partition, to stream.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.mu.sequences[len(c.mu.sequences)-1]; last.closed && c.compare(to, last.ends[p]) > 0 {
		to = last.ends[p]
	}
	c.mu.current[p] = to
}

// positions returns where reading goes on, without the partitions that were read to their end.
func (c *control) positions() stream.Positions {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.mu.sequences[len(c.mu.sequences)-1]
	out := make(stream.Positions, len(c.mu.current))
	for p, at := range c.mu.current {
		if end := last.ends[p]; end == stream.Unbounded || c.compare(at, end) < 0 {
			out[p] = at
		}
	}
	return out
}

// sequenceOf returns the sequence that a position belongs to, and its end; nil: none, the
// partition was read to its end.
func (c *control) sequenceOf(p stream.Partition, at stream.Position) (*sequence, stream.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.mu.sequences {
		if end, ok := s.ends[p]; ok && (end == stream.Unbounded || c.compare(at, end) < 0) {
			return s, end
		}
	}
	return nil, ""
}

// latest returns the newest sequence, which may have no end yet, and whether it has one.
func (c *control) latest() (s *sequence, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s = c.mu.sequences[len(c.mu.sequences)-1]
	return s, s.closed
}

// ready hands over the sequences that were read up to their ends, in their order. over says that
// there is nothing more to read.
func (c *control) ready() (ready []*sequence, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.mu.sequences {
		last := i == len(c.mu.sequences)-1
		if !s.handed {
			if !s.reached(c.mu.current, c.compare) || !s.closed && !(last && s.bounded()) {
				return ready, false
			}
			s.handed, s.closed = true, true
			ready = append(ready, s)
		}
	}
	return ready, true
}

// finish closes the newest sequence where reading is.
func (c *control) finish(ctx context.Context) error {
	c.cutting.Lock()
	defer c.cutting.Unlock()
	c.mu.Lock()
	ends := c.leastLocked()
	closed := c.mu.sequences[len(c.mu.sequences)-1].closed
	c.mu.Unlock()
	if closed {
		return nil
	}
	return c.cut(ctx, ends, true)
}

// cutHere opens the next sequence where reading is. The task is paused.
func (c *control) cutHere(ctx context.Context) error {
	c.mu.Lock()
	ends := c.leastLocked()
	c.mu.Unlock()
	return c.SetEnds(ctx, ends, false)
}

// published notes that a sequence is visible. All but the last of the task are forgotten.
func (c *control) published(s *sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.published = true
	for len(c.mu.sequences) > 1 && c.mu.sequences[0].published {
		c.mu.sequences = slices.Clone(c.mu.sequences[1:])
	}
}

// leastLocked returns the least ends that the newest sequence may get: where reading is, and not
// before its start, which a task that reads former sequences again has still to come to.
func (c *control) leastLocked() stream.Positions {
	out := maps.Clone(c.mu.current)
	for p, start := range c.mu.sequences[len(c.mu.sequences)-1].starts {
		if c.compare(start, out[p]) > 0 {
			out[p] = start
		}
	}
	return out
}

// Pause pauses reading and returns its positions: the minimum ends that the newest sequence may
// get.
func (c *control) Pause(ctx context.Context) (stream.Positions, error) {
	for {
		c.mu.Lock()
		if c.mu.over {
			c.mu.Unlock()
			return nil, errEnded()
		}
		switch c.mu.state {
		case chat.Paused:
			at := c.leastLocked()
			c.mu.pause = true
			c.mu.Unlock()
			return at, nil
		case chat.Reading:
			if !c.mu.pause {
				c.mu.pause = true
				c.changeLocked()
			}
		default:
			state := c.mu.state
			c.mu.Unlock()
			return nil, notPausable(state)
		}
		changed := c.mu.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// errEnded is the fault of steering a task that runs no longer.
func errEnded() error { return fault.Unavailable("The task has ended") }

// end says that the run has ended: nobody waits for it any longer.
func (c *control) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.over = true
	c.changeLocked()
}

// notPausable is a fault of a state that is left by itself.
func notPausable(s chat.State) error {
	return fault.Conflict("Cannot pause task as it is currently in state[%s]. Pausable states are [READING, PAUSED].", s)
}

// Resume ends a pause, except while ends are being set.
func (c *control) Resume() {
	c.cutting.Lock()
	defer c.cutting.Unlock()
	c.resume()
}

func (c *control) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.pause = false
	c.changeLocked()
}

// SetEnds closes the newest sequence at ends, and opens the next sequence there unless the task
// finishes.
func (c *control) SetEnds(ctx context.Context, ends stream.Positions, finish bool) error {
	c.cutting.Lock()
	defer c.cutting.Unlock()
	repeated, err := c.checkEnds(ends, finish)
	if err != nil {
		return err
	}
	if !repeated {
		if err := c.cut(ctx, ends, finish); err != nil {
			return err
		}
	}
	c.resume()
	return nil
}

// checkEnds tests whether ends can be set, or were already.
func (c *control) checkEnds(ends stream.Positions, finish bool) (repeated bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.over {
		return false, errEnded()
	}
	if len(c.mu.sequences) == 0 {
		return false, fault.InvalidInput("Task must be paused before changing the end sequences")
	}
	last := c.mu.sequences[len(c.mu.sequences)-1]
	for p := range last.starts {
		if _, ok := ends[p]; !ok {
			return false, fault.InvalidInput("End sequences are missing for partition [%s]", p)
		}
	}
	switch {
	case len(ends) != len(last.starts):
		return false, fault.InvalidInput("End sequences are given for partitions that the task does not read")
	case !finish && maps.Equal(last.starts, ends), finish && maps.Equal(last.ends, ends):
		return !finish || last.closed, nil
	case last.closed:
		return false, fault.InvalidInput("Sequence [%s] has already endOffsets set, cannot set to [%s]", last.name, ends.Plain())
	case c.mu.state != chat.Paused || !c.mu.pause:
		return false, fault.InvalidInput("Task must be paused before changing the end sequences")
	}
	for p, least := range c.leastLocked() {
		if c.compare(ends[p], least) < 0 {
			return false, fault.InvalidInput("End sequence must be >= current sequence for partition [%s] (current: %s)", p, least)
		}
	}
	return false, nil
}

// cut closes the newest sequence. The caller has cutting.
func (c *control) cut(ctx context.Context, ends stream.Positions, finish bool) error {
	c.mu.Lock()
	last := c.mu.sequences[len(c.mu.sequences)-1]
	cuts := cutsOf(c.mu.sequences)
	c.mu.Unlock()
	closed := &cuts[len(cuts)-1]
	next := cut{Number: last.number + 1, Starts: maps.Clone(ends), Ends: last.ends}
	closed.Ends, closed.Closed = maps.Clone(ends), true
	if !finish {
		cuts = append(cuts, next)
	}
	if err := c.keep(ctx, cuts); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last.ends, last.closed = maps.Clone(ends), true
	if !finish {
		opened := restore(c.base, []cut{next})
		c.mu.sequences, c.mu.all = append(slices.Clone(c.mu.sequences), opened...), append(c.mu.all, opened...)
	}
	c.changeLocked()
	return nil
}

// Stop stops the task.
func (c *control) Stop(publish bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.stop = stopForget
	if publish {
		c.mu.stop = stopPublish
	}
	c.changeLocked()
}

// stopped says whether and how the task is to end at once.
func (c *control) stopped() (how stop, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.stop, c.mu.changed
}

// during notes what the task waits for, until the result is called.
func (c *control) during(class, message string, ofStream bool) func() {
	t := &trouble{chat.Problem{Class: class, Message: message, Stream: ofStream, Since: clock.Millis(c.clock)}, c.clock.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.problems = append(c.mu.problems, t)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.mu.problems = slices.DeleteFunc(c.mu.problems, func(o *trouble) bool { return o == t })
	}
}

// Status returns the status for the supervisor.
func (c *control) Status() chat.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := chat.Status{State: c.mu.state, Started: c.mu.started, Current: maps.Clone(c.mu.current), Checkpoints: map[int]stream.Positions{}}
	for _, q := range c.mu.sequences {
		if !q.published {
			s.Checkpoints[q.number] = maps.Clone(q.starts)
		}
		s.Ends = maps.Clone(q.ends)
	}
	now := c.clock.Now()
	for _, t := range c.mu.problems {
		if t.problem.Stream || now.Sub(t.since) >= patience {
			p := t.problem
			s.Problem = &p
			break
		}
	}
	return s
}

// wanted reports whether the goroutine that reads is to come to its gate.
func (c *control) wanted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.pause || c.mu.stop != goesOn
}

// everything returns the sequences that there were, once nobody reads or publishes any more.
func (c *control) everything() []*sequence {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.all
}

// forget drops a sequence of which nothing is served any longer.
func (c *control) forget(s *sequence) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.all = slices.DeleteFunc(c.mu.all, func(o *sequence) bool { return o == s })
}
