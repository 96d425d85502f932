//go:build amd64 || arm64 || loong64 || ppc64le || riscv64

package segment

import (
	"unsafe"

	"github.com/hengedb/henge/internal/invariant"
)

// The file is little-endian, and so are the machines of the build constraint: stored numbers are
// used where they lie.

// number is a fixed-size value, or a struct of such without gaps, that is read in place.
type number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | ~int64 | ~float64 | ~float32 | frameBlock | rawBlock | blobBlock | dictBlock
}

// view returns the whole numbers in b, which begins at a multiple of partAlign in memory, without
// copying.
func view[T number](b []byte) []T {
	var zero T
	n := len(b) / int(unsafe.Sizeof(zero))
	if n == 0 {
		return nil
	}
	p := unsafe.Pointer(&b[0])
	invariant.Check(uintptr(p)%unsafe.Alignof(zero) == 0, "part of [%d] bytes is not aligned", len(b))
	return unsafe.Slice((*T)(p), n)
}

// bytesOf returns the memory of x.
func bytesOf[T number](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}

// textOf returns b as a string that shares its memory.
func textOf(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// alignedBytes returns n zero bytes that begin where any number may be read in place.
func alignedBytes(n int) []byte {
	if n == 0 {
		return nil
	}
	return bytesOf(make([]uint64, (n+7)/8))[:n]
}

// addressIn reports whether a fault at addr hit b, and at which byte.
func addressIn(b []byte, addr uintptr) (int64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	start := uintptr(unsafe.Pointer(&b[0]))
	return int64(addr - start), addr >= start && addr-start < uintptr(len(b))
}
