package exec

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
)

// A file system that is full before the limit of the disk is reached ends queries as that limit
// does.
func TestAFullFileSystemEndsQueries(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("spill", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("file systems can't be mounted here: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	spillsTo(t, dir, budget.DiskRoot(1<<30), func(err error) bool {
		f := fault.Find(err)
		return errors.Is(err, syscall.ENOSPC) && f != nil && f.Legacy == fault.LegacyResourceLimit && strings.Contains(f.Message, "the disk for spilled data is full")
	})
}
