package sketch

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/datasketches-go/theta"

	"github.com/hengedb/henge/internal/fault"
)

// Theta is a theta sketch as it is stored: the keys below a bound that was lowered until they were
// few enough. It is read-only.
//
// The stored form is the compact one of DataSketches, serial version 3, little endian:
//
//	0  1  longs before the keys: 1, 2 with a count, 3 with theta
//	1  1  serial version, 3
//	2  1  family, 3
//	5  1  flags: 2 read-only, 4 empty, 8 compact, 16 ordered, 32 one key
//	6  2  seed hash
//	8  4  number of keys, if there are two longs or more
//	16 8  theta, if there are three
type Theta struct {
	keys    []uint64
	theta   uint64
	empty   bool // nothing was ever added
	ordered bool // by key
}

const (
	thetaFamily   = 3
	flagReadOnly  = 2
	flagEmpty     = 4
	flagCompact   = 8
	flagOrdered   = 16
	flagSingle    = 32
	thetaFlags    = flagReadOnly | flagCompact
	theta1Plain   = 8
	theta2Counted = 16
	theta3Bounded = 24
)

// newTheta finishes a sketch of keys below bound.
func newTheta(keys []uint64, bound uint64, empty, ordered bool) *Theta {
	if ordered {
		slices.Sort(keys)
	}
	if empty {
		bound = maxTheta
	}
	return &Theta{keys: keys, theta: bound, empty: empty, ordered: ordered}
}

// Estimate returns the estimated number of different values.
func (t *Theta) Estimate() float64 {
	return float64(len(t.keys)) / (float64(t.theta) / float64(maxTheta))
}

// Theta returns the share of all keys that is kept, as the whole number of the stored form.
func (t *Theta) Theta() uint64 { return t.theta }

// Empty reports whether nothing was ever added.
func (t *Theta) Empty() bool { return t.empty }

// Ordered reports whether the keys are in order.
func (t *Theta) Ordered() bool { return t.ordered }

// Keys returns how many keys are kept.
func (t *Theta) Keys() int { return len(t.keys) }

// Bounds returns bounds of the estimate at 1 to 3 standard deviations. Without estimation they are
// the number of keys.
func (t *Theta) Bounds(deviations int) (low, high float64, err error) {
	if t.theta == maxTheta {
		return float64(len(t.keys)), float64(len(t.keys)), nil
	}
	return thetaBounds(len(t.keys), t.theta, deviations)
}

// thetaBounds leaves the statistics to the library, which reads them from a sketch with as many
// keys.
func thetaBounds(n int, bound uint64, deviations int) (low, high float64, err error) {
	if deviations < 1 || deviations > 3 {
		return 0, 0, fault.InvalidInput("The number of standard deviations must be 1, 2 or 3, not [%d]", deviations)
	}
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = uint64(i) + 1
	}
	s, err := theta.Decode((&Theta{keys: keys, theta: bound, ordered: true}).AppendBinary(nil), sketchSeed)
	if err != nil {
		return 0, 0, fault.Defensive("The bounds of a sketch can't be computed: %v", err)
	}
	if low, err = s.LowerBound(uint8(deviations)); err == nil {
		high, err = s.UpperBound(uint8(deviations))
	}
	if err != nil {
		return 0, 0, fault.Defensive("The bounds of a sketch can't be computed: %v", err)
	}
	return low, high, nil
}

// AppendBinary appends the stored form.
func (t *Theta) AppendBinary(dst []byte) []byte {
	flags := byte(thetaFlags)
	if t.ordered {
		flags |= flagOrdered
	}
	switch n := len(t.keys); {
	case t.empty:
		return append(dst, 1, 3, thetaFamily, 0, 0, thetaFlags|flagOrdered|flagEmpty, 0, 0)
	case t.theta < maxTheta:
		dst = append(dst, 3, 3, thetaFamily, 0, 0, flags, seedHash&0xff, seedHash>>8)
	case n == 1:
		dst = append(dst, 1, 3, thetaFamily, 0, 0, flags|flagOrdered|flagSingle, seedHash&0xff, seedHash>>8)
		return binary.LittleEndian.AppendUint64(dst, t.keys[0])
	default:
		dst = append(dst, 2, 3, thetaFamily, 0, 0, flags, seedHash&0xff, seedHash>>8)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(t.keys)))
	dst = append(dst, 0, 0, 0x80, 0x3f) // the sampling probability 1.0 as a float
	if t.theta < maxTheta {
		dst = binary.LittleEndian.AppendUint64(dst, t.theta)
	}
	for _, k := range t.keys {
		dst = binary.LittleEndian.AppendUint64(dst, k)
	}
	return dst
}

// ParseTheta reads the stored form; no bytes at all are an empty sketch. Other serial versions than
// 3 are left to the library.
func ParseTheta(p string) (*Theta, error) {
	if p == "" {
		return newTheta(nil, maxTheta, true, true), nil
	}
	if len(p) < theta1Plain || p[2] != thetaFamily {
		return nil, thetaCorrupt("its header is unknown")
	}
	if p[1] != 3 {
		return parseOldTheta(p)
	}
	flags, longs, b := p[5], p[0]&0x3f, []byte(p)
	if flags&flagCompact == 0 || flags&1 != 0 {
		return nil, thetaCorrupt("it is not compact or not little endian")
	}
	if flags&flagEmpty != 0 {
		return newTheta(nil, maxTheta, true, true), nil
	}
	if got := binary.LittleEndian.Uint16(b[6:]); got != seedHash {
		return nil, thetaCorrupt("it was made with another seed")
	}
	t := &Theta{theta: maxTheta, ordered: flags&flagOrdered != 0}
	n, body := 1, b[theta1Plain:]
	switch {
	case longs == 1:
	case longs == 2 && len(b) >= theta2Counted:
		n, body = int(binary.LittleEndian.Uint32(b[8:])), b[theta2Counted:]
	case longs == 3 && len(b) >= theta3Bounded:
		n, body = int(binary.LittleEndian.Uint32(b[8:])), b[theta3Bounded:]
		t.theta = binary.LittleEndian.Uint64(b[16:])
	default:
		return nil, thetaCorrupt("its length is wrong")
	}
	if n != len(body)/8 || len(body)%8 != 0 || t.theta == 0 || t.theta > maxTheta {
		return nil, thetaCorrupt("its length is wrong")
	}
	t.keys = make([]uint64, n)
	for i := range t.keys {
		t.keys[i] = binary.LittleEndian.Uint64(body[8*i:])
		if t.keys[i] == 0 || t.keys[i] >= t.theta {
			return nil, thetaCorrupt("a key is out of range")
		}
		if t.ordered && i > 0 && t.keys[i] <= t.keys[i-1] {
			return nil, thetaCorrupt("its keys are not in order")
		}
	}
	return t, nil
}

// parseOldTheta reads serial versions 1, 2 and 4 (compressed).
func parseOldTheta(p string) (t *Theta, err error) {
	defer func() {
		if recover() != nil { // the library trusts what it reads in places
			t, err = nil, thetaCorrupt("its length is wrong")
		}
	}()
	s, err := theta.Decode([]byte(p), sketchSeed)
	if err != nil {
		return nil, thetaCorrupt("its bytes are damaged")
	}
	t = &Theta{theta: s.Theta64(), empty: s.IsEmpty(), ordered: s.IsOrdered()}
	for k := range s.All() {
		t.keys = append(t.keys, k)
	}
	return t, nil
}

func thetaCorrupt(why string) error {
	return fmt.Errorf("reading a sketch: %w", fault.InvalidInput("A theta sketch can't be read: %s.", why))
}
