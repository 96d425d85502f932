package ingest

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
)

// The compressions of ORC files.
const (
	orcPlain  = 0
	orcZlib   = 1
	orcSnappy = 2
	orcLZ4    = 4
	orcZstd   = 5
)

// maxORCBlock bounds the pieces that streams are packed in: writers take 64 KB to 1 MB.
const maxORCBlock = 16 << 20

// orcUnpacker unpacks the pieces of streams, each at most block bytes. It is used by one goroutine.
type orcUnpacker struct {
	compression uint64
	block       int
	flate       io.ReadCloser
	zstd        *zstd.Decoder
}

func newORCUnpacker(t *orcTail) (*orcUnpacker, error) {
	u := &orcUnpacker{compression: t.compression, block: int(min(max(t.block, 1<<10), maxORCBlock))}
	switch t.compression {
	case orcPlain, orcSnappy, orcLZ4:
	case orcZlib:
		u.flate = flate.NewReader(bytes.NewReader(nil))
	case orcZstd:
		var err error
		u.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxORCBlock), zstd.WithDecoderLowmem(true))
		return u, err
	default:
		return nil, fault.Unsupported("Compression [%d] of ORC files is not supported; known are [none, zlib, snappy, lz4, zstd]", t.compression)
	}
	return u, nil
}

func (u *orcUnpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

var errORCPiece = errors.New("a piece of a stream is larger than pieces may be, or damaged")

// unpack returns a piece, in the memory of dst where it can be.
func (u *orcUnpacker) unpack(dst, packed []byte) ([]byte, error) {
	dst = dst[:0]
	switch u.compression {
	case orcZlib:
		if err := u.flate.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
			return nil, err
		}
		out := bytes.NewBuffer(dst)
		n, err := io.Copy(out, io.LimitReader(u.flate, int64(u.block)+1))
		if err == nil && n > int64(u.block) {
			err = errORCPiece
		}
		return out.Bytes(), err
	case orcSnappy:
		n, err := snappy.DecodedLen(packed)
		if err != nil || n > u.block {
			return nil, errORCPiece
		}
		return snappy.Decode(dst[:cap(dst)], packed)
	case orcLZ4:
		if cap(dst) < u.block {
			dst = make([]byte, 0, u.block)
		}
		n, err := lz4.UncompressBlock(packed, dst[:u.block])
		return dst[:max(n, 0)], err
	default:
		out, err := u.zstd.DecodeAll(packed, dst)
		if err == nil && len(out) > u.block {
			err = errORCPiece
		}
		return out, err
	}
}

// orcBytes is the bytes of a stream. Its end is io.ErrUnexpectedEOF: who reads knows how much there
// must be.
type orcBytes struct {
	src    io.Reader // what is stored; nil: nothing
	unpack *orcUnpacker
	piece  []byte
	rest   []byte // of the piece
	packed []byte
}

// more reads the next piece.
func (b *orcBytes) more() error {
	if b.src == nil {
		return io.ErrUnexpectedEOF
	}
	if b.unpack.compression == orcPlain {
		if b.piece == nil {
			b.piece = make([]byte, 64<<10)
		}
		n, err := b.src.Read(b.piece)
		if b.rest = b.piece[:n]; n > 0 || err == nil {
			return nil
		}
		return unexpected(err)
	}
	var head [3]byte
	if _, err := io.ReadFull(b.src, head[:]); err != nil {
		return unexpected(err)
	}
	h := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
	n, plain := int(h>>1), h&1 == 1
	if n > b.unpack.block && plain || n > maxORCBlock {
		return errORCPiece
	}
	if cap(b.packed) < n {
		b.packed = make([]byte, n)
	}
	b.packed = b.packed[:n]
	if _, err := io.ReadFull(b.src, b.packed); err != nil {
		return unexpected(err)
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

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (b *orcBytes) byte() (byte, error) {
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
func (b *orcBytes) append(dst []byte, n int) ([]byte, error) {
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
func (b *orcBytes) uint64(scratch *[8]byte, n int) (uint64, error) {
	*scratch = [8]byte{}
	_, err := b.append(scratch[:0], n)
	return binary.LittleEndian.Uint64(scratch[:]), err
}

// varint reads seven bits a byte, the lowest first.
func (b *orcBytes) varint() (uint64, error) {
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
	return 0, errORCRun
}

var errORCRun = errors.New("a run of values is damaged")

func zigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
