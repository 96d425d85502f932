package segment

import (
	"bufio"
	"sync"
	"sync/atomic"
)

// parallel runs f for each number below n on up to so many goroutines, the caller's among them, and
// waits for all. Lower numbers begin first. After a failure no others begin; the failure of the
// lowest number is returned. A panic of any of them is the caller's.
func parallel(threads, n int, f func(i int) error) error {
	if threads = min(threads, n); threads <= 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	errs, panics := make([]error, n), make([]any, threads)
	var next atomic.Int64
	var failed atomic.Bool
	work := func(worker int) {
		defer func() {
			if panics[worker] = recover(); panics[worker] != nil {
				failed.Store(true)
			}
		}()
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = Guard(func() error { return f(i) }); errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	var wg sync.WaitGroup
	for worker := 1; worker < threads; worker++ {
		wg.Go(func() { work(worker) })
	}
	work(0)
	wg.Wait()
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// columnQueue lets several goroutines write columns of one file, which appear in it in their order.
// What is written before a column's turn has come is held in memory; a writer that has too much of
// it waits for the turn.
type columnQueue struct {
	file  *fileWriter
	turns []chan struct{} // closed when all columns before are written
}

func newColumnQueue(file *fileWriter, columns int) *columnQueue {
	q := &columnQueue{file: file, turns: make([]chan struct{}, columns+1)}
	for i := range q.turns {
		q.turns[i] = make(chan struct{})
	}
	close(q.turns[0])
	return q
}

// write lets f write column i. It must be called for every column below i too, if only with an f
// that fails.
func (q *columnQueue) write(i int, budget Budget, f func(*fileWriter) (*columnMeta, error)) (*columnMeta, error) {
	defer func() {
		<-q.turns[i] // also after a failure: the columns behind must not write beside those before
		close(q.turns[i+1])
	}()
	w := &turnWriter{file: q.file, turn: q.turns[i], memory: account{budget: budget}}
	defer w.memory.set(0)                                                             // releasing does not fail
	own := &fileWriter{w: bufio.NewWriterSize(w, turnBufferBytes), name: q.file.name} // its first byte is the column's
	meta, err := f(own)
	if err == nil {
		err = own.failed(own.w.Flush())
	}
	if takeErr := w.take(); err == nil {
		err = takeErr
	}
	if err != nil {
		return nil, err
	}
	meta.off = w.start
	for c := meta; c != nil; c = c.element {
		for p := range c.parts {
			c.parts[p].firstSum += len(q.file.sums)
		}
	}
	q.file.sums = append(q.file.sums, own.sums...)
	return meta, nil
}

// turnWriter is the io.Writer of one column.
type turnWriter struct {
	file   *fileWriter
	turn   chan struct{}
	mine   bool
	start  int64     // of the column in the file
	held   []*[]byte // of heldPieces; all but the last are full
	size   int       // of what is held
	memory account
}

// heldPieces are buffers for what is held, of heldPieceBytes each.
var heldPieces = sync.Pool{New: func() any {
	b := make([]byte, 0, heldPieceBytes)
	return &b
}}

func (w *turnWriter) Write(b []byte) (int, error) {
	if !w.mine {
		if w.size+len(b) <= maxHeldColumnBytes && w.memory.add(int64(len(b))) == nil {
			w.hold(b)
			return len(b), nil
		}
		if err := w.take(); err != nil {
			return 0, err
		}
	}
	if err := w.file.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// hold copies b to what is held.
func (w *turnWriter) hold(b []byte) {
	w.size += len(b)
	for len(b) > 0 {
		if len(w.held) == 0 || len(*w.held[len(w.held)-1]) == heldPieceBytes {
			w.held = append(w.held, heldPieces.Get().(*[]byte))
		}
		last := w.held[len(w.held)-1]
		n := min(len(b), heldPieceBytes-len(*last))
		*last, b = append(*last, b[:n]...), b[n:]
	}
}

// take waits for the turn and writes what is held.
func (w *turnWriter) take() error {
	if w.mine {
		return nil
	}
	<-w.turn
	w.mine = true
	if err := w.file.align(columnAlign); err != nil {
		return err
	}
	w.start = w.file.off
	var err error
	for _, piece := range w.held {
		if err == nil {
			err = w.file.write(*piece)
		}
		*piece = (*piece)[:0]
		heldPieces.Put(piece)
	}
	w.held, w.size = nil, 0
	w.memory.set(0) // releasing does not fail
	return err
}
