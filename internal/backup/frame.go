package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/internal/fault"
)

// FormatVersion is the version that this release writes, and the newest that it reads.
const FormatVersion = 1

const (
	magic      = "HENGEBAK"
	headerSize = 16 // magic, version, checksum of both
	frameHead  = 16 // kind, codec, zero, bytes as stored, bytes when decoded, checksum of this head and what is stored

	// maxPayload bounds what a frame holds when decoded, and so the memory of a reader.
	maxPayload = 4 << 20
)

// kind is what a frame holds.
type kind uint8

const (
	kindManifest kind = 1 // JSON of Manifest
	kindSettings kind = 2 // properties, as text
	kindTable    kind = 3 // JSON of metastore.Table: the rows after it are of this table
	kindRows     kind = 4 // rows (rows.go)
	kindFile     kind = 5 // JSON of fileHead: the bytes after it are of this file
	kindBytes    kind = 6
	kindEnd      kind = 7 // SHA-256 of all before, JSON of Summary
)

const (
	codecNone uint8 = 0
	codecZstd uint8 = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frameWriter writes the header and frames.
type frameWriter struct {
	w       *bufio.Writer
	digest  hash.Hash
	encoder *zstd.Encoder
	buf     []byte
	written int64
}

func newFrameWriter(w io.Writer) (*frameWriter, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	f := &frameWriter{w: bufio.NewWriterSize(w, 1<<20), digest: sha256.New(), encoder: encoder}
	head := binary.LittleEndian.AppendUint32([]byte(magic), FormatVersion)
	return f, f.put(binary.LittleEndian.AppendUint32(head, crc32.Checksum(head, castagnoli)))
}

func (f *frameWriter) put(b []byte) error {
	f.digest.Write(b)
	f.written += int64(len(b))
	_, err := f.w.Write(b)
	return err
}

// frame writes one; packed payloads that don't shrink are stored plain.
func (f *frameWriter) frame(k kind, payload []byte, pack bool) error {
	codec, stored := codecNone, payload
	if pack && len(payload) > 64 {
		if f.buf = f.encoder.EncodeAll(payload, f.buf[:0]); len(f.buf) < len(payload) {
			codec, stored = codecZstd, f.buf
		}
	}
	var head [frameHead]byte
	head[0], head[1] = byte(k), codec
	binary.LittleEndian.PutUint32(head[4:], uint32(len(stored)))
	binary.LittleEndian.PutUint32(head[8:], uint32(len(payload)))
	sum := crc32.Update(crc32.Checksum(head[:12], castagnoli), castagnoli, stored)
	binary.LittleEndian.PutUint32(head[12:], sum)
	if err := f.put(head[:]); err != nil {
		return err
	}
	return f.put(stored)
}

// end writes the last frame: its payload begins with the digest of everything before it.
func (f *frameWriter) end(summary []byte) error {
	if err := f.frame(kindEnd, append(f.digest.Sum(nil), summary...), false); err != nil {
		return err
	}
	return f.w.Flush()
}

// frameReader reads the header and frames.
type frameReader struct {
	r       io.ReadSeeker
	buffer  *bufio.Reader
	digest  hash.Hash // nil: frames are not counted in
	decoder *zstd.Decoder
	stored  []byte
	payload []byte
	offset  int64
}

// newFrameReader reads the header at the beginning of r.
func newFrameReader(r io.ReadSeeker, digest hash.Hash) (*frameReader, error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	f := &frameReader{r: r, buffer: bufio.NewReaderSize(r, 1<<20), digest: digest}
	var head [headerSize]byte
	if err := f.read(head[:]); err != nil {
		return nil, err
	}
	if string(head[:len(magic)]) != magic {
		return nil, damaged("it does not begin as a backup does")
	}
	version := binary.LittleEndian.Uint32(head[8:])
	if binary.LittleEndian.Uint32(head[12:]) != crc32.Checksum(head[:12], castagnoli) {
		return nil, damaged("the checksum of its header is wrong")
	}
	if version > FormatVersion {
		return nil, fault.Unsupported("The backup has format version [%d]; this release reads versions up to [%d]. Use the release that made it or a later one",
			version, FormatVersion).WithCause(ErrNewer)
	}
	var err error
	f.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPayload), zstd.WithDecodeAllCapLimit(true))
	return f, err
}

func (f *frameReader) close() { f.decoder.Close() }

func (f *frameReader) read(b []byte) error {
	n, err := io.ReadFull(f.buffer, b)
	f.offset += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return damaged("it ends at byte [%d], before it is complete", f.offset)
	}
	if f.digest != nil {
		f.digest.Write(b)
	}
	return err
}

// frame reads the next one. The payload is valid until the next call.
func (f *frameReader) frame() (kind, []byte, error) {
	at := f.offset
	var before []byte
	if f.digest != nil {
		before = f.digest.Sum(nil)
	}
	var head [frameHead]byte
	if err := f.read(head[:]); err != nil {
		return 0, nil, err
	}
	k, codec := kind(head[0]), head[1]
	stored, size := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[8:])
	if stored > size || size > maxPayload || codec > codecZstd || codec == codecNone && stored != size {
		return 0, nil, damaged("the frame at byte [%d] has a wrong head", at)
	}
	f.stored = grow(f.stored, int(stored))
	if err := f.read(f.stored); err != nil {
		return 0, nil, err
	}
	if binary.LittleEndian.Uint32(head[12:]) != crc32.Update(crc32.Checksum(head[:12], castagnoli), castagnoli, f.stored) {
		return 0, nil, damaged("the checksum of the frame at byte [%d] is wrong", at)
	}
	payload := f.stored
	if codec == codecZstd {
		var err error
		f.payload = grow(f.payload, int(size))
		if payload, err = f.decoder.DecodeAll(f.stored, f.payload[:0]); err != nil || len(payload) != int(size) {
			return 0, nil, damaged("the frame at byte [%d] can't be decompressed", at)
		}
	}
	if k == kindEnd {
		if len(payload) < sha256.Size || f.digest != nil && string(before) != string(payload[:sha256.Size]) {
			return 0, nil, damaged("the digest at its end is wrong")
		}
		payload = payload[sha256.Size:]
	}
	return k, payload, nil
}

func grow(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
