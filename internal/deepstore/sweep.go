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

// Own gives the uploads of this process a name that the process keeps over restarts. It is called
// before the first Put.
func (l *Local) Own(name string) { l.owner = strings.ReplaceAll(name, "/", "_") }

// SweepOwn removes what Puts of this process have left that a crash cut off, and with all those of
// every other process too. It returns how many bytes that was. It is for the start of a process,
// before the first Put.
func (l *Local) SweepOwn(all bool) (removed int64, err error) {
	return l.sweep(func(name string, _ fs.FileInfo) bool { return all || strings.HasSuffix(name, "-"+l.owner) })
}

// Sweep removes what Puts of any process have left, if nobody has written to it or named it for as
// long as age says, which protects Puts that are under way. The time is that of the folder: the
// clock of this process may be set forward, or differ from those of others. It returns how many
// bytes that was.
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
