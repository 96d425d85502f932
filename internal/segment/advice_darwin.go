package segment

// willNeed does nothing: package syscall has no call for it here, and bytes are read when they are
// touched.
func willNeed([]byte) {}
