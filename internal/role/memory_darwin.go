package role

import (
	"encoding/binary"
	"syscall"
)

// installedMemory returns the bytes of memory of the machine; 0: unknown.
func installedMemory() int64 {
	text, err := syscall.Sysctl("hw.memsize")
	if err != nil {
		return 0
	}
	// A number of eight bytes, which the call takes for text: it leaves a zero at the end away.
	var number [8]byte
	copy(number[:], text)
	return int64(binary.LittleEndian.Uint64(number[:]))
}
