package msq

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// withPieces runs an INSERT of lines and returns its files and, when its first stage has ended, how
// many pieces there were of which size.
func withPieces(t *testing.T, b *bench, lines []string, context map[string]any) (files map[string][]byte, built, failed int) {
	t.Helper()
	var c *Controller
	b.deps.FaultPoint = func(step string) error {
		if step != "stage-0" {
			return nil
		}
		for _, f := range c.stages[0].outputs()[0].frames {
			if f.piece == nil {
				continue
			}
			if <-f.piece.done; f.piece.info != nil {
				built++
			} else {
				failed++
			}
		}
		return nil
	}
	c, err := New(Job{ID: "query-1", Plan: insertFiles(t, lines), Context: context}, b.deps)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if out.Rows != int64(len(lines)) {
		t.Fatalf("[%d] rows", out.Rows)
	}
	left := 0
	if err := filepath.WalkDir(b.deps.TempDir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			left++
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if left > 0 {
		t.Errorf("[%d] files are left behind", left)
	}
	if r, err := c.Report(); err != nil || len(r.Stages) != 2 {
		t.Errorf("report: %v", err)
	}
	counted := c.stages[1].mu.counters[0].state().Generate
	if n := int64(len(lines)); *counted != (generateState{n, n, n, n}) {
		t.Errorf("counted: %+v", *counted)
	}
	if rows := c.stages[1].mu.counters[0].state().Channels["input0"].Rows; sum(rows) != int64(len(lines)) {
		t.Errorf("the generator has read [%d] rows", sum(rows))
	}
	return b.files(), built, failed
}

func sum(list []int64) (total int64) {
	for _, n := range list {
		total += n
	}
	return total
}

// TestSegmentsBuiltEarlyAreTheSame builds segments of days while rows of other days are still being
// read. What comes late, turns out to be otherwise than was thought, or finds no room makes no
// difference to the files.
func TestSegmentsBuiltEarlyAreTheSame(t *testing.T) {
	plain := eventLines(24_000)
	for i, line := range plain { // no lists but at the end
		plain[i] = strings.NewReplacer(`["z","x"]`, `"z"`, `["x"]`, `"x"`, `[]`, `"y"`, `[null]`, `"x"`).Replace(line)
	}
	late := slices.Clone(plain)
	late = append(slices.Delete(late, 100, 110), late[100:110]...)
	for i := range 10 {
		late[len(late)-1-i] = plain[100+i]
	}
	lists := append(slices.Clone(plain[:23_990]), eventLines(24_000)[23_990:]...)
	lists[23_995] = fmt.Sprintf(`{"t":%d,"m":["z","x"]}`, day(3))
	for _, c := range []struct {
		name          string
		lines         []string
		built, failed int
		prepare       func(*bench)
	}{
		{"in order", plain, 2, 0, nil},
		{"late rows", late, 2, 0, nil},
		{"lists at the end", lists, 2, 0, nil},
		{"rows on disk", plain, 2, 0, func(b *bench) { b.deps.KeepBytes = -1 }},
		{"little memory", plain, 2, 0, func(b *bench) { b.deps.KeepBytes = 1_000_000 }},
		{"no disk", plain, 0, 2, func(b *bench) { b.deps.Disk = budget.DiskRoot(1000) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			want, built, failed := withPieces(t, b, c.lines, nil)
			if built+failed > 0 {
				t.Errorf("[%d] segments were built early of rows that are in memory at once", built+failed)
			}
			b = newBench(t)
			b.deps.SortBytes, b.deps.Memory = 100_000, budget.Root(1<<30)
			if c.prepare != nil {
				c.prepare(b)
			}
			got, built, failed := withPieces(t, b, c.lines, nil)
			if built != c.built || failed != c.failed {
				t.Errorf("[%d] segments were built early, [%d] were not", built, failed)
			}
			for name := range want {
				if !bytes.Equal(want[name], got[name]) || len(want) != len(got) {
					t.Errorf("segment %s differs", name)
				}
			}
			if b.deps.Memory.Used() != 0 || b.deps.Disk.Used() != 0 {
				t.Errorf("[%d] bytes of memory and [%d] of disk stay reserved", b.deps.Memory.Used(), b.deps.Disk.Used())
			}
		})
	}
}

// TestLargeChunksAreBuiltEarly builds segments of days that have rows for several.
func TestLargeChunksAreBuiltEarly(t *testing.T) {
	lines := eventLines(24_000)
	b := newBench(t)
	b.deps.SortBytes = 20_000
	_, built, failed := withPieces(t, b, lines, map[string]any{"rowsPerSegment": 1500})
	if built < 9 || failed > 0 {
		t.Errorf("[%d] segments were built early, [%d] were not", built, failed)
	}
	var got []string
	for _, s := range b.meta.used {
		if s.Rows > 1500 || s.Rows < 750 {
			t.Errorf("segment %s has [%d] rows", s.ID, s.Rows)
		}
		got = append(got, b.rows(s)...)
	}
	whole := newBench(t)
	withPieces(t, whole, lines, nil)
	var want []string
	for _, s := range whole.meta.used {
		want = append(want, whole.rows(s)...)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestAnEndWhileSegmentsAreBuiltEarly ends jobs whose pieces may not be done yet.
func TestAnEndWhileSegmentsAreBuiltEarly(t *testing.T) {
	for _, lines := range [][]string{append(eventLines(24_000), `{"k":"no time"}`), eventLines(24_000)} {
		b := newBench(t)
		b.deps.SortBytes, b.deps.Memory = 20_000, budget.Root(1<<30)
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		b.deps.FaultPoint = func(string) error { cancel(stopped); return nil }
		_, err := Run(ctx, Job{ID: "query-1", Plan: insertFiles(t, lines)}, b.deps)
		cancel(nil)
		if err == nil || len(b.meta.used) > 0 {
			t.Errorf("[%d] segments, error %v", len(b.meta.used), err)
		}
		if left, err := filepath.Glob(filepath.Join(b.deps.TempDir, "*")); len(left) > 0 || err != nil {
			t.Errorf("left behind: %v %v", left, err)
		}
		if b.deps.Memory.Used() != 0 {
			t.Errorf("[%d] bytes of memory stay reserved", b.deps.Memory.Used())
		}
	}
}

// Rows of a piece that did not get to the disk are in no other place: the job fails.
func TestAPieceThatIsNotOnDisk(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	lost := &fs.PathError{Op: "sync", Path: "piece0.segment", Err: syscall.EIO}
	p := &piece{done: ended, info: &segment.Info{}, durable: ended, err: lost}
	pieces, err := piecesOf(t.Context(), []*output{{frames: []frameRef{{piece: p}}}}, &partition{})
	if !errors.Is(err, syscall.EIO) || len(pieces) > 0 {
		t.Errorf("[%d] pieces, %v", len(pieces), err)
	}
}

// A piece that fails is built again when all rows are there, unless some of its rows are gone: then
// the job fails.
func TestAPieceThatFails(t *testing.T) {
	refused := errors.New("refused")
	for _, taken := range []int{0, 1, 3} {
		k := &keeper{limit: 1 << 20, released: make(chan struct{}, 1)}
		if !k.take(&run{bytes: 30}) {
			t.Fatal("no room")
		}
		e := &eagerBuilder{kept: k, turn: make(chan struct{}, 1)}
		e.build = func(_ context.Context, _ *piece, from *output, release func(*frameRef)) (*os.File, error) {
			for i := range taken {
				release(&from.frames[i])
			}
			return nil, refused
		}
		p := &piece{done: make(chan struct{}), durable: make(chan struct{}), held: 30}
		for range 3 {
			p.frames = append(p.frames, frameRef{batch: &vector.Batch{}, held: 10})
		}
		e.make(t.Context(), p, &output{frames: p.frames})
		out := &output{frames: []frameRef{{piece: p}}}
		_, err := piecesOf(t.Context(), []*output{out}, &partition{})
		rows, want := len(unbuilt(out.frames)), 3
		if taken > 0 {
			want = 0
		}
		if errors.Is(err, refused) != (taken > 0) || rows != want {
			t.Errorf("[%d] frames are gone: [%d] are to be read, error %v", taken, rows, err)
		}
		if taken > 0 && k.held != 0 || taken == 0 && k.held != 30 {
			t.Errorf("[%d] frames are gone: [%d] bytes are held", taken, k.held)
		}
	}
}
