package streams

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/spec"
	"github.com/hengedb/henge/internal/secret"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
)

// keeper is one supervisor in one version.
type keeper struct {
	o *Options
	// is the specification; only the keeper's goroutine changes it.
	is atomic.Pointer[spec.Stream]
	// over is closed when the keeper has stopped.
	over chan struct{}

	notices chan notice
	halt    chan struct{} // closed when it is to stop
	halting sync.Once
	publish bool // with halt: tasks are told to publish

	source stream.Source
	// known are the partitions of the stream; assigned those that groups read. New ones are since when
	// the others know of them.
	known, assigned []stream.Partition
	newSince        int64
	// earlier are the partitions that were there at the first look.
	earlier map[stream.Partition]bool
	reading map[int]*group
	pending []*group
	// next are where successors of pending groups begin.
	next stream.Positions
	// strange are tasks of the supervisor that it can't reach to see what they do, and since when.
	strange map[string]int64
	rests   map[int]*rest
	handOff map[int]bool // groups that are to roll over at the next run
	scaler  *scaler
	first   bool // the first run is to come
	tasks   int  // how many groups there are to be

	mu struct {
		sync.Mutex
		states *states
		view   view
		lag    lag
		errors []chat.ParseError
		scale  *Decision
		advice map[stream.Partition]Advice
		queued int
	}
}

// notice is something that a keeper is asked for between its runs.
type notice struct {
	do   func(ctx context.Context)
	done chan struct{}
}

// maxNotices bounds what a keeper may be asked for at once.
const maxNotices = 1000

func newKeeper(o *Options, s *spec.Stream) *keeper {
	k := &keeper{
		o: o, over: make(chan struct{}), notices: make(chan notice, maxNotices), halt: make(chan struct{}),
		reading: map[int]*group{}, next: stream.Positions{}, strange: map[string]int64{}, rests: map[int]*rest{}, handOff: map[int]bool{},
		first: true, tasks: s.IO.Tasks,
	}
	k.is.Store(s)
	k.mu.states = newStates(o.Thresholds, s.Suspended)
	k.scaler = newScaler(k)
	return k
}

// spec returns the specification.
func (k *keeper) spec() *spec.Stream { return k.is.Load() }

// now is the present in milliseconds.
func (k *keeper) now() int64 { return clock.Millis(k.o.Clock) }

// propose asks for a state.
func (k *keeper) propose(d detailed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.states.propose(d)
}

// state returns how the supervisor goes.
func (k *keeper) state() detailed {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mu.states.current
}

// meet notes an error of the run.
func (k *keeper) meet(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	k.o.Log.WarnContext(ctx, "supervisor failed", "supervisor", k.spec().ID(), "error", err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.states.meet(k.now(), err)
}

// tell has the keeper do something between its runs; it does not wait until it is done.
func (k *keeper) tell(ctx context.Context, do func(ctx context.Context)) error {
	return k.post(ctx, notice{do: do})
}

// ask is tell and waits.
func (k *keeper) ask(ctx context.Context, do func(ctx context.Context)) error {
	n := notice{do: do, done: make(chan struct{})}
	if err := k.post(ctx, n); err != nil {
		return err
	}
	select {
	case <-n.done:
		return nil
	case <-k.over:
		return fault.Unavailable("Supervisor [%s] is being changed; try again", k.spec().ID())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *keeper) post(ctx context.Context, n notice) error {
	select {
	case k.notices <- n:
		return nil
	case <-k.over:
		return fault.Unavailable("Supervisor [%s] is being changed; try again", k.spec().ID())
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop ends the keeper, and waits until it has, or until its tasks take longer than they may. With
// publish they are told to publish what they have read.
func (k *keeper) stop(publish bool) {
	k.propose(stopping)
	k.halting.Do(func() {
		k.publish = publish
		close(k.halt)
	})
	timer := k.o.Clock.NewTimer(millis(k.spec().Tuning.ShutdownTimeout))
	defer timer.Stop()
	select {
	case <-k.over:
	case <-timer.C():
	}
}

func millis(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(max(0, min(n, most))) * time.Millisecond
}

// firstFetch is how long after the first run lag is measured first.
const firstFetch = 15 * time.Second

// run keeps the supervisor until it is to stop or ctx is done.
func (k *keeper) run(ctx context.Context) {
	if text, err := json.Marshal(k.spec()); err == nil {
		ctx = secret.WithHeld(ctx, string(text)) // what is logged of it names none of its secrets
	}
	own, cancel := context.WithCancel(ctx)
	var measuring sync.WaitGroup
	measuring.Go(func() { k.measure(own) })
	k.keep(ctx)
	cancel()
	measuring.Wait()
	select {
	case <-k.halt:
		if k.publish && ctx.Err() == nil {
			k.finishAll(ctx)
		}
	default:
	}
	if k.source != nil {
		if err := k.source.Close(); err != nil {
			k.o.Log.WarnContext(ctx, "failed to close a stream", "supervisor", k.spec().ID(), "error", err)
		}
	}
}

// fetched is what a look at the stream gave.
type fetched struct {
	source     stream.Source
	partitions []stream.Partition
	err        error
}

// keep is the loop.
func (k *keeper) keep(ctx context.Context) {
	looks := make(chan fetched, 1)
	var looking sync.WaitGroup
	defer looking.Wait()
	lookCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := k.o.Clock.NewTimer(millis(k.spec().IO.StartDelay))
	defer timer.Stop()
	underWay, due := false, false // a look, and another run meanwhile
	began := k.o.Clock.Now()
	look := func() {
		k.propose(connecting)
		underWay, due, began = true, false, k.o.Clock.Now()
		source := k.source
		looking.Go(func() { looks <- k.look(lookCtx, source) })
	}
	ended := k.o.Queue.Ended()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.halt:
			return
		case <-timer.C():
			if underWay {
				due = true
				break
			}
			look()
		case got := <-looks:
			underWay = false
			k.runOnce(ctx, got)
			timer.Reset(k.wait(began))
			if due {
				look()
			}
		case <-ended:
			ended = k.o.Queue.Ended()
			if !k.first && k.lostTask(ctx) {
				k.manage(ctx, false)
				timer.Reset(k.wait(began))
			}
		case n := <-k.notices:
			k.serve(ctx, n)
			if !k.first && !underWay {
				timer.Reset(k.wait(began))
			}
		}
	}
}

// serve does what was asked for.
func (k *keeper) serve(ctx context.Context, n notice) {
	began := k.o.Clock.Now()
	n.do(ctx)
	if n.done != nil {
		close(n.done)
	}
	k.meterTime("ingest/notices/time", k.o.Clock.Now().Sub(began))
}

// wait is how long it is until the next run, or until the next group is due.
func (k *keeper) wait(began time.Time) time.Duration {
	at := began.Add(millis(k.spec().IO.Period))
	for _, g := range k.reading {
		if g.began > 0 {
			if due := time.UnixMilli(k.dueAt(g)); due.Before(at) {
				at = due
			}
		}
	}
	if again := k.restsUntil(); !again.IsZero() && again.Before(at) {
		at = again
	}
	return max(minWait, at.Sub(k.o.Clock.Now()))
}

// minWait is the least time between two runs.
const minWait = 100 * time.Millisecond

// lookPatience bounds how long the stream is asked for its partitions.
const lookPatience = 30 * time.Second

// look asks the stream for its partitions, and connects to it before where it is not.
func (k *keeper) look(ctx context.Context, source stream.Source) fetched {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	got := fetched{source: source}
	if got.source == nil {
		if got.source, got.err = k.o.Open(ctx, k.spec().IO.Stream); got.err != nil {
			return got
		}
	}
	got.partitions, got.err = got.source.Partitions(ctx)
	if got.err == nil && len(got.partitions) == 0 {
		got.err = &streamError{"No partitions found for stream [" + k.spec().IO.Source() + "]"}
	}
	return got
}

// runOnce is one run.
func (k *keeper) runOnce(ctx context.Context, got fetched) {
	k.source = got.source
	if got.err != nil {
		k.meet(ctx, got.err)
	} else {
		k.learn(got.partitions)
	}
	if k.source != nil && (got.err == nil || len(k.known) > 0) {
		k.manage(ctx, true)
	}
	k.mu.Lock()
	k.mu.states.endRun()
	k.mu.Unlock()
	if got.err == nil {
		k.first = false
	}
}

// manage brings the tasks to what they should be. With ask they are asked for how far they are
// before.
func (k *keeper) manage(ctx context.Context, ask bool) {
	if k.first {
		k.propose(discovering)
	}
	k.adopt(ctx)
	if ask {
		k.askTasks(ctx)
	}
	k.rollOver(ctx)
	if ctx.Err() != nil {
		return // what tasks did not answer says nothing: the next leader looks anew
	}
	k.checkPending(ctx)
	k.checkReading(ctx)
	k.repartition(ctx)
	idle := k.checkIdle()
	k.checkScale(ctx)
	if ctx.Err() != nil {
		return
	}
	if !k.spec().Suspended && !idle && !k.checkDone(ctx) {
		if k.first {
			k.propose(creating)
		}
		k.create(ctx)
	}
	k.show()
}
