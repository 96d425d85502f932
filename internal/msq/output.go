package msq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// output is what one worker wrote for a stage: frames in one file and an index of them, which is
// all that the controller learns. Frames of sorted rows stay in memory as long as there is some to
// spare.
type output struct {
	path   string
	frames []frameRef
	rows   int64
	// runs counts the sorted runs of a sorted output.
	runs int
	data io.ReaderAt
	// remote reads a frame that another process has; nil: it is in memory or in data. at is that
	// process, id the name of the output there. key is the place of data in deep storage.
	remote      func(number int, buf []byte) ([]byte, error)
	at, id, key string
	drop        func() error // gives back the space of the data
	once        sync.Once
	gone        atomic.Bool // closed, or left to others
	// made tells the output from others of the same work; recorded says that the next run of the task
	// can find it.
	made     string
	recorded bool
}

// frameRef is one frame of an output.
type frameRef struct {
	// batch is the rows of a frame in memory, which nobody writes to; nil: they are in the file.
	batch  *vector.Batch
	held   int64 // of the memory of kept rows
	number int   // of the frame where another process has it
	offset int64
	length int
	rows   int
	// partition is the frame's partition, of outputs that are not sorted.
	partition int
	// run numbers the sorted run; first is the key of its first row, boundary the part of it at which
	// partitions may begin, bucket the time chunk, start the values of the shard columns.
	run             int
	first, boundary []byte
	bucket          int64
	start           []*string
	// piece is what has the rows when they are on their way to a segment already; see eagerBuilder.
	piece *piece
}

// close removes the data.
func (o *output) close() error {
	var err error
	o.once.Do(func() {
		o.gone.Store(true)
		err = o.drop()
	})
	return err
}

// leave ends the use of an output in deep storage, which stays there.
func (o *output) leave() {
	o.once.Do(func() {
		o.gone.Store(true)
		if object, ok := o.data.(io.Closer); ok {
			_ = object.Close() // it was only read
		}
	})
}

// frameFile appends frames to a file of the job.
type frameFile struct {
	out      *output
	file     *os.File
	disk     budget.Account
	size     int64
	buf      []byte
	counters *counters
}

func newFrameFile(dir, name string, disk *budget.Budget, c *counters) (*frameFile, error) {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, diskFault(err)
	}
	c.stored(1, 0)
	out := &frameFile{out: &output{path: path, data: f}, file: f, disk: budget.NewAccount(disk), counters: c}
	out.out.drop = func() error {
		err := errors.Join(f.Close(), os.Remove(path))
		out.disk.Close()
		return err
	}
	return out, nil
}

// write appends a batch as one frame.
func (f *frameFile) write(b *vector.Batch, ref frameRef) (bytes int, err error) {
	if f.buf, err = vector.AppendFrame(f.buf[:0], b); err != nil {
		return 0, err
	}
	ref.offset, ref.length, ref.rows = f.size, len(f.buf), b.Rows()
	if err := f.disk.Set(f.size + int64(len(f.buf))); err != nil {
		return 0, err
	}
	if _, err := f.file.Write(f.buf); err != nil {
		return 0, diskFault(err)
	}
	f.size += int64(len(f.buf))
	f.out.rows += int64(ref.rows)
	f.out.frames = append(f.out.frames, ref)
	f.counters.stored(0, int64(len(f.buf)))
	return len(f.buf), nil
}

// keep appends a batch that stays in memory, where it is.
func (f *frameFile) keep(b *vector.Batch, ref frameRef) {
	ref.batch, ref.length, ref.rows = b, int(batchBytes(b)), b.Rows()
	f.out.rows += int64(ref.rows)
	f.out.frames = append(f.out.frames, ref)
}

// ofDisk returns err, as a diskFault if it is of the operating system and nobody has said more.
func ofDisk(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok && fault.Find(err) == nil {
		return diskFault(err)
	}
	return err
}

// diskFault says in words of the user what the operating system refused.
func diskFault(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		f := newFault("NotEnoughTemporaryStorageFault", fault.CategoryCapacityExceeded, "Not enough temporary storage space for intermediate files. "+
			"The disk is full.")
		f.cause = err
		return f
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fault.Runtime("Writing intermediate file [%s] failed: %v", at.Path, at.Err).WithCause(err)
	}
	return fault.Runtime("Writing intermediate files failed: %v", err).WithCause(err)
}

// read returns the rows of a frame, to be read only. Those of the file are copied from buf, which
// is returned to be used again.
func (o *output) read(ref *frameRef, buf []byte) (*vector.Batch, []byte, error) {
	if ref.batch != nil {
		return ref.batch, buf, nil
	}
	var err error
	if o.remote != nil {
		buf, err = o.remote(ref.number, buf)
	} else {
		buf, err = o.readData(ref, buf)
	}
	if err != nil {
		return nil, buf, err
	}
	b, _, err := vector.DecodeFrame(buf)
	return b, buf, err
}

// readData returns the bytes of a frame in the file, in buf if that is large enough.
func (o *output) readData(ref *frameRef, buf []byte) ([]byte, error) {
	if cap(buf) < ref.length {
		buf = make([]byte, ref.length)
	}
	buf = buf[:ref.length]
	if _, err := o.data.ReadAt(buf, ref.offset); err != nil {
		if o.key != "" && errors.Is(err, fs.ErrNotExist) { // a run that others believe lost has deleted it
			return buf, LostFrame(o.key, err)
		}
		return buf, fmt.Errorf("reading intermediate file [%s]: %w", o.path, err)
	}
	return buf, nil
}

// writer takes the rows of a stage on one worker.
type writer interface {
	// add takes the rows of b that count; b is not kept.
	add(b *vector.Batch) error
	// finish ends the output. A writer that is not finished is aborted.
	finish() (*output, error)
	abort()
}

// hashWriter distributes rows over partitions by the hash of key columns; without keys all go to
// one.
type hashWriter struct {
	file       *frameFile
	types      []vector.Type
	keys       []int
	partitions []*vector.BatchBuilder
	held       int64
	hashes     []uint64
	rows       [][]uint32
	counters   *counters
}

func newHashWriter(types []vector.Type, keys []int, partitions int, dir, name string, disk *budget.Budget, c *counters) (*hashWriter, error) {
	f, err := newFrameFile(dir, name, disk, c)
	if err != nil {
		return nil, err
	}
	w := &hashWriter{file: f, types: types, keys: keys, counters: c, rows: make([][]uint32, partitions)}
	for range partitions {
		w.partitions = append(w.partitions, vector.NewBatchBuilder(types, 0))
	}
	return w, nil
}

func (w *hashWriter) add(b *vector.Batch) error {
	before := int64(0)
	if len(w.partitions) == 1 || len(w.keys) == 0 {
		before = w.partitions[0].Bytes()
		w.partitions[0].Append(b)
		return w.grew(0, before)
	}
	b = b.Compact()
	keys := make([]*vector.Vector, len(w.keys))
	for i, k := range w.keys {
		keys[i] = vector.OneZero(b.Cols[k]) // the two sides of a join meet where their keys are equal
	}
	if cap(w.hashes) < b.N {
		w.hashes = make([]uint64, b.N)
	}
	hashes := w.hashes[:b.N]
	clear(hashes)
	vector.HashRows(keys, hashes)
	for p := range w.rows {
		w.rows[p] = w.rows[p][:0]
	}
	for i, h := range hashes {
		p := (h >> 32) % uint64(len(w.rows)) // the low bits choose slots in hash tables
		w.rows[p] = append(w.rows[p], uint32(i))
	}
	for p, rows := range w.rows {
		if len(rows) == 0 {
			continue
		}
		before := w.partitions[p].Bytes()
		w.partitions[p].AppendRows(b, rows)
		if err := w.grew(p, before); err != nil {
			return err
		}
	}
	return nil
}

// grew writes a partition that is large enough, or all of them when together they hold too much.
func (w *hashWriter) grew(p int, before int64) error {
	b := w.partitions[p]
	w.held += b.Bytes() - before
	if b.Rows() >= vector.BatchRows || b.Bytes() >= frameBytes {
		return w.flush(p)
	}
	if w.held > hashBufferBytes {
		for p := range w.partitions {
			if err := w.flush(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *hashWriter) flush(p int) error {
	if w.partitions[p].Rows() == 0 {
		return nil
	}
	w.held -= w.partitions[p].Bytes()
	b := w.partitions[p].Build()
	n, err := w.file.write(b, frameRef{partition: p})
	if err != nil {
		return err
	}
	w.counters.flow("shuffle", p, int64(b.N), int64(n), 1)
	return nil
}

func (w *hashWriter) finish() (*output, error) {
	for p := range w.partitions {
		if err := w.flush(p); err != nil {
			return nil, err
		}
	}
	return w.file.out, nil
}

func (w *hashWriter) abort() { _ = w.file.out.close() } // the folder is removed anyway

// frameReader is the rows of one partition of unsorted outputs, an exec.Operator.
type frameReader struct {
	outputs   []*output
	partition int
	counters  *counters
	input     string
	output    int // being read
	frame     int
	buf       []byte
}

// Next returns the rows of the next frame.
func (r *frameReader) Next(ctx context.Context) (*vector.Batch, error) {
	for r.output < len(r.outputs) {
		o := r.outputs[r.output]
		for r.frame < len(o.frames) {
			ref := &o.frames[r.frame]
			r.frame++
			if ref.partition != r.partition || ref.rows == 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			b, buf, err := o.read(ref, r.buf)
			r.buf = buf
			if err != nil {
				return nil, err
			}
			r.counters.flow(r.input, r.partition, int64(b.N), int64(ref.length), 1)
			return b, nil
		}
		r.output, r.frame = r.output+1, 0
	}
	return nil, io.EOF
}

// Close does nothing: outputs belong to the job.
func (r *frameReader) Close() {}
