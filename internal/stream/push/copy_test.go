package push

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// appendRows appends entries of channel c with some offsets.
func appendRows(t *testing.T, l *Log, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		e := Entry{Channel: "c", Offset: fmt.Sprint(i), Rows: 1, Body: fmt.Appendf(nil, "{\"i\":%d}\n", i)}
		if _, err := l.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACopyHasWhatItsLogHas brings the entries of a log to another one, first those that are there,
// over the wire, and then those that come.
func TestACopyHasWhatItsLogHas(t *testing.T) {
	l := open(t, t.TempDir(), func(o *Options) { o.FileBytes = 200 })
	appendRows(t, l, 0, 20)
	if err := l.Published(7); err != nil {
		t.Fatal(err)
	}
	first, snapshot, err := l.Head()
	if err != nil || first == 0 || first > 7 {
		t.Fatalf("the log begins at %d, %v", first, err)
	}
	dir := t.TempDir()
	to := open(t, dir, func(o *Options) { o.First, o.Snapshot = first, snapshot })
	if mark, ok := to.Channel("c"); !ok || mark.Offset != fmt.Sprint(first-1) {
		t.Errorf("the channel is at %v, %v", mark, ok)
	}
	for at := first; at < 20; {
		entries, err := l.Entries(t.Context(), at)
		if err != nil || len(entries) == 0 {
			t.Fatalf("from %d there are %d, %v", at, len(entries), err)
		}
		sent := bufio.NewReader(bytes.NewReader(AppendEntries(nil, entries)))
		for {
			got, err := ReadEntries(sent)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Accept(t.Context(), 1, got); err != nil {
				t.Fatal(err)
			}
		}
		at = entries[len(entries)-1].Position + 1
	}
	err = l.Hold(t.Context(), func(h *Held) {
		h.CopyTo(func(entries []*Entry) error { return to.Accept(t.Context(), 2, entries) })
	})
	if err != nil {
		t.Fatal(err)
	}
	appendRows(t, l, 20, 25)
	if _, latest := to.Bounds(); latest != 25 {
		t.Errorf("the copy ends at %d", latest)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if mark, ok := again.Channel("c"); !ok || mark.Offset != "24" {
		t.Errorf("after a restart the channel of the copy is at %v, %v", mark, ok)
	}
	r, err := again.Append(t.Context(), Entry{Channel: "c", Offset: "24", Rows: 1, Body: []byte("{}\n")})
	if err != nil || !r.Duplicate {
		t.Errorf("a row that the copy has: %+v, %v", r, err)
	}
}

// TestACopyRefusesWhatDoesNotFollow brings entries to a copy that it must not take.
func TestACopyRefusesWhatDoesNotFollow(t *testing.T) {
	l := open(t, t.TempDir())
	entry := func(at int64) *Entry { return &Entry{Position: at, Rows: 1, Body: []byte("{}\n")} }
	for _, c := range []struct {
		name    string
		epoch   int64
		entries []*Entry
		fails   bool
		latest  int64
	}{
		{"the first", 3, []*Entry{entry(0), entry(1)}, false, 2},
		{"again, and one more", 3, []*Entry{entry(1), entry(2)}, false, 3},
		{"a gap", 3, []*Entry{entry(5)}, true, 3},
		{"of an epoch that is over", 2, []*Entry{entry(3)}, true, 3},
		{"of the next one", 4, []*Entry{entry(3)}, false, 4},
		{"nothing", 4, nil, false, 4},
	} {
		err := l.Accept(t.Context(), c.epoch, c.entries)
		_, latest := l.Bounds()
		if f := fault.Find(err); (err != nil) != c.fails || c.fails && f.Category != fault.CategoryConflict || latest != c.latest {
			t.Errorf("%s: up to %d, %v", c.name, latest, err)
		}
	}
	if err := l.Hold(t.Context(), func(h *Held) { h.Epoch(9) }); err != nil {
		t.Fatal(err)
	}
	if err := l.Accept(t.Context(), 8, []*Entry{entry(4)}); err == nil {
		t.Error("who led before has written to a log that is led here")
	}
}

// TestWhatItsCopyLacksIsNotAnswered has a copy fail: nobody gets a receipt or reads what only one
// disk has, and nothing more is written.
func TestWhatItsCopyLacksIsNotAnswered(t *testing.T) {
	l := open(t, t.TempDir())
	appendRows(t, l, 0, 2)
	err := l.Hold(t.Context(), func(h *Held) { h.CopyTo(func([]*Entry) error { return errors.New("it is away") }) })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := l.Append(t.Context(), Entry{Channel: "c", Offset: "2", Rows: 1, Body: []byte("{}\n")})
		if f := fault.Find(err); f == nil || f.Category != fault.CategoryServiceUnavailable {
			t.Errorf("the answer is %v", err)
		}
	}
	if _, latest := l.Bounds(); latest != 2 || l.Failed() == nil {
		t.Errorf("the log ends at %d, %v", latest, l.Failed())
	}
}

// TestRowsCanBeQueriedWhenAllTasksHaveThem tells a log how far its tasks are.
func TestRowsCanBeQueriedWhenAllTasksHaveThem(t *testing.T) {
	now := fakeclock.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	l := open(t, t.TempDir(), func(o *Options) { o.Clock = now })
	l.Readers(2)
	want := func(at int64, what string) {
		t.Helper()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.mu.read != at {
			t.Errorf("%s: up to %d can be queried, want %d", what, l.mu.read, at)
		}
	}
	l.Read("a", 10)
	want(10, "one task alone")
	l.Read("b", 5)
	want(10, "a second one reads again what was read")
	l.Read("a", 20)
	want(20, "nobody waits for it")
	l.Read("b", 20)
	l.Read("a", 30)
	want(20, "it has caught up: both count")
	l.Read("c", 40)
	want(30, "two of three are enough")
	l.Forget("c")
	l.Read("a", 50)
	now.Advance(readerLost + time.Millisecond)
	l.Read("a", 51)
	want(51, "nothing is heard of the other")
}
