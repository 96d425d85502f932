package ingest

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// exactPowers are the powers of ten that doubles hold exactly, as far as whole numbers of 64 bits go.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

var wholePowers = [len(exactPowers)]uint64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// scaled returns the double that is nearest to v / 10^scale; of two the one whose last bit is 0. The scale is a place of exactPowers.
func scaled(v uint64, scale int) float64 {
	if v <= 1<<53 {
		// A double holds both exactly, and their quotient is rounded once (Clinger, 1990).
		return float64(v) / exactPowers[scale]
	}
	// Both with the highest bit set, the quotient v/d is that of their bits, between 1/2 and 2: as a whole number of 63 or 64 bits after
	// 63 places, with a remainder that says whether anything follows.
	d := wholePowers[scale]
	up, down := bits.LeadingZeros64(v), bits.LeadingZeros64(d)
	v, d = v<<up, d<<down
	q, rest := bits.Div64(v>>1, v<<63, d)
	exponent := down - up - 63
	extra := 11 - bits.LeadingZeros64(q) // bits beyond the 53 of a double
	m, below := q>>extra, q&(1<<extra-1)
	if half := uint64(1) << (extra - 1); below > half || below == half && (rest != 0 || m&1 != 0) {
		m++
	}
	return float64(m) * math.Float64frombits(uint64(exponent+extra+1023)<<52)
}

// digits reads the decimal digits at i behind v, whose number may be any, and returns where they end: v has overflowed if there are more than 19.
func digits(text []byte, i int, v uint64) (uint64, int) {
	for i+8 <= len(text) {
		w := binary.LittleEndian.Uint64(text[i:])
		// A digit is 3 in its high half, and stays so when 6 is added. Above a byte that is none, the sum may be wrong.
		others := (w&0xf0f0f0f0f0f0f0f0 | (w+0x0606060606060606)&0xf0f0f0f0f0f0f0f0>>4) ^ 0x3333333333333333
		n := 8
		if others != 0 {
			n = bits.TrailingZeros64(others) / 8
			w <<= 64 - 8*uint(n) // zeros lead
		}
		// Neighbours become numbers of two digits, then of four, then of eight.
		w = (w & 0x0f0f0f0f0f0f0f0f) * 2561 >> 8
		w = (w & 0x00ff00ff00ff00ff) * 6553601 >> 16
		w = (w & 0x0000ffff0000ffff) * 42949672960001 >> 32
		v = v*wholePowers[n] + w
		if i += n; n < 8 {
			return v, i
		}
	}
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		v = v*10 + uint64(text[i]-'0')
	}
	return v, i
}
