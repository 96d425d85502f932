package ingest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// openZip unpacks the first entry of a zip archive, as the reference does. It reads the entry's own header (APPNOTE 6.3.10, section 4.3.7) and
// not the directory at the end, so that archives can be streamed.
func openZip(r *bufio.Reader) (io.ReadCloser, error) {
	for {
		e, err := readZipEntry(r)
		if err != nil {
			return nil, err
		}
		if !e.folder {
			return e, nil
		}
		if _, err := io.Copy(io.Discard, e); err != nil {
			return nil, err
		}
	}
}

const (
	zipEncrypted  = 1 << 0
	zipDescriptor = 1 << 3 // sizes and checksum follow the data
	zipStored     = 0
	zipDeflated   = 8
)

// zipEntry is the data of one entry; it checks the checksum where the header has it.
type zipEntry struct {
	io.Reader
	folder bool
	want   uint32
	check  bool
	sum    hash.Hash32
}

func readZipEntry(r *bufio.Reader) (*zipEntry, error) {
	var head [30]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if string(head[:4]) != "PK\x03\x04" {
		return nil, errors.New("the archive has no file")
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(head[at:])) }
	flags, method := u16(6), u16(8)
	name, extra := make([]byte, u16(26)), make([]byte, u16(28))
	if _, err := io.ReadFull(r, name); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, extra); err != nil {
		return nil, err
	}
	e := &zipEntry{folder: len(name) > 0 && name[len(name)-1] == '/', want: binary.LittleEndian.Uint32(head[14:]),
		check: flags&zipDescriptor == 0, sum: crc32.NewIEEE()}
	switch {
	case flags&zipEncrypted != 0:
		return nil, errors.New("the archive is encrypted")
	case method == zipDeflated:
		e.Reader = flate.NewReader(r)
	case method == zipStored && flags&zipDescriptor == 0:
		e.Reader = io.LimitReader(r, zipSize(head[:], extra))
	default:
		return nil, errors.New("the archive uses a method other than deflate")
	}
	return e, nil
}

// zipSize is the size of the packed data, which for large entries lies in the extra field 1.
func zipSize(head, extra []byte) int64 {
	size := binary.LittleEndian.Uint32(head[18:])
	if size != 1<<32-1 {
		return int64(size)
	}
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			break
		}
		if id == 1 && n >= 16 {
			return int64(binary.LittleEndian.Uint64(extra[8:]) &^ (1 << 63))
		}
		extra = extra[n:]
	}
	return int64(size)
}

func (e *zipEntry) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	e.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && e.check && e.sum.Sum32() != e.want {
		err = errors.New("the checksum is wrong")
	}
	return n, err
}

func (*zipEntry) Close() error { return nil }
