package deepstore

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What a process has left it removes itself, what others have left only if it has the directory for
// itself.
func TestSweepOwn(t *testing.T) {
	l := open(t)
	l.Own("worker1")
	for _, name := range []string{"a-worker1", "b-worker1", "c-worker2", "d-4711"} {
		if err := os.WriteFile(filepath.Join(l.dir, uploads, name), make([]byte, 10), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(filepath.Join(l.dir, uploads))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if n, err := l.SweepOwn(false); n != 20 || err != nil || !slices.Equal(left(), []string{"c-worker2", "d-4711"}) {
		t.Errorf("[%d] bytes, %v; left are %v", n, err, left())
	}
	if n, err := l.SweepOwn(true); n != 20 || err != nil || len(left()) > 0 {
		t.Errorf("[%d] bytes, %v; left are %v", n, err, left())
	}
	if name := l.uploadName(); !strings.HasSuffix(name, "-worker1") {
		t.Errorf("uploads are named [%s]", name)
	}
}

// Directories come and go with what others put and delete while a list is made: that is no error.
func TestListWhileDirectoriesVanish(t *testing.T) {
	l := open(t)
	var others sync.WaitGroup
	for w := range 4 {
		others.Go(func() {
			for i := range 200 {
				key := fmt.Sprintf("tasks/t%d/stages/s%d", w, i%3)
				if err := l.Put(t.Context(), key, strings.NewReader("x")); err != nil {
					t.Error(err)
					return
				}
				if err := l.Delete(t.Context(), key); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { others.Wait(); close(done) }()
	for {
		if _, err := l.List(t.Context(), "tasks/", "", 100); err != nil {
			t.Error(err)
			break
		}
		select {
		case <-done:
			return
		default:
		}
	}
	<-done
}
