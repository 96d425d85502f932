package ingest

import "unsafe"

// arenaBlock is the size of the blocks that strings are copied to: one allocation for some hundred values.
const arenaBlock = 64 << 10

// arena holds the bytes of strings that live as long as a batch. Blocks are never written twice, so that the strings may be handed out
// without another copy.
type arena struct{ block []byte }

// copy returns b as a string of its own.
func (a *arena) copy(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > cap(a.block)-len(a.block) {
		if len(b) > arenaBlock/4 {
			return string(b)
		}
		a.block = make([]byte, 0, arenaBlock)
	}
	n := len(a.block)
	a.block = append(a.block, b...)
	return unsafe.String(&a.block[n], len(b))
}
