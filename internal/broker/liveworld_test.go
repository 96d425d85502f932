package broker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/api/data"
	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/api/fragments"
	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/cluster"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/lookup"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// world is a Broker with a metastore, workers that have live segments, and a server that reads
// published ones. Whatever passes between them may be late.
type world struct {
	t         testing.TB
	ctx       context.Context
	clock     clock.Clock
	log       *slog.Logger
	store     *metastore.Store
	published *timeline.Published
	inventory *cluster.LiveInventory
	view      *cluster.View
	broker    *broker.Broker
	running   *query.Running
	workers   []*worker
	files     *files
	queries   atomic.Int64

	late struct {
		sync.Mutex
		r    *rand.Rand
		most time.Duration // 0: nothing is late
	}
}

// worker is a process with live segments. That of a world of one process has no server.
type worker struct {
	set    *live.Set
	server *httptest.Server
	member cluster.Member
}

// files are the segments in deep storage, by their load specification.
type files struct {
	dir string
	mu  sync.Mutex
	n   int
	by  map[string]*segment.Segment
}

func (f *files) path() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	return filepath.Join(f.dir, fmt.Sprintf("deep-%d.segment", f.n))
}

// add opens a file, and returns its load specification.
func (f *files) add(t testing.TB, path string) json.RawMessage {
	t.Helper()
	s, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	spec := strconv.Quote(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[spec] = s
	return json.RawMessage(`{"type":"local","path":` + spec + `}`)
}

// Acquire implements broker.Segments.
func (f *files) Acquire(_ context.Context, s *timeline.Segment) (segment.Reader, error) {
	return f.open(s.LoadSpec())
}

func (f *files) open(spec json.RawMessage) (segment.Reader, error) {
	var of struct {
		Path json.RawMessage `json:"path"`
	}
	if err := json.Unmarshal(spec, &of); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.by[string(of.Path)]
	if file == nil || !file.Acquire() {
		return nil, fmt.Errorf("there is no file [%s]", of.Path)
	}
	return file, nil
}

// here is the server of a world that reads published segments: the Broker's own process. It
// implements broker.Servers.
type here struct{ all []*dispatch.Server }

func (h here) Live() []*dispatch.Server          { return h.all }
func (h here) Holders(string) []*dispatch.Server { return nil }

// named implements fragments.Segments for a worker.
type named struct {
	set   *live.Set
	files *files
}

func (n named) Acquire(_ context.Context, id string, spec json.RawMessage) (segment.Reader, error) {
	if readers, err := n.set.AcquireUsed(id); err == nil {
		return readers[0], nil
	} else if spec == nil {
		return nil, err
	}
	return n.files.open(spec)
}

func (n named) Held(ctx context.Context, id, _ string) (segment.Reader, error) {
	return n.Acquire(ctx, id, nil)
}

const source = "stream"

var day = chrono.Interval{
	Start: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixMilli(), End: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli(),
}

// newWorld starts a world. Without workers the Broker's process has the only set of live segments.
func newWorld(t testing.TB, workers int, seed uint64, late time.Duration) *world {
	w := &world{t: t, ctx: context.Background(), clock: clock.System(), log: slog.New(slog.DiscardHandler), published: timeline.NewPublished()}
	w.late.r, w.late.most = rand.New(rand.NewPCG(seed, 7)), late
	dir := t.TempDir()
	w.files = &files{dir: dir, by: map[string]*segment.Segment{}}
	var err error
	w.store, err = metastore.Open(w.ctx, metastore.Options{
		Path: filepath.Join(dir, "metadata.db"), FaultPoint: func(string) error { w.pause(); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	var roles sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		roles.Wait()
		for _, x := range w.workers {
			x.stop()
		}
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	roles.Go(func() { _ = w.store.Follow(ctx, w.published) }) // it ends with ctx
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: tardy{w, transport}}
	w.view = cluster.NewView()
	options := broker.Options{
		Memory: budget.Root(1 << 30), Lookups: lookup.NewSet(lookup.Options{Clock: w.clock, Log: w.log}), Clock: w.clock, Log: w.log,
	}
	if workers == 0 {
		w.inventory = cluster.NewLiveInventory(cluster.LiveOptions{View: w.view, Here: "here", Clock: w.clock, Log: w.log})
		x := w.newWorker(w.inventory)
		w.workers = append(w.workers, x)
		options.LiveSegments = x.set
	} else {
		members := make([]cluster.Member, workers)
		for i := range workers {
			w.workers = append(w.workers, w.serve())
			members[i] = w.workers[i].member
		}
		w.view = cluster.NewView(members...)
		w.inventory = cluster.NewLiveInventory(cluster.LiveOptions{View: w.view, Client: client, Clock: w.clock, Log: w.log})
		options.Servers = here{[]*dispatch.Server{{Name: "historical", Here: true}}}
		options.Dispatcher = dispatch.New(dispatch.Options{Client: client, Clock: w.clock, Log: w.log})
		roles.Go(func() { _ = w.inventory.Run(ctx) }) // likewise
		if err := w.inventory.Synced(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
	options.Live = w.inventory
	w.broker = broker.New(w.published, w.files, (&broker.System{
		Servers: func(bool) []broker.Server { return nil },
		Copies: func(context.Context) (func(*timeline.Segment) int64, error) {
			return func(*timeline.Segment) int64 { return 1 }, nil
		},
	}).Tables(), &broker.Externals{}, options)
	w.running = query.NewRunning(w.clock, query.RunningOptions{})
	return w
}

// newWorker returns a worker that announces to somebody.
func (w *world) newWorker(to live.Announcer) *worker {
	x := &worker{}
	var err error
	x.set, err = live.NewSet(live.Options{
		Dir: w.t.TempDir(), Memory: budget.Root(1 << 30), Announcer: to, Number: func() int64 { return w.published.Pin().Number() },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// serve starts a worker of another process.
func (w *world) serve() *worker {
	var x *worker
	log := cluster.NewLiveLog(clock.Millis(w.clock), func() []live.Announcement { return x.set.Announced() })
	x = w.newWorker(log)
	engine := broker.New(w.published, w.files, nil, &broker.Externals{}, broker.Options{
		Memory: budget.Root(1 << 30), Lookups: lookup.NewSet(lookup.Options{Clock: w.clock, Log: w.log}), Clock: w.clock, Log: w.log,
	})
	mux := edge.NewMux(&edge.Errors{Log: w.log})
	data.LiveRoutes(mux, log.Log(), x.set, w.clock)
	fragments.New(engine, named{x.set, w.files}, x.set, query.NewGate(query.Limits{}, "indexer", nil), nil, w.clock, w.log, 0).Routes(mux)
	x.server = httptest.NewServer(mux)
	host, port, err := net.SplitHostPort(x.server.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	n, _ := strconv.Atoi(port)
	x.member = cluster.Member{Role: cluster.Indexer, Holder: port, Host: host, Port: n}
	return x
}

// stop ends a worker as the loss of its process does.
func (x *worker) stop() {
	if x.server != nil {
		x.server.CloseClientConnections()
		x.server.Listener.Close()
		x.server.CloseClientConnections()
		x.server.Config.Close()
	}
	x.set.Close()
}

// pause is between any two steps.
func (w *world) pause() {
	w.late.Lock()
	most := w.late.most
	var d time.Duration
	if most > 0 && w.late.r.IntN(2) == 0 {
		d = time.Duration(w.late.r.Int64N(int64(most)))
	}
	w.late.Unlock()
	if d > 0 {
		_ = w.clock.Sleep(w.ctx, d) // it does not end before
	}
}

// tardy makes requests and their answers late.
type tardy struct {
	w  *world
	to http.RoundTripper
}

func (l tardy) RoundTrip(r *http.Request) (*http.Response, error) {
	l.w.pause()
	resp, err := l.to.RoundTrip(r)
	l.w.pause()
	return resp, err
}

// ask runs a query and returns its rows, values as text.
func (w *world) ask(sql string, context map[string]any) ([][]string, error) {
	id := fmt.Sprintf("q%d", w.queries.Add(1))
	if context == nil {
		context = map[string]any{}
	}
	ctx, q, err := w.running.Enter(w.ctx, query.Arrival{ID: id, SQL: sql, Context: context})
	if err != nil {
		return nil, err
	}
	defer func() { q.End(ctx, err) }()
	rows, err := w.broker.Start(ctx, q, &query.Request{SQL: sql, ID: id, Context: context, Dialect: "service"})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out [][]string
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		b = b.Compact()
		for i := range b.N {
			row := make([]string, len(b.Cols))
			for c, v := range b.Cols {
				row[c] = fmt.Sprint(v.ValueAt(i))
			}
			out = append(out, row)
		}
	}
}

// mustAsk is ask for queries that have an answer.
func (w *world) mustAsk(sql string, context map[string]any) [][]string {
	w.t.Helper()
	rows, err := w.ask(sql, context)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// count is the rows that a query sees now.
func (w *world) count(where string) (int64, error) {
	rows, err := w.ask("SELECT COUNT(*), SUM(n) FROM "+source+where, nil)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(rows[0][0], 10, 64)
	if sum := rows[0][1]; err == nil && n > 0 && sum != rows[0][0] {
		return 0, fmt.Errorf("[%d] rows have the sum [%s]", n, sum)
	}
	return n, err
}

// columns are those of rows.
var columns = []segment.ColumnSpec{
	{Name: segment.TimeColumn, Type: vector.Long}, {Name: "k", Type: vector.String}, {Name: "n", Type: vector.Long},
}

// rows returns some rows, whose n is 1.
func rows(r *rand.Rand, n int) *vector.Batch {
	times, keys, ones := make([]int64, n), make([]string, n), make([]int64, n)
	for i := range n {
		times[i], keys[i], ones[i] = day.Start+r.Int64N(day.Millis()), fmt.Sprint("k", r.IntN(20)), 1
	}
	return &vector.Batch{N: n, Cols: []*vector.Vector{vector.FromLongs(times), vector.FromStrings(keys), vector.FromLongs(ones)}}
}

// open allocates a segment of a sequence, and opens it on workers.
func (w *world) open(task, sequence string, on ...*worker) []*live.Segment {
	owner := tasklock.Owner{TaskID: task, GroupID: "stream", Priority: 75}
	ids, err := w.store.AllocateSegments(w.ctx, metastore.AllocateRequest{
		Owner: owner, DataSource: source, QueryGranularity: chrono.None, SegmentGranularity: chrono.ByDay, SequenceName: sequence,
		SkipLineage: true, LockType: tasklock.Append, Allocator: task,
	}, []int64{day.Start})
	if err != nil || len(ids) != 1 {
		w.t.Fatalf("allocated %v, %v", ids, err)
	}
	var out []*live.Segment
	for _, x := range on {
		g, err := x.set.Open(live.SegmentOptions{
			ID: ids[0].ID, Shard: ids[0].Shard, TaskID: task, Segment: segment.Options{SortOrder: []string{segment.TimeColumn}},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}

// publish finishes and publishes a segment, and returns the number of the change stream.
func (w *world) publish(task string, g *live.Segment) (int64, error) {
	path := w.files.path()
	info, err := g.Finish(w.ctx, path)
	if err != nil {
		return 0, err
	}
	s := w.describe(g.ID(), timeline.Numbered{Partition: g.ID().Partition}, info, w.files.add(w.t, path))
	number := int64(0)
	err = g.Publish(func() (int64, error) {
		w.pause()
		p, err := w.store.Publish(w.ctx, metastore.Publication{
			TaskID: task, DataSource: source, Action: metastore.PublishAppend, Segments: []*timeline.Segment{s},
		})
		w.pause()
		number = p.Number
		return p.Number, err
	})
	return number, err
}

func (w *world) describe(id timeline.SegmentID, shard timeline.ShardSpec, info *segment.Info, spec json.RawMessage) *timeline.Segment {
	list := make([]timeline.Column, 0, len(info.Columns))
	for _, c := range info.Columns {
		list = append(list, timeline.Column{Name: c.Name, Type: c.Type.String(), Metric: c.Metric != ""})
	}
	s := &timeline.Segment{
		ID: id, Shard: shard, Schema: timeline.NewSchema(list), Size: info.Size, Rows: int64(info.Rows), BinaryVersion: timeline.BinaryVersion,
	}
	return s.Locate(spec)
}

// known waits until the Broker knows a live segment.
func (w *world) known(id timeline.SegmentID) {
	w.seen(func() bool { return w.inventory.View().Find(id) != nil })
}

// seen waits until the inventory is as it should be.
func (w *world) seen(as func() bool) {
	for {
		changed := w.inventory.Changed() // before the look, which a change may follow at once
		if as() {
			return
		}
		<-changed
	}
}
