package cluster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/timeline"
)

const (
	// lostAfter is how long a worker may fail to say what it has before its rows are taken to be lost.
	// One that refuses a connection is lost at once.
	lostAfter = 1500 * time.Millisecond
	// livePollRetry is how long after a failure a worker is asked again.
	livePollRetry = 100 * time.Millisecond
	// liveUnknown is how long after a worker of an older release was asked it is asked again.
	liveUnknown = 30 * time.Second
)

// LiveOptions configure a LiveInventory.
type LiveOptions struct {
	View   *View
	Client *http.Client
	// Here is the address of the worker of this process, which announces directly to the inventory;
	// "": this process is not a worker.
	Here string
	// Tiers rank the tasks with a priority; nil: the highest priority first.
	Tiers *dispatch.Tiers
	// Pulse detects silent workers; may be nil.
	Pulse *dispatch.Pulse
	Clock clock.Clock
	Log   *slog.Logger
}

// LiveInventory tracks the live segments of all workers. All methods are safe for use by many
// goroutines. It implements live.Announcer, for the worker of this process.
type LiveInventory struct {
	o    LiveOptions
	here *liveServer
	view atomic.Pointer[LiveView]

	mu struct {
		sync.Mutex
		servers  map[string]*liveServer // by address; those of other processes
		segments map[timeline.SegmentID]*LiveSegment
		number   int64 // LiveView.Number
		schemas  map[string]*timeline.Schema
		changed  chan struct{}
	}
}

// liveServer is a worker that is followed.
type liveServer struct {
	as    *dispatch.Server
	at    Counter
	tried bool                          // it has answered, or failed
	has   map[string]timeline.SegmentID // by text
}

// NewLiveInventory returns an empty inventory; Run fills it.
func NewLiveInventory(o LiveOptions) *LiveInventory {
	i := &LiveInventory{o: o, here: &liveServer{
		as: &dispatch.Server{Name: o.Here, Here: true}, has: map[string]timeline.SegmentID{},
	}}
	i.view.Store(&LiveView{})
	i.mu.servers, i.mu.segments = map[string]*liveServer{}, map[timeline.SegmentID]*LiveSegment{}
	i.mu.schemas, i.mu.changed = map[string]*timeline.Schema{}, make(chan struct{})
	return i
}

// View returns the currently known live segments.
func (i *LiveInventory) View() *LiveView { return i.view.Load() }

// Changed returns a channel that is closed when the view changes.
func (i *LiveInventory) Changed() <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mu.changed
}

// Announce implements live.Announcer.
func (i *LiveInventory) Announce(a live.Announcement) {
	i.mu.Lock()
	defer i.mu.Unlock()
	touched := map[string]bool{}
	i.holdLocked(i.here, a.ID, a.Shard, columnsOf(a.Columns), LiveHolder{
		TaskID: a.TaskID, Rows: a.Rows, Number: a.Number, Priority: a.Priority,
	}, touched)
	i.publishLocked(touched)
}

// Withdraw implements live.Announcer.
func (i *LiveInventory) Withdraw(id timeline.SegmentID, number int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	touched := map[string]bool{}
	i.unholdLocked(i.here, id, touched)
	i.mu.number = max(i.mu.number, number)
	i.publishLocked(touched)
}

// Run follows all other workers of the membership until ctx is done.
func (i *LiveInventory) Run(ctx context.Context) error {
	f := following{view: i.o.View, role: Indexer, skip: i.o.Here, lock: &i.mu, join: i.joinLocked, joined: func() {}}
	f.leave = func(address string) {
		i.loseLocked(i.mu.servers[address])
		delete(i.mu.servers, address)
	}
	return f.run(ctx)
}

// joinLocked begins to know a worker.
func (i *LiveInventory) joinLocked(address string, m Member) func(ctx context.Context) {
	s := &liveServer{
		at: Beginning, has: map[string]timeline.SegmentID{}, as: &dispatch.Server{Name: address, URL: m.URL(), Protocol: m.Protocol},
	}
	i.mu.servers[address] = s
	return func(ctx context.Context) { i.follow(ctx, s) }
}

// follow keeps what is known of a worker up to date.
func (i *LiveInventory) follow(ctx context.Context, s *liveServer) {
	var failing time.Time // since when; zero: it answers
	for {
		d, err := i.poll(ctx, s)
		if ctx.Err() != nil {
			return
		}
		wait := time.Duration(0)
		switch unknown := (*statusError)(nil); {
		case err == nil:
			failing = time.Time{}
			i.note(s, d)
		case errors.As(err, &unknown) && unknown.status == http.StatusNotFound:
			i.lose(s)
			wait = liveUnknown
		default:
			now := i.o.Clock.Now()
			if failing.IsZero() {
				failing = now
				i.o.Log.WarnContext(ctx, "failed to read the live segments of a worker; retrying", "server", s.as.Name, "error", err)
			}
			if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errSilent) || now.Sub(failing) > lostAfter {
				i.lose(s)
			}
			wait = livePollRetry
		}
		if wait > 0 && i.o.Clock.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// errSilent is the failure of a worker that takes connections and answers nothing.
var errSilent = errors.New("it is silent")

// poll asks a worker what changed. While it has live segments it is also asked whether it lives.
func (i *LiveInventory) poll(ctx context.Context, s *liveServer) (*Delta, error) {
	i.mu.Lock()
	has := len(s.has)
	i.mu.Unlock()
	if has == 0 {
		return poll(ctx, i.o.Client, s.as.URL, s.at)
	}
	silent, done := i.o.Pulse.Watch(s.as.URL)
	defer done()
	polling, leave := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-silent:
			leave(errSilent)
		case <-polling.Done():
		}
	})
	d, err := poll(polling, i.o.Client, s.as.URL, s.at)
	if err != nil && polling.Err() != nil && ctx.Err() == nil {
		err = context.Cause(polling)
	}
	leave(nil)
	watching.Wait()
	return d, err
}

// note takes over what a poll has brought.
func (i *LiveInventory) note(s *liveServer, d *Delta) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mu.servers[s.as.Name] != s {
		return
	}
	s.as.SetDown(false)
	first := !s.tried
	s.tried = true
	if d == nil {
		if first {
			i.publishLocked(nil)
		}
		return
	}
	if d.Reset {
		i.loseLocked(s)
		return
	}
	s.at = d.Counter
	touched := map[string]bool{}
	for _, c := range d.Changes {
		i.applyLocked(s, c, touched)
	}
	i.publishLocked(touched)
}

func (i *LiveInventory) applyLocked(s *liveServer, c Change, touched map[string]bool) {
	if c.Action == actionDrop {
		i.mu.number = max(i.mu.number, c.Number)
		if id, has := s.has[c.ID]; has {
			i.unholdLocked(s, id, touched)
		}
		return
	}
	if c.Live == nil {
		return
	}
	id, shard, err := c.Live.received()
	if err != nil {
		i.o.Log.Warn("worker announced an invalid live segment", "server", s.as.Name, "segment", c.ID, "error", err)
		return
	}
	i.holdLocked(s, id, shard, c.Live.Columns, LiveHolder{
		TaskID: c.Live.TaskID, Rows: c.Live.Rows, Number: c.Live.Number, Priority: c.Live.Priority,
	}, touched)
}

// lose forgets the segments of a worker that does not answer.
func (i *LiveInventory) lose(s *liveServer) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.mu.servers[s.as.Name] == s {
		i.loseLocked(s)
	}
}

func (i *LiveInventory) loseLocked(s *liveServer) {
	s.as.SetDown(true)
	first := !s.tried
	s.tried, s.at = true, Beginning
	if len(s.has) == 0 && !first {
		return
	}
	touched := map[string]bool{}
	for _, id := range maps.Clone(s.has) {
		i.unholdLocked(s, id, touched)
	}
	i.publishLocked(touched)
}

// holdLocked notes that a worker has a segment, or what has changed of it.
func (i *LiveInventory) holdLocked(
	s *liveServer, id timeline.SegmentID, shard timeline.ShardSpec, columns []timeline.Column, holder LiveHolder, touched map[string]bool,
) {
	before := i.mu.segments[id]
	holder.Server, holder.schema = s.as, i.schemaLocked(columns)
	i.rank(&holder)
	var holders []LiveHolder
	if before != nil {
		holders = slices.Clone(before.Holders)
	}
	if at := slices.IndexFunc(holders, func(h LiveHolder) bool { return h.Server == s.as }); at >= 0 {
		holders[at] = holder
	} else {
		holders = append(holders, holder)
	}
	next := liveSegment(id, shard, holders)
	s.has[next.Text] = id
	i.mu.segments[id] = next
	touched[id.DataSource] = true
}

// rank says how much queries of this process want to ask a worker. A task without a priority is
// asked by all.
func (i *LiveInventory) rank(h *LiveHolder) {
	switch {
	case h.Priority == nil:
	case i.o.Tiers == nil:
		h.rank = *h.Priority
	default:
		rank, asked := i.o.Tiers.Rank("", *h.Priority)
		h.rank, h.unasked = rank, !asked
	}
}

func (i *LiveInventory) unholdLocked(s *liveServer, id timeline.SegmentID, touched map[string]bool) {
	before := i.mu.segments[id]
	if before == nil {
		return
	}
	delete(s.has, before.Text)
	touched[id.DataSource] = true
	holders := slices.DeleteFunc(slices.Clone(before.Holders), func(h LiveHolder) bool { return h.Server == s.as })
	if len(holders) == 0 {
		delete(i.mu.segments, id)
		return
	}
	i.mu.segments[id] = liveSegment(id, before.Of.Shard, holders)
}

// liveSegment puts the holders in the order in which queries ask them: those that were known first,
// until another has announced so much more that it has more. Growth is announced when it has
// doubled, and a task that reads again what another one has read before has less for some time.
func liveSegment(id timeline.SegmentID, shard timeline.ShardSpec, holders []LiveHolder) *LiveSegment {
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(holders, func(a, b LiveHolder) int {
		return cmp.Or(number(a.unasked)-number(b.unasked), cmp.Compare(b.rank, a.rank))
	})
	for from, to := 0, 0; from < len(holders); from = to {
		first := from
		for ; to < len(holders) && holders[to].unasked == holders[from].unasked && holders[to].rank == holders[from].rank; to++ {
			if holders[to].Rows >= 2*holders[first].Rows {
				first = to
			}
		}
		h := holders[first]
		copy(holders[from+1:first+1], holders[from:first])
		holders[from] = h
	}
	return &LiveSegment{
		Of:      &timeline.Segment{ID: id, Shard: shard, Schema: holders[0].schema, Rows: holders[0].Rows, BinaryVersion: timeline.BinaryVersion},
		Text:    id.String(),
		Holders: holders,
	}
}

// schemaLocked returns the one schema with some columns.
func (i *LiveInventory) schemaLocked(columns []timeline.Column) *timeline.Schema {
	s := timeline.NewSchema(columns)
	if known := i.mu.schemas[s.Fingerprint()]; known != nil {
		return known
	}
	i.mu.schemas[s.Fingerprint()] = s
	return s
}

// publishLocked makes a view of what is known, in which some datasources have changed.
func (i *LiveInventory) publishLocked(touched map[string]bool) {
	before := i.view.Load()
	next := &LiveView{Number: i.mu.number, tables: before.tables}
	if len(touched) > 0 {
		next.tables = maps.Clone(before.tables)
		if next.tables == nil {
			next.tables = map[string]*LiveTable{}
		}
		lists := map[string][]*LiveSegment{}
		for id, s := range i.mu.segments {
			if touched[id.DataSource] {
				lists[id.DataSource] = append(lists[id.DataSource], s)
			}
		}
		for name := range touched {
			if list := lists[name]; len(list) > 0 {
				next.tables[name] = newLiveTable(list, before.Table(name))
			} else {
				delete(next.tables, name)
			}
		}
		if len(next.tables) == 0 {
			clear(i.mu.schemas)
		}
	}
	i.view.Store(next)
	close(i.mu.changed)
	i.mu.changed = make(chan struct{})
}

func newLiveTable(list []*LiveSegment, before *LiveTable) *LiveTable {
	slices.SortFunc(list, func(a, b *LiveSegment) int { return a.Of.ID.Compare(b.Of.ID) })
	t := &LiveTable{Segments: list, Schemas: &LiveSchemas{}}
	at := map[*timeline.Schema]int{}
	for _, s := range list {
		for _, h := range s.Holders {
			n, known := at[h.schema]
			if !known {
				n = len(t.Schemas.List)
				at[h.schema] = n
				t.Schemas.List = append(t.Schemas.List, LiveSchema{Schema: h.schema})
			}
			t.Schemas.List[n].Version = max(t.Schemas.List[n].Version, s.Of.ID.Version)
		}
	}
	if before != nil && slices.Equal(before.Schemas.List, t.Schemas.List) {
		t.Schemas = before.Schemas
	}
	return t
}

func (t *LiveTable) find(id timeline.SegmentID) (int, bool) {
	return slices.BinarySearchFunc(t.Segments, id, func(s *LiveSegment, id timeline.SegmentID) int { return s.Of.ID.Compare(id) })
}

// Synced returns when the segments of every worker were read once, or ctx is done.
func (i *LiveInventory) Synced(ctx context.Context) error {
	for {
		changed := i.Changed()
		if i.synced() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (i *LiveInventory) synced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, m := range i.o.View.Members(Indexer) {
		if m.Address() == i.o.Here {
			continue
		}
		if s := i.mu.servers[m.Address()]; s == nil || !s.tried {
			return false
		}
	}
	return true
}
