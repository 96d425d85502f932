package budget

import (
	"container/list"
	"os"
	"sync"
)

// maxOpenFiles bounds the files of a spill folder that are open at once. What sorts or groups in
// next to no memory writes thousands of small ones: more than an operating system lets a process
// have open.
const maxOpenFiles = 256

// handles keeps those files of a folder open that were used last. Others are opened again when they
// are needed. It is safe for use by many goroutines.
type handles struct {
	max int

	mu   sync.Mutex
	open list.List // of *handle; the one used last is in front
}

// handle is one file, open or not.
type handle struct {
	all  *handles
	path string

	// Guarded by all.mu.
	file   *os.File      // nil: it is not open
	place  *list.Element // where it stands in all.open
	users  int           // who uses the file now: it stays open
	failed error         // what closing said when room was made: bytes may be lost
	gone   bool
}

// create makes a new file in a folder.
func (h *handles) create(dir, pattern string) (*handle, error) {
	file, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return nil, err
	}
	f := &handle{all: h, path: file.Name()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.makeRoom()
	f.file, f.place = file, h.open.PushFront(f)
	return f, nil
}

// makeRoom closes the files that were used longest ago, but none that is in use: of those there may
// be more for a while.
func (h *handles) makeRoom() {
	for e := h.open.Back(); e != nil && h.open.Len() >= h.max; {
		f, before := e.Value.(*handle), e.Prev()
		if f.users == 0 {
			f.failed = f.shut()
		}
		e = before
	}
}

// shut closes the file.
func (f *handle) shut() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.all.open.Remove(f.place)
	f.file, f.place = nil, nil
	return err
}

// use calls do with the open file.
func (f *handle) use(do func(*os.File) error) error {
	file, err := f.acquire()
	if err != nil {
		return err
	}
	defer func() {
		f.all.mu.Lock()
		f.users--
		f.all.mu.Unlock()
	}()
	return do(file)
}

func (f *handle) acquire() (*os.File, error) {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	switch {
	case f.failed != nil:
		return nil, f.failed
	case f.gone:
		return nil, os.ErrClosed
	case f.file != nil:
		f.all.open.MoveToFront(f.place)
	default:
		f.all.makeRoom()
		file, err := os.OpenFile(f.path, os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		f.file, f.place = file, f.all.open.PushFront(f)
	}
	f.users++
	return f.file, nil
}

// remove closes the file and deletes it.
func (f *handle) remove() error {
	f.all.mu.Lock()
	f.gone = true
	err := f.shut()
	f.all.mu.Unlock()
	if removed := os.Remove(f.path); err == nil {
		err = removed
	}
	return err
}
