// Package durable writes files so that they survive a loss of power.
//
// A file that a process needs at its next start is written by WriteFile, or written by the caller
// and renamed by Commit:
//
//	temporary name → write → fsync → rename → fsync of the folder
//
// After a loss of power, the name refers to the old content or to the new content; once WriteFile
// or Commit has returned, it refers to the new content. Without the fsync of the file, the new name
// may refer to an empty file; without the fsync of the folder, the name may be missing. MkdirAll
// does the same for folders. Tests observe with Watch what reaches the disk.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// Sync is what tests are told when a file or a folder has been written to disk.
type Sync struct {
	// Path is the name that the file had when it was opened, or the folder.
	Path   string
	Folder bool
}

var watcher atomic.Pointer[func(Sync)]

// Watch has every later fsync told to w, after it has happened, until stop is called. w runs in the
// goroutine that asked for the fsync. Tests only; one at a time.
func Watch(w func(Sync)) (stop func()) {
	watcher.Store(&w)
	return func() { watcher.Store(nil) }
}

func notify(s Sync) {
	if w := watcher.Load(); w != nil {
		(*w)(s)
	}
}

// File writes the bytes of an open file to disk.
func File(f *os.File) error {
	if err := f.Sync(); err != nil {
		return err
	}
	notify(Sync{Path: f.Name()})
	return nil
}

// Folder writes the names in a folder to disk.
func Folder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close() // it was only read
	return OpenFolder(d, path)
}

// OpenFolder is Folder for one that the caller has open and that lies at path.
func OpenFolder(d *os.File, path string) error {
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // file systems without fsync of folders need none
		return err
	}
	notify(Sync{Path: path, Folder: true})
	return nil
}

// WriteFile replaces the content of the file at path, or makes it.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*"+Temporary)
	if err != nil {
		return err
	}
	if err = file.Chmod(mode); err == nil {
		_, err = file.Write(content)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	return Commit(file, path)
}

// Temporary ends the names of files that WriteFile has not given their names yet. A process that
// was killed leaves them behind.
const Temporary = ".henge-tmp"

// Commit writes file to disk, closes it and gives it the name path, in the same folder. If it fails
// the file is removed.
func Commit(file *os.File, path string) error {
	err := File(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return Folder(filepath.Dir(path))
}

// Create makes an empty file if there is none at path, and its name is on disk then.
func Create(path string, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return Folder(filepath.Dir(path))
}

// MkdirAll makes a folder and those above it that are missing, each of them on disk before the
// next.
func MkdirAll(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := Folder(parent); err != nil && !errors.Is(err, fs.ErrPermission) { // a folder above that is only passed through
		return fmt.Errorf("syncing folder [%s]: %w", parent, err)
	}
	return nil
}

// IsFull reports whether err says that there is no room for what was to be written: the disk, the
// quota or the limit of the process.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
