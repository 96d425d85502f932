package streaming

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/tasklock"
	"github.com/hengedb/henge/internal/vector"
)

func TestATaskReadsPublishesAndHandsOff(t *testing.T) {
	w := newWorld(t, 2)
	w.topic.produce(0, 1000, hours(3))
	g := w.newGroup()
	task, done := w.start(g)
	w.caughtUp(task.ID)
	w.once("before publishing", w.visible(), 1000)
	ends, err := w.rollOver(g, true, task.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 1000)
	if open := w.set.Announced(); len(open) > 0 {
		t.Errorf("[%d] segments are still served", len(open))
	}
	if ends["0"] != "1000" {
		t.Errorf("it ended at %v", ends)
	}
}

// TestWhoFollowsAnUnpublishedTaskWaitsForIt: while nothing is stored, the task that begins at the
// end of another one does not publish before it, else that one's rows would be lost.
func TestWhoFollowsAnUnpublishedTaskWaitsForIt(t *testing.T) {
	w := newWorld(t, 1)
	goOn := make(chan struct{})
	var held atomic.Bool
	w.failAt(func(step string) error {
		if step == stepPushed && held.CompareAndSwap(false, true) {
			<-goOn
		}
		return nil
	})
	w.topic.produce(0, 10, hours(1))
	g := w.newGroup()
	first, firstDone := w.start(g)
	w.caughtUp(first.ID)
	ends, err := w.rollOver(g, true, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.wait("the first is about to publish", held.Load)

	w.topic.produce(10, 25, hours(1))
	w.io = map[string]any{"follows": []string{"0"}}
	next := &group{"index_kafka_s_next", map[int]stream.Positions{0: ends}}
	second, secondDone := w.start(next)
	w.caughtUp(second.ID)
	if ends, err = w.rollOver(next, true, second.ID); err != nil {
		t.Fatal(err)
	}
	w.wait("the second waits for it", func() bool {
		select {
		case err := <-secondDone:
			t.Fatalf("it did not wait, but has ended: %v", err)
		default:
		}
		r := w.running.find(second.ID)
		return r != nil && r.ctl.waitsFor("AheadOfCommitted")
	})
	w.once("while it waits", w.visible(), 25)
	close(goOn)
	for _, done := range []<-chan error{firstDone, secondDone} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.once("published", w.publishedIDs(), 25)
	w.stored(ends)
}

// waitsFor reports whether the task waits for something, however long it has.
func (c *control) waitsFor(class string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.mu.problems, func(t *trouble) bool { return t.problem.Class == class })
}

func TestAStreamThatIsAwayIsWaitedFor(t *testing.T) {
	w := newWorld(t, 1)
	w.topic.setDown(&stream.ConnectionError{Class: "c.Timeout", Message: "no broker"})
	g := w.newGroup()
	task, done := w.start(g)
	w.wait("the task says why it waits", func() bool {
		r := w.running.find(task.ID)
		if r == nil {
			return false
		}
		p := r.ctl.Status().Problem
		return p != nil && p.Stream && p.Class == "c.Timeout" && p.Message == "no broker"
	})
	w.topic.setDown(nil)
	w.topic.produce(0, 10, hours(1))
	w.caughtUp(task.ID)
	if p := w.running.find(task.ID).ctl.Status().Problem; p != nil {
		t.Errorf("it reads and says %v", p)
	}
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 10)
}

// narrow are segments whose appends and writes can be refused.
type narrow struct {
	Segments
	full   atomic.Bool // the disk
	least  atomic.Int64
	writes atomic.Int64
}

type narrowSegment struct {
	Segment
	n *narrow
}

func (n *narrow) Open(o SegmentOptions) (Segment, error) {
	g, err := n.Segments.Open(o)
	return &narrowSegment{g, n}, err
}

func (n *narrow) Publish(segments []Segment, commit func() (int64, error)) error {
	own := make([]Segment, len(segments))
	for i, s := range segments {
		own[i] = s.(*narrowSegment).Segment
	}
	return n.Segments.Publish(own, commit)
}

func (s *narrowSegment) Persist(ctx context.Context) error {
	s.n.writes.Add(1)
	if s.n.full.Load() {
		return fmt.Errorf("writing rows: %w", syscall.ENOSPC)
	}
	return s.Segment.Persist(ctx)
}

func (s *narrowSegment) Finish(ctx context.Context, path string) (*segment.Info, error) {
	if s.n.full.Load() {
		return nil, fmt.Errorf("writing rows: %w", syscall.ENOSPC)
	}
	return s.Segment.Finish(ctx, path)
}

func (s *narrowSegment) Append(ctx context.Context, rows *vector.Batch, columns []segment.ColumnSpec) error {
	if least := s.n.least.Load(); least > 0 && s.Bytes()+int64(rows.Rows())*16 > least {
		return budget.Root(1).Reserve(2)
	}
	return s.Segment.Append(ctx, rows, columns)
}

func TestAFullDiskIsWaitedFor(t *testing.T) {
	w := newWorld(t, 1)
	w.tuning["maxRowsInMemory"] = 10
	n := &narrow{Segments: w.kind.o.Segments}
	w.kind.o.Segments = n
	n.full.Store(true)
	w.topic.produce(0, 100, hours(2))
	g := w.newGroup()
	task, done := w.start(g)
	w.wait("the task says that the disk is full", func() bool {
		r := w.running.find(task.ID)
		return r != nil && r.ctl.Status().Problem != nil && r.ctl.Status().Problem.Class == "DiskFull"
	})
	n.full.Store(false)
	w.caughtUp(task.ID)
	n.full.Store(true)
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	w.wait("publishing says that the disk is full", func() bool {
		p := w.running.find(task.ID).ctl.Status().Problem
		return p != nil && p.Class == "DiskFull"
	})
	n.full.Store(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 100)
}

func TestLittleMemoryMakesReadingSlowerNotWrong(t *testing.T) {
	w := newWorld(t, 2)
	n := &narrow{Segments: w.kind.o.Segments}
	w.kind.o.Segments = n
	n.least.Store(8 << 10)
	var refused atomic.Int64
	w.refuse = func() error {
		if refused.Add(1)%3 == 1 {
			return budget.Root(1).Reserve(2)
		}
		return nil
	}
	w.topic.produce(0, 3000, hours(5))
	g := w.newGroup()
	task, done := w.start(g)
	w.caughtUp(task.ID)
	w.once("seen", w.visible(), 3000)
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 3000)
	if n.writes.Load() == 0 {
		t.Error("nothing was written to disk")
	}
}

func TestRowsOfManyTimeChunksAreWrittenToDisk(t *testing.T) {
	w := newWorld(t, 1)
	n := &narrow{Segments: w.kind.o.Segments}
	w.kind.o.Segments = n
	w.topic.produce(0, 600, hours(300))
	g := w.newGroup()
	task, done := w.start(g)
	w.caughtUp(task.ID)
	w.once("seen", w.visible(), 600)
	if n.writes.Load() < 200-maxOpenChunks {
		t.Errorf("[%d] segments were written to disk", n.writes.Load())
	}
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 600)
}

func TestReplicasPublishOneCopy(t *testing.T) {
	w := newWorld(t, 2)
	w.topic.produce(0, 500, hours(2))
	g := w.newGroup()
	a, aDone := w.start(g)
	b, bDone := w.start(g)
	w.caughtUp(a.ID)
	w.caughtUp(b.ID)
	w.once("seen", w.visible(), 500)
	if _, err := w.rollOver(g, false, a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	w.topic.produce(500, 800, hours(2))
	w.caughtUp(a.ID)
	if _, err := w.rollOver(g, true, a.ID, b.ID); err != nil { // b may be behind
		t.Fatal(err)
	}
	for _, done := range []<-chan error{aDone, bDone} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.once("published", w.publishedIDs(), 800)
	segments, err := w.store.UsedSegments(t.Context(), "d")
	if err != nil || len(segments) != 4 { // of two sequences in two hours
		t.Errorf("[%d] segments, %v", len(segments), err)
	}
	files, err := w.deep.List(t.Context(), "segments/", "", 100)
	if err != nil || len(files) != 4 {
		t.Errorf("[%d] files in deep storage, %v", len(files), err)
	}
}

func TestRowsThatAreTooLateAreThrownAwayAndOffsetsMoveOn(t *testing.T) {
	w := newWorld(t, 1)
	bound := hours(1)(0) + 10*3_600_000
	w.io = map[string]any{"minimumMessageTime": chrono.FormatMillis(bound, chrono.UTC)}
	w.topic.produce(0, 50, hours(1))
	g := w.newGroup()
	task, done := w.start(g)
	w.caughtUp(task.ID)
	stats := w.running.find(task.ID).stats.snapshot()
	if stats.Totals.ThrownAway != 50 || stats.ThrownAway["beforeMinimumMessageTime"] != 50 {
		t.Errorf("%+v", stats)
	}
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 0)
	w.stored(stream.Positions{"0": "100"})
}

// TestAReplacementRunsWhileRowsAreRead has a task with concurrent locks and a replacement of the
// same time chunk, which has read what was published before.
func TestAReplacementRunsWhileRowsAreRead(t *testing.T) {
	w := newWorld(t, 1)
	w.context["useConcurrentLocks"] = true
	w.topic.produce(0, 100, hours(1))
	g := w.newGroup()
	task, done := w.start(g)
	w.caughtUp(task.ID)
	chunk := hourOf(t, hours(1)(0))
	owner := tasklock.Owner{TaskID: "replace", GroupID: "replace", Priority: 50}
	lock, granted, err := w.store.TryLock(t.Context(), metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: "d", Interval: chunk,
		Type: tasklock.Replace}})
	if err != nil || !granted {
		t.Fatalf("the lock of the replacement: %t, %v", granted, err)
	}
	if _, err := w.rollOver(g, false, task.ID); err != nil { // published while the replacement runs
		t.Fatal(err)
	}
	w.wait("the first sequence is published", func() bool { return len(w.publishedIDs()) == 100 })
	w.topic.produce(100, 150, hours(1))
	w.caughtUp(task.ID)
	if _, err := w.store.Publish(t.Context(), metastore.Publication{
		TaskID: "replace", DataSource: "d", Action: metastore.PublishReplace, Segments: tombstones(lock.Version, chunk),
	}); err != nil {
		t.Fatal(err)
	}
	w.once("after the replacement", w.visible(), 150)
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 150)
}

func TestAChunkThatAnotherTaskHasLockedIsWaitedFor(t *testing.T) {
	w := newWorld(t, 1)
	chunk := hourOf(t, hours(1)(0))
	owner := tasklock.Owner{TaskID: "other", GroupID: "other", Priority: 90}
	request := metastore.LockRequest{Request: tasklock.Request{Owner: owner, DataSource: "d", Interval: chunk, Type: tasklock.Exclusive}}
	if _, granted, err := w.store.TryLock(t.Context(), request); err != nil || !granted {
		t.Fatalf("%t, %v", granted, err)
	}
	w.topic.produce(0, 20, hours(1))
	g := w.newGroup()
	task, done := w.start(g)
	w.wait("the task says that the chunk is locked", func() bool {
		r := w.running.find(task.ID)
		return r != nil && r.ctl.Status().Problem != nil && r.ctl.Status().Problem.Class == "LockConflict"
	})
	if err := w.store.ReleaseLocks(t.Context(), metastore.Fence{}, "other", nil); err != nil {
		t.Fatal(err)
	}
	w.caughtUp(task.ID)
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 20)
}

func TestTooManyBadRecordsFailTheTask(t *testing.T) {
	w := newWorld(t, 1)
	w.tuning["maxParseExceptions"] = 2
	w.topic.mu.Lock()
	for i := range 3 {
		w.topic.records["0"] = append(w.topic.records["0"], stream.Record{
			Position: stream.Position(fmt.Sprint(2*i + 1)), Offset: int64(2*i + 1), Value: []byte("bad"),
		})
	}
	w.topic.mu.Unlock()
	_, done := w.start(w.newGroup())
	if err := <-done; err == nil || !strings.Contains(err.Error(), "Max parse exceptions[2] exceeded") {
		t.Errorf("%v", err)
	}
}

func TestATaskThatIsStoppedPublishesOrForgets(t *testing.T) {
	for _, publish := range []bool{true, false} {
		w := newWorld(t, 1)
		w.topic.produce(0, 30, hours(1))
		task, done := w.start(w.newGroup())
		w.caughtUp(task.ID)
		if err := w.running.Find(task.ID).Stop(t.Context(), publish); err != nil {
			t.Fatal(err)
		}
		err := <-done
		want := 30
		if !publish {
			want = 0
		}
		if (err == nil) != publish {
			t.Errorf("publish [%t]: %v", publish, err)
		}
		w.once("published", w.publishedIDs(), want)
		if len(w.set.Announced()) > 0 {
			t.Error("segments are still served")
		}
	}
}

// asked is a supervisor that cuts a group when it is asked to.
type asked struct {
	w     *world
	group *group
	ids   []string
	mu    sync.Mutex
	count int
}

func (a *asked) Checkpoint(_ context.Context, supervisor string, group int, starts stream.Positions) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if supervisor != "s" || group != 0 || len(starts) == 0 {
		return errors.New("a strange request")
	}
	a.count++
	if a.count == 1 {
		return errors.New("away") // it is asked again
	}
	_, err := a.w.rollOver(a.group, false, a.ids...)
	return err
}

func TestALimitOfRowsBringsCheckpoints(t *testing.T) {
	w := newWorld(t, 1)
	w.tuning["maxRowsPerSegment"] = 100
	g := w.newGroup()
	a := &asked{w: w, group: g, count: 1}
	w.kind.o.Overlord = a
	task, done := w.start(g)
	a.mu.Lock()
	a.ids = []string{task.ID}
	a.mu.Unlock()
	w.topic.produce(0, 350, hours(1))
	w.caughtUp(task.ID)
	w.wait("three sequences are published", func() bool { return len(w.publishedIDs()) == 300 })
	if _, err := w.rollOver(g, true, task.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.once("published", w.publishedIDs(), 350)
	segments, err := w.store.UsedSegments(t.Context(), "d")
	if err != nil || len(segments) != 4 {
		t.Errorf("[%d] segments, %v", len(segments), err)
	}
}

// TestLocksAreReleasedWhenTheirChunkIsHandedOff: where the specification says so, others may lock a
// time chunk as soon as Historicals have what was read of it, and not while rows of it are read.
func TestLocksAreReleasedWhenTheirChunkIsHandedOff(t *testing.T) {
	for _, release := range []bool{true, false} {
		w := newWorld(t, 1)
		w.tuning["releaseLocksOnHandoff"] = release
		w.topic.produce(0, 20, hours(2))
		g := w.newGroup()
		task, done := w.start(g)
		w.caughtUp(task.ID)
		locked := func() (n int) {
			locks, err := w.store.Locks(t.Context(), "d")
			if err != nil {
				t.Fatal(err)
			}
			return len(locks)
		}
		if n := locked(); n != 2 {
			t.Fatalf("[%d] chunks are locked, want 2", n)
		}
		first := hours(2)(0)
		if _, err := w.rollOver(g, false, task.ID); err != nil {
			t.Fatal(err)
		}
		w.topic.produce(20, 40, func(int) int64 { return first }) // the next sequence has the first chunk only
		w.caughtUp(task.ID)
		r := w.running.find(task.ID)
		w.wait("the first sequence is handed off", func() bool { return len(r.ctl.everything()) == 1 })
		if release {
			w.wait("the lock of the second chunk is released", func() bool { return locked() == 1 })
			locks, err := w.store.Locks(t.Context(), "d")
			if err != nil || len(locks) != 1 || locks[0].Interval != hourOf(t, first) {
				t.Errorf("locks %+v, %v", locks, err)
			}
		} else if n := locked(); n != 2 {
			t.Errorf("[%d] chunks are locked, want 2", n)
		}
		if _, err := w.rollOver(g, true, task.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		w.once("published", w.publishedIDs(), 40)
	}
}
