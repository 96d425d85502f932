package parquet

// footer is what is read of a file's metadata. Fields that say nothing about how to read values are
// skipped, whatever they hold.
type footer struct {
	schema    []schemaElement
	rows      int64
	groups    []groupMeta
	encrypted bool
}

type schemaElement struct {
	typ, length      int32 // -1: none
	repetition       int32
	name             string
	children         int32
	converted        int32 // -1: none
	scale, precision int32
	logical          logicalType
}

type groupMeta struct {
	columns []chunkMeta
	rows    int64
}

type chunkMeta struct {
	elsewhere, encrypted, present bool

	typ        int32
	codec      int32
	values     int64
	compressed int64
	dataPage   int64
	dictionary int64
}

func parseFooter(b []byte) (*footer, error) {
	t, f := &thrift{b: b}, &footer{rows: -1}
	t.structure(func(id int, typ byte) {
		switch id {
		case 2:
			t.list(typ, func(byte) { f.schema = append(f.schema, t.schemaElement()) })
		case 3:
			f.rows = t.int(typ)
		case 4:
			t.list(typ, func(byte) { f.groups = append(f.groups, t.rowGroup()) })
		case 8:
			f.encrypted = true
			t.skip(typ)
		default:
			t.skip(typ)
		}
	})
	if t.err != nil {
		return nil, damaged("its footer is malformed")
	}
	return f, nil
}

func (t *thrift) schemaElement() schemaElement {
	e := schemaElement{typ: -1, length: -1, converted: -1}
	t.structure(func(id int, typ byte) {
		switch id {
		case 1:
			e.typ = t.int32(typ)
		case 2:
			e.length = t.int32(typ)
		case 3:
			e.repetition = t.int32(typ)
		case 4:
			e.name = string(t.binary(typ))
		case 5:
			e.children = t.int32(typ)
		case 6:
			e.converted = t.int32(typ)
		case 7:
			e.scale = t.int32(typ)
		case 8:
			e.precision = t.int32(typ)
		case 10:
			e.logical = t.logicalType(typ)
		default:
			t.skip(typ)
		}
	})
	return e
}

// logicalType is the annotation of a schema element: the field of the union that is set, 0 for
// none, and what it holds.
type logicalType struct {
	id        int
	scale     int32
	precision int32
	unit      int // 1 milliseconds, 2 microseconds, 3 nanoseconds
	bits      int32
	signed    bool
}

func (t *thrift) logicalType(typ byte) (l logicalType) {
	if typ != thriftStruct {
		t.fail(errThrift)
		return l
	}
	t.structure(func(id int, typ byte) {
		l.id = id
		if typ != thriftStruct {
			t.skip(typ)
			return
		}
		switch id {
		case 5: // DECIMAL
			t.structure(func(id int, typ byte) {
				switch id {
				case 1:
					l.scale = t.int32(typ)
				case 2:
					l.precision = t.int32(typ)
				default:
					t.skip(typ)
				}
			})
		case 7, 8: // TIME, TIMESTAMP
			t.structure(func(id int, typ byte) {
				if id != 2 || typ != thriftStruct {
					t.skip(typ)
					return
				}
				t.structure(func(id int, typ byte) {
					l.unit = id
					t.skip(typ)
				})
			})
		case 10: // INTEGER
			t.structure(func(id int, typ byte) {
				switch id {
				case 1:
					l.bits = t.int32(typ)
				case 2:
					l.signed = t.bool(typ)
				default:
					t.skip(typ)
				}
			})
		default:
			t.skip(typ)
		}
	})
	return l
}

func (t *thrift) rowGroup() groupMeta {
	g := groupMeta{rows: -1}
	t.structure(func(id int, typ byte) {
		switch id {
		case 1:
			t.list(typ, func(byte) { g.columns = append(g.columns, t.chunk()) })
		case 3:
			g.rows = t.int(typ)
		default:
			t.skip(typ)
		}
	})
	return g
}

func (t *thrift) chunk() (c chunkMeta) {
	t.structure(func(id int, typ byte) {
		switch id {
		case 1:
			c.elsewhere = len(t.binary(typ)) > 0
		case 3:
			if typ != thriftStruct {
				t.skip(typ)
				return
			}
			t.columnMeta(&c)
		case 8:
			c.encrypted = true
			t.skip(typ)
		default:
			t.skip(typ)
		}
	})
	return c
}

func (t *thrift) columnMeta(c *chunkMeta) {
	c.present, c.typ, c.codec, c.values, c.dataPage = true, -1, -1, -1, -1
	t.structure(func(id int, typ byte) {
		switch id {
		case 1:
			c.typ = t.int32(typ)
		case 4:
			c.codec = t.int32(typ)
		case 5:
			c.values = t.int(typ)
		case 7:
			c.compressed = t.int(typ)
		case 9:
			c.dataPage = t.int(typ)
		case 11:
			c.dictionary = t.int(typ)
		default:
			t.skip(typ)
		}
	})
}

// The page types.
const (
	dataPage       = 0
	indexPage      = 1
	dictionaryPage = 2
	dataPageV2     = 3
)

// pageHeader is the header of a page of any type.
type pageHeader struct {
	typ                  int32
	unpacked, packed     int32
	crc                  uint32
	checked              bool // has a checksum
	present              bool // has the part of its type
	values               int32
	encoding             int32
	definitions, repeats int32 // encodings, in version 2 lengths
	plain                bool  // version 2: the values are not compressed
}

func (t *thrift) pageHeader() pageHeader {
	h := pageHeader{typ: -1, unpacked: -1, packed: -1, values: -1}
	parts := map[int]int32{5: dataPage, 7: dictionaryPage, 8: dataPageV2}
	t.structure(func(id int, typ byte) {
		switch id {
		case 1:
			h.typ = t.int32(typ)
		case 2:
			h.unpacked = t.int32(typ)
		case 3:
			h.packed = t.int32(typ)
		case 4:
			h.crc, h.checked = uint32(t.int(typ)), true
		case 5, 7, 8:
			if h.typ != parts[id] || typ != thriftStruct {
				t.skip(typ)
				return
			}
			h.present = true
			t.structure(func(id int, typ byte) { t.pageField(&h, id, typ) })
		default:
			t.skip(typ)
		}
	})
	return h
}

// pageField reads a field of the part of a header that belongs to its type of page.
func (t *thrift) pageField(h *pageHeader, id int, typ byte) {
	switch {
	case id == 1:
		h.values = t.int32(typ)
	case id == 2 && h.typ != dataPageV2, id == 4 && h.typ == dataPageV2:
		h.encoding = t.int32(typ)
	case id == 3 && h.typ == dataPage, id == 5 && h.typ == dataPageV2:
		h.definitions = t.int32(typ)
	case id == 4 && h.typ == dataPage, id == 6 && h.typ == dataPageV2:
		h.repeats = t.int32(typ)
	case id == 7 && h.typ == dataPageV2:
		h.plain = !t.bool(typ)
	default:
		t.skip(typ)
	}
}
