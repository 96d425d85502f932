package agg

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Types of intermediate values that rolled-up columns keep as one value and that are no sketches.
// The bytes of VarianceType and MeanType are those of Druid, big endian: count, sum and sum of
// squared distances from the mean; sum and count. See quirk Q008.
var (
	VarianceType    = vector.ComplexOf("variance")
	MeanType        = vector.ComplexOf("doubleMean")
	TimedLongType   = vector.ComplexOf("serializablePairLongLong")
	TimedDoubleType = vector.ComplexOf("serializablePairLongDouble")
	TimedFloatType  = vector.ComplexOf("serializablePairLongFloat")
	TimedTextType   = vector.ComplexOf("serializablePairLongString")
)

// packing makes one value of the intermediate values of a group, of which there are several, so
// that a rolled-up column can hold them.
type packing struct {
	// packed returns the type of the value for a call with such arguments; false: there is none.
	packed func(args []vector.Type) (vector.Type, bool)
	// args returns arguments whose intermediate values a type packs; false: it packs others.
	args func(packed vector.Type) ([]vector.Type, bool)
	// append appends the value of row i of parts; nothing: the group is empty, which is null.
	append func(dst []byte, parts []*vector.Vector, i int) []byte
	// read takes a value apart; false: it is damaged.
	read func(text string, types []vector.Type, parts []*vector.Builder) bool
	// empty appends the intermediate values of an empty group.
	empty func(parts []*vector.Builder)
}

// call is a Spec with its function.
type call struct {
	*Function
	// raw are the arguments that the function is made for, where those of the Spec are packed.
	raw Spec
	// packed is the type of intermediate values, where they are packed.
	packed  vector.Type
	packs   bool // they are
	unpacks bool // the first argument is packed, too
}

func (c *call) intermediate() []vector.Type {
	if c.packs {
		return []vector.Type{c.packed}
	}
	return c.partial(c.raw)
}

func (c *call) state() State {
	s := c.create(c.raw)
	if c.packs {
		return &packedState{State: s, c: c}
	}
	return s
}

// packedState packs the intermediate values of a state.
type packedState struct {
	State
	c *call
}

// Update implements State.
func (s *packedState) Update(args []*vector.Vector, groups []uint32, n int) error {
	if s.c.unpacks {
		return s.Merge(args, groups, n)
	}
	return s.State.Update(args, groups, n)
}

// Merge implements State.
func (s *packedState) Merge(parts []*vector.Vector, groups []uint32, n int) error {
	types := s.c.partial(s.c.raw)
	builders, apart := make([]*vector.Builder, len(types)), make([]*vector.Vector, len(types))
	for i, t := range types {
		builders[i] = vector.NewBuilder(t, n)
	}
	for i := range n {
		if parts[0].IsNull(i) {
			s.c.packing.empty(builders)
		} else if !s.c.packing.read(parts[0].StringAt(i), types, builders) {
			return fault.InvalidInput("A value of type [%s] that aggregation [%s] reads is damaged", s.c.packed, s.c.raw.Name)
		}
	}
	for i, b := range builders {
		apart[i] = b.Build()
	}
	return s.State.Merge(apart, groups, n)
}

// Partial implements State.
func (s *packedState) Partial(lo, hi int) []*vector.Vector {
	parts := s.State.Partial(lo, hi)
	b := vector.NewBuilder(s.c.packed, hi-lo)
	var buf []byte
	for i := range hi - lo {
		if buf = s.c.packing.append(buf[:0], parts, i); len(buf) == 0 {
			b.AppendNull()
		} else {
			b.AppendString(string(buf))
		}
	}
	return []*vector.Vector{b.Build()}
}

// Kept returns the call whose results are the intermediate values in the form that a rolled-up
// column stores, and their type. It returns false if there are several intermediate values, or only
// the result.
func (s Spec) Kept() (Spec, vector.Type, bool) {
	kept := s
	kept.Keep = true
	t, err := kept.IntermediateTypes()
	if err != nil || len(t) != 1 || t[0].Kind != vector.KindComplex {
		return s, vector.Type{}, false
	}
	return kept, t[0], true
}

// timedTypes are the types that pack a time and a value, by the type of the value.
var timedTypes = map[vector.Type]vector.Type{
	vector.Long: TimedLongType, vector.Double: TimedDoubleType, vector.Float: TimedFloatType, vector.String: TimedTextType,
}

// timed packs a time and a value: eight bytes, then those of the value or, where it is null,
// nothing. A text has a byte before it.
var timed = &packing{
	packed: func(args []vector.Type) (vector.Type, bool) {
		t, ok := timedTypes[args[0]]
		return t, ok
	},
	args: func(packed vector.Type) ([]vector.Type, bool) {
		for value, t := range timedTypes {
			if t == packed {
				return []vector.Type{value, vector.Long}, true
			}
		}
		return nil, false
	},
	append: func(dst []byte, parts []*vector.Vector, i int) []byte {
		if parts[0].IsNull(i) {
			return dst
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(parts[0].LongAt(i)))
		switch v := parts[1]; {
		case v.IsNull(i):
		case v.Type.Kind == vector.KindLong:
			dst = binary.BigEndian.AppendUint64(dst, uint64(v.LongAt(i)))
		case v.Type.Kind == vector.KindDouble:
			dst = appendFloat64(dst, v.DoubleAt(i))
		case v.Type.Kind == vector.KindFloat:
			dst = binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(v.DoubleAt(i))))
		default:
			dst = append(append(dst, 1), v.StringAt(i)...)
		}
		return dst
	},
	read: func(text string, types []vector.Type, parts []*vector.Builder) bool {
		if len(text) < 8 {
			return false
		}
		parts[0].AppendLong(int64(binary.BigEndian.Uint64([]byte(text[:8]))))
		value, v := text[8:], parts[1]
		switch kind := types[1].Kind; {
		case value == "":
			v.AppendNull()
		case kind == vector.KindLong && len(value) == 8:
			v.AppendLong(int64(binary.BigEndian.Uint64([]byte(value))))
		case kind == vector.KindDouble && len(value) == 8:
			v.AppendDouble(float64At(value))
		case kind == vector.KindFloat && len(value) == 4:
			v.AppendFloat(math.Float32frombits(binary.BigEndian.Uint32([]byte(value))))
		case kind == vector.KindString:
			v.AppendString(value[1:])
		default:
			return false
		}
		return true
	},
	empty: func(parts []*vector.Builder) { parts[0].AppendNull(); parts[1].AppendNull() },
}

// IsTimed reports whether values of t are pairs of a time and a value.
func IsTimed(t vector.Type) bool {
	_, ok := timed.args(t)
	return ok
}

// TimedValue returns the type of the values in a type of pairs.
func TimedValue(t vector.Type) vector.Type {
	args, _ := timed.args(t)
	return args[0]
}

// ReadTimed reads a pair: a time in milliseconds and the value at that time; false: the pair is
// damaged.
func ReadTimed(t vector.Type, text string) (time int64, value any, ok bool) {
	of := TimedValue(t)
	parts := []*vector.Builder{vector.NewBuilder(vector.Long, 1), vector.NewBuilder(of, 1)}
	if !timed.read(text, []vector.Type{vector.Long, of}, parts) {
		return 0, nil, false
	}
	return parts[0].Build().LongAt(0), parts[1].Build().ValueAt(0), true
}

// AppendTimed appends a pair as Druid shows it: {"lhs":time,"rhs":value}. See quirk Q008.
func AppendTimed(dst []byte, t vector.Type, text string) []byte {
	time, value, ok := ReadTimed(t, text)
	if !ok {
		return append(dst, "null"...)
	}
	shown, err := json.Marshal(value)
	if err != nil { // a number that JSON has no text for
		shown, _ = json.Marshal(fmt.Sprint(value))
	}
	return append(append(append(strconv.AppendInt(append(dst, `{"lhs":`...), time, 10), `,"rhs":`...), shown...), '}')
}

// ofNumbers packs the intermediate values of a function of numbers as a type.
func ofNumbers(t vector.Type, p packing) *packing {
	p.packed = func([]vector.Type) (vector.Type, bool) { return t, true }
	p.args = func(packed vector.Type) ([]vector.Type, bool) { return []vector.Type{vector.Double}, packed == t }
	return &p
}

// variances packs count, mean and the sum of squared distances from it.
var variances = ofNumbers(VarianceType, packing{
	append: func(dst []byte, parts []*vector.Vector, i int) []byte {
		n := parts[0].LongAt(i)
		if n == 0 {
			return dst
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
		return appendFloat64(appendFloat64(dst, parts[1].DoubleAt(i)*float64(n)), parts[2].DoubleAt(i))
	},
	read: func(text string, _ []vector.Type, parts []*vector.Builder) bool {
		if len(text) != 24 {
			return false
		}
		n := int64(binary.BigEndian.Uint64([]byte(text[:8])))
		if n < 0 {
			return false
		}
		parts[0].AppendLong(n)
		parts[1].AppendDouble(float64At(text[8:]) / float64(max(n, 1)))
		parts[2].AppendDouble(float64At(text[16:]))
		return true
	},
	empty: func(parts []*vector.Builder) {
		parts[0].AppendLong(0)
		parts[1].AppendDouble(0)
		parts[2].AppendDouble(0)
	},
})

// means packs sum and count.
var means = ofNumbers(MeanType, packing{
	append: func(dst []byte, parts []*vector.Vector, i int) []byte {
		n := parts[1].LongAt(i)
		if n == 0 {
			return dst
		}
		return binary.BigEndian.AppendUint64(appendFloat64(dst, parts[0].DoubleAt(i)), uint64(n))
	},
	read: func(text string, _ []vector.Type, parts []*vector.Builder) bool {
		if len(text) != 16 {
			return false
		}
		parts[0].AppendDouble(float64At(text))
		parts[1].AppendLong(int64(binary.BigEndian.Uint64([]byte(text[8:]))))
		return true
	},
	empty: func(parts []*vector.Builder) { parts[0].AppendNull(); parts[1].AppendLong(0) },
})

func appendFloat64(dst []byte, x float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(x))
}

func float64At(text string) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64([]byte(text[:8])))
}
