package push

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A file is the magic, and frames behind it: the length of the payload and its CRC-32C in four
// bytes each, little-endian, and the payload. The first frame is a snapshot, others are entries.
const (
	magic      = "HENGEPL1"
	frameHead  = 8
	maxPayload = 128 << 20
	// MaxLines limits the size of the lines of an entry, so that its frame can be read.
	MaxLines = maxPayload - 4<<10
)

// The kinds of payloads: their first byte.
const (
	kindSnapshot = 1
	kindEntry    = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTorn marks a frame that is not whole, or not what was written.
var errTorn = errors.New("a frame is not whole")

// appendFrame appends a frame; write appends its payload.
func appendFrame(dst []byte, write func(dst []byte) []byte) []byte {
	at := len(dst)
	dst = write(append(dst, make([]byte, frameHead)...))
	payload := dst[at+frameHead:]
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(dst[at+4:], crc32.Checksum(payload, castagnoli))
	return dst
}

// readFrame returns the next payload; io.EOF: there is none, errTorn: what is there is no frame.
func readFrame(r io.Reader) ([]byte, error) {
	var head [frameHead]byte
	switch _, err := io.ReadFull(r, head[:]); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errTorn
	case err != nil:
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > maxPayload {
		return nil, errTorn
	}
	payload := make([]byte, n)
	switch _, err := io.ReadFull(r, payload); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return nil, errTorn
	case err != nil:
		return nil, err
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errTorn
	}
	return payload, nil
}

// appendEntry appends the payload of an entry.
func appendEntry(dst []byte, e *Entry) []byte {
	dst = binary.AppendVarint(append(dst, kindEntry), e.Position)
	dst = binary.AppendVarint(dst, e.Time)
	dst = binary.AppendUvarint(dst, uint64(e.Rows))
	for _, text := range []string{e.Channel, e.Offset, e.Key} {
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		dst = append(dst, text...)
	}
	return append(dst, e.Body...)
}

// readEntry returns the entry of a payload, whose bytes it keeps.
func readEntry(payload []byte) (*Entry, error) {
	if len(payload) == 0 || payload[0] != kindEntry {
		return nil, errTorn
	}
	rest, whole := payload[1:], true
	varint := func() int64 {
		v, n := binary.Varint(rest)
		if n <= 0 {
			whole = false
			return 0
		}
		rest = rest[n:]
		return v
	}
	uvarint := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			whole = false
			return 0
		}
		rest = rest[n:]
		return v
	}
	text := func() string {
		n := uvarint()
		if n > uint64(len(rest)) {
			whole = false
			return ""
		}
		t := string(rest[:n])
		rest = rest[n:]
		return t
	}
	e := &Entry{Position: varint(), Time: varint(), Rows: int(uvarint())}
	e.Channel, e.Offset, e.Key = text(), text(), text()
	e.Body = rest
	if !whole {
		return nil, errTorn
	}
	return e, nil
}
