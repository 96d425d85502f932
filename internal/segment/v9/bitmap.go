package v9

import (
	"bytes"
	"encoding/binary"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/vector"
)

// bitmapKind is how a segment keeps sets of rows.
type bitmapKind string

const (
	roaringBitmaps bitmapKind = "roaring"
	conciseBitmaps bitmapKind = "concise"
)

// without returns the validity of rows of which those in a bitmap are null; nil if none is.
func without(part string, kind bitmapKind, b []byte, rows int) (vector.Bitmap, error) {
	if len(b) == 0 {
		return nil, nil
	}
	valid := vector.FullBitmap(rows)
	nulls := 0
	clear := func(row uint64) bool {
		if row >= uint64(rows) {
			return false
		}
		valid.Clear(int(row))
		nulls++
		return true
	}
	ok := false
	switch kind {
	case roaringBitmaps:
		ok = eachRoaring(b, clear)
	case conciseBitmaps:
		ok = eachConcise(b, clear)
	default:
		return nil, unknown(part, "it has bitmaps of type [%.40q]", kind)
	}
	if !ok {
		return nil, corrupt(part, "its bitmap of nulls can't be read, or has rows behind the last")
	}
	if nulls == 0 {
		return nil, nil
	}
	return valid, nil
}

func eachRoaring(b []byte, f func(row uint64) bool) bool {
	bitmap := roaring.New()
	if _, err := bitmap.ReadFrom(bytes.NewReader(b)); err != nil || bitmap.Validate() != nil {
		return false
	}
	for it := bitmap.Iterator(); it.HasNext(); {
		if !f(uint64(it.Next())) {
			return false
		}
	}
	return true
}

// eachConcise decodes the words of a Concise set ("Concise: Compressed 'n' Composable Integer Set",
// Colantonio and Di Pietro, 2010): a word with the highest bit is 31 rows; others are a fill of
// 31-row blocks, one more than their low 25 bits say, all with the second-highest bit as value but
// for one row of the first block, which the five bits between name (1: the first row; 0: none).
func eachConcise(b []byte, f func(row uint64) bool) bool {
	if len(b)%4 != 0 {
		return false
	}
	row := uint64(0)
	for ; len(b) > 0; b = b[4:] {
		word := binary.BigEndian.Uint32(b)
		if word&(1<<31) != 0 {
			for i := range uint64(31) {
				if word>>i&1 != 0 && !f(row+i) {
					return false
				}
			}
			row += 31
			continue
		}
		ones, flipped := word&(1<<30) != 0, uint64(word>>25&31)
		length := (uint64(word&(1<<25-1)) + 1) * 31
		switch {
		case ones:
			for i := range length {
				if i+1 != flipped && !f(row+i) {
					return false
				}
			}
		case flipped > 0:
			if !f(row + flipped - 1) {
				return false
			}
		}
		row += length
	}
	return true
}
