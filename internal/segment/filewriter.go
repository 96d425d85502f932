package segment

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/hengedb/henge/internal/fault"
)

// fileWriter writes a file from its first byte to its last: header, columns, footer, tail.
type fileWriter struct {
	w    *bufio.Writer
	name string // for messages
	off  int64
	sums []uint32

	fingerprint string // of the file, once it is finished
}

func newFileWriter(w io.Writer, name string) (*fileWriter, error) {
	f := &fileWriter{w: bufio.NewWriterSize(w, 256<<10), name: name}
	var header [headerSize]byte
	copy(header[:], magic)
	binary.LittleEndian.PutUint32(header[8:], Version)
	return f, f.write(header[:])
}

func (f *fileWriter) write(b []byte) error {
	n, err := f.w.Write(b)
	f.off += int64(n)
	return f.failed(err)
}

func (f *fileWriter) failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return fault.Runtime("Disk is full: segment file [%s] can't be written", f.name).WithCause(err)
	}
	return fmt.Errorf("writing segment file [%s]: %w", f.name, err)
}

var zeros [columnAlign]byte

func (f *fileWriter) align(to int64) error {
	if gap := f.off % to; gap != 0 {
		return f.write(zeros[:to-gap])
	}
	return nil
}

// finish writes the footer and the tail.
func (f *fileWriter) finish(foot *footer) error {
	if err := f.align(partAlign); err != nil {
		return err
	}
	foot.checksums = f.sums
	foot.chunkLog2 = chunkLog2
	body := foot.encode()
	if len(body) > maxFooterBytes {
		return fault.ResourceLimit("Segment has so many columns that its footer takes [%d] bytes; the limit is [%d]", len(body), maxFooterBytes)
	}
	f.fingerprint = fingerprintOf(body)
	tail := make([]byte, 0, tailSize)
	tail = binary.LittleEndian.AppendUint64(tail, uint64(f.off))
	tail = binary.LittleEndian.AppendUint32(tail, uint32(len(body)))
	tail = binary.LittleEndian.AppendUint32(tail, checksum(body))
	tail = binary.LittleEndian.AppendUint32(tail, Version)
	tail = binary.LittleEndian.AppendUint32(tail, checksum(tail))
	tail = append(tail, magic...)
	if err := f.write(body); err != nil {
		return err
	}
	if err := f.write(tail); err != nil {
		return err
	}
	return f.failed(f.w.Flush())
}

// beginColumn starts the range of a column.
func (f *fileWriter) beginColumn(c *columnMeta) error {
	if err := f.align(columnAlign); err != nil {
		return err
	}
	c.off = f.off
	return nil
}

// partWriter writes one part of a column. One is open at a time.
type partWriter struct {
	f    *fileWriter
	meta *columnMeta
	part part
	sum  uint32
	room int // bytes left in the chunk
}

// beginPart starts a part of c, whose range began at byte start of the file.
func (f *fileWriter) beginPart(c *columnMeta, start int64, kind partKind) (*partWriter, error) {
	if err := f.align(partAlign); err != nil {
		return nil, err
	}
	return &partWriter{f: f, meta: c, part: part{kind: kind, off: f.off - start, firstSum: len(f.sums)}, room: 1 << chunkLog2}, nil
}

func (p *partWriter) write(b []byte) error {
	p.part.length += int64(len(b))
	for len(b) > 0 {
		n := min(len(b), p.room)
		p.sum = updateChecksum(p.sum, b[:n])
		if err := p.f.write(b[:n]); err != nil {
			return err
		}
		if p.room -= n; p.room == 0 {
			p.f.sums = append(p.f.sums, p.sum)
			p.sum, p.room = 0, 1<<chunkLog2
		}
		b = b[n:]
	}
	return nil
}

// Write lets whoever needs an io.Writer write the part.
func (p *partWriter) Write(b []byte) (int, error) {
	if err := p.write(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// end closes the part. A part without bytes leaves no trace.
func (p *partWriter) end() {
	if p.part.length == 0 {
		return
	}
	if p.room < 1<<chunkLog2 {
		p.f.sums = append(p.f.sums, p.sum)
	}
	p.meta.parts = append(p.meta.parts, p.part)
}
