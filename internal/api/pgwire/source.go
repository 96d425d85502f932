package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/result"
	"github.com/hengedb/henge/internal/sql/pgtype"
	"github.com/hengedb/henge/internal/vector"
)

// field is a column of an answer.
type field struct {
	name   string
	typ    pgtype.OID
	table  int64
	number int16
}

// source gives rows. Next makes the next ones current and returns how many there are, io.EOF at the
// end. It is used by one goroutine.
type source interface {
	next(ctx context.Context) (int, error)
	// append writes the value of a row and a column; null is true if there is none.
	append(dst []byte, row, column int, binary bool) (out []byte, null bool)
	close()
}

// rows are an answer on its way.
type rows struct {
	fields []field // nil: it is no rows
	source source  // nil: there are none
	tag    func(n int64) string
	// run runs the rest of the query as a statement of the session; nil: it needs no query.
	ctx    context.Context
	cancel context.CancelCauseFunc
	text   string
	// have are the current rows of the source, from at on.
	have, at int
	ended    bool
	sent     int64
}

func (r *rows) close() {
	if r.source != nil {
		r.source.close()
		r.source = nil
	}
	if r.cancel != nil {
		r.cancel(nil)
	}
}

// describeRows sends a RowDescription.
func (c *session) describeRows(fields []field, formats []int16) {
	m := &pgproto3.RowDescription{}
	for i, f := range fields {
		m.Fields = append(m.Fields, pgproto3.FieldDescription{
			Name: []byte(f.name), TableOID: uint32(f.table), TableAttributeNumber: uint16(f.number), DataTypeOID: uint32(f.typ),
			DataTypeSize: f.typ.Size(), TypeModifier: -1, Format: formatOf(formats, i),
		})
	}
	c.send(m)
}

// formatOf returns the format of a column: one for all, or each its own; text if there is none.
func formatOf(formats []int16, i int) int16 {
	switch {
	case len(formats) == 1:
		return formats[0]
	case i < len(formats):
		return formats[i]
	}
	return 0
}

// sendRows sends most rows, all if that is 0. more says that there may be others.
func (c *session) sendRows(r *rows, formats []int16, most int64) (n int64, more bool, err error) {
	if r.source == nil {
		return 0, false, nil
	}
	binaries := make([]bool, len(r.fields))
	for i := range binaries {
		binaries[i] = formatOf(formats, i) == 1
	}
	send := func() error {
		for !r.ended {
			if r.at == r.have {
				r.have, err = r.source.next(r.ctx)
				r.at = 0
				if errors.Is(err, io.EOF) {
					r.ended, r.have = true, 0
					return nil
				}
				if err != nil {
					return err
				}
			}
			for ; r.at < r.have; r.at++ {
				if most > 0 && n == most {
					more = true
					return nil
				}
				c.row(r, binaries)
				n++
				if len(c.out) >= flushBytes {
					if err := c.flush(); err != nil {
						return fatal{err}
					}
				}
			}
			if len(c.out) >= flushBytes/4 || r.have >= 1000 { // the first rows do not wait for others
				if err := c.flush(); err != nil {
					return fatal{err}
				}
			}
		}
		return nil
	}
	if r.cancel == nil {
		err = send()
	} else {
		err = c.busy(r.ctx, r.text, r.cancel, send)
	}
	if err != nil {
		return n, false, query.Cause(r.ctx, err)
	}
	r.sent += n
	return n, more, nil
}

// row frames the current row.
func (c *session) row(r *rows, binaries []bool) {
	start := len(c.out)
	out := append(c.out, 'D', 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint16(out, uint16(len(r.fields)))
	for i := range r.fields {
		at := len(out)
		out = append(out, 0xff, 0xff, 0xff, 0xff)
		var null bool
		if out, null = r.source.append(out, r.at, i, binaries[i]); !null {
			binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
		}
	}
	binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)-start-1))
	c.out = out
}

// memory are rows that are all there.
type memory struct {
	rows   [][]any
	fields []field
	style  *pgtype.Style
	given  bool
}

func (m *memory) next(context.Context) (int, error) {
	if m.given || len(m.rows) == 0 {
		return 0, io.EOF
	}
	m.given = true
	return len(m.rows), nil
}

func (m *memory) append(dst []byte, row, column int, binary bool) ([]byte, bool) {
	v := m.rows[row][column]
	if v == nil {
		return dst, true
	}
	if binary {
		return pgtype.AppendBinary(dst, m.fields[column].typ, v, m.style), false
	}
	return pgtype.AppendText(dst, m.fields[column].typ, v, m.style), false
}

func (m *memory) close() {}

// running are the rows of a query over datasources.
type running struct {
	rows   query.Rows
	batch  *vector.Batch
	encode []func(dst []byte, v *vector.Vector, row int, binary bool) []byte
	finish func(err error)
	err    error
}

func (r *running) next(ctx context.Context) (int, error) {
	for {
		b, err := r.rows.Next(ctx)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return 0, err
		}
		if b = b.Compact(); b.N > 0 {
			r.batch = b
			return b.N, nil
		}
	}
}

func (r *running) append(dst []byte, row, column int, binary bool) ([]byte, bool) {
	v := r.batch.Cols[column]
	if v.IsNull(row) {
		return dst, true
	}
	return r.encode[column](dst, v, row, binary), false
}

func (r *running) close() {
	r.rows.Close()
	r.finish(r.err)
}

// typeOf is the type that clients see for one of package expr.
func typeOf(t expr.Type) pgtype.OID {
	if t.Multi {
		return pgtype.ArrayOf(pgtype.Text)
	}
	switch t.Base {
	case expr.Boolean:
		return pgtype.Bool
	case expr.TinyInt, expr.SmallInt:
		return pgtype.Int2
	case expr.Integer:
		return pgtype.Int4
	case expr.BigInt:
		return pgtype.Int8
	case expr.Float:
		return pgtype.Float4
	case expr.Real, expr.Double:
		return pgtype.Float8
	case expr.Decimal:
		return pgtype.NumericT
	case expr.Date:
		return pgtype.DateType
	case expr.Timestamp:
		return pgtype.Timestamptz
	case expr.Array:
		return pgtype.ArrayOf(typeOf(t.Elem()))
	case expr.Other:
		if t.ComplexName() == "json" {
			return pgtype.JSONB
		}
		return pgtype.Bytea
	}
	return pgtype.Text
}

func fieldsOf(columns []result.Column) []field {
	out := make([]field, len(columns))
	for i, k := range columns {
		out[i] = field{name: k.Name, typ: typeOf(k.Type)}
	}
	return out
}

// encoderOf writes values of a column that are not NULL.
func encoderOf(t expr.Type, zone *chrono.Zone, style *pgtype.Style) func(dst []byte, v *vector.Vector, row int, binary bool) []byte {
	o := typeOf(t)
	switch {
	case !t.Multi && (o == pgtype.Text || o == pgtype.Bytea):
		if o == pgtype.Text {
			return func(dst []byte, v *vector.Vector, row int, _ bool) []byte { return append(dst, v.StringAt(row)...) }
		}
	case o == pgtype.Int8:
		return func(dst []byte, v *vector.Vector, row int, bin bool) []byte {
			if bin {
				return binary.BigEndian.AppendUint64(dst, uint64(v.LongAt(row)))
			}
			return pgtype.AppendText(dst, o, v.LongAt(row), style)
		}
	case o == pgtype.Float8:
		return func(dst []byte, v *vector.Vector, row int, bin bool) []byte {
			if bin {
				return binary.BigEndian.AppendUint64(dst, math.Float64bits(v.DoubleAt(row)))
			}
			return pgtype.AppendFloat(dst, o, v.DoubleAt(row))
		}
	case o == pgtype.Timestamptz:
		return func(dst []byte, v *vector.Vector, row int, bin bool) []byte {
			x := pgtype.Timestamp(v.LongAt(row) * 1000)
			if bin {
				return pgtype.AppendBinary(dst, o, x, style)
			}
			return pgtype.AppendTimestamp(dst, o, x, style.Zone)
		}
	}
	value := valueOf(t, zone)
	return func(dst []byte, v *vector.Vector, row int, bin bool) []byte {
		x := value(v, row)
		if bin {
			return pgtype.AppendBinary(dst, o, x, style)
		}
		return pgtype.AppendText(dst, o, x, style)
	}
}

const millisPerDay = 86_400_000

// valueOf reads values that are not NULL.
func valueOf(t expr.Type, zone *chrono.Zone) func(v *vector.Vector, row int) any {
	if t.Multi || t.Base == expr.Array {
		item := valueOf(t.Elem(), zone)
		elem := typeOf(t.Elem())
		if e := pgtype.ElementOf(elem); e != 0 {
			elem = e
		}
		return func(v *vector.Vector, row int) any {
			a := &pgtype.Array{Elem: elem, Lower: 1}
			for lo, hi := v.ListAt(row); lo < hi; lo++ {
				if v.Child.IsNull(lo) {
					a.Items = append(a.Items, nil)
					continue
				}
				a.Items = append(a.Items, item(v.Child, lo))
			}
			return a
		}
	}
	switch o := typeOf(t); o {
	case pgtype.Bool:
		return func(v *vector.Vector, row int) any { return v.LongAt(row) > 0 }
	case pgtype.Int2, pgtype.Int4, pgtype.Int8:
		return func(v *vector.Vector, row int) any { return v.LongAt(row) }
	case pgtype.Float4, pgtype.Float8, pgtype.NumericT:
		return func(v *vector.Vector, row int) any { return v.DoubleAt(row) }
	case pgtype.Timestamptz:
		return func(v *vector.Vector, row int) any { return pgtype.Timestamp(v.LongAt(row) * 1000) }
	case pgtype.DateType:
		return func(v *vector.Vector, row int) any {
			ms := v.LongAt(row)
			if zone != nil {
				ms += zone.OffsetAt(ms)
			}
			return pgtype.Date(math.Floor(float64(ms) / millisPerDay))
		}
	case pgtype.Bytea:
		return func(v *vector.Vector, row int) any { return []byte(v.StringAt(row)) }
	}
	return func(v *vector.Vector, row int) any { return v.StringAt(row) }
}
