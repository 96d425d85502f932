package v9

import (
	"encoding/binary"
	"encoding/json"
	"io/fs"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// Segment is an open segment. It is used by any number of goroutines.
type Segment struct {
	parts *smoosh
	info  Info
}

// Info is what a segment says of itself.
type Info struct {
	Rows     int
	Interval chrono.Interval
	// Columns are the time and then the others, in the order of the segment.
	Columns []Column
	// Size is the bytes of all parts.
	Size int64
	Meta Metadata
}

// Column is one column.
type Column struct {
	Name string
	Type vector.Type
	// Multi is whether a list of strings is a multi-value string, and not an array.
	Multi bool

	descriptor descriptor
	part       descriptorPart
}

// Metadata is the part metadata.drd; older segments have none.
type Metadata struct {
	// Aggregators are those of the columns that were rolled up, as native aggregators in JSON.
	Aggregators []json.RawMessage `json:"aggregators"`
	// QueryGranularity is in JSON, or empty.
	QueryGranularity json.RawMessage `json:"queryGranularity"`
	Rollup           bool            `json:"rollup"`
	// Ordering are the columns that rows are sorted by; none: by time, then by the dimensions.
	Ordering []struct {
		Column string `json:"columnName"`
		Order  string `json:"order"`
	} `json:"ordering"`
}

// descriptor is the JSON at the beginning of a column's part.
type descriptor struct {
	ValueType string            `json:"valueType"`
	Multiple  bool              `json:"hasMultipleValues"`
	Parts     []json.RawMessage `json:"parts"`
}

// descriptorPart is the union of the descriptions of all encodings.
type descriptorPart struct {
	Type      string `json:"type"`
	ByteOrder string `json:"byteOrder"`
	Bitmaps   struct {
		Type bitmapKind `json:"type"`
	} `json:"bitmapSerdeFactory"`
	TypeName    string `json:"typeName"`    // complex
	LogicalType string `json:"logicalType"` // nestedCommonFormat
	HasNulls    bool   `json:"hasNulls"`
	IsVariant   bool   `json:"isVariantType"`
	Rows        int    `json:"numRows"` // null
}

// bitmaps is the kind of the column's bitmaps; old descriptors, which say nothing, mean Concise.
func (p *descriptorPart) bitmaps() bitmapKind {
	if p.Bitmaps.Type == "" {
		return conciseBitmaps
	}
	return p.Bitmaps.Type
}

func orderOf(name string) binary.ByteOrder {
	if name == "BIG_ENDIAN" {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// complexTypes are the opaque types whose values are the same bytes here, by the names that
// releases gave them.
var complexTypes = map[string]vector.Type{
	"HLLSketch": vector.ComplexOf("HLLSketch"), "HLLSketchBuild": vector.ComplexOf("HLLSketch"), "HLLSketchMerge": vector.ComplexOf("HLLSketch"),
	"thetaSketch": vector.ComplexOf("thetaSketch"), "thetaSketchBuild": vector.ComplexOf("thetaSketch"), "thetaSketchMerge": vector.ComplexOf("thetaSketch"),
	"quantilesDoublesSketch": vector.ComplexOf("quantilesDoublesSketch"), "arrayOfDoublesSketch": vector.ComplexOf("arrayOfDoublesSketch"),
	"KllDoublesSketch": vector.ComplexOf("KllDoublesSketch"), "KllFloatsSketch": vector.ComplexOf("KllFloatsSketch"),
	"hyperUnique": vector.ComplexOf("hyperUnique"),
	"json":        vector.JSON,
}

// Open reads what a segment says of itself. The files must stay where they are while the Segment is
// used.
func Open(files fs.FS) (*Segment, error) {
	const versionFile = "version.bin"
	version, err := readWhole(files, versionFile)
	if err != nil {
		return nil, err
	}
	if len(version) != 4 || binary.BigEndian.Uint32(version) != 9 {
		return nil, unknown(versionFile, "only format version 9 is read")
	}
	s := &Segment{}
	if s.parts, err = openSmoosh(files); err != nil {
		return nil, err
	}
	for _, p := range s.parts.parts {
		s.info.Size += p.to - p.from
	}
	names, err := s.readIndex()
	if err != nil {
		return nil, err
	}
	if err := s.readMetadata(); err != nil {
		return nil, err
	}
	for _, name := range append([]string{segment.TimeColumn}, names...) {
		if s.Column(name) != nil || name == "" {
			continue
		}
		c, err := s.describe(name)
		if err != nil {
			return nil, err
		}
		s.info.Columns = append(s.info.Columns, c)
	}
	times, err := s.time()
	if err != nil {
		return nil, err
	}
	s.info.Rows = len(times)
	return s, nil
}

// Info returns what the segment says of itself; the caller does not change it.
func (s *Segment) Info() *Info { return &s.info }

// Column returns the column called name, or nil.
func (s *Segment) Column(name string) *Column {
	for i := range s.info.Columns {
		if s.info.Columns[i].Name == name {
			return &s.info.Columns[i]
		}
	}
	return nil
}

// readIndex reads the names of the columns, dimensions first, and the interval.
func (s *Segment) readIndex() ([]string, error) {
	c, err := s.parts.open("index.drd")
	if err != nil {
		return nil, err
	}
	columns, dimensions := c.indexed(s.parts), c.indexed(s.parts)
	s.info.Interval = chrono.Interval{Start: c.long(), End: c.long()}
	if c.err != nil {
		return nil, c.err
	}
	names, _, err := columns.texts()
	if err != nil {
		return nil, err
	}
	first, _, err := dimensions.texts()
	if err != nil {
		return nil, err
	}
	for _, name := range first {
		if !slices.Contains(names, name) {
			return nil, corrupt(c.part, "a dimension is not among the columns")
		}
	}
	return append(first, names...), nil // a name that comes twice counts once
}

// readMetadata reads metadata.drd. Aggregators that it can't be read for are no reason to refuse a
// segment, as in Druid. See quirk Q014.
func (s *Segment) readMetadata() error {
	if !s.parts.has("metadata.drd") {
		return nil
	}
	c, err := s.parts.open("metadata.drd")
	if err != nil {
		return err
	}
	if json.Unmarshal(trimZero(c.b), &s.info.Meta) != nil {
		s.info.Meta = Metadata{}
	}
	return nil
}

// describe reads the descriptor of a column, and what else its type depends on.
func (s *Segment) describe(name string) (Column, error) {
	col := Column{Name: name}
	c, err := s.column(&col)
	if err != nil {
		return col, err
	}
	switch p := &col.part; p.Type {
	case "long", "longV2":
		col.Type = vector.Long
	case "float", "floatV2":
		col.Type = vector.Float
	case "double", "doubleV2":
		col.Type = vector.Double
	case "stringDictionary":
		if col.Type = vector.String; col.descriptor.Multiple {
			col.Type, col.Multi = vector.ListOf(vector.String), true
		}
	case "null":
		col.Type = vector.String
		if t, err := vector.ParseType(col.descriptor.ValueType); err == nil && (t.IsNumeric() || t == vector.String) {
			col.Type = t
		}
	case "complex":
		t, known := complexTypes[p.TypeName]
		if pair, is := pairTypes[p.TypeName]; is {
			t, known = pair, true
		}
		if !known {
			return col, unknown(name, "it has the complex type [%.60q]", p.TypeName)
		}
		col.Type = t
	case "nestedCommonFormat":
		if col.Type, err = vector.ParseType(p.LogicalType); err != nil {
			return col, unknown(name, "it has the type [%.60q]", p.LogicalType)
		}
		if p.IsVariant || col.Type.Kind == vector.KindList {
			common := s.commonColumn(&col)
			if c.header(common); c.err != nil {
				return col, c.err
			}
			col.Type = common.typ
		}
	default:
		return col, unknown(name, "it has the encoding [%.60q]", p.Type)
	}
	return col, nil
}

// column opens the part of a column and reads its descriptor into col.
func (s *Segment) column(col *Column) (*cursor, error) {
	c, err := s.parts.open(col.Name)
	if err != nil {
		return nil, err
	}
	text := trimZero([]byte(c.text()))
	if c.err != nil {
		return nil, c.err
	}
	if json.Unmarshal(text, &col.descriptor) != nil || len(col.descriptor.Parts) == 0 || json.Unmarshal(col.descriptor.Parts[0], &col.part) != nil {
		return nil, corrupt(col.Name, "its descriptor can't be read")
	}
	if len(col.descriptor.Parts) > 1 {
		return nil, unknown(col.Name, "it has [%d] parts", len(col.descriptor.Parts))
	}
	return c, nil
}

func (s *Segment) commonColumn(col *Column) *common {
	return &common{
		parts: s.parts, order: orderOf(col.part.ByteOrder), kind: col.part.bitmaps(), typ: col.Type, rows: s.info.Rows, nulls: col.part.HasNulls,
		mixed: col.part.IsVariant,
	}
}

// time reads the time column, which tells how many rows there are.
func (s *Segment) time() ([]int64, error) {
	col := s.Column(segment.TimeColumn)
	if col == nil || col.Type != vector.Long {
		return nil, corrupt(segment.TimeColumn, "it is not a column of longs")
	}
	at := *col
	c, err := s.column(&at)
	if err != nil {
		return nil, err
	}
	if at.part.Type == "longV2" {
		c.int()
	}
	times := c.longs(orderOf(at.part.ByteOrder), s.parts)
	return times, c.err
}

// Read returns the values of a column. Texts come as codes into a dictionary, whose entries need
// not be sorted nor all be used.
func (s *Segment) Read(name string) (*vector.Vector, error) {
	col := s.Column(name)
	if col == nil {
		return nil, corrupt(name, "there is no such column")
	}
	at := *col
	c, err := s.column(&at)
	if err != nil {
		return nil, err
	}
	v, err := s.values(&at, c)
	if err == nil {
		err = c.err
	}
	if err != nil {
		return nil, err
	}
	if v.Len != s.info.Rows {
		return nil, corrupt(name, "it has [%d] rows, the segment [%d]", v.Len, s.info.Rows)
	}
	if v.Type != col.Type {
		return nil, corrupt(name, "its values have type [%s], its descriptor says [%s]", v.Type, col.Type)
	}
	return v, nil
}

func (s *Segment) values(col *Column, c *cursor) (*vector.Vector, error) {
	order := orderOf(col.part.ByteOrder)
	rows := s.info.Rows
	switch col.part.Type {
	case "long":
		return vector.FromLongs(c.longs(order, s.parts)), nil
	case "float":
		return vector.FromFloats(c.floats(order, s.parts)), nil
	case "double":
		return vector.FromDoubles(c.doubles(order, s.parts)), nil
	case "longV2", "floatV2", "doubleV2":
		return s.nullable(col, c, order)
	case "stringDictionary":
		v := c.strings(order, s.parts)
		if c.err == nil && !col.Multi && v.Type.Kind == vector.KindList {
			c.fail("rows have several texts, and its descriptor says one")
		}
		if c.err == nil && col.Multi && v.Type.Kind != vector.KindList {
			v = segment.AsMulti(v)
		}
		return v, c.err
	case "null":
		return vector.Nulls(col.Type, rows), nil
	case "complex":
		if col.Type == vector.JSON {
			return c.oldNested(s.parts, rows)
		}
		if _, is := pairTypes[col.part.TypeName]; is {
			return c.pairs(col.Type, s.parts, rows)
		}
		return c.complex(col.Type, s.parts, rows)
	}
	common := s.commonColumn(col)
	if c.header(common); c.err != nil {
		return nil, c.err
	}
	if common.typ == vector.JSON {
		return nestedColumn(s.parts, common.name, order, common.kind, common.nulls, rows)
	}
	return common.read()
}

// nullable reads a column of numbers that says how long its values are, because a bitmap of the
// nulls may follow them.
func (s *Segment) nullable(col *Column, c *cursor, order binary.ByteOrder) (v *vector.Vector, err error) {
	values := &cursor{part: c.part, b: c.take(c.count()), err: c.err}
	switch col.Type {
	case vector.Long:
		v = vector.FromLongs(values.longs(order, s.parts))
	case vector.Float:
		v = vector.FromFloats(values.floats(order, s.parts))
	default:
		v = vector.FromDoubles(values.doubles(order, s.parts))
	}
	if values.err != nil {
		return nil, values.err
	}
	if len(c.b) > 0 {
		nulls := c.take(c.count())
		if c.err != nil {
			return nil, c.err
		}
		v.Valid, err = without(c.part, col.part.bitmaps(), nulls, v.Len)
	}
	return v, err
}
