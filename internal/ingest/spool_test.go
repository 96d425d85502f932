package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
)

// packedFile writes a packed file of noise that is larger than what is kept in memory, as a file
// that must be read at any place is copied whole before anything of it is read.
func packedFile(t *testing.T) string {
	t.Helper()
	noise := make([]byte, spoolMemory+1<<20)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(noise); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(noise); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "packed")
	write(t, path, b.String())
	return path
}

// A temporary copy for which there is no room, or no folder, is a fault that names the input, and
// nothing is left of it: neither files nor what was reserved of the disk.
func TestNoRoomForTheCopyOfAPackedFile(t *testing.T) {
	path := packedFile(t)
	for _, kind := range []string{"parquet", "orc"} {
		format, err := ParseFormat(json.RawMessage(`{"type":"` + kind + `"}`))
		if err != nil {
			t.Fatal(err)
		}
		table := &Table{Source: &Local{Files: []string{path}}, Format: format, Fields: fields(t, "id long")}
		for name, c := range map[string]struct {
			disk int64
			dir  string
			want string
		}{
			"the disk is full":     {1 << 20, "", "Not enough disk"},
			"no folder":            {0, "/none", "Input [file:" + path + "] must be copied to a temporary file to be read, which failed"},
			"there is room enough": {0, "", "is damaged"}, // noise
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				disk := budget.DiskRoot(c.disk)
				opts := Options{TempDir: dir + c.dir, Disk: disk}
				splits, err := table.Splits(t.Context(), &opts, 1<<20)
				if err != nil || len(splits) != 1 {
					t.Fatalf("%d splits, %v", len(splits), err)
				}
				if disk.Peak() != 0 {
					t.Error("the file was copied to be divided")
				}
				_, err = table.Open(t.Context(), splits[0], &opts)
				if f := fault.Find(err); f == nil || !strings.Contains(f.Message, c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 || disk.Used() != 0 {
					t.Errorf("left: %v, [%d] bytes, %v", left, disk.Used(), err)
				}
			})
		}
	}
}

func TestFaultsOfTemporaryCopies(t *testing.T) {
	in := &input{split: Split{Entity: inlineEntity{}}}
	for _, c := range []struct {
		cause error
		want  string
	}{
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, "and the disk is full"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, "and the disk is full"},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.EIO}, "which failed: [file [x] can't be used: input/output error]"},
		{fault.InvalidInput("It is damaged"), "It is damaged"},
	} {
		err := in.copyFault(c.cause)
		if f := fault.Find(err); f == nil || !strings.HasSuffix(f.Message, c.want) || !errors.Is(err, c.cause) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
