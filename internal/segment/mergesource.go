package segment

import (
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// mergedCodes stands for the dictionary of strings that are merged codes: it says that codes
// compare as strings do. The entries themselves may be in the file already, and not in memory.
var mergedCodes = &vector.Dict{Sorted: true}

// source is one column of one input of a merge.
type source struct {
	col   Column // nil: the input does not have it, all its rows are null
	typ   vector.Type
	rows  int
	multi bool // it is stored as plain strings, and wanted as lists
	dict  *vector.Dict
	remap []uint32 // merged code of each of its codes; nil: the same
}

// sourcesOf returns the column called spec.Name of each input.
func sourcesOf(inputs []Reader, spec ColumnSpec) ([]*source, error) {
	out := make([]*source, len(inputs))
	for i, in := range inputs {
		col, err := in.Column(spec.Name)
		if err != nil {
			return nil, err
		}
		s := &source{typ: spec.Type, rows: in.Info().Rows}
		if col != nil {
			switch t := col.Info().Type; {
			case t == spec.Type:
			case spec.Multi && t == vector.String:
				s.multi = true
			default:
				return nil, fault.Runtime("Segments with column [%s] of type [%s] can't be merged into one of type [%s]", spec.Name, t, spec.Type)
			}
			s.col = col
			if s.dict, err = col.Dict(); err != nil {
				return nil, err
			}
			if leafType(spec.Type).Kind != vector.KindString {
				s.dict = nil // opaque values are merged as they are
			}
		}
		out[i] = s
	}
	return out, nil
}

func leafType(t vector.Type) vector.Type {
	for t.Kind == vector.KindList {
		t = t.Elem()
	}
	return t
}

// mergeSourceDicts merges the dictionaries of sources, which then read merged codes.
func mergeSourceDicts(sources []*source, emit func(string) error) (int, error) {
	inputs := make([]dictInput, len(sources))
	for i, s := range sources {
		s.remap = nil
		inputs[i].dict = s.dict
		if s.dict == nil {
			continue
		}
		if info := s.col.Info(); !info.DistinctExact || info.Distinct != s.dict.Len() {
			used, err := s.usedCodes()
			if err != nil {
				return 0, err
			}
			inputs[i].used = used
		}
	}
	n, remaps, err := mergeDicts(inputs, emit)
	if err != nil {
		return 0, err
	}
	for i, s := range sources {
		s.remap = remaps[i]
	}
	return n, nil
}

// usedCodes finds the entries of the dictionary that rows refer to; nil: all.
func (s *source) usedCodes() ([]bool, error) {
	used, left := make([]bool, s.dict.Len()), s.dict.Len()
	var mark func(v *vector.Vector, lo, hi int)
	mark = func(v *vector.Vector, lo, hi int) {
		if v.Const && lo < hi {
			lo, hi = 0, 1
		}
		for i := lo; i < hi; i++ {
			switch {
			case v.IsNull(i):
			case v.Type.Kind == vector.KindList:
				a, b := v.ListAt(i)
				mark(v.Child, a, b)
			case !used[v.Codes[i]]:
				used[v.Codes[i]] = true
				left--
			}
		}
	}
	var buf Buffer
	for at := 0; at < s.rows && left > 0; at += BlockRows {
		v, err := s.col.Read(&buf, at, min(at+BlockRows, s.rows))
		if err != nil {
			return nil, err
		}
		v, err = s.coded(v, nil)
		if err != nil {
			return nil, err
		}
		mark(v, 0, v.Len)
	}
	if left == 0 {
		return nil, nil
	}
	return used, nil
}

// read returns rows from up to to with strings as merged codes. The vector is not constant, and not
// of a dictionary. It is valid until buf is used again.
func (s *source) read(buf *Buffer, from, to int) (*vector.Vector, error) {
	if s.col == nil {
		if leafType(s.typ).Kind == vector.KindString {
			return nullCodes(s.typ, to-from), nil
		}
		return vector.Nulls(s.typ, to-from).Flat(), nil
	}
	v, err := s.col.Read(buf, from, to)
	if err != nil {
		return nil, err
	}
	if v, err = s.coded(v, s.remap); err != nil {
		return nil, err
	}
	if v.Const {
		rows := make([]uint32, v.Len)
		one := *v
		one.Const, one.Len = false, 1
		v = one.Gather(rows)
	}
	if s.multi {
		v = AsMulti(v)
	}
	return v, nil
}

// nullCodes returns n nulls of t, whose strings are codes.
func nullCodes(t vector.Type, n int) *vector.Vector {
	v := &vector.Vector{Type: t, Len: n, Valid: vector.NewBitmap(n)}
	if t.Kind == vector.KindList {
		v.Offsets, v.Child = make([]uint32, n+1), nullCodes(t.Elem(), 0)
	} else {
		v.Codes, v.Dict = make([]uint32, n), mergedCodes
	}
	return v
}

// coded returns v with its strings as codes of remap instead of its dictionary.
func (s *source) coded(v *vector.Vector, remap []uint32) (*vector.Vector, error) {
	switch {
	case v.Type.Kind == vector.KindList:
		child, err := s.coded(v.Child, remap)
		out := *v
		out.Child = child
		return &out, err
	case v.Type.Kind != vector.KindString:
		return v, nil
	}
	out := *v
	out.Dict, out.Strings = mergedCodes, nil
	if v.Dict == nil { // a constant: it is an entry of the dictionary, or null, or there are no rows
		out.Codes = make([]uint32, min(v.Len, 1))
		if v.Len > 0 && !v.IsNull(0) {
			code, found := s.codeOf(v.StringAt(0))
			if !v.Const || !found {
				return nil, fault.Defensive("Column [%s] reads strings that are not in its dictionary", s.col.Info().Name)
			}
			out.Codes[0] = code
			if remap != nil {
				out.Codes[0] = remap[code]
			}
		}
		return &out, nil
	}
	if remap != nil {
		out.Codes = make([]uint32, len(v.Codes))
		for i, c := range v.Codes {
			out.Codes[i] = remap[c]
		}
	}
	return &out, nil
}

func (s *source) codeOf(text string) (uint32, bool) {
	if s.dict == nil {
		return 0, false
	}
	if s.dict.Sorted {
		return s.dict.Lookup(text)
	}
	for i := range s.dict.Len() {
		if s.dict.Value(uint32(i)) == text {
			return uint32(i), true
		}
	}
	return 0, false
}
