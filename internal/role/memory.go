package role

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// machineMemory returns the bytes of memory this process may count on: the machine's, or the limit
// of its control group if that is less.
func machineMemory() int64 {
	total := installedMemory()
	if total <= 0 {
		total = 1 << 30
	}
	f, err := os.Open("/sys/fs/cgroup/memory.max")
	if err != nil {
		return total
	}
	defer f.Close()
	line := bufio.NewScanner(f)
	if line.Scan() {
		if limit, err := strconv.ParseInt(strings.TrimSpace(line.Text()), 10, 64); err == nil && limit > 0 && limit < total {
			return limit
		}
	}
	return total
}
