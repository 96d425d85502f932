package segment

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

// longs writes c as frames of reference: per block of rows the least value, the greatest common
// divisor of the distances from it, and each distance divided by that in as few bytes as the
// greatest needs.
func (e *columnEncoder) longs(c *columnMeta, feed columnFeed) error {
	c.enc = encFrame
	data, err := e.part(c, partData)
	if err != nil {
		return err
	}
	var valid validity
	var directory []byte
	var sums []int64
	var distinct distinctCounter
	block := make([]int64, 0, BlockRows)
	has := vector.NewBitmap(BlockRows)
	nulls := 0 // of the block
	least, greatest := int64(math.MaxInt64), int64(math.MinInt64)
	var bytes []byte
	stored := make([]uint64, BlockRows)
	flush := func() error {
		var f frameBlock
		f, bytes = encodeFrame(bytes[:0], block, has, nulls, stored)
		f.Location = uint64(data.part.length)<<8 | f.Location
		directory = append(directory, bytesOf([]frameBlock{f})...)
		sums = append(sums, sumOf(block, has, nulls))
		if f.Min <= f.Max {
			least, greatest = min(least, f.Min), max(greatest, f.Max)
		}
		block, nulls = block[:0], 0
		return data.write(bytes)
	}
	err = feed(func(v *vector.Vector) error {
		valid.add(v)
		for from := 0; from < v.Len; {
			to := min(from+BlockRows-len(block), v.Len)
			if v.Valid == nil {
				has.SetRange(len(block), len(block)+to-from)
				distinct.addAll(v.Longs[from:to])
			} else {
				for i, x := range v.Longs[from:to] {
					if v.Valid.Get(from + i) {
						has.Set(len(block) + i)
						distinct.add(uint64(x))
					} else {
						has.Clear(len(block) + i)
						nulls++
					}
				}
			}
			block = append(block, v.Longs[from:to]...)
			from = to
			if len(block) == BlockRows {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(block) > 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	if err := data.write(zeros[:frameSlack]); err != nil {
		return err
	}
	data.end()
	if err := e.whole(c, partBlocks, directory); err != nil {
		return err
	}
	if err := e.whole(c, partSums, bytesOf(sums)); err != nil {
		return err
	}
	if least <= greatest {
		c.Min, c.Max, c.MinExact, c.MaxExact = least, greatest, true, true
	}
	c.Distinct, c.DistinctExact = distinct.count()
	return e.valid(c, &valid)
}

// sumOf adds up the values of a block, modulo 2^64.
func sumOf(values []int64, has vector.Bitmap, nulls int) int64 {
	sum := int64(0)
	for i, x := range values {
		if nulls == 0 || has.Get(i) {
			sum += x
		}
	}
	return sum
}

// encodeFrame appends the values of a block, nulls of which have no bit in has, to dst, padded to
// partAlign. Location holds the width. Stored is room for as many values.
func encodeFrame(dst []byte, values []int64, has vector.Bitmap, nulls int, stored []uint64) (frameBlock, []byte) {
	f := frameBlock{Min: math.MaxInt64, Max: math.MinInt64, Unit: 1}
	if nulls == 0 {
		for _, x := range values {
			f.Min, f.Max = min(f.Min, x), max(f.Max, x)
		}
	} else {
		for i, x := range values {
			if has.Get(i) {
				f.Min, f.Max = min(f.Min, x), max(f.Max, x)
			}
		}
	}
	if f.Min >= f.Max { // one value, or none
		return f, dst
	}
	span := uint64(f.Max) - uint64(f.Min)
	unit := uint64(0)
	for i, x := range values {
		if unit == 1 {
			break
		}
		if nulls == 0 || has.Get(i) {
			unit = gcd(uint64(x)-uint64(f.Min), unit)
		}
	}
	width := (bits.Len64(span/unit) + 7) / 8
	if (bits.Len64(span)+7)/8 == width {
		unit = 1 // a smaller unit saves nothing, and without one decoding is an addition
	}
	f.Unit, f.Location = unit, uint64(width)
	packed := bits.Len64(span / unit)
	if packed > maxPackedBits || (8*width-packed)*packedSaves < 8*width {
		packed = 0
	} else {
		f.Location = uint64(packedWidth + packed)
	}
	stored = stored[:len(values)]
	switch {
	case nulls > 0:
		for i, x := range values {
			switch {
			case !has.Get(i) && width < 8:
				stored[i] = 0
			case !has.Get(i):
				stored[i] = uint64(f.Min)
			case width < 8:
				stored[i] = (uint64(x) - uint64(f.Min)) / unit
			default:
				stored[i] = uint64(x)
			}
		}
	case width == 8:
		for i, x := range values {
			stored[i] = uint64(x)
		}
	case unit == 1:
		for i, x := range values {
			stored[i] = uint64(x) - uint64(f.Min)
		}
	default:
		for i, x := range values {
			stored[i] = (uint64(x) - uint64(f.Min)) / unit
		}
	}
	if packed > 0 {
		dst = appendBits(dst, stored, packed)
	} else {
		dst = appendWide(dst, stored, width)
	}
	for len(dst)%partAlign != 0 {
		dst = append(dst, 0)
	}
	return f, dst
}

// appendBits appends values of so many bits without gaps.
func appendBits(dst []byte, values []uint64, size int) []byte {
	dst = slices.Grow(dst, (len(values)*size+63)/64*8)
	held, free := uint64(0), 64 // bits that are not in dst yet
	for _, u := range values {
		held |= u << (64 - free)
		if free -= size; free <= 0 {
			dst = binary.LittleEndian.AppendUint64(dst, held)
			held = u >> (size + free)
			free += 64
		}
	}
	if free < 64 {
		dst = binary.LittleEndian.AppendUint64(dst, held)
	}
	return dst
}

// appendWide appends values of so many bytes.
func appendWide(dst []byte, values []uint64, width int) []byte {
	at := len(dst)
	dst = slices.Grow(dst, len(values)*width+8)
	room := dst[at : at+len(values)*width+8]
	switch width {
	case 1:
		for i, u := range values {
			room[i] = byte(u)
		}
	case 2:
		for i, u := range values {
			binary.LittleEndian.PutUint16(room[2*i:], uint16(u))
		}
	default:
		for i, u := range values { // what is written beyond a value, the next one covers
			binary.LittleEndian.PutUint64(room[i*width:], u)
		}
	}
	return dst[:at+len(values)*width]
}

// packedSaves: values are packed in bits if that saves at least an eighth of the bytes. Decoding
// takes up to a third longer.
const packedSaves = 8

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// doubles writes c, of Double or Float, as it is, with bounds per block.
func (e *columnEncoder) doubles(c *columnMeta, feed columnFeed) error {
	c.enc = encRaw
	data, err := e.part(c, partData)
	if err != nil {
		return err
	}
	var valid validity
	var directory []byte
	var sums []float64
	sum := 0.0 // of the block
	var distinct distinctCounter
	empty := rawBlock{Min: math.Inf(1), Max: math.Inf(-1), Flags: rawBlockEmpty}
	block, inBlock := empty, 0
	all := empty
	flush := func() {
		if block.Flags&rawBlockEmpty != 0 {
			block.Min, block.Max = 0, 0
		} else {
			all.Min, all.Max, all.Flags = min(all.Min, block.Min), max(all.Max, block.Max), 0
		}
		directory = append(directory, bytesOf([]rawBlock{block})...)
		sums = append(sums, sum)
		block, inBlock, sum = empty, 0, 0
	}
	note := func(x float64, has bool) {
		if has {
			distinct.add(math.Float64bits(x))
			sum += x
			if x != x {
				block.Flags |= rawBlockNaN
			} else {
				block.Flags &^= rawBlockEmpty
				block.Min, block.Max = min(block.Min, x), max(block.Max, x)
			}
		}
		if inBlock++; inBlock == BlockRows {
			flush()
		}
	}
	var doubles []float64
	var floats []float32
	err = feed(func(v *vector.Vector) error {
		valid.add(v)
		if c.Type.Kind == vector.KindFloat {
			floats = append(floats[:0], v.Floats[:v.Len]...)
			for i, x := range floats {
				has := v.Valid.Get(i)
				note(float64(x), has)
				if !has {
					floats[i] = 0
				}
			}
			return data.write(bytesOf(floats))
		}
		doubles = append(doubles[:0], v.Doubles[:v.Len]...)
		for i, x := range doubles {
			has := v.Valid.Get(i)
			note(x, has)
			if !has {
				doubles[i] = 0
			}
		}
		return data.write(bytesOf(doubles))
	})
	if err != nil {
		return err
	}
	data.end()
	if inBlock > 0 {
		flush()
	}
	if err := e.whole(c, partBlocks, directory); err != nil {
		return err
	}
	if err := e.whole(c, partSums, bytesOf(sums)); err != nil {
		return err
	}
	if all.Flags&rawBlockEmpty == 0 {
		c.Min, c.Max, c.MinExact, c.MaxExact = all.Min, all.Max, true, true
	}
	c.Distinct, c.DistinctExact = distinct.count()
	return e.valid(c, &valid)
}
