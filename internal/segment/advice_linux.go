package segment

import "syscall"

// willNeed has the system read mapped bytes ahead.
func willNeed(mapped []byte) {
	_ = syscall.Madvise(mapped, syscall.MADV_WILLNEED) // a hint
}
