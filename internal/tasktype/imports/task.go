package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/deepstore"
	"github.com/hengedb/henge/internal/deepstore/s3"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/metastore"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/tasklock"

	v9 "github.com/hengedb/henge/internal/segment/v9"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/tasktype"
	"github.com/hengedb/henge/internal/timeline"
)

// Type is the type of the tasks.
const Type = "import"

// maxSegments bounds a task: its payload is a row of the metastore. Larger imports are several
// tasks.
const maxSegments = 10_000

// Options are the dependencies of the tasks.
type Options struct {
	*tasktype.Env
	// S3, Google and Azure configure how objects are read.
	S3            s3.Options
	Google, Azure ObjectStore
	// Visible waits until all queries see a number of the change stream.
	Visible func(ctx context.Context, number int64) error
}

// Import runs import tasks.
type Import struct{ o Options }

// New returns the task kind.
func New(o Options) *Import { return &Import{o} }

// payload is a task as it was submitted.
type payload struct {
	DataSource string `json:"dataSource"`
	// Segments are the segment descriptors of Druid.
	Segments []*timeline.Segment `json:"segments"`
	// Offsets are the stream offsets that Druid has stored for the datasource. They are stored under
	// the name of the datasource, which is the id of its supervisor, unless offsets already exist.
	Offsets json.RawMessage `json:"offsets,omitempty"`
}

func parse(t *task.Task) (*payload, error) {
	p := &payload{}
	if err := json.Unmarshal(t.Payload, p); err != nil {
		if f := fault.Find(err); f != nil {
			return nil, f
		}
		return nil, fault.InvalidInput("Import task [%s] is not readable", t.ID).WithCause(err)
	}
	if string(p.Offsets) == "null" {
		p.Offsets = nil
	}
	if p.Offsets != nil && p.Offsets[0] != '{' {
		return nil, fault.InvalidInput("Import task [%s] has offsets that are not an object", t.ID)
	}
	if len(p.Segments) == 0 && p.Offsets == nil || len(p.Segments) > maxSegments {
		return nil, fault.InvalidInput("Import task [%s] has [%d] segments; it takes 1 to [%d]", t.ID, len(p.Segments), maxSegments)
	}
	seen := map[timeline.SegmentID]bool{}
	for _, s := range p.Segments {
		switch {
		case s == nil:
			return nil, fault.InvalidInput("Import task [%s] has a segment that is null", t.ID)
		case s.ID.DataSource != p.DataSource:
			return nil, fault.InvalidInput("Import task [%s] is for datasource [%s] and has the segment [%s]", t.ID, p.DataSource, s.ID)
		case seen[s.ID]:
			return nil, fault.InvalidInput("Import task [%s] has the segment [%s] twice", t.ID, s.ID)
		}
		seen[s.ID] = true
	}
	return p, nil
}

// DefaultPriority implements task.Prioritizer.
func (*Import) DefaultPriority() int { return 25 }

// Complete implements task.Completer. It requires a datasource and valid segments.
func (*Import) Complete(fields map[string]json.RawMessage) error {
	if raw, ok := fields["dataSource"]; !ok || string(raw) == "null" {
		return fault.InvalidInput("Import task has no [dataSource]")
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fault.Malformed("Import task is not readable: %v", err)
	}
	_, err = parse(&task.Task{Payload: text})
	return err
}

// Prepare implements task.Kind. It takes the locks on the intervals of all segments.
func (k *Import) Prepare(ctx context.Context, t *task.Task) (bool, error) {
	p, err := parse(t)
	if err != nil {
		return false, err
	}
	var intervals []chrono.Interval
	for _, s := range p.Segments {
		intervals = append(intervals, s.ID.Interval)
	}
	for _, iv := range chrono.Condense(intervals) {
		_, granted, err := k.o.Metastore.TryLock(ctx, metastore.LockRequest{Request: tasklock.Request{
			Owner:      tasklock.Owner{TaskID: t.ID, GroupID: t.GroupID, Priority: t.Priority},
			DataSource: t.DataSource, Interval: iv, Type: tasklock.Exclusive,
		}})
		if err != nil || !granted {
			return false, err
		}
	}
	return true, nil
}

// Release implements task.Kind.
func (k *Import) Release(ctx context.Context, t *task.Task) error {
	return k.o.Metastore.ReleaseLocks(ctx, metastore.Fence{}, t.ID, nil)
}

// Run implements task.Kind.
func (k *Import) Run(ctx context.Context, t *task.Task) (err error) {
	p, err := parse(t)
	if err != nil {
		return err
	}
	if p.Offsets != nil {
		err := k.o.Metastore.SwapOffsets(ctx, metastore.Fence{}, p.DataSource, metastore.OffsetSwap{
			ID: p.DataSource, Next: func(stored json.RawMessage) (json.RawMessage, error) {
				if stored != nil {
					return stored, nil
				}
				return p.Offsets, nil
			},
		})
		if err != nil {
			return err
		}
	}
	temp, err := os.MkdirTemp(k.o.TempDir, "import-")
	if err != nil {
		return fmt.Errorf("making a folder for segments: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	j := &job{o: k.o, task: t, temp: temp, sources: sources{access: k.o.Access, s3: k.o.S3, google: k.o.Google, azure: k.o.Azure, temp: temp}}
	log := tasktype.TaskLog(ctx)
	for _, chunk := range chunksOf(p.Segments) {
		n, err := j.chunk(ctx, chunk)
		if err != nil {
			return err
		}
		log.InfoContext(ctx, "segments imported", "interval", chunk[0].ID.Interval.String(), "version", chunk[0].ID.Version, "segments", n,
			"already", len(chunk)-n)
	}
	return k.visible(ctx)
}

// visiblePatience is how long a task waits for those who answer queries: what was imported is
// there, and a Broker that can't tell is ill.
const visiblePatience = time.Minute

// visible returns when queries see what was imported: who is told that it is done may ask for it.
func (k *Import) visible(ctx context.Context) error {
	number, err := k.o.Metastore.Number(ctx)
	if err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, visiblePatience)
	defer cancel()
	if err := k.o.Visible(patience, number); err != nil && (ctx.Err() != nil || patience.Err() == nil) {
		return err
	}
	return nil
}

// chunksOf groups segments that become visible together: those of an interval and version, the
// newest interval first.
func chunksOf(list []*timeline.Segment) [][]*timeline.Segment {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *timeline.Segment) int {
		return cmp.Or(-cmp.Compare(a.ID.Interval.End, b.ID.Interval.End), cmp.Compare(a.ID.Interval.Start, b.ID.Interval.Start),
			-cmp.Compare(a.ID.Version, b.ID.Version), cmp.Compare(a.ID.Partition, b.ID.Partition))
	})
	var out [][]*timeline.Segment
	for i, s := range list {
		if i == 0 || s.ID.Interval != list[i-1].ID.Interval || s.ID.Version != list[i-1].ID.Version {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], s)
	}
	return out
}

// job is a task that runs.
type job struct {
	o       Options
	task    *task.Task
	temp    string
	sources sources
}

// chunk brings over the segments of a chunk that are not there, and returns how many.
func (j *job) chunk(ctx context.Context, chunk []*timeline.Segment) (int, error) {
	ids := make([]string, len(chunk))
	for i, s := range chunk {
		ids[i] = s.ID.String()
	}
	there, err := j.o.Metastore.Segments(ctx, ids...)
	if err != nil {
		return 0, err
	}
	missing := slices.DeleteFunc(slices.Clone(chunk), func(s *timeline.Segment) bool {
		return slices.ContainsFunc(there, func(r metastore.SegmentRow) bool { return r.ID == s.ID })
	})
	if len(missing) == 0 {
		return 0, nil
	}
	made := make([]*timeline.Segment, len(missing))
	pushed := &keys{}
	g := exec.NewGroup(ctx)
	slots := make(chan struct{}, max(1, j.o.Threads))
	for i, s := range missing {
		g.Go(func(ctx context.Context) (err error) {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-slots }()
			if made[i], err = j.segment(ctx, s, pushed); err != nil {
				return fmt.Errorf("importing segment [%s]: %w", s.ID, err)
			}
			return nil
		})
	}
	err = g.Wait()
	if err == nil {
		_, err = j.o.Metastore.Publish(ctx, metastore.Publication{
			TaskID: j.task.ID, DataSource: j.task.DataSource, Action: metastore.PublishInsert, Segments: made,
		})
	}
	if err != nil {
		pushed.drop(ctx, j.o.Deep)
		return 0, err
	}
	return len(made), nil
}

// keys are the objects that were put for a chunk.
type keys struct {
	sync.Mutex
	list []string
}

func (k *keys) add(key string) {
	k.Lock()
	defer k.Unlock()
	k.list = append(k.list, key)
}

// drop deletes the objects of a chunk that did not become visible.
func (k *keys) drop(ctx context.Context, store deepstore.Store) {
	k.Lock()
	defer k.Unlock()
	if len(k.list) > 0 {
		_ = store.Delete(context.WithoutCancel(ctx), k.list...) // garbage without a reference is collected later
	}
}

// segment converts one segment and stores its file.
func (j *job) segment(ctx context.Context, from *timeline.Segment, pushed *keys) (_ *timeline.Segment, err error) {
	if from.IsTombstone() {
		return timeline.NewTombstone(from.ID), nil
	}
	files, err := j.sources.open(ctx, from.LoadSpec())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.drop()) }()
	s, err := v9.Open(files.files)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(j.temp, "converted-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "segment")
	info, err := convert(ctx, path, s, j.o.Memory, dir)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	out, err := msq.PushSegment(ctx, j.o.Deep, from.ID, from.Shard, file, info, pushed.add)
	if err != nil {
		return nil, err
	}
	out.Details = from.Details
	return out, nil
}
