package pushlog

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream/push"
)

// Options are what a Keeper works with.
type Options struct {
	Store  *push.Store
	Places *Locations
	// Own is the process that the store is the disk of.
	Own    string
	Client *http.Client
	Pulse  *dispatch.Pulse
	// Open reports whether this worker takes anything on; one that does not gives away what it has.
	Open  func() bool
	Clock clock.Clock
	Log   *slog.Logger
}

const (
	// lookEvery is how often it is looked whether logs are where they should be.
	lookEvery = 200 * time.Millisecond
	// again is how long after something failed it is tried again.
	again = 50 * time.Millisecond
	// leadPatience is how long a request waits for a log that this worker is about to lead.
	leadPatience = 3 * time.Second
	// freshFor is how long a copy is kept that nothing came to, and that nobody has made one yet.
	freshFor = time.Minute
)

// Keeper is the logs of a worker. All methods are safe for use by many goroutines.
type Keeper struct {
	o Options

	mu struct {
		sync.Mutex
		leads   map[string]*lead     // those that this worker leads, by their names
		fresh   map[string]time.Time // copies that are being made, and when something came last
		changed chan struct{}        // closed when a log can be asked
	}
	watched map[string]func() // of the pulse; Run's alone
}

// NewKeeper returns the logs of a store. They do nothing before Run.
func NewKeeper(o Options) *Keeper {
	k := &Keeper{o: o, watched: map[string]func(){}}
	k.mu.leads, k.mu.fresh, k.mu.changed = map[string]*lead{}, map[string]time.Time{}, make(chan struct{})
	return k
}

// nameOf is the name of a log in the store.
func nameOf(dataSource, id string) string { return dataSource + "/" + id }

// DivideName returns the datasource and the id of a log of the store.
func DivideName(name string) (dataSource, id string, ok bool) {
	at := strings.LastIndexByte(name, '/')
	if at < 0 {
		return "", "", false
	}
	return name[:at], name[at+1:], true
}

// Run brings logs to where they should be until ctx is done.
func (k *Keeper) Run(ctx context.Context) error {
	var leading sync.WaitGroup
	defer leading.Wait()
	defer func() {
		for _, done := range k.watched {
			done()
		}
	}()
	ticker := k.o.Clock.NewTicker(lookEvery)
	defer ticker.Stop()
	failed := false
	for {
		changed, members := k.o.Places.Changed(), k.o.Places.members.Changed()
		tables, err := k.o.Places.Tables(ctx)
		switch {
		case err == nil:
			k.look(ctx, tables, &leading)
		case ctx.Err() == nil && !failed:
			k.o.Log.WarnContext(ctx, "failed to read the owners of push logs; retrying", "error", err)
		}
		failed = err != nil
		select {
		case <-ticker.C():
		case <-changed:
		case <-members:
		case <-ctx.Done():
			return nil
		}
	}
}

// look compares what this worker has with what it should have.
func (k *Keeper) look(ctx context.Context, tables map[string]*Table, leading *sync.WaitGroup) {
	peers := map[string]bool{}
	watch := func(holder string) {
		if m, ok := k.o.Places.Where(holder); ok && holder != k.o.Own {
			peers[m.URL()] = true
		}
	}
	for _, dataSource := range names(tables) {
		for _, l := range tables[dataSource].Logs {
			name := nameOf(dataSource, l.ID)
			switch k.o.Own {
			case l.Leader:
				watch(l.Copy)
				k.lead(ctx, dataSource, l, leading)
			case l.Copy:
				watch(l.Leader)
				k.follow(ctx, dataSource, l)
			default:
				k.drop(ctx, name)
			}
		}
	}
	for url, done := range k.watched {
		if !peers[url] {
			done()
			delete(k.watched, url)
		}
	}
	for url := range peers {
		if k.watched[url] == nil {
			_, k.watched[url] = k.o.Pulse.Watch(url)
		}
	}
}

// lead begins to lead a log, unless it is led.
func (k *Keeper) lead(ctx context.Context, dataSource string, l Log, leading *sync.WaitGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := nameOf(dataSource, l.ID)
	if k.mu.leads[name] != nil {
		return
	}
	delete(k.mu.fresh, name)
	led := &lead{k: k, dataSource: dataSource, id: l.ID}
	k.mu.leads[name] = led
	leading.Go(func() {
		led.run(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.mu.leads, name)
		k.raiseLocked()
	})
}

func (k *Keeper) raiseLocked() {
	close(k.mu.changed)
	k.mu.changed = make(chan struct{})
}

// follow looks after a log that this worker has the copy of: when its leader is lost, it leads.
func (k *Keeper) follow(ctx context.Context, dataSource string, l Log) {
	name := nameOf(dataSource, l.ID)
	k.mu.Lock()
	led := k.mu.leads[name]
	delete(k.mu.fresh, name)
	k.mu.Unlock()
	if _, here := k.o.Places.Where(k.o.Own); !here || led != nil {
		return // nothing is known of the others yet, or it ends
	}
	next := l
	switch log := k.o.Store.Find(name); {
	case log == nil || !k.o.Open():
		next.Copy = ""
	case k.lost(l.Leader):
		next.Leader, next.Copy = k.o.Own, ""
		k.o.Log.WarnContext(ctx, "leader of a push log is lost; this worker leads it now",
			"dataSource", dataSource, "log", l.ID, "before", l.Leader)
	default:
		return
	}
	if err := k.o.Places.change(ctx, dataSource, l, next); err != nil && !errors.Is(err, errMoved) && ctx.Err() == nil {
		k.o.Log.WarnContext(ctx, "failed to change the owners of a push log; retrying", "error", err)
	}
}

// lost reports whether a process is not there.
func (k *Keeper) lost(holder string) bool {
	m, ok := k.o.Places.Where(holder)
	return !ok || k.o.Pulse.Silent(m.URL())
}

// drop deletes a log that others have.
func (k *Keeper) drop(ctx context.Context, name string) {
	k.mu.Lock()
	led, since, fresh := k.mu.leads[name], k.mu.fresh[name], false
	if !since.IsZero() {
		if fresh = k.o.Clock.Now().Sub(since) < freshFor; !fresh {
			delete(k.mu.fresh, name)
		}
	}
	k.mu.Unlock()
	if led != nil || fresh || k.o.Store.Find(name) == nil {
		return
	}
	if err := k.o.Store.Remove(name); err != nil {
		k.o.Log.WarnContext(ctx, "failed to delete a push log that moved to other workers", "log", name, "error", err)
	}
}

// Leading returns a log that this worker leads, for which it waits a while if it is about to.
func (k *Keeper) Leading(ctx context.Context, dataSource, id string) (*push.Log, error) {
	deadline := k.o.Clock.NewTimer(leadPatience)
	defer deadline.Stop()
	for {
		k.mu.Lock()
		led, changed := k.mu.leads[nameOf(dataSource, id)], k.mu.changed
		var log *push.Log
		if led != nil {
			log = led.serving
		}
		k.mu.Unlock()
		if log != nil {
			return log, nil
		}
		if led == nil && !k.awaits(ctx, dataSource, id) {
			return nil, errElsewhere
		}
		select {
		case <-changed:
		case <-deadline.C():
			return nil, errElsewhere
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

var errElsewhere = fault.Unavailable("The log of these rows is on its way to another worker; send them again")

// awaits reports whether the metastore says that this worker leads a log.
func (k *Keeper) awaits(ctx context.Context, dataSource, id string) bool {
	tables, err := k.o.Places.Tables(ctx)
	if err != nil {
		return false
	}
	l := tables[dataSource].Find(id)
	return l != nil && l.Leader == k.o.Own
}

// Leads returns a log of a datasource that this worker leads now; nil: none.
func (k *Keeper) Leads(t *Table, dataSource string) *Log {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range t.Logs {
		if led := k.mu.leads[nameOf(dataSource, t.Logs[i].ID)]; led != nil && led.serving != nil && led.serving.Failed() == nil {
			return &t.Logs[i]
		}
	}
	return nil
}

// Bounds says what a log has on this disk.
func (k *Keeper) Bounds(dataSource, id string) (Bounds, error) {
	log := k.o.Store.Find(nameOf(dataSource, id))
	if log == nil {
		return Bounds{}, fault.NotFound("Log [%s] of datasource [%s] is not here", id, dataSource)
	}
	earliest, latest := log.Bounds()
	return Bounds{earliest, latest}, nil
}

// BeginCopy makes a copy of a log that another worker leads, which begins at a position with what
// is remembered there.
func (k *Keeper) BeginCopy(ctx context.Context, dataSource, id string, epoch, first int64, snapshot []byte) error {
	if !k.o.Open() {
		return fault.Unavailable("This worker takes nothing on")
	}
	if err := k.admits(ctx, dataSource, id, epoch); err != nil {
		return err
	}
	name := nameOf(dataSource, id)
	k.touch(name)
	log, err := k.o.Store.Begin(name, first, snapshot)
	if err != nil {
		return err
	}
	return log.Hold(ctx, func(h *push.Held) { h.Epoch(epoch) })
}

func (k *Keeper) touch(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.fresh[name] = k.o.Clock.Now()
}

// AcceptCopy writes entries to the copy of a log, and returns when they are on disk.
func (k *Keeper) AcceptCopy(ctx context.Context, dataSource, id string, epoch int64, entries []*push.Entry) error {
	if err := k.admits(ctx, dataSource, id, epoch); err != nil {
		return err
	}
	name := nameOf(dataSource, id)
	log := k.o.Store.Find(name)
	if log == nil {
		return fault.Conflict("Log [%s] of datasource [%s] has no copy here", id, dataSource)
	}
	k.mu.Lock()
	if _, making := k.mu.fresh[name]; making {
		k.mu.fresh[name] = k.o.Clock.Now()
	}
	k.mu.Unlock()
	return log.Accept(ctx, epoch, entries)
}

// admits refuses who led a log in an epoch that is over.
func (k *Keeper) admits(ctx context.Context, dataSource, id string, epoch int64) error {
	tables, err := k.o.Places.Tables(ctx)
	if err != nil {
		return err
	}
	k.mu.Lock()
	led := k.mu.leads[nameOf(dataSource, id)]
	k.mu.Unlock()
	if l := tables[dataSource].Find(id); led != nil || l != nil && (l.Leader == k.o.Own || epoch < l.Epoch) {
		return fault.Conflict("Epoch [%d] of log [%s] of datasource [%s] is over", epoch, id, dataSource)
	}
	return nil
}

// whileAwake asks a member for something, for as long as it is not silent.
func (k *Keeper) whileAwake(ctx context.Context, m cluster.Member, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	silent, done := k.o.Pulse.Watch(m.URL())
	defer done()
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-silent:
			cancel()
		case <-ctx.Done():
		}
	})
	defer watching.Wait()
	defer cancel()
	return ask(ctx)
}
