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

	"github.com/hengedb/henge/internal/durable"
	"github.com/hengedb/henge/internal/fault"
)

// formatVersion is the layout of the data directory. A directory of a higher one is refused.
const formatVersion = 1

// directory is a locked data directory.
type directory struct {
	path string
	lock *os.File
	// mended are the files that a loss of power had emptied and that were written anew.
	mended []string
}

// openDirectory creates the directory if need be, takes its lock, and checks its version.
func openDirectory(path string) (*directory, error) {
	if err := durable.MkdirAll(path, 0o700); err != nil {
		return nil, fault.InvalidInput("Data directory [%s] can't be created: %s. Choose another with --data or service.data.dir.", path, reason(err))
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
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
	err := d.lock.Truncate(0)
	if err == nil {
		_, err = d.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil && !durable.IsFull(err) { // the number only makes a message better
		return d.unwritable(err)
	}
	text, err := d.marker("version", func() string { return strconv.Itoa(formatVersion) })
	if err != nil {
		return err
	}
	if err := checkFormat(d.path, text); err != nil {
		return err
	}
	return d.sweep()
}

// checkFormat refuses a data directory of a later layout; word is what its file [version] holds.
func checkFormat(path, word string) error {
	version, err := strconv.Atoi(word)
	switch {
	case err != nil:
		return fault.InvalidInput("Data directory [%s] is damaged: its file [version] contains no number", path)
	case version > formatVersion:
		return fault.InvalidInput("Data directory [%s] has version [%d] and was written by a newer release; this release reads versions up to "+
			"[%d]. Use the newer release.", path, version, formatVersion)
	}
	return nil
}

// marker returns the word in a small file of the directory. A file that is missing gets the word of
// fresh, and so does one that a loss of power has left empty or full of zeros: what it held is the
// same for the whole life of the directory or can be chosen anew.
func (d *directory) marker(name string, fresh func() string) (string, error) {
	path := filepath.Join(d.path, name)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading file [%s] of the data directory: %w", name, err)
	}
	if word := strings.Trim(string(text), " \r\n\t\x00"); word != "" {
		return word, nil
	}
	word := fresh()
	if writeErr := durable.WriteFile(path, []byte(word+"\n"), 0o600); writeErr != nil {
		return "", d.unwritable(writeErr)
	}
	if err == nil {
		d.mended = append(d.mended, name)
	}
	return word, nil
}

// sweep removes what a process that was killed while it wrote a marker has left.
func (d *directory) sweep() error {
	left, err := filepath.Glob(filepath.Join(d.path, ".*"+durable.Temporary))
	if err != nil {
		return fmt.Errorf("listing the data directory: %w", err)
	}
	for _, path := range left {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return d.unwritable(err)
		}
	}
	return nil
}

func (d *directory) unwritable(err error) error {
	if durable.IsFull(err) {
		return fault.InvalidInput("Data directory [%s] can't be written to: its disk is full. Make room, or choose another directory with "+
			"--data or service.data.dir.", d.path).WithCause(err)
	}
	return fault.InvalidInput("Data directory [%s] can't be written to: %s", d.path, reason(err)).WithCause(err)
}

// readable returns what of the directory's first two levels others than its owner can use, some of
// it: releases before the present one made it so. What lies in a folder that is private is private.
func (d *directory) readable() (names []string) {
	const enough = 10
	look := func(path string) bool {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm()&0o077 == 0 || info.Mode()&os.ModeSymlink != 0 {
			return false
		}
		if rel, err := filepath.Rel(d.path, path); err == nil {
			names = append(names, rel)
		}
		return true
	}
	if !look(d.path) {
		return nil
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return names
	}
	for _, e := range entries {
		if len(names) < enough {
			look(filepath.Join(d.path, e.Name()))
		}
	}
	return names
}

// sub returns the path of a part of the directory, created if need be.
func (d *directory) sub(name string) (string, error) {
	path := filepath.Join(d.path, name)
	if err := durable.MkdirAll(path, 0o700); err != nil {
		return "", d.unwritable(err)
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
