package v9

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The compressions of blocks.
const (
	lzf          = 0x00
	lz4Block     = 0x01
	zstdFrame    = 0x02
	noneWhole    = 0xFE // values are in one piece, not in blocks
	uncompressed = 0xFF
)

var errBlock = errors.New("a block can't be decompressed")

// inflater decompresses blocks of at most blockBytes. It is closed after use.
type inflater struct {
	method byte
	buf    []byte
	zstd   *zstd.Decoder
}

func newInflater(part string, method byte) (*inflater, error) {
	f := &inflater{method: method, buf: make([]byte, blockBytes)}
	switch method {
	case uncompressed, noneWhole, lzf, lz4Block:
		return f, nil
	case zstdFrame:
		var err error
		f.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(blockBytes), zstd.WithDecodeAllCapLimit(true))
		return f, err
	}
	return nil, unknown(part, "it has the compression [%d]", method)
}

func (f *inflater) close() {
	if f.zstd != nil {
		f.zstd.Close()
	}
}

// block decompresses one; the result is valid until the next call.
func (f *inflater) block(packed []byte) ([]byte, error) {
	switch f.method {
	case lzf:
		return inflateLZF(packed, f.buf[:0])
	case lz4Block:
		n, err := lz4.UncompressBlock(packed, f.buf)
		if err != nil {
			return nil, errBlock
		}
		return f.buf[:n], nil
	case zstdFrame:
		out, err := f.zstd.DecodeAll(packed, f.buf[:0])
		if err != nil {
			return nil, errBlock
		}
		return out, nil
	}
	if len(packed) > blockBytes {
		return nil, errBlock
	}
	return packed, nil
}

// inflateLZF decodes chunks "ZV", kind, length, [length when decoded], bytes, as the LZF library of
// Druid frames them.
func inflateLZF(in, out []byte) ([]byte, error) {
	for len(in) > 0 {
		if len(in) < 5 || in[0] != 'Z' || in[1] != 'V' {
			return nil, errBlock
		}
		kind, n := in[2], int(binary.BigEndian.Uint16(in[3:]))
		in = in[5:]
		size := n
		if kind == 1 {
			if len(in) < 2 {
				return nil, errBlock
			}
			size = int(binary.BigEndian.Uint16(in))
			in = in[2:]
		}
		if kind > 1 || n > len(in) || len(out)+size > blockBytes {
			return nil, errBlock
		}
		if kind == 0 {
			out = append(out, in[:n]...)
		} else {
			var err error
			if out, err = inflateChunk(in[:n], out, len(out)+size); err != nil {
				return nil, err
			}
		}
		in = in[n:]
	}
	return out, nil
}

// inflateChunk decodes one chunk of LZF: runs of up to 32 plain bytes, and copies of what was up to
// 8 KiB before.
func inflateChunk(in, out []byte, size int) ([]byte, error) {
	start := len(out)
	for len(in) > 0 {
		control := int(in[0])
		in = in[1:]
		if control < 32 {
			if control+1 > len(in) || len(out)+control+1 > size {
				return nil, errBlock
			}
			out = append(out, in[:control+1]...)
			in = in[control+1:]
			continue
		}
		length := control >> 5
		if length == 7 {
			if len(in) == 0 {
				return nil, errBlock
			}
			length += int(in[0])
			in = in[1:]
		}
		if len(in) == 0 {
			return nil, errBlock
		}
		from := len(out) - (control&0x1f)<<8 - int(in[0]) - 1
		in = in[1:]
		if length += 2; from < start || len(out)+length > size {
			return nil, errBlock
		}
		for i := range length {
			out = append(out, out[from+i])
		}
	}
	if len(out) != size {
		return nil, errBlock
	}
	return out, nil
}

// blocks are values of a fixed width in compressed blocks of the same number of values each, the
// last one perhaps of fewer.
type blocks struct {
	*indexed
	method byte
	total  int // values
	per    int // values in a block
}

// each calls f with the bytes of each block in turn, decompressed, and the number of values in it.
// need is how many bytes so many values take.
func (b *blocks) each(need func(values int) int, f func(block []byte, values int) error) error {
	if b.total == 0 {
		return nil
	}
	if b.per <= 0 || need(min(b.per, b.total)) > blockBytes || b.n != (b.total+b.per-1)/b.per {
		return corrupt(b.part, "[%d] values are not in [%d] blocks of [%d]", b.total, b.n, b.per)
	}
	inflater, err := newInflater(b.part, b.method)
	if err != nil {
		return err
	}
	defer inflater.close()
	for i := range b.n {
		packed, _, err := b.at(i)
		if err != nil {
			return err
		}
		values := min(b.per, b.total-i*b.per)
		block, err := inflater.block(packed)
		if err != nil || len(block) < need(values) {
			return corrupt(b.part, "block [%d] can't be decompressed", i)
		}
		if err := f(block, values); err != nil {
			return err
		}
	}
	return nil
}
