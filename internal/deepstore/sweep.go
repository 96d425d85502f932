package deepstore

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// Own gives the uploads of this process a name that the process keeps over restarts. It is called
// before the first Put.
func (l *Local) Own(name string) { l.owner = strings.ReplaceAll(name, "/", "_") }

// SweepOwn removes what Puts of this process have left that a crash cut off, and with all those of
// every other process too. It returns how many bytes that was. It is for the start of a process,
// before the first Put.
func (l *Local) SweepOwn(all bool) (removed int64, err error) {
	return l.sweep(func(name string, _ fs.FileInfo) bool { return all || strings.HasSuffix(name, "-"+l.owner) })
}

// Sweep removes what Puts of any process have left, if nobody has written to it or named it since
// the given time (milliseconds since 1970): the age protects Puts that are under way. It returns
// how many bytes that was.
func (l *Local) Sweep(before int64) (removed int64, err error) {
	return l.sweep(func(_ string, info fs.FileInfo) bool { return touched(info) < before })
}

// touched is when a file was last written to or got a name, in milliseconds since 1970.
func touched(info fs.FileInfo) int64 {
	at := info.ModTime().UnixMilli()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		at = max(at, s.Ctim.Nano()/1e6)
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
