package metastore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A store on a disk without any room can be opened and read, and says that the disk is full when it
// is to be written.
func TestADiskWithoutRoom(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("this user may not mount a file system: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	f := openFixture(t, Options{Path: filepath.Join(dir, "metadata.db")})
	if _, err := f.UpdateSetting(f.ctx(), Fence{}, "s", nil, constant(`1`)); err != nil {
		t.Fatal(err)
	}
	f.ok(f.Close())
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []int{64 << 10, 4 << 10, 1} {
		for err = error(nil); err == nil; {
			_, err = filler.Write(make([]byte, block))
		}
	}
	f.ok(filler.Close())
	room := 0
	f.options.MakeRoom = func() bool { room++; return room == 2 && os.Remove(filler.Name()) == nil }
	f.open()
	if text, found, err := f.Setting(f.ctx(), "s"); err != nil || !found || string(text) != "1" {
		t.Errorf("reading: %s, %v, %v", text, found, err)
	}
	if _, err := f.UpdateSetting(f.ctx(), Fence{}, "s", nil, constant(`2`)); !isFull(err) {
		t.Errorf("writing: %v", err)
	}
	if _, err := f.UpdateSetting(f.ctx(), Fence{}, "s", nil, constant(`3`)); err != nil {
		t.Errorf("writing when there is room: %v", err)
	}
	if text, _, err := f.Setting(f.ctx(), "s"); err != nil || string(text) != "3" {
		t.Errorf("reading: %s, %v", text, err)
	}
}

// constant returns what makes a setting be a value.
func constant(value string) func(json.RawMessage) (json.RawMessage, error) {
	return func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(value), nil }
}
