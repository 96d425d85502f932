package msq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// memoryStore is a metastore in memory: locks without conflicts, allocation that counts,
// publication that checks nothing.
type memoryStore struct {
	mu        sync.Mutex
	version   int
	used      []*timeline.Segment
	locks     []tasklock.Request
	granted   []string // the versions of locks
	released  []string
	refuse    bool             // allocations
	interval  *chrono.Interval // of allocations, if not the one asked for
	preempted bool             // at the publication
	earlier   map[string][]*timeline.Segment
	onPublish func(p Publication)         // before it is done
	onLock    func(context.Context) error // instead of granting at once
	await     func(ctx context.Context) error
}

func (m *memoryStore) nextVersion() string {
	m.version++
	return fmt.Sprintf("2030-01-01T00:00:00.%03dZ", m.version)
}

func (m *memoryStore) Lock(ctx context.Context, r tasklock.Request) (tasklock.Lock, error) {
	if m.onLock != nil {
		if err := m.onLock(ctx); err != nil {
			return tasklock.Lock{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, l := range m.locks {
		if l == r && len(m.released) == 0 { // it is held
			return tasklock.Lock{Interval: r.Interval, Version: m.granted[i]}, nil
		}
	}
	m.locks, m.granted = append(m.locks, r), append(m.granted, m.nextVersion())
	return tasklock.Lock{Interval: r.Interval, Version: m.granted[len(m.granted)-1]}, nil
}

func (m *memoryStore) Allocate(_ context.Context, r AllocateRequest) ([]Allocated, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse {
		return nil, nil
	}
	var out []Allocated
	for _, iv := range r.Intervals {
		id := timeline.SegmentID{DataSource: r.DataSource, Interval: iv, Version: "2029-01-01T00:00:00.000Z"}
		if m.interval != nil {
			id.Interval = *m.interval
		}
		for _, s := range m.used {
			if s.ID.Interval == id.Interval {
				id.Partition = max(id.Partition, s.ID.Partition+1)
			}
		}
		if n := len(out); n > 0 && out[n-1].ID.Interval == id.Interval {
			id.Partition = out[n-1].ID.Partition + 1
		}
		out = append(out, Allocated{id, timeline.Numbered{Partition: id.Partition}})
	}
	return out, nil
}

func (m *memoryStore) Used(_ context.Context, dataSource string, intervals []chrono.Interval) ([]*timeline.Segment, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*timeline.Segment
	for _, s := range m.used {
		if slices.ContainsFunc(intervals, s.ID.Interval.Overlaps) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (m *memoryStore) Publish(_ context.Context, p Publication) (Published, error) {
	if m.onPublish != nil {
		m.onPublish(p)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.preempted {
		return Published{}, ErrPreempted
	}
	m.used = append(m.used, p.Segments...)
	return Published{Number: 1}, nil
}

func (m *memoryStore) Earlier(_ context.Context, _, part string) (Published, bool, error) {
	return Published{Number: 1, Segments: m.earlier[part]}, m.earlier[part] != nil, nil
}

func (m *memoryStore) Release(_ context.Context, task string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.released = append(m.released, task)
	return nil
}

func (m *memoryStore) Await(ctx context.Context, p Published, f func(LoadCounts)) error {
	f(LoadCounts{Used: len(p.Segments), Pending: len(p.Segments)})
	if m.await != nil {
		return m.await(ctx)
	}
	return nil
}

// bench is a job's surroundings in a temporary folder.
type bench struct {
	t     testing.TB
	meta  *memoryStore
	store *deepstore.Local
	deps  Deps
	temp  string
	deep  string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, meta: &memoryStore{}, temp: filepath.Join(dir, "temp"), deep: filepath.Join(dir, "deep")}
	store, err := deepstore.OpenLocal(b.deep)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	b.store = store
	b.deps = Deps{Metastore: b.meta, Store: store, Loads: b.meta, TempDir: b.temp, Threads: 2, Host: "localhost:8091", Tables: b, Durable: true}
	return b
}

// Leaves makes bench the tables of its own segments: all those published, whatever their version.
func (b *bench) Leaves(_ context.Context, scan *plan.Scan, _ []string) ([]exec.Leaf, error) {
	var out []exec.Leaf
	for _, s := range b.meta.used {
		if s.IsTombstone() || s.ID.DataSource != scan.DataSource {
			continue
		}
		reader, err := b.open(s)
		if err != nil {
			return nil, err
		}
		out = append(out, exec.Leaf{Reader: reader, Visible: s.ID.Interval})
	}
	return out, nil
}

func (b *bench) open(s *timeline.Segment) (*segment.Segment, error) {
	key, err := b.store.Key(s.LoadSpec())
	if err != nil {
		return nil, err
	}
	path, err := b.store.Path(key)
	if err != nil {
		return nil, err
	}
	return segment.Open(path)
}

// rows returns the rows of a segment as text, in their order, with the columns it has.
func (b *bench) rows(s *timeline.Segment) []string {
	b.t.Helper()
	r, err := b.open(s)
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Release()
	var out []string
	info := r.Info()
	out = make([]string, info.Rows)
	for _, c := range info.Columns {
		column, err := r.Column(c.Name)
		if err != nil {
			b.t.Fatal(err)
		}
		v, err := column.Read(&segment.Buffer{}, 0, info.Rows)
		if err != nil {
			b.t.Fatal(err)
		}
		for i := range out {
			value := v.ValueAt(i)
			if ms, ok := value.(int64); ok && c.Name == "__time" {
				value = chrono.FormatMillis(ms, nil)
			}
			out[i] += fmt.Sprintf("%s=%v ", c.Name, value)
		}
	}
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// published describes the segments that are used: id without datasource and version, shard spec,
// rows.
func (b *bench) published() []string {
	var out []string
	for _, s := range b.meta.used {
		shard, err := timeline.MarshalShardSpec(s.Shard)
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s/%d %s rows=%d", s.ID.Interval, s.ID.Partition, shard, s.Rows))
	}
	return out
}

// leftovers lists files of intermediate data, and of deep storage those that nothing refers to.
func (b *bench) leftovers() []string {
	b.t.Helper()
	var out []string
	err := filepath.WalkDir(b.temp, func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err == nil && path != b.temp {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	list, err := b.store.List(b.t.Context(), "segments/", "", 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, o := range list {
		refers := func(s *timeline.Segment) bool {
			key, err := b.store.Key(s.LoadSpec())
			return err == nil && key == o.Key
		}
		if !slices.ContainsFunc(b.meta.used, refers) {
			out = append(out, o.Key)
		}
	}
	return out
}

// external is EXTERN over inline JSON; columns read "name type name type".
func external(data, columns string) *plan.External {
	source, err := json.Marshal(map[string]string{"type": "inline", "data": data})
	if err != nil {
		panic(err)
	}
	x := &plan.External{Source: source, Format: json.RawMessage(`{"type":"json"}`)}
	words := strings.Fields(columns)
	kinds := map[string]expr.Type{"string": expr.Of(expr.Varchar), "long": expr.Of(expr.BigInt), "time": expr.Of(expr.Timestamp),
		"double": expr.Of(expr.Double), "strings": expr.ArrayOf(expr.Of(expr.Varchar)), "longs": expr.ArrayOf(expr.Of(expr.BigInt))}
	for i := 0; i+1 < len(words); i += 2 {
		x.Out = append(x.Out, plan.Column{Name: words[i], Type: kinds[words[i+1]]})
	}
	return x
}

// project passes columns on under other names; "__time=t" takes column t as __time.
func project(n plan.Node, columns ...string) *plan.Project {
	p := &plan.Project{Input: n}
	for _, c := range columns {
		name, from, ok := strings.Cut(c, "=")
		if !ok {
			from = name
		}
		i := slices.IndexFunc(n.Columns(), func(c plan.Column) bool { return c.Name == from })
		p.Exprs = append(p.Exprs, &expr.Column{Index: i, Name: from, T: n.Columns()[i].Type})
		p.Names = append(p.Names, name)
	}
	return p
}

func days(t testing.TB) chrono.Granularity {
	t.Helper()
	g, err := chrono.ParseGranularity("DAY")
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// twelve is the data of the recorded task: three days, four keys, n from 0 to 11.
func twelve() string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "{\"t\":%d,\"k\":\"k%d\",\"n\":%d}\n", day(1+i%3), i%4, i)
	}
	return b.String()
}

// day returns midnight of a day of January 2020 in milliseconds.
func day(n int) int64 { return 1577836800000 + int64(n-1)*86400000 }

func interval(t testing.TB, text string) chrono.Interval {
	t.Helper()
	iv, err := chrono.ParseInterval(text)
	if err != nil {
		t.Fatal(err)
	}
	return iv
}

func insert(t testing.TB) *plan.Write {
	return &plan.Write{Input: project(external(twelve(), "t time k string n long"), "__time=t", "k", "n"), DataSource: "w", PartitionBy: days(t)}
}

// run runs a job and returns what it left, whatever it was.
func (b *bench) run(n plan.Node, context map[string]any) (*Controller, *Outcome, error) {
	b.t.Helper()
	c, err := New(Job{ID: "query-1", Plan: n, Context: context}, b.deps)
	if err != nil {
		b.t.Fatal(err)
	}
	out, err := c.Run(b.t.Context())
	if left := b.leftovers(); len(left) > 0 {
		b.t.Errorf("left behind: %v", left)
	}
	return c, out, err
}

func TestInsertMakesASegmentPerDay(t *testing.T) {
	b := newBench(t)
	_, out, err := b.run(insert(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.Rows != 12 || len(out.Segments) != 3 {
		t.Errorf("outcome: %+v", out)
	}
	want := []string{
		`2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z/0 {"type":"numbered","partitionNum":0,"partitions":0} rows=4`,
		`2020-01-02T00:00:00.000Z/2020-01-03T00:00:00.000Z/0 {"type":"numbered","partitionNum":0,"partitions":0} rows=4`,
		`2020-01-03T00:00:00.000Z/2020-01-04T00:00:00.000Z/0 {"type":"numbered","partitionNum":0,"partitions":0} rows=4`,
	}
	if d := cmp.Diff(want, b.published()); d != "" {
		t.Error(d)
	}
	rows := b.rows(b.meta.used[1])
	if d := cmp.Diff([]string{"__time=2020-01-02T00:00:00.000Z k=k1 n=1", "__time=2020-01-02T00:00:00.000Z k=k0 n=4",
		"__time=2020-01-02T00:00:00.000Z k=k3 n=7", "__time=2020-01-02T00:00:00.000Z k=k2 n=10"}, rows); d != "" {
		t.Error(d)
	}
	schema := b.meta.used[0].Schema
	if d := cmp.Diff([]timeline.Column{{Name: "__time", Type: "LONG"}, {Name: "k", Type: "STRING"}, {Name: "n", Type: "LONG"}}, schema.Columns); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"query-1"}, b.meta.released); d != "" {
		t.Error(d)
	}
}

func TestARunGoesOnBehindWhatOneBeforeItPublished(t *testing.T) {
	b := newBench(t)
	_, first, err := b.run(insert(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.meta.earlier = map[string][]*timeline.Segment{"": first.Segments}
	_, again, err := b.run(insert(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.Rows != 12 || len(again.Segments) != len(first.Segments) || len(b.meta.used) != len(first.Segments) {
		t.Errorf("[%d] rows in [%d] segments, [%d] are there", again.Rows, len(again.Segments), len(b.meta.used))
	}
}

func TestReplaceClusteredGetsRanges(t *testing.T) {
	b := newBench(t)
	w := insert(t)
	w.Replace, w.ReplaceAll, w.Cluster = true, true, []int{1}
	_, _, err := b.run(w, map[string]any{"rowsPerSegment": 2})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z/0 {"type":"range","dimensions":["k"],"start":null,"end":["k2"],"partitionNum":0,"numCorePartitions":2} rows=2`,
		`2020-01-01T00:00:00.000Z/2020-01-02T00:00:00.000Z/1 {"type":"range","dimensions":["k"],"start":["k2"],"end":null,"partitionNum":1,"numCorePartitions":2} rows=2`,
	}
	if d := cmp.Diff(want, b.published()[:2]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"__time=2020-01-01T00:00:00.000Z k=k2 n=6", "__time=2020-01-01T00:00:00.000Z k=k3 n=3"}, b.rows(b.meta.used[1])); d != "" {
		t.Error(d)
	}
	if v := b.meta.used[0].ID.Version; v != "2030-01-01T00:00:00.001Z" {
		t.Errorf("version %s is not the lock's", v)
	}
	if l := b.meta.locks[0]; l.Type != tasklock.Exclusive || l.Interval != chrono.Eternity {
		t.Errorf("lock: %+v", l)
	}
}

func TestReplaceHidesWhatItDoesNotRewrite(t *testing.T) {
	b := newBench(t)
	if _, _, err := b.run(insert(t), nil); err != nil {
		t.Fatal(err)
	}
	w := insert(t)
	w.Input = project(external(`{"t":1577923200000,"k":"new","n":1}`, "t time k string n long"), "__time=t", "k", "n")
	w.Replace, w.Intervals = true, []chrono.Interval{interval(t, "2020-01-02/2020-01-10")}
	if _, _, err := b.run(w, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`2020-01-02T00:00:00.000Z/2020-01-03T00:00:00.000Z/0 {"type":"numbered","partitionNum":0,"partitions":1} rows=1`,
		`2020-01-03T00:00:00.000Z/2020-01-04T00:00:00.000Z/0 {"type":"tombstone","partitionNum":0,"partitions":1} rows=0`,
	}
	if d := cmp.Diff(want, b.published()[3:]); d != "" {
		t.Error(d)
	}
}

func TestSortingSpillsAndKeepsEveryRow(t *testing.T) {
	b := newBench(t)
	b.deps.SortBytes = 4 << 10
	var data strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&data, "{\"t\":%d,\"k\":\"key %d\",\"n\":%d}\n", day(1+i%2), i*7919%20000, i)
	}
	w := insert(t)
	w.Input = project(external(data.String(), "t time k string n long"), "__time=t", "k", "n")
	w.Replace, w.ReplaceAll, w.Cluster = true, true, []int{1}
	c, out, err := b.run(w, map[string]any{"rowsPerSegment": 4000})
	if err != nil {
		t.Fatal(err)
	}
	if runs := c.stages[0].outputs()[0].runs; runs < 4 {
		t.Errorf("%d runs", runs)
	}
	if out.Rows != 20000 || len(out.Segments) < 5 || len(out.Segments) > 7 {
		t.Errorf("%d rows in %d segments", out.Rows, len(out.Segments))
	}
	seen := map[string]bool{}
	last := ""
	for _, s := range out.Segments {
		for _, r := range b.rows(s) {
			if r < last {
				t.Fatalf("row %q comes after %q", r, last)
			}
			last = r
			seen[r] = true
		}
	}
	if len(seen) != 20000 {
		t.Errorf("%d different rows", len(seen))
	}
}

func TestSeveralWorkersShareFiles(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	for i := range 7 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.json", i)), []byte(twelve()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := insert(t)
	x := external("x", "t time k string n long")
	x.Source = json.RawMessage(fmt.Sprintf(`{"type":"local","baseDir":%q,"filter":"*.json"}`, dir))
	w.Input = project(x, "__time=t", "k", "n")
	c, out, err := b.run(w, map[string]any{"maxNumTasks": 4})
	if err != nil {
		t.Fatal(err)
	}
	if out.Rows != 84 || len(out.Segments) != 3 || out.Segments[0].Rows != 28 {
		t.Errorf("outcome: %+v", out)
	}
	r, err := c.Report()
	if err != nil {
		t.Fatal(err)
	}
	if r.Stages[0].Workers != 3 || len(r.Workers) != 3 {
		t.Errorf("workers: %+v", r.Workers)
	}
}

func TestListsStayMultiValue(t *testing.T) {
	b := newBench(t)
	w := insert(t)
	data := `{"t":1577836800000,"a":["y","x"],"b":["one"],"c":["z","q"]}` + "\n" + `{"t":1577836800001,"a":"v","b":[],"c":[]}`
	w.Input = project(external(data, "t time a string b string c strings"), "__time=t", "a", "b", "c")
	if _, _, err := b.run(w, nil); err != nil {
		t.Fatal(err)
	}
	want := []string{"__time=2020-01-01T00:00:00.000Z a=[x y] b=one c=[z q]", "__time=2020-01-01T00:00:00.001Z a=[v] b=<nil> c=[]"}
	if d := cmp.Diff(want, b.rows(b.meta.used[0])); d != "" {
		t.Error(d)
	}
	columns := b.meta.used[0].Schema.Columns
	if d := cmp.Diff([]timeline.Column{{Name: "a", Type: "STRING", MultiValue: true}, {Name: "b", Type: "STRING"}, {Name: "c", Type: "ARRAY<STRING>"}}, columns[1:]); d != "" {
		t.Error(d)
	}
}

// resultRows reads the pages of a query's results.
func resultRows(t *testing.T, r *Results) (pages [][]string) {
	t.Helper()
	for i := range r.Pages {
		var rows []string
		err := r.Read(t.Context(), i, func(b *vector.Batch) error {
			for k := range b.N {
				row := make([]string, len(b.Cols))
				for c, v := range b.Cols {
					row[c] = fmt.Sprint(v.ValueAt(k))
				}
				rows = append(rows, strings.Join(row, " "))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, rows)
	}
	return pages
}

func TestSelectPages(t *testing.T) {
	b := newBench(t)
	n := &plan.Sort{Input: project(external(twelve(), "t time k string n long"), "k", "n"), Keys: []plan.SortKey{{Column: 0}, {Column: 1, Desc: true}}, Limit: -1}
	_, out, err := b.run(n, map[string]any{"selectDestination": "durableStorage", "rowsPerPage": 5})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"k0 8", "k0 4", "k0 0", "k1 9", "k1 5"}, {"k1 1", "k2 10", "k2 6", "k2 2", "k3 11"}, {"k3 7", "k3 3"}}
	if d := cmp.Diff(want, resultRows(t, out.Results)); d != "" {
		t.Error(d)
	}
	again, err := OpenResults(t.Context(), b.store, "query-1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, resultRows(t, again)); d != "" || !again.Durable || again.Columns[0] != out.Results.Columns[0] {
		t.Error(d, again.Columns)
	}
	if err := DeleteResults(t.Context(), b.store, "query-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenResults(t.Context(), b.store, "query-1"); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryNotFound {
		t.Errorf("after deleting: %v", err)
	}
	if list, err := b.store.List(t.Context(), "results/", "", 10); err != nil || len(list) > 0 {
		t.Errorf("left: %v %v", list, err)
	}
}

func TestQueriesInStages(t *testing.T) {
	in := func() plan.Node { return project(external(twelve(), "t time k string n long"), "k", "n") }
	sum := plan.AggCall{Agg: spec("SUM", vector.Long), Args: []int{1}, Filter: -1, Name: "s", Type: expr.Of(expr.BigInt)}
	count := plan.AggCall{Agg: spec("COUNT"), Filter: -1, Name: "c", Type: expr.Of(expr.BigInt)}
	avg := plan.AggCall{Agg: spec("AVG", vector.Long), Args: []int{1}, Filter: -1, Name: "a", Type: expr.Of(expr.Double)}
	for _, c := range []struct {
		name   string
		node   plan.Node
		rows   []string
		stages string
		spread string // the stages with several workers, where they are others
	}{
		{name: "groups", node: &plan.Aggregate{Input: in(), Keys: []int{0}, Aggs: []plan.AggCall{sum, count}},
			rows:   []string{"k0 12 3", "k1 15 3", "k2 18 3", "k3 21 3"},
			stages: "groupByPreShuffle/globalSort groupByPostShuffle/mix", spread: "groupByPreShuffle/hash groupByPostShuffle/mix"},
		{name: "averages", node: &plan.Aggregate{Input: in(), Keys: []int{0}, Aggs: []plan.AggCall{avg}},
			rows:   []string{"k0 4", "k1 5", "k2 6", "k3 7"},
			stages: "groupByPreShuffle/globalSort groupByPostShuffle/mix", spread: "scan/hash groupByPostShuffle/mix"},
		{name: "all rows", node: &plan.Aggregate{Input: in(), Aggs: []plan.AggCall{count}}, rows: []string{"12"}, stages: "groupByPreShuffle/mix groupByPostShuffle/mix"},
		{name: "top", node: &plan.Sort{Input: in(), Keys: []plan.SortKey{{Column: 1, Desc: true}}, Limit: 2, Offset: 1}, rows: []string{"k1 9", "k2 10"},
			stages: "scan/globalSort limit/mix"},
		{name: "limit", node: &plan.Aggregate{Input: &plan.Limit{Input: in(), Count: 5}, Aggs: []plan.AggCall{count}}, rows: []string{"5"},
			stages: "scan/mix groupByPreShuffle/mix groupByPostShuffle/mix"},
		{name: "join", node: &plan.Aggregate{Input: &plan.Join{Kind: plan.Inner, Left: in(), Right: in(), Keys: []plan.EquiKey{{Left: 0, Right: 0}}},
			Aggs: []plan.AggCall{count}}, rows: []string{"36"}, stages: "scan/globalSort groupByPreShuffle/mix groupByPostShuffle/mix"},
		{name: "full join", node: &plan.Aggregate{Input: &plan.Join{Kind: plan.Full, Left: in(), Right: in(), Keys: []plan.EquiKey{{Left: 1, Right: 1}}},
			Aggs: []plan.AggCall{count}}, rows: []string{"12"}, stages: "scan/hash scan/hash groupByPreShuffle/mix groupByPostShuffle/mix"},
		{name: "union", node: &plan.Aggregate{Input: &plan.Union{Ins: []plan.Node{in(), in()}, Out: in().Columns()}, Aggs: []plan.AggCall{count}}, rows: []string{"24"},
			stages: "groupByPreShuffle/mix groupByPostShuffle/mix"},
	} {
		for _, tasks := range []int{2, 4, 4 + helped} {
			t.Run(fmt.Sprint(c.name, " with ", tasks, " tasks"), func(t *testing.T) {
				b := newBench(t)
				if tasks > helped {
					tasks -= helped
					h := b.helped(2)
					defer func() {
						if c.spread != "" && h.parts.Load() == 0 {
							t.Error("nothing was done elsewhere")
						}
					}()
				}
				run, out, err := b.run(c.node, map[string]any{"maxNumTasks": tasks})
				if err != nil {
					t.Fatal(err)
				}
				if len(out.Results.Pages) != 1 {
					t.Fatalf("pages: %v", out.Results.Pages)
				}
				rows := resultRows(t, out.Results)[0]
				sort.Strings(rows)
				if d := cmp.Diff(c.rows, rows); d != "" {
					t.Error(d)
				}
				var stages []string
				for _, s := range run.stages {
					stages = append(stages, s.processor+"/"+s.shuffle.reported())
				}
				want := c.stages
				if tasks > 2 && c.spread != "" {
					want = c.spread
				}
				if got := strings.Join(stages, " "); got != want {
					t.Errorf("stages %s, want %s", got, want)
				}
			})
		}
	}
}

func spec(name string, args ...vector.Type) agg.Spec { return agg.Spec{Name: name, Args: args} }
