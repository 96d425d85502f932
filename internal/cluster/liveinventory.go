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

// LiveOptions are what a LiveInventory works with.
type LiveOptions struct {
	View   *View
	Client *http.Client
	// Here is the address of the worker of this process, which announces to the inventory itself; "":
	// this process is none.
	Here string
	// Pulse knows which workers are silent; nil: nobody looks.
	Pulse *dispatch.Pulse
	Clock clock.Clock
	Log   *slog.Logger
}

// LiveInventory knows the live segments of all workers. All methods are safe for use by many
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
	member Member
	as     *dispatch.Server
	at     Counter
	tried  bool // it has answered, or failed
	cancel context.CancelFunc
	has    map[string]timeline.SegmentID // by text
}

// NewLiveInventory returns an inventory of nothing; Run fills it.
func NewLiveInventory(o LiveOptions) *LiveInventory {
	i := &LiveInventory{o: o, here: &liveServer{
		as: &dispatch.Server{Name: o.Here, Here: true}, has: map[string]timeline.SegmentID{},
	}}
	i.view.Store(&LiveView{})
	i.mu.servers, i.mu.segments = map[string]*liveServer{}, map[timeline.SegmentID]*LiveSegment{}
	i.mu.schemas, i.mu.changed = map[string]*timeline.Schema{}, make(chan struct{})
	return i
}

// View returns the live segments that are known now.
func (i *LiveInventory) View() *LiveView { return i.view.Load() }

// Changed returns a channel that is closed when the view is another than now.
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
	i.holdLocked(i.here, a.ID, a.Shard, columnsOf(a.Columns), LiveHolder{TaskID: a.TaskID, Rows: a.Rows, Number: a.Number}, touched)
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
	var following sync.WaitGroup
	defer following.Wait()
	for {
		changed := i.o.View.Changed()
		members := map[string]Member{}
		for _, m := range i.o.View.Members(Indexer) {
			if m.Address() != i.o.Here {
				members[m.Address()] = m
			}
		}
		i.mu.Lock()
		for address, s := range i.mu.servers {
			if m, ok := members[address]; !ok || m != s.member {
				s.cancel()
				i.loseLocked(s)
				delete(i.mu.servers, address)
			}
		}
		for address, m := range members {
			if i.mu.servers[address] != nil {
				continue
			}
			follow, cancel := context.WithCancel(ctx)
			s := &liveServer{
				member: m, at: Beginning, cancel: cancel, has: map[string]timeline.SegmentID{},
				as: &dispatch.Server{Name: address, URL: m.URL(), Protocol: m.Protocol},
			}
			i.mu.servers[address] = s
			following.Go(func() { i.follow(follow, s) })
		}
		i.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
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
				i.o.Log.WarnContext(ctx, "a worker can't be asked which live segments it has", "server", s.as.Name, "error", err)
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
		i.o.Log.Warn("a worker tells of a live segment that can't be", "server", s.as.Name, "segment", c.ID, "error", err)
		return
	}
	i.holdLocked(s, id, shard, c.Live.Columns, LiveHolder{TaskID: c.Live.TaskID, Rows: c.Live.Rows, Number: c.Live.Number}, touched)
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
	holders := []LiveHolder{holder}
	if before != nil {
		for _, h := range before.Holders {
			if h.Server != s.as {
				holders = append(holders, h)
			}
		}
	}
	next := liveSegment(id, shard, holders)
	s.has[next.Text] = id
	i.mu.segments[id] = next
	touched[id.DataSource] = true
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

func liveSegment(id timeline.SegmentID, shard timeline.ShardSpec, holders []LiveHolder) *LiveSegment {
	slices.SortStableFunc(holders, func(a, b LiveHolder) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.Server.Name, b.Server.Name))
	})
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

// Synced returns when every worker was asked once, or ctx is done.
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
