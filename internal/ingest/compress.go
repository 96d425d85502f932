package ingest

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/fault"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compression is how bytes are packed, told by their first bytes and never by a name.
type compression struct {
	name  string
	magic string
	open  func(io.Reader) (io.ReadCloser, error)
}

var compressions = []compression{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}},
	{"bzip2", "BZh", func(r io.Reader) (io.ReadCloser, error) { return io.NopCloser(bzip2.NewReader(r)), nil }},
}

// magicBytes is how many bytes tell the compression.
const magicBytes = 4

func compressionOf(head []byte) *compression {
	for i := range compressions {
		if bytes.HasPrefix(head, []byte(compressions[i].magic)) {
			return &compressions[i]
		}
	}
	return nil
}

// decompress returns the unpacked bytes of src, which belongs to entity name. Closing the result closes src.
func decompress(src io.ReadCloser, name string) (io.ReadCloser, error) {
	buffered := bufio.NewReaderSize(src, 64<<10)
	head, err := buffered.Peek(magicBytes)
	if err != nil && err != io.EOF {
		return nil, errors.Join(err, src.Close())
	}
	c := compressionOf(head)
	if c == nil {
		return struct {
			io.Reader
			io.Closer
		}{buffered, src}, nil
	}
	unpacked, err := c.open(buffered)
	if err != nil {
		return nil, errors.Join(packedFault(c, name, err), src.Close())
	}
	return &unpacker{ReadCloser: unpacked, src: src, c: c, name: name}, nil
}

// unpacker gives errors of a decompressor the name of the file.
type unpacker struct {
	io.ReadCloser
	src  io.Closer
	c    *compression
	name string
}

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = packedFault(u.c, u.name, err)
	}
	return n, err
}

func (u *unpacker) Close() error { return errors.Join(u.ReadCloser.Close(), u.src.Close()) }

func packedFault(c *compression, name string, err error) error {
	if fault.Find(err) != nil {
		return err // the source's own failure, already named
	}
	if name == "" {
		name = "inline"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault.InvalidInput("Input [%s] is truncated: its %s data ends too early", name, c.name).WithCause(err)
	}
	return fault.InvalidInput("Input [%s] is damaged: its %s data can't be unpacked", name, c.name).WithCause(err)
}
