package parquet

import (
	"encoding/binary"
	"math"
)

// compact writes Thrift's compact protocol: fields in the order of their ids.
type compact struct {
	b    []byte
	last []int
}

func (w *compact) field(id int, typ byte) {
	if len(w.last) == 0 {
		w.last = []int{0}
	}
	last := &w.last[len(w.last)-1]
	w.b = append(w.b, byte(id-*last)<<4|typ)
	*last = id
}

func (w *compact) int(id int, n int64) {
	w.field(id, thriftInt64)
	w.b = binary.AppendVarint(w.b, n)
}

func (w *compact) text(id int, s string) {
	w.field(id, thriftBinary)
	w.b = append(binary.AppendUvarint(w.b, uint64(len(s))), s...)
}

func (w *compact) structure(id int, fields func()) {
	w.field(id, thriftStruct)
	w.element(fields)
}

func (w *compact) element(fields func()) {
	w.last = append(w.last, 0)
	fields()
	w.last = w.last[:len(w.last)-1]
	w.b = append(w.b, 0)
}

func (w *compact) list(id int, typ byte, n int) {
	w.field(id, thriftList)
	w.b = binary.AppendUvarint(append(w.b, 0xf0|typ), uint64(n))
}

// testColumn is a column of a file that a test puts together from pages.
type testColumn struct {
	typ, length      int64
	repetition       int64 // 0 required, 1 optional, 2 repeated
	logical          int   // field of the union, 0 for none
	codec            int64
	values, rows     int64
	pages            []testPage
	keyWithoutValue  bool
	dictionaryOffset bool
}

// testPage is a page as it is in the file.
type testPage struct {
	typ              int64 // dataPage, ...
	values, encoding int64
	unpacked         int64 // -1: as many as body has
	body             []byte
	definitions      int64 // bytes, of version 2
	plain            bool  // version 2: is_compressed = false
	rows             int64
}

func (p testPage) header() []byte {
	w := &compact{}
	w.element(func() {
		w.int(1, p.typ)
		unpacked := p.unpacked
		if unpacked < 0 {
			unpacked = int64(len(p.body))
		}
		w.int(2, unpacked)
		w.int(3, int64(len(p.body)))
		switch p.typ {
		case dataPage:
			w.structure(5, func() {
				w.int(1, p.values)
				w.int(2, p.encoding)
				w.int(3, rle)
				w.int(4, rle)
			})
		case dictionaryPage:
			w.structure(7, func() {
				w.int(1, p.values)
				w.int(2, p.encoding)
			})
		case dataPageV2:
			w.structure(8, func() {
				w.int(1, p.values)
				w.int(2, 0)
				w.int(3, p.rows)
				w.int(4, p.encoding)
				w.int(5, p.definitions)
				w.int(6, 0)
				if p.plain {
					w.field(7, thriftFalse)
				}
			})
		}
	})
	return w.b
}

// file puts a file of one column, [v], and one row group together.
func (c testColumn) file() []byte {
	out := []byte(magic)
	data := int64(0)
	for _, p := range c.pages {
		if p.typ != dictionaryPage && data == 0 {
			data = int64(len(out))
		}
		out = append(append(out, p.header()...), p.body...)
	}
	size := int64(len(out)) - 4
	w := &compact{}
	w.element(func() {
		w.int(1, 1)
		w.list(2, thriftStruct, 2)
		w.element(func() {
			w.text(4, "schema")
			w.int(5, 1)
		})
		w.element(func() {
			w.int(1, c.typ)
			w.int(2, c.length)
			w.int(3, c.repetition)
			w.text(4, "v")
			if c.logical != 0 {
				w.structure(10, func() { w.structure(c.logical, func() {}) })
			}
		})
		w.int(3, c.rows)
		w.list(4, thriftStruct, 1)
		w.element(func() {
			w.list(1, thriftStruct, 1)
			w.element(func() {
				w.int(2, 0)
				w.structure(3, func() {
					w.int(1, c.typ)
					w.list(2, thriftInt32, 0)
					w.list(3, thriftBinary, 1)
					w.b = append(w.b, 1, 'v')
					w.int(4, c.codec)
					w.int(5, c.values)
					w.int(6, size)
					w.int(7, size)
					if c.keyWithoutValue {
						w.list(8, thriftStruct, 1)
						w.element(func() { w.text(1, "key") })
					}
					w.int(9, max(data, 4))
					if c.dictionaryOffset {
						w.int(11, 4)
					}
				})
			})
			w.int(2, size)
			w.int(3, c.rows)
		})
	})
	out = append(out, w.b...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(w.b))), magic...)
}

func int64s(values ...int64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func float64s(values ...float64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// split cuts values of some width into the streams of their bytes.
func split(b []byte, width int) (out []byte) {
	for k := range width {
		for i := k; i < len(b); i += width {
			out = append(out, b[i])
		}
	}
	return out
}
