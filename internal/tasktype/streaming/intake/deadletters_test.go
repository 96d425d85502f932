package intake

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/stream"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func badRecord(offset int64, value string) *BadRow {
	r := &stream.Record{Topic: "t", Number: 2, Offset: offset, Time: 5, Value: []byte(value)}
	r.Position = stream.Position(fmt.Sprint(offset))
	return &BadRow{Type: Unparseable, Input: value, Reason: "why", Record: r,
		Details: []string{"Unable to parse row [" + value + "] (Record: 1)"}}
}

func TestErrors(t *testing.T) {
	c := fakeclock.New(time.UnixMilli(100))
	var log strings.Builder
	e := NewErrors(ErrorOptions{Max: 4, Saved: 3, Clock: c, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if got := e.Newest(); len(got) != 0 {
		t.Errorf("%v before there are any", got)
	}
	shown := func() (out []string) {
		for _, p := range e.Newest() {
			out = append(out, fmt.Sprintf("%d %s", p.At, p.Input))
		}
		return out
	}
	for i, want := range [][]string{
		{"100 a"}, {"101 b", "100 a"}, {"102 c", "101 b", "100 a"}, {"103 d", "102 c", "101 b"},
	} {
		if err := e.Add(badRecord(int64(i), string(rune('a'+i)))); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, shown()); d != "" {
			t.Error(d)
		}
		c.Advance(time.Millisecond)
	}
	if err := e.Add(badRecord(9, "e")); err == nil || err.Error() != "Max parse exceptions[4] exceeded" {
		t.Errorf("the fifth: %v", err)
	}
	if n := strings.Count(log.String(), "failed to read a record"); n != 5 || e.Count() != 5 {
		t.Errorf("%d lines of the log, %d counted", n, e.Count())
	}
	none := NewErrors(ErrorOptions{Max: 1, Clock: c})
	if err := none.Add(badRecord(1, "a")); err != nil || len(none.Newest()) != 0 {
		t.Errorf("%v, kept %v", err, none.Newest())
	}
}

// letters reads all there are.
func letters(t *testing.T, d *DeadLetters) (out []*Letter) {
	t.Helper()
	r, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := ReadLetters(r, func(l *Letter) error { out = append(out, l); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLettersAreWhatTheRecordsWere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "letters")
	d, err := OpenLetters(LetterOptions{Dir: dir, MaxValueBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder without letters: %v", err)
	}
	whole := badRecord(1, "text")
	whole.Record.Key, whole.Record.Headers = []byte("k"), []stream.Header{{Name: "h", Value: []byte{0xff}}}
	binary := badRecord(2, "\xff\xfe")
	empty := badRecord(3, "")
	none := badRecord(4, "")
	none.Record.Value = nil
	large := badRecord(5, strings.Repeat("x", 11))
	for _, b := range []*BadRow{whole, whole, binary, empty, none, large} {
		d.Add(b, 1000)
	}
	got := letters(t, d)
	if len(got) != 5 {
		t.Fatalf("%d letters of 5 records", len(got))
	}
	for i, b := range []*BadRow{whole, binary, empty, none} {
		if diff := cmp.Diff(*b.Record, got[i].Record()); diff != "" {
			t.Errorf("record %d: %s", i, diff)
		}
	}
	if l := got[4]; l.Cut != 11 || *l.Value != strings.Repeat("x", 10) {
		t.Errorf("the large one: %+v", l)
	}
	l := got[0]
	if l.Time != "1970-01-01T00:00:01.000Z" || l.Type != Unparseable || l.Reason != "Unable to parse row [text] (Record: 1): why" {
		t.Errorf("%+v", l)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenLetters(LetterOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	again.Add(badRecord(6, "more"), 1)
	if got := letters(t, again); len(got) != 6 || got[5].Offset != 6 {
		t.Errorf("%d letters after a restart", len(got))
	}
}

func TestLettersAreBounded(t *testing.T) {
	dir := t.TempDir()
	d, err := OpenLetters(LetterOptions{Dir: dir, MaxBytes: 4000, MaxFileBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		d.Add(badRecord(int64(i), "some text"), 1)
		if d.Bytes() > 4000 {
			t.Fatalf("%d bytes after %d letters", d.Bytes(), i)
		}
	}
	got := letters(t, d)
	if n := len(got); n < 10 || got[n-1].Offset != 499 || got[0].Offset != int64(500-n) {
		t.Errorf("%d letters, from [%d] to [%d]", n, got[0].Offset, got[n-1].Offset)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 5 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

func TestLettersAfterALineThatWasCutOff(t *testing.T) {
	dir := t.TempDir()
	text := `{"type":"unparseable","offset":1}` + "\n" + `{"type":"unpar`
	if err := os.WriteFile(filepath.Join(dir, "00000001.ndjson"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := OpenLetters(LetterOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	d.Add(badRecord(2, "x"), 1)
	if got := letters(t, d); len(got) != 2 || got[0].Offset != 1 || got[1].Offset != 2 {
		t.Errorf("%+v", got)
	}
	r, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || strings.Count(string(text), "\n") != 3 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestLettersThatCanNotBeWritten(t *testing.T) {
	place := filepath.Join(t.TempDir(), "letters")
	d, err := OpenLetters(LetterOptions{Dir: place})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.Add(badRecord(1, "x"), 1)
	if n, err := d.Lost(); n != 1 || err == nil {
		t.Errorf("%d lost, %v", n, err)
	}
	if err := os.Remove(place); err != nil {
		t.Fatal(err)
	}
	d.Add(badRecord(2, "y"), 1)
	if got := letters(t, d); len(got) != 1 || got[0].Offset != 2 {
		t.Errorf("%+v when it is possible again", got)
	}
}
