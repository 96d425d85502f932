package msq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
)

// eagerBuilder builds segments while rows are still being read: of a time chunk that no row has
// come for in a while, and of what is enough for a segment. Rows that arrive in the order of time
// are so held for a short while only, and never go to disk but in the end.
//
// What is built is a piece of a partition. If later rows belong to it after all, or a piece could
// not be built, the segment is built of all that there is as it would have been without: the file
// is the same. A piece is found in the index of its output in place of its rows.
//
// Where there is memory and disk to spare, the memory of kept rows is for others as soon as the
// builder has read them, so that reading goes on while the piece is sorted and encoded. A piece
// that can't be completed then fails the job, since its rows are in no other place.
type eagerBuilder struct {
	group *exec.Group
	// build builds a piece. It may call release with each frame once it has read it, which takes the
	// rows from the frame.
	build func(ctx context.Context, p *piece, from *output, release func(*frameRef)) (*os.File, error)
	// layout is that of segments if no more columns turn out to have several values in a row.
	layout func() (*layout, error)
	path   func(number int) string
	turn   chan struct{} // has a value while a piece is built, by all threads
	target int64         // rows of a segment
	kept   *keeper
	pieces []*piece
	closed map[int64]bool // time chunks whose rows seemed to have all come
}

// piece is rows of one time chunk that one segment file has or is going to have.
type piece struct {
	path   string
	layout *layout
	of     *output
	frames []frameRef // that the rows are in until the file has them
	// count and rows are how many frames and rows there are, length is the bytes of the frames, held
	// those of the memory of kept rows.
	count        int
	rows, length int64
	held         int64
	// full says that the rows are enough for a segment; else they are all of the chunk that had come
	// by then.
	full bool
	disk budget.Account // of the file
	// done is closed when the file is complete and info describes it, or when that could not be: info
	// is nil then.
	done chan struct{}
	info *segment.Info
	// durable is closed after done, when the file is on disk, or when err says why the rows are lost.
	durable chan struct{}
	err     error
}

// full reports whether a frame is a piece that is a segment of its own.
func (f *frameRef) full() bool { return f.piece != nil && f.piece.full }

// ended reports whether the file is complete, or will not be.
func (p *piece) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// mayBuildEagerly reports whether segments of a job can be built before all rows are there: those
// of a chunk come in the order in which they are numbered, and nothing of how they are built
// follows from the rows, but for columns that turn out to have several values in a row, which can
// be said of a piece later.
func (c *Controller) mayBuildEagerly(w *plan.Write, s *shuffle) bool {
	return c.workers == 1 && c.peers.session == nil && !c.opts.DurableShuffle && len(w.Cluster) == 0 && !w.Rollup && !s.order.hashed && c.newAutoValues() == nil
}

// newEagerBuilder returns what builds segments of the rows of an order.
func (c *Controller) newEagerBuilder(ctx context.Context, order *workOrder, kept *keeper) *eagerBuilder {
	return &eagerBuilder{
		group: exec.NewGroup(context.WithoutCancel(ctx)), // the output outlives its stage; close ends what is being built
		build: func(ctx context.Context, p *piece, from *output, release func(*frameRef)) (*os.File, error) {
			return c.buildPiece(ctx, order, p, from, release)
		},
		layout: func() (*layout, error) {
			l, err := layoutOf(c.job.write(), c.opts, c.job.Target)
			if err == nil {
				l.settle(order.write.several)
				err = l.describe(c.job.Target)
			}
			return l, err
		},
		path: func(number int) string { return filepath.Join(order.dir, fmt.Sprintf("piece%d.segment", number)) },
		turn: make(chan struct{}, 1), target: order.stage.shuffle.target, kept: kept, closed: map[int64]bool{},
	}
}

// begin builds segments of what is there of an output that nobody writes to at the moment.
func (e *eagerBuilder) begin(out *output) {
	chunks, open := map[int64][]int{}, map[int64]bool{}
	rows := map[int64]int64{}
	for i := range out.frames {
		f := &out.frames[i]
		if f.run == out.runs-1 {
			open[f.bucket] = true
		}
		if f.piece == nil {
			chunks[f.bucket], rows[f.bucket] = append(chunks[f.bucket], i), rows[f.bucket]+int64(f.rows)
		}
	}
	l, err := e.layout()
	if err != nil {
		return // there is more to say of it in the end
	}
	taken := map[int]*piece{} // by place in the index
	for _, chunk := range slices.Sorted(maps.Keys(chunks)) {
		if e.closed[chunk] {
			continue // one that was thought complete once is no more, and what comes after a piece of it must not be built before it
		}
		frames, left := chunks[chunk], rows[chunk]
		for left >= 2*e.target { // so that what remains is never too little for a segment
			n, some := 1, int64(out.frames[frames[0]].rows)
			for ; n < len(frames) && some+int64(out.frames[frames[n]].rows) <= e.target; n++ {
				some += int64(out.frames[frames[n]].rows)
			}
			e.add(out, frames[:n], l, taken).full = true
			frames, left = frames[n:], left-some
		}
		if !open[chunk] && left <= e.target {
			e.add(out, frames, l, taken)
			e.closed[chunk] = true
		}
	}
	if len(taken) == 0 {
		return
	}
	index, begun := make([]frameRef, 0, len(out.frames)), map[*piece]bool{}
	for i, f := range out.frames {
		p := taken[i]
		if p == nil {
			index = append(index, f)
			continue
		}
		if begun[p] {
			continue
		}
		begun[p] = true
		index = append(index, frameRef{run: f.run, first: f.first, boundary: f.boundary, bucket: f.bucket, start: f.start, rows: int(p.rows), length: int(p.length),
			piece: p})
		e.group.Go(func(ctx context.Context) error {
			e.make(ctx, p, &output{path: out.path, data: out.data, frames: p.frames})
			return nil
		})
	}
	out.frames = index
}

// add makes a piece of frames of out, given by their places.
func (e *eagerBuilder) add(out *output, frames []int, l *layout, taken map[int]*piece) *piece {
	p := &piece{path: e.path(len(e.pieces)), layout: l, of: out, count: len(frames), done: make(chan struct{}), durable: make(chan struct{})}
	for _, i := range frames {
		f := &out.frames[i]
		p.frames, p.rows, p.length, p.held = append(p.frames, *f), p.rows+int64(f.rows), p.length+int64(f.length), p.held+f.held
		taken[i] = p
	}
	e.pieces = append(e.pieces, p)
	return p
}

// make builds a piece of the frames of from. If it can't, and has released none, the segment is
// built when all rows are there, and fails with what is to be said of it. Memory and turn are for
// the next piece while the disk is waited for.
func (e *eagerBuilder) make(ctx context.Context, p *piece, from *output) {
	defer close(p.durable)
	if file := e.fill(ctx, p, from); file != nil {
		if err := errors.Join(file.Sync(), file.Close()); err != nil {
			p.err = diskFault(err)
		}
	}
}

// fill returns the complete file of a piece; nil: it could not be built.
func (e *eagerBuilder) fill(ctx context.Context, p *piece, from *output) (file *os.File) {
	defer close(p.done)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return nil
	}
	released := int64(0)
	err := exec.Protect(func() (err error) {
		file, err = e.build(ctx, p, from, func(f *frameRef) {
			e.kept.release(f.held)
			released += f.held
			f.batch, f.held = nil, 0
		})
		return err
	})
	if err != nil && released == 0 {
		return nil // all rows are still there
	}
	p.err, p.frames, from.frames = err, nil, nil
	e.kept.release(p.held - released)
	return file
}

// buildPiece builds the file of a piece. It releases frames that are read if nothing it may still
// need could be refused.
func (c *Controller) buildPiece(ctx context.Context, order *workOrder, p *piece, from *output, release func(*frameRef)) (*os.File, error) {
	file, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	p.disk = budget.NewAccount(c.disk)
	spare := c.memory.Free() >= 2*p.held && p.disk.Set(p.length) == nil // the file is shorter than the frames
	reader := newMergeReader(&order.stage.shuffle.order, []*output{from}, nil, nil, func(_ *output, f *frameRef, _ int) {
		if spare && f.held > 0 {
			release(f)
		}
	})
	info, err := c.writeSegment(ctx, file, order.dir, p.layout, p.rows, order.threads, nil, reader, func(int) {})
	if err == nil {
		err = p.disk.Set(info.Size)
	}
	if err != nil {
		p.disk.Close()
		return nil, errors.Join(err, file.Close(), os.Remove(p.path))
	}
	p.info = info
	return file, nil
}

// writeSegment writes a segment of the rows of pieces and those of reader, which come after them.
// It tells of the latter as they come.
func (c *Controller) writeSegment(ctx context.Context, file *os.File, dir string, l *layout, rows int64, threads int, pieces []*piece, reader *mergeReader,
	progress func(rows int)) (*segment.Info, error) {
	writer, err := segment.NewWriter(file, segment.Options{
		Columns: l.columns, SortOrder: l.sort, Rollup: l.rollup, Fold: FoldOf, QueryGranularity: l.granularity, Metadata: l.kept, TempDir: dir,
		BufferBytes: c.bufferBytes(threads), Budget: c.memory, Rows: int(rows), Threads: threads, IndexRows: segment.WorthIndexing,
	})
	if err != nil {
		return nil, err
	}
	defer writer.Abort()
	for _, p := range pieces {
		built, err := segment.Open(p.path)
		if err != nil {
			return nil, err
		}
		if err := writer.AppendSegment(built); err != nil {
			return nil, err
		}
	}
	for {
		b, err := reader.Next(ctx)
		if errors.Is(err, io.EOF) {
			return writer.Finish(ctx)
		}
		if err != nil {
			return nil, err
		}
		if err := writer.Append(ctx, l.batch(b)); err != nil {
			return nil, err
		}
		progress(b.Rows())
	}
}

// piecesOf waits for the pieces that have rows of a partition and returns those that are built, in
// the order of their rows, which come before all others. It fails with a piece whose rows are lost.
func piecesOf(ctx context.Context, outputs []*output, p *partition) ([]*piece, error) {
	var out []*piece
	for _, o := range outputs {
		for i := range o.frames {
			f := &o.frames[i]
			if f.piece == nil || bytes.Compare(f.first, p.lo) < 0 || p.hi != nil && bytes.Compare(f.first, p.hi) >= 0 {
				continue
			}
			select {
			case <-f.piece.durable:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if f.piece.err != nil {
				return nil, f.piece.err
			}
			if f.piece.info != nil {
				out = append(out, f.piece)
			}
		}
	}
	return out, nil
}

// unbuilt returns frames with those of pieces that could not be built in their places, and without
// other pieces.
func unbuilt(frames []frameRef) []frameRef {
	if !slices.ContainsFunc(frames, func(f frameRef) bool { return f.piece != nil }) {
		return frames
	}
	var out []frameRef
	for _, f := range frames {
		switch {
		case f.piece == nil:
			out = append(out, f)
		case f.piece.ended() && f.piece.info == nil:
			out = append(out, f.piece.frames...)
		}
	}
	return out
}

// wait waits for a piece to give memory back; false: there is none that will.
func (e *eagerBuilder) wait() bool {
	for _, p := range e.pieces {
		if p.held > 0 && !p.ended() {
			select {
			case <-e.kept.released:
			case <-p.done:
			}
			return true
		}
	}
	return false
}

// close ends what is being built and removes all files.
func (e *eagerBuilder) close() {
	e.group.Stop()
	for _, p := range e.pieces {
		if p.info != nil {
			_ = os.Remove(p.path) // the folder is removed anyway
		}
		p.disk.Close()
	}
	e.pieces = nil
}
