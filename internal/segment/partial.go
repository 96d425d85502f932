package segment

import (
	"context"
	"errors"
	"io/fs"
)

// Source fetches bytes of a partially local file.
type Source interface {
	// Fill makes bytes off to off+n of the file available.
	Fill(ctx context.Context, off, n int64) error
	// Read reads bytes of a file that was removed locally: Fill failed with fs.ErrNotExist.
	Read(p []byte, off int64) error
	// Spoiled marks these bytes as damaged: the next Fill fetches them again.
	Spoiled(off, n int64)
}

// partTail is how much of the end of a file is asked for when it is opened: most footers whole.
const partTail = 32 << 10

// OpenPartial maps a segment file of full size that has holes for missing bytes. A source fills
// them in: the end of the file now, and each column when it is first requested, or earlier by
// Fetch. Columns are verified by their checksums when they arrive.
func OpenPartial(ctx context.Context, path string, source Source) (*Segment, error) {
	m, err := mapFile(path)
	if err != nil {
		return nil, err
	}
	m.source = source
	size := int64(len(m.data))
	err = source.Fill(ctx, max(0, size-partTail), min(size, partTail))
	var s *Segment
	if err == nil {
		err = Guard(func() error {
			s, err = open(path, size, m)
			return err
		})
	}
	if err != nil {
		if errors.Is(err, ErrCorrupt) {
			source.Spoiled(0, size)
		}
		_ = m.close() // the reason for refusing the file is the better error
		return nil, err
	}
	s.mapped, s.source = true, source
	m.opened(s)
	return s, nil
}

// InPart reports whether only a part of a segment is local, so that Fetch has an effect.
func InPart(r Reader) bool {
	s, ok := r.(*Segment)
	return ok && s.source != nil
}

// Fetch makes columns of a partially local segment available; for other segments it does nothing.
// Unknown names are ignored. Without Fetch, the first read of a column waits.
func Fetch(ctx context.Context, r Reader, columns []string) error {
	s, ok := r.(*Segment)
	if !ok || s.source == nil {
		return nil
	}
	for again := true; ; again = false {
		err := s.fetch(ctx, columns)
		if err == nil || !again || !errors.Is(err, ErrCorrupt) {
			return err
		}
	}
}

// fetch fills in the ranges of columns, those that touch each other at once, and opens them.
func (s *Segment) fetch(ctx context.Context, columns []string) error {
	wanted := make([]bool, len(s.columns))
	for _, name := range columns {
		if i, ok := s.columnNumber(name); ok {
			wanted[i] = s.columns[i].open.Load() == nil
		}
	}
	for i := 0; i < len(wanted); i++ {
		if !wanted[i] || s.foot.columns[i].length == 0 {
			continue
		}
		from, last := s.foot.columns[i].off, i
		if i == 0 {
			from = 0 // with the header
		}
		for last+1 < len(wanted) && wanted[last+1] {
			last++
		}
		err := s.source.Fill(ctx, from, s.foot.columns[last].off+s.foot.columns[last].length-from)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else the column is read to where there is room
			return err
		}
		i = last
	}
	for i := range wanted {
		if wanted[i] {
			if _, err := s.column(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// arrived checks a column's bytes b as they came from the source.
func (s *Segment) arrived(top *columnMeta, b []byte) error {
	if s.source == nil {
		return nil
	}
	for c := top; c != nil; c = c.element {
		for _, p := range c.parts {
			if p.kind.String() == "unknown" {
				continue
			}
			for at, sum := int64(0), p.firstSum; at < p.length; sum++ {
				end := min(at+1<<s.foot.chunkLog2, p.length)
				if checksum(b[p.off+at:p.off+end]) != s.foot.checksums[sum] {
					s.source.Spoiled(top.off, top.length)
					return (&CorruptError{File: s.name, Column: top.label(), Offset: top.off + p.off + at,
						Reason: "a checksum of its " + p.kind.String() + " does not match as it came from deep storage"}).fault()
				}
				at = end
			}
		}
	}
	return nil
}
