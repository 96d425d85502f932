package sketch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/datasketches-go/common"
	"github.com/apache/datasketches-go/kll"

	"github.com/hengedb/henge/internal/fault"
)

// Bounds of the size of a KLL sketch.
const (
	MinKLLK = 8
	MaxKLLK = 65535
	kllM    = 8
)

// KLL answers questions about ranks of doubles or floats, after Karnin, Lang and Liberty. The
// library has the algorithm and the stored form, which is the compact one of DataSketches. NaN is
// no value. It belongs to one goroutine.
type KLL[T float32 | float64] struct {
	s *kll.ItemsSketch[T]
}

// kllFamily is the family byte of the stored form.
const kllFamily = 15

// CheckKLL reports a k that is out of range.
func CheckKLL(k int64) error {
	if k < MinKLLK || k > MaxKLLK {
		return fault.InvalidInput("The k of a KLL sketch must be from [%d] to [%d], not [%d]", MinKLLK, MaxKLLK, k)
	}
	return nil
}

func kllForm[T float32 | float64]() common.ItemSketchSerde[T] {
	var form any
	switch any(*new(T)).(type) {
	case float32:
		form = common.ItemSketchFloatSerDe{}
	default:
		form = common.ItemSketchDoubleSerDe{}
	}
	return form.(common.ItemSketchSerde[T])
}

func less[T float32 | float64](a, b T) bool { return a < b }

// NewKLL returns an empty sketch; k was checked by CheckKLL.
func NewKLL[T float32 | float64](k int) (*KLL[T], error) {
	s, err := kll.NewKllItemsSketch[T](uint16(k), kllM, less[T], kllForm[T]())
	if err != nil {
		return nil, fault.Defensive("A KLL sketch can't be made: %v", err)
	}
	return &KLL[T]{s: s}, nil
}

// Add adds a value.
func (q *KLL[T]) Add(x T) {
	if x == x {
		q.s.Update(x)
	}
}

// Merge adds everything that was added to o, which is left as it is.
func (q *KLL[T]) Merge(o *KLL[T]) { q.s.Merge(o.s) }

// Adopt is Merge, but takes the first sketch as it is: a partial result of this one, not an input.
// It must not be used afterwards.
func (q *KLL[T]) Adopt(o *KLL[T]) {
	if q.s.IsEmpty() && q.s.GetK() == o.s.GetK() {
		q.s = o.s
		return
	}
	q.s.Merge(o.s)
}

// N returns how many values were added.
func (q *KLL[T]) N() uint64 { return q.s.GetN() }

// KLLDetails is what a description of a sketch tells beside its values.
type KLLDetails struct {
	K, Levels, Capacity, Retained int
	// Error and ErrorPMF are the normalized rank errors of one rank and of a histogram.
	Error, ErrorPMF float64
}

// Details describes the sketch.
func (q *KLL[T]) Details() KLLDetails {
	d := KLLDetails{K: int(q.s.GetK()), Levels: 1, Capacity: len(q.s.GetTotalItemsArray()), Retained: int(q.s.GetNumRetained())}
	for it := q.s.GetIterator(); it.Next(); {
		d.Levels = max(d.Levels, 1+bits.TrailingZeros64(uint64(it.GetWeight())))
	}
	d.Error, d.ErrorPMF = q.s.GetNormalizedRankError(false), q.s.GetNormalizedRankError(true)
	return d
}

// Ranks returns the values kept and their ranks.
func (q *KLL[T]) Ranks() *Ranks {
	var list []weighted
	for it := q.s.GetIterator(); it.Next(); {
		list = append(list, weighted{float64(it.GetQuantile()), uint64(it.GetWeight())})
	}
	r := newRanks(list)
	if q.N() > 0 {
		least, _ := q.s.GetMinItem() // fails only when empty
		greatest, _ := q.s.GetMaxItem()
		r.Min, r.Max = float64(least), float64(greatest)
	}
	return r
}

// AppendBinary appends the stored form.
func (q *KLL[T]) AppendBinary(dst []byte) ([]byte, error) {
	b, err := q.s.ToSlice()
	if err != nil {
		return dst, fault.Defensive("A KLL sketch can't be written: %v", err)
	}
	return append(dst, b...), nil
}

// ParseKLL reads the stored form; no bytes at all are an empty sketch.
func ParseKLL[T float32 | float64](p string) (q *KLL[T], err error) {
	if p == "" {
		return NewKLL[T](200)
	}
	if len(p) < 8 || p[2] != kllFamily {
		return nil, kllCorrupt("its header is unknown")
	}
	defer func() {
		if recover() != nil { // the library trusts what it reads in places
			q, err = nil, kllCorrupt("its bytes are damaged")
		}
	}()
	if !kllFits(p, kllForm[T]().SizeOf(0)) {
		return nil, kllCorrupt("its length is wrong")
	}
	s, err := kll.NewKllItemsSketchFromSlice[T]([]byte(p), less[T], kllForm[T]())
	if err != nil {
		return nil, kllCorrupt("its bytes are damaged")
	}
	q = &KLL[T]{s: s}
	if n := q.Ranks().Total(); n != s.GetN() || s.GetN() > math.MaxInt64 {
		return nil, kllCorrupt("its levels do not add up")
	}
	return q, nil
}

// Places in the stored form of a KLL sketch, and the most levels that one can have.
const (
	kllFull      = 5 // ints before the levels: 2 when there is one value or none
	kllLevels    = 20
	kllMaxLevels = 31
)

// kllFits checks that the levels of the stored form, whose values take size bytes each, agree with
// its length and number of values: the library believes them.
func kllFits(p string, size int) bool {
	b := []byte(p)
	if b[6] != kllM || CheckKLL(int64(binary.LittleEndian.Uint16(b[4:]))) != nil {
		return false
	}
	if b[0] != kllFull {
		return b[0] == 2 && (b[1] == 1 && len(b) == 8 || b[1] == 2 && len(b) == 8+size)
	}
	if len(b) < kllLevels || b[1] != 1 {
		return false
	}
	levels := int(b[18])
	values := len(b) - kllLevels - 4*levels
	if levels == 0 || levels > kllMaxLevels || values < 2*size || values%size != 0 {
		return false
	}
	kept := uint64(values/size - 2) // without the extremes
	n, from := uint64(0), uint64(binary.LittleEndian.Uint32(b[kllLevels:]))
	end := from + kept
	if end != kllRoom(uint64(binary.LittleEndian.Uint16(b[4:])), levels) {
		return false
	}
	for i := range levels {
		to := end
		if i < levels-1 {
			to = uint64(binary.LittleEndian.Uint32(b[kllLevels+4*(i+1):]))
		}
		if to < from || to > end {
			return false
		}
		n += (to - from) << i
		from = to
	}
	return n > 0 && n == binary.LittleEndian.Uint64(b[8:])
}

// kllRoom is how many values levels have room for: k at the top, two thirds as many in each below,
// at least kllM.
func kllRoom(k uint64, levels int) uint64 {
	room, power := uint64(0), uint64(1)
	for depth := range levels {
		room += max(kllM, (k<<1<<depth/power+1)>>1)
		power *= 3
	}
	return room
}

func kllCorrupt(why string) error {
	return fmt.Errorf("reading a sketch: %w", fault.InvalidInput("A KLL sketch can't be read: %s.", why))
}

// Bytes returns the memory held, about.
func (q *KLL[T]) Bytes() int64 { return 256 + 16*int64(q.s.GetNumRetained()) + 8*int64(q.s.GetK()) }
