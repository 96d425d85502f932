package exec

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hengedb/henge/internal/vector"
)

func batch(x int64) *vector.Batch {
	return &vector.Batch{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{x})}}
}

func TestGatherKeepsTheOrderOfStreams(t *testing.T) {
	for _, streams := range []int{0, 1, 2, 7, 50} {
		g := NewGather(2)
		var next atomic.Int64
		var wg sync.WaitGroup
		var left atomic.Int64
		left.Store(3)
		for range 3 {
			wg.Go(func() {
				for {
					s := int(next.Add(1)) - 1
					if s >= streams {
						break
					}
					for i := range s % 5 { // some are empty
						if err := g.Send(context.Background(), s, batch(int64(s*100+i))); err != nil {
							t.Error(err)
						}
					}
					g.End(s)
				}
				if left.Add(-1) == 0 {
					g.Finish(nil)
				}
			})
		}
		var want, got []int64
		for s := range streams {
			for i := range s % 5 {
				want = append(want, int64(s*100+i))
			}
		}
		for {
			b, err := g.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, b.Cols[0].Longs[0])
		}
		wg.Wait()
		if len(got) != len(want) {
			t.Fatalf("[%d] streams: got %v, want %v", streams, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("[%d] streams: got %v, want %v", streams, got, want)
			}
		}
	}
}

func TestGatherHoldsProducersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		g := NewGather(2)
		sent := 0
		done := make(chan error)
		go func() {
			for {
				if err := g.Send(ctx, 1, batch(1)); err != nil {
					done <- err
					return
				}
				sent++
			}
		}()
		synctest.Wait()
		if sent != 2 {
			t.Errorf("[%d] batches were sent ahead, want 2", sent)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Send after cancelling = %v", err)
		}
	})
}

func TestGatherPassesFailuresOn(t *testing.T) {
	g := NewGather(1)
	why := errors.New("broken")
	g.Finish(why)
	g.Finish(nil)
	if _, err := g.Next(context.Background()); !errors.Is(err, why) {
		t.Errorf("Next = %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := NewGather(1).Next(ctx); !errors.Is(err, why) {
		t.Errorf("Next after cancelling = %v", err)
	}
}
