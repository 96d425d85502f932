package expr

import (
	le "encoding/binary"
	"math"
	"slices"
	"unicode/utf16"

	"github.com/hengedb/henge/internal/expr/kernel"
	"github.com/hengedb/henge/internal/vector"
)

// rowKeyFunction gives the bytes by which native cardinality aggregators tell the combinations of
// several columns apart: each text as UTF-16, each number as it is stored, little endian, with a
// zero byte between columns. A NULL adds nothing, so that a row of NULLs has a key, too.
var rowKeyFunction = &Function{
	Name: "$ROW_KEY", Min: 1, Max: -1, SeesNulls: true, SeesLists: true,
	Bind: func(b *Binding) (Expr, error) { return b.Call(Of(Varchar).NotNull()) },
	Kernel: Fixed(func(args []*vector.Vector, n int, _ vector.Bitmap) (*vector.Vector, error) {
		out := make([]string, n)
		var key []byte
		for i := range out {
			key = key[:0]
			for j, v := range args {
				if j > 0 {
					key = append(key, 0)
				}
				key = appendRowKey(key, v, i)
			}
			out[i] = string(key)
		}
		return kernel.Wrap(out), nil
	}),
}

// valueSeparator stands between the values that a row has in one column.
const valueSeparator = "\x01"

func appendRowKey(dst []byte, v *vector.Vector, i int) []byte {
	if v.IsNull(i) {
		return dst
	}
	switch v.Type.Kind {
	case vector.KindLong:
		return le.LittleEndian.AppendUint64(dst, uint64(v.LongAt(i)))
	case vector.KindDouble:
		return le.LittleEndian.AppendUint64(dst, math.Float64bits(v.DoubleAt(i)))
	case vector.KindFloat:
		return le.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v.DoubleAt(i))))
	case vector.KindList:
		return appendValues(dst, v, i)
	}
	return appendUTF16(dst, v.StringAt(i))
}

// appendValues appends the texts of a list, whatever their order in the row.
func appendValues(dst []byte, v *vector.Vector, i int) []byte {
	lo, hi := v.ListAt(i)
	texts := make([]string, 0, hi-lo)
	known := false
	for ; lo < hi; lo++ {
		if v.Child.IsNull(lo) {
			texts = append(texts, "\x00")
			continue
		}
		texts, known = append(texts, v.Child.StringAt(lo)), true
	}
	if !known {
		return dst
	}
	slices.Sort(texts)
	for k, t := range texts {
		if k > 0 {
			dst = appendUTF16(dst, valueSeparator)
		}
		dst = appendUTF16(dst, t)
	}
	return dst
}

func appendUTF16(dst []byte, s string) []byte {
	for _, r := range s {
		if hi, lo := utf16.EncodeRune(r); r > 0xFFFF {
			dst = append(dst, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
			continue
		}
		dst = append(dst, byte(r), byte(r>>8))
	}
	return dst
}
