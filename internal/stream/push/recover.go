package push

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// recover reads the files that are there, and opens the last one for writing.
func (l *Log) recover() error {
	files, err := filesOf(l.o.Dir)
	if err != nil {
		return err
	}
	l.mu.memory = newMemory()
	l.writing.memory = l.mu.memory
	if len(files) == 0 {
		if len(l.o.Snapshot) > 0 {
			if l.mu.memory, err = readSnapshot(append([]byte{kindSnapshot}, l.o.Snapshot...)); err != nil {
				return fault.InvalidInput("What a log remembers can't be read").WithCause(err)
			}
			l.writing.memory = l.mu.memory
		}
		l.mu.next = l.o.First
		return l.nextFile(l.o.First)
	}
	// A snapshot has all that was before it: only the last file is read.
	last := len(files) - 1
	for i := range files {
		info, err := os.Stat(files[i].path)
		if err != nil {
			return fmt.Errorf("reading [%s]: %w", files[i].path, err)
		}
		files[i].size = info.Size()
	}
	f := &files[last]
	l.mu.next = f.first
	end, err := l.replay(f)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening [%s]: %w", f.path, err)
	}
	if end < f.size {
		l.o.Log.Warn("push log ends with incomplete entries, which were never acknowledged; truncating it",
			"path", f.path, "from", end, "bytes", f.size-end)
		if err = file.Truncate(end); err == nil {
			err = durable.File(file)
		}
		f.size = end
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("opening [%s]: %w", f.path, errors.Join(err, file.Close()))
	}
	l.writing.file, l.writing.size, l.mu.files = file, end, files
	for _, f := range files {
		l.mu.bytes += f.size
	}
	if err := l.o.Disk.Reserve(l.mu.bytes); err != nil { // they are there: what is over is seen by who writes next
		l.o.Log.Warn("push log needs more room than there is", "path", l.o.Dir, "bytes", l.mu.bytes)
	}
	return nil
}

// replay reads the last file and returns where its last whole frame ends.
func (l *Log) replay(f *logFile) (end int64, err error) {
	c, err := openCursor(f)
	if err != nil {
		return 0, err
	}
	defer c.close()
	l.mu.memory = c.memory
	for {
		e, err := c.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return c.at, nil
		}
		if err != nil {
			return 0, err
		}
		if e.Position != l.mu.next {
			return 0, damaged(f.path, c.at)
		}
		l.mu.memory.note(e)
		l.mu.next++
	}
}

func damaged(path string, at int64) error {
	return fault.Runtime("File [%s] of the push log is damaged at byte [%d]", path, at)
}

// cursor reads the entries of a file.
type cursor struct {
	path   string
	file   *os.File
	in     *bufio.Reader
	memory *memory // of its snapshot
	at     int64   // behind the last whole frame
}

// openCursor opens a file, whose head was written at once and so is whole.
func openCursor(f *logFile) (*cursor, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, fmt.Errorf("opening [%s]: %w", f.path, err)
	}
	c := &cursor{path: f.path, file: file, in: bufio.NewReaderSize(file, 1<<16)}
	head := make([]byte, len(magic))
	_, err = io.ReadFull(c.in, head)
	var snapshot []byte
	if err == nil && string(head) == magic {
		snapshot, err = readFrame(c.in)
	} else if err == nil {
		err = errTorn
	}
	if err == nil {
		c.memory, err = readSnapshot(snapshot)
	}
	if err != nil {
		c.close()
		return nil, damaged(f.path, 0)
	}
	c.at = int64(len(magic) + frameHead + len(snapshot))
	return c, nil
}

// next returns the next entry; io.EOF: there is none, errTorn: what is there is none.
func (c *cursor) next() (*Entry, error) {
	payload, err := readFrame(c.in)
	if err != nil {
		return nil, err
	}
	e, err := readEntry(payload)
	if err == nil {
		c.at += int64(frameHead + len(payload))
	}
	return e, err
}

func (c *cursor) close() { _ = c.file.Close() } // it was only read
