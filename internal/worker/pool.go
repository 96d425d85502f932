package worker

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/task"
)

// PoolOptions are the options of a Pool.
type PoolOptions struct {
	View   *cluster.View
	Client *http.Client
	Clock  clock.Clock
	Log    *slog.Logger
}

// Pool runs tasks on the workers of a cluster. It implements task.WorkerPool.
type Pool struct {
	o PoolOptions

	mu struct {
		sync.Mutex
		known   map[string]*known // by process
		changed chan struct{}
	}
}

// known is what is known of a worker.
type known struct {
	member cluster.Member
	state  State
	// heard says that state is what the worker has said, silent that it does not answer now.
	heard, silent bool
	stop          context.CancelFunc // of who listens to it
}

// NewPool returns the workers of a view. Their state is unknown before Run.
func NewPool(o PoolOptions) *Pool {
	f := &Pool{o: o}
	f.mu.known, f.mu.changed = map[string]*known{}, make(chan struct{})
	return f
}

// process names a worker's process.
func process(m *cluster.Member) string { return m.Holder + "@" + strconv.FormatInt(m.Started, 10) }

// Run follows the state of the workers until ctx is done, while this process leads.
func (f *Pool) Run(ctx context.Context) error {
	var listeners sync.WaitGroup
	defer f.follow(nil, nil)
	defer listeners.Wait()
	for {
		changed := f.o.View.Changed()
		f.follow(f.o.View.Members(cluster.Indexer), func(k *known) context.CancelFunc {
			own, stop := context.WithCancel(ctx)
			listeners.Go(func() { f.listen(own, k) })
			return stop
		})
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// follow makes members the workers that are known, and begins to listen to those that are new.
func (f *Pool) follow(members []cluster.Member, listen func(*known) context.CancelFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := maps.Clone(f.mu.known)
	clear(f.mu.known)
	for i := range members {
		name := process(&members[i])
		k := before[name]
		if delete(before, name); k == nil {
			k = &known{member: members[i]}
			k.stop = listen(k)
		}
		f.mu.known[name] = k
	}
	for _, gone := range before {
		gone.stop()
	}
	f.changeLocked()
}

func (f *Pool) changeLocked() {
	close(f.mu.changed)
	f.mu.changed = make(chan struct{})
}

// listenAgain is how long after a worker did not answer it is asked again.
const listenAgain = 250 * time.Millisecond

// listen asks a worker for what it does, again and again.
func (f *Pool) listen(ctx context.Context, k *known) {
	after := int64(0)
	for ctx.Err() == nil {
		var s State
		patience, cancel := context.WithTimeout(ctx, 2*LookLong)
		err := cluster.Call(patience, f.o.Client, http.MethodGet, fmt.Sprintf("%s%s?after=%d", k.member.URL(), TasksPath, after), nil, &s)
		cancel()
		if err == nil {
			after = s.Version
			f.hear(k, s)
			continue
		}
		f.silence(k)
		_ = f.o.Clock.Sleep(ctx, listenAgain) // the loop looks why
	}
}

// hear notes what a worker says of itself.
func (f *Pool) hear(k *known, s State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k.heard && s.Version < k.state.Version {
		return // answers may overtake each other
	}
	k.state, k.heard, k.silent = s, true, false
	f.changeLocked()
}

func (f *Pool) silence(k *known) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !k.silent {
		k.silent = true
		f.changeLocked()
	}
}

// Workers implements task.WorkerPool. Workers that do not respond are included, and do not accept
// tasks.
func (f *Pool) Workers() []task.Worker {
	members := f.o.View.Members(cluster.Indexer)
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]task.Worker, len(members))
	for i := range members {
		m := &members[i]
		out[i] = task.Worker{
			Location: task.Location{Host: m.Host, Port: m.Port, TLSPort: m.TLSPort}, Process: process(m), Capacity: m.Capacity, Category: m.Category,
		}
		if k := f.mu.known[process(m)]; k != nil && k.heard {
			out[i].Enabled, out[i].LastEnded = k.state.Enabled && !k.silent, k.state.LastEnded
		}
	}
	return out
}

// Changed implements task.WorkerPool.
func (f *Pool) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.changed
}

// find returns a worker that is there.
func (f *Pool) find(process string) (*known, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.mu.known[process]; k != nil {
		return k, nil
	}
	return nil, fault.Unavailable("The worker has left")
}

// order asks a worker for something and notes what it says of itself then.
func (f *Pool) order(ctx context.Context, process, path string, o Order) error {
	k, err := f.find(process)
	if err != nil {
		return err
	}
	var s State
	if err := cluster.Call(ctx, f.o.Client, http.MethodPost, k.member.URL()+path, o, &s); err != nil {
		return err
	}
	f.hear(k, s)
	return nil
}

// there reports whether a worker is in the view, be it followed already or not.
func (f *Pool) there(name string) bool {
	return slices.ContainsFunc(f.o.View.Members(cluster.Indexer), func(m cluster.Member) bool { return process(&m) == name })
}

// Begin implements task.WorkerPool.
func (f *Pool) Begin(ctx context.Context, process string, t *task.Task, run int64) error {
	return f.order(ctx, process, TasksPath, Order{ID: t.ID, Run: run})
}

// End implements task.WorkerPool.
func (f *Pool) End(ctx context.Context, process, id string, run int64, reason string) error {
	return f.order(ctx, process, TasksPath+"/end", Order{ID: id, Run: run, Reason: reason})
}

// Enable implements task.WorkerPool.
func (f *Pool) Enable(ctx context.Context, process string, on bool) error {
	k, err := f.find(process)
	if err != nil {
		return err
	}
	path := map[bool]string{true: "/service/worker/v1/enable", false: "/service/worker/v1/disable"}[on]
	return cluster.Call(ctx, f.o.Client, http.MethodPost, k.member.URL()+path, nil, nil)
}

// Await implements task.WorkerPool.
func (f *Pool) Await(ctx context.Context, process, id string, run int64) error {
	for {
		f.mu.Lock()
		changed, k := f.mu.changed, f.mu.known[process]
		over := k != nil && k.heard && k.state.Runs[id] != run
		f.mu.Unlock()
		switch {
		case over:
			return nil
		case k == nil && !f.there(process):
			return fault.Unavailable("The worker has left")
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
