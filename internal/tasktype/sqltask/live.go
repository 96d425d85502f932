package sqltask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/hengedb/henge/internal/broker"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/msq"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/task"
	"github.com/hengedb/henge/internal/timeline"
)

// A statement with includeSegmentSource=REALTIME also reads the rows of streaming tasks that are
// not published yet. Its stages may run again and in other processes, and all of them have to see
// the same rows: these are copied to deep storage first, as segments that no query finds.

// copied are the copies of live rows that a task reads.
type copied struct {
	c        *Controller
	files    []string                     // on disk, of datasources that were not pushed yet
	keys     []string                     // in deep storage
	segments map[string]*timeline.Segment // by datasource
}

// copyLive copies the live rows that the plan of a task wants. The caller calls drop.
func (c *Controller) copyLive(ctx context.Context, t *task.Task, p *broker.Prepared, node plan.Node) (*copied, error) {
	out := &copied{c: c, segments: map[string]*timeline.Segment{}}
	target := ""
	if p.Target != nil { // what is not published of it is appended beside what the task writes
		target = p.Target.DataSource
	}
	written := map[string]*segment.Info{}
	paths := map[string]string{}
	err := c.o.Broker.ReadLive(ctx, p, node, target, t.ID, func(name string, rows query.Rows) error {
		file, err := os.CreateTemp(c.o.TempDir, "henge-live-*.segment")
		if err != nil {
			return fmt.Errorf("creating a file for live rows: %w", err)
		}
		file.Close() // the writer opens it
		out.files = append(out.files, file.Name())
		paths[name] = file.Name()
		written[name], err = writeLive(ctx, file.Name(), rows, segment.Options{TempDir: c.o.TempDir, Budget: c.o.Memory, BitmapValues: -1})
		return err
	})
	for name, info := range written {
		if err != nil {
			break
		}
		if info.Rows > 0 {
			err = out.push(ctx, t.ID, name, paths[name], info)
		}
	}
	if err != nil {
		return nil, errors.Join(err, out.drop(ctx))
	}
	return out, nil
}

// writeLive writes rows to a segment file.
func writeLive(ctx context.Context, path string, rows query.Rows, o segment.Options) (*segment.Info, error) {
	for _, c := range rows.Columns() {
		o.Columns = append(o.Columns, segment.ColumnSpec{Name: c.Name, Type: c.Type.Runtime(), Multi: c.Type.Multi})
	}
	w, err := segment.Create(path, o)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	for {
		b, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return w.Finish(ctx)
		}
		if err == nil {
			err = w.Append(ctx, b)
		}
		if err != nil {
			return nil, err
		}
	}
}

// push copies a file to deep storage.
func (o *copied) push(ctx context.Context, taskID, name, path string, info *segment.Info) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading copied live rows: %w", err)
	}
	defer file.Close() // it was only read
	id := timeline.SegmentID{DataSource: name, Interval: chrono.Eternity, Version: taskID}
	s, err := msq.PushSegment(ctx, o.c.o.Deep, id, timeline.Numbered{}, file, info, func(key string) { o.keys = append(o.keys, key) })
	if err != nil {
		return err
	}
	o.segments[name] = s
	return nil
}

// visible are segments, each with the part of time in which its rows count.
type visible = iter.Seq2[chrono.Interval, *timeline.Segment]

// beside returns the segments of a scan with the copy of the live rows of its datasource.
func (o *copied) beside(scan *plan.Scan, published visible) visible {
	s := o.segments[scan.DataSource]
	if s == nil {
		return published
	}
	return func(yield func(chrono.Interval, *timeline.Segment) bool) {
		for iv, p := range published {
			if !yield(iv, p) {
				return
			}
		}
		yield(s.ID.Interval, s)
	}
}

// drop removes what was copied. What can't be removed now is garbage without a reference, which is
// cleaned up later.
func (o *copied) drop(ctx context.Context) error {
	for _, path := range o.files {
		os.Remove(path)
	}
	if len(o.keys) == 0 {
		return nil
	}
	return o.c.o.Deep.Delete(context.WithoutCancel(ctx), o.keys...)
}
