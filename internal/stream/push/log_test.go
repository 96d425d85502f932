package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func open(t *testing.T, dir string, change ...func(*Options)) *Log {
	t.Helper()
	o := Options{Dir: dir, Clock: clock.System(), Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func send(t *testing.T, l *Log, e Entry) Receipt {
	t.Helper()
	r, err := l.Append(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rows(text string) Entry { return Entry{Rows: 1, Body: []byte(text)} }

// readAll returns the bodies from a position on.
func readAll(t *testing.T, l *Log, from int64) []string {
	t.Helper()
	source := &Source{Log: l, Partition: "here"}
	r, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Assign(t.Context(), stream.Positions{"here": textOf(from)}); err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		if _, latest := l.Bounds(); from+int64(len(out)) >= latest {
			return out
		}
		batches, err := r.Poll(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			for i, record := range b.Records {
				if want := from + int64(len(out)); record.Offset != want || numberOf(b.Next) < want {
					t.Fatalf("record %d of the batch has position %d, want %d; next is %s", i, record.Offset, want, b.Next)
				}
				out = append(out, string(record.Value))
			}
		}
	}
}

func TestWhatHasAReceiptIsReadAfterARestart(t *testing.T) {
	dir := t.TempDir()
	small := func(o *Options) { o.FileBytes, o.TailBytes = 300, 200 }
	l := open(t, dir, small)
	var want []string
	for i := range 50 {
		text := fmt.Sprintf(`{"n":%d}`, i)
		if r := send(t, l, rows(text)); r.Position != int64(i) || r.Duplicate {
			t.Fatalf("entry %d has receipt %+v", i, r)
		}
		want = append(want, text)
	}
	for range 2 {
		for _, from := range []int64{0, 1, 17, 49, 50} {
			if got := readAll(t, l, from); fmt.Sprint(got) != fmt.Sprint(want[from:]) {
				t.Errorf("from %d: %v\nwant %v", from, got, want[from:])
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = open(t, dir, small)
	}
	if r := send(t, l, rows("{}")); r.Position != 50 {
		t.Errorf("the next entry has position %d, want 50", r.Position)
	}
}

func TestChannelsAndKeysCountOnce(t *testing.T) {
	dir, now := t.TempDir(), fakeclock.New(time.UnixMilli(1_700_000_000_000))
	with := func(o *Options) { o.Clock, o.FileBytes = now, 200 }
	l := open(t, dir, with)
	in := func(channel, offset string) Entry { return Entry{Channel: channel, Offset: offset, Body: []byte("{}")} }
	for i, c := range []struct {
		entry     Entry
		duplicate bool
		committed string
	}{
		{in("a", "1"), false, "1"}, {in("a", "1"), true, "1"}, {in("a", "10"), false, "10"}, {in("a", "9"), true, "10"},
		{in("b", "x1"), false, "x1"}, {in("b", "x0"), true, "x1"}, {in("b", "7"), true, "x1"}, {in("a", "11"), false, "11"},
		{in("a", "99999999999999999999999"), false, "99999999999999999999999"}, {in("a", "12"), true, "99999999999999999999999"},
		{Entry{Key: "k", Body: []byte("{}")}, false, ""}, {Entry{Key: "k", Body: []byte("{}")}, true, ""},
	} {
		if i%3 == 0 { // the same after a restart
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l = open(t, dir, with)
		}
		if r := send(t, l, c.entry); r.Duplicate != c.duplicate || r.Committed != c.committed {
			t.Errorf("entry %d: %+v", i, r)
		}
	}
	now.Advance(time.Hour)
	if r := send(t, l, Entry{Key: "k", Body: []byte("{}")}); r.Duplicate {
		t.Error("a key is known after an hour")
	}
	if m, ok := l.Channel("b"); !ok || m.Offset != "x1" {
		t.Errorf("channel b is at %+v", m)
	}
}

func TestRefusals(t *testing.T) {
	l := open(t, t.TempDir(), func(o *Options) { o.MaxBytes = 1000 })
	for _, c := range []struct {
		entry Entry
		want  string
	}{
		{Entry{Channel: string(make([]byte, 513)), Offset: "1"}, "The channel has [513] bytes; it may have [512]"},
		{Entry{Channel: "c"}, "Rows with a [channel] need an [offset], and an [offset] needs a [channel]"},
		{Entry{Body: make([]byte, 1000)}, "[1000] bytes wait to be published, " +
			"the limit of [service.ingest.push.maxBytes]. Send the rows again later"},
	} {
		_, err := l.Append(t.Context(), c.entry)
		if f := fault.Find(err); f == nil || f.Message != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), rows("{}")); err == nil {
		t.Error("a closed log takes rows")
	}
}

// TestTornEnds cuts the last file at each of its bytes, and changes each: what is left is what was
// written before, whole entries and nothing else.
func TestTornEnds(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	var ends []int64
	for i := range 5 {
		send(t, l, Entry{Channel: "c", Offset: fmt.Sprint(i), Body: []byte(`{"some":"text"}`)})
		ends = append(ends, l.Bytes())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "00000000000000000000.log")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := ends[0] - (ends[1] - ends[0])
	for at := head; at < int64(len(whole)); at++ {
		for _, damaged := range [][]byte{whole[:at], append(append(bytes.Clone(whole[:at]), whole[at]^0x55), whole[at+1:]...)} {
			to := t.TempDir()
			if err := os.WriteFile(filepath.Join(to, filepath.Base(path)), damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			l := open(t, to)
			want := 0
			for want < len(ends) && ends[want] <= at {
				want++
			}
			if got := readAll(t, l, 0); len(got) != want {
				t.Fatalf("cut at %d of %d: %d entries, want %d", at, len(whole), len(got), want)
			}
			if r := send(t, l, Entry{Channel: "c", Offset: fmt.Sprint(want)}); r.Duplicate || r.Position != int64(want) {
				t.Fatalf("cut at %d: the next entry has receipt %+v", at, r)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPublishedFilesGo(t *testing.T) {
	l := open(t, t.TempDir(), func(o *Options) { o.FileBytes, o.TailBytes = 200, 1 })
	for range 20 {
		send(t, l, rows(`{"some":"text that is kept until it is published"}`))
	}
	before := l.Bytes()
	if err := l.Published(15); err != nil {
		t.Fatal(err)
	}
	earliest, latest := l.Bounds()
	if earliest == 0 || earliest > 15 || latest != 20 || l.Bytes() >= before {
		t.Errorf("entries %d to %d are kept in %d of %d bytes", earliest, latest, l.Bytes(), before)
	}
	if got := readAll(t, l, 15); len(got) != 5 {
		t.Errorf("%d entries are read from 15 on", len(got))
	}
	r, err := (&Source{Log: l, Partition: "here"}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var missing *stream.OffsetError
	if err := r.Assign(t.Context(), stream.Positions{"here": "0"}); !errors.As(err, &missing) || missing.Earliest != textOf(earliest) {
		t.Errorf("a position that is gone: %v", err)
	}
}

// TestManySenders has each entry of many senders, each tried twice, exactly once, while a reader
// follows.
func TestManySenders(t *testing.T) {
	l := open(t, t.TempDir(), func(o *Options) { o.FileBytes, o.TailBytes = 2000, 500 })
	const senders, each = 8, 50
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for i := range each {
				for try := range 2 {
					e := Entry{Channel: fmt.Sprint(s), Offset: fmt.Sprint(i), Body: fmt.Appendf(nil, "%d/%d", s, i)}
					if r, err := l.Append(context.Background(), e); err != nil || r.Duplicate != (try == 1) {
						t.Errorf("sender %d, entry %d, try %d: %+v, %v", s, i, try, r, err)
					}
				}
			}
		})
	}
	source := &Source{Log: l, Partition: "here"}
	r, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Assign(t.Context(), stream.Positions{"here": "0"}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for len(seen) < senders*each {
		batches, err := r.Poll(t.Context(), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			for _, record := range b.Records {
				seen[string(record.Value)]++
			}
		}
	}
	sending.Wait()
	for text, n := range seen {
		if n != 1 {
			t.Errorf("entry %s was read %d times", text, n)
		}
	}
	// Asking for more says that all before can be queried.
	if _, err := r.Poll(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := l.AwaitRead(t.Context(), senders*each-1); err != nil {
		t.Fatal(err)
	}
}

func FuzzReadFrames(f *testing.F) {
	f.Add(appendFrame(nil, func(dst []byte) []byte {
		return appendEntry(dst, &Entry{Position: 3, Channel: "c", Offset: "1", Body: []byte("{}")})
	}))
	f.Add([]byte{1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		in := bytes.NewReader(text)
		for {
			payload, err := readFrame(in)
			if err != nil {
				return
			}
			e, err := readEntry(payload)
			if err != nil {
				continue
			}
			again, err := readEntry(appendEntry(nil, e))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(e) {
				t.Fatalf("%v is read as %v, %v", e, again, err)
			}
		}
	})
}
