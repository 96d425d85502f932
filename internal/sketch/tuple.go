package sketch

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hengedb/henge/internal/fault"
)

// Tuple is an array-of-doubles sketch as it is stored: a theta sketch whose keys have values. It is
// read-only.
//
// The stored form is the compact one of datasketches-java, little endian:
//
//	0  1  longs before the body, 1
//	1  1  serial version, 1
//	2  1  family, 9
//	3  1  kind, 3: a compact array of doubles
//	4  1  flags: 4 empty, 8 has keys
//	5  1  values per key
//	6  2  seed hash
//	8  8  theta
//	16 4  number of keys, then 4 unused, the keys and their values; only if there are keys
type Tuple struct {
	keys   []uint64
	values []float64 // width for each key
	width  int
	theta  uint64
	empty  bool
}

const (
	tupleFamily  = 9
	tupleKind    = 3
	tupleEmpty   = 4
	tupleHasKeys = 8
	tupleHeader  = 16
)

// MaxTupleValues bounds the values of a key: the stored form has a byte for their number.
const MaxTupleValues = 255

// EmptyTuple returns a sketch of nothing, with one value per key.
func EmptyTuple() *Tuple { return &Tuple{width: 1, theta: maxTheta, empty: true} }

// Width returns how many values a key has.
func (t *Tuple) Width() int { return t.width }

// Keys returns how many keys are kept.
func (t *Tuple) Keys() int { return len(t.keys) }

// Theta returns the share of all keys that is kept, as the whole number of the stored form.
func (t *Tuple) Theta() uint64 { return t.theta }

// Empty reports whether nothing was ever added.
func (t *Tuple) Empty() bool { return t.empty }

// Estimate returns the estimated number of different keys.
func (t *Tuple) Estimate() float64 {
	return float64(len(t.keys)) / (float64(t.theta) / float64(maxTheta))
}

// Bounds returns bounds of the estimate at 1 to 3 standard deviations. Without estimation they are
// the number of keys.
func (t *Tuple) Bounds(deviations int) (low, high float64, err error) {
	if t.theta == maxTheta {
		return float64(len(t.keys)), float64(len(t.keys)), nil
	}
	return thetaBounds(len(t.keys), t.theta, deviations)
}

// Sums returns the estimated sum of each value over all keys.
func (t *Tuple) Sums() []float64 {
	out := make([]float64, t.width)
	for i, v := range t.values {
		out[i%t.width] += v
	}
	for i := range out {
		out[i] /= float64(t.theta) / float64(maxTheta)
	}
	return out
}

// NoSuchValue is the error for the number, counted from 1, of a value that keys with width values
// do not have.
func NoSuchValue(number int64, width int) error {
	return fault.InvalidInput("A tuple sketch with [%d] values per key has no value [%d]", width, number)
}

// Value returns value number of each key.
func (t *Tuple) Value(number int) []float64 {
	out := make([]float64, 0, len(t.keys))
	for i := number; i < len(t.values); i += t.width {
		out = append(out, t.values[i])
	}
	return out
}

// row returns the values of key number i.
func (t *Tuple) row(i int) []float64 { return t.values[i*t.width : (i+1)*t.width] }

// AppendBinary appends the stored form.
func (t *Tuple) AppendBinary(dst []byte) []byte {
	flags := byte(0)
	if t.empty {
		flags |= tupleEmpty
	}
	if len(t.keys) > 0 {
		flags |= tupleHasKeys
	}
	dst = append(dst, 1, 1, tupleFamily, tupleKind, flags, byte(t.width), seedHash&0xff, seedHash>>8)
	dst = binary.LittleEndian.AppendUint64(dst, t.theta)
	if len(t.keys) == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(t.keys)))
	for _, k := range t.keys {
		dst = binary.LittleEndian.AppendUint64(dst, k)
	}
	for _, v := range t.values {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
	}
	return dst
}

// ParseTuple reads the stored form; no bytes at all are an empty sketch of one value per key.
func ParseTuple(p string) (*Tuple, error) {
	if p == "" {
		return EmptyTuple(), nil
	}
	if len(p) < tupleHeader || p[0] != 1 || p[1] != 1 || p[2] != tupleFamily || p[3] != tupleKind {
		return nil, tupleCorrupt("its header is unknown")
	}
	b := []byte(p)
	t := &Tuple{width: int(b[5]), theta: binary.LittleEndian.Uint64(b[8:]), empty: b[4]&tupleEmpty != 0}
	switch {
	case binary.LittleEndian.Uint16(b[6:]) != seedHash:
		return nil, tupleCorrupt("it was made with another seed")
	case t.width == 0 || t.theta == 0 || t.theta > maxTheta:
		return nil, tupleCorrupt("a number in its header is out of range")
	case b[4]&tupleHasKeys == 0:
		return t, nil
	case len(b) < tupleHeader+8:
		return nil, tupleCorrupt("its length is wrong")
	}
	n, body := int(binary.LittleEndian.Uint32(b[tupleHeader:])), b[tupleHeader+8:]
	if n > len(body)/8 || len(body) != 8*n*(1+t.width) {
		return nil, tupleCorrupt("its length is wrong")
	}
	t.keys, t.values = make([]uint64, n), make([]float64, n*t.width)
	for i := range t.keys {
		t.keys[i] = binary.LittleEndian.Uint64(body[8*i:])
		if t.keys[i] == 0 || t.keys[i] >= t.theta {
			return nil, tupleCorrupt("a key is out of range")
		}
	}
	for i := range t.values {
		t.values[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*(n+i):]))
	}
	return t, nil
}

func tupleCorrupt(why string) error {
	return fmt.Errorf("reading a sketch: %w", fault.InvalidInput("An arrayOfDoubles sketch can't be read: %s.", why))
}
