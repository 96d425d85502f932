package uploads_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/overlord/uploads"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

type world struct {
	*uploads.Store
	clock *fakeclock.Clock
	disk  *budget.Budget
	dir   string
	waits map[string]bool
}

func open(t *testing.T, most, total int64) *world {
	t.Helper()
	w := &world{clock: fakeclock.New(time.Unix(1_700_000_000, 0)), disk: budget.DiskRoot(1000), dir: t.TempDir(), waits: map[string]bool{}}
	w.Store = uploads.NewStore(uploads.Options{
		Dir: w.dir, MaxBytes: most, MaxTotal: total, Disk: w.disk, Clock: w.clock, Waits: func(id string) bool { return w.waits[id] },
	})
	return w
}

func (w *world) put(t *testing.T, owner, text string) string {
	t.Helper()
	i, err := w.Put(t.Context(), owner, "a.csv", strings.NewReader(text), -1)
	if err != nil {
		t.Fatal(err)
	}
	return i.ID
}

// want checks what all files take, here and of the disk, and that none has a name.
func (w *world) want(t *testing.T, what string, used int64) {
	t.Helper()
	if _, _, got := w.Limits(); got != used || w.disk.Used() != used {
		t.Errorf("%s: [%d] bytes, of the disk [%d]; want [%d]", what, got, w.disk.Used(), used)
	}
	if left, err := os.ReadDir(w.dir); err != nil || len(left) > 0 {
		t.Errorf("%s: files with names: %v %v", what, left, err)
	}
}

func read(t *testing.T, w *world, id string, offset, length int64) (string, error) {
	t.Helper()
	u, err := w.Find(t.Context(), id)
	if err != nil {
		return "", err
	}
	body, err := u.Open(t.Context(), offset, length)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	return string(text), err
}

func category(err error) fault.Category {
	if f := fault.Find(err); f != nil {
		return f.Category
	}
	return ""
}

func TestFilesAreRefused(t *testing.T) {
	const invalid, full = fault.CategoryInvalidInput, fault.CategoryCapacityExceeded
	broken := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("abc")))
	for name, c := range map[string]struct {
		file     string
		from     io.Reader
		declared int64
		says     string
		category fault.Category
	}{
		"empty":                 {from: strings.NewReader(""), declared: 0, says: "The file is empty", category: invalid},
		"too large, as it says": {from: strings.NewReader("x"), declared: 11, says: "larger than [10] bytes", category: invalid},
		"too large":             {from: strings.NewReader("0123456789X"), declared: -1, says: "larger than [10] bytes", category: invalid},
		"no room, as it says":   {from: strings.NewReader("123456789"), declared: 9, says: "no room", category: full},
		"no room":               {from: strings.NewReader("123456789"), declared: -1, says: "no room", category: full},
		"broken off":            {from: broken, declared: 3, says: "broke off after [1] bytes", category: invalid},
		"a control character":   {file: "a\nb", from: strings.NewReader("x"), declared: 1, says: "control characters", category: invalid},
		"a long name":           {file: strings.Repeat("x", 256), from: strings.NewReader("x"), says: "at most [255] bytes", category: invalid},
	} {
		w := open(t, 10, 16)
		w.put(t, "ann", "12345678")
		_, err := w.Put(t.Context(), "ann", c.file, c.from, c.declared)
		if err == nil || !strings.Contains(err.Error(), c.says) || category(err) != c.category {
			t.Errorf("%s: %v", name, err)
		}
		w.want(t, name, 8)
	}
	none := open(t, 0, 16)
	if _, err := none.Put(t.Context(), "ann", "a", strings.NewReader("x"), 1); category(err) != fault.CategoryForbidden {
		t.Errorf("where none are taken: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	w := open(t, 10, 16)
	if _, err := w.Put(gone, "ann", "a", strings.NewReader("x"), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("of a client that has gone: %v", err)
	}
	w.want(t, "of a client that has gone", 0)
}

func TestTheDiskOfTheProcessBoundsFiles(t *testing.T) {
	w := open(t, 2000, 2000)
	if _, err := w.Put(t.Context(), "ann", "a", strings.NewReader(strings.Repeat("x", 1001)), -1); err == nil {
		t.Error("more than the disk has was taken")
	}
	w.want(t, "what did not fit", 0)
}

func TestNamesAreThoseOfFiles(t *testing.T) {
	w := open(t, 10, 100)
	for given, want := range map[string]string{
		`C:\data\a.csv`: "a.csv", "../../etc/passwd": "passwd", "": "upload", "/": "upload", "ü 1.csv": "ü 1.csv",
	} {
		i, err := w.Put(t.Context(), "ann", given, strings.NewReader("x"), 1)
		if err != nil || i.Name != want {
			t.Errorf("%q: %q %v", given, i.Name, err)
		}
	}
}

func TestAFileIsReadWhileItIsThere(t *testing.T) {
	w := open(t, 10, 20)
	id := w.put(t, "ann", "0123456789")
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, 10, "0123456789"}, {3, 4, "3456"}, {8, 10, "89"}, {10, 5, ""}} {
		if got, err := read(t, w, id, c.offset, c.length); err != nil || got != c.want {
			t.Errorf("from %d: %q %v", c.offset, got, err)
		}
	}
	u, err := w.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	body, err := u.Open(t.Context(), 0, u.Size)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Drop("bob", id); category(err) != fault.CategoryNotFound {
		t.Errorf("another user drops it: %v", err)
	}
	if err := w.Drop("ann", id); err != nil {
		t.Error(err)
	}
	if _, err := w.Find(t.Context(), id); category(err) != fault.CategoryNotFound {
		t.Errorf("what was dropped: %v", err)
	}
	if _, err := u.Open(t.Context(), 0, 1); category(err) != fault.CategoryNotFound {
		t.Errorf("what was dropped is opened: %v", err)
	}
	w.want(t, "dropped and read", 10) // its bytes are still on the disk
	if text, err := io.ReadAll(body); err != nil || string(text) != "0123456789" {
		t.Errorf("a reader that had begun: %q %v", text, err)
	}
	if err := errors.Join(body.Close(), body.Close()); err != nil {
		t.Error(err)
	}
	w.want(t, "dropped", 0)
}

func TestFilesEnd(t *testing.T) {
	w := open(t, 10, 100)
	loaded, old, used, waits := w.put(t, "ann", "1"), w.put(t, "ann", "22"), w.put(t, "ann", "333"), w.put(t, "bob", "4444")
	w.waits[waits] = true
	w.Loaded([]byte(`{"inputSource":{"type":"upload","ids":["` + loaded + `"]}}`))
	w.want(t, "one is loaded", 9)
	w.clock.Advance(50 * time.Minute)
	if _, err := read(t, w, used, 0, 1); err != nil {
		t.Error(err)
	}
	w.clock.Advance(11 * time.Minute)
	for id, there := range map[string]bool{loaded: false, old: false, used: true, waits: true} {
		if _, err := w.Find(t.Context(), id); (err == nil) != there {
			t.Errorf("%s: %v", id, err)
		}
	}
	if got := w.List("ann"); len(got) != 1 || got[0].ID != used || got[0].Size != 3 {
		t.Errorf("of ann: %+v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
	w.want(t, "when the process ends", 0)
}

func TestThereAreOnlySoMany(t *testing.T) {
	w := open(t, 10, 10_000)
	for range 500 {
		w.put(t, "ann", "1")
		w.put(t, "bob", "1")
	}
	if _, err := w.Put(t.Context(), "ann", "a", strings.NewReader("x"), 1); category(err) != fault.CategoryCapacityExceeded {
		t.Errorf("one more: %v", err)
	}
}
