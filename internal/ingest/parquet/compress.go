package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The codecs of the format.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecLZO    = 3
	codecBrotli = 4
	codecLZ4    = 5 // of old Hadoop writers, and of those who thought otherwise
	codecZstd   = 6
	codecLZ4Raw = 7
)

// unpacker unpacks what is compressed with one codec.
type unpacker struct {
	codec int32
	// ratio is how many bytes a byte unpacks to at most. A page that says more is damaged: nothing
	// is allocated for it.
	ratio int64
	// unpack unpacks src, which should have n bytes, into the room of buf if it suffices. What it
	// returns was written by it, all of it.
	unpack func(buf, src []byte, n int) ([]byte, error)
}

func newUnpacker(codec int32) (*unpacker, error) {
	switch codec {
	case codecNone:
		return &unpacker{codec: codec}, nil
	case codecSnappy:
		return &unpacker{codec, 64, unpackSnappy}, nil
	case codecGzip:
		return &unpacker{codec, 1032, unpackGzip}, nil
	case codecBrotli:
		return &unpacker{codec, 1 << 24, unpackBrotli}, nil
	case codecZstd:
		return &unpacker{codec, 1 << 16, unpackZstd}, nil
	case codecLZ4:
		return &unpacker{codec, 256, unpackLZ4}, nil
	case codecLZ4Raw:
		return &unpacker{codec, 256, unpackLZ4Raw}, nil
	case codecLZO:
		return nil, unsupported("compression [LZO]")
	}
	return nil, unsupported("compression [%d]", codec)
}

var errUnpack = errors.New("a page can't be decompressed")

// slackBytes covers the fixed part of a compressed block in its ratio.
const slackBytes = 1 << 10

// page unpacks src, which must have n bytes, into buf if it is large enough. The result has exactly
// n bytes, all of them of src.
func (u *unpacker) page(buf, src []byte, n int) ([]byte, error) {
	if u.codec == codecNone {
		if len(src) != n {
			return nil, damaged("a page that is not compressed has [%d] bytes where its header says [%d]", len(src), n)
		}
		return src, nil
	}
	if n == 0 {
		return nil, nil // some writers compress nothing to nothing
	}
	if int64(n) > int64(len(src))*u.ratio+slackBytes {
		return nil, damaged("a page of [%d] bytes can't decompress to the [%d] bytes of its header", len(src), n)
	}
	out, err := u.unpack(buf, src, n)
	if err != nil {
		return nil, damaged("a page of [%d] bytes does not decompress to the [%d] bytes of its header", len(src), n)
	}
	if len(out) != n {
		return nil, damaged("a page decompresses to [%d] bytes, but its header says [%d]", len(out), n)
	}
	return out, nil
}

// room returns n bytes, those of buf if it has so many. They are not cleared: the caller writes all
// of them.
func room(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n)
	}
	return buf[:n]
}

func unpackSnappy(buf, src []byte, n int) ([]byte, error) {
	if size, err := snappy.DecodedLen(src); err != nil || size != n {
		return nil, errUnpack
	}
	return snappy.Decode(room(buf, n), src)
}

func unpackLZ4Raw(buf, src []byte, n int) ([]byte, error) {
	buf = room(buf, n)
	size, err := lz4.UncompressBlock(src, buf)
	if err != nil || size < 0 {
		return nil, errUnpack
	}
	return buf[:size], nil
}

// unpackLZ4 reads what writers took the codec LZ4 to be: the blocks of Hadoop, an LZ4 frame, or one
// block without a frame.
func unpackLZ4(buf, src []byte, n int) ([]byte, error) {
	if out, ok := unpackHadoop(buf, src, n); ok {
		return out, nil
	}
	if len(src) >= 4 && binary.LittleEndian.Uint32(src) == 0x184d2204 {
		return readAll(buf, lz4.NewReader(bytes.NewReader(src)), n)
	}
	return unpackLZ4Raw(buf, src, n)
}

// unpackHadoop reads the framing of Hadoop's block compression. All numbers have four bytes, the
// highest first:
//
//	| unpacked size | packed size | LZ4 block | packed size | LZ4 block | ... | unpacked size | ...
//
// Blocks follow one another until they have the unpacked size. ok is false if src is something
// else.
func unpackHadoop(buf, src []byte, n int) (out []byte, ok bool) {
	buf = room(buf, n)
	done := 0
	for len(src) > 0 {
		if len(src) < 8 {
			return nil, false
		}
		size := int64(binary.BigEndian.Uint32(src))
		src = src[4:]
		if size > int64(n-done) {
			return nil, false
		}
		for end := done + int(size); done < end; {
			if len(src) < 4 {
				return nil, false
			}
			packed := int64(binary.BigEndian.Uint32(src))
			if src = src[4:]; packed == 0 || packed > int64(len(src)) {
				return nil, false
			}
			got, err := lz4.UncompressBlock(src[:packed], buf[done:end])
			if err != nil || got <= 0 {
				return nil, false
			}
			done += got
			src = src[packed:]
		}
	}
	return buf, done == n
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(1<<31))
})

func unpackZstd(buf, src []byte, n int) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(src); err != nil || h.HasFCS && h.FrameContentSize > uint64(n) {
		return nil, errUnpack
	}
	d, err := zstdDecoder()
	if err != nil {
		return nil, err
	}
	return d.DecodeAll(src, room(buf, n)[:0])
}

var gzipReaders, brotliReaders sync.Pool

func unpackGzip(buf, src []byte, n int) ([]byte, error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, err
	}
	defer gzipReaders.Put(r)
	return readAll(buf, r, n)
}

func unpackBrotli(buf, src []byte, n int) ([]byte, error) {
	r, _ := brotliReaders.Get().(*brotli.Reader)
	if r == nil {
		r = brotli.NewReader(nil)
	}
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, err
	}
	defer brotliReaders.Put(r)
	return readAll(buf, r, n)
}

// readAll reads a stream that must have n bytes. The room for them grows with what comes.
func readAll(buf []byte, r io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	out := buf[:0]
	if cap(out) < n {
		out = make([]byte, 0, min(n, step))
	}
	for len(out) < n {
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		got, err := r.Read(out[len(out):min(cap(out), n)])
		out = out[:len(out)+got]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(out) == n {
		// The end of the stream holds the checksum of gzip, and shows that nothing more comes.
		var more [1]byte
		if got, err := io.ReadFull(r, more[:]); got != 0 || !errors.Is(err, io.EOF) {
			return nil, errUnpack
		}
	}
	return out, nil
}
