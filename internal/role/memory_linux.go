package role

import "syscall"

// installedMemory returns the bytes of memory of the machine; 0: unknown.
func installedMemory() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
