package ingest

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"fmt"
	"io"

	"github.com/twmb/avro/ocf"
)

// avroCodecs are the codecs of Avro's specification that its library does not have.
func avroCodecs() []ocf.ReaderOpt {
	return []ocf.ReaderOpt{
		ocf.WithCodec(avroCodec{"bzip2", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }}),
		ocf.WithCodec(avroCodec{"xz", func(r io.Reader) (io.Reader, error) { return openXZ(bufio.NewReader(r)) }}),
	}
}

// avroCodec unpacks the blocks of a container. It is an ocf.Codec and an ocf.BoundedDecompressor.
type avroCodec struct {
	name string
	open func(io.Reader) (io.Reader, error)
}

// Name returns what the header of a file calls the codec.
func (c avroCodec) Name() string { return c.name }

// Compress is not asked for: files are read only.
func (c avroCodec) Compress([]byte) ([]byte, error) {
	return nil, fmt.Errorf("nothing is packed with [%s]", c.name)
}

// Decompress unpacks a block.
func (c avroCodec) Decompress(src []byte) ([]byte, error) {
	return c.DecompressBounded(src, avroBlockBytes)
}

// DecompressBounded unpacks a block of at most so many bytes.
func (c avroCodec) DecompressBounded(src []byte, most int64) ([]byte, error) {
	if most <= 0 {
		most = avroBlockBytes
	}
	r, err := c.open(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(out)) > most {
		err = fmt.Errorf("a block is larger than [%d] bytes", most)
	}
	return out, err
}

// Close implements ocf.Codec.
func (avroCodec) Close() error { return nil }
