package msq

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// ExternalTable returns the external data that a node reads. Its faults describe errors of its
// source, format or columns.
func ExternalTable(ext *plan.External) (*ingest.Table, error) {
	source, err := ingest.ParseSource(ext.Source)
	if err != nil {
		return nil, err
	}
	format, err := ingest.ParseFormat(ext.Format)
	if err != nil {
		return nil, err
	}
	fields := make([]ingest.Field, len(ext.Out))
	for i, c := range ext.Out {
		fields[i] = ingest.Field{Name: c.Name, Type: c.Type.Runtime(), Multi: c.Type.Multi}
	}
	return ingest.NewTable(source, format, fields)
}

// inputs opens the leaves of a fragment for one worker. It is the exec.Externals and exec.Tables of
// the worker's operators.
type inputs struct {
	order *workOrder
	job   *Controller
	count *counters
	// texts are the segments that were read: rows that stay in memory share their dictionaries, so
	// that they are released with those.
	texts struct {
		sync.Mutex
		held []segment.Reader
	}
}

// hold keeps segments readable until release.
func (in *inputs) hold(leaves []exec.Leaf) {
	in.texts.Lock()
	defer in.texts.Unlock()
	for _, l := range leaves {
		if l.Reader.Acquire() {
			in.texts.held = append(in.texts.held, l.Reader)
		}
	}
}

func (in *inputs) release() {
	in.texts.Lock()
	defer in.texts.Unlock()
	for _, r := range in.texts.held {
		r.Release()
	}
	in.texts.held = nil
}

// position returns the place of a leaf among the stage's inputs.
func (in *inputs) position(leaf plan.Node) (int, *input) {
	for i, x := range in.order.stage.inputs {
		if x.leaf == leaf {
			return i, x
		}
	}
	return -1, nil
}

// Open opens an external or stage input.
func (in *inputs) Open(ctx context.Context, ext *plan.External, _ func(text string)) (exec.Operator, error) {
	i, x := in.position(ext)
	if x == nil {
		return nil, fault.Defensive("A stage reads an input that it does not have")
	}
	if x.kind == externalInput {
		return in.external(i, ext)
	}
	return in.stage(ctx, i, x)
}

func (in *inputs) external(i int, ext *plan.External) (exec.Operator, error) {
	part := in.order.external[i]
	return &externalReader{in: in, name: inputName(i), part: part, ext: ext}, nil
}

// stage reads the partitions of another stage's output that belong to the worker.
func (in *inputs) stage(_ context.Context, i int, x *input) (exec.Operator, error) {
	outputs := x.from.outputs()
	name := inputName(i)
	if x.from.shuffle.kind == sortedShuffle {
		count := func(o *output, ref *frameRef, rows int) {
			in.count.flow(name, 0, int64(rows), int64(ref.length), 1)
			in.order.taken.flow(x.from.counterOf(o), "shuffle", 0, int64(rows), int64(ref.length), 1)
		}
		return newMergeReader(&x.from.shuffle.order, outputs, nil, nil, count), nil
	}
	var readers []exec.Operator
	for p := range x.from.shuffle.partitions {
		if x.broadcast || p%in.order.workers == in.order.worker {
			readers = append(readers, &frameReader{outputs: outputs, partition: p, counters: in.count, input: name})
		}
	}
	return &sequence{readers: readers}, nil
}

// Leaves returns the worker's share of the segments of a scan.
func (in *inputs) Leaves(ctx context.Context, scan *plan.Scan, columns []string) ([]exec.Leaf, error) {
	if in.order.slices != nil {
		i, err := in.slicesOf(scan)
		if err != nil {
			return nil, err
		}
		mine, err := in.openSlices(ctx, in.order.slices[i])
		if err != nil {
			return nil, err
		}
		for _, leaf := range mine {
			info := leaf.Reader.Info()
			in.count.flow(inputName(i), 0, int64(info.Rows), info.Size, 0)
		}
		in.hold(mine)
		in.count.files(inputName(i), int64(len(mine)), int64(len(mine)))
		return mine, nil
	}
	if in.job.deps.Tables == nil {
		return nil, fault.Unsupported("Datasource [%s] can't be read here", scan.DataSource)
	}
	leaves, err := in.job.deps.Tables.Leaves(ctx, scan, columns)
	if err != nil {
		return nil, err
	}
	i := in.scanPosition(scan)
	mine := make([]exec.Leaf, 0, len(leaves)/in.order.workers+1)
	for n, leaf := range leaves {
		if n%in.order.workers != in.order.worker {
			leaf.Reader.Release()
			continue
		}
		info := leaf.Reader.Info()
		in.count.flow(inputName(i), 0, int64(info.Rows), info.Size, 0)
		mine = append(mine, leaf)
	}
	in.count.files(inputName(i), int64(len(mine)), int64(len(mine)))
	in.hold(mine)
	return mine, nil
}

// scanPosition finds a scan, which operators may have copied, by its datasource if not by identity.
func (in *inputs) scanPosition(scan *plan.Scan) int {
	if i, x := in.position(scan); x != nil {
		return i
	}
	for i, x := range in.order.stage.inputs {
		if s, ok := x.leaf.(*plan.Scan); ok && s.DataSource == scan.DataSource {
			return i
		}
	}
	return 0
}

// externalReader reads the splits of a worker one after the other, an exec.Operator.
type externalReader struct {
	in     *inputs
	name   string
	part   externalPart
	ext    *plan.External
	reader RowReader
	last   ingest.Stats
	failed error // by a record that does not parse; what was read with it goes first
}

// Next returns the next rows.
func (r *externalReader) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if r.failed != nil {
			return nil, r.failed
		}
		if r.reader == nil {
			if len(r.part.splits) == 0 {
				return nil, io.EOF
			}
			var err error
			if r.reader, err = r.open(ctx, r.part.splits[0]); err != nil {
				return nil, err
			}
			r.last = ingest.Stats{}
		}
		b, err := r.reader.Next(ctx)
		now := r.reader.Stats()
		r.in.count.flow(r.name, 0, now.Rows-r.last.Rows, now.Bytes-r.last.Bytes, 0)
		r.last = now
		if err == nil {
			return b, nil
		}
		if r.failed != nil {
			return nil, r.failed
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err := r.reader.Close(); err != nil {
			return nil, err
		}
		if r.part.splits[0].First() {
			r.in.count.files(r.name, 1, 0)
		}
		r.reader, r.part.splits = nil, r.part.splits[1:]
	}
}

func (r *externalReader) open(ctx context.Context, split ingest.Split) (RowReader, error) {
	if rows := r.in.order.rows; rows != nil {
		return rows.Open(ctx, r.ext, split, r.options())
	}
	reader, err := r.part.table.Open(ctx, split, r.options())
	if err != nil { // not an interface that holds no reader
		return nil, err
	}
	return reader, nil
}

// Close ends the reading.
func (r *externalReader) Close() {
	if r.reader != nil {
		_ = r.reader.Close() // nothing of it is used any more
		r.reader = nil
	}
}

func (r *externalReader) options() *ingest.Options {
	in := r.in
	return &ingest.Options{Access: in.job.deps.Access, Decoders: in.order.threads, TempDir: in.order.dir, Disk: in.job.disk,
		RemoveNullBytes: in.job.opts.RemoveNullBytes,
		OnParseError: func(e *ingest.ParseError) error {
			if r.failed == nil {
				r.failed = in.job.parseError(in.order, in.count, e)
			}
			return nil
		},
		OnNotice: func(n *ingest.Notice) { in.job.notice(in.order, in.count, n) },
	}
}

// sequence yields the rows of several operators one after the other.
type sequence struct{ readers []exec.Operator }

// Next returns the next rows.
func (s *sequence) Next(ctx context.Context) (*vector.Batch, error) {
	for len(s.readers) > 0 {
		b, err := s.readers[0].Next(ctx)
		if !errors.Is(err, io.EOF) {
			return b, err
		}
		s.readers[0].Close()
		s.readers = s.readers[1:]
	}
	return nil, io.EOF
}

// Close closes what has not ended.
func (s *sequence) Close() {
	for _, r := range s.readers {
		r.Close()
	}
}

// warnings are the problems of a job that did not end it.
type warnings struct {
	mu struct {
		sync.Mutex
		total int64
		kept  []*Fault
		by    map[warner]int   // kept
		of    map[warner]int64 // counted
		notes map[warner]int   // kept of those that do not count
	}
}

// warner is who reports a warning: a worker in a stage.
type warner struct {
	stage  int
	worker string
}

// forget takes back what a worker reported whose work is done anew.
func (w *warnings) forget(by warner) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.total -= w.mu.of[by]
	delete(w.mu.of, by)
	delete(w.mu.by, by)
	delete(w.mu.notes, by)
	w.mu.kept = slices.DeleteFunc(w.mu.kept, func(f *Fault) bool { return f.Stage == by.stage && f.Worker == by.worker })
}

// from returns what the worker of an order has reported.
func (w *warnings) from(order *workOrder) partWarnings {
	w.mu.Lock()
	defer w.mu.Unlock()
	by := warner{order.stage.number, order.id}
	out := partWarnings{Total: w.mu.of[by]}
	for _, f := range w.mu.kept {
		if f.Stage == by.stage && f.Worker == by.worker {
			out.Kept = append(out.Kept, sendFault(f))
		}
	}
	return out
}

// join adds what a worker in another process has reported, and decides whether the job goes on.
func (w *warnings) join(order *workOrder, p partWarnings, limit int64) error {
	if p.Total == 0 && len(p.Kept) == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.of == nil {
		w.mu.of = map[warner]int64{}
	}
	w.mu.total += p.Total
	w.mu.of[warner{order.stage.number, order.id}] += p.Total
	for _, f := range p.Kept {
		w.mu.kept = append(w.mu.kept, f.fault())
	}
	if limit >= 0 && p.Total > 0 && w.mu.total > limit {
		return tooManyWarnings(limit, "CannotParseExternalData")
	}
	return nil
}

// parseError counts a record that did not parse and decides whether the job goes on.
func (k *core) parseError(order *workOrder, count *counters, e *ingest.ParseError) error {
	f := cannotParse(e).at(order.stage.number, order.id)
	count.warn(f.Code)
	if k.opts.MaxParseExceptions == 0 {
		return f
	}
	w := &k.warnings
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.total++
	if w.mu.of == nil {
		w.mu.of = map[warner]int64{}
	}
	by := warner{order.stage.number, order.id}
	w.mu.of[by]++
	if k.opts.MaxParseExceptions > 0 && w.mu.total > k.opts.MaxParseExceptions {
		return tooManyWarnings(k.opts.MaxParseExceptions, f.Code)
	}
	if w.mu.by == nil {
		w.mu.by = map[warner]int{}
	}
	if w.mu.by[by] < verboseParseWarnings {
		w.mu.by[by]++
		w.mu.kept = append(w.mu.kept, f)
	}
	return nil
}

// notice keeps a warning of an input that was read nevertheless. It does not count among the
// records that did not parse.
func (k *core) notice(order *workOrder, count *counters, n *ingest.Notice) {
	f := externalDataWarning(n).at(order.stage.number, order.id)
	count.warn(f.Code)
	w := &k.warnings
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.notes == nil {
		w.mu.notes = map[warner]int{}
	}
	by := warner{order.stage.number, order.id}
	if w.mu.notes[by] < verboseParseWarnings {
		w.mu.notes[by]++
		w.mu.kept = append(w.mu.kept, f)
	}
}
