//go:build amd64 || arm64 || loong64 || ppc64le || riscv64

package segment

import (
	"unsafe"

	"github.com/hengedb/henge/internal/invariant"
)

// unpackBits decodes len(dst) values of b bits, of 1 to maxPackedBits, the first of them number
// from of those that begin at data: data reaches frameSlack bytes beyond the last value. It sets
// dst to least + value * unit.
//
// Eight values begin and end with a byte. They are decoded with as few loads of eight bytes as have
// all their bits.
func unpackBits(dst []int64, data []byte, from int, b uint, least int64, unit uint64) {
	invariant.Check(b >= 1 && b <= maxPackedBits, "values of [%d] bits", b)
	n := len(dst)
	data = data[:(from+n)*int(b)/8+frameSlack] // the last value begins before it
	for n > 0 && from%8 != 0 {
		dst[0] = least + int64(packedAt(data, from, b)*unit)
		dst, from, n = dst[1:], from+1, n-1
	}
	if n < 8 {
		for i := range dst {
			dst[i] = least + int64(packedAt(data, from+i, b)*unit)
		}
		return
	}
	whole := n &^ 7
	p := unsafe.Pointer(&data[from/8*int(b)])
	add := least
	if unit != 1 {
		add = 0 // it is added below
	}
	switch {
	case b <= 8:
		unpackByEight(dst[:whole], p, b, add)
	case b <= 15:
		unpackByFour(dst[:whole], p, b, add)
	default:
		unpackByTwo(dst[:whole], p, b, add)
	}
	if unit != 1 {
		for i, x := range dst[:whole] {
			dst[i] = least + int64(uint64(x)*unit)
		}
	}
	for i := whole; i < n; i++ {
		dst[i] = least + int64(packedAt(data, from+i, b)*unit)
	}
}

// unpackByEight decodes eight values with one load.
func unpackByEight(dst []int64, p unsafe.Pointer, b uint, least int64) {
	b &= 63 // what the compiler does not know otherwise
	mask := uint64(1)<<b - 1
	for ; len(dst) >= 8; dst = dst[8:] {
		x, out := *(*uint64)(p), (*[8]int64)(dst)
		out[0] = least + int64(x&mask)
		x >>= b
		out[1] = least + int64(x&mask)
		x >>= b
		out[2] = least + int64(x&mask)
		x >>= b
		out[3] = least + int64(x&mask)
		x >>= b
		out[4] = least + int64(x&mask)
		x >>= b
		out[5] = least + int64(x&mask)
		x >>= b
		out[6] = least + int64(x&mask)
		x >>= b
		out[7] = least + int64(x&mask)
		p = unsafe.Add(p, b)
	}
}

// unpackByFour decodes four values with each load.
func unpackByFour(dst []int64, p unsafe.Pointer, b uint, least int64) {
	b &= 63 // what the compiler does not know otherwise
	mask := uint64(1)<<b - 1
	second, shift := 4*b>>3, 4*b&7
	for ; len(dst) >= 8; dst = dst[8:] {
		x, y, out := *(*uint64)(p), *(*uint64)(unsafe.Add(p, second))>>shift, (*[8]int64)(dst)
		out[0], out[4] = least+int64(x&mask), least+int64(y&mask)
		x, y = x>>b, y>>b
		out[1], out[5] = least+int64(x&mask), least+int64(y&mask)
		x, y = x>>b, y>>b
		out[2], out[6] = least+int64(x&mask), least+int64(y&mask)
		x, y = x>>b, y>>b
		out[3], out[7] = least+int64(x&mask), least+int64(y&mask)
		p = unsafe.Add(p, b)
	}
}

// unpackByTwo decodes two values with each load.
func unpackByTwo(dst []int64, p unsafe.Pointer, b uint, least int64) {
	b &= 63 // what the compiler does not know otherwise
	mask := uint64(1)<<b - 1
	at2, at4, at6 := 2*b>>3, 4*b>>3, 6*b>>3
	shift2, shift4, shift6 := 2*b&7, 4*b&7, 6*b&7
	for ; len(dst) >= 8; dst = dst[8:] {
		out := (*[8]int64)(dst)
		x, y := *(*uint64)(p), *(*uint64)(unsafe.Add(p, at2))>>shift2
		z, w := *(*uint64)(unsafe.Add(p, at4))>>shift4, *(*uint64)(unsafe.Add(p, at6))>>shift6
		out[0], out[2], out[4], out[6] = least+int64(x&mask), least+int64(y&mask), least+int64(z&mask), least+int64(w&mask)
		x, y, z, w = x>>b, y>>b, z>>b, w>>b
		out[1], out[3], out[5], out[7] = least+int64(x&mask), least+int64(y&mask), least+int64(z&mask), least+int64(w&mask)
		p = unsafe.Add(p, b)
	}
}

// packedAt returns value number i of those of b bits that begin at data.
func packedAt(data []byte, i int, b uint) uint64 {
	bit := uint(i) * b
	return *(*uint64)(unsafe.Pointer(&data[bit/8 : bit/8+8][0])) >> (bit & 7) & (1<<b - 1)
}

// pickBits decodes the values of rows, ascending and of one block, of those of b bits that begin at
// data, which reaches frameSlack bytes beyond the last of them. It sets dst to least + value *
// unit.
func pickBits(dst []int64, data []byte, rows []uint32, b uint, least int64, unit uint64) {
	if len(rows) == 0 {
		return
	}
	last := uint(rows[len(rows)-1]%BlockRows) * b / 8
	data = data[:last+frameSlack]
	p := unsafe.Pointer(&data[0])
	mask := uint64(1)<<(b&63) - 1
	dst = dst[:len(rows)]
	for i, r := range rows {
		bit := uint(r%BlockRows) * b
		dst[i] = least + int64(*(*uint64)(unsafe.Add(p, bit/8))>>(bit&7)&mask*unit)
	}
}
