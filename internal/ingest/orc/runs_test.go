package orc

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestORCIntegerRuns reads the examples of the specification.
func TestORCIntegerRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		data   []byte
		signed bool
		want   []int64
	}{
		{"short repeat", []byte{0x0a, 0x27, 0x10}, false, []int64{10000, 10000, 10000, 10000, 10000}},
		{"direct", []byte{0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, false, []int64{23713, 43806, 57005, 48879}},
		{"patched base", []byte{0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0,
			0xaa, 0xb4, 0xbe, 0xfc, 0xe8}, false, []int64{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190}},
		{"delta", []byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, false, []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}},
	} {
		r := &ints{in: &stored{src: bytes.NewReader(c.data), unpack: &unpacker{}}, signed: c.signed, version: 2}
		var got []int64
		for range c.want {
			v, err := r.next()
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got = append(got, v)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
