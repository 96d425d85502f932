package exec

import (
	"context"
	"slices"
	"sync"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// entries meets the entries of dictionaries in place of rows: the different texts that a whole
// segment has are its dictionary. It is for aggregations without keys of which all calls have
// DISTINCT, over segments of which all rows count.
//
// Each morsel of a segment is good for its share of the entries, so that who takes them one by one
// meets all. Hence all morsels of a segment are dealt with, or none: that is decided with the first
// of them.
type entries struct {
	a       *aggregation
	columns []int // of the scan, by DISTINCT

	mu struct {
		sync.Mutex
		segments map[*leafScan]*segmentEntries
	}
}

// segmentEntries are the dictionaries of a segment.
type segmentEntries struct {
	mu      sync.Mutex
	decided bool
	dicts   []*vector.Dict // by DISTINCT; nil: rows are read. They are held until all rows were dealt with: not each is kept elsewhere.
	left    int            // rows
}

// newEntries returns how the segments under a pipeline can be read by their entries, nil if they
// can't.
func newEntries(a *aggregation, p *Pipeline) *entries {
	if !p.projectsScan() || a.sets != nil || len(a.keys) > 0 || len(a.plain) > 0 || len(a.distinct) == 0 || len(a.node.Order) > 0 {
		return nil
	}
	e := &entries{a: a}
	e.mu.segments = map[*leafScan]*segmentEntries{}
	for _, d := range a.distinct {
		if len(d.args) != 1 || d.filter >= 0 || d.each {
			return nil
		}
		c := p.origin(d.args[0])
		if c < 0 || p.reads.Out[c].Type.Runtime() != vector.String || p.reads.Out[c].Type.Multi {
			return nil
		}
		e.columns = append(e.columns, c)
	}
	return e
}

// take meets the entries that stand for the rows of in from from up to, not including, to, and
// returns how many rows that were: all or none.
func (e *entries) take(ctx context.Context, p *partialGroups, in *scanner, from, to int) (rows int, err error) {
	dicts := e.of(in, to-from)
	if dicts == nil {
		return 0, nil
	}
	all := in.leaf.leaf.Reader.Info().Rows
	codes := make([]uint32, 0, vector.BatchRows)
	for i, d := range dicts {
		set := p.distinct[i]
		if in.plain(e.columns[i]).Info().Nulls > 0 && from == 0 {
			if err := set.addDistinct([]*vector.Vector{vector.Nulls(vector.String, 1)}, 1); err != nil {
				return 0, err
			}
		}
		for at, end := shareOf(d.Len(), from, all), shareOf(d.Len(), to, all); at < end; at += len(codes) {
			if err := stop(ctx); err != nil {
				return 0, err
			}
			codes = codes[:min(vector.BatchRows, end-at)]
			for k := range codes {
				codes[k] = uint32(at + k)
			}
			if err := set.addDistinct([]*vector.Vector{vector.FromCodes(codes, d)}, len(codes)); err != nil {
				return 0, err
			}
			if err := p.fit(ctx); err != nil {
				return 0, err
			}
		}
	}
	return to - from, nil
}

// of returns the dictionaries of a segment of which so many rows are dealt with now; nil: its rows
// are to be read.
func (e *entries) of(in *scanner, rows int) []*vector.Dict {
	e.mu.Lock()
	s := e.mu.segments[in.leaf]
	if s == nil {
		s = &segmentEntries{left: in.leaf.rows}
		e.mu.segments[in.leaf] = s
	}
	e.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.decided {
		s.decided, s.dicts = true, e.decide(in)
	}
	dicts := s.dicts
	if s.left -= rows; s.left <= 0 {
		s.dicts = nil
	}
	return dicts
}

// decide returns the dictionaries of a segment, nil: not all rows count, or not all its columns
// have dictionaries that are all in use. Where one can't be read, be it that there is no room for
// it, rows are read: that says why.
func (e *entries) decide(in *scanner) []*vector.Dict {
	if !in.leaf.whole() {
		return nil
	}
	dicts := make([]*vector.Dict, len(e.columns))
	for i, c := range e.columns {
		if dicts[i] = allEntries(in.plain(c)); dicts[i] == nil {
			return nil
		}
	}
	return dicts
}

// shareOf returns how many of n entries stand for the first rows of so many.
func shareOf(n, rows, of int) int { return int(int64(n) * int64(rows) / int64(of)) }

// whole reports whether all rows of the segment count.
func (t *leafScan) whole() bool {
	return t.exact && t.rows == t.leaf.Reader.Info().Rows && len(t.planned.terms) == 0 && t.planned.rows == nil && !t.planned.empty
}

// allEntries returns the dictionary of a column of text when each of its entries is the value of
// some row; nil: it has none that is so.
func allEntries(c segment.Column) *vector.Dict {
	if c == nil || c.Info().Type != vector.String || c.Info().Multi || !c.Info().DistinctExact || c.Info().Distinct == 0 {
		return nil
	}
	d, err := c.Dict()
	if err != nil || d == nil || d.Len() != c.Info().Distinct {
		return nil
	}
	return d
}

// countDistinct gives the calls of d the number of different rows in sets, if they want no more
// than that and it is known without numbering them. It empties the sets then.
func (a *aggregation) countDistinct(main *grouper, sets []*grouper, d distinctRows) (done bool, err error) {
	if len(a.keys) > 0 || slices.ContainsFunc(d.calls, func(c int) bool { return !agg.Lookup(a.specs[c].Name).Counts }) {
		return false, nil
	}
	n, known := metCount(sets)
	if !known {
		return false, nil
	}
	for _, c := range d.calls {
		if err := main.states[c].Merge([]*vector.Vector{vector.FromLongs([]int64{n})}, nil, 1); err != nil {
			return false, err
		}
	}
	for _, g := range sets {
		g.close()
	}
	return true, nil
}

// metCount returns how many different values the workers' sets of one column of text have, if that
// is all known from bits for words.
func metCount(sets []*grouper) (n int64, known bool) {
	first := sets[0].table
	for _, g := range sets {
		if g.table.Len() > 0 || g.partitioner != nil || g.files.used() || len(g.table.Cols) != 1 || !first.SameWords(g.table) || first.Cols[0].GlobalDict == nil {
			return 0, false
		}
	}
	first.SettleDistinct()
	for _, g := range sets[1:] {
		first.TakeDistinct(g.table)
	}
	n = int64(first.Distinct.Count(64 * len(first.Distinct)))
	if len(first.Distinct) > 0 {
		n -= int64(first.Distinct[0] & 1) // the word of null
	}
	return n, true
}
