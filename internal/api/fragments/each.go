package fragments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
)

// sendEach sends the groups of each segment by themselves, in any order of the segments. Several
// are read at once; the groups of one are sent in one piece.
func sendEach(ctx context.Context, f *exec.Fragment, env *exec.Env, own *leaves, out *dispatch.StreamWriter) error {
	scan := scanOf(f.Plan)
	if scan == nil {
		return invariant.Failed("a fragment has no scan")
	}
	all, err := own.Leaves(ctx, scan, exec.ColumnsRead(f.Plan, scan))
	if err != nil {
		return err
	}
	var next atomic.Int64
	defer func() { // those that nobody has begun with
		for i := int(next.Load()); i < len(all); i++ {
			all[i].Reader.Release()
		}
	}()
	if err := out.Begin(); err != nil {
		return err
	}
	one := *env
	if one.Threads <= 0 {
		one.Threads = budget.Cores()
	}
	lanes := max(1, min(len(all), one.Threads))
	one.Threads = max(1, one.Threads/lanes)
	var sending sync.Mutex
	group := exec.NewGroup(ctx)
	for range lanes {
		group.Go(func(ctx context.Context) error {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(all) || ctx.Err() != nil {
					if i < len(all) {
						all[i].Reader.Release()
					}
					return context.Cause(ctx)
				}
				env, leaf := one, &single{leaf: all[i]}
				env.Tables = leaf
				err := sendOne(ctx, f, &env, i, &sending, out)
				leaf.release()
				if err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// sendOne sends the groups of the i-th segment.
func sendOne(ctx context.Context, f *exec.Fragment, env *exec.Env, i int, sending *sync.Mutex, out *dispatch.StreamWriter) error {
	op, err := exec.BuildFragment(ctx, f, env)
	if err != nil {
		return err
	}
	defer op.Close()
	b, err := op.Next(ctx) // the segment is read before anything is given
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	sending.Lock() // for the time that sending takes
	defer sending.Unlock()
	if err := out.Segment(i); err != nil {
		return fmt.Errorf("sending rows: %w", err)
	}
	for ; err == nil; b, err = op.Next(ctx) {
		if err := out.Rows(b); err != nil {
			return fmt.Errorf("sending rows: %w", err)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// scanOf returns the scan of a fragment's chain.
func scanOf(n plan.Node) (scan *plan.Scan) {
	plan.Walk(n, func(n plan.Node) bool {
		if s, ok := n.(*plan.Scan); ok {
			scan = s
		}
		return scan == nil
	})
	return scan
}

// single is a segment that was acquired. It implements exec.Tables.
type single struct {
	leaf  exec.Leaf
	taken bool // by the operators, which release it
}

// Leaves implements exec.Tables.
func (s *single) Leaves(context.Context, *plan.Scan, []string) ([]exec.Leaf, error) {
	s.taken = true
	return []exec.Leaf{s.leaf}, nil
}

// release gives back what no operator has taken.
func (s *single) release() {
	if !s.taken {
		s.leaf.Reader.Release()
	}
}
