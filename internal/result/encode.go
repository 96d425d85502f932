package result

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// encoder appends the JSON form of one value that is not null.
type encoder func(dst []byte, v *vector.Vector, row int) []byte

const msPerDay = 24 * 60 * 60 * 1000

// encoderOf picks the encoder for a column; scratch is memory that the encoders of one Writer
// share.
func encoderOf(t expr.Type, o *Options, scratch *[]byte) encoder {
	switch {
	case t.Multi:
		one := encoderOf(t.Elem(), o, scratch)
		list := listEncoder(one)
		return func(dst []byte, v *vector.Vector, row int) []byte {
			if lo, hi := v.ListAt(row); hi-lo == 1 {
				if v.Child.IsNull(lo) {
					return append(dst, "null"...)
				}
				return one(dst, v.Child, lo)
			}
			return quoted(dst, v, row, list, scratch)
		}
	case t.Base == expr.Boolean:
		return func(dst []byte, v *vector.Vector, row int) []byte { return strconv.AppendBool(dst, v.LongAt(row) > 0) }
	case t.Base == expr.Timestamp && o.Epoch:
		zone := o.Zone
		return func(dst []byte, v *vector.Vector, row int) []byte {
			ms := v.LongAt(row)
			return strconv.AppendInt(dst, ms+zone.OffsetAt(ms), 10)
		}
	case t.Base == expr.Date && o.Epoch:
		zone := o.Zone
		return func(dst []byte, v *vector.Vector, row int) []byte {
			ms := v.LongAt(row)
			return strconv.AppendInt(dst, floorDiv(ms+zone.OffsetAt(ms), msPerDay), 10)
		}
	case t.IsTime():
		zone := o.Zone
		return func(dst []byte, v *vector.Vector, row int) []byte {
			dst = append(dst, '"')
			dst = chrono.AppendMillis(dst, v.LongAt(row), zone)
			return append(dst, '"')
		}
	case t.Base == expr.Array:
		list := listEncoder(elementEncoder(t.Elem()))
		if !o.StringifyArrays && o.Format != CSV {
			return list
		}
		return func(dst []byte, v *vector.Vector, row int) []byte { return quoted(dst, v, row, list, scratch) }
	case t.Base == expr.Other && t.ComplexName() == "json":
		return func(dst []byte, v *vector.Vector, row int) []byte { return appendString(dst, v.StringAt(row)) }
	case agg.IsTimed(t.Runtime()):
		return func(dst []byte, v *vector.Vector, row int) []byte {
			*scratch = agg.AppendTimed((*scratch)[:0], v.Type, v.StringAt(row))
			return appendString(dst, string(*scratch))
		}
	case t.Base == expr.Other:
		return func(dst []byte, v *vector.Vector, row int) []byte {
			if sketch.IsText(v.StringAt(row)) {
				return appendString(dst, v.StringAt(row))
			}
			return quoted(dst, v, row, appendBase64, scratch)
		}
	}
	return scalarEncoder(t.Runtime())
}

func appendBase64(dst []byte, v *vector.Vector, row int) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(v.StringAt(row)))
	return append(dst, '"')
}

func scalarEncoder(t vector.Type) encoder {
	switch t.Kind {
	case vector.KindLong:
		return func(dst []byte, v *vector.Vector, row int) []byte { return strconv.AppendInt(dst, v.LongAt(row), 10) }
	case vector.KindDouble:
		return func(dst []byte, v *vector.Vector, row int) []byte {
			x := v.DoubleAt(row)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return append(expr.AppendDouble(append(dst, '"'), x), '"')
			}
			return expr.AppendDouble(dst, x)
		}
	case vector.KindFloat:
		return func(dst []byte, v *vector.Vector, row int) []byte {
			x := v.DoubleAt(row)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return append(expr.AppendDouble(append(dst, '"'), x), '"')
			}
			return expr.AppendFloat(dst, float32(x))
		}
	}
	return func(dst []byte, v *vector.Vector, row int) []byte { return appendString(dst, v.StringAt(row)) }
}

func elementEncoder(t expr.Type) encoder {
	if t.Base == expr.Array {
		return listEncoder(elementEncoder(t.Elem()))
	}
	switch {
	case t == expr.JSON.OrNull(t.Nullable):
		return func(dst []byte, v *vector.Vector, row int) []byte { return append(dst, v.StringAt(row)...) }
	case t.Base == expr.Float: // widened, as elements are wherever they are computed with
		return scalarEncoder(vector.Double)
	case t.Base == expr.Other:
		return appendBase64
	}
	return scalarEncoder(t.Runtime())
}

func listEncoder(elem encoder) encoder {
	return func(dst []byte, v *vector.Vector, row int) []byte {
		lo, hi := v.ListAt(row)
		dst = append(dst, '[')
		for i := lo; i < hi; i++ {
			if i > lo {
				dst = append(dst, ',')
			}
			if v.Child.IsNull(i) {
				dst = append(dst, "null"...)
			} else {
				dst = elem(dst, v.Child, i)
			}
		}
		return append(dst, ']')
	}
}

// quoted appends what enc gives as a JSON string: JSON text inside a string.
func quoted(dst []byte, v *vector.Vector, row int, enc encoder, scratch *[]byte) []byte {
	*scratch = enc((*scratch)[:0], v, row)
	return appendString(dst, string(*scratch))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
