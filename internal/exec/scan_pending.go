package exec

import "github.com/hengedb/henge/internal/vector"

// A filter often leaves few rows of a batch: sixteen of 4,096 if it selects one country of 250.
// Reading their columns and grouping them costs as much as for a full batch, and the processor
// waits for one position of the file after the other. The scan therefore buffers such rows until
// there are enough of them, or the morsel ends.

// pendingShare is the share of BatchRows that is enough.
const pendingShare = 4

// gather appends the rows that are left to the pending ones if they are few, or others are pending
// already, and makes all pending rows the present batch once they are enough. It reports whether
// there is a batch. What was read of columns is forgotten then: of few rows that is little.
func (s *scanner) gather() bool {
	left := s.left()
	if len(s.pending) == 0 && left*sparse >= s.to-s.from {
		return true
	}
	switch {
	case s.rows != nil && s.sel != nil:
		for _, r := range s.sel {
			s.pending = append(s.pending, s.rows[r])
		}
	case s.rows != nil:
		s.pending = append(s.pending, s.rows...)
	case s.sel != nil:
		for _, r := range s.sel {
			s.pending = append(s.pending, uint32(s.from)+r)
		}
	default:
		for r := s.from; r < s.to; r++ {
			s.pending = append(s.pending, uint32(r))
		}
	}
	if len(s.pending)*pendingShare < s.env.BatchRows {
		return false
	}
	s.takePending()
	return true
}

// flush returns the pending rows, nil: there are none.
func (s *scanner) flush() (*vector.Batch, error) {
	if len(s.pending) == 0 {
		return nil, nil
	}
	s.takePending()
	return s.late()
}

func (s *scanner) takePending() {
	s.rowsBuf, s.pending = s.pending, s.rowsBuf[:0]
	s.rows, s.n, s.sel = s.rowsBuf, len(s.rowsBuf), nil
	clear(s.cols)
}
