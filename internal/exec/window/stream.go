package window

import (
	"context"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/exec/scheduler"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/vector"
)

// cut says where the rows of a partition may be parted, so that the calls are computed over
// one part after the other.
type cut uint8

// Calls that need of the rows behind a row nothing can do with parts of a partition, those that
// need its peers with whole groups of peers.
const (
	cutAnywhere cut = iota
	cutAtPeers
	cutNowhere
)

// newStreamedFunctions returns functions for the calls of a window that carry on from part to part
// of a partition, if there is such a function for every call: ROW_NUMBER, RANK, DENSE_RANK, and
// aggregates over frames from the start of the partition to the current row. Then a partition need
// not fit in memory.
func newStreamedFunctions(calls []plan.WindowCall) ([]function, cut, error) {
	cut := cutAnywhere
	out := make([]function, len(calls))
	for i := range calls {
		c := &calls[i]
		switch c.Fn {
		case "ROW_NUMBER":
			out[i] = &streamedRank{value: func(p *partitionSet, r *streamedRank, i int) int64 { return r.rows + int64(i-p.start(i)) + 1 }}
			continue
		case "RANK":
			out[i] = &streamedRank{value: func(p *partitionSet, r *streamedRank, i int) int64 {
				return r.rows + int64(int(p.peerLo[i])-p.start(i)) + 1
			}}
		case "DENSE_RANK":
			out[i] = &streamedRank{value: func(_ *partitionSet, r *streamedRank, _ int) int64 { return r.groups }}
		case "":
			w, err := newAggregate(c)
			if err != nil {
				return nil, 0, err
			}
			f := &c.Frame
			if w.distinct || !f.FromUnbounded || f.ToUnbounded || f.ToOffset != 0 || f.ToColumn >= 0 || f.Exclude != plan.ExcludeNothing {
				return nil, cutNowhere, nil
			}
			out[i] = &streamedAggregate{w: w}
			if !f.Range && !f.Groups {
				continue
			}
		default:
			return nil, cutNowhere, nil
		}
		cut = cutAtPeers
	}
	return out, cut, nil
}

// streamedRank numbers rows or groups of peers.
type streamedRank struct {
	value func(p *partitionSet, r *streamedRank, i int) int64
	// rows are those of the partition in earlier parts; groups are the groups of peers up to the
	// present row.
	rows, groups int64
}

func (r *streamedRank) compute(_ context.Context, p *partitionSet) (*vector.Vector, error) {
	out := make([]int64, p.rows.N)
	for i := range out {
		if i == p.start(i) && (i > 0 || !p.continues) {
			r.rows, r.groups = 0, 0
		}
		if int(p.peerLo[i]) == i {
			r.groups++
		}
		out[i] = r.value(p, r, i)
	}
	last := len(p.bounds) - 2
	r.rows += int64(p.bounds[last+1] - p.bounds[last])
	return vector.FromLongs(out), nil
}

// streamedAggregate has a state that only grows.
type streamedAggregate struct {
	w     *aggregate
	state agg.State
}

func (s *streamedAggregate) compute(ctx context.Context, p *partitionSet) (*vector.Vector, error) {
	f := &framed{w: s.w, p: p, counts: s.w.rowsThatCount(p)}
	for _, a := range s.w.call.Args {
		f.args = append(f.args, p.rows.Cols[a])
	}
	peers := s.w.call.Frame.Range || s.w.call.Frame.Groups
	out := vector.NewBuilder(s.w.call.Type.Runtime(), p.rows.N)
	var value *vector.Vector
	for i, end := 0, 0; i < p.rows.N; i++ {
		if i == p.start(i) && (i > 0 || !p.continues) {
			var err error
			if s.state, err = f.state(1); err != nil {
				return nil, err
			}
		}
		if i == end {
			if end = i + 1; peers {
				end = int(p.peerHi[i])
			}
			for r := i; r < end; r++ {
				if err := f.fold(s.state, r, 0); err != nil {
					return nil, err
				}
			}
			if err := f.flush(s.state); err != nil {
				return nil, err
			}
			var err error
			if value, err = s.state.Final(0, 1); err != nil {
				return nil, err
			}
		}
		out.AppendFrom(value, 0)
		if i%vector.BatchRows == 0 {
			if err := scheduler.Yield(ctx); err != nil {
				return nil, err
			}
		}
	}
	return out.Build(), nil
}
