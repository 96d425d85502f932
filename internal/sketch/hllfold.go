package sketch

import (
	"encoding/binary"
	"math"

	"github.com/apache/datasketches-go/hll"
)

// Places in the stored form of registers.
const (
	hllLogAt     = 3
	hllModeAt    = 7
	hllKxQ0At    = 16
	hllKxQ1At    = 24
	hllZerosAt   = 32
	hllHighValue = 32 // registers from here on are summed apart
)

// fold makes a sketch of registers one of 1<<log of them, no more than it has: a register is the
// greatest of those that fall together in it. The history stays, as in Druid. See quirk Q008.
func fold(s hll.HllSketch, log int) (hll.HllSketch, error) {
	wide, err := s.CopyAs(hll.TgtHllTypeHll8)
	if err != nil {
		return nil, hllFailed(err)
	}
	b, err := wide.ToCompactSlice()
	if err != nil {
		return nil, hllFailed(err)
	}
	n := 1 << log
	out := make([]byte, hllArrayStart+n)
	copy(out, b[:hllArrayStart])
	registers := out[hllArrayStart:]
	for i, v := range b[hllArrayStart:] {
		slot := i & (n - 1)
		registers[slot] = max(registers[slot], v)
	}
	var low, high float64
	zeros := uint32(0)
	for _, v := range registers {
		switch {
		case v == 0:
			zeros++
			low++
		case v < hllHighValue:
			low += math.Ldexp(1, -int(v))
		default:
			high += math.Ldexp(1, -int(v))
		}
	}
	out[hllLogAt] = byte(log)
	binary.LittleEndian.PutUint64(out[hllKxQ0At:], math.Float64bits(low))
	binary.LittleEndian.PutUint64(out[hllKxQ1At:], math.Float64bits(high))
	binary.LittleEndian.PutUint32(out[hllZerosAt:], zeros)
	folded, err := hll.NewHllSketchFromSlice(out, false)
	return folded, hllFailed(err)
}

// unite merges a sketch into a union, which the library can only do where both have as many
// registers, or one has none yet: else the one with more is folded. A union that is folded begins
// anew and is returned. The values of a small sketch come in the order of its stored form, if that
// is given.
func unite(u hll.Union, log int, from hll.HllSketch, stored string) (hll.Union, error) {
	switch int(from.GetCurMode()) {
	case hllModeSet:
		if stored != "" {
			return u, uniteStored(u, stored)
		}
		return u, hllFailed(u.UpdateSketch(from))
	case hllModeList:
		return u, hllFailed(u.UpdateSketch(from))
	}
	own, other := log, from.GetLgConfigK()
	isArray := int(u.GetCurMode()) == hllModeArray
	if isArray {
		own = u.GetLgConfigK()
	}
	var err error
	switch {
	case other > own:
		if from, err = fold(from, own); err != nil {
			return nil, err
		}
	case other < own && isArray:
		so, err := u.GetResult(hll.TgtHllTypeHll8)
		if err != nil {
			return nil, hllFailed(err)
		}
		if so, err = fold(so, other); err != nil {
			return nil, err
		}
		if u, err = hll.NewUnion(log); err != nil {
			return nil, hllFailed(err)
		}
		if err := u.UpdateSketch(so); err != nil {
			return nil, hllFailed(err)
		}
	}
	return u, hllFailed(u.UpdateSketch(from))
}

// Parts of the stored form of a list of values.
const (
	hllListInts   = 2 // of four bytes, before the values
	hllListStart  = hllListInts * hllValueBytes
	hllListLog    = 3 // of the values that a list has room for
	hllCountAt    = 6
	hllValueBytes = 4
	hllListValues = 7 // one more, and it is no list
)

// uniteStored merges a set of values into a union in the order in which they are stored. The
// library reads them into a table, which has another one, but leaves lists as they are: it is given
// one list after the other.
func uniteStored(u hll.Union, stored string) error {
	values := []byte(stored[hllSetStart:])
	for len(values) >= hllValueBytes {
		n := min(len(values), hllListValues*hllValueBytes)
		list := append([]byte(stored[:hllListStart]), values[:n]...)
		list[0], list[hllLogAt+1], list[hllCountAt] = hllListInts, hllListLog, byte(n/hllValueBytes)
		list[hllModeAt] = list[hllModeAt]&^hllModeMask | hllModeList
		part, err := hll.NewHllSketchFromSlice(list, true)
		if err != nil {
			return hllFailed(err)
		}
		if err := u.UpdateSketch(part); err != nil {
			return hllFailed(err)
		}
		values = values[n:]
	}
	return nil
}
