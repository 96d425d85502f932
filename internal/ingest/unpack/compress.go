package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// compression is how bytes are packed, told by their first bytes and never by a name.
type compression struct {
	name  string
	magic string
	open  func(*bufio.Reader, *expansion) (io.ReadCloser, error)
}

var compressions = []compression{
	{"gzip", "\x1f\x8b", func(r *bufio.Reader, _ *expansion) (io.ReadCloser, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r *bufio.Reader, _ *expansion) (io.ReadCloser, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}},
	{"bzip2", "BZh", func(r *bufio.Reader, _ *expansion) (io.ReadCloser, error) {
		return io.NopCloser(bzip2.NewReader(r)), nil
	}},
	{"xz", "\xfd7zXZ\x00", openXZ},
	{"lz4", "\x04\x22\x4d\x18", func(r *bufio.Reader, _ *expansion) (io.ReadCloser, error) { return io.NopCloser(lz4.NewReader(r)), nil }},
	{"lz4", "\x02\x21\x4c\x18", func(r *bufio.Reader, _ *expansion) (io.ReadCloser, error) { return io.NopCloser(lz4.NewReader(r)), nil }}, // lz4 -l
	{"snappy", "\xff\x06\x00\x00sNaPpY", func(r *bufio.Reader, _ *expansion) (io.ReadCloser, error) {
		return io.NopCloser(snappy.NewReader(r)), nil
	}},
	{"zip", zipFile, openZip},
	// Those that are known and not read, so that they are not taken for text.
	{"7z", "7z\xbc\xaf\x27\x1c", notRead("a 7z archive")},
	{"rar", "Rar!\x1a\x07", notRead("a rar archive")},
	{"compress", "\x1f\x9d", notRead("a file of compress (.Z)")},
	{"lzip", "LZIP\x01", notRead("a file of lzip")},
	{"lzop", "\x89LZO\x00\r\n\x1a\n", notRead("a file of lzop")},
	{"zip", "PK\x05\x06", notRead("a zip archive without files")},
}

// unsupportedPacking is the way in which bytes are packed that can't be unpacked.
type unsupportedPacking string

// Error returns the message.
func (u unsupportedPacking) Error() string { return string(u) + " is not supported" }

func notRead(what string) func(*bufio.Reader, *expansion) (io.ReadCloser, error) {
	return func(*bufio.Reader, *expansion) (io.ReadCloser, error) { return nil, unsupportedPacking(what) }
}

const (
	// bombBytes tells a decompression bomb, with the ratio that the caller gives: so much unpacked
	// data.
	bombBytes = 256 << 20

	// zstdWindow bounds the window a zstd frame, or the dictionary an xz block, may ask for.
	zstdWindow = 128 << 20
)

// MagicBytes is the number of bytes needed to detect the compression.
const MagicBytes = 10

// openXZ refuses a dictionary that would take more memory than a window of zstd may: the size is in
// the header of the first block, behind 12 bytes of the stream's (The .xz File Format 1.1.0,
// sections 2.1.1, 3.1 and 5.3.1). Blocks of one stream have the same.
func openXZ(r *bufio.Reader, _ *expansion) (io.ReadCloser, error) {
	head, err := r.Peek(12 + 32)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if i := bytes.Index(head[min(12, len(head)):], []byte{0x21, 0x01}); i >= 0 && 12+i+2 < len(head) {
		if bits := uint(head[12+i+2]); bits > 40 || (2|bits&1)<<(bits/2+11) > zstdWindow {
			return nil, errors.New("the dictionary is too large")
		}
	}
	tail := &xzTail{src: r}
	if tail.out, err = xz.NewReader(tail); err != nil {
		return nil, err
	}
	return io.NopCloser(readerFunc(tail.read)), nil
}

// XZ returns a reader that decompresses xz data.
func XZ(r io.Reader) (io.Reader, error) { return openXZ(bufio.NewReader(r), nil) }

// xzTail sees to it that xz data end with the footer of a stream (section 2.1.2). The decoder takes
// data that end between blocks, or within the header of one, for whole.
type xzTail struct {
	src  io.Reader
	out  io.Reader
	n    int64
	last []byte // the end of what was read, without padding
}

const xzFooter = "YZ"

// Read reads input for the decoder.
func (t *xzTail) Read(p []byte) (int, error) {
	n, err := t.src.Read(p)
	t.n += int64(n)
	if data := bytes.TrimRight(p[:n], "\x00"); len(data) > 0 {
		t.last = append(t.last, data[max(0, len(data)-len(xzFooter)):]...)
		t.last = t.last[max(0, len(t.last)-len(xzFooter)):]
	}
	return n, err
}

// read returns unpacked data.
func (t *xzTail) read(p []byte) (int, error) {
	n, err := t.out.Read(p)
	if errors.Is(err, io.EOF) && (string(t.last) != xzFooter || t.n%4 != 0) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readerFunc is an io.Reader that is a function.
type readerFunc func(p []byte) (int, error)

// Read calls f.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func Of(head []byte) *compression {
	for i := range compressions {
		if bytes.HasPrefix(head, []byte(compressions[i].magic)) {
			return &compressions[i]
		}
	}
	return nil
}

// Open returns a reader that decompresses src, the content of entity name. Closing the reader
// closes src. Reading fails if the decompressed data exceed times the size of the compressed data.
// told, if not nil, is called with the parts of the entity that are skipped.
func Open(src io.ReadCloser, name string, times int64, told func(what string)) (io.ReadCloser, error) {
	packed := &counted{ReadCloser: src}
	buffered := bufio.NewReaderSize(packed, 64<<10)
	head, err := buffered.Peek(MagicBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(err, src.Close())
	}
	c := Of(head)
	if c == nil {
		return struct {
			io.Reader
			io.Closer
		}{buffered, src}, nil
	}
	e := &expansion{packed: packed, most: times, name: name}
	unpacked, err := c.open(buffered, e)
	if err != nil {
		return nil, errors.Join(packedFault(c, name, err), src.Close())
	}
	if z, ok := unpacked.(*zipEntry); ok && told != nil {
		z.told = func(names []string, more int) { told(leftOut(names, more)) }
	}
	return &Unpacker{ReadCloser: unpacked, src: packed, c: c, name: name, e: e}, nil
}

// Unpacker adds the name of the file to the errors of a decompressor.
type Unpacker struct {
	io.ReadCloser
	src  *counted
	c    *compression
	name string
	e    *expansion
}

// PackedBytes returns the number of compressed bytes read.
func (u *Unpacker) PackedBytes() int64 { return u.src.n }

// expansion refuses data that unpack to more than any data do.
type expansion struct {
	packed   *counted
	unpacked int64
	most     int64
	name     string
}

// add counts unpacked bytes.
func (e *expansion) add(n int) error {
	if e.unpacked += int64(n); e.unpacked > bombBytes && e.unpacked/e.most > e.packed.n {
		return fault.InvalidInput("Input [%s] decompresses to more than [%d] times its size, the limit of service.ingestion.maxExpansion",
			record.ShownName(e.name), e.most)
	}
	return nil
}

// skip reads to the end of what is left out.
func (e *expansion) skip(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if refused := e.add(n); refused != nil {
			return refused
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// counted counts the bytes read.
type counted struct {
	io.ReadCloser
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	return n, err
}

func (u *Unpacker) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if refused := u.e.add(n); refused != nil {
		return n, refused
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = packedFault(u.c, u.name, err)
	}
	return n, err
}

func (u *Unpacker) Close() error { return errors.Join(u.ReadCloser.Close(), u.src.Close()) }

func packedFault(c *compression, name string, err error) error {
	if fault.Find(err) != nil {
		return err // the source's own failure, already named
	}
	name = record.ShownName(name)
	if not, ok := errors.AsType[unsupportedPacking](err); ok {
		return fault.InvalidInput("Input [%s] can't be decompressed: %s", name, not).WithCause(err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fault.InvalidInput("Input [%s] is truncated: its %s data ends too early", name, c.name).WithCause(err)
	}
	return fault.InvalidInput("Input [%s] is damaged: its %s data can't be decompressed", name, c.name).WithCause(err)
}
