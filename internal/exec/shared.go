package exec

import (
	"context"
	"io"
	"sync"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// sharing keeps the rows of a query's plan.Shared nodes, each computed when the first of its
// readers wants a row, until the query is closed.
type sharing struct {
	mu     sync.Mutex
	spools map[int]*spool
}

// reader returns an operator that gives the rows of n.
func (s *sharing) reader(n *plan.Shared, env *Env, w wants) Operator {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spools == nil {
		s.spools = map[int]*spool{}
	}
	p := s.spools[n.ID]
	if p == nil {
		p = &spool{id: n.ID, input: n.Input, env: env, wants: w, types: types(n.Columns()), account: budget.NewAccount(env.Budget)}
		s.spools[n.ID] = p
	}
	if !w.anyOrder && p.wants.anyOrder {
		p.env, p.wants = env, w // one reader wants order
	}
	return &spoolReader{spool: p}
}

// close frees the rows; nil, as for fragments of other servers' queries, has none.
func (s *sharing) close() {
	if s == nil {
		return
	}
	for _, p := range s.spools {
		p.close()
	}
}

// spool is a relation that was computed once: in memory, or in a file when it does not fit.
type spool struct {
	id    int
	input plan.Node
	env   *Env
	wants wants
	types []vector.Type

	mu      sync.Mutex
	filled  bool
	failed  error
	op      Operator // stays open: the rows' text may lie in what it holds
	account budget.Account
	build   *vector.BatchBuilder
	rows    *vector.Batch // or
	file    *budget.SpillFile
	w       *vector.FrameWriter
}

// fill computes the rows, the first time it is called.
func (s *spool) fill(ctx context.Context) error {
	if !s.mu.TryLock() {
		// Who computes may yield: who waits must not hold the slot that is needed to go on.
		if err := scheduler.Wait(ctx, func() error { s.mu.Lock(); return nil }); err != nil {
			s.mu.Unlock()
			return err
		}
	}
	defer s.mu.Unlock()
	if !s.filled {
		s.filled = true
		s.failed = s.compute(ctx)
	}
	return s.failed
}

func (s *spool) compute(ctx context.Context) error {
	s.env.Profile.computes(s.id, s.input)
	var err error
	if s.op, err = build(ctx, s.input, s.env, s.wants); err != nil {
		return err
	}
	s.build = vector.NewBatchBuilder(s.types, 0)
	if err := Drain(ctx, s.op, s.add); err != nil {
		return err
	}
	if s.file != nil {
		return s.file.Flush()
	}
	s.rows = s.build.Build()
	return nil
}

func (s *spool) add(b *vector.Batch) error {
	if s.file != nil {
		return s.write(b.Compact())
	}
	s.build.Append(b)
	size := s.build.Bytes()
	if s.env.Spill == nil {
		return s.account.Set(size)
	}
	// The rows stay while others work: they take no more than two thirds of what there is.
	if s.account.TrySet(size) && s.env.Budget.Free() >= size/2 {
		return nil
	}
	var err error
	if s.file, err = s.env.Spill.Create(); err != nil {
		return err
	}
	s.w = vector.NewFrameWriter(s.file)
	if err := s.write(s.build.Build()); err != nil {
		return err
	}
	return s.account.Set(0)
}

func (s *spool) write(b *vector.Batch) error {
	for lo := 0; lo < b.N; lo += s.env.BatchRows {
		if err := s.w.Write(b.Slice(lo, min(lo+s.env.BatchRows, b.N))); err != nil {
			return err
		}
	}
	return nil
}

func (s *spool) close() {
	if s.op != nil {
		s.op.Close()
	}
	s.account.Close()
	_ = s.file.Close() // a temporary file: nothing is lost
}

// spoolReader reads the rows of a spool from the first on.
type spoolReader struct {
	spool *spool
	out   Operator
}

func (r *spoolReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.out == nil {
		if err := r.spool.fill(ctx); err != nil {
			return nil, err
		}
		switch {
		case r.spool.file != nil:
			r.out = operator.Frames(vector.NewFrameReader(r.spool.file.Reader()))
		case r.spool.rows.N == 0:
			return nil, io.EOF
		default:
			r.out = operator.Batches(r.spool.rows, r.spool.env.BatchRows)
		}
	}
	if err := stop(ctx); err != nil {
		return nil, err
	}
	return r.out.Next(ctx)
}

func (r *spoolReader) Close() {}
