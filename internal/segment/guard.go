package segment

import (
	"runtime"
	"runtime/debug"
	"sync"
)

// mappings are the files mapped now. They are only looked at when a read of mapped memory has
// failed.
var mappings struct {
	sync.Mutex
	open map[*mapping]struct{}
}

// Guard runs f, which reads vectors or other memory of mapped segments. If the disk cannot serve a
// read (the file was truncated, the device failed), Guard returns an error that matches ErrCorrupt,
// and the process does not crash. Other panics propagate. Guard covers only the goroutine of f.
// Reads through Column are already guarded; later accesses to the vectors are not.
//
// It covers f's own goroutine only. Reads through Column are guarded already; what f does with the
// vectors afterwards is not.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		err = mappedFault(r)
		if err == nil {
			panic(r)
		}
	}()
	return f()
}

// mappedFault returns the error for a panic that came from reading a mapped file, and nil for any
// other panic.
func mappedFault(r any) error {
	memory, ok := r.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return nil
	}
	mappings.Lock()
	defer mappings.Unlock()
	for m := range mappings.open {
		if offset, hit := addressIn(m.data, memory.Addr()); hit {
			c := &CorruptError{File: m.path, Offset: offset, Reason: "the mapped file can't be read there; it was cut short or its disk failed"}
			if m.columnAt != nil {
				c.Column = m.columnAt(offset)
				m.damaged.Store(true)
			}
			return c.fault()
		}
	}
	return nil
}
