package deepstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func open(t *testing.T) *Local {
	t.Helper()
	l, err := OpenLocal(filepath.Join(t.TempDir(), "deep"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func put(t *testing.T, l Store, key, text string) {
	t.Helper()
	if err := l.Put(context.Background(), key, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
}

func TestObjectsComeBackAsPut(t *testing.T) {
	ctx, l := context.Background(), open(t)
	for _, text := range []string{"", "hello", strings.Repeat("long", 1<<18)} {
		key := fmt.Sprintf("wiki/2015-09-12T00:00:00.000Z_2015-09-13/v/%d/index", len(text))
		put(t, l, key, text)
		o, err := l.Open(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		if err != nil || string(got) != text {
			t.Fatalf("read %d bytes of %d: %v", len(got), len(text), err)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := l.Stat(ctx, key)
		if err != nil || info.Size != int64(len(text)) || info.Key != key || info.Modified == 0 {
			t.Fatalf("stat %+v: %v", info, err)
		}
		back, err := l.Key(l.LoadSpec(key))
		if err != nil || back != key {
			t.Fatalf("load spec %s leads to %q: %v", l.LoadSpec(key), back, err)
		}
	}
}

func TestAKeyIsPutOnce(t *testing.T) {
	ctx, l := context.Background(), open(t)
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			err := l.Put(ctx, "a/b", strings.NewReader(fmt.Sprint(i)))
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d puts of one key succeeded", won.Load())
	}
	entries, err := os.ReadDir(filepath.Join(l.dir, uploads))
	if err != nil || len(entries) != 0 {
		t.Fatalf("uploads left: %v %v", entries, err)
	}
}

// A file that is adopted is the object; it keeps it when it loses its own name, and a key is still
// taken once.
func TestAFileIsAdopted(t *testing.T) {
	ctx, l := context.Background(), open(t)
	file, err := os.Create(filepath.Join(filepath.Dir(l.dir), "built"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString("rows"); err != nil {
		t.Fatal(err)
	}
	if err := l.Adopt(ctx, "a/b", file); err != nil {
		t.Fatal(err)
	}
	made, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file.Name()); err != nil {
		t.Fatal(err)
	}
	kept, err := os.Stat(filepath.Join(l.dir, "a", "b"))
	if err != nil || !os.SameFile(made, kept) || kept.Mode().Perm() != 0o600 {
		t.Fatalf("the object is %v, the file %v: %v", kept, made, err)
	}
	// This one has no name to be linked: it is copied.
	if err := l.Adopt(ctx, "a/c", file); err != nil {
		t.Fatal(err)
	}
	if copied, err := os.ReadFile(filepath.Join(l.dir, "a", "c")); err != nil || string(copied) != "rows" {
		t.Fatalf("copied %q: %v", copied, err)
	}
	if err := l.Adopt(ctx, "a/c", file); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("adopted twice under one key: %v", err)
	}
	entries, err := os.ReadDir(filepath.Join(l.dir, uploads))
	if err != nil || len(entries) != 0 {
		t.Fatalf("uploads left: %v %v", entries, err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read(b []byte) (int, error) { return 0, r.err }

func TestFailedPutLeavesNothing(t *testing.T) {
	l := open(t)
	broken := errors.New("broken")
	err := l.Put(context.Background(), "a", io.MultiReader(strings.NewReader("half"), failingReader{broken}))
	if !errors.Is(err, broken) {
		t.Fatalf("source failed: %v", err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Put(canceled, "a", strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Fatalf("canceled: %v", err)
	}
	if found, err := l.List(context.Background(), "", "", 10); err != nil || len(found) != 0 {
		t.Fatalf("found %v: %v", found, err)
	}
	put(t, l, "a", "whole")
}

func TestKeysStayInside(t *testing.T) {
	ctx, l := context.Background(), open(t)
	outside := filepath.Join(filepath.Dir(l.dir), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(l.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(l.dir), filepath.Join(l.dir, "up")); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "/", "..", "../secret", "a/../../secret", "a//b", "./a", "/etc/passwd", "a/.", "a\x00b", "a\nb",
		".henge-uploads/x", strings.Repeat("x", 256), strings.Repeat("x/", 1200) + "x"} {
		if err := l.Put(ctx, key, strings.NewReader("x")); err == nil {
			t.Errorf("put under %q", key)
		}
		if _, err := l.Open(ctx, key); err == nil {
			t.Errorf("opened %q", key)
		}
		if err := l.Delete(ctx, key); err == nil {
			t.Errorf("deleted %q", key)
		}
	}
	for _, key := range []string{"link", "up/secret"} {
		if _, err := l.Open(ctx, key); err == nil {
			t.Errorf("opened %q through a symbolic link", key)
		}
	}
	if err := l.Put(ctx, "up/new", strings.NewReader("x")); err == nil {
		t.Error("put through a symbolic link")
	}
	for _, spec := range []string{`{"type":"local","path":"/etc/passwd"}`, `{"type":"local","path":"` + l.dir + `/../secret"}`, `{"type":"local","path":"a"}`,
		`{"type":"local","path":"` + l.dir + `"}`, `{"type":"s3_zip","bucket":"b","key":"k"}`, `{"type":"tombstone","path":null}`, `[]`, `{`, ``, `{"path":3}`} {
		if key, err := l.Key([]byte(spec)); err == nil {
			t.Errorf("load spec %s is taken for %q", spec, key)
		}
	}
}

func TestListPagesInOrder(t *testing.T) {
	ctx, l := context.Background(), open(t)
	want := []string{"a", "b-c/x", "b.d", "b/a", "b/a.b/c", "b/a/c", "b/b", "bb/x", "c"} // "b-c" < "b.d" < "b/"
	for i := range want {
		if want[i] == "b/a/c" {
			continue // "b/a" is an object: it can't be a directory too
		}
		put(t, l, want[i], "x")
	}
	want = append(want[:5:5], want[6:]...)
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after := ""; ; {
			page, err := l.List(ctx, "", after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range page {
				got = append(got, o.Key)
			}
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].Key
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("pages of %d: %s", limit, diff)
		}
	}
	for prefix, n := range map[string]int{"b": 6, "b/": 3, "b/a": 2, "b/a.": 1, "x": 0, "a": 1, "a/": 0} {
		if page, err := l.List(ctx, prefix, "", 100); err != nil || len(page) != n {
			t.Errorf("prefix %q: %v %v, want %d", prefix, page, err, n)
		}
	}
}

func TestDeleteIsRepeatable(t *testing.T) {
	ctx, l := context.Background(), open(t)
	put(t, l, "a/b/c", "x")
	put(t, l, "a/d", "x")
	for range 2 {
		if err := l.Delete(ctx, "a/b/c", "never/was", "a/d/e"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(l.dir, "a/b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty directory stays: %v", err)
	}
	if err := l.Delete(ctx, "a"); err != nil { // a directory is no object
		t.Fatal(err)
	}
	if _, err := l.Stat(ctx, "a/d"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Open(ctx, "a/b/c"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "[a/b/c]") {
		t.Fatalf("opening what is gone: %v", err)
	}
	if _, err := l.Stat(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a directory is an object: %v", err)
	}
}

func TestSweepRemovesOldUploads(t *testing.T) {
	l := open(t)
	left := filepath.Join(l.dir, uploads, "left")
	if err := os.WriteFile(left, bytes.Repeat([]byte("x"), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		age   time.Duration
		stays bool
	}{{time.Hour, true}, {-time.Second, false}} {
		if _, err := l.Sweep(step.age); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(left); (err == nil) != step.stays {
			t.Fatalf("older than %s: %v", step.age, err)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(left)); err != nil || len(files) > 0 {
		t.Errorf("%v are left, %v", files, err)
	}
}

func TestDiskFaultNamesThePath(t *testing.T) {
	// /dev/full answers every write as a full disk does.
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	_, err = full.Write([]byte("x"))
	if err = diskFault("deep/a/b", err); !strings.HasPrefix(err.Error(), "Disk is full: deep storage file [deep/a/b]") {
		t.Fatal(err)
	}
}

func FuzzCheckKey(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "a/..", "", "a//b", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) == nil && (!filepath.IsLocal(key) || filepath.Clean(key) != key) {
			t.Fatalf("key %q leads elsewhere", key)
		}
	})
}
