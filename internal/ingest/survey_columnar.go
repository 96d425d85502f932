package ingest

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/ingest/evidence"
	"github.com/hengedb/henge/internal/ingest/orc"
	"github.com/hengedb/henge/internal/ingest/parquet"
	"github.com/hengedb/henge/internal/ingest/record"
	"github.com/hengedb/henge/internal/vector"
)

// declaredColumn is a column as a file describes it.
type declaredColumn struct {
	name, sqlType string
	// timed is how the values that are read are times: "millis", "iso"; "": they are none.
	timed string
	// checked says that the values decide: whole numbers that BIGINT may not hold, decimals that
	// DOUBLE may not.
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
	before := s.Records
	for _, d := range list {
		if d.name == "" {
			s.unnamed.Add(&s.Position, nil)
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
			s.Record, s.Records = 0, before
			if err := s.readColumn(ctx, in, c, d); err != nil {
				return err
			}
		}
	}
	s.Record, s.Records = rows, before+rows
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
		whole := c.declared == evidence.TypeLong || d.sqlType == evidence.TypeLong
		if c.declared = evidence.TypeDouble; c.timed != d.timed || whole {
			c.timed = ""
		}
		note := "Column \"" + record.Printable(c.name) + "\" is of several types of numbers in these files; it is loaded as DOUBLE"
		if whole {
			note += ", which rounds whole numbers beyond 2^53"
		}
		s.note(note + ".")
		return nil
	}
	return fault.InvalidInput("Column [%s] is %s in [%s] and %s in a file before it; load them one after the other", record.Printable(c.name), d.sqlType,
		record.Printable(s.File), c.declared)
}

func numeric(sqlType string) bool {
	return sqlType == evidence.TypeLong || sqlType == evidence.TypeDouble || sqlType == evidence.TypeFloat
}

// mayBeTime reports whether a declared column must be looked at because it may be the time.
func (s *Surveyor) mayBeTime(c *surveyed) bool {
	switch {
	case s.o.NoTime:
		return false
	case s.o.Time != "":
		return s.o.Time == c.name
	}
	return c.timed != "" || slices.Contains(timeNames, strings.ToLower(c.name)) && (c.declared == evidence.TypeLong || c.declared == evidence.TypeText)
}

// readColumn surveys the values of one column.
func (s *Surveyor) readColumn(ctx context.Context, in *input, c *surveyed, d declaredColumn) error {
	field := Field{Name: c.name, Type: vector.String}
	if d.sqlType == evidence.TypeLong && !d.checked {
		field.Type = vector.Long
	} else if d.sqlType != evidence.TypeText && !d.checked && d.sqlType != evidence.TypeDouble && d.sqlType != evidence.TypeFloat {
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
	if o, ok := f.(*ORC); ok {
		o.exact = true
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
			k := evidence.ClassOfLong(n)
			raw := strconv.AppendInt(nil, n, 10)
			c.values.Of[k].Add(&s.Position, raw)
			if c.timed == "" {
				c.watch.Number(&s.Position, raw, k)
			}
		default:
			s.present(c)
			raw := []byte(v.StringAt(i))
			k := evidence.Text
			if sqlType != evidence.TypeText && record.IsJSONNumber(raw) {
				k = evidence.ClassOfNumber(raw)
			}
			c.values.Of[k].Add(&s.Position, raw)
			if k == evidence.Text {
				c.watch.Text(&s.Position, raw)
			} else {
				c.watch.Number(&s.Position, raw, k)
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
	d := declaredColumn{name: c.Name, sqlType: evidence.TypeJSON}
	leaf, list := c, c.Repeated
	if !c.Leaf {
		if leaf = elementOf(c); leaf == nil {
			return d
		}
		list = true
	}
	d.sqlType, d.timed, d.checked, d.note = parquetLeaf(leaf, record.Printable(c.Name))
	if list {
		d.timed, d.checked = "", false
		if d.sqlType == evidence.TypeFloat {
			d.sqlType = evidence.TypeDouble
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
			return evidence.TypeLong, "", false, ""
		case c.Precision <= maxExactDigits:
			return evidence.TypeDouble, "", false, ""
		}
		return evidence.TypeText, "", false, "Column \"" + name + "\" holds decimals of " + strconv.Itoa(int(c.Precision)) +
			" digits, more than DOUBLE keeps; it is loaded as text."
	case parquet.Timestamp:
		return evidence.TypeLong, "millis", false, finerNote(c.Unit, name)
	case parquet.Time:
		return evidence.TypeLong, "", false, finerNote(c.Unit, name)
	case parquet.Date:
		return evidence.TypeLong, "millis", false, dateNote(name)
	case parquet.Integer:
		return evidence.TypeLong, "", !c.Signed && c.Bits == 64, ""
	case parquet.Float16:
		return evidence.TypeFloat, "", false, ""
	}
	switch c.Type {
	case parquet.Int32, parquet.Int64:
		return evidence.TypeLong, "", false, ""
	case parquet.Int96:
		return evidence.TypeLong, "millis", false, "Column \"" + name + "\" holds times in nanoseconds; they are kept in milliseconds."
	case parquet.Float:
		return evidence.TypeFloat, "", false, ""
	case parquet.Double:
		return evidence.TypeDouble, "", false, ""
	case parquet.ByteArray, parquet.FixedBytes:
		if c.Logical == parquet.NoLogical {
			note = "Column \"" + name + "\" holds bytes that the file does not call text; they are loaded in base 64."
		}
	}
	return evidence.TypeText, "", false, note
}

func dateNote(name string) string {
	return "Column \"" + name + "\" holds dates; they are loaded as milliseconds since 1970-01-01."
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
		rows += int64(s.Rows)
	}
	root := o.Types()[0]
	for i, name := range root.Names {
		t := o.Types()[root.Subtypes[i]]
		d := declaredColumn{name: name}
		d.checked = t.Kind == orc.Decimal
		if d.sqlType, d.timed, d.note = orcScalar(t.Kind, record.Printable(name)); t.Kind == orc.List {
			element := o.Types()[t.Subtypes[0]]
			if d.sqlType, _, d.note = orcScalar(element.Kind, record.Printable(name)); d.sqlType == evidence.TypeFloat {
				d.sqlType = evidence.TypeDouble
			}
			if d.sqlType != evidence.TypeJSON {
				d.sqlType += " ARRAY"
			}
		}
		out = append(out, d)
	}
	return out, rows, o.src.Close()
}

func orcScalar(kind orc.Kind, name string) (sqlType, timed, note string) {
	switch kind {
	case orc.Byte, orc.Short, orc.Int, orc.Long:
		return evidence.TypeLong, "", ""
	case orc.Float:
		return evidence.TypeFloat, "", ""
	case orc.Double:
		return evidence.TypeDouble, "", ""
	case orc.Decimal:
		return evidence.TypeDouble, "", "Column \"" + name + "\" holds decimals; they are loaded as DOUBLE."
	case orc.Timestamp, orc.Instant:
		return evidence.TypeLong, "millis", "Column \"" + name + "\" holds times in nanoseconds; they are kept in milliseconds."
	case orc.Date:
		return evidence.TypeText, "iso", ""
	case orc.List, orc.Map, orc.Struct, orc.Union:
		return evidence.TypeJSON, "", ""
	case orc.Binary:
		return evidence.TypeText, "", "Column \"" + name + "\" holds bytes; they are loaded in base 64."
	}
	return evidence.TypeText, "", ""
}
