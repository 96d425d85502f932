package budget

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hengedb/henge/internal/fault"
)

const (
	spillPrefix = "spill-"
	// spillBuffer is the size of the write and read buffer of each spill file; it bounds the memory of
	// a k-way merge.
	spillBuffer = 64 << 10
)

// SpillDir is a folder of temporary files whose bytes count against a disk budget. Files are
// removed when they are closed; what a killed process left behind is removed by OpenSpillDir. It is
// safe for use by many goroutines.
type SpillDir struct {
	path    string
	disk    *Budget
	handles *handles // shared by all that For and Child return
	swept   int64    // bytes of an earlier process that were removed

	mu struct {
		sync.Mutex
		open map[*SpillFile]struct{}
	}
}

// inputPrefix begins the names of inputs that are copied to the folder so that they can be read at
// any place.
const inputPrefix = "henge-input-"

// OpenSpillDir makes path if it is missing and removes spill files of an earlier process. Only one
// process may use a folder.
func OpenSpillDir(path string, disk *Budget) (*SpillDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("creating spill folder [%s]: %w", path, err)
	}
	d := &SpillDir{path: path, disk: disk, handles: &handles{max: maxOpenFiles}}
	for _, prefix := range []string{spillPrefix, inputPrefix} {
		stale, err := filepath.Glob(filepath.Join(path, prefix+"*"))
		if err != nil {
			return nil, fmt.Errorf("listing spill folder [%s]: %w", path, err)
		}
		for _, f := range stale {
			if info, err := os.Stat(f); err == nil {
				d.swept += info.Size()
			}
			if err := os.Remove(f); err != nil {
				return nil, fmt.Errorf("removing stale spill file: %w", err)
			}
		}
	}
	d.mu.open = map[*SpillFile]struct{}{}
	return d, nil
}

// Swept returns how many bytes of an earlier process were removed when the folder was opened.
func (d *SpillDir) Swept() int64 { return d.swept }

// Path returns the folder.
func (d *SpillDir) Path() string { return d.path }

// For returns the same folder counting against another disk budget, usually a child of one query.
func (d *SpillDir) For(disk *Budget) *SpillDir {
	if d == nil {
		return nil
	}
	c := &SpillDir{path: d.path, disk: disk, handles: d.handles}
	c.mu.open = map[*SpillFile]struct{}{}
	return c
}

// Child returns the same folder counting against a child of its disk budget too, and that child. Of
// a nil SpillDir it is nil.
func (d *SpillDir) Child(name string) (*SpillDir, *Budget) {
	if d == nil {
		return nil, nil
	}
	disk := d.disk.Child(name, Unlimited)
	return d.For(disk), disk
}

// Create returns a new empty file. A nil SpillDir refuses: spilling is off.
func (d *SpillDir) Create() (*SpillFile, error) {
	if d == nil {
		return nil, fault.ResourceLimit("The query does not fit in memory and may not spill to disk: no spill folder is configured.")
	}
	f, err := d.handles.create(d.path, spillPrefix+"*")
	if err != nil {
		return nil, spillError(err)
	}
	s := &SpillFile{dir: d, f: f, account: NewAccount(d.disk)}
	d.mu.Lock()
	d.mu.open[s] = struct{}{}
	d.mu.Unlock()
	return s, nil
}

// Close closes and removes all files that are still open.
func (d *SpillDir) Close() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	open := make([]*SpillFile, 0, len(d.mu.open))
	for f := range d.mu.open {
		open = append(open, f)
	}
	d.mu.Unlock()
	var errs []error
	for _, f := range open {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// SpillFile is written once, from start to end, and then read any number of times. It belongs to
// one goroutine at a time; readers from Reader may be used by one goroutine each.
type SpillFile struct {
	dir     *SpillDir
	f       *handle
	w       *bufio.Writer // nil: nothing waits to be written
	size    int64
	account Account
	closed  bool
}

// Write appends p.
func (s *SpillFile) Write(p []byte) (int, error) {
	if s.w == nil {
		s.w = bufio.NewWriterSize(writeCounter{s}, spillBuffer)
	}
	n, err := s.w.Write(p)
	return n, err
}

// Size returns the bytes written and flushed so far.
func (s *SpillFile) Size() int64 { return s.size }

// Flush ends writing: what was written can be read, and the buffer is free: there may be thousands
// of files.
func (s *SpillFile) Flush() error {
	if s.w == nil {
		return nil
	}
	err := s.w.Flush()
	s.w = nil
	return err
}

// Reader returns a buffered reader from the start of what was flushed.
func (s *SpillFile) Reader() *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(s, 0, s.size), spillBuffer)
}

// ReadAt fills p from an offset in what was flushed, as io.ReaderAt.
func (s *SpillFile) ReadAt(p []byte, offset int64) (int, error) {
	var n int
	err := s.f.use(func(f *os.File) (err error) {
		n, err = f.ReadAt(p, offset)
		return err
	})
	if err != nil && !errors.Is(err, io.EOF) {
		err = spillError(err)
	}
	return n, err
}

// Close removes the file and gives its bytes back to the disk budget. Closing twice does nothing
// more.
func (s *SpillFile) Close() error {
	if s == nil || s.closed {
		return nil
	}
	s.closed = true
	s.dir.mu.Lock()
	delete(s.dir.mu.open, s)
	s.dir.mu.Unlock()
	s.w = nil
	err := s.f.remove()
	s.account.Close()
	if err != nil {
		return fmt.Errorf("removing spill file: %w", err)
	}
	return nil
}

// writeCounter reserves disk before bytes go to the file.
type writeCounter struct{ s *SpillFile }

func (c writeCounter) Write(p []byte) (int, error) {
	if err := c.s.account.Set(c.s.size + int64(len(p))); err != nil {
		return 0, err
	}
	var n int
	err := c.s.f.use(func(f *os.File) (err error) {
		n, err = f.WriteAt(p, c.s.size)
		return err
	})
	c.s.size += int64(n)
	if err != nil {
		return n, spillError(err)
	}
	return n, nil
}

// spillError says in words of the user what the operating system refused.
func spillError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fault.ResourceLimit("The query does not fit in memory and the disk for spilled data is full.").WithCause(err)
	}
	return fault.Runtime("Spilling to disk failed.").WithCause(err)
}
