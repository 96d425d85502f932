package push

import (
	"errors"
	"fmt"
	"os"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// write writes what is appended until the log is closed. What waits together gets one fsync; while
// it runs, the next ones gather.
func (l *Log) write() {
	defer close(l.done)
	defer func() { _ = l.writing.file.Close() }() // all that counts is on disk
	for {
		select {
		case first := <-l.queue:
			l.writeTogether(l.gather(first))
		case hold := <-l.holds:
			hold()
		case <-l.stop:
			return
		}
	}
}

// gather returns first and all that wait with it.
func (l *Log) gather(first *appending) []*appending {
	batch, size := []*appending{first}, first.size()
	for size < batchBytes {
		select {
		case a := <-l.queue:
			batch, size = append(batch, a), size+a.size()
		default:
			return batch
		}
	}
	return batch
}

// writeTogether writes a batch, and gives receipts when it is on disk. It is written whole, or cut
// off again: a position that nobody has a receipt for is given to the next entry.
func (l *Log) writeTogether(batch []*appending) {
	fresh, err := l.writeBatch(batch)
	l.mu.Lock()
	if err == nil && len(fresh) > 0 {
		l.noteLocked(fresh)
	}
	if err != nil {
		l.writing.memory = l.mu.memory.clone()
	}
	l.mu.Unlock()
	for _, a := range batch {
		if a.err == nil {
			a.err = err
		}
		close(a.done)
	}
}

// noteLocked lets entries be read that are on disk now.
func (l *Log) noteLocked(fresh []*Entry) {
	for _, e := range fresh {
		l.mu.memory.note(e)
		l.mu.tail = append(l.mu.tail, e)
		l.mu.tailSize += e.size()
	}
	l.mu.next = fresh[len(fresh)-1].Position + 1
	cut := 0
	for ; l.mu.tailSize > l.o.TailBytes && cut < len(l.mu.tail)-1; cut++ {
		l.mu.tailSize -= l.mu.tail[cut].size()
	}
	if cut > 0 {
		l.mu.tail = append([]*Entry(nil), l.mu.tail[cut:]...)
	}
	grown := l.writing.size - l.mu.files[len(l.mu.files)-1].size
	l.mu.files[len(l.mu.files)-1].size = l.writing.size
	l.mu.bytes += grown
	l.raiseLocked()
}

// writeBatch writes the entries of a batch that are not duplicates and returns them when they are
// on disk.
func (l *Log) writeBatch(batch []*appending) ([]*Entry, error) {
	l.mu.Lock()
	next, failed := l.mu.next, l.mu.failed
	l.mu.Unlock()
	if failed != nil {
		return nil, failed
	}
	if l.writing.size >= l.o.FileBytes {
		if err := l.nextFile(next); err != nil {
			return nil, l.refusal(err)
		}
	}
	var bytes []byte
	var fresh []*Entry
	now := clock.Millis(l.o.Clock)
	write := func(e *Entry) {
		next++
		l.writing.memory.note(e)
		bytes = appendFrame(bytes, func(dst []byte) []byte { return appendEntry(dst, e) })
		fresh = append(fresh, e)
	}
	for _, a := range batch {
		e := a.entry
		if e == nil {
			l.takeGiven(a, next, write)
			continue
		}
		e.Time = now
		if mark, ok := l.writing.memory.known(e); ok {
			a.receipt = Receipt{Position: mark.Position, Duplicate: true, Committed: mark.Offset}
			continue
		}
		e.Position = next
		a.receipt = Receipt{Position: next, Committed: e.Offset}
		bad := e.Bad
		e.Bad = nil
		write(e)
		if len(bad) > 0 {
			write(&Entry{Position: next, Time: now, Body: bad})
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	if err := l.o.Disk.Reserve(int64(len(bytes))); err != nil {
		return nil, err
	}
	_, err := l.writing.file.Write(bytes)
	if err == nil {
		err = durable.File(l.writing.file)
	}
	if err != nil {
		l.o.Disk.Release(int64(len(bytes)))
		l.cutBack()
		return nil, l.refusal(fmt.Errorf("writing [%s]: %w", l.writing.file.Name(), err))
	}
	l.writing.size += int64(len(bytes))
	if l.writing.copy != nil {
		if err := l.writing.copy(fresh); err != nil { // it may be there or not: only who looks may go on
			l.fail(fault.Unavailable("Another worker has the log of these rows now; send them again").WithCause(err))
			return nil, l.ended()
		}
	}
	return fresh, nil
}

// takeGiven writes entries of another log that are not there yet.
func (l *Log) takeGiven(a *appending, next int64, write func(*Entry)) {
	if a.epoch < l.writing.epoch {
		a.err = fault.Conflict("The log is not a copy of that of epoch [%d] any more, but is at epoch [%d]", a.epoch, l.writing.epoch)
		return
	}
	l.writing.epoch = a.epoch
	for _, e := range a.given {
		if e.Position > next {
			a.err = fault.Conflict("The copy of a log has entries up to [%d], and can't take that at [%d]", next, e.Position)
			return
		}
		if e.Position == next {
			write(e)
			next++
		}
	}
}

// fail has nothing be written any more.
func (l *Log) fail(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.failed = why
	l.raiseLocked()
}

// cutBack removes what a failed write has left. If that fails, too, the file may have entries that
// nobody has a receipt for, and nothing may be written behind them.
func (l *Log) cutBack() {
	err := l.writing.file.Truncate(l.writing.size)
	if err == nil {
		_, err = l.writing.file.Seek(l.writing.size, 0)
	}
	if err == nil {
		err = durable.File(l.writing.file)
	}
	if err == nil {
		return
	}
	l.fail(fault.Unavailable("The push log cannot be written; see the log of this worker").WithCause(err))
	l.o.Log.Error("failed to write the push log", "path", l.writing.file.Name(), "error", err)
}

// refusal is what a sender is told of a failed write.
func (l *Log) refusal(err error) error {
	if durable.IsFull(err) {
		return fault.Capacity("There is no room on the disk for the rows. Send them again later").WithCause(err)
	}
	return fault.Unavailable("The rows could not be written. Send them again").WithCause(err)
}

// nextFile begins a file at a position.
func (l *Log) nextFile(first int64) error {
	path := l.pathOf(first)
	snapshot := l.writing.memory.snapshot(clock.Millis(l.o.Clock))
	head := appendFrame([]byte(magic), func(dst []byte) []byte { return append(append(dst, kindSnapshot), snapshot...) })
	if err := l.o.Disk.Reserve(int64(len(head))); err != nil {
		return err
	}
	err := durable.WriteFile(path, head, 0o600)
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(path, os.O_RDWR, 0)
	}
	if err == nil {
		_, err = file.Seek(int64(len(head)), 0)
	}
	if err != nil {
		l.o.Disk.Release(int64(len(head)))
		return fmt.Errorf("beginning [%s]: %w", path, err)
	}
	if l.writing.file != nil {
		err = l.writing.file.Close()
	}
	l.writing.file, l.writing.size = file, int64(len(head))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.files = append(l.mu.files, logFile{first: first, path: path, size: l.writing.size})
	l.mu.bytes += l.writing.size
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("closing a file of the log: %w", err)
	}
	return nil
}
