package segment

import (
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// blobBlock is a directory entry of an opaque column. Decoded, a block is an offset (uint32) per
// row and one more, and then the values, one after the other; offsets count from the first value.
type blobBlock struct {
	Row     uint32 // its first row
	Decoded uint32 // bytes when decoded
	Stored  uint32 // bytes as stored
	Codec   uint32
	Offset  uint64 // in the blob data
}

func (c *fileColumn) openBlobs(a *area) error {
	raw, err := a.all()
	if err != nil {
		return err
	}
	c.blobs = view[blobBlock](raw)
	for i := range c.blobs {
		b := &c.blobs[i]
		if i == 0 && b.Row != 0 || i > 0 && b.Row <= c.blobs[i-1].Row || int(b.Row) >= c.meta.rows {
			return a.corrupt(i*blobBlockSize, "the rows of its blocks do not ascend")
		}
		if b.Offset > uint64(len(c.data.b)) || uint64(b.Stored) > uint64(len(c.data.b))-b.Offset || b.Offset%partAlign != 0 {
			return a.corrupt(i*blobBlockSize, "a block is outside of its data")
		}
		if b.Codec > codecZstd || b.Codec == codecNone && b.Stored != b.Decoded {
			return a.corrupt(i*blobBlockSize, "a block is stored in an unknown way")
		}
		rows := c.blobRows(i)
		if uint64(b.Decoded) < 4*(uint64(rows)+1) || uint64(b.Decoded) > maxBlobBytes+4*(uint64(rows)+1)+blobBlockBytes {
			return a.corrupt(i*blobBlockSize, "a block has an impossible length")
		}
	}
	return nil
}

// blobRows returns the number of rows of block i.
func (c *fileColumn) blobRows(i int) int {
	end := c.meta.rows
	if i+1 < len(c.blobs) {
		end = int(c.blobs[i+1].Row)
	}
	return end - int(c.blobs[i].Row)
}

// blobValues are the values of one decoded block.
type blobValues struct {
	row     int // its first row
	offsets []uint32
	bytes   []byte
}

func (b *blobValues) at(row int) string {
	i := row - b.row
	return textOf(b.bytes[b.offsets[i]:b.offsets[i+1]])
}

func (b *blobValues) end() int { return b.row + len(b.offsets) - 1 }

// blobBlock returns the values of block i. A compressed block is decoded into memory of its own,
// which its values keep alive.
func (c *fileColumn) blobBlock(i int) (*blobValues, error) {
	b := &c.blobs[i]
	lo := int(b.Offset)
	hi := lo + int(b.Stored)
	if err := c.data.touch(lo, hi); err != nil {
		return nil, err
	}
	raw := c.data.b[lo:hi]
	if b.Codec == codecZstd {
		decoder, err := decoders()
		if err != nil {
			return nil, err
		}
		dst := alignedBytes(int(b.Decoded))
		raw, err = decoder.DecodeAll(raw, dst[:0])
		if err != nil || len(raw) != int(b.Decoded) {
			return nil, c.data.corrupt(lo, "a block does not decompress to its length")
		}
	}
	rows := c.blobRows(i)
	out := &blobValues{row: int(b.Row), offsets: view[uint32](raw[:4*(rows+1)]), bytes: raw[4*(rows+1):]}
	if out.offsets[0] != 0 || uint64(out.offsets[rows]) != uint64(len(out.bytes)) {
		return nil, c.data.corrupt(lo, "the offsets of a block do not fit its values")
	}
	for k := 1; k <= rows; k++ {
		if out.offsets[k] < out.offsets[k-1] {
			return nil, c.data.corrupt(lo, "the offsets of a block do not ascend")
		}
	}
	return out, nil
}

func (c *fileColumn) blobOf(row int) int {
	return sort.Search(len(c.blobs), func(i int) bool { return int(c.blobs[i].Row) > row }) - 1
}

func (c *fileColumn) readBlobs(buf *Buffer, from, to int) (*vector.Vector, error) {
	v := buf.vector(c.meta.Type, to-from)
	v.Valid = c.validity(buf, from, to)
	buf.strings = grown(buf.strings, to-from)
	v.Strings = buf.strings
	for b, row := c.blobOf(from), from; row < to; b++ {
		values, err := c.blobBlock(b)
		if err != nil {
			return nil, err
		}
		for ; row < min(to, values.end()); row++ {
			v.Strings[row-from] = values.at(row)
		}
	}
	return v, nil
}

func (c *fileColumn) readBlobRows(buf *Buffer, rows []uint32) (*vector.Vector, error) {
	v := buf.vector(c.meta.Type, len(rows))
	v.Valid = c.validityRows(buf, rows)
	buf.strings = grown(buf.strings, len(rows))
	v.Strings = buf.strings
	var values *blobValues
	for i, r := range rows {
		if values == nil || int(r) >= values.end() {
			var err error
			if values, err = c.blobBlock(c.blobOf(int(r))); err != nil {
				return nil, err
			}
		}
		v.Strings[i] = values.at(int(r))
	}
	return v, nil
}

// decoders returns the process's zstd decoder, which many goroutines may use. It is made when the
// first compressed value is read, so that an idle process does not hold it.
var decoders = sync.OnceValues(func() (*zstd.Decoder, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(4<<30))
	if err != nil {
		return nil, fault.Defensive("A zstd decoder can't be made").WithCause(err)
	}
	return d, nil
})

// encoders returns the process's zstd encoder; see decoders.
var encoders = sync.OnceValues(func() (*zstd.Encoder, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(256<<10),
		zstd.WithSingleSegment(true), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fault.Defensive("A zstd encoder can't be made").WithCause(err)
	}
	return e, nil
})
