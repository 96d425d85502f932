package exec

import (
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

const (
	// indexShare is the share of a segment's rows above which reading through an index loses to
	// scanning (the crossover lies at a few percent; measured in the experiment behind this engine).
	indexShare = 0.05
	// rowsPerBitmap is how many rows a scan holds against a set of codes in the time that one more
	// bitmap takes to open and to put to the others, and fewBitmaps is how many of them are looked at
	// in any case.
	rowsPerBitmap = 1 << 10
	fewBitmaps    = 8
)

// index narrows the rows to those that have one of the codes, if they are few. It reports whether
// it did: then nothing is left to ask.
func (p *planner) index(c segment.Column, set *codeSet) (bool, error) {
	rows := p.leaf.leaf.Reader.Info().Rows
	if int(set.n) > fewBitmaps+rows/rowsPerBitmap {
		return false, nil
	}
	limit := uint64(math.Max(1, indexShare*float64(rows)))
	out := roaring.New()
	for code := range set.each() {
		has, err := c.Bitmap(code)
		if err != nil || has == nil {
			return false, err
		}
		if out.Or(has); out.GetCardinality() > limit {
			return false, nil
		}
	}
	if p.rows == nil {
		p.rows = out
	} else {
		p.rows = roaring.And(p.rows, out)
	}
	p.empty = p.rows.IsEmpty()
	return true, nil
}

// indexAny narrows the rows for a predicate that asks whether some value of a multi-value column is
// one of a few constants. The predicate is asked of the rows all the same: what it says of rows
// without values an index does not know.
func (p *planner) indexAny(e expr.Expr) error {
	source, values := textEquality(e)
	if source == nil || !source.T.Multi {
		return nil
	}
	c, err := p.leaf.leaf.Reader.Column(p.leaf.scan.Out[source.Index].Name)
	if err != nil || c == nil || !c.Info().Indexed {
		return err
	}
	if t := c.Info().Type; t != vector.String && t != vector.ListOf(vector.String) {
		return nil
	}
	dict, err := c.Dict()
	if err != nil || dict == nil {
		return err
	}
	codes, err := codesOfTexts(values, c, dict.Len())
	if err == nil {
		_, err = p.index(c, codes)
	}
	return err
}
