package segment

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/invariant"
)

// Segment is an open segment file. It implements Reader.
//
// It is born with one reference, the opener's; the file is closed when the last reference is
// released.
type Segment struct {
	name   string // for messages
	size   int64
	info   Info
	foot   *footer
	bytes  store
	mapped bool
	source Source // nil: the file is whole
	byName map[string]int
	refs   atomic.Int64
	// damaged is set when something in the file turned out to be corrupt.
	damaged atomic.Bool

	// version is that of the tail, as it is stored.
	version [4]byte
	columns []columnSlot
}

// columnSlot opens a column when it is first asked for.
type columnSlot struct {
	opening sync.Mutex
	open    atomic.Pointer[fileColumn]
}

// Open maps the segment file at path. The caller releases the segment.
func Open(path string) (*Segment, error) {
	m, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	var s *Segment
	err = Guard(func() error {
		s, err = open(path, int64(len(m.data)), m)
		return err
	})
	if err != nil {
		_ = m.close() // the reason for refusing the file is the better error
		return nil, err
	}
	s.mapped = true
	m.opened(s)
	return s, nil
}

// OpenAt opens a segment file of size bytes that is read by ranges: its ends now, and each column
// whole, once, when it is first asked for. The columns stay in memory until the segment is
// released. Name is for messages.
func OpenAt(r io.ReaderAt, size int64, name string) (*Segment, error) {
	return open(name, size, &ranged{name: name, r: r})
}

func open(name string, size int64, bytes store) (*Segment, error) {
	bad := func(off int64, reason string) error {
		return (&CorruptError{File: name, Offset: off, Reason: reason}).fault()
	}
	if size < headerSize+tailSize {
		return nil, bad(size, "the file is too short to be a segment")
	}
	tailAt := size - tailSize
	tail, err := bytes.span(tailAt, tailSize)
	if err != nil {
		return nil, err
	}
	if string(tail[24:32]) != magic {
		return nil, bad(tailAt, "the end of the file is not the end of a segment; the file is truncated or not a segment")
	}
	if checksum(tail[:20]) != binary.LittleEndian.Uint32(tail[20:]) {
		return nil, bad(tailAt, "the checksum of its tail does not match")
	}
	if v := binary.LittleEndian.Uint32(tail[16:]); v > Version {
		return nil, newerFault(name, "its format version is [%d], and this release reads versions up to [%d]; use a newer release", v, Version)
	} else if v == 0 {
		return nil, bad(tailAt, "its format version is 0")
	}
	footAt, footLen := binary.LittleEndian.Uint64(tail), binary.LittleEndian.Uint32(tail[8:])
	if footLen > maxFooterBytes || footAt < headerSize || footAt > uint64(tailAt) || uint64(tailAt)-footAt < uint64(footLen) {
		return nil, bad(tailAt, "its footer is outside of the file")
	}
	raw, err := bytes.span(int64(footAt), int64(footLen))
	if err != nil {
		return nil, err
	}
	if checksum(raw) != binary.LittleEndian.Uint32(tail[12:]) {
		return nil, bad(int64(footAt), "the checksum of its footer does not match")
	}
	foot, err := parseFooter(raw)
	if err == nil {
		err = foot.check(int64(footAt))
	}
	if err != nil {
		var layout *layoutError
		column := ""
		if errors.As(err, &layout) {
			column = layout.column
		}
		if errors.Is(err, errNewer) || layout != nil && layout.newer {
			return nil, newerFault(name, "%s; use a newer release", err)
		}
		return nil, (&CorruptError{File: name, Column: column, Offset: int64(footAt), Reason: err.Error()}).fault()
	}
	s := &Segment{name: name, size: size, foot: foot, bytes: bytes, byName: make(map[string]int, len(foot.columns)),
		columns: make([]columnSlot, len(foot.columns))}
	s.refs.Store(1)
	copy(s.version[:], tail[16:])
	s.info = foot.info(size, int(binary.LittleEndian.Uint32(tail[16:])))
	s.info.Fingerprint = fingerprintOf(raw)
	for i, c := range foot.columns {
		s.byName[c.key()] = i
	}
	return s, nil
}

// checkHeader is not part of opening: the header says nothing that the tail does not, and lies at
// the other end of the file, so that the disk would be asked twice. It is looked at with the first
// column, which lies behind it.
func (s *Segment) checkHeader() error {
	header, err := s.bytes.span(0, headerSize)
	if err != nil {
		return err
	}
	if string(header[:8]) != magic || string(header[8:12]) != string(s.version[:]) || string(header[12:16]) != "\x00\x00\x00\x00" {
		s.damaged.Store(true)
		if s.source != nil {
			s.source.Spoiled(0, headerSize)
		}
		return (&CorruptError{File: s.name, Reason: "its header does not fit its tail"}).fault()
	}
	return nil
}

func (f *footer) info(size int64, version int) Info {
	out := Info{Version: version, Rows: f.rows, Size: size, HasTimes: f.hasTimes, MinTime: f.minTime, MaxTime: f.maxTime,
		SortOrder: f.sortOrder, Rollup: f.rollup, QueryGranularity: f.granularity, Metadata: f.metadata,
		Columns: make([]ColumnInfo, 0, len(f.columns))}
	for _, c := range f.columns {
		if c.Path == "" {
			out.Columns = append(out.Columns, c.ColumnInfo)
		}
	}
	return out
}

// Info describes the segment.
func (s *Segment) Info() *Info { return &s.info }

// Damaged reports whether something that was read of the file turned out to be corrupt.
func (s *Segment) Damaged() bool { return s.damaged.Load() }

// Name returns the path of the file, or what OpenAt was told.
func (s *Segment) Name() string { return s.name }

// Acquire takes a reference; false: the segment is closed.
func (s *Segment) Acquire() bool {
	for {
		n := s.refs.Load()
		if n <= 0 {
			return false
		}
		if s.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives a reference back. With the last one the file is closed, and every vector read from
// it becomes invalid.
func (s *Segment) Release() {
	n := s.refs.Add(-1)
	invariant.Check(n >= 0, "segment [%s] was released more often than acquired", s.name)
	if n == 0 {
		for i := range s.columns {
			for c := s.columns[i].open.Load(); c != nil; c = c.element {
				decoded.forget(c)
			}
		}
		_ = s.bytes.close() // unmapping memory that was mapped does not fail, and there is nobody to tell
	}
}

// Column returns the column called name, which may be a path's, or nil if the segment has none.
func (s *Segment) Column(name string) (Column, error) {
	i, ok := s.byName[name]
	if !ok {
		return nil, nil
	}
	c, err := s.column(i)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// adviseBytes is how much of a column is asked for ahead. Reading on from there, the system sees
// the order by itself; and a query that leaves out most rows should not wait behind columns that it
// reads little of.
const adviseBytes = 4 << 20

// Advise implements Reader.
func (s *Segment) Advise(columns []string) {
	if s.source != nil {
		return // Fetch has brought them
	}
	for _, name := range columns {
		i, ok := s.columnNumber(name)
		if !ok || s.columns[i].open.Load() != nil {
			continue
		}
		if m := s.foot.columns[i]; m.length > 0 {
			s.bytes.advise(m.off, min(m.length, adviseBytes))
		}
	}
}

func (s *Segment) column(i int) (*fileColumn, error) {
	slot := &s.columns[i]
	if c := slot.open.Load(); c != nil {
		return c, nil
	}
	slot.opening.Lock()
	defer slot.opening.Unlock()
	if c := slot.open.Load(); c != nil {
		return c, nil
	}
	var c *fileColumn
	err := s.guard(func() (err error) {
		if i == 0 {
			if err := s.checkHeader(); err != nil {
				return err
			}
		}
		c, err = s.openColumn(s.foot.columns[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	slot.open.Store(c)
	return c, nil
}

func (s *Segment) guard(f func() error) error {
	if !s.mapped {
		return f()
	}
	return Guard(f)
}

// columnAt names the column that holds byte off of the file.
func (s *Segment) columnAt(off int64) string {
	for _, c := range s.foot.columns {
		if off >= c.off && off < c.off+c.length {
			return c.label()
		}
	}
	return ""
}

// Verify reads the whole file and checks every checksum and every value. It is for a file that has
// just arrived, and for the background scrub; it says the same as touching every row would.
func (s *Segment) Verify() error {
	if err := s.guard(s.checkHeader); err != nil {
		return err
	}
	for i := range s.columns {
		c, err := s.column(i)
		if err != nil {
			return err
		}
		if err := s.guard(c.verify); err != nil {
			return err
		}
	}
	return nil
}

// String names the segment and its size, for logs.
func (s *Segment) String() string {
	return s.name + " (" + strconv.Itoa(s.info.Rows) + " rows)"
}
