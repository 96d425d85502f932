package role

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/hengedb/henge/internal/fault"
)

// formatVersion is the layout of the data directory. A directory of a higher one is refused.
const formatVersion = 1

// directory is a locked data directory.
type directory struct {
	path string
	lock *os.File
}

// openDirectory creates the directory if need be, takes its lock, and checks its version.
func openDirectory(path string) (*directory, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fault.InvalidInput("Data directory [%s] can't be created: %s. Choose another with --data or service.data.dir.", path, reason(err))
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fault.InvalidInput("Data directory [%s] can't be written to: %s. Choose another with --data or service.data.dir.", path, reason(err))
	}
	d := &directory{path: path, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(lock, 32)) // only makes the message better
		_ = lock.Close()                                  // nothing was written
		who := "another process"
		if pid := strings.TrimSpace(string(holder)); pid != "" {
			who = "process " + pid
		}
		return nil, fault.Conflict("Data directory [%s] is in use by %s. Stop it, or choose another directory with --data or service.data.dir.", path, who)
	}
	if err := d.check(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *directory) check() error {
	if err := d.lock.Truncate(0); err != nil {
		return fault.InvalidInput("Data directory [%s] can't be written to: %s", d.path, reason(err))
	}
	if _, err := d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fault.InvalidInput("Data directory [%s] can't be written to: %s", d.path, reason(err))
	}
	file := filepath.Join(d.path, "version")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(file, []byte(strconv.Itoa(formatVersion)+"\n"), 0o644); err != nil {
			return fault.InvalidInput("Data directory [%s] can't be written to: %s", d.path, reason(err))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the version of the data directory: %w", err)
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil:
		return fault.InvalidInput("Data directory [%s] is damaged: its file [version] holds no number", d.path)
	case version > formatVersion:
		return fault.InvalidInput("Data directory [%s] has version [%d] and was written by a newer release; this release reads versions up to [%d]. Use the newer release.",
			d.path, version, formatVersion)
	}
	return nil
}

// sub returns the path of a part of the directory, created if need be.
func (d *directory) sub(name string) (string, error) {
	path := filepath.Join(d.path, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		return "", fault.InvalidInput("Data directory [%s] can't be written to: %s", d.path, reason(err))
	}
	return path, nil
}

func (d *directory) close() {
	_ = d.lock.Close() // releases the lock; the file holds nothing that could be lost
}

// reason gives the system's words without the path, which the message names already.
func reason(err error) string {
	if pathError, ok := errors.AsType[*os.PathError](err); ok {
		return pathError.Err.Error()
	}
	return err.Error()
}
