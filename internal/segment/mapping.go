package segment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
)

// store is where a segment's bytes come from.
type store interface {
	// span returns bytes off up to off+n of the file, beginning at an address that is a multiple of
	// partAlign if off is. They stay valid until close. It is called from any goroutine.
	span(off, n int64) ([]byte, error)
	// advise says that these bytes will be asked for soon.
	advise(off, n int64)
	close() error
}

// mapping is a file mapped into memory, read-only.
type mapping struct {
	path string
	data []byte
	// source brings the bytes of a file that is there in part; nil: it is whole.
	source Source
	// columnAt names the column that holds an offset of the file, and damaged notes that the file
	// can't be read; set once the footer is read.
	columnAt func(off int64) string
	damaged  *atomic.Bool
	lent     lentSpans // in memory, of a file that is gone
}

// opened is told the segment that the file is.
func (m *mapping) opened(s *Segment) {
	mappings.Lock()
	defer mappings.Unlock()
	m.columnAt, m.damaged = s.columnAt, &s.damaged
}

func mapFile(path string) (*mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening segment file [%s]: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening segment file [%s]: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.InvalidInput("Segment file [%s] is not a regular file", path)
	}
	size := info.Size()
	if size < headerSize+tailSize {
		return nil, (&CorruptError{File: path, Offset: size, Reason: "the file is too short to be a segment"}).fault()
	}
	warm(f, size)
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping segment file [%s]: %w", path, err)
	}
	m := &mapping{path: path, data: data}
	mappings.Lock()
	defer mappings.Unlock()
	if mappings.open == nil {
		mappings.open = map[*mapping]struct{}{}
	}
	mappings.open[m] = struct{}{}
	return m, nil
}

// tailRead is how much of the end of a file is read when it is opened: most footers whole.
const tailRead = 64 << 10

// warm reads the end of a file by a system call, during which other goroutines run. A page fault
// would hold up a processor instead, so that the first query over many files would wait for them
// one after the other. What can't be read is found when it is needed.
func warm(f *os.File, size int64) {
	tail := make([]byte, min(size, tailRead))
	_, _ = f.ReadAt(tail, size-int64(len(tail)))
}

// advise makes the system read bytes off up to off+n soon, without waiting for them.
func (m *mapping) advise(off, n int64) {
	first := off &^ int64(os.Getpagesize()-1)
	willNeed(m.data[first : off+n])
}

func (m *mapping) span(off, n int64) ([]byte, error) {
	if m.source != nil {
		err := m.source.Fill(context.Background(), off, n) // who has a context calls Fetch before
		if errors.Is(err, fs.ErrNotExist) {
			b := alignedBytes(int(n))
			m.lent.add(b)
			return b, m.source.Read(b, off)
		}
		if err != nil {
			return nil, err
		}
	}
	return m.data[off : off+n : off+n], nil
}

func (m *mapping) close() error {
	mappings.Lock()
	delete(mappings.open, m)
	mappings.Unlock()
	data := m.data
	m.data = nil
	m.lent.poison()
	if err := syscall.Munmap(data); err != nil {
		return fmt.Errorf("unmapping segment file [%s]: %w", m.path, err)
	}
	return nil
}

// ranged reads a file by ranges, each once: a column is one range.
type ranged struct {
	name string
	r    io.ReaderAt
	lent lentSpans
}

// lentSpans are the spans that close ends, in checked builds.
type lentSpans struct {
	sync.Mutex
	spans [][]byte
}

func (l *lentSpans) add(b []byte) {
	if invariant.Enabled {
		l.Lock()
		defer l.Unlock()
		l.spans = append(l.spans, b)
	}
}

func (l *lentSpans) poison() {
	l.Lock()
	defer l.Unlock()
	for _, b := range l.spans {
		invariant.Poison(b)
	}
	l.spans = nil
}

func (s *ranged) span(off, n int64) ([]byte, error) {
	b := alignedBytes(int(n))
	if got, err := s.r.ReadAt(b, off); got < len(b) {
		if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || err == nil {
			return nil, (&CorruptError{File: s.name, Offset: off + int64(got), Reason: "the file ends too early"}).fault()
		}
		return nil, fmt.Errorf("reading [%d] bytes at [%d] of segment file [%s]: %w", n, off, s.name, err)
	}
	s.lent.add(b)
	return b, nil
}

// advise does nothing: a column is read whole, when it is opened.
func (s *ranged) advise(int64, int64) {}

func (s *ranged) close() error {
	s.lent.poison()
	return nil
}
