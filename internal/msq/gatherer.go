package msq

import (
	"github.com/hengedb/henge/internal/exec/keys"
	"github.com/hengedb/henge/internal/vector"
)

// gatherer gathers rows of the batches of a run, frame after frame. The batches of a load have
// their own dictionaries, and rows in random order refer to all of them in each frame. The
// dictionaries of a column are therefore merged once per run, not once per frame.
type gatherer struct {
	run *run
	// shared: frames may refer to the merged dictionary, because they stay in memory. Frames that are
	// written get dictionaries of their own values.
	shared  bool
	columns []gatheredColumn
}

// gatheredColumn is how a column of a run is gathered.
type gatheredColumn struct {
	how    howGathered
	all    []*vector.Vector // by batch, unless how is asValues
	codes  [][]uint32       // by batch and code: the code in dict
	dict   *vector.Dict
	local  []uint32 // by code in dict: the code in the dictionary of the frame, plus one
	inside []uint32 // the codes of dict that the frame has
}

type howGathered uint8

const (
	notKnown howGathered = iota
	asValues             // as pickVector does
	asTexts              // dictionaries would save nothing
	asUnited             // as codes of one dictionary
)

func newGatherer(r *run, shared bool) *gatherer {
	return &gatherer{run: r, shared: shared, columns: make([]gatheredColumn, len(r.batches[0].Cols))}
}

// gather returns the rows at places as one batch.
func (g *gatherer) gather(places []rowRef) *vector.Batch {
	out := &vector.Batch{N: len(places), Cols: make([]*vector.Vector, len(g.columns))}
	var batches []*vector.Batch // that places refer to
	var used []rowRef           // among those
	var vectors []*vector.Vector
	for c := range out.Cols {
		col := &g.columns[c]
		if col.how == notKnown {
			g.unite(c)
			if col.how != asValues {
				for _, b := range g.run.batches {
					col.all = append(col.all, b.Cols[c])
				}
			}
		}
		if col.how == asValues {
			if batches == nil {
				batches, used = g.run.used(places)
			}
			vectors = vectors[:0]
			for _, b := range batches {
				vectors = append(vectors, b.Cols[c])
			}
			out.Cols[c] = pickVector(alike(vectors), used)
			continue
		}
		v := &vector.Vector{Type: vector.String, Len: len(places), Valid: pickValid(col.all, places)}
		if col.how == asTexts || !col.gather(v, places, g.shared) {
			pickPlain(v, col.all, places)
		}
		out.Cols[c] = v
	}
	return out
}

// unite finds out how a column is gathered, and unites its dictionaries if that pays: if there are
// half as many different texts as rows at most.
func (g *gatherer) unite(c int) {
	col := &g.columns[c]
	col.how = asValues
	one, entries := g.run.batches[0].Cols[c].Dict, 0
	same := true
	for i, b := range g.run.batches {
		v := b.Cols[c]
		if v.Type != vector.String || v.Const || v.Dict == nil {
			return
		}
		if same = same && v.Dict == one; i == 0 || v.Dict != g.run.batches[i-1].Cols[c].Dict {
			entries += v.Dict.Len()
		}
	}
	if same {
		return
	}
	var united keys.Interner
	col.how = asTexts
	seen := 0
	var last *vector.Dict
	for _, b := range g.run.batches {
		d := b.Cols[c].Dict
		if d == last {
			col.codes = append(col.codes, col.codes[len(col.codes)-1])
			continue
		}
		last = d
		codes := make([]uint32, d.Len())
		for code := range codes {
			codes[code] = united.Number(d.Value(uint32(code)))
		}
		col.codes = append(col.codes, codes)
		// What repeats so little that the rest would be too much is given up early.
		seen += len(codes)
		foreseen := united.Len()
		if seen >= unionSample {
			foreseen = int(int64(united.Len()) * int64(entries) / int64(seen))
		}
		if 2*max(united.Len(), foreseen) > g.run.rows {
			col.codes = nil
			return
		}
	}
	if united.Len() == 0 {
		col.how, col.codes = asValues, nil // nulls only
		return
	}
	col.how, col.dict = asUnited, united.Dict()
}

// unionSample is after how many entries it is foreseen how many there will be.
const unionSample = 4096

// gather sets the codes of the rows at places, unless a dictionary of the frame would save nothing.
func (col *gatheredColumn) gather(out *vector.Vector, places []rowRef, shared bool) bool {
	codes := make([]uint32, len(places))
	for i, p := range places {
		if out.Valid.Get(i) {
			codes[i] = col.codes[p.batch][col.all[p.batch].Codes[p.row]]
		}
	}
	if shared {
		out.Codes, out.Dict = codes, col.dict
		return true
	}
	if col.local == nil {
		col.local = make([]uint32, col.dict.Len())
	}
	for _, x := range col.inside {
		col.local[x] = 0
	}
	col.inside = col.inside[:0]
	d := &vector.Dict{Offsets: []uint32{0}}
	for i, x := range codes {
		if !out.Valid.Get(i) {
			continue
		}
		if col.local[x] == 0 {
			if 2*len(d.Offsets) > len(places) {
				return false
			}
			d.Blob = append(d.Blob, col.dict.Value(x)...)
			d.Offsets = append(d.Offsets, uint32(len(d.Blob)))
			col.local[x], col.inside = uint32(len(d.Offsets)-1), append(col.inside, x)
		}
		codes[i] = col.local[x] - 1
	}
	if len(col.inside) == 0 {
		return false // nulls only
	}
	out.Codes, out.Dict = codes, d
	return true
}
