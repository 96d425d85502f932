package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

// sharedBudget refuses what goes over its limit; several goroutines may use it.
type sharedBudget struct {
	mu sync.Mutex
	tightBudget
	refused int
}

func (b *sharedBudget) Reserve(n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.tightBudget.Reserve(n)
	if err != nil {
		b.refused++
	}
	return err
}

func (b *sharedBudget) Release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tightBudget.Release(n)
}

func TestThreadsWriteTheSameFile(t *testing.T) {
	for _, n := range []int{0, 1, 3000} {
		rows := randomRows(rand.New(rand.NewPCG(13, uint64(n))), n, 0.1)
		opts := Options{SortOrder: []string{TimeColumn, "low"}}
		want := writeRows(t, allTypes, rows, opts, 500)
		for _, threads := range []int{2, 5, 100} {
			for _, buffer := range []int64{0, 100_000} { // all in memory, and several runs
				opts.Threads, opts.BufferBytes = threads, buffer
				if got := writeRows(t, allTypes, rows, opts, 500); !bytes.Equal(want, got) {
					t.Errorf("rows %d threads %d buffer %d: files differ", n, threads, buffer)
				}
			}
		}
	}
}

// TestColumnsWaitForTheirTurnWithoutMemory writes with little more memory than one goroutine needs:
// room for the maps of some dictionaries, not for columns.
func TestColumnsWaitForTheirTurnWithoutMemory(t *testing.T) {
	specs, rows := allTypes, randomRows(rand.New(rand.NewPCG(14, 14)), 3000, 0.1)
	for i, spec := range slices.Backward(specs) {
		if spec.Type == vector.JSON { // how many of its paths become columns depends on the memory
			specs = slices.Delete(slices.Clone(specs), i, i+1)
			for r := range rows {
				rows[r] = slices.Delete(rows[r], i, i+1)
			}
		}
	}
	opts := Options{SortOrder: []string{TimeColumn}}
	var alone sharedBudget
	alone.limit = 1 << 40
	opts.Budget = &alone
	want := writeRows(t, specs, rows, opts, 500)
	tight := &sharedBudget{tightBudget: tightBudget{limit: alone.peak + 60_000}}
	opts.Budget, opts.Threads = tight, 4
	if got := writeRows(t, specs, rows, opts, 500); !bytes.Equal(want, got) {
		t.Error("files differ")
	}
	if tight.used != 0 || tight.refused == 0 {
		t.Errorf("[%d] bytes stay reserved, [%d] reservations were refused", tight.used, tight.refused)
	}
}

// fullDisk is a writer that fails after some bytes.
type fullDisk struct{ room int }

var errFullDisk = errors.New("no space left")

func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errFullDisk
	}
	return len(b), nil
}

func TestThreadsEndWhenWritingFails(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(15, 15)), 20_000, 0.1)
	for _, room := range []int{0, 300_000, 1_000_000} {
		w, err := NewWriter(&fullDisk{room}, Options{Columns: allTypes, Threads: 4, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batchesOf(allTypes, rows, 4096) {
			if err := w.Append(context.Background(), b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Finish(context.Background()); !errors.Is(err, errFullDisk) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
}

func TestParallel(t *testing.T) {
	for _, threads := range []int{0, 1, 3, 50} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			var sum atomic.Int64
			if err := parallel(threads, 40, func(i int) error { sum.Add(int64(i)); return nil }); err != nil || sum.Load() != 780 {
				t.Errorf("sum %d, %v", sum.Load(), err)
			}
			why := errors.New("why")
			err := parallel(threads, 40, func(i int) error {
				if i >= 7 {
					return fmt.Errorf("%d: %w", i, why)
				}
				return nil
			})
			if !errors.Is(err, why) || err.Error() != "7: why" {
				t.Errorf("failure: %v", err)
			}
			defer func() {
				if p := recover(); p != "no" {
					t.Errorf("recovered %v", p)
				}
			}()
			_ = parallel(threads, 40, func(i int) error {
				if i == 9 {
					panic("no")
				}
				return nil
			})
		})
	}
}
