package exec

import (
	"container/heap"
	"context"
	"io"

	"github.com/hengedb/henge/internal/vector"
)

// frames yields the batches of a stream of frames.
type frames struct{ r *vector.FrameReader }

func (f frames) Next(ctx context.Context) (*vector.Batch, error) {
	if err := stop(ctx); err != nil {
		return nil, err
	}
	return f.r.Next()
}

func (f frames) Close() {}

// mergeOp merges sorted runs.
type mergeOp struct {
	s       *sorting
	runs    []*mergeRun // a heap once begun
	begun   bool
	builder *vector.BatchBuilder
}

// mergeRun is a run with its present row.
type mergeRun struct {
	source Operator
	batch  *vector.Batch
	keys   *vector.SortKeys
	row    int
}

// advance moves to the next row; false at the end.
func (m *mergeOp) advance(ctx context.Context, r *mergeRun) (bool, error) {
	r.row++
	if r.batch != nil && r.row < r.batch.N {
		return true, nil
	}
	b, err := r.source.Next(ctx)
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.batch, r.row = b.Compact(), 0
	r.keys = m.s.sortKeys(r.batch)
	return true, nil
}

// Len is part of heap.Interface.
func (m *mergeOp) Len() int { return len(m.runs) }

// Less is part of heap.Interface.
func (m *mergeOp) Less(i, j int) bool {
	a, b := m.runs[i], m.runs[j]
	return a.keys.Compare(a.row, b.keys, b.row) < 0
}

// Swap is part of heap.Interface.
func (m *mergeOp) Swap(i, j int) { m.runs[i], m.runs[j] = m.runs[j], m.runs[i] }

// Push is part of heap.Interface; runs are never added.
func (m *mergeOp) Push(any) {}

// Pop is part of heap.Interface.
func (m *mergeOp) Pop() any {
	last := m.runs[len(m.runs)-1]
	m.runs = m.runs[:len(m.runs)-1]
	return last
}

func (m *mergeOp) Next(ctx context.Context) (*vector.Batch, error) {
	if !m.begun {
		m.begun = true
		var alive []*mergeRun
		for _, r := range m.runs {
			ok, err := m.advance(ctx, r)
			if err != nil {
				return nil, err
			}
			if ok {
				alive = append(alive, r)
			}
		}
		m.runs = alive
		heap.Init(m)
	}
	if err := stop(ctx); err != nil {
		return nil, err
	}
	for m.builder.Rows() < m.s.env.BatchRows && len(m.runs) > 0 {
		r := m.runs[0]
		m.builder.AppendRow(r.batch, r.row)
		ok, err := m.advance(ctx, r)
		if err != nil {
			return nil, err
		}
		if ok {
			heap.Fix(m, 0)
		} else {
			heap.Pop(m)
		}
	}
	if m.builder.Rows() == 0 {
		return nil, io.EOF
	}
	return m.builder.Build(), nil
}

func (m *mergeOp) Close() {}
