package dispatch

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

func numbers(from, to int64) *vector.Batch {
	var out []int64
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return &vector.Batch{N: len(out), Cols: []*vector.Vector{vector.FromLongs(out)}}
}

// stream writes two batches of ten rows and an end.
func stream(t testing.TB, skip int64, failed error) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewStreamWriter(&out, Version, skip, nil)
	for _, b := range []*vector.Batch{numbers(0, 10), numbers(10, 20)} {
		if err := w.Rows(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(failed); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readAll(b []byte) (rows []int64, err error) {
	r := NewStreamReader(bytes.NewReader(b), Version)
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		for i := range batch.N {
			if len(batch.Cols) > 0 {
				rows = append(rows, batch.Cols[0].LongAt(i))
			}
		}
	}
}

func TestStreamsGoOnBehindTheRowsThatWereGiven(t *testing.T) {
	all, err := readAll(stream(t, 0, nil))
	if err != nil || len(all) != 20 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, skip := range []int64{1, 9, 10, 11, 20} {
		rows, err := readAll(stream(t, skip, nil))
		if err != nil || len(rows) != 20-int(skip) || len(rows) > 0 && rows[0] != skip {
			t.Errorf("behind [%d] rows: %v, %v", skip, rows, err)
		}
	}
}

func TestAStreamWithoutItsEndIsBroken(t *testing.T) {
	whole := stream(t, 0, nil)
	for n := range whole {
		_, err := readAll(whole[:n])
		if _, ok := errors.AsType[*broken](err); !ok {
			t.Fatalf("the first [%d] of [%d] bytes: %v", n, len(whole), err)
		}
	}
	for at := range whole {
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x10
		rows, err := readAll(damaged)
		if err == nil && len(rows) != 20 {
			t.Errorf("byte [%d] changed: [%d] rows and no error", at, len(rows))
		}
	}
}

func TestFaultsKeepTheirMeaning(t *testing.T) {
	for name, tc := range map[string]struct {
		err   error
		again bool
	}{
		"of the query":     {fault.ResourceLimit("Too little memory").With("bytes", "7").WithCode("x"), false},
		"of the server":    {fault.Unavailable("The server is stopping"), true},
		"of a segment":     {Elsewhere(fault.NotFound("Segment [a] is not loaded on this node")), true},
		"that has no name": {errors.New("disk trouble"), true},
	} {
		_, err := readAll(stream(t, 0, tc.err))
		var b *broken
		if errors.As(err, &b) != tc.again {
			t.Errorf("%s: %v, tried again: %v", name, err, !tc.again)
		}
		if want, got := fault.Find(tc.err), fault.Find(err); want != nil {
			if diff := cmp.Diff([]any{want.Category, want.Code, want.Message, want.Context}, []any{got.Category, got.Code, got.Message, got.Context}); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func TestRequestsSurviveTheirBytes(t *testing.T) {
	in := &Request{QueryID: "q", TimeZone: "Europe/Berlin", Now: 5, BatchRows: 3, Skip: 7, Need: []bool{true, false}, Groups: true, Plan: []byte("plan"), Version: Version,
		Places:   []fault.Span{{Line: 1, Column: 2, EndLine: 3, EndColumn: 4}, {}},
		Segments: []SentSegment{{ID: "s", Visible: [2]int64{-1, 9}, LoadSpec: []byte(`{"type":"local"}`)}}}
	b, err := in.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ReadRequest(bytes.NewReader(b), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
	for n := range b {
		if _, err := ReadRequest(bytes.NewReader(b[:n]), 0); err == nil {
			t.Fatalf("the first [%d] of [%d] bytes are a request", n, len(b))
		}
	}
	b[4] = Version + 1
	if _, err := ReadRequest(bytes.NewReader(b), 0); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryServiceUnavailable {
		t.Errorf("a newer version: %v", err)
	}
}

func FuzzStreamReader(f *testing.F) {
	f.Add(stream(f, 0, nil))
	f.Add(stream(f, 3, fault.Unavailable("The server is stopping")))
	f.Add(profiled(f, Version))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = readAll(b) }) // it must end and not panic
}

func FuzzReadRequest(f *testing.F) {
	b, err := (&Request{QueryID: "q", Segments: []SentSegment{{ID: "s"}}}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(_ *testing.T, b []byte) {
		if r, err := ReadRequest(bytes.NewReader(b), 0); err == nil {
			_, _ = r.Fragment() // it must end and not panic
		}
	})
}

// What a stream says of single segments is of those that were asked for, each once, and of all
// rows.
func TestStreamsSayWhichSegmentsRowsAreOf(t *testing.T) {
	write := func(steps ...int) *StreamReader { // a segment, or -1: ten rows
		var out bytes.Buffer
		w := NewStreamWriter(&out, Version, 0, nil)
		for _, s := range steps {
			give := func() error { return w.Rows(numbers(0, 10)) }
			if s >= 0 {
				give = func() error { return w.Segment(s) }
			}
			if err := give(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.End(nil); err != nil {
			t.Fatal(err)
		}
		r := NewStreamReader(&out, Version)
		r.BySegment(3)
		return r
	}
	end := func(r *StreamReader) error {
		for {
			if _, err := r.Next(); err != nil {
				return err
			}
		}
	}
	r := write(2, -1, -1, 0, 1, -1)
	if err := end(r); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]segmentStart{{2, 0}, {0, 2}, {1, 2}}, r.starts, cmp.AllowUnexported(segmentStart{})); diff != "" {
		t.Error(diff)
	}
	for _, bad := range [][]int{{3, -1}, {1, -1, 1}, {-1, 0}, {0, 1 << 31}} {
		if err := end(write(bad...)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
