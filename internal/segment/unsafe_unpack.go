//go:build amd64 || arm64 || loong64 || ppc64le || riscv64

package segment

import (
	"math/bits"
	"unsafe"

	"github.com/hengedb/henge/internal/invariant"
)

// unpack decodes len(dst) values of w bytes, of 1 to 7, that lie in data from byte at on, each by a
// load of eight bytes: data reaches frameSlack bytes beyond the last value. It sets dst to least +
// value * unit.
func unpack(dst []int64, data []byte, at, w int, least int64, unit uint64) {
	n := len(dst)
	if n == 0 {
		return
	}
	data = data[at : at+n*w+frameSlack]
	invariant.Check(w >= 1 && w < 8, "values of [%d] bytes", w)
	p := unsafe.Pointer(&data[0])
	mask := uint64(1)<<(8*uint(w)) - 1
	step := uintptr(w)
	if unit != 1 {
		for i := range dst {
			dst[i] = least + int64((*(*uint64)(p)&mask)*unit)
			p = unsafe.Add(p, step)
		}
		return
	}
	i := 0
	for ; i+4 <= n; i += 4 {
		four := dst[i : i+4 : i+4]
		four[0] = least + int64(*(*uint64)(p)&mask)
		four[1] = least + int64(*(*uint64)(unsafe.Add(p, step))&mask)
		four[2] = least + int64(*(*uint64)(unsafe.Add(p, 2*step))&mask)
		four[3] = least + int64(*(*uint64)(unsafe.Add(p, 3*step))&mask)
		p = unsafe.Add(p, 4*step)
	}
	for ; i < n; i++ {
		dst[i] = least + int64(*(*uint64)(p)&mask)
		p = unsafe.Add(p, step)
	}
}

// bytesBetween sets pass to a bit for each of the values of w bytes, of 1 to 8, that lie in data
// from byte at on, 64 for each of its words: whether it is first or one of the span after it.
func bytesBetween(data []byte, at, w int, first, span uint64, pass []uint64) {
	if len(pass) == 0 {
		return
	}
	data = data[at : at+64*len(pass)*w+frameSlack]
	invariant.Check(w >= 1 && w <= 8, "values of [%d] bytes", w)
	p := unsafe.Pointer(&data[0])
	mask := ^uint64(0) >> (64 - 8*uint(w))
	step := uintptr(w)
	if span < mask/rareBetween {
		for i := range pass {
			pass[i] = rareBytesBetween(p, step, mask, first, span)
			p = unsafe.Add(p, 64*step)
		}
		return
	}
	for i := range pass {
		// From the last value to the first: the carry of each subtraction is added to twice the word.
		q, r, s := unsafe.Add(p, step), unsafe.Add(p, 2*step), unsafe.Add(p, 3*step)
		var word, beyond uint64
		for k := 60 * step; ; k -= 4 * step {
			_, beyond = bits.Sub64(span, *(*uint64)(unsafe.Add(s, k))&mask-first, 0)
			word, _ = bits.Add64(word, word, beyond)
			_, beyond = bits.Sub64(span, *(*uint64)(unsafe.Add(r, k))&mask-first, 0)
			word, _ = bits.Add64(word, word, beyond)
			_, beyond = bits.Sub64(span, *(*uint64)(unsafe.Add(q, k))&mask-first, 0)
			word, _ = bits.Add64(word, word, beyond)
			_, beyond = bits.Sub64(span, *(*uint64)(unsafe.Add(p, k))&mask-first, 0)
			word, _ = bits.Add64(word, word, beyond)
			if k == 0 {
				break
			}
		}
		pass[i] = ^word
		p = unsafe.Add(p, 64*step)
	}
}

// bytesAbove is bytesBetween for one bound: the bits of pass say whether a value is more than
// limit, and are flipped where flip has a bit.
func bytesAbove(data []byte, at, w int, limit, flip uint64, pass []uint64) {
	if len(pass) == 0 {
		return
	}
	data = data[at : at+64*len(pass)*w+frameSlack]
	invariant.Check(w >= 1 && w <= 8, "values of [%d] bytes", w)
	p := unsafe.Pointer(&data[0])
	mask := ^uint64(0) >> (64 - 8*uint(w))
	step := uintptr(w)
	for i := range pass {
		q, r, s := unsafe.Add(p, step), unsafe.Add(p, 2*step), unsafe.Add(p, 3*step)
		var word, above uint64
		for k := 60 * step; ; k -= 4 * step {
			_, above = bits.Sub64(limit, *(*uint64)(unsafe.Add(s, k))&mask, 0)
			word, _ = bits.Add64(word, word, above)
			_, above = bits.Sub64(limit, *(*uint64)(unsafe.Add(r, k))&mask, 0)
			word, _ = bits.Add64(word, word, above)
			_, above = bits.Sub64(limit, *(*uint64)(unsafe.Add(q, k))&mask, 0)
			word, _ = bits.Add64(word, word, above)
			_, above = bits.Sub64(limit, *(*uint64)(unsafe.Add(p, k))&mask, 0)
			word, _ = bits.Add64(word, word, above)
			if k == 0 {
				break
			}
		}
		pass[i] = word ^ flip
		p = unsafe.Add(p, 64*step)
	}
}

// rareBetween is the share of all values below which a range is held to have few of those that are
// stored.
const rareBetween = 64

// rareBytesBetween is a word of bytesBetween for a range of few values: the distance of the nearest
// of eight tells whether any is in it.
func rareBytesBetween(p unsafe.Pointer, step uintptr, mask, first, span uint64) (word uint64) {
	for k := 0; k < 64; k += 8 {
		q := unsafe.Add(p, 4*step)
		near := min(*(*uint64)(p)&mask-first, *(*uint64)(unsafe.Add(p, step))&mask-first,
			*(*uint64)(unsafe.Add(p, 2*step))&mask-first, *(*uint64)(unsafe.Add(p, 3*step))&mask-first)
		far := min(*(*uint64)(q)&mask-first, *(*uint64)(unsafe.Add(q, step))&mask-first,
			*(*uint64)(unsafe.Add(q, 2*step))&mask-first, *(*uint64)(unsafe.Add(q, 3*step))&mask-first)
		if min(near, far) <= span {
			for i := range 8 {
				word |= one(*(*uint64)(unsafe.Add(p, uintptr(i)*step))&mask-first <= span) << (k + i)
			}
		}
		p = unsafe.Add(q, 4*step)
	}
	return word
}
