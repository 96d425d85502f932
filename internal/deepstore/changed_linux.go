package deepstore

import "syscall"

// changedAt is when a file was last written to or got a name.
func changedAt(s *syscall.Stat_t) syscall.Timespec { return s.Ctim }
