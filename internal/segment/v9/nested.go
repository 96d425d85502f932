package v9

import (
	"encoding/binary"
	"encoding/json"

	"github.com/hengedb/henge/internal/vector"
)

// nestedColumn reads a column of nested values: each row's is a Smile document in the blobs of
// base.__raw. The typed columns of its paths are left.
func nestedColumn(parts *smoosh, base string, order binary.ByteOrder, kind bitmapKind, nulls bool, rows int) (*vector.Vector, error) {
	raw := base + ".__raw"
	if !parts.has(raw) {
		return nil, unknown(base, "its nested values are only stored by their paths")
	}
	v, err := blobColumn(parts, raw, vector.JSON, order, rows)
	if err != nil {
		return nil, err
	}
	for i, document := range v.Strings {
		if document == "" {
			continue
		}
		text, err := smileJSON(raw, document)
		if err != nil {
			return nil, err
		}
		v.Strings[i] = text
	}
	if nulls {
		v.Valid, err = nullIndex(parts, base, kind, rows)
	}
	return withoutEmpty(v), err
}

// nullIndex reads a length and a bitmap.
func nullIndex(parts *smoosh, base string, kind bitmapKind, rows int) (vector.Bitmap, error) {
	c, err := parts.open(base + ".__nullIndex")
	if err != nil {
		return nil, err
	}
	b := c.take(c.count())
	if c.err != nil {
		return nil, c.err
	}
	return without(c.part, kind, b, rows)
}

func blobColumn(parts *smoosh, base string, t vector.Type, order binary.ByteOrder, rows int) (*vector.Vector, error) {
	values, err := parts.blobs(base, order)
	if err != nil {
		return nil, err
	}
	if len(values) != rows {
		return nil, corrupt(base, "it has [%d] values for [%d] rows", len(values), rows)
	}
	return &vector.Vector{Type: t, Len: rows, Strings: values}, nil
}

// withoutEmpty makes rows without a byte null.
func withoutEmpty(v *vector.Vector) *vector.Vector {
	for i, s := range v.Strings {
		if s != "" {
			continue
		}
		if v.Valid == nil {
			v.Valid = vector.FullBitmap(v.Len)
		}
		v.Valid.Clear(i)
	}
	return v
}

// columnMeta is what columns of older nested formats and compressed complex columns say of
// themselves.
type columnMeta struct {
	ByteOrder string `json:"byteOrder"`
	HasNulls  *bool  `json:"hasNulls"`
	Bitmaps   struct {
		Type bitmapKind `json:"type"`
	} `json:"bitmapSerdeFactory"`
	Base string `json:"fileNameBase"`
}

func (c *cursor) meta() (m columnMeta, order binary.ByteOrder) {
	text := c.text()
	if c.err == nil && json.Unmarshal([]byte(text), &m) != nil {
		c.fail("its description can't be read")
	}
	return m, orderOf(m.ByteOrder)
}

func (m *columnMeta) nulls() bool { return m.HasNulls == nil || *m.HasNulls }

// oldNested reads a nested column of the formats before the common one (versions 3 to 5).
func (c *cursor) oldNested(parts *smoosh, rows int) (*vector.Vector, error) {
	c.version("a nested column", 3, 4, 5)
	m, order := c.meta()
	if c.err != nil {
		return nil, c.err
	}
	return nestedColumn(parts, m.Base, order, m.Bitmaps.Type, m.nulls(), rows)
}

// compressedComplex is the first byte of a complex column in compressed blocks; others begin with
// the version of a plain list.
const compressedComplex = 0x7f

// emptySketches are the sketches without a value that are kept as no bytes, in the form that they
// have here.
var emptySketches = map[vector.Type]string{
	complexTypes["quantilesDoublesSketch"]: "\x01\x03\x08\x1e\x80\x00\x00\x00",
	complexTypes["thetaSketch"]:            "\x01\x03\x03\x00\x00\x1e\x00\x00",
	complexTypes["KllDoublesSketch"]:       "\x02\x01\x0f\x01\xc8\x00\x08\x00",
	complexTypes["KllFloatsSketch"]:        "\x02\x01\x0f\x01\xc8\x00\x08\x00",
}

// complex reads a column of opaque values, states of sketches: a list, or blobs.
func (c *cursor) complex(t vector.Type, parts *smoosh, rows int) (*vector.Vector, error) {
	if len(c.b) > 0 && (c.b[0] == compressedComplex || c.b[0] == 0) {
		if c.b[0] == compressedComplex {
			c.byte()
		}
		c.version("a compressed complex column", 0)
		m, order := c.meta()
		if c.err != nil {
			return nil, c.err
		}
		v, err := blobColumn(parts, m.Base+".__complexColumn", t, order, rows)
		if err == nil && m.nulls() {
			v.Valid, err = nullIndex(parts, m.Base, m.Bitmaps.Type, rows)
		}
		if err != nil {
			return nil, err
		}
		return withoutEmpty(v), nil
	}
	list := c.indexed(parts)
	if c.err != nil {
		return nil, c.err
	}
	values, null, err := list.texts()
	if err != nil {
		return nil, err
	}
	if len(values) != rows {
		return nil, corrupt(c.part, "it has [%d] values for [%d] rows", len(values), rows)
	}
	for i := range values {
		if values[i] == "" && !null[i] {
			values[i] = emptySketches[t]
		}
	}
	return withoutEmpty(&vector.Vector{Type: t, Len: rows, Strings: values}), nil
}
