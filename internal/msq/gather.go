package msq

import (
	"math"

	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/vector"
)

// gatherRows returns the rows at places of batches as one batch: a column after the other, so that
// each is one loop over plain slices.
func gatherRows(batches []*vector.Batch, places []rowRef) *vector.Batch {
	out := &vector.Batch{N: len(places), Cols: make([]*vector.Vector, len(batches[0].Cols))}
	vectors := make([]*vector.Vector, len(batches))
	for c := range out.Cols {
		for i, b := range batches {
			vectors[i] = b.Cols[c]
		}
		out.Cols[c] = pickVector(alike(vectors), places)
	}
	return out
}

// alike gives vectors of one column the same type: a multi-value column may come as lists and as
// plain strings.
func alike(vectors []*vector.Vector) []*vector.Vector {
	list := false
	for _, v := range vectors {
		list = list || v.Type.Kind == vector.KindList
	}
	if list {
		for i, v := range vectors {
			if v.Type.Kind == vector.KindString {
				vectors[i] = segment.AsMulti(v)
			}
		}
	}
	return vectors
}

func pickVector(vectors []*vector.Vector, places []rowRef) *vector.Vector {
	out := &vector.Vector{Type: vectors[0].Type, Len: len(places), Valid: pickValid(vectors, places)}
	switch out.Type.Kind {
	case vector.KindLong:
		out.Longs = pickValues(vectors, places, func(v *vector.Vector) []int64 { return v.Longs })
	case vector.KindDouble:
		out.Doubles = pickValues(vectors, places, func(v *vector.Vector) []float64 { return v.Doubles })
	case vector.KindFloat:
		out.Floats = pickValues(vectors, places, func(v *vector.Vector) []float32 { return v.Floats })
	case vector.KindList:
		pickLists(out, vectors, places)
	default:
		pickTexts(out, vectors, places)
	}
	return out
}

// lane is the values of one vector. A constant has one, that of every row: its mask makes each row
// the first.
type lane[T any] struct {
	values []T
	mask   uint32
}

func pickValues[T any](vectors []*vector.Vector, places []rowRef, values func(*vector.Vector) []T) []T {
	lanes := make([]lane[T], len(vectors))
	for i, v := range vectors {
		if lanes[i].values = values(v); !v.Const {
			lanes[i].mask = math.MaxUint32
		}
	}
	out := make([]T, len(places))
	for i, p := range places {
		l := &lanes[p.batch]
		out[i] = l.values[p.row&l.mask]
	}
	return out
}

func pickValid(vectors []*vector.Vector, places []rowRef) vector.Bitmap {
	nulls := false
	for _, v := range vectors {
		nulls = nulls || v.Valid != nil
	}
	if !nulls {
		return nil
	}
	out, all := vector.FullBitmap(len(places)), true
	for i, p := range places {
		if vectors[p.batch].IsNull(int(p.row)) {
			out.Clear(i)
			all = false
		}
	}
	if all {
		return nil
	}
	return out
}

func pickLists(out *vector.Vector, vectors []*vector.Vector, places []rowRef) {
	children := make([]*vector.Vector, len(vectors))
	for i, v := range vectors {
		children[i] = v.Child
	}
	out.Offsets = make([]uint32, len(places)+1)
	var elements []rowRef
	for i, p := range places {
		lo, hi := vectors[p.batch].ListAt(int(p.row))
		for ; lo < hi; lo++ {
			elements = append(elements, rowRef{p.batch, uint32(lo)})
		}
		out.Offsets[i+1] = uint32(len(elements))
	}
	out.Child = pickVector(alike(children), elements)
}

// pickTexts picks codes where all vectors have dictionaries, else texts.
func pickTexts(out *vector.Vector, vectors []*vector.Vector, places []rowRef) {
	coded, one := true, vectors[0].Dict
	for _, v := range vectors {
		coded = coded && v.Dict != nil && !v.Const
		if v.Dict != one {
			one = nil
		}
	}
	if coded && one != nil {
		out.Codes, out.Dict = pickValues(vectors, places, func(v *vector.Vector) []uint32 { return v.Codes }), one
		return
	}
	if coded && pickCodes(out, vectors, places) {
		return
	}
	pickPlain(out, vectors, places)
}

// pickPlain picks texts.
func pickPlain(out *vector.Vector, vectors []*vector.Vector, places []rowRef) {
	out.Strings = make([]string, len(places))
	for i, p := range places {
		if out.Valid.Get(i) {
			out.Strings[i] = vectors[p.batch].StringAt(int(p.row))
		}
	}
}

// pickCodes picks codes of a dictionary that unites those of vectors, unless that would save
// nothing.
func pickCodes(out *vector.Vector, vectors []*vector.Vector, places []rowRef) bool {
	var united keys.Interner
	numbers := make([][]uint32, len(vectors)) // by vector and code of its dictionary, plus one; 0: not asked for yet
	codes := make([]uint32, len(places))
	for i, p := range places {
		if !out.Valid.Get(i) {
			continue
		}
		v := vectors[p.batch]
		known := numbers[p.batch]
		if known == nil {
			known = make([]uint32, v.Dict.Len())
			numbers[p.batch] = known
		}
		code := v.Codes[p.row]
		if known[code] == 0 {
			if known[code] = united.Number(v.Dict.Value(code)) + 1; 2*united.Len() > len(places) {
				return false
			}
		}
		codes[i] = known[code] - 1
	}
	if united.Len() == 0 {
		return false // nulls only
	}
	out.Codes, out.Dict = codes, united.Dict()
	return true
}
