package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

const (
	// maxReserve is how large a reserve is, and reserveShare which part of the disk it is at most.
	maxReserve   = 8 << 20
	reserveShare = 64
)

// Reserve is a file that takes room on a disk so that it can be given back when the disk is full:
// what makes room by deleting needs a little of it first. It is used by any number of goroutines.
type Reserve struct {
	path string
	size int64

	mu   sync.Mutex
	held bool
}

// OpenReserve returns the reserve at path, in a folder that exists. Where there is no room for it,
// it is not held.
func OpenReserve(path string) *Reserve {
	r := &Reserve{path: path, size: maxReserve}
	var disk syscall.Statfs_t
	if syscall.Statfs(filepath.Dir(path), &disk) == nil {
		r.size = min(r.size, int64(disk.Blocks)*int64(disk.Bsize)/reserveShare) //nolint:unconvert // other systems have other types
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		r.held = true
	} else {
		r.Hold()
	}
	return r
}

// Hold takes the room if it is not taken, and leaves twice as much free. It reports whether the
// reserve is held.
func (r *Reserve) Hold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held {
		return true
	}
	if r.free() < 3*r.size {
		return false
	}
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	block := make([]byte, 64<<10)
	for left := r.size; left > 0 && err == nil; left -= int64(len(block)) { // zeros that are written, as holes take no room
		_, err = file.Write(block[:min(left, int64(len(block)))])
	}
	if err = errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(r.path) // there is no room for it
		return false
	}
	r.held = true
	return true
}

// Release gives the room back, and reports whether there was any.
func (r *Reserve) Release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held {
		return false
	}
	err := os.Remove(r.path)
	r.held = false
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// Held reports whether the room is taken: the disk was not full so far.
func (r *Reserve) Held() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// Scarce reports whether less is free on the disk than the reserve would give back.
func (r *Reserve) Scarce() bool { return r.free() < r.size }

// free is how many bytes the disk has left.
func (r *Reserve) free() int64 {
	free, _, err := Room(filepath.Dir(r.path))
	if err != nil {
		return 1 << 62 // nobody knows
	}
	return free
}

// Room returns how many bytes the disk of a folder has, and how many of them this process may still
// take.
func Room(folder string) (free, size int64, err error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(folder, &disk); err != nil {
		return 0, 0, err
	}
	block := int64(disk.Bsize) //nolint:unconvert // other systems have other types
	return int64(disk.Bavail) * block, int64(disk.Blocks) * block, nil
}
