package streaming

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/live"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/stream/chat"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/tasktype/streaming/intake"
	"github.com/hengedb/henge/internal/timeline"
	"github.com/hengedb/henge/internal/vector"
)

// topic is a stream in memory. Its records are texts "id,time": rows of two columns.
type topic struct {
	mu      sync.Mutex
	records map[stream.Partition][]stream.Record
	changed chan struct{}
	// down makes reading fail.
	down error
}

func newTopic(partitions int) *topic {
	t := &topic{records: map[stream.Partition][]stream.Record{}, changed: make(chan struct{})}
	for p := range partitions {
		t.records[stream.Partition(strconv.Itoa(p))] = nil
	}
	return t
}

// produce appends records with ids from up to, not including, to, over all partitions. Offsets
// have gaps.
func (t *topic) produce(from, to int, at func(id int) int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := from; id < to; id++ {
		n := id % len(t.records)
		p := stream.Partition(strconv.Itoa(n))
		offset := int64(len(t.records[p]))*2 + 1
		t.records[p] = append(t.records[p], stream.Record{
			Position: stream.Position(strconv.FormatInt(offset, 10)), Offset: offset, Number: int32(n), Topic: "t",
			Value: fmt.Appendf(nil, "%d,%d", id, at(id)),
		})
	}
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *topic) setDown(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down = err
}

func (t *topic) Partitions(context.Context) ([]stream.Partition, error) {
	return slices.Collect(maps.Keys(t.records)), nil
}

func (t *topic) Earliest(_ context.Context, partitions []stream.Partition) (stream.Positions, error) {
	out := stream.Positions{}
	for _, p := range partitions {
		out[p] = "0"
	}
	return out, nil
}

func (t *topic) Latest(_ context.Context, partitions []stream.Partition) (stream.Positions, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := stream.Positions{}
	for _, p := range partitions {
		out[p] = stream.Position(strconv.Itoa(2 * len(t.records[p])))
	}
	return out, nil
}

func (*topic) Compare(a, b stream.Position) int {
	x, _ := strconv.ParseInt(string(a), 10, 64)
	y, _ := strconv.ParseInt(string(b), 10, 64)
	return int(min(1, max(-1, x-y)))
}

func (t *topic) Distance(from, to stream.Position) int64 { return int64(t.Compare(to, from)) }

func (t *topic) Open(context.Context) (stream.Reader, error) {
	return &topicReader{t: t, at: stream.Positions{}}, nil
}

func (*topic) Close() error { return nil }

type topicReader struct {
	t  *topic
	at stream.Positions
}

func (r *topicReader) Assign(_ context.Context, at stream.Positions) error {
	for p := range r.at {
		if _, ok := at[p]; !ok {
			delete(r.at, p)
		}
	}
	maps.Copy(r.at, at)
	return nil
}

func (r *topicReader) Poll(ctx context.Context, wait time.Duration) ([]stream.Batch, error) {
	for {
		r.t.mu.Lock()
		changed, down := r.t.changed, r.t.down
		var out []stream.Batch
		for p, at := range r.at {
			list := r.t.records[p]
			i, _ := slices.BinarySearchFunc(list, at, func(a stream.Record, b stream.Position) int { return r.t.Compare(a.Position, b) })
			if list = list[i:min(len(list), i+100)]; len(list) == 0 {
				continue
			}
			next := stream.Position(strconv.FormatInt(list[len(list)-1].Offset+1, 10))
			out = append(out, stream.Batch{Partition: p, Records: slices.Clone(list), Next: next})
			r.at[p] = next
		}
		r.t.mu.Unlock()
		if down != nil {
			return nil, down
		}
		if len(out) > 0 {
			return out, nil
		}
		select {
		case <-changed:
		case <-time.After(wait):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (*topicReader) Close() error { return nil }

// texts makes rows of "id,time". Texts that are none are unparseable.
type texts struct {
	o      MakerOptions
	refuse func() error

	minTime, maxTime *int64
}

func (*texts) Close() {}

func (m *texts) Bound(minTime, maxTime *int64) { m.minTime, m.maxTime = minTime, maxTime }

func (m *texts) Shape() segment.Options {
	return segment.Options{SortOrder: []string{segment.TimeColumn}, QueryGranularity: "NONE"}
}

func (m *texts) Make(_ context.Context, records []stream.Record) (*intake.Made, error) {
	if m.refuse != nil {
		if err := m.refuse(); err != nil {
			return nil, err
		}
	}
	out := &intake.Made{ThrownAway: map[string]int64{}, Columns: []segment.ColumnSpec{
		{Name: segment.TimeColumn, Type: vector.Long}, {Name: "id", Type: vector.Long},
	}}
	var times, ids []int64
	for i := range records {
		id, at, ok := strings.Cut(string(records[i].Value), ",")
		n, err := strconv.ParseInt(id, 10, 64)
		ms, err2 := strconv.ParseInt(at, 10, 64)
		switch {
		case !ok || err != nil || err2 != nil:
			out.Counters.Unparseable++
			bad := &intake.BadRow{Input: string(records[i].Value), Type: "unparseable", Details: []string{"no"}, Record: &records[i]}
			if err := m.o.OnBad(bad); err != nil {
				return nil, err
			}
			continue
		case m.o.IO.MinTime != nil && ms < *m.o.IO.MinTime:
			out.Counters.ThrownAway++
			out.ThrownAway["beforeMinimumMessageTime"]++
			continue
		}
		out.Counters.Processed++
		out.Counters.ProcessedBytes += float64(len(records[i].Value))
		times, ids = append(times, ms), append(ids, n)
	}
	out.Rows = &vector.Batch{N: len(ids), Cols: []*vector.Vector{vector.FromLongs(times), vector.FromLongs(ids)}}
	return out, nil
}

// world is a cluster of one process without HTTP: a metadata store, deep storage, live segments,
// and the part of a supervisor that makes tasks again from checkpoints.
type world struct {
	t         *testing.T
	store     *metastore.Store
	deep      deepstore.Store
	set       *live.Set
	published *timeline.Published
	topic     *topic
	kind      *Kind
	running   *Running
	dir       string
	io        map[string]any
	tuning    map[string]any
	context   map[string]any
	fault     func(step string) error
	refuse    func() error
	mu        sync.Mutex
	tasks     int
}

func newWorld(t *testing.T, partitions int) *world {
	w := &world{t: t, topic: newTopic(partitions), running: NewRunning(), dir: t.TempDir(), published: timeline.NewPublished(),
		tuning: map[string]any{"type": "KafkaTuningConfig"}, context: map[string]any{}}
	var err error
	w.store, err = metastore.Open(t.Context(), metastore.Options{
		Path: filepath.Join(w.dir, "metadata.db"), Clock: clock.System(), Release: "test", FaultPoint: w.passes,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.deep, err = deepstore.OpenLocal(filepath.Join(w.dir, "deep")); err != nil {
		t.Fatal(err)
	}
	memory := budget.Root(256 << 20)
	if w.set, err = live.NewSet(live.Options{Dir: filepath.Join(w.dir, "live"), Memory: memory}); err != nil {
		t.Fatal(err)
	}
	following, stop := context.WithCancel(context.Background())
	var follower sync.WaitGroup
	follower.Go(func() { _ = w.store.Follow(following, w.published) })
	t.Cleanup(func() { stop(); follower.Wait() })
	for _, name := range []string{"logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(w.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	files := tasktype.NewFiles(tasktype.FilesOptions{Store: w.deep, Dir: filepath.Join(w.dir, "logs"), Current: w.store.CheckFence})
	w.kind = New(Options{
		Env: &tasktype.Env{
			Metastore: w.store, Published: w.published, Deep: w.deep, Files: files, TempDir: filepath.Join(w.dir, "tmp"), Memory: memory,
			Clock: clock.System(), Log: slog.New(slog.DiscardHandler),
			Loads: func(ctx context.Context, number int64, _ []*timeline.Segment, _ func(int)) error {
				_, err := w.published.Wait(ctx, number)
				return err
			},
			FaultPoint: w.passes,
		},
		Running: w.running, Segments: LiveSegments(w.set),
		Source: func(context.Context, stream.Config) (stream.Source, error) { return w.topic, nil },
		Maker: func(o MakerOptions) (Maker, error) {
			return &texts{o: o, refuse: func() error {
				if w.refuse != nil {
					return w.refuse()
				}
				return nil
			}}, nil
		},
	})
	return w
}

// passes is a fault point.
func (w *world) passes(step string) error {
	w.mu.Lock()
	f := w.fault
	w.mu.Unlock()
	if f != nil {
		return f(step)
	}
	return nil
}

// failAt has fault points ask f.
func (w *world) failAt(f func(step string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
}

// group is a group of replicas: what its supervisor knows of it.
type group struct {
	base        string
	checkpoints map[int]stream.Positions
}

// newGroup begins at what is stored.
func (w *world) newGroup() *group {
	w.mu.Lock()
	w.tasks++
	base := fmt.Sprintf("index_kafka_s_%d", w.tasks)
	w.mu.Unlock()
	stored, _, err := w.store.Offsets(w.t.Context(), "s")
	if err != nil {
		w.t.Fatal(err)
	}
	have, err := stream.ParseStored(stored.Payload)
	if err != nil {
		w.t.Fatal(err)
	}
	starts := stream.Positions{}
	for p := range w.topic.records {
		if starts[p] = "0"; have.Positions[p] != "" {
			starts[p] = have.Positions[p]
		}
	}
	return &group{base, map[int]stream.Positions{0: starts}}
}

// task makes a task of a group, as the queue does.
func (w *world) task(g *group) (*task.Task, context.Context) {
	w.t.Helper()
	w.mu.Lock()
	w.tasks++
	id := fmt.Sprintf("%s_%d", g.base, w.tasks)
	w.mu.Unlock()
	first := slices.Min(slices.Collect(maps.Keys(g.checkpoints)))
	checkpoints, err := json.Marshal(g.checkpoints)
	if err != nil {
		w.t.Fatal(err)
	}
	context := maps.Clone(w.context)
	context["checkpoints"] = string(checkpoints)
	io := map[string]any{
		"type": "kafka", "taskGroupId": 0, "baseSequenceName": g.base, "pollTimeout": 100, "useTransaction": true,
		"startSequenceNumbers": stream.Sequences{Kind: stream.Start, Stream: "t", Positions: g.checkpoints[first]},
		"endSequenceNumbers":   stream.Sequences{Kind: stream.End, Stream: "t", Positions: unbounded(g.checkpoints[first])},
		"consumerProperties":   map[string]any{"bootstrap.servers": "none:1"}, "inputFormat": map[string]any{"type": "json"},
	}
	maps.Copy(io, w.io)
	payload, err := json.Marshal(map[string]any{
		"type": "index_kafka", "id": id, "groupId": "index_kafka_s", "supervisorId": "s", "dataSource": "d",
		"resource": map[string]any{"availabilityGroup": g.base, "requiredCapacity": 1},
		"dataSchema": map[string]any{
			"dataSource": "d", "timestampSpec": map[string]any{"column": "t", "format": "millis"},
			"dimensionsSpec":  map[string]any{"dimensions": []any{map[string]any{"type": "long", "name": "id"}}},
			"granularitySpec": map[string]any{"segmentGranularity": "HOUR", "queryGranularity": "NONE", "rollup": false},
		},
		"tuningConfig": w.tuning, "ioConfig": io, "context": context,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	t := &task.Task{ID: id, GroupID: "index_kafka_s", Type: "index_kafka", DataSource: "d", Created: 1, Priority: 75, Payload: payload}
	if err := w.store.InsertTask(w.t.Context(), metastore.Fence{}, metastore.Task{
		ID: id, GroupID: t.GroupID, Allocator: w.kind.Allocator(t), Type: t.Type, DataSource: "d", Priority: 75, Active: true,
		StatusCode: "RUNNING", Payload: payload,
	}, nil); err != nil {
		w.t.Fatal(err)
	}
	return t, w.assign(id)
}

// assign begins a run of a task: the context has its fence.
func (w *world) assign(id string) context.Context {
	w.t.Helper()
	run, err := w.store.AssignTask(w.t.Context(), metastore.Fence{}, id, json.RawMessage(`{}`))
	if err != nil {
		w.t.Fatal(err)
	}
	return metastore.WithFence(w.t.Context(), metastore.Fence{Task: id, Epoch: run})
}

// finish records the end of a task.
func (w *world) finish(t *task.Task, failure error) {
	w.t.Helper()
	code := "SUCCESS"
	if failure != nil {
		code = "FAILED"
	}
	if _, err := w.store.FinishTask(w.t.Context(), metastore.Fence{}, t.ID, code, json.RawMessage(`{}`)); err != nil {
		w.t.Fatal(err)
	}
}

// start runs a task until it ends.
func (w *world) start(g *group) (*task.Task, <-chan error) {
	w.t.Helper()
	t, ctx := w.task(g)
	done := make(chan error, 1)
	go func() {
		err := w.kind.Run(ctx, t)
		w.finish(t, err)
		done <- err
	}()
	return t, done
}

// wait fails the test when a condition does not come.
func (w *world) wait(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			w.t.Fatalf("%s: it never was so", what)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// current waits until a task has read up to the end of the topic.
func (w *world) caughtUp(id string) {
	w.t.Helper()
	partitions, _ := w.topic.Partitions(w.t.Context())
	latest, _ := w.topic.Latest(w.t.Context(), partitions)
	w.wait("all is read", func() bool {
		r := w.running.find(id)
		return r != nil && covers(r.ctl.Status().Current, latest, w.topic.Compare)
	})
}

// rollOver ends a task where it is, or opens its next sequence, as a supervisor does.
func (w *world) rollOver(g *group, finish bool, ids ...string) (stream.Positions, error) {
	var tasks []chat.Task
	ends := stream.Positions{}
	for _, id := range ids {
		t := w.running.Find(id)
		if t == nil {
			return nil, errors.New("the task does not run")
		}
		at, err := t.Pause(w.t.Context())
		if err != nil {
			return nil, err
		}
		for p, pos := range at {
			if ends[p] == "" || w.topic.Compare(pos, ends[p]) > 0 {
				ends[p] = pos
			}
		}
		tasks = append(tasks, t)
	}
	for _, t := range tasks {
		if err := t.SetEnds(w.t.Context(), ends, finish); err != nil {
			return nil, err
		}
	}
	if !finish {
		g.checkpoints[slices.Max(slices.Collect(maps.Keys(g.checkpoints)))+1] = ends
	}
	return ends, nil
}

// publishedIDs returns how often each id is in the segments that queries see.
func (w *world) publishedIDs() map[int64]int {
	w.t.Helper()
	number, err := w.store.Number(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	state, err := w.published.Wait(w.t.Context(), number)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[int64]int{}
	w.readPublished(state, out)
	return out
}

func (w *world) readPublished(state *timeline.State, out map[int64]int) {
	w.t.Helper()
	tl := state.Timeline("d")
	if tl == nil {
		return
	}
	for seg := range tl.All() {
		if tl.SegmentIsOvershadowed(seg) || seg.IsTombstone() {
			continue
		}
		key, err := w.deep.Key(seg.LoadSpec())
		if err != nil {
			w.t.Fatal(err)
		}
		path, err := w.deep.(deepstore.OnDisk).Path(key)
		if err != nil {
			w.t.Fatal(err)
		}
		s, err := segment.Open(path)
		if err != nil {
			w.t.Fatal(err)
		}
		w.readIDs(s, out)
		s.Release()
	}
}

func (w *world) readIDs(s segment.Reader, out map[int64]int) {
	w.t.Helper()
	c, err := s.Column("id")
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := c.Read(nil, 0, s.Info().Rows)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range s.Info().Rows {
		out[v.LongAt(i)]++
	}
}

// visible returns how often each id is seen by a query, by the rule of Brokers.
func (w *world) visible() map[int64]int {
	w.t.Helper()
	for {
		state := w.published.Pin()
		announced := w.set.Announced()
		out := map[int64]int{}
		again := false
		for _, a := range announced {
			if tl := state.Timeline("d"); tl != nil && tl.Segment(a.ID) != nil {
				continue
			}
			readers, err := w.set.Acquire(w.t.Context(), a.ID.String(), state.Number())
			if gone, ok := errors.AsType[*live.Gone](err); ok {
				if gone.Number > 0 {
					if _, err := w.published.Wait(w.t.Context(), gone.Number); err != nil {
						w.t.Fatal(err)
					}
				}
				again = true
				break
			}
			if err != nil {
				w.t.Fatal(err)
			}
			for _, r := range readers {
				w.readIDs(r, out)
				r.Release()
			}
		}
		if again {
			continue
		}
		w.readPublished(state, out)
		return out
	}
}

// once fails the test unless each id below n counts once.
func (w *world) once(what string, ids map[int64]int, n int) {
	w.t.Helper()
	missing, many := 0, 0
	for id := range n {
		switch count := ids[int64(id)]; {
		case count == 0:
			missing++
		case count > 1:
			many++
		}
	}
	if missing > 0 || many > 0 || len(ids) != n {
		w.t.Fatalf("%s: of [%d] ids [%d] are missing, [%d] count more than once, and there are [%d]", what, n, missing, many, len(ids))
	}
}

// hours spreads ids over time chunks.
func hours(n int) func(id int) int64 {
	return func(id int) int64 { return 1_700_000_000_000/3_600_000*3_600_000 + int64(id%n)*3_600_000 + int64(id) }
}

// latestIfAny is control.latest of a run that may not have begun.
func (r *run) latestIfAny() (*sequence, bool) {
	r.ctl.mu.Lock()
	defer r.ctl.mu.Unlock()
	if len(r.ctl.mu.sequences) == 0 {
		return nil, false
	}
	s := r.ctl.mu.sequences[len(r.ctl.mu.sequences)-1]
	return s, s.closed
}

// soon is a moment from now.
func (w *world) soon() <-chan time.Time { return time.After(20 * time.Millisecond) }

// caughtUpSome waits a little until tasks have read what there is, unless they fail.
func (w *world) caughtUpSome(ids []string) {
	w.t.Helper()
	partitions, _ := w.topic.Partitions(w.t.Context())
	latest, _ := w.topic.Latest(w.t.Context(), partitions)
	for range 50 {
		all := true
		for _, id := range ids {
			r := w.running.find(id)
			all = all && r != nil && covers(r.ctl.Status().Current, latest, w.topic.Compare)
		}
		if all {
			return
		}
		<-time.After(2 * time.Millisecond)
	}
}

// stored fails the test unless the stored offsets are at positions.
func (w *world) stored(want stream.Positions) {
	w.t.Helper()
	offsets, _, err := w.store.Offsets(w.t.Context(), "s")
	if err != nil {
		w.t.Fatal(err)
	}
	have, err := stream.ParseStored(offsets.Payload)
	if err != nil || !maps.Equal(have.Positions, want) || have.Type != "kafka" || have.Stream != "t" {
		w.t.Fatalf("stored is %s, %v; want %v", offsets.Payload, err, want)
	}
}

// reported is an entry of a report.
type reported struct {
	Type    string         `json:"type"`
	TaskID  string         `json:"taskId"`
	Payload map[string]any `json:"payload"`
}

// report returns the report of a task.
func (w *world) report(id string) map[string]reported {
	w.t.Helper()
	in, err := w.kind.o.Files.Report(w.t.Context(), id, false)
	if err != nil || in == nil {
		w.t.Fatalf("report of task [%s]: %v, %v", id, in, err)
	}
	defer in.Close()
	out := map[string]reported{}
	if err := json.NewDecoder(in).Decode(&out); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// tombstones are what a replacement without rows publishes.
func tombstones(version string, chunk chrono.Interval) []*timeline.Segment {
	return []*timeline.Segment{timeline.NewTombstone(timeline.SegmentID{DataSource: "d", Interval: chunk, Version: version})}
}

// hourOf is the time chunk of a time.
func hourOf(t *testing.T, at int64) chrono.Interval {
	t.Helper()
	g, err := chrono.ParseGranularity("HOUR")
	if err != nil {
		t.Fatal(err)
	}
	return g.Bucket(at)
}
