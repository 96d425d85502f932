package parquet

import "encoding/binary"

// joinStreams puts the values of BYTE_STREAM_SPLIT together: byte k of each of n values is in the
// k-th of width streams.
func joinStreams(out, data []byte, n, width int) {
	switch width {
	case 8:
		join8(out, data, n)
	case 4:
		join4(out, data, n)
	default:
		joinFrom(out, data, n, width, 0)
	}
}

// joinFrom puts the values from first on together.
func joinFrom(out, data []byte, n, width, first int) {
	for k := range width {
		for i, b := range data[k*n+first : (k+1)*n] {
			out[(first+i)*width+k] = b
		}
	}
}

// join8 takes eight bytes of each of eight streams at a time, a square that is turned over its
// diagonal: by halves, quarters and bytes.
func join8(out, data []byte, n int) {
	i := 0
	for ; i+8 <= n; i += 8 {
		var r [8]uint64
		for k := range r {
			r[k] = binary.LittleEndian.Uint64(data[k*n+i:])
		}
		const half, quarter, odd = 0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff
		for k := range 4 {
			x := (r[k]>>32 ^ r[k+4]) & half
			r[k], r[k+4] = r[k]^x<<32, r[k+4]^x
		}
		for _, k := range [4]int{0, 1, 4, 5} {
			x := (r[k]>>16 ^ r[k+2]) & quarter
			r[k], r[k+2] = r[k]^x<<16, r[k+2]^x
		}
		dst := out[8*i : 8*i+64]
		for k := 0; k < 8; k += 2 {
			x := (r[k]>>8 ^ r[k+1]) & odd
			binary.LittleEndian.PutUint64(dst[8*k:], r[k]^x<<8)
			binary.LittleEndian.PutUint64(dst[8*k+8:], r[k+1]^x)
		}
	}
	joinFrom(out, data, n, 8, i)
}

func join4(out, data []byte, n int) {
	a, b, c, d := data[:n], data[n:2*n], data[2*n:3*n], data[3*n:4*n]
	for i := range a {
		binary.LittleEndian.PutUint32(out[4*i:], uint32(a[i])|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
	}
}
