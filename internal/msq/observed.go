package msq

import "maps"

// observed is what a worker has observed of rows on their way to segments, beside the rows: how
// segments are laid out, and rows divided, follows from it.
type observed struct {
	// Several says which multi-value columns had a row with several values.
	Several []bool `json:",omitempty"`
	// Hashes counts rows by time chunk and hash, Kinds are the kinds of values by time chunk.
	Hashes map[int64]map[int64]int64 `json:",omitempty"`
	Kinds  map[int64][]valueKinds    `json:",omitempty"`
}

// partHash is a hasher, partAuto an autoValues, on their way to another process.
type partHash struct {
	Buckets int
	Columns []int
	Names   []string `json:",omitempty"`
	Sets    []bool
}

type partAuto struct {
	Columns []int
	Lists   []bool
}

// observed returns what was observed so far.
func (t *writeTarget) observed() *observed {
	l := &observed{Several: t.several}
	if t.hash != nil {
		l.Hashes = t.hash.counts
	}
	if t.auto != nil {
		l.Kinds = t.auto.chunks
	}
	return l
}

// adopt takes what another process, or an earlier run, has observed.
func (t *writeTarget) adopt(l *observed) error {
	if l == nil || len(l.Several) != len(t.several) {
		return errUnfitPart
	}
	copy(t.several, l.Several)
	if t.hash != nil {
		t.hash.counts = map[int64]map[int64]int64{}
		maps.Copy(t.hash.counts, l.Hashes)
	}
	if t.auto == nil {
		return nil
	}
	t.auto.chunks = map[int64][]valueKinds{}
	for bucket, kinds := range l.Kinds {
		if len(kinds) != len(t.auto.columns) {
			return errUnfitPart
		}
		t.auto.chunks[bucket] = kinds
	}
	return nil
}

// send describes what is done to rows on their way to segments.
func (t *writeTarget) send(p *partWrite) {
	if h := t.hash; h != nil {
		p.Hash = &partHash{h.spec.Buckets, h.columns, h.names, h.sets}
	}
	if a := t.auto; a != nil {
		p.Auto = &partAuto{a.columns, a.lists}
	}
}

// hasher returns the hasher of a part; nil: rows are not hashed. time is the column of __time.
func (p *partHash) hasher(time int) *hasher {
	if p == nil {
		return nil
	}
	return &hasher{spec: &Hash{Buckets: p.Buckets}, columns: p.Columns, names: p.Names, sets: p.Sets, time: time, counts: map[int64]map[int64]int64{}}
}

// values returns the autoValues of a part; nil: there are no such columns.
func (p *partAuto) values() *autoValues {
	if p == nil {
		return nil
	}
	return &autoValues{columns: p.Columns, lists: p.Lists, chunks: map[int64][]valueKinds{}}
}

// fits reports whether what is asked of rows can be done with so many columns.
func (p *partWrite) fits(columns int, hashed bool) bool {
	within := func(list []int) bool {
		for _, i := range list {
			if i < 0 || i >= columns {
				return false
			}
		}
		return true
	}
	if h := p.Hash; hashed != (h != nil) || h != nil && (h.Buckets < 0 || !within(h.Columns) || len(h.Sets) != len(h.Columns) ||
		h.Names != nil && len(h.Names) != len(h.Columns)) {
		return false
	}
	return p.Hidden >= 0 && p.Hidden <= columns && (p.Auto == nil || within(p.Auto.Columns) && len(p.Auto.Lists) == len(p.Auto.Columns))
}
