package expr

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// Functions have room for so much text in the rows that are computed at once (textroom.go). Rows
// with long texts are computed fewer at once: where a batch has no room, its halves have.

// IsForFewerRows reports whether an error of Eval or Filter means that the results for the batch
// are too large, so that the caller can retry with fewer rows.
func IsForFewerRows(err error) bool {
	f := fault.Find(err)
	return f != nil && f.Legacy == fault.LegacyResourceLimit
}

// filterHalves is Filter for a batch that makes too much at once.
func (p *Program) filterHalves(b *vector.Batch) ([]uint32, error) {
	sel := []uint32{} // not nil, which would be all rows
	first, rest := b.Cut(b.Rows() / 2)
	for _, half := range []*vector.Batch{first, rest} {
		of, err := p.Filter(half)
		if err != nil {
			return nil, err
		}
		sel = append(sel, of...)
	}
	return sel, nil
}

// evalHalves is Eval for a batch that makes too much at once, of an expression whose values are
// small.
func (p *Program) evalHalves(b *vector.Batch) (*vector.Vector, error) {
	build := vector.NewBatchBuilder([]vector.Type{p.Type().Runtime()}, b.Rows())
	first, rest := b.Cut(b.Rows() / 2)
	for _, half := range []*vector.Batch{first, rest} {
		v, err := p.Eval(half)
		if err != nil {
			return nil, err
		}
		build.Append(&vector.Batch{N: v.Len, Cols: []*vector.Vector{v}})
	}
	return build.Build().Cols[0], nil
}
