package ingest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/parquet"
	"github.com/hengedb/henge/internal/vector"
)

// declaredColumn is a column as a file describes it.
type declaredColumn struct {
	name, sqlType string
	// timed is how the values that are read are times: "millis", "iso"; "": they are none.
	timed string
	// checked says that the values decide: whole numbers that BIGINT may not hold.
	checked bool
	note    string
}

// columnar surveys a Parquet or ORC file: its columns are what it says, and only those that may be
// the time are read.
func (s *Surveyor) columnar(ctx context.Context, in *input) error {
	var list []declaredColumn
	var rows int64
	var err error
	if s.kind == kindParquet {
		list, rows, err = parquetSchema(ctx, in)
	} else {
		list, rows, err = orcSchema(ctx, in)
	}
	if err != nil {
		return err
	}
	before := s.records
	for _, d := range list {
		if d.name == "" {
			s.unnamed.add(s, nil)
			continue
		}
		c := s.column(d.name)
		if err := c.declare(s, d); err != nil {
			return err
		}
		if d.note != "" {
			s.note(d.note)
		}
	}
	for _, d := range list {
		c := s.column(d.name)
		if d.checked || s.mayBeTime(c) {
			s.record, s.records = 0, before
			if err := s.readColumn(ctx, in, c, d); err != nil {
				return err
			}
		}
	}
	s.record, s.records = rows, before+rows
	return nil
}

// note keeps a note once.
func (s *Surveyor) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

// declare gives a column the type that a file says, which may be another than that of the files
// before.
func (c *surveyed) declare(s *Surveyor, d declaredColumn) error {
	switch {
	case c.declared == "" || c.declared == d.sqlType:
		c.declared, c.timed = d.sqlType, d.timed
		return nil
	case numeric(c.declared) && numeric(d.sqlType):
		whole := c.declared == typeLong || d.sqlType == typeLong
		if c.declared = typeDouble; c.timed != d.timed || whole {
			c.timed = ""
		}
		note := "Column \"" + printable(c.name) + "\" is of several types of numbers in these files; it is loaded as DOUBLE"
		if whole {
			note += ", which rounds whole numbers beyond 2^53"
		}
		s.note(note + ".")
		return nil
	}
	return fault.InvalidInput("Column [%s] is %s in [%s] and %s in a file before it; load them one after the other", printable(c.name), d.sqlType,
		printable(s.file), c.declared)
}

func numeric(sqlType string) bool {
	return sqlType == typeLong || sqlType == typeDouble || sqlType == typeFloat
}

// mayBeTime reports whether a declared column must be looked at because it may be the time.
func (s *Surveyor) mayBeTime(c *surveyed) bool {
	if s.o.Time != "" {
		return s.o.Time == c.name
	}
	return c.timed != "" || slices.Contains(timeNames, strings.ToLower(c.name)) && (c.declared == typeLong || c.declared == typeText)
}

// readColumn surveys the values of one column.
func (s *Surveyor) readColumn(ctx context.Context, in *input, c *surveyed, d declaredColumn) error {
	field := Field{Name: c.name, Type: vector.String}
	if d.sqlType == typeLong && !d.checked {
		field.Type = vector.Long
	} else if d.sqlType != typeText && !d.checked && d.sqlType != typeDouble && d.sqlType != typeFloat {
		return nil
	}
	wire, err := s.marshalFormat()
	if err != nil {
		return err
	}
	f, err := ParseFormat(wire)
	if err != nil {
		return err
	}
	r, err := (&Table{Source: &Local{}, Format: f, Fields: []Field{field}}).Open(ctx, in.split, in.opts)
	if err != nil {
		return err
	}
	for {
		b, err := r.Next(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, r.Close())
		}
		c.see(s, b, d.sqlType)
	}
}

// see surveys the values of a batch of one column.
func (c *surveyed) see(s *Surveyor, b *vector.Batch, sqlType string) {
	v := b.Cols[0]
	for i := range b.N {
		s.begin()
		switch {
		case v.IsNull(i):
		case v.Type == vector.Long:
			s.present(c)
			n := v.LongAt(i)
			k := classOfLong(n)
			raw := strconv.AppendInt(nil, n, 10)
			c.values.of[k].add(s, raw)
			if c.timed == "" {
				c.watch.number(s, raw, k)
			}
		default:
			s.present(c)
			raw := []byte(v.StringAt(i))
			k := classText
			if sqlType != typeText && isJSONNumber(raw) {
				k = classOfNumber(raw)
			}
			c.values.of[k].add(s, raw)
			if k == classText {
				c.watch.text(s, raw)
			} else {
				c.watch.number(s, raw, k)
			}
		}
		s.end()
	}
}

// parquetSchema returns the columns of a Parquet file.
func parquetSchema(ctx context.Context, in *input) (out []declaredColumn, rows int64, err error) {
	p, err := (&Parquet{flat: &flattening{discover: true}}).openFile(ctx, in)
	if err != nil {
		return nil, 0, err
	}
	for _, g := range p.groups {
		rows += g.Rows
	}
	for _, c := range p.file.Root.Children {
		out = append(out, parquetColumn(c))
	}
	return out, rows, p.src.Close()
}

func parquetColumn(c *parquet.Column) declaredColumn {
	d := declaredColumn{name: c.Name, sqlType: typeJSON}
	leaf, list := c, c.Repeated
	if !c.Leaf {
		if leaf = elementOf(c); leaf == nil {
			return d
		}
		list = true
	}
	d.sqlType, d.timed, d.checked, d.note = parquetLeaf(leaf, printable(c.Name))
	if list {
		d.timed, d.checked = "", false
		if d.sqlType == typeFloat {
			d.sqlType = typeDouble
		}
		d.sqlType += " ARRAY"
	}
	return d
}

// elementOf returns the leaf of a list of scalars, nil for all other groups.
func elementOf(c *parquet.Column) *parquet.Column {
	if c.Logical != parquet.List || len(c.Children) != 1 {
		return nil
	}
	inner := c.Children[0]
	if inner.Leaf {
		return inner
	}
	if len(inner.Children) == 1 && inner.Children[0].Leaf && !inner.Children[0].Repeated {
		return inner.Children[0]
	}
	return nil
}

// maxExactDigits is how many digits of a decimal a double always holds.
const maxExactDigits = 15

// parquetLeaf returns the type of a column without parts.
func parquetLeaf(c *parquet.Column, name string) (sqlType, timed string, checked bool, note string) {
	switch c.Logical {
	case parquet.Decimal:
		switch {
		case c.Scale == 0 && c.Precision <= 18:
			return typeLong, "", false, ""
		case c.Precision <= maxExactDigits:
			return typeDouble, "", false, ""
		}
		return typeText, "", false, "Column \"" + name + "\" holds decimals of " + strconv.Itoa(int(c.Precision)) +
			" digits, more than DOUBLE keeps; it is loaded as text."
	case parquet.Timestamp:
		return typeLong, "millis", false, finerNote(c.Unit, name)
	case parquet.Time:
		return typeLong, "", false, finerNote(c.Unit, name)
	case parquet.Date:
		return typeLong, "millis", false, ""
	case parquet.Integer:
		return typeLong, "", !c.Signed && c.Bits == 64, ""
	case parquet.Float16:
		return typeFloat, "", false, ""
	}
	switch c.Type {
	case parquet.Int32, parquet.Int64:
		return typeLong, "", false, ""
	case parquet.Int96:
		return typeLong, "millis", false, "Column \"" + name + "\" holds times in nanoseconds; they are kept in milliseconds."
	case parquet.Float:
		return typeFloat, "", false, ""
	case parquet.Double:
		return typeDouble, "", false, ""
	case parquet.ByteArray, parquet.FixedBytes:
		if c.Logical == parquet.NoLogical {
			note = "Column \"" + name + "\" holds bytes that the file does not call text; they are loaded in base 64."
		}
	}
	return typeText, "", false, note
}

func finerNote(u parquet.Unit, name string) string {
	unit := "microseconds"
	switch u {
	case parquet.Millis:
		return ""
	case parquet.Nanos:
		unit = "nanoseconds"
	}
	return "Column \"" + name + "\" holds times in " + unit + "; they are kept in milliseconds."
}

// orcSchema returns the columns of an ORC file.
func orcSchema(ctx context.Context, in *input) (out []declaredColumn, rows int64, err error) {
	o, err := (&ORC{flat: &flattening{discover: true}}).openFile(ctx, in)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range o.stripes {
		rows += int64(s.rows)
	}
	root := o.tail.types[0]
	for i, name := range root.names {
		t := o.tail.types[root.subtypes[i]]
		d := declaredColumn{name: name}
		if d.sqlType, d.timed, d.note = orcScalar(t.kind, printable(name)); t.kind == orcList {
			element := o.tail.types[t.subtypes[0]]
			if d.sqlType, _, d.note = orcScalar(element.kind, printable(name)); d.sqlType == typeFloat {
				d.sqlType = typeDouble
			}
			if d.sqlType != typeJSON {
				d.sqlType += " ARRAY"
			}
		}
		out = append(out, d)
	}
	return out, rows, o.file.Close()
}

func orcScalar(kind orcKind, name string) (sqlType, timed, note string) {
	switch kind {
	case orcByte, orcShort, orcInt, orcLong:
		return typeLong, "", ""
	case orcFloat:
		return typeFloat, "", ""
	case orcDouble:
		return typeDouble, "", ""
	case orcDecimal:
		return typeDouble, "", "Column \"" + name + "\" holds decimals; they are loaded as DOUBLE, which keeps 15 digits of each."
	case orcTimestamp, orcInstant:
		return typeLong, "millis", "Column \"" + name + "\" holds times in nanoseconds; they are kept in milliseconds."
	case orcDate:
		return typeText, "iso", ""
	case orcList, orcMap, orcStruct, orcUnion:
		return typeJSON, "", ""
	case orcBinary:
		return typeText, "", "Column \"" + name + "\" holds bytes; they are loaded in base 64."
	}
	return typeText, "", ""
}
