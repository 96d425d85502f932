package exec

import (
	"fmt"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// leafScan is one segment under a scan, shared by the workers.
type leafScan struct {
	scan *plan.Scan
	leaf Leaf
	// times are the intervals rows must lie in; exact says that every row of the ranges does.
	times []chrono.Interval
	exact bool
	// next and end bound its morsels that were not taken yet, by number; under the pipeline's lock.
	next, end int

	indexed struct {
		sync.Mutex
		done bool
		rows *roaring.Bitmap
	}
}

// rowRanges returns the runs of rows that can count, by time.
func (t *leafScan) rowRanges() ([][2]int, error) {
	info := t.leaf.Reader.Info()
	t.times = []chrono.Interval{t.leaf.Visible}
	if t.scan.Intervals != nil {
		t.times = chrono.IntersectAll(t.times, t.scan.Intervals)
	}
	for _, iv := range t.times {
		if info.HasTimes && iv.Start <= info.MinTime && info.MaxTime < iv.End {
			t.exact = true // all rows lie in one interval
			return [][2]int{{0, info.Rows}}, nil
		}
	}
	sorted := len(info.SortOrder) > 0 && info.SortOrder[0] == segment.TimeColumn
	if !sorted {
		if len(t.times) == 0 {
			return nil, nil
		}
		return [][2]int{{0, info.Rows}}, nil
	}
	t.exact = true
	var out [][2]int
	for _, iv := range t.times {
		from, to, err := segment.TimeRows(t.leaf.Reader, iv.Start, iv.End)
		if err != nil {
			return nil, fmt.Errorf("finding rows by time: %w", err)
		}
		if from < to {
			out = append(out, [2]int{from, to})
		}
	}
	return out, nil
}

// scanner reads batches of one segment in one goroutine: first the columns of the filter, then, for the rows that are left, the
// others.
type scanner struct {
	leaf    *leafScan
	env     *Env
	columns []scanColumn
	filter  *expr.Program
	early   []bool // columns that the filter needs
	times   *scanColumn
	// rows are those that the indexes of the filter's selective terms leave; nil: no index is worth it.
	rows  *roaring.Bitmap
	fresh bool
}

// scanColumn is an output column of a scan in one segment.
type scanColumn struct {
	column segment.Column // nil: the segment has none
	want   expr.Type
	cast   *expr.Program // nil: the stored type is the wanted one
	buf    *segment.Buffer
}

// newScanner returns a scanner of leaf. Filter is the scan's, compiled for this goroutine; nil: it has none.
func newScanner(leaf *leafScan, filter *expr.Program, env *Env, fresh bool) (*scanner, error) {
	s := &scanner{leaf: leaf, env: env, filter: filter, fresh: fresh, early: make([]bool, len(leaf.scan.Out))}
	for _, c := range leaf.scan.Out {
		column, err := s.open(c.Name, c.Type)
		if err != nil {
			return nil, err
		}
		s.columns = append(s.columns, column)
	}
	if leaf.scan.Filter != nil {
		expr.Walk(leaf.scan.Filter, func(e expr.Expr) bool {
			if c, ok := e.(*expr.Column); ok {
				s.early[c.Index] = true
			}
			return true
		})
		var err error
		if s.rows, err = leaf.index(env); err != nil {
			return nil, err
		}
	}
	if !leaf.exact {
		column, err := s.open(segment.TimeColumn, expr.Of(expr.Timestamp))
		if err != nil {
			return nil, err
		}
		s.times = &column
	}
	return s, nil
}

func (s *scanner) open(name string, want expr.Type) (scanColumn, error) {
	out := scanColumn{want: want, buf: &segment.Buffer{}}
	column, err := s.leaf.leaf.Reader.Column(name)
	if err != nil || column == nil {
		return out, err
	}
	out.column = column
	info := column.Info()
	stored := expr.FromRuntime(info.Type, info.Multi)
	to := want
	if want.Multi {
		to = expr.Of(expr.Varchar) // made a list afterwards
	}
	if info.Type == want.Runtime() || info.Type == to.Runtime() {
		return out, nil
	}
	out.cast, err = expr.Compile(&expr.Cast{X: &expr.Column{Index: 0, Name: name, T: stored}, T: to}, s.env.Expr)
	return out, err
}

// read returns the rows from up to, not including, to that count, or nil if there are none.
func (s *scanner) read(from, to int) (*vector.Batch, error) {
	b := &vector.Batch{N: to - from, Cols: make([]*vector.Vector, len(s.columns))}
	var rows []uint32 // of the segment, when only some are read
	if s.rows != nil {
		rows = rowsBetween(s.rows, from, to)
		if len(rows) == 0 {
			return nil, nil
		}
		if len(rows) == b.N {
			rows = nil
		} else {
			b.N = len(rows)
		}
	}
	if s.times != nil {
		v, err := s.column(s.times, from, to, rows)
		if err != nil {
			return nil, err
		}
		if b.Sel = s.inTime(v, b.N); len(b.Sel) == 0 {
			return nil, nil
		}
	}
	for i := range s.columns {
		if s.early[i] {
			v, err := s.column(&s.columns[i], from, to, rows)
			if err != nil {
				return nil, err
			}
			b.Cols[i] = v
		}
	}
	if s.filter != nil {
		filtered, err := applyFilter(b, s.filter)
		if err != nil || filtered == nil {
			return nil, err
		}
		b = filtered
	}
	return s.late(b, from, to, rows)
}

// sparse is the share of rows below which the late columns are read row by row.
const sparse = 16

// late reads the columns that the filter did not need.
func (s *scanner) late(b *vector.Batch, from, to int, rows []uint32) (*vector.Batch, error) {
	if b.Sel != nil && len(b.Sel)*sparse < b.N {
		for i, c := range b.Cols {
			if c != nil {
				b.Cols[i] = c.Gather(b.Sel)
			}
		}
		picked := make([]uint32, len(b.Sel))
		for i, r := range b.Sel {
			if rows != nil {
				picked[i] = rows[r]
			} else {
				picked[i] = uint32(from) + r
			}
		}
		b, rows = &vector.Batch{N: len(picked), Cols: b.Cols}, picked
	}
	for i := range s.columns {
		if b.Cols[i] != nil {
			continue
		}
		v, err := s.column(&s.columns[i], from, to, rows)
		if err != nil {
			return nil, err
		}
		b.Cols[i] = v
	}
	return b, nil
}

// column reads a run of rows, or those named by rows.
func (s *scanner) column(c *scanColumn, from, to int, rows []uint32) (*vector.Vector, error) {
	n := to - from
	if rows != nil {
		n = len(rows)
	}
	if c.column == nil {
		return vector.Nulls(c.want.Runtime(), n), nil
	}
	buf := c.buf
	if s.fresh {
		buf = nil
	}
	var v *vector.Vector
	var err error
	if rows != nil {
		v, err = c.column.ReadRows(buf, rows)
	} else {
		v, err = c.column.Read(buf, from, to)
	}
	if err != nil {
		return nil, err
	}
	if c.cast != nil {
		if v, err = c.cast.Eval(&vector.Batch{N: n, Cols: []*vector.Vector{v}}); err != nil {
			return nil, err
		}
	}
	if c.want.Multi && v.Type.Kind == vector.KindString {
		return segment.AsMulti(v), nil
	}
	return v, nil
}

// inTime returns the rows whose time lies in the intervals that count.
func (s *scanner) inTime(v *vector.Vector, n int) []uint32 {
	sel := make([]uint32, 0, n)
	for i := range n {
		if v.IsNull(i) {
			continue
		}
		ms := v.LongAt(i)
		for _, iv := range s.leaf.times {
			if iv.Start <= ms && ms < iv.End {
				sel = append(sel, uint32(i))
				break
			}
		}
	}
	return sel
}

func rowsBetween(b *roaring.Bitmap, from, to int) []uint32 {
	it := b.Iterator()
	it.AdvanceIfNeeded(uint32(from))
	var rows []uint32
	for it.HasNext() {
		r := it.Next()
		if int(r) >= to {
			break
		}
		rows = append(rows, r)
	}
	return rows
}
