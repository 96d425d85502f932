package budget

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// Far more files than may be open are written in turn, and read by several goroutines: each has
// what was written to it.
func TestMoreSpillFilesThanMayBeOpen(t *testing.T) {
	d, err := OpenSpillDir(t.TempDir(), DiskRoot(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	d.handles.max = 4
	const files, parts = 50, 3
	text := func(file, part int) string { return strings.Repeat(fmt.Sprintf("%d/%d ", file, part), spillBuffer/5) }
	var all [files]*SpillFile
	for i := range all {
		if all[i], err = d.For(DiskRoot(64 << 20)).Create(); err != nil {
			t.Fatal(err)
		}
	}
	for part := range parts {
		for i, f := range all {
			if _, err := io.WriteString(f, text(i, part)); err != nil {
				t.Fatal(err)
			}
			if n := d.handles.open.Len(); n > 4 {
				t.Fatalf("[%d] files are open", n)
			}
		}
	}
	var wg sync.WaitGroup
	for i, f := range all {
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		if f.w != nil {
			t.Fatal("a file that was flushed has a buffer for writing")
		}
		for range 2 {
			wg.Go(func() {
				want := text(i, 0) + text(i, 1) + text(i, 2)
				if got, err := io.ReadAll(f.Reader()); err != nil || string(got) != want {
					t.Errorf("file [%d] has [%d] bytes of [%d], %v", i, len(got), len(want), err)
				}
			})
		}
	}
	wg.Wait()
	for _, f := range all {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.handles.open.Len(); n != 0 {
		t.Errorf("[%d] files are open after all were closed", n)
	}
	if left, err := os.ReadDir(d.Path()); err != nil || len(left) != 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	if _, err := all[0].ReadAt(make([]byte, 1), 0); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("reading a closed file = %v", err)
	}
}

// A file that can't be closed in order when room is made may have lost bytes: whoever uses it next
// is told.
func TestSpillFileThatFailedToClose(t *testing.T) {
	d, err := OpenSpillDir(t.TempDir(), DiskRoot(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	d.handles.max = 1
	f, err := d.Create()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.f.file.Close(); err != nil { // so that closing it again fails
		t.Fatal(err)
	}
	if _, err := d.Create(); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(f, "lost")
	if err == nil {
		err = f.Flush()
	}
	if !errors.Is(err, os.ErrClosed) {
		t.Errorf("writing to a file that failed to close = %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closing the folder: %v", err)
	}
	if left, err := os.ReadDir(d.Path()); err != nil || len(left) != 0 {
		t.Errorf("files are left: %v, %v", left, err)
	}
}
