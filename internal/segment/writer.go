package segment

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Writer makes a segment file of batches of rows. It is used by one goroutine; any number of
// Writers work at the same time.
//
// It buffers rows in memory. When they exceed Options.BufferBytes, or the budget gives no more, it
// sorts them and writes them to a temporary file as a run; Finish merges the runs. Every Writer
// ends with Finish or Abort.
type Writer struct {
	path   string    // empty: out is written to
	out    io.Writer // nil: path is
	opts   Options
	buffer *rowBuffer
	memory account
	runs   []*Segment
	rows   int64
	done   bool
}

// Create returns a Writer of a segment file at path, which appears there when Finish returns.
func Create(path string, opts Options) (*Writer, error) { return newWriter(path, nil, opts) }

// NewWriter returns a Writer that writes the file to w during Finish.
func NewWriter(w io.Writer, opts Options) (*Writer, error) { return newWriter("", w, opts) }

func newWriter(path string, out io.Writer, opts Options) (*Writer, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	w := &Writer{path: path, out: out, opts: opts.withDefaults()}
	w.memory.budget = opts.Budget
	w.buffer = newRowBuffer(w.opts.Columns)
	w.buffer.reserve(w.opts.Rows, w.opts.BufferBytes/4)
	return w, nil
}

// Rows returns how many rows were appended.
func (w *Writer) Rows() int64 { return w.rows }

// Append adds the rows of batch that count. Its columns are those of Options.Columns, in order; a
// multi-value column may also come as plain strings. The batch is not kept. After an error only
// Abort is left.
func (w *Writer) Append(ctx context.Context, batch *vector.Batch) error {
	if w.done {
		return fault.Defensive("Rows were appended to a segment that is finished")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n := int64(batch.Rows())
	if w.rows+n > MaxRows {
		return fault.ResourceLimit("Segment of more than [%d] rows is not possible; make smaller segments", MaxRows)
	}
	if err := w.buffer.append(batch, w.opts.Threads); err != nil {
		return err
	}
	w.rows += n
	size := w.buffer.bytes()
	err := w.memory.set(size)
	if err == nil && size <= w.opts.BufferBytes {
		return nil
	}
	if spillErr := w.spill(ctx); spillErr != nil {
		return spillErr
	}
	return w.memory.set(0)
}

// AppendSegment appends the rows of a segment that has the columns of the Writer, and its rows in
// the Writer's order, before others are appended. The Writer releases it.
func (w *Writer) AppendSegment(s *Segment) error {
	if w.done || w.buffer.rows > 0 {
		s.Release()
		return fault.Defensive("A segment was appended to one that is finished or has rows already")
	}
	w.runs = append(w.runs, s)
	w.rows += int64(s.Info().Rows)
	return nil
}

// spill writes the buffered rows as a run.
func (w *Writer) spill(ctx context.Context) error {
	if w.buffer.rows == 0 {
		return nil
	}
	table := w.table()
	file, err := os.CreateTemp(w.opts.TempDir, "henge-run-*.segment")
	if err != nil {
		return fmt.Errorf("creating a file to spill rows to: %w", err)
	}
	// The run is mapped and needs no name: so it vanishes with the process, whatever happens.
	defer os.Remove(file.Name())
	defer file.Close()
	// A run keeps every row and needs no index. Metrics are folded when runs are merged.
	opts := Options{Columns: w.opts.Columns, SortOrder: w.opts.SortOrder, BitmapValues: -1, Threads: w.opts.Threads, run: true}.withDefaults()
	if _, err := write(ctx, file, file.Name(), []Reader{table}, &opts); err != nil {
		return err
	}
	run, err := Open(file.Name())
	if err != nil {
		return err
	}
	w.runs = append(w.runs, run)
	if len(w.runs) >= maxRuns {
		return fault.ResourceLimit("Segment was spilled to disk [%d] times; raise its memory or create smaller segments", len(w.runs))
	}
	return nil
}

// table takes the buffered rows, sorted, and begins a new buffer.
func (w *Writer) table() *memoryTable {
	t := w.buffer.table(w.opts.SortOrder, w.opts.Threads)
	w.buffer = newRowBuffer(w.opts.Columns)
	return t
}

// Finish sorts and merges all rows, writes the file and describes it. With a path the file is on
// disk then. A segment without rows is possible.
func (w *Writer) Finish(ctx context.Context) (*Info, error) {
	if w.done {
		return nil, fault.Defensive("A segment was finished twice")
	}
	defer w.Abort()
	inputs := make([]Reader, 0, len(w.runs)+1)
	for _, r := range w.runs {
		inputs = append(inputs, r)
	}
	if w.buffer.rows > 0 || len(inputs) == 0 {
		inputs = append(inputs, w.table())
	}
	if w.path == "" {
		return write(ctx, w.out, "output", inputs, &w.opts)
	}
	return writeFile(w.path, func(out io.Writer) (*Info, error) { return write(ctx, out, w.path, inputs, &w.opts) })
}

// Abort frees what the Writer holds, on disk and in memory. It does nothing after Finish or another
// Abort.
func (w *Writer) Abort() {
	if w.done {
		return
	}
	w.done = true
	for _, r := range w.runs {
		r.Release()
	}
	w.runs, w.buffer = nil, nil
	w.memory.set(0) // releasing does not fail
}
