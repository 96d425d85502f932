package exec

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// summary groups whole blocks by what segments know of them, in place of their rows: sums, bounds, and how many values there are. It is for
// blocks whose rows all count and all fall into one group, as those do of a total, or of a bucket of time that is longer than a block.
type summary struct {
	a     *aggregation
	keys  []summaryKey
	calls []summaryCall // by aggregate
}

// summaryKey is a key column: a Long column of the scan, or the bucket of one.
type summaryKey struct {
	column   int
	bucket   chrono.Granularity
	bucketed bool
}

// summaryCall is an aggregate over a column of the scan, -1: none, and how it makes the intermediate values of blocks.
type summaryCall struct {
	column int
	fold   func(s *summary, c segment.Column, from, to int) (parts []*vector.Vector, known bool)
}

// summaryFolds are the aggregates that blocks know enough of.
var summaryFolds = map[string]func(s *summary, c segment.Column, from, to int) ([]*vector.Vector, bool){
	"COUNT": (*summary).counts,
	"SUM":   (*summary).sums,
	"AVG":   (*summary).means,
	"MIN": func(s *summary, c segment.Column, from, to int) ([]*vector.Vector, bool) {
		return s.bounds(c, from, to, false)
	},
	"MAX": func(s *summary, c segment.Column, from, to int) ([]*vector.Vector, bool) {
		return s.bounds(c, from, to, true)
	},
}

// newSummary returns how the blocks under a pipeline can be summed up for an aggregation, nil if they can't.
func newSummary(a *aggregation, p *Pipeline) *summary {
	if !p.projectsScan() || a.sets != nil || len(a.distinct) > 0 || len(a.node.Order) > 0 {
		return nil
	}
	s := &summary{a: a}
	for _, k := range a.node.Keys {
		key, ok := p.summaryKey(k)
		if !ok {
			return nil
		}
		s.keys = append(s.keys, key)
	}
	for _, call := range a.node.Aggs {
		fold := summaryFolds[call.Agg.Name]
		if fold == nil || call.Agg.Keep || call.Filter >= 0 || len(call.Args) > 1 || len(call.Args) == 0 && call.Agg.Name != "COUNT" {
			return nil
		}
		c := summaryCall{column: -1, fold: fold}
		if len(call.Args) == 1 {
			if c.column = p.origin(call.Args[0]); c.column < 0 {
				return nil
			}
			if call.Agg.Name != "COUNT" && !a.input[call.Args[0]].IsNumeric() || p.scan.Out[c.column].Type.Multi {
				return nil
			}
		}
		s.calls = append(s.calls, c)
	}
	return s
}

// projectsScan reports whether the pipeline gives all rows of a scan that count, with nothing but projections above.
func (p *Pipeline) projectsScan() bool {
	return p != nil && p.scan != nil && p.scan.Limit < 0 && !slices.ContainsFunc(p.steps, func(s step) bool {
		_, projects := s.node.(*plan.Project)
		return !projects
	})
}

// summaryKey finds out which column of the scan column c of the chain's rows is, or which one's bucket of time.
func (p *Pipeline) summaryKey(c int) (key summaryKey, ok bool) {
	for _, s := range slices.Backward(p.steps) {
		x := s.node.(*plan.Project).Exprs[c]
		if ts, g, is := expr.TimeBucket(x, p.env.Expr); is && !key.bucketed {
			key.bucket, key.bucketed, x = g, true, ts
		}
		column, is := x.(*expr.Column)
		if !is {
			return key, false
		}
		c = column.Index
	}
	key.column = c
	return key, p.scan.Out[c].Type.Runtime() == vector.Long
}

// take sums up the blocks at the begin of the rows of s from from up to, not including, to, as far as they can be, and returns to how many
// rows they come.
func (s *summary) take(ctx context.Context, p *partialGroups, in *scanner, from, to int) (rows int, err error) {
	first, end := from/segment.BlockRows, to/segment.BlockRows
	if to == in.leaf.leaf.Reader.Info().Rows {
		end = (to + segment.BlockRows - 1) / segment.BlockRows
	}
	if from%segment.BlockRows != 0 || first >= end || in.leaf.planned.rows != nil {
		return 0, nil
	}
	last := first
	for last < end && s.fits(in, last*segment.BlockRows, min((last+1)*segment.BlockRows, to)) {
		last++
	}
	if last == first {
		return 0, nil
	}
	to = min(last*segment.BlockRows, to)
	var parts []*vector.Vector
	for _, call := range s.calls {
		column := segment.Column(nil)
		if call.column >= 0 {
			if column = in.plain(call.column); column == nil {
				return 0, nil
			}
		}
		folded, known := call.fold(s, column, from, to)
		if !known {
			return 0, nil
		}
		parts = append(parts, folded...)
	}
	keys := make([]*vector.Vector, len(s.keys))
	for i, k := range s.keys {
		keys[i] = k.values(in.plain(k.column), first, last)
	}
	if err := p.main.merge(keys, parts, last-first); err != nil {
		return 0, err
	}
	return to - from, p.fit(ctx)
}

// fits reports whether all rows of a block count, and fall into one group.
func (s *summary) fits(in *scanner, from, to int) bool {
	for _, t := range in.leaf.planned.terms {
		if t.within(from, to) != always {
			return false
		}
	}
	for _, k := range s.keys {
		c := in.plain(k.column)
		if c == nil || longBlocks(c, from, to, k.one) != always {
			return false
		}
	}
	return true
}

// one says whether the values between two are one key.
func (k *summaryKey) one(least, greatest int64) verdict {
	if least == greatest || k.bucketed && k.bucket.Floor(least) == k.bucket.Floor(greatest) {
		return always
	}
	return sometimes
}

// values returns the keys of blocks that have one each.
func (k *summaryKey) values(c segment.Column, first, last int) *vector.Vector {
	out := make([]int64, 0, last-first)
	for b := first; b < last; b++ {
		x, _, _ := c.LongRange(b)
		out = append(out, x)
	}
	if k.bucketed {
		k.bucket.FloorAll(out, out)
	}
	return vector.FromLongs(out)
}

// plain returns a column of the scan as the segment has it, nil if it has none of the type that is wanted.
func (s *scanner) plain(column int) segment.Column {
	if c := &s.columns[column]; c.cast == nil {
		return c.column
	}
	return nil
}

// eachBlock calls f with the totals of the blocks of c that have the rows from up to to; false: they are not known.
func eachBlock(c segment.Column, from, to int, f func(block int, t segment.Totals)) bool {
	for b := from / segment.BlockRows; b*segment.BlockRows < to; b++ {
		t, known := c.Totals(b)
		if !known {
			return false
		}
		f(b, t)
	}
	return true
}

func (*summary) counts(c segment.Column, from, to int) (parts []*vector.Vector, known bool) {
	var out []int64
	if c != nil {
		known = eachBlock(c, from, to, func(_ int, t segment.Totals) { out = append(out, int64(t.Values)) })
		return []*vector.Vector{vector.FromLongs(out)}, known
	}
	for ; from < to; from += segment.BlockRows {
		out = append(out, int64(min(segment.BlockRows, to-from)))
	}
	return []*vector.Vector{vector.FromLongs(out)}, true
}

func (*summary) sums(c segment.Column, from, to int) (parts []*vector.Vector, known bool) {
	b := newBlockValues(from, to)
	known = eachBlock(c, from, to, func(_ int, t segment.Totals) { b.add(t.Long, t.Double, t.Values > 0) })
	if c.Info().Type.Kind == vector.KindLong {
		return []*vector.Vector{b.vector(vector.Long)}, known
	}
	return []*vector.Vector{b.vector(vector.Double)}, known
}

// exactSum bounds values of which a block can be added up without reaching 2^53, so that a mean is what adding doubles gives.
const exactSum = 1 << 53 / segment.BlockRows

func (s *summary) means(c segment.Column, from, to int) (parts []*vector.Vector, known bool) {
	b := newBlockValues(from, to)
	whole, exact := c.Info().Type.Kind == vector.KindLong, true
	known = eachBlock(c, from, to, func(block int, t segment.Totals) {
		sum := t.Double
		if whole {
			least, greatest, bounded := c.LongRange(block)
			exact = exact && bounded && (t.Values == 0 || least > -exactSum && greatest < exactSum)
			sum = float64(t.Long)
		}
		b.add(0, sum, t.Values > 0)
	})
	counts, counted := s.counts(c, from, to)
	return append(counts[:0:0], b.vector(vector.Double), counts[0]), known && exact && counted
}

// bounds are the least or greatest values of blocks.
func (*summary) bounds(c segment.Column, from, to int, greatest bool) (parts []*vector.Vector, known bool) {
	t := c.Info().Type
	b := newBlockValues(from, to)
	for block := from / segment.BlockRows; block*segment.BlockRows < to; block++ {
		var low, high int64
		var first, last float64
		if t.Kind == vector.KindLong {
			low, high, known = c.LongRange(block)
		} else {
			first, last, known = c.DoubleRange(block)
		}
		if !known {
			return nil, false
		}
		has := low <= high && first <= last
		if greatest {
			low, first = high, last
		}
		b.add(low, first, has)
	}
	return []*vector.Vector{b.vector(t)}, true
}

// blockValues collects a number, or a null, for each of a run of blocks.
type blockValues struct {
	longs   []int64
	doubles []float64
	valid   vector.Bitmap
	nulls   bool
}

// newBlockValues returns an empty collection for the blocks of the rows from up to, not including, to.
func newBlockValues(from, to int) *blockValues {
	n := (to - from + segment.BlockRows - 1) / segment.BlockRows
	return &blockValues{longs: make([]int64, 0, n), doubles: make([]float64, 0, n), valid: vector.NewBitmap(n)}
}

// add appends the value of a block in both forms, of which one means something.
func (b *blockValues) add(x int64, y float64, has bool) {
	if has {
		b.valid.Set(len(b.longs))
	} else {
		b.nulls = true
	}
	b.longs, b.doubles = append(b.longs, x), append(b.doubles, y)
}

// vector returns the values as numbers of a type.
func (b *blockValues) vector(t vector.Type) *vector.Vector {
	v := vector.New(t, len(b.longs))
	switch t.Kind {
	case vector.KindLong:
		v.Longs = b.longs
	case vector.KindDouble:
		v.Doubles = b.doubles
	case vector.KindFloat:
		for i, y := range b.doubles {
			v.Floats[i] = float32(y)
		}
	}
	if b.nulls {
		v.Valid = b.valid
	}
	return v
}
