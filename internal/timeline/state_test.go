package timeline

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/hengedb/henge/internal/chrono"
)

func TestPublished(t *testing.T) {
	p := NewPublished()
	pinned := p.Pin()
	old := segments(t, "0-10:a:0/1 10-20:a:0/1")
	if err := p.Advance(1, Added(old...)); err != nil {
		t.Fatal(err)
	}
	one := p.Pin()
	replacement := segments(t, "0-10:b:0/1 10-20:b:T")
	if err := p.Advance(5, Added(replacement...)); err != nil {
		t.Fatal(err)
	}
	iv := chrono.Interval{Start: 0, End: 20}
	for _, tt := range []struct {
		state  *State
		number int64
		want   string
	}{
		{pinned, 0, ""},
		{one, 1, "0-10:a[0] 10-20:a[0]"},
		{p.Pin(), 5, "0-10:b[0] 10-20:b[0]"},
	} {
		if got := show(tt.state.Timeline("d").Lookup(iv)); got != tt.want || tt.state.Number() != tt.number {
			t.Errorf("state %d: %q, want %d: %q", tt.state.Number(), got, tt.number, tt.want)
		}
	}
	var gone []Change
	for s := range p.Pin().Timeline("d").All() {
		gone = append(gone, Change{ID: s.ID})
	}
	if err := p.Advance(6, gone); err != nil {
		t.Fatal(err)
	}
	if names := p.Pin().DataSources(); len(names) != 0 {
		t.Errorf("datasources without segments stay: %v", names)
	}
	if err := p.Advance(9, nil); err != nil || p.Pin().Number() != 9 {
		t.Errorf("an empty step: %v, number %d", err, p.Pin().Number())
	}
	p.Reset(NewState(7, slices.Values(old)))
	if got := p.Pin(); got.Number() != 7 || got.Timeline("d").Len() != 2 {
		t.Errorf("after reset: %d", got.Number())
	}
}

func TestPublishedWait(t *testing.T) {
	p := NewPublished()
	done := make(chan int64)
	go func() {
		s, err := p.Wait(t.Context(), 3)
		if err != nil {
			t.Error(err)
			done <- -1
			return
		}
		done <- s.Number()
	}()
	for n := range int64(4) {
		if err := p.Advance(n+1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-done; got < 3 {
		t.Errorf("woke at %d", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Wait(ctx, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait gave %v", err)
	}
}

// TestMemoryOfSegments bounds what a segment costs a broker, which may spend 500 bytes, in the
// worst layout: each segment a chunk of its own.
func TestMemoryOfSegments(t *testing.T) {
	const n = 100_000
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var interner Interner
	state := NewState(1, func(yield func(*Segment) bool) {
		for i := range int64(n) {
			id := SegmentID{
				DataSource: "wiki-" + strconv.Itoa(int(i%10)), Interval: chrono.Interval{Start: i * chrono.Hour, End: (i + 1) * chrono.Hour},
				Version: "2026-03-05T10:00:00.0" + strconv.Itoa(10+int(i%90)) + "Z",
			}
			s := &Segment{
				ID: id, Shard: Numbered{Core: 1}, Schema: SchemaOfNames([]string{"page", "user"}, nil), File: id.String(), Size: i, Rows: i,
				BinaryVersion: BinaryVersion,
			}
			interner.Segment(s.Locate([]byte(`{"type":"local","path":"/` + s.File + `"}`)))
			if !yield(s) {
				return
			}
		}
	})
	per := int(heap()-before) / n
	if per > 400 {
		t.Errorf("%d bytes a segment", per)
	}
	runtime.KeepAlive(state)
	runtime.KeepAlive(&interner)
}
