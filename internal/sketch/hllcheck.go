package sketch

import "encoding/binary"

// The library believes what it reads: a count that is wrong makes it read beyond the end, and a
// table without a free place makes it search for ever. So the stored form is checked first.

// hllUnfit returns what is wrong with the stored form of an HLL sketch, "" if it can be read.
func hllUnfit(p string) string {
	if len(p) < hllMinLength || p[1] != 1 || p[2] != hllFamily {
		return "its header is unknown"
	}
	b := []byte(p)
	log, typ := int(b[3]), b[7]>>2&3
	if log < MinHLLLog || log > MaxHLLLog || typ > 2 {
		return "a number in its header is out of range"
	}
	switch b[7] & hllModeMask {
	case hllModeList:
		return couponsUnfit(b[hllMinLength:], int(b[6]), 8)
	case hllModeSet:
		if len(b) < hllSetStart || b[5]&hllCompact == 0 {
			return "its length is wrong"
		}
		n := binary.LittleEndian.Uint32(b[8:])
		return couponsUnfit(b[hllSetStart:], int(n), 3<<max(5, log-3)/4)
	case hllModeArray:
		return registersUnfit(b, log, typ)
	}
	return "its header is unknown"
}

const hllCompact = 8

// couponsUnfit checks a list of n coupons, each a place of 26 bits below a value from 1 to 63.
func couponsUnfit(b []byte, n, most int) string {
	if n > most || len(b) < 4*n {
		return "its length is wrong"
	}
	for i := range n {
		if binary.LittleEndian.Uint32(b[4*i:])>>26 == 0 {
			return "a value is out of range"
		}
	}
	return ""
}

// registersUnfit checks registers; those of four bits that hold 15 have their value in a list
// behind.
func registersUnfit(b []byte, log int, typ byte) string {
	k := 1 << log
	size := [...]int{k / 2, k*3>>2 + 1, k}[typ]
	if len(b) < hllArrayStart+size || int(binary.LittleEndian.Uint32(b[32:])) > k || b[6] > 63 {
		return "its length is wrong"
	}
	if typ != 0 {
		return ""
	}
	registers, list := b[hllArrayStart:hllArrayStart+size], b[hllArrayStart+size:]
	n := int(binary.LittleEndian.Uint32(b[36:]))
	if n > k || n > 0 && b[5]&hllCompact == 0 || len(list) < 4*n || int(b[4]) > log || 4*n > 3<<b[4] && b[4] > 0 {
		return "its length is wrong"
	}
	high := map[uint32]bool{}
	for i := range n {
		pair := binary.LittleEndian.Uint32(list[4*i:])
		slot := pair & (1<<26 - 1)
		if slot >= uint32(k) || pair>>26 == 0 || high[slot] || nibble(registers, slot) != 15 {
			return "a value is out of range"
		}
		high[slot] = true
	}
	for slot := range uint32(k) {
		if nibble(registers, slot) == 15 && !high[slot] {
			return "a value is missing"
		}
	}
	return ""
}

// nibble returns register slot of four bits; even ones have the lower half of a byte.
func nibble(registers []byte, slot uint32) byte { return registers[slot/2] >> (slot % 2 * 4) & 15 }
