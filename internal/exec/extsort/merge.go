package extsort

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/hengedb/henge/internal/exec/operator"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/vector"
)

// merger merges sorted runs. Batches of the runs must stay valid when the next is read.
type merger struct {
	s       *Spec
	runs    []*mergeRun // a heap once begun, the run with the first row at 0
	begun   bool
	builder *vector.BatchBuilder

	// The rows of the output batch: positions in sources, and rows of those.
	sources []*vector.Batch
	from    []uint32
	rows    []uint32
}

// mergeRun is a run with its present row.
type mergeRun struct {
	source operator.Operator
	batch  *vector.Batch
	keys   *vector.SortKeys
	row    int
	place  uint32 // of batch in sources
	listed bool
}

// advance moves to the next row; false at the end.
func (m *merger) advance(ctx context.Context, r *mergeRun) (bool, error) {
	r.row++
	if r.batch != nil && r.row < r.batch.N {
		return true, nil
	}
	b, err := r.source.Next(ctx)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.batch, r.row, r.listed = b.Compact(), 0, false
	r.keys = m.s.sortKeys(r.batch)
	return true, nil
}

func (m *merger) less(a, b *mergeRun) bool {
	return bytes.Compare(a.keys.Key(a.row), b.keys.Key(b.row)) < 0
}

// sink restores the heap below position i.
func (m *merger) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(m.runs) {
			return
		}
		if child+1 < len(m.runs) && m.less(m.runs[child+1], m.runs[child]) {
			child++
		}
		if !m.less(m.runs[child], m.runs[i]) {
			return
		}
		m.runs[i], m.runs[child] = m.runs[child], m.runs[i]
		i = child
	}
}

func (m *merger) begin(ctx context.Context) error {
	m.begun = true
	var alive []*mergeRun
	for _, r := range m.runs {
		ok, err := m.advance(ctx, r)
		if err != nil {
			return err
		}
		if ok {
			alive = append(alive, r)
		}
	}
	m.runs = alive
	for i := len(m.runs)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return nil
}

func (m *merger) Next(ctx context.Context) (*vector.Batch, error) {
	if !m.begun {
		if err := m.begin(ctx); err != nil {
			return nil, err
		}
	}
	if err := scheduler.Yield(ctx); err != nil {
		return nil, err
	}
	m.sources, m.from, m.rows = m.sources[:0], m.from[:0], m.rows[:0]
	for _, r := range m.runs {
		r.listed = false
	}
	for len(m.rows) < m.s.BatchRows && len(m.runs) > 0 {
		r := m.runs[0]
		if !r.listed {
			r.place, r.listed = uint32(len(m.sources)), true
			m.sources = append(m.sources, r.batch)
		}
		m.from, m.rows = append(m.from, r.place), append(m.rows, uint32(r.row))
		ok, err := m.advance(ctx, r)
		if err != nil {
			return nil, err
		}
		if !ok {
			last := len(m.runs) - 1
			m.runs[0] = m.runs[last]
			m.runs = m.runs[:last]
		}
		m.sink(0)
	}
	if len(m.rows) == 0 {
		return nil, io.EOF
	}
	return m.output(), nil
}

// output makes a batch of the rows picked.
func (m *merger) output() *vector.Batch {
	columns := make([]*vector.Vector, len(m.sources))
	for c := range m.s.Types {
		for i, b := range m.sources {
			columns[i] = b.Cols[c]
		}
		m.builder.Col(c).AppendPicked(columns, m.from, m.rows)
	}
	m.builder.Grew(len(m.rows), 0)
	return m.builder.Build()
}

func (m *merger) Close() {}
