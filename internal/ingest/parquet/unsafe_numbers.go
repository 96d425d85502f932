//go:build amd64 || arm64 || loong64 || ppc64le || riscv64

package parquet

import "unsafe"

// Numbers of the format are little-endian, and so are the machines of the build constraint.

// bytesOf returns the memory of numbers.
func bytesOf[T int32 | int64 | float32 | float64](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}
