package sketch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

// Bounds of the size of a quantiles sketch.
const (
	MinQuantilesK = 2
	MaxQuantilesK = 1 << 15
)

// Quantiles answers questions about ranks of doubles: the classic quantiles sketch of DataSketches,
// after Agarwal and others, Mergeable Summaries. It is exact up to 2k values. Beyond, k values of a
// level stand for 2k<<level; which half of a level is kept is chance. NaN is no value. It belongs
// to one goroutine.
//
// The stored form is the compact one of datasketches-java, little endian:
//
//	0  1  longs before the values: 1 empty, else 2
//	1  1  serial version, 3
//	2  1  family, 8
//	3  1  flags: 2 read-only, 4 empty, 8 compact, 16 ordered
//	4  2  k
//	8  8  n; if it is not 0, then minimum, maximum, the n mod 2k values without a level in order,
//	      and the levels in use
type Quantiles struct {
	k         int
	n         uint64
	min, max  float64
	base      []float64   // up to 2k values
	levels    [][]float64 // k values in order each, or nil
	unordered bool        // base is not in order
	// coin decides which half of a level is kept; nil: chance does.
	coin func() bool
}

const (
	quantilesFamily = 8
	quantilesStart  = 32
)

// CheckQuantiles reports a k that is out of range.
func CheckQuantiles(k int64) error {
	if k < MinQuantilesK || k > MaxQuantilesK || k&(k-1) != 0 {
		return fault.InvalidInput("The k of a quantiles sketch must be a power of two from [%d] to [%d], not [%d]", MinQuantilesK, MaxQuantilesK, k)
	}
	return nil
}

// NewQuantiles returns an empty sketch.
func NewQuantiles(k int) *Quantiles { return &Quantiles{k: k, min: math.NaN(), max: math.NaN()} }

// K returns the size; N how many values were added.
func (q *Quantiles) K() int { return q.k }

// N returns how many values were added.
func (q *Quantiles) N() uint64 { return q.n }

// Min returns the least value, NaN of an empty sketch; Max the greatest.
func (q *Quantiles) Min() float64 { return q.min }

// Max returns the greatest value, NaN of an empty sketch.
func (q *Quantiles) Max() float64 { return q.max }

// Add adds a value.
func (q *Quantiles) Add(x float64) {
	if x != x {
		return
	}
	if q.n == 0 {
		q.min, q.max = x, x
	} else {
		q.min, q.max = min(q.min, x), max(q.max, x)
	}
	q.base, q.unordered = append(q.base, x), true
	q.n++
	if len(q.base) == 2*q.k {
		slices.Sort(q.base)
		q.carry(0, q.half(q.base))
		q.base = q.base[:0]
	}
}

// half returns every other of the values.
func (q *Quantiles) half(x []float64) []float64 {
	odd := 0
	if q.coin != nil && q.coin() || q.coin == nil && rand.Uint32()&1 == 1 {
		odd = 1
	}
	out := make([]float64, 0, len(x)/2)
	for i := odd; i < len(x); i += 2 {
		out = append(out, x[i])
	}
	return out
}

// carry puts k ordered values at a level; a level in use is merged with them and half of that goes
// one level up.
func (q *Quantiles) carry(level int, x []float64) {
	for ; ; level++ {
		for len(q.levels) <= level {
			q.levels = append(q.levels, nil)
		}
		if q.levels[level] == nil {
			q.levels[level] = x
			return
		}
		both := mergeOrdered(q.levels[level], x)
		q.levels[level] = nil
		x = q.half(both)
	}
}

func mergeOrdered(a, b []float64) []float64 {
	out := make([]float64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Merge adds everything that was added to o, which is left as it is. If o is coarser and does not
// hold all its values, q becomes as coarse.
func (q *Quantiles) Merge(o *Quantiles) {
	if o.n == 0 {
		return
	}
	if o.n <= uint64(2*o.k) && len(o.base) == int(o.n) {
		for _, x := range o.base {
			q.Add(x)
		}
		return
	}
	if o.k < q.k {
		mine := *q
		*q = *NewQuantiles(o.k)
		q.coin = mine.coin
		q.Merge(&mine)
	}
	least, greatest, n := o.min, o.max, q.n+o.n
	if q.n > 0 {
		least, greatest = min(least, q.min), max(greatest, q.max)
	}
	for _, x := range o.base {
		q.Add(x)
	}
	for level, x := range o.levels {
		if x == nil {
			continue
		}
		// A finer level is thinned to k values, each of which stands for as many more.
		step := o.k / q.k
		up := bits.TrailingZeros(uint(step))
		thin := make([]float64, 0, q.k)
		for i := rand.IntN(step); i < len(x); i += step {
			thin = append(thin, x[i])
		}
		q.carry(level+up, thin)
	}
	q.n, q.min, q.max = n, least, greatest
}

// order sorts the values without a level.
func (q *Quantiles) order() {
	if q.unordered {
		slices.Sort(q.base)
		q.unordered = false
	}
}

// pattern has a bit for each level in use.
func (q *Quantiles) pattern() uint64 { return q.n / uint64(2*q.k) }

// AppendBinary appends the stored form.
func (q *Quantiles) AppendBinary(dst []byte) []byte {
	if q.n == 0 {
		// quirk Q008: Druid stores one and the same empty sketch, whatever the size.
		return append(dst, 1, 3, quantilesFamily, flagReadOnly|flagEmpty|flagCompact|flagOrdered, 128, 0, 0, 0)
	}
	q.order()
	dst = append(dst, 2, 3, quantilesFamily, flagReadOnly|flagCompact|flagOrdered, byte(q.k), byte(q.k>>8), 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, q.n)
	dst = appendDouble(appendDouble(dst, q.min), q.max)
	for _, x := range q.base {
		dst = appendDouble(dst, x)
	}
	for _, level := range q.levels {
		for _, x := range level {
			dst = appendDouble(dst, x)
		}
	}
	return dst
}

// AppendResult is AppendBinary as Druid answers it: an empty sketch has its size there, and another
// length of the header. See quirk Q008.
func (q *Quantiles) AppendResult(dst []byte) []byte {
	at := len(dst)
	dst = q.AppendSized(dst)
	dst[at] = 2
	return dst
}

// AppendSized is AppendBinary, but an empty sketch has its size.
func (q *Quantiles) AppendSized(dst []byte) []byte {
	at := len(dst)
	dst = q.AppendBinary(dst)
	dst[at+4], dst[at+5] = byte(q.k), byte(q.k>>8)
	return dst
}

func appendDouble(dst []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
}

// ParseQuantiles reads the stored form; no bytes at all are an empty sketch. The form that is not
// compact is read too.
func ParseQuantiles(p string) (*Quantiles, error) {
	if p == "" {
		return NewQuantiles(128), nil
	}
	if len(p) < 8 || p[2] != quantilesFamily || p[1] != 3 {
		return nil, quantilesCorrupt("its header is unknown")
	}
	b := []byte(p)
	k := int(binary.LittleEndian.Uint16(b[4:]))
	if CheckQuantiles(int64(k)) != nil {
		return nil, quantilesCorrupt("a number in its header is out of range")
	}
	q := NewQuantiles(k)
	if b[3]&flagEmpty != 0 {
		return q, nil
	}
	if len(b) < quantilesStart {
		return nil, quantilesCorrupt("its length is wrong")
	}
	q.n = binary.LittleEndian.Uint64(b[8:])
	if q.n == 0 || q.n > 1<<48 {
		return nil, quantilesCorrupt("a number in its header is out of range")
	}
	double := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[16+8*i:])) }
	q.min, q.max = double(0), double(1)
	have, at := (len(b)-quantilesStart)/8, 2
	take := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = double(at + i)
		}
		at += n
		return out
	}
	base, pattern := int(q.n%uint64(2*k)), q.pattern()
	room, compact := base, b[3]&flagCompact != 0
	if !compact && pattern != 0 {
		room = 2 * k
	}
	levels := bits.OnesCount64(pattern)
	if !compact {
		levels = bits.Len64(pattern)
	}
	if have < room+levels*k || compact && have != room+levels*k {
		return nil, quantilesCorrupt("its length is wrong")
	}
	q.base = take(room)[:base]
	q.unordered = true
	for ; pattern != 0; pattern >>= 1 {
		var level []float64
		if pattern&1 != 0 {
			level = take(k)
		} else if !compact {
			take(k)
		}
		if !slices.IsSorted(level) {
			return nil, quantilesCorrupt("its values are not in order")
		}
		q.levels = append(q.levels, level)
	}
	return q, nil
}

func quantilesCorrupt(why string) error {
	return fmt.Errorf("reading a sketch: %w", fault.InvalidInput("A quantiles sketch can't be read: %s.", why))
}

// Bytes returns the memory held.
func (q *Quantiles) Bytes() int64 {
	n := 128 + 8*int64(cap(q.base))
	for _, level := range q.levels {
		n += 24 + 8*int64(cap(level))
	}
	return n
}
