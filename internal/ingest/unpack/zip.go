package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// openZip unpacks the first file of a zip archive, as Druid does. It reads the headers of entries
// (APPNOTE 6.3.10, section 4.3.7) and not the directory at the end, so that archives can be
// streamed. See quirk Q013.
func openZip(r *bufio.Reader, of *expansion) (io.ReadCloser, error) {
	for {
		e, err := readZipEntry(r)
		if err != nil {
			return nil, err
		}
		if !e.folder {
			e.of = of
			return e, nil
		}
		if err := of.skip(e); err != nil {
			return nil, err
		}
	}
}

const (
	zipEncrypted  = 1 << 0
	zipDescriptor = 1 << 3 // sizes and checksum follow the data

	zipStored    = 0
	zipDeflated  = 8
	zipBzip2     = 12
	zipLZMA      = 14
	zipZstd      = 93
	zipZstdOlder = 20
	zipXZ        = 95

	zipFile       = "PK\x03\x04"
	zipAfterwards = "PK\x07\x08"
)

// zipEntry is the data of one entry, which is checked against its sizes and its checksum.
type zipEntry struct {
	io.Reader
	src    *bufio.Reader
	name   string
	folder bool
	flags  int
	sum    hash.Hash32
	n      uint64 // bytes read
	// want and size are what the header says; with zipDescriptor they follow the data.
	want  uint32
	size  uint64
	ended error

	// told is told the names of the files behind this one, when it is read to its end; nil: nobody
	// asks.
	told func(names []string, more int)
	// of bounds what is unpacked of the files that are left out.
	of *expansion
}

func readZipEntry(r *bufio.Reader) (*zipEntry, error) {
	var head [30]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if string(head[:4]) != zipFile {
		return nil, errors.New("the archive has no file")
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(head[at:])) }
	name, extra := make([]byte, u16(26)), make([]byte, u16(28))
	if _, err := io.ReadFull(r, name); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, extra); err != nil {
		return nil, err
	}
	e := &zipEntry{src: r, name: string(name), folder: bytes.HasSuffix(name, []byte("/")), flags: u16(6), sum: crc32.NewIEEE(),
		want: binary.LittleEndian.Uint32(head[14:])}
	var packed uint64
	packed, e.size = zipSizes(head[:], extra)
	err := e.open(u16(8), packed)
	return e, err
}

// open finds out how the data of an entry are unpacked.
func (e *zipEntry) open(method int, packed uint64) (err error) {
	if e.flags&zipEncrypted != 0 {
		return unsupportedPacking("an encrypted entry of a zip archive")
	}
	follows := e.flags&zipDescriptor != 0
	switch {
	case method == zipDeflated:
		e.Reader = flate.NewReader(e.src)
		return nil
	case method == zipStored && follows && packed == 0:
		e.Reader = &zipStoredUntil{src: e.src, sum: crc32.NewIEEE()}
		return nil
	case follows && packed == 0 && method != zipStored:
		return unsupportedPacking("method " + strconv.Itoa(method) + " of zip archives with sizes behind the data")
	}
	data := bufio.NewReader(io.LimitReader(e.src, int64(packed&^(1<<63))))
	switch method {
	case zipStored:
		e.Reader = data
	case zipBzip2:
		e.Reader = bzip2.NewReader(data)
	case zipLZMA:
		e.Reader, err = openZipLZMA(data, e.size)
	case zipZstd, zipZstdOlder:
		var d *zstd.Decoder
		if d, err = zstd.NewReader(data, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(zstdWindow)); err == nil {
			e.Reader = d.IOReadCloser()
		}
	case zipXZ:
		e.Reader, err = xz.NewReader(data)
	default:
		return unsupportedPacking("method " + strconv.Itoa(method) + " of zip archives")
	}
	return err
}

// openZipLZMA unpacks data with the header of APPNOTE 5.8.8: a version, the size of the properties,
// the properties.
func openZipLZMA(r *bufio.Reader, size uint64) (io.Reader, error) {
	var head [4 + 5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint16(head[2:]) != 5 {
		return nil, errors.New("its properties of LZMA are not known")
	}
	if binary.LittleEndian.Uint32(head[5:]) > zstdWindow {
		return nil, errors.New("the dictionary is too large")
	}
	return lzma.NewReader(io.MultiReader(bytes.NewReader(binary.LittleEndian.AppendUint64(bytes.Clone(head[4:]), size)), r))
}

// zipSizes are the sizes of the data, packed and not, which for large entries lie in the extra
// field 1.
func zipSizes(head, extra []byte) (packed, size uint64) {
	packed, size = uint64(binary.LittleEndian.Uint32(head[18:])), uint64(binary.LittleEndian.Uint32(head[22:]))
	if packed != 1<<32-1 && size != 1<<32-1 {
		return packed, size
	}
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			break
		}
		if id == 1 && n >= 16 {
			return binary.LittleEndian.Uint64(extra[8:]), binary.LittleEndian.Uint64(extra)
		}
		extra = extra[n:]
	}
	return packed, size
}

// Read reads decompressed data.
func (e *zipEntry) Read(p []byte) (int, error) {
	if e.ended != nil {
		return 0, e.ended
	}
	n, err := e.Reader.Read(p)
	e.sum.Write(p[:n])
	e.n += uint64(n)
	if errors.Is(err, io.EOF) {
		if problem := e.finish(); problem != nil {
			err = problem
		}
		e.ended = err
	}
	return n, err
}

// finish checks an entry that was read to its end.
func (e *zipEntry) finish() error {
	if _, scanned := e.Reader.(*zipStoredUntil); !scanned { // which did it
		if e.flags&zipDescriptor != 0 {
			if err := e.descriptor(); err != nil {
				return err
			}
		}
		switch {
		case e.n < e.size:
			return io.ErrUnexpectedEOF
		case e.n != e.size:
			return errors.New("an entry is longer than it says")
		case e.sum.Sum32() != e.want:
			return errors.New("the checksum is wrong")
		}
	}
	if e.told != nil {
		e.rest()
	}
	return nil
}

// descriptor reads what follows the data: a signature perhaps, the checksum and both sizes, of 4 or
// of 8 bytes.
func (e *zipEntry) descriptor() error {
	if head, err := e.src.Peek(4); err == nil && string(head) == zipAfterwards {
		if _, err := e.src.Discard(4); err != nil {
			return err
		}
	}
	var d [12]byte
	if _, err := io.ReadFull(e.src, d[:]); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	e.want, e.size = binary.LittleEndian.Uint32(d[:]), uint64(binary.LittleEndian.Uint32(d[8:]))
	if next, err := e.src.Peek(8); err == nil && string(next[:2]) != "PK" { // sizes of 8 bytes: what was read of the second belongs to the first
		if _, err := e.src.Discard(8); err != nil {
			return err
		}
		e.size = binary.LittleEndian.Uint64(next)
	}
	return nil
}

// maxLeftOut is how many names of files that were left out are told.
const maxLeftOut = 5

// rest finds the files behind the first. What is wrong with them does not matter: they are not
// read.
func (e *zipEntry) rest() {
	var names []string
	more := 0
	for {
		next, err := readZipEntry(e.src)
		if next == nil {
			break
		}
		switch {
		case next.folder:
		case len(names) < maxLeftOut:
			names = append(names, next.name)
		default:
			more++
		}
		if err != nil {
			break
		}
		if err := e.of.skip(next); err != nil {
			break
		}
	}
	if len(names) > 0 {
		e.told(names, more)
	}
}

// Close implements io.Closer.
func (*zipEntry) Close() error { return nil }

// leftOut is what is said of files of an archive that were left out.
func leftOut(names []string, more int) string {
	text := fmt.Sprintf("only the first file of the zip archive was read; [%s]", strings.Join(names, ", "))
	if more > 0 {
		text += fmt.Sprintf(" and [%d] others", more)
	}
	return text + " were skipped"
}

// zipStoredUntil is data that is stored as it is, with its sizes behind it: the end is where a
// descriptor fits what was read.
type zipStoredUntil struct {
	src *bufio.Reader
	sum hash.Hash32
	n   uint64
}

// Read reads up to the data descriptor.
func (z *zipStoredUntil) Read(p []byte) (int, error) {
	const descriptor = 4 + 4 + 8 + 8
	window, err := z.src.Peek(4 << 10)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, err
	case len(window) == 0:
		return 0, io.ErrUnexpectedEOF
	}
	at := bytes.Index(window, []byte(zipAfterwards))
	switch {
	case at == 0:
		if size := z.fits(window); size > 0 {
			if _, err := z.src.Discard(size); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		at = 1
	case at < 0 && len(window) > descriptor:
		at = len(window) - descriptor
	case at < 0: // the file ends without one
		at = len(window)
	}
	n := copy(p, window[:at])
	z.sum.Write(p[:n])
	z.n += uint64(n)
	_, err = z.src.Discard(n)
	return n, err
}

// fits returns the length of the descriptor at the head of text if it is that of the data before
// it, else 0.
func (z *zipStoredUntil) fits(text []byte) int {
	if len(text) < 16 || binary.LittleEndian.Uint32(text[4:]) != z.sum.Sum32() {
		return 0
	}
	if len(text) >= 24 && binary.LittleEndian.Uint64(text[8:]) == z.n && binary.LittleEndian.Uint64(text[16:]) == z.n {
		return 24
	}
	if binary.LittleEndian.Uint32(text[8:]) == uint32(z.n) && binary.LittleEndian.Uint32(text[12:]) == uint32(z.n) {
		return 16
	}
	return 0
}
