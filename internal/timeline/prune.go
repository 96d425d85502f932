package timeline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tuple is a bound of a Range: one value per dimension, nil for a row without a value, which sorts
// before every string.
type Tuple []*string

// Domain describes the rows that pass a filter: for each restricted dimension, the values that a
// row must have. Dimensions that are not in the map may have any value. Strings are compared byte
// by byte.
type Domain map[string]Values

// Values is a set of values of a dimension.
type Values struct {
	// Null is whether rows without a value pass.
	Null bool
	// Ranges are the strings that pass.
	Ranges []ValueRange
}

// ValueRange is a range of strings from Low to High; nil is unbounded.
type ValueRange struct {
	Low, High         *string
	LowOpen, HighOpen bool
}

// Point is the set of one string.
func Point(s string) Values { return Values{Ranges: []ValueRange{{Low: &s, High: &s}}} }

// has reports whether a value, nil for null, is in the set.
func (v Values) has(value *string) bool {
	if value == nil {
		return v.Null
	}
	for _, r := range v.Ranges {
		if r.has(*value) {
			return true
		}
	}
	return false
}

func (r ValueRange) has(s string) bool {
	if r.Low != nil && (s < *r.Low || r.LowOpen && s == *r.Low) {
		return false
	}
	return r.High == nil || s < *r.High || !r.HighOpen && s == *r.High
}

// edge is a position in the order of values: before everything, at a value (null or a text), after
// everything.
type edge struct {
	kind  int8 // -1 before all, 0 at value, 1 after all
	value *string
}

// between reports whether the set may have a value strictly between two edges. It may answer true
// for a gap that no text fits in, such as the one between "a" and "a\x00".
func (v Values) between(low, high edge) bool {
	if v.Null && low.kind < 0 && (high.kind > 0 || high.value != nil) {
		return true
	}
	for _, r := range v.Ranges {
		if r.reaches(low, high) {
			return true
		}
	}
	return false
}

func (r ValueRange) reaches(low, high edge) bool {
	if high.kind == 0 {
		// Below null there is nothing; otherwise the range must start below the edge.
		if high.value == nil || r.Low != nil && *r.Low >= *high.value {
			return false
		}
	}
	if low.kind == 0 && low.value != nil && r.High != nil && *r.High <= *low.value {
		return false
	}
	return r.Low == nil || r.High == nil || *r.Low < *r.High || *r.Low == *r.High && !r.LowOpen && !r.HighOpen
}

// Possible is true: numbers say nothing about rows.
func (Numbered) Possible(Domain) bool { return true }

// Possible is true: a single segment has all rows.
func (None) Possible(Domain) bool { return true }

// Possible is true: numbers say nothing about rows.
func (Linear) Possible(Domain) bool { return true }

// Possible is true: numbers say nothing about rows.
func (NumberedOverwrite) Possible(Domain) bool { return true }

// maxHashedTuples bounds the tuples of values whose hashes are looked at; a domain of more of them
// may be in any bucket.
const maxHashedTuples = 64

// Possible reports whether a tuple of the domain has the segment's hash. This is decidable if the
// domain lists few strings for each dimension and the hash function of the writer is known. Rows
// without a value and empty strings, which older releases of Druid do not distinguish, may be in
// any segment; so may strings with control characters, which JSON writers escape in several ways.
// See quirk Q012.
func (s Hashed) Possible(d Domain) bool {
	if s.Function != GroupHashFunction || len(s.Dimensions) == 0 || s.Buckets <= 1 {
		return true
	}
	tuples := 1
	for _, dimension := range s.Dimensions {
		values, restricted := d[dimension]
		if !restricted || values.Null {
			return true
		}
		for _, r := range values.Ranges {
			if r.Low == nil || r.High == nil || *r.Low != *r.High || *r.Low == "" || !utf8.ValidString(*r.Low) || strings.ContainsFunc(*r.Low, unicode.IsControl) {
				return true
			}
		}
		if tuples *= len(values.Ranges); tuples > maxHashedTuples {
			return true
		}
	}
	return s.possible(d, 0, []byte{'['})
}

// possible looks at the tuples whose first i values are in key.
func (s Hashed) possible(d Domain, i int, key []byte) bool {
	if i == len(s.Dimensions) {
		return int(GroupHash(append(key, ']'))%uint32(s.Buckets)) == s.Bucket
	}
	if i > 0 {
		key = append(key, ',')
	}
	for _, r := range d[s.Dimensions[i]].Ranges {
		if s.possible(d, i+1, append(AppendGroupText(append(key, '['), *r.Low), ']')) {
			return true
		}
	}
	return false
}

// MayHave reports whether the segment may have a row that the domain lets through. False is
// certain, true is not.
//
// Only string columns with a single value per row are checked, because shard specs of other columns
// describe the written values and not the stored ones. Shard specs of Druid sort strings by UTF-16,
// so ranges do not apply to strings with characters above U+E000. See quirk Q005.
func (s *Segment) MayHave(d Domain) bool {
	switch s.Shard.(type) {
	case Tombstone:
		return false
	case Range, Single, Hashed, DimValueSet:
	default:
		return true
	}
	if len(d) == 0 || s.Schema == nil {
		return true
	}
	known := Domain{}
	for _, c := range s.Schema.Columns {
		if values, ok := d[c.Name]; ok && c.Type == "STRING" && !c.MultiValue && !values.unordered() {
			known[c.Name] = values
		}
	}
	return len(known) == 0 || s.Shard.Possible(known)
}

// unordered reports whether a bound has characters whose order depends on the encoding, or is
// empty, which may stand for no value.
func (v Values) unordered() bool {
	return slices.ContainsFunc(v.Ranges, func(r ValueRange) bool { return unorderedText(r.Low) || unorderedText(r.High) })
}

func unorderedText(s *string) bool {
	return s != nil && (*s == "" || strings.ContainsFunc(*s, func(r rune) bool { return r >= 0xE000 }))
}

// Possible is false: a tombstone has no rows.
func (Tombstone) Possible(Domain) bool { return false }

// Possible reports whether a value of the domain is among those of the segment, for every
// dimension.
func (s DimValueSet) Possible(d Domain) bool {
	for dimension, values := range s.Values {
		allowed, restricted := d[dimension]
		if !restricted || len(values) == 0 {
			continue
		}
		any := false
		for _, v := range values {
			any = any || allowed.has(&v)
		}
		if !any {
			return false
		}
	}
	return true
}

// Possible reports whether the domain has a value in [Start, End).
func (s Single) Possible(d Domain) bool {
	r := Range{Dimensions: []string{s.Dimension}}
	if s.Start != nil {
		r.Start = Tuple{s.Start}
	}
	if s.End != nil {
		r.End = Tuple{s.End}
	}
	return r.Possible(d)
}

// Possible reports whether the domain has a tuple in [Start, End), comparing the dimensions from
// left to right: while a tuple has a common prefix with a bound, the bound limits the next
// dimension too.
func (s Range) Possible(d Domain) bool {
	for _, dimension := range s.Dimensions {
		if v, restricted := d[dimension]; restricted && !v.Null && len(v.Ranges) == 0 {
			return false
		}
	}
	return s.possible(d, 0, s.Start != nil, s.End != nil)
}

// possible looks at tuples whose first i values equal Start's (if atStart) and End's (if atEnd).
func (s Range) possible(d Domain, i int, atStart, atEnd bool) bool {
	if !atStart && !atEnd {
		return true
	}
	if i == len(s.Dimensions) {
		return !atEnd
	}
	values, restricted := d[s.Dimensions[i]]
	if !restricted {
		values = Values{Null: true, Ranges: []ValueRange{{}}}
	}
	low, high := edge{kind: -1}, edge{kind: 1}
	if atStart {
		low = edge{value: s.Start[i]}
	}
	if atEnd {
		high = edge{value: s.End[i]}
	}
	if atStart && atEnd && equalValue(s.Start[i], s.End[i]) {
		return values.has(s.Start[i]) && s.possible(d, i+1, true, true)
	}
	return values.between(low, high) ||
		atStart && values.has(s.Start[i]) && s.possible(d, i+1, true, false) ||
		atEnd && values.has(s.End[i]) && s.possible(d, i+1, false, true)
}

func equalValue(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
