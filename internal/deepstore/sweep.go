package deepstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Own sets the name of this process for its uploads. The name remains the same after a restart. Own
// must be called before the first Put.
func (l *Local) Own(name string) { l.owner = strings.ReplaceAll(name, "/", "_") }

// SweepOwn removes the leftovers of this process's Puts that a crash interrupted and, with all, the
// leftovers of all other processes. It returns the number of bytes removed. It must be called at
// startup, before the first Put.
func (l *Local) SweepOwn(all bool) (removed int64, err error) {
	return l.sweep(func(name string, _ fs.FileInfo) bool { return all || strings.HasSuffix(name, "-"+l.owner) })
}

// Sweep removes the leftovers of Puts of any process that nobody has written or renamed for the
// duration age, which protects Puts in progress. It uses the clock of the file system, because the
// clocks of processes may be wrong or differ. It returns the number of bytes removed.
func (l *Local) Sweep(age time.Duration) (removed int64, err error) {
	now, err := l.now()
	if err != nil {
		return 0, err
	}
	before := now - age.Milliseconds()
	return l.sweep(func(_ string, info fs.FileInfo) bool { return touched(info) < before })
}

// now is the time that files which are written to at this moment get, in milliseconds since 1970.
func (l *Local) now() (at int64, err error) {
	name := l.uploadName()
	path := filepath.Join(l.dir, name)
	mark, err := l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, diskFault(path, err)
	}
	info, err := mark.Stat()
	if err = errors.Join(err, mark.Close(), l.root.Remove(name)); err != nil {
		return 0, diskFault(path, err)
	}
	return touched(info), nil
}

// touched is when a file was last written to or got a name, in milliseconds since 1970.
func touched(info fs.FileInfo) int64 {
	at := info.ModTime().UnixMilli()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		changed := changedAt(s)
		at = max(at, changed.Nano()/1e6)
	}
	return at
}

func (l *Local) sweep(is func(name string, info fs.FileInfo) bool) (removed int64, err error) {
	d, err := l.root.Open(uploads)
	if err != nil {
		return 0, diskFault(filepath.Join(l.dir, uploads), err)
	}
	defer d.Close() // it was only read
	entries, err := d.ReadDir(-1)
	if err != nil {
		return 0, diskFault(filepath.Join(l.dir, uploads), err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !is(e.Name(), info) {
			continue
		}
		if err := l.root.Remove(uploads + "/" + e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, diskFault(filepath.Join(l.dir, uploads, e.Name()), err)
		}
		removed += info.Size()
	}
	return removed, nil
}
