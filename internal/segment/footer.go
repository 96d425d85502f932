package segment

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/hengedb/henge/internal/vector"
)

// footer is the footer of a file: everything about it but the values.
type footer struct {
	rows        int
	chunkLog2   uint
	hasTimes    bool
	minTime     int64
	maxTime     int64
	sortOrder   []string
	rollup      bool
	granularity string
	metadata    json.RawMessage
	columns     []*columnMeta // those of paths after all others
	checksums   []uint32
}

// columnMeta describes a column of the file, or the elements of a list.
type columnMeta struct {
	ColumnInfo
	enc      encoding
	rows     int
	off      int64 // the range in the file; element columns lie in the range of their list
	length   int64
	parts    []part
	element  *columnMeta
	width    int // bytes of a dictionary code
	dictSize int // entries of the dictionary
}

type part struct {
	kind     partKind
	off      int64 // in the column's range
	length   int64
	firstSum int // number of its first checksum
}

// part returns the part of the given kind, or nil.
func (c *columnMeta) part(k partKind) *part {
	for i := range c.parts {
		if c.parts[i].kind == k {
			return &c.parts[i]
		}
	}
	return nil
}

func (f *footer) encode() []byte {
	b := appendUvarints(nil, tagRows, uint64(f.rows))
	b = appendUvarints(b, tagChunkLog2, uint64(f.chunkLog2))
	if f.hasTimes {
		b = appendField(b, tagTimes, binary.AppendVarint(binary.AppendVarint(nil, f.minTime), f.maxTime))
	}
	for _, s := range f.sortOrder {
		b = appendText(b, tagSortColumn, s)
	}
	if f.rollup {
		b = appendField(b, tagRollup, nil)
	}
	if f.granularity != "" {
		b = appendText(b, tagGranularity, f.granularity)
	}
	if len(f.metadata) > 0 {
		b = appendField(b, tagMetadata, f.metadata)
	}
	for _, c := range f.columns {
		tag := uint64(tagColumn)
		if c.Path != "" {
			tag = tagPathColumn
		}
		b = appendField(b, tag, c.encode(false))
	}
	return appendField(b, tagChecksums, bytesOf(f.checksums))
}

func (c *columnMeta) encode(element bool) []byte {
	var b []byte
	if element {
		b = appendUvarints(b, tagElements, uint64(c.rows))
	} else {
		b = appendText(b, tagName, c.Name)
		b = appendUvarints(b, tagRange, uint64(c.off), uint64(c.length))
	}
	b = appendText(b, tagType, c.Type.String())
	b = appendUvarints(b, tagEncoding, uint64(c.enc))
	if c.enc == encDict {
		b = appendUvarints(b, tagWidth, uint64(c.width))
	}
	if c.Multi {
		b = appendField(b, tagMulti, nil)
	}
	if c.Metric != "" {
		b = appendText(b, tagMetric, c.Metric)
	}
	if c.Path != "" {
		b = appendText(b, tagPath, c.Path)
	}
	if c.Mixed {
		b = appendField(b, tagMixed, nil)
	}
	b = appendUvarints(b, tagNulls, uint64(c.Nulls))
	switch {
	case c.Distinct < 0:
	case c.DistinctExact:
		b = appendUvarints(b, tagDistinct, uint64(c.Distinct))
	default:
		b = appendUvarints(b, tagDistinctEstimate, uint64(c.Distinct))
	}
	if c.Min != nil && c.Max != nil {
		b = appendField(b, tagMin, encodeBound(c.Min))
		b = appendField(b, tagMax, encodeBound(c.Max))
		if flags := boundFlags(c.MinExact, c.MaxExact); flags != 0 {
			b = appendUvarints(b, tagBounds, flags)
		}
	}
	for _, p := range c.parts {
		b = appendUvarints(b, tagPart, uint64(p.kind), uint64(p.off), uint64(p.length), uint64(p.firstSum))
	}
	if c.element != nil {
		b = appendField(b, tagElement, c.element.encode(true))
	}
	return b
}

func boundFlags(minExact, maxExact bool) uint64 {
	var flags uint64
	if !minExact {
		flags |= 1
	}
	if !maxExact {
		flags |= 2
	}
	return flags
}

func encodeBound(x any) []byte {
	switch x := x.(type) {
	case int64:
		return binary.AppendVarint(nil, x)
	case float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x))
	case string:
		return []byte(x)
	}
	return nil
}

// parseFooter reads a footer's record. It checks each field by itself; check (layout.go) holds them
// against each other and against the file.
func parseFooter(b []byte) (*footer, error) {
	out := &footer{rows: -1}
	var paths []*columnMeta
	f := fields{b: b}
	for {
		tag, payload, ok := f.next()
		if !ok {
			break
		}
		switch tag {
		case tagRows:
			out.rows = f.count(payload, MaxRows)
		case tagChunkLog2:
			out.chunkLog2 = uint(f.count(payload, maxChunkLog2))
		case tagTimes:
			t := f.varints(payload, 2)
			out.hasTimes, out.minTime, out.maxTime = true, t[0], t[1]
		case tagSortColumn:
			out.sortOrder = append(out.sortOrder, string(payload))
		case tagRollup:
			out.rollup = true
		case tagGranularity:
			out.granularity = string(payload)
		case tagMetadata:
			if !json.Valid(payload) {
				f.fail(errPayload)
			}
			out.metadata = append(json.RawMessage(nil), payload...)
		case tagColumn, tagPathColumn:
			c, err := parseColumn(payload, maxColumnDepth)
			if err != nil {
				return nil, err
			}
			if (tag == tagPathColumn) != (c.Path != "") {
				f.fail(errPath)
			}
			if tag == tagPathColumn {
				paths = append(paths, c)
			} else {
				out.columns = append(out.columns, c)
			}
		case tagChecksums:
			if len(payload)%4 != 0 {
				f.fail(errPayload)
				break
			}
			out.checksums = make([]uint32, len(payload)/4)
			for i := range out.checksums {
				out.checksums[i] = binary.LittleEndian.Uint32(payload[i*4:])
			}
		default:
			f.unknown(tag)
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	out.columns = append(out.columns, paths...)
	return out, nil
}

func parseColumn(b []byte, depth int) (*columnMeta, error) {
	if depth == 0 {
		return nil, fmt.Errorf("lists are nested more than [%d] deep", maxColumnDepth)
	}
	c := &columnMeta{rows: -1, off: -1}
	c.Distinct, c.MinExact, c.MaxExact = -1, true, true
	var least, greatest []byte
	f := fields{b: b}
	for {
		tag, payload, ok := f.next()
		if !ok {
			break
		}
		switch tag {
		case tagName:
			c.Name = string(payload)
		case tagType:
			t, err := vector.ParseType(string(payload))
			if err != nil {
				return nil, fmt.Errorf("a column's type is not known")
			}
			c.Type = t
		case tagEncoding:
			c.enc = encoding(f.count(payload, 255))
		case tagRange:
			r := f.uvarints(payload, 2)
			if r[0] > math.MaxInt64 || r[1] > math.MaxInt64 {
				f.fail(errPayload)
			}
			c.off, c.length = int64(r[0]), int64(r[1])
		case tagPart:
			p := f.uvarints(payload, 4)
			if p[0] > math.MaxUint32 || p[1] > math.MaxInt64 || p[2] > math.MaxInt64 || p[3] > math.MaxInt32 {
				f.fail(errPayload)
			}
			c.parts = append(c.parts, part{kind: partKind(p[0]), off: int64(p[1]), length: int64(p[2]), firstSum: int(p[3])})
		case tagElement:
			e, err := parseColumn(payload, depth-1)
			if err != nil {
				return nil, err
			}
			c.element = e
		case tagElements:
			c.rows = f.count(payload, math.MaxUint32)
		case tagWidth:
			c.width = f.count(payload, 4)
		case tagMulti:
			c.Multi = true
		case tagMetric:
			c.Metric = string(payload)
		case tagPath:
			c.Path = string(payload)
		case tagMixed:
			c.Mixed = true
		case tagNulls:
			c.Nulls = f.count(payload, math.MaxUint32)
		case tagDistinct:
			c.Distinct, c.DistinctExact = f.count(payload, math.MaxUint32), true
		case tagDistinctEstimate:
			c.Distinct, c.DistinctExact = f.count(payload, math.MaxUint32), false
		case tagMin:
			least = payload
		case tagMax:
			greatest = payload
		case tagBounds:
			flags := f.one(payload)
			c.MinExact, c.MaxExact = flags&1 == 0, flags&2 == 0
		default:
			f.unknown(tag)
		}
	}
	if least != nil && greatest != nil {
		c.Min, c.Max = decodeBound(&f, c.Type, least), decodeBound(&f, c.Type, greatest)
	}
	if f.err != nil {
		return nil, f.err
	}
	return c, nil
}

func decodeBound(f *fields, t vector.Type, payload []byte) any {
	switch t.Kind {
	case vector.KindLong:
		return f.varints(payload, 1)[0]
	case vector.KindDouble, vector.KindFloat:
		if len(payload) != 8 {
			f.fail(errPayload)
			return nil
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(payload))
	case vector.KindString:
		return string(payload)
	}
	return nil
}
