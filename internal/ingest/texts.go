package ingest

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

// texts collects strings, as codes of a dictionary while that saves something and else one after
// the other.
//
// A dictionary that stays small serves batch after batch, so that whoever keeps what it learnt of a
// dictionary keeps it for long. One that grows is begun anew with each batch. Values that are
// mostly different are collected plain, and now and then tried again.
type texts struct {
	plain  bool
	opaque bool // always plain
	tried  int  // batches since the dictionary was given up

	// Of the dictionary. Entries are only ever appended, so that dictionaries given away may share the
	// memory.
	seed    maphash.Seed
	blob    []byte
	offsets []uint32 // one more than entries; empty: the next entry is the first
	slots   []uint64 // open addressing: the high half of the hash, and below it the code plus one; 0: free
	made    *vector.Dict
	codes   []uint32

	// Of plain values: their bytes, and where each ends.
	values []byte
	ends   []uint32
}

const (
	// keptEntries and keptBytes bound a dictionary that is kept for the next batch: frames and results
	// that carry it stay small.
	keptEntries = 1024
	keptBytes   = 64 << 10
	// retryAfter is how many plain batches pass before a dictionary is tried again.
	retryAfter = 32
)

func (t *texts) null() {
	if t.plain {
		t.ends = append(t.ends, uint32(len(t.values)))
	} else {
		t.codes = append(t.codes, 0)
	}
}

func (t *texts) add(b []byte) {
	if t.plain {
		t.values = append(t.values, b...)
		t.ends = append(t.ends, uint32(len(t.values)))
		return
	}
	t.codes = append(t.codes, t.code(b))
}

// code returns the entry of b, which is made if it is new.
func (t *texts) code(b []byte) uint32 {
	if len(t.offsets) == 0 {
		t.offsets = append(t.offsets, 0)
	}
	if 2*len(t.offsets) >= len(t.slots) {
		t.grow()
	}
	h := maphash.Bytes(t.seed, b)
	mask := uint64(len(t.slots) - 1)
	tag := h &^ (1<<32 - 1)
	i := h & mask
	for ; t.slots[i] != 0; i = (i + 1) & mask {
		s := t.slots[i]
		if s&^(1<<32-1) != tag {
			continue
		}
		if code := uint32(s) - 1; bytes.Equal(t.blob[t.offsets[code]:t.offsets[code+1]], b) {
			return code
		}
	}
	code := uint32(len(t.offsets) - 1)
	t.blob = append(t.blob, b...)
	t.offsets = append(t.offsets, uint32(len(t.blob)))
	t.slots[i] = tag | uint64(code+1)
	t.made = nil
	return code
}

// grow doubles the table, or makes the first.
func (t *texts) grow() {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
	}
	old := t.slots
	t.slots = make([]uint64, max(64, 4*len(t.offsets)))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		code := uint32(s) - 1
		i := maphash.Bytes(t.seed, t.blob[t.offsets[code]:t.offsets[code+1]]) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}

// entries is the size of the dictionary.
func (t *texts) entries() int { return max(len(t.offsets)-1, 0) }

// build puts the collected values into v and decides how the next ones are collected.
func (t *texts) build(v *vector.Vector, rows int) {
	switch {
	case t.plain:
		v.Strings = cut(string(t.values), t.ends)
		t.values, t.ends = t.values[:0], t.ends[:0]
		if t.tried++; t.tried >= retryAfter && !t.opaque {
			t.plain, t.tried = false, 0
		}
		return
	case t.entries() == 0: // nulls only, which need no dictionary
		v.Strings = make([]string, rows)
		t.codes = t.codes[:0]
		return
	case t.entries() > keptEntries && t.entries() > rows/2:
		// No dictionary is better than one of many entries: nothing is shared, and each would be looked
		// at twice.
		v.Strings = make([]string, rows)
		d := t.dict()
		for i, c := range t.codes {
			if v.Valid.Get(i) {
				v.Strings[i] = d.Value(c)
			}
		}
		t.codes = t.codes[:0]
		t.plain = true
	default:
		v.Codes, v.Dict = t.codes, t.dict()
		t.codes = nil
	}
	if t.entries() > keptEntries || len(t.blob) > keptBytes {
		t.blob, t.offsets, t.made = nil, nil, nil
		clear(t.slots)
		if t.plain {
			t.slots = nil
		}
	}
}

// dict returns the dictionary as it is now.
func (t *texts) dict() *vector.Dict {
	if t.made == nil {
		t.made = &vector.Dict{Offsets: slices.Clip(t.offsets), Blob: slices.Clip(t.blob)}
	}
	return t.made
}

func (t *texts) reserve(rows int) {
	if !t.plain {
		t.codes = slices.Grow(t.codes, rows)
	}
}

// cut returns the pieces of text that end at ends. They share its memory.
func cut(text string, ends []uint32) []string {
	out := make([]string, len(ends))
	start := uint32(0)
	for i, end := range ends {
		out[i] = text[start:end]
		start = end
	}
	return out
}
