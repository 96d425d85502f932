package segment

import (
	"context"
	"encoding/binary"
	"errors"
)

// scrubBytes is how much of a file is verified between two calls of a Scrub's pace.
const scrubBytes = 1 << 20

// Has is a Source that knows which bytes of the file are local.
type Has interface {
	// Has reports whether all bytes off to off+n are local.
	Has(off, n int64) bool
}

// Scrub verifies the bytes of a mapped file against its checksums, even if they were verified
// before, and marks the segment as damaged if they do not match. Missing bytes of a partially local
// file are skipped. Scrub calls pace with the number of verified bytes; pace may wait, and its
// error ends the scrub.
func (s *Segment) Scrub(ctx context.Context, pace func(ctx context.Context, n int) error) error {
	m, ok := s.bytes.(*mapping)
	if !ok {
		return nil
	}
	if err := s.guard(func() error { return s.recheckEnds(m) }); err != nil {
		return err
	}
	for _, c := range s.foot.columns {
		if err := s.recheck(ctx, m, c, pace); err != nil {
			return err
		}
	}
	return nil
}

// Recheck is Scrub for some columns of a segment, without a pace. Segments that are not mapped
// files are not checked. Unknown names are ignored.
func Recheck(ctx context.Context, r Reader, columns []string) error {
	s, ok := r.(*Segment)
	if !ok {
		return nil
	}
	m, ok := s.bytes.(*mapping)
	if !ok {
		return nil
	}
	free := func(ctx context.Context, _ int) error { return ctx.Err() }
	for _, name := range columns {
		for i, c := range s.foot.columns {
			if c.Name != name && c.key() != name {
				continue
			}
			if err := s.recheck(ctx, m, s.foot.columns[i], free); err != nil {
				return err
			}
		}
	}
	return nil
}

// recheckEnds verifies what is read when a file is opened.
func (s *Segment) recheckEnds(m *mapping) error {
	tailAt := s.size - tailSize
	tail := m.data[tailAt:]
	footAt, footLen := int64(binary.LittleEndian.Uint64(tail)), int64(binary.LittleEndian.Uint32(tail[8:]))
	switch {
	case string(tail[24:32]) != magic || checksum(tail[:20]) != binary.LittleEndian.Uint32(tail[20:]):
		return s.spoiled(0, s.size, (&CorruptError{File: s.name, Offset: tailAt, Reason: "the checksum of its tail does not match any more"}).fault())
	case footAt < headerSize || footAt+footLen > tailAt || fingerprintOf(m.data[footAt:footAt+footLen]) != s.info.Fingerprint:
		return s.spoiled(0, s.size, (&CorruptError{File: s.name, Offset: footAt, Reason: "its footer is not what it was"}).fault())
	}
	if has, ok := s.source.(Has); s.source == nil || ok && has.Has(0, headerSize) {
		return s.checkHeader()
	}
	return nil
}

// recheck verifies the range of a column of the footer.
func (s *Segment) recheck(ctx context.Context, m *mapping, top *columnMeta, pace func(context.Context, int) error) error {
	if has, ok := s.source.(Has); top.length == 0 || s.source != nil && (!ok || !has.Has(top.off, top.length)) {
		return nil
	}
	done := 0
	for c := top; c != nil; c = c.element {
		for _, p := range c.parts {
			for at, sum := int64(0), p.firstSum; at < p.length; sum++ {
				if p.kind.String() == "unknown" {
					break
				}
				end := min(at+1<<s.foot.chunkLog2, p.length)
				from := top.off + p.off
				err := s.guard(func() error {
					if checksum(m.data[from+at:from+end]) == s.foot.checksums[sum] {
						return nil
					}
					return (&CorruptError{File: s.name, Column: top.label(), Offset: from + at,
						Reason: "a checksum of its " + p.kind.String() + " does not match any more"}).fault()
				})
				if err != nil {
					return s.spoiled(top.off, top.length, err)
				}
				done += int(end - at)
				at = end
				if done >= scrubBytes {
					if err := pace(ctx, done); err != nil {
						return err
					}
					done = 0
				}
			}
		}
	}
	return pace(ctx, done)
}

// spoiled notes that bytes of the file are not what they were, if err says so, and returns it.
func (s *Segment) spoiled(off, n int64, err error) error {
	if errors.Is(err, ErrCorrupt) {
		s.damaged.Store(true)
		if s.source != nil {
			s.source.Spoiled(off, n)
		}
	}
	return err
}
