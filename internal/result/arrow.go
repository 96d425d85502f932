package result

import (
	"io"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/arrow"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/vector"
)

// ArrowColumns returns the Arrow types of columns: integers become int64, FLOAT float32 and other
// fractions float64, TIMESTAMP an instant in milliseconds, DATE a day of the wall clock in zone,
// strings and JSON utf8, arrays and multi-value strings lists, sketches binary. String columns are
// dictionary-encoded if requested.
func ArrowColumns(columns []Column, zone *chrono.Zone, dictionaries bool) []arrow.Column {
	if zone == nil {
		zone = chrono.UTC
	}
	out := make([]arrow.Column, len(columns))
	for i, c := range columns {
		t := arrowType(c.Type)
		// All columns may have nulls: a plan may be sure of what a damaged row would not keep.
		out[i] = arrow.Column{Field: arrow.Field{Name: c.Name, Type: t, Nullable: true}}
		if dictionaries && t == arrow.Text && c.Type.IsCharacter() {
			out[i].Dictionary = &arrow.Encoding{ID: int64(i), Index: arrow.Int32}
		}
		inner := c.Type
		for inner.Base == expr.Array || inner.Multi {
			inner = inner.Elem()
		}
		switch {
		case inner.Base == expr.Date:
			out[i].Whole = func(ms int64) int64 { return floorDiv(ms+zone.OffsetAt(ms), msPerDay) }
		case agg.IsTimed(inner.Runtime()):
			out[i].Render = func(dst []byte, v *vector.Vector, row int) []byte {
				return agg.AppendTimed(dst, v.Type, v.StringAt(row))
			}
		}
	}
	return out
}

func arrowType(t expr.Type) *arrow.Type {
	switch {
	case t.Multi || t.Base == expr.Array:
		return arrow.ListOf(arrowType(t.Elem()))
	case t.Base == expr.Boolean:
		return arrow.Boolean
	case t.Base == expr.Timestamp:
		return arrow.Instant
	case t.Base == expr.Date:
		return arrow.Days
	case t.Base == expr.Other && (t.ComplexName() == "json" || agg.IsTimed(t.Runtime())):
		return arrow.Text
	case t.Base == expr.Other:
		return arrow.Bytes
	}
	switch t.Runtime().Kind {
	case vector.KindLong:
		return arrow.Int64
	case vector.KindDouble:
		return arrow.Float64
	case vector.KindFloat:
		return arrow.Float32
	}
	return arrow.Text
}

// arrowWriter writes the rows of a Writer as an Arrow stream.
type arrowWriter struct {
	frames *arrow.Framed
	*arrow.Writer
}

func newArrowWriter(w io.Writer, columns []Column, zone *chrono.Zone) *arrowWriter {
	frames := arrow.NewFramed(w)
	return &arrowWriter{frames, arrow.NewWriter(ArrowColumns(columns, zone, true), frames.Message)}
}

// close writes what waits and the end mark.
func (w *arrowWriter) close() error {
	if err := w.Flush(); err != nil {
		return err
	}
	return w.frames.End()
}
