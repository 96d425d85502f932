package exec

import (
	"context"
	"slices"

	"github.com/hengedb/henge/internal/agg"
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/expr/timefn"
	"github.com/hengedb/henge/internal/invariant"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// summary groups whole blocks by what segments know of them, in place of their rows: sums, bounds,
// and how many values there are. It is for blocks whose rows all count and all fall into one group,
// as those do of a total, or of a bucket of time that is longer than a block.
type summary struct {
	a       *aggregation
	keys    []summaryKey
	calls   []summaryCall // by aggregate
	workers []summaryParts
}

// summaryParts are what a worker finds out of a run of blocks, in memory that it uses again for the
// next.
type summaryParts struct {
	values  [][]blockValues // by aggregate, one for each of its intermediate values
	vectors []*vector.Vector
}

// summaryKey is a key column: a Long column of the scan, or the bucket of one.
type summaryKey struct {
	column   int
	bucket   chrono.Granularity
	bucketed bool
}

// summaryCall is an aggregate over a column of the scan, -1: none, and how it makes the
// intermediate values of blocks.
type summaryCall struct {
	column int
	types  []vector.Type // of the intermediate values
	fold   summaryFold
}

// summaryFold adds the intermediate values of the blocks of c that have the rows from up to to;
// false: they are not known.
type summaryFold func(c segment.Column, from, to int, parts []blockValues) (known bool)

// summaryFolds are the folds of statistics.
var summaryFolds = map[agg.Statistic]summaryFold{
	agg.ValueCount: blockCounts,
	agg.Sum:        blockSums,
	agg.Mean:       blockMeans,
	agg.Least: func(c segment.Column, from, to int, parts []blockValues) bool {
		return blockBounds(c, from, to, parts, false)
	},
	agg.Greatest: func(c segment.Column, from, to int, parts []blockValues) bool {
		return blockBounds(c, from, to, parts, true)
	},
}

// newSummary returns how so many workers can sum up the blocks under a pipeline for an aggregation,
// nil if they can't.
func newSummary(a *aggregation, p *Pipeline, workers int) *summary {
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
	for i, call := range a.node.Aggs {
		function := agg.Lookup(call.Agg.Name)
		fold, counts := summaryFolds[function.OfBlock], function.Counts
		if fold == nil {
			return nil
		}
		if call.Agg.Keep || call.Filter >= 0 || len(call.Args) > 1 || len(call.Args) == 0 && !counts {
			return nil
		}
		c := summaryCall{column: -1, fold: fold}
		var err error
		if c.types, err = a.specs[i].IntermediateTypes(); err != nil {
			return nil
		}
		if len(call.Args) == 1 {
			if c.column = p.origin(call.Args[0]); c.column < 0 {
				return nil
			}
			if !counts && !a.input[call.Args[0]].IsNumeric() || p.reads.Out[c.column].Type.Multi {
				return nil
			}
		}
		s.calls = append(s.calls, c)
	}
	s.workers = make([]summaryParts, workers)
	for w := range s.workers {
		for _, c := range s.calls {
			s.workers[w].values = append(s.workers[w].values, make([]blockValues, len(c.types)))
		}
	}
	return s
}

// projectsScan reports whether the pipeline gives all rows of a scan that count, with nothing but
// projections above.
func (p *Pipeline) projectsScan() bool {
	return p != nil && p.scan != nil && p.scan.Limit < 0 && !slices.ContainsFunc(p.steps, func(s step) bool {
		_, projects := s.node.(*plan.Project)
		return !projects
	})
}

// summaryKey finds out which column of the scan column c of the chain's rows is, or which one's
// bucket of time.
func (p *Pipeline) summaryKey(c int) (key summaryKey, ok bool) {
	for _, s := range slices.Backward(p.steps) {
		x := s.runs().(*plan.Project).Exprs[c]
		if ts, g, is := timefn.TimeBucket(x, p.env.Expr); is && !key.bucketed {
			key.bucket, key.bucketed, x = g, true, ts
		}
		column, is := x.(*expr.Column)
		if !is {
			return key, false
		}
		c = column.Index
	}
	key.column = c
	return key, p.reads.Out[c].Type.Runtime() == vector.Long
}

// take sums up the blocks at the begin of the rows of s from from up to, not including, to, as far
// as they can be, and returns to how many rows they come.
func (s *summary) take(ctx context.Context, p *partialGroups, worker int, in *scanner, from, to int) (rows int, err error) {
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
	w := &s.workers[worker]
	w.vectors = w.vectors[:0]
	for i, call := range s.calls {
		column := segment.Column(nil)
		if call.column >= 0 {
			if column = in.plain(call.column); column == nil {
				return 0, nil
			}
		}
		values := w.values[i]
		for k, t := range call.types {
			values[k].reset(t)
		}
		if !call.fold(column, from, to, values) {
			return 0, nil
		}
		for k := range values {
			w.vectors = append(w.vectors, values[k].vector())
		}
	}
	keys := make([]*vector.Vector, len(s.keys))
	for i, k := range s.keys {
		keys[i] = k.values(in.plain(k.column), first, last)
	}
	if err := p.main.merge(keys, w.vectors, last-first); err != nil {
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

// plain returns a column of the scan as the segment has it, nil if it has none of the type that is
// wanted.
func (s *scanner) plain(column int) segment.Column {
	if c := &s.columns[column]; c.cast == nil { // of one that is found in texts there is none
		return c.column
	}
	return nil
}

// eachBlock calls f with the totals of the blocks of c that have the rows from up to to; false:
// they are not known.
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

func blockCounts(c segment.Column, from, to int, parts []blockValues) (known bool) {
	if c != nil {
		return eachBlock(c, from, to, func(_ int, t segment.Totals) { parts[0].add(int64(t.Values), 0, true) })
	}
	for ; from < to; from += segment.BlockRows {
		parts[0].add(int64(min(segment.BlockRows, to-from)), 0, true)
	}
	return true
}

func blockSums(c segment.Column, from, to int, parts []blockValues) (known bool) {
	return eachBlock(c, from, to, func(_ int, t segment.Totals) { parts[0].add(t.Long, t.Double, t.Values > 0) })
}

// exactSum bounds values of which a block can be added up without reaching 2^53, so that a mean is
// what adding doubles gives.
const exactSum = 1 << 53 / segment.BlockRows

func blockMeans(c segment.Column, from, to int, parts []blockValues) (known bool) {
	whole, exact := c.Info().Type.Kind == vector.KindLong, true
	known = eachBlock(c, from, to, func(block int, t segment.Totals) {
		sum := t.Double
		if whole {
			least, greatest, bounded := c.LongRange(block)
			exact = exact && bounded && (t.Values == 0 || least > -exactSum && greatest < exactSum)
			sum = float64(t.Long)
		}
		parts[0].add(0, sum, t.Values > 0)
	})
	return known && exact && blockCounts(c, from, to, parts[1:])
}

// blockBounds are the least or greatest values of blocks.
func blockBounds(c segment.Column, from, to int, parts []blockValues, greatest bool) (known bool) {
	whole := c.Info().Type.Kind == vector.KindLong
	for block := from / segment.BlockRows; block*segment.BlockRows < to; block++ {
		var low, high int64
		var first, last float64
		if whole {
			low, high, known = c.LongRange(block)
		} else {
			first, last, known = c.DoubleRange(block)
		}
		if !known {
			return false
		}
		has := low <= high && first <= last
		if greatest {
			low, first = high, last
		}
		parts[0].add(low, first, has)
	}
	return true
}

// blockValues collects a number, or a null, for each of a run of blocks.
type blockValues struct {
	typ     vector.Type
	longs   []int64
	doubles []float64
	floats  []float32
	valid   vector.Bitmap // the values before a first null need no bits
	nulls   bool
	out     vector.Vector
}

// reset drops the values; those that follow are of a type.
func (b *blockValues) reset(t vector.Type) {
	invariant.Poison(b.longs)
	invariant.Poison(b.doubles)
	invariant.Poison(b.floats)
	invariant.Poison(b.valid)
	b.typ, b.longs, b.doubles, b.floats, b.valid, b.nulls = t, b.longs[:0], b.doubles[:0], b.floats[:0], b.valid[:0], false
}

// len returns how many blocks there are.
func (b *blockValues) len() int { return len(b.longs) + len(b.doubles) + len(b.floats) }

// add appends the value of a block in both forms, of which one means something.
func (b *blockValues) add(x int64, y float64, has bool) {
	n := b.len()
	if !has && !b.nulls {
		b.nulls = true
		b.valid = append(b.valid, vector.FullBitmap(n)...)
	}
	if b.nulls {
		if n>>6 >= len(b.valid) {
			b.valid = append(b.valid, 0)
		}
		if has {
			b.valid.Set(n)
		}
	}
	switch b.typ.Kind {
	case vector.KindLong:
		b.longs = append(b.longs, x)
	case vector.KindDouble:
		b.doubles = append(b.doubles, y)
	case vector.KindFloat:
		b.floats = append(b.floats, float32(y))
	}
}

// vector returns the values. It is good until the next reset.
func (b *blockValues) vector() *vector.Vector {
	b.out = vector.Vector{Type: b.typ, Len: b.len()}
	switch b.typ.Kind {
	case vector.KindLong:
		b.out.Longs = b.longs
	case vector.KindDouble:
		b.out.Doubles = b.doubles
	case vector.KindFloat:
		b.out.Floats = b.floats
	}
	if b.nulls {
		b.out.Valid = b.valid
	}
	return &b.out
}
