package lookup

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/secret"
)

// Options are the settings of a Set.
type Options struct {
	// Access defines which files and addresses may be read.
	Access *ingest.Access
	// Memory is the budget of tables; nil: they are not limited.
	Memory *budget.Budget
	Clock  clock.Clock
	Log    *slog.Logger
}

// Set contains the lookups of a process. All methods are safe for use by many goroutines.
type Set struct {
	o    Options
	view atomic.Pointer[View]
	// wake is sent to when Run should look for what to load.
	wake chan struct{}

	mu struct {
		sync.Mutex
		// serving are the lookups that queries see; next are those that were asked for and are not loaded
		// yet.
		serving, next map[string]*entry
		// changed is closed when either changes.
		changed chan struct{}
	}
}

// entry is one container in a Set.
type entry struct {
	Container
	factory *factory // nil: the container could not be read
	table   *Table   // nil until loaded
	mark    string   // of the last reading
	due     time.Time
	busy    bool // a goroutine reads it, and may use its table
	failure error
}

// NewSet returns an empty set. Without Run it loads only tables that their containers include.
func NewSet(o Options) *Set {
	s := &Set{o: o, wake: make(chan struct{}, 1)}
	s.mu.serving, s.mu.next, s.mu.changed = map[string]*entry{}, map[string]*entry{}, make(chan struct{})
	s.view.Store(&View{})
	return s
}

// View is a snapshot of the lookups.
type View struct {
	tables map[string]*Table
	// failed says why what is configured is not there.
	failed map[string]error
}

// View returns a snapshot of the lookups. A nil Set has none.
func (s *Set) View() *View {
	if s == nil {
		return &View{}
	}
	return s.view.Load()
}

// Known reports whether a lookup with this name exists, loaded or not.
func (v *View) Known(name string) bool {
	_, failed := v.failed[name]
	return failed || v.tables[name] != nil
}

// Table returns the table of a lookup. The fault says that the lookup does not exist, or why it is
// not loaded yet.
func (v *View) Table(name string) (*Table, error) {
	if t, ok := v.tables[name]; ok {
		return t, nil
	}
	if err, ok := v.failed[name]; ok {
		if err == nil {
			return nil, fault.Unavailable("Lookup [%s] is not loaded yet", name)
		}
		return nil, fault.Unavailable("Lookup [%s] could not be loaded: %s", name, reason(err)).WithCause(err)
	}
	return nil, fault.InvalidInput("Lookup [%s] not found", name)
}

// reason is what a failure tells users.
func reason(err error) string {
	if f := fault.Find(err); f != nil {
		return f.Message
	}
	return fault.Words(err)
}

// Names returns the sorted names of the loaded lookups.
func (v *View) Names() []string { return slices.Sorted(maps.Keys(v.tables)) }

// Status contains the loaded and the pending lookups of a process.
type Status struct {
	// Current are the loaded containers. Next are the containers that are not loaded yet.
	Current, Next map[string]Container
}

// Status returns the containers by name.
func (s *Set) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Status{Current: map[string]Container{}, Next: map[string]Container{}}
	for name, e := range s.mu.serving {
		out.Current[name] = e.Container
	}
	for name, e := range s.mu.next {
		out.Next[name] = e.Container
	}
	return out
}

// Apply sets the lookups of the set. Lookups that are not in want are dropped. New lookups and new
// versions are loaded. Tables that their containers include are available when Apply returns.
func (s *Set) Apply(ctx context.Context, want map[string]Container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, e := range s.mu.serving {
		if _, ok := want[name]; !ok {
			delete(s.mu.serving, name)
			e.drop()
		}
	}
	for name := range s.mu.next {
		if _, ok := want[name]; !ok {
			delete(s.mu.next, name)
		}
	}
	for name, c := range want {
		s.addLocked(ctx, name, c)
	}
	s.publishLocked()
}

// Add adds a lookup, or another version of a lookup.
func (s *Set) Add(ctx context.Context, name string, c Container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(ctx, name, c)
	s.publishLocked()
}

// Drop removes a lookup and reports whether the set contained it.
func (s *Set) Drop(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	serving, next := s.mu.serving[name], s.mu.next[name]
	delete(s.mu.serving, name)
	delete(s.mu.next, name)
	if serving != nil {
		serving.drop()
	}
	s.publishLocked()
	return serving != nil || next != nil
}

func (e *entry) drop() {
	if e.table != nil && !e.busy { // else load does so
		e.table.close()
	}
}

func (s *Set) addLocked(ctx context.Context, name string, c Container) {
	if e := s.mu.next[name]; e != nil && e.Same(c) {
		return
	}
	if e := s.mu.serving[name]; e != nil && e.Same(c) {
		if s.mu.next[name] != nil { // another version was wanted meanwhile and is not any more
			delete(s.mu.next, name)
			e.due = s.o.Clock.Now()
			s.wakeUp()
		}
		return
	}
	e := &entry{Container: c, due: s.o.Clock.Now()}
	ctx = secret.WithHeld(ctx, string(c.Factory))
	if e.factory, e.failure = parse(c.Factory); e.failure == nil && !e.factory.outside() {
		b := newBuilder(s.o.Memory)
		if e.failure = b.fill(ctx, e.factory.table); e.failure == nil {
			e.table, e.failure = b.table()
		}
		if e.failure != nil {
			b.free()
		}
	}
	if e.failure != nil {
		e.failure = secret.MaskError(ctx, e.failure)
		s.o.Log.ErrorContext(ctx, "failed to load a lookup", "lookup", name, "version", c.Version, "error", e.failure)
	}
	if e.table != nil {
		s.serveLocked(name, e)
		return
	}
	s.mu.next[name] = e
	s.wakeUp()
}

// serveLocked puts a loaded entry in the place of the old one.
func (s *Set) serveLocked(name string, e *entry) {
	if old := s.mu.serving[name]; old != nil && old != e {
		old.drop()
	}
	s.mu.serving[name] = e
	delete(s.mu.next, name)
}

func (s *Set) publishLocked() {
	v := &View{tables: make(map[string]*Table, len(s.mu.serving)), failed: map[string]error{}}
	for name, e := range s.mu.serving {
		v.tables[name] = e.table
	}
	for name, e := range s.mu.next {
		v.failed[name] = e.failure
	}
	s.view.Store(v)
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

func (s *Set) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run reads lookups from external sources periodically until ctx is done.
func (s *Set) Run(ctx context.Context) error {
	var loads sync.WaitGroup
	slots := make(chan struct{}, parallelLoads)
	timer := s.o.Clock.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		due, wait := s.due()
		for _, d := range due {
			loads.Go(func() { s.loadInTurn(ctx, slots, d) })
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C():
		}
	}
	loads.Wait()
	return nil
}

// loadInTurn loads an entry as soon as a slot is free, which it gives up when the source turns out
// to be slow.
func (s *Set) loadInTurn(ctx context.Context, slots chan struct{}, w work) {
	if w.entry.factory.follower != nil && w.entry.table != nil { // it mostly waits
		s.load(ctx, w.name, w.entry)
		s.wakeUp()
		return
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	var held sync.WaitGroup
	loaded := make(chan struct{})
	held.Go(func() {
		slow := s.o.Clock.NewTimer(slowLoad)
		defer slow.Stop()
		select {
		case <-loaded:
		case <-slow.C():
		}
		<-slots
	})
	s.load(ctx, w.name, w.entry)
	close(loaded)
	held.Wait()
	s.wakeUp()
}

// Settled waits until every lookup was read or has failed, so that queries after a restart find the
// same lookups as before. The wait is limited, because a source that hangs must not block the
// process.
func (s *Set) Settled(ctx context.Context) {
	timer := s.o.Clock.NewTimer(settleTime)
	defer timer.Stop()
	for {
		unread, changed := s.unread()
		if len(unread) == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		case <-timer.C():
			s.o.Log.WarnContext(ctx, "accepting queries before all lookups are loaded", "lookups", unread, "after", settleTime)
			return
		}
	}
}

// unread returns the names of the lookups that were asked for and neither loaded nor failed yet,
// and what is closed when that may have changed.
func (s *Set) unread() (names []string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, e := range s.mu.next {
		if e.failure == nil {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names)), s.mu.changed
}

// work is an entry that is to be read.
type work struct {
	name  string
	entry *entry
}

// due returns what is to be read now, marked as busy, and how long nothing else is.
func (s *Set) due() (out []work, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Clock.Now()
	wait = time.Hour
	look := func(entries map[string]*entry) {
		for name, e := range entries {
			if e.busy || e.factory == nil || !e.factory.outside() || e.due.IsZero() {
				continue
			}
			if left := e.due.Sub(now); left > 0 {
				wait = min(wait, left)
				continue
			}
			e.busy = true
			out = append(out, work{name, e})
		}
	}
	look(s.mu.next)
	for name := range s.mu.next {
		if e := s.mu.serving[name]; e != nil {
			e.due = time.Time{} // what is being replaced is not read again
		}
	}
	look(s.mu.serving)
	return out, wait
}

// load reads an entry once and makes it visible.
func (s *Set) load(ctx context.Context, name string, e *entry) {
	ctx = secret.WithHeld(ctx, string(e.Factory))
	table, mark, err := s.read(ctx, e)
	err = secret.MaskError(ctx, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.busy = false
	if ctx.Err() != nil || s.mu.serving[name] != e && s.mu.next[name] != e { // it was dropped meanwhile, or all are
		if table != nil && (e.table == nil || table.memory != e.table.memory) {
			table.close()
		}
		if s.mu.serving[name] != e {
			e.drop()
		}
		return
	}
	e.failure = err
	now := s.o.Clock.Now()
	switch {
	case err != nil:
		pause := retryPause
		switch {
		case e.factory.follower != nil:
			pause = topicRetry
		case e.factory.period > 0:
			pause = min(pause, e.factory.period)
		}
		e.due = now.Add(pause)
		s.o.Log.ErrorContext(ctx, "failed to read a lookup; retrying", "lookup", name, "version", e.Version, "after", pause, "error", err)
	case e.factory.period > 0:
		e.due = now.Add(e.factory.period + rand.N(e.factory.jitter+1))
	default:
		e.due = time.Time{} // it is read once
	}
	if err == nil {
		e.mark = mark
	}
	if table != nil {
		if e.table == nil || e.table.memory != table.memory {
			e.drop()
		}
		first := e.table == nil
		e.table = table
		s.serveLocked(name, e)
		if first || e.factory.follower == nil {
			s.o.Log.InfoContext(ctx, "lookup loaded", "lookup", name, "version", e.Version, "keys", table.Len())
		}
		if most := s.allowed(e.factory.share); table.memory.Held() > most {
			s.o.Log.WarnContext(ctx, "lookup is larger than its maxHeapPercentage", "lookup", name, "bytes", table.memory.Held(), "most", most)
		}
	}
	s.publishLocked()
}

// allowed is the number of bytes that a share of memory is.
func (s *Set) allowed(share float64) int64 {
	if share == 0 || s.o.Memory == nil {
		return math.MaxInt64
	}
	return int64(share * float64(s.o.Memory.Limit()))
}

// guarded reads a source. A panic becomes an error: what is outside may be anything, and a lookup
// that ends the process would do so again at every start.
func guarded(ctx context.Context, from source, access *ingest.Access, mark string, add func(key, value string) error) (changed bool, next string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("Reading met an unexpected condition; the log says more").WithPanic(p)
		}
	}()
	return from.read(ctx, access, mark, add)
}

// read returns the table of an entry, nil if it is as it was.
func (s *Set) read(ctx context.Context, e *entry) (*Table, string, error) {
	limit := e.factory.timeout
	if e.factory.follower != nil {
		limit += topicWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fault.Unavailable("reading took longer than [%v]; loadTimeoutSeconds changes that", e.factory.timeout))
	defer cancel()
	if e.factory.follower != nil {
		return s.follow(ctx, e)
	}
	b := newBuilder(s.o.Memory)
	changed, mark, err := guarded(ctx, e.factory.source, s.o.Access, e.mark, b.add)
	var t *Table
	if err == nil && changed {
		t, err = b.table()
	}
	if t == nil {
		b.free()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // what the source says of its end depends on where it was
	}
	return t, mark, err
}

// follow returns the table of an entry with what has changed, nil if nothing has.
func (s *Set) follow(ctx context.Context, e *entry) (t *Table, mark string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Defensive("Reading met an unexpected condition; the log says more").WithPanic(p)
		}
	}()
	var anew *builder
	changes := map[string]*string{}
	mark, err = e.factory.follower.follow(ctx, s.o.Access, e.mark, func(begins bool) func(key string, value *string) error {
		if begins || e.table == nil {
			anew = newBuilder(s.o.Memory)
			return anew.put
		}
		return func(key string, value *string) error {
			changes[key] = value
			return nil
		}
	})
	switch {
	case err != nil:
	case anew != nil:
		t, err = anew.table()
	case len(changes) > 0:
		t, err = e.table.with(changes)
	}
	if err != nil {
		t = nil
		if anew != nil {
			anew.free()
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return t, mark, err
}
