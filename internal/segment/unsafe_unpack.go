//go:build amd64 || arm64 || loong64 || ppc64le || riscv64

package segment

import (
	"unsafe"

	"github.com/hengedb/henge/internal/invariant"
)

// unpack decodes len(dst) values of w bytes, of 1 to 7, that lie in data from byte at on, each by a load of eight bytes: data reaches
// frameSlack bytes beyond the last value. It sets dst to least + value * unit.
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
