package orc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/record"
)

// The compression methods of ORC files.
const (
	plain        = 0
	zlibPacked   = 1
	snappyPacked = 2
	lz4Packed    = 4
	zstdPacked   = 5
)

// maxBlock bounds the pieces that streams are packed in: writers take 64 KB to 1 MB.
const maxBlock = 16 << 20

// unpacker unpacks the pieces of streams, each at most block bytes. It is used by one goroutine.
type unpacker struct {
	compression uint64
	block       int
	flate       io.ReadCloser
	zstd        *zstd.Decoder
}

func newUnpacker(t *tail) (*unpacker, error) {
	u := &unpacker{compression: t.compression, block: int(min(max(t.block, 1<<10), maxBlock))}
	switch t.compression {
	case plain, snappyPacked, lz4Packed:
	case zlibPacked:
		u.flate = flate.NewReader(bytes.NewReader(nil))
	case zstdPacked:
		var err error
		u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
		return u, err
	default:
		return nil, fault.Unsupported("Compression [%d] of ORC files is not supported; known are [none, zlib, snappy, lz4, zstd]", t.compression)
	}
	return u, nil
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

var errPiece = errors.New("a piece of a stream is larger than pieces may be, or damaged")

// unpack returns a piece, in the memory of dst where it can be.
func (u *unpacker) unpack(dst, packed []byte) ([]byte, error) {
	dst = dst[:0]
	switch u.compression {
	case zlibPacked:
		if err := u.flate.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
			return nil, err
		}
		out := bytes.NewBuffer(dst)
		n, err := io.Copy(out, io.LimitReader(u.flate, int64(u.block)+1))
		if err == nil && n > int64(u.block) {
			err = errPiece
		}
		return out.Bytes(), err
	case snappyPacked:
		n, err := snappy.DecodedLen(packed)
		if err != nil || n > u.block {
			return nil, errPiece
		}
		return snappy.Decode(dst[:cap(dst)], packed)
	case lz4Packed:
		if cap(dst) < u.block {
			dst = make([]byte, 0, u.block)
		}
		n, err := lz4.UncompressBlock(packed, dst[:u.block])
		return dst[:max(n, 0)], err
	default:
		out, err := u.zstd.DecodeAll(packed, dst)
		if err == nil && len(out) > u.block {
			err = errPiece
		}
		return out, err
	}
}

// stored is the bytes of a stream. Its end is io.ErrUnexpectedEOF: who reads knows how much there
// must be.
type stored struct {
	src    io.Reader // what is stored; nil: nothing
	unpack *unpacker
	piece  []byte
	rest   []byte // of the piece
	packed []byte
}

// more reads the next piece.
func (b *stored) more() error {
	if b.src == nil {
		return io.ErrUnexpectedEOF
	}
	if b.unpack.compression == plain {
		if b.piece == nil {
			b.piece = make([]byte, 64<<10)
		}
		n, err := b.src.Read(b.piece)
		if b.rest = b.piece[:n]; n > 0 || err == nil {
			return nil
		}
		return record.Unexpected(err)
	}
	var head [3]byte
	if _, err := io.ReadFull(b.src, head[:]); err != nil {
		return record.Unexpected(err)
	}
	h := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
	n, plain := int(h>>1), h&1 == 1
	if n > b.unpack.block && plain || n > maxBlock {
		return errPiece
	}
	if cap(b.packed) < n {
		b.packed = make([]byte, n)
	}
	b.packed = b.packed[:n]
	if _, err := io.ReadFull(b.src, b.packed); err != nil {
		return record.Unexpected(err)
	}
	if plain {
		b.rest = b.packed
		return nil
	}
	var err error
	b.piece, err = b.unpack.unpack(b.piece, b.packed)
	b.rest = b.piece
	return err
}

func (b *stored) byte() (byte, error) {
	for len(b.rest) == 0 {
		if err := b.more(); err != nil {
			return 0, err
		}
	}
	c := b.rest[0]
	b.rest = b.rest[1:]
	return c, nil
}

// append appends the next n bytes to dst.
func (b *stored) append(dst []byte, n int) ([]byte, error) {
	for n > 0 {
		if len(b.rest) == 0 {
			if err := b.more(); err != nil {
				return dst, err
			}
			continue
		}
		take := min(n, len(b.rest))
		dst = append(dst, b.rest[:take]...)
		b.rest = b.rest[take:]
		n -= take
	}
	return dst, nil
}

// uint64 reads eight bytes, the lowest first.
func (b *stored) uint64(scratch *[8]byte, n int) (uint64, error) {
	*scratch = [8]byte{}
	_, err := b.append(scratch[:0], n)
	return binary.LittleEndian.Uint64(scratch[:]), err
}

// varint reads seven bits a byte, the lowest first.
func (b *stored) varint() (uint64, error) {
	var v uint64
	for shift := 0; shift < 70; shift += 7 {
		c, err := b.byte()
		if err != nil {
			return 0, err
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, errRun
}

var errRun = errors.New("a run of values is damaged")

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
