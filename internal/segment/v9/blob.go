package v9

import (
	"encoding/binary"
)

// blobs are opaque values one after the other, cut into compressed blocks without regard to them.
// They are three parts: base has the number of values, base_offsets their ends, base_compressed
// their bytes.
func (s *smoosh) blobs(base string, order binary.ByteOrder) ([]string, error) {
	head, err := s.open(base)
	if err != nil {
		return nil, err
	}
	head.version("a list of blobs", 1)
	n := head.count()
	if head.err != nil {
		return nil, head.err
	}
	if n == 0 {
		return nil, nil
	}
	ends, err := s.joined(base+"_offsets", order)
	if err != nil {
		return nil, err
	}
	bytes, err := s.joined(base+"_compressed", order)
	if err != nil {
		return nil, err
	}
	if n > len(ends)/8 {
		return nil, corrupt(base, "[%d] values have no ends", n)
	}
	out := make([]string, n)
	last := uint64(0)
	for i := range out {
		end := order.Uint64(ends[8*i:])
		if end < last || end > uint64(len(bytes)) {
			return nil, corrupt(base, "value [%d] is outside of its bytes", i)
		}
		out[i], last = string(bytes[last:end]), end
	}
	return out, nil
}

// joined decompresses the blocks of a part into one piece. All blocks but the last decompress to
// the same size.
func (s *smoosh) joined(name string, order binary.ByteOrder) ([]byte, error) {
	c, err := s.open(name)
	if err != nil {
		return nil, err
	}
	c.version("a list of blocks", 1)
	method := c.byte()
	size, n := c.count(), c.count()
	if c.err == nil && (size <= 0 || size > blockBytes || n > len(c.b)/4) {
		c.fail("it has [%d] blocks of [%d] bytes", n, size)
	}
	ends := c.take(4 * n)
	if c.err != nil {
		return nil, c.err
	}
	var out []byte
	inflater, err := newInflater(name, method)
	if err != nil {
		return nil, err
	}
	defer inflater.close()
	last := 0
	for i := range n {
		end := int(int32(order.Uint32(ends[4*i:])))
		if end < last || end > len(c.b) {
			return nil, corrupt(name, "block [%d] is outside of it", i)
		}
		block, err := inflater.block(c.b[last:end])
		if err != nil || i < n-1 && len(block) != size {
			return nil, corrupt(name, "block [%d] can't be decompressed", i)
		}
		out, last = append(out, block...), end
	}
	return out, nil
}
