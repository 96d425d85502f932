package exec

import "github.com/hengedb/henge/internal/vector"

// Rows that are left of a batch are often few: sixteen of 4,096 where a filter names one country of 250. To read their columns, group them
// and so on costs as much as for a full batch, and the processor waits for one place of the file after the other. So they are put aside
// until there are enough of them, or the morsel ends.

// asideShare is the share of BatchRows that is enough.
const asideShare = 4

// gather puts the rows that are left aside if they are few, or others lie there already, and makes
// all that lie there the present batch once they are enough. It reports whether there is a batch.
// What was read of columns is forgotten then: of few rows that is little.
func (s *scanner) gather() bool {
	left := s.left()
	if len(s.aside) == 0 && left*sparse >= s.to-s.from {
		return true
	}
	switch {
	case s.rows != nil && s.sel != nil:
		for _, r := range s.sel {
			s.aside = append(s.aside, s.rows[r])
		}
	case s.rows != nil:
		s.aside = append(s.aside, s.rows...)
	case s.sel != nil:
		for _, r := range s.sel {
			s.aside = append(s.aside, uint32(s.from)+r)
		}
	default:
		for r := s.from; r < s.to; r++ {
			s.aside = append(s.aside, uint32(r))
		}
	}
	if len(s.aside)*asideShare < s.env.BatchRows {
		return false
	}
	s.takeAside()
	return true
}

// flush returns what lies aside, nil: nothing.
func (s *scanner) flush() (*vector.Batch, error) {
	if len(s.aside) == 0 {
		return nil, nil
	}
	s.takeAside()
	return s.late()
}

func (s *scanner) takeAside() {
	s.rowsBuf, s.aside = s.aside, s.rowsBuf[:0]
	s.rows, s.n, s.sel = s.rowsBuf, len(s.rowsBuf), nil
	clear(s.cols)
}
