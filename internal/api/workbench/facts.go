package workbench

import (
	"cmp"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/expr"
	"github.com/hengedb/henge/internal/segment"
	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

// facts are what is known of a column of some segments without reading their rows. They are merged,
// and sent between servers.
type facts struct {
	Name string `json:"name"`
	// Type is that of SQL; "" where segments have several.
	Type  string `json:"type"`
	Mixed bool   `json:"mixed,omitempty"`
	Multi bool   `json:"multi,omitempty"`
	// Rows are those of the segments that have the column, and Nulls those of them without a value.
	Rows  int64 `json:"rows"`
	Nulls int64 `json:"nulls"`
	Bytes int64 `json:"bytes"`
	// Distinct is how many different values there are; -1: nobody knows. Estimated says that it is not
	// exact.
	Distinct  int64 `json:"distinct"`
	Estimated bool  `json:"estimated,omitempty"`
	// Sketch has the values of dictionaries, as package sketch writes it; empty: no segment gave any.
	Sketch []byte `json:"sketch,omitempty"`
	// Longs, Doubles or Texts bound the values; Loose says that a bound may be no value itself.
	Longs   *[2]int64   `json:"longs,omitempty"`
	Doubles *[2]float64 `json:"doubles,omitempty"`
	Texts   *[2]string  `json:"texts,omitempty"`
	Loose   bool        `json:"loose,omitempty"`
	// Unbound says that some segment does not know its bounds.
	Unbound bool `json:"unbound,omitempty"`
	// Ranges are the blocks of numbers, each with how many values lie in it.
	Ranges []span `json:"ranges,omitempty"`
	// Values counts values; Counted are the rows of which values were counted.
	Values  map[string]int64 `json:"values,omitempty"`
	Counted int64            `json:"counted,omitempty"`
	// Paths are those of nested values that are stored as columns, with their types.
	Paths map[string]string `json:"paths,omitempty"`
}

// span is how many values lie between two numbers.
type span struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	N   int64   `json:"n"`
}

// factsOf returns those of a column of a segment. Its own bytes are only looked at if they are
// here.
func factsOf(r segment.Reader, c *segment.ColumnInfo, here bool) (*facts, error) {
	rows := int64(r.Info().Rows)
	f := &facts{
		Name: c.Name, Type: expr.FromRuntime(c.Type, c.Multi).String(), Multi: c.Multi, Rows: rows, Nulls: int64(c.Nulls), Bytes: c.Size,
		Distinct: int64(c.Distinct), Estimated: !c.DistinctExact, Unbound: true,
	}
	if c.Name == segment.TimeColumn {
		f.Type = expr.Of(expr.Timestamp).String()
	}
	if rows == int64(c.Nulls) { // there is no value
		f.Unbound, f.Distinct, f.Estimated = false, 0, false
		return f, nil
	}
	f.bounds(r, c)
	if !here {
		return f, nil
	}
	column, err := r.Column(c.Name)
	if err != nil || column == nil {
		return f, err
	}
	switch c.Type.Kind {
	case vector.KindLong, vector.KindDouble, vector.KindFloat:
		err = f.blocks(column, int(rows))
	case vector.KindString:
		err = f.dictionary(column, c)
	}
	return f, err
}

// bounds takes the least and the greatest value over, as far as the segment says.
func (f *facts) bounds(r segment.Reader, c *segment.ColumnInfo) {
	f.Loose = !c.MinExact || !c.MaxExact
	switch least := c.Min.(type) {
	case int64:
		if most, ok := c.Max.(int64); ok {
			f.Longs, f.Unbound = &[2]int64{least, most}, false
		}
	case float64:
		if most, ok := c.Max.(float64); ok && finite(least) && finite(most) {
			f.Doubles, f.Unbound = &[2]float64{least, most}, false
		}
	case string:
		if most, ok := c.Max.(string); ok {
			f.Texts, f.Unbound = &[2]string{cut(least), cut(most)}, false
			f.Loose = f.Loose || len(least) > valueBytes || len(most) > valueBytes
		}
	}
	if info := r.Info(); f.Unbound && c.Name == segment.TimeColumn && info.HasTimes {
		f.Longs, f.Unbound, f.Loose = &[2]int64{info.MinTime, info.MaxTime}, false, false
	}
}

func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// cut shortens a bound.
func cut(s string) string {
	if len(s) <= valueBytes {
		return s
	}
	end := valueBytes
	for end > 0 && s[end]&0xC0 == 0x80 { // a character is not divided
		end--
	}
	return s[:end]
}

// blocks reads the bounds that blocks of numbers have. Where each block has values of all sizes
// that says nothing of how they are spread: then those of one block stand for all.
func (f *facts) blocks(c segment.Column, rows int) error {
	for block := range (rows + segment.BlockRows - 1) / segment.BlockRows {
		s := span{N: int64(min(segment.BlockRows, rows-block*segment.BlockRows))}
		if least, most, known := c.LongRange(block); known {
			s.Min, s.Max = float64(least), float64(most)
		} else if least, most, known := c.DoubleRange(block); known {
			s.Min, s.Max = least, most
		} else {
			continue
		}
		if t, _ := c.Totals(block); t.Values > 0 {
			s.N = int64(t.Values)
		}
		if s.Min <= s.Max && finite(s.Min) && finite(s.Max) {
			f.Ranges = append(f.Ranges, s)
		}
	}
	if f.alike() {
		if err := f.sample(c, rows); err != nil {
			return err
		}
	}
	f.thin()
	return nil
}

// alike tells whether blocks reach over much of the range of all of them.
func (f *facts) alike() bool {
	if len(f.Ranges) == 0 {
		return false
	}
	least, most, width, n := f.Ranges[0].Min, f.Ranges[0].Max, 0.0, 0.0
	for _, s := range f.Ranges {
		least, most = min(least, s.Min), max(most, s.Max)
		width, n = width+(s.Max-s.Min)*float64(s.N), n+float64(s.N)
	}
	return width > (most-least)*n*alikeBlocks
}

// sample has the values of the block in the middle stand for all blocks.
func (f *facts) sample(c segment.Column, rows int) error {
	block := (rows - 1) / segment.BlockRows / 2
	v, err := c.Read(nil, block*segment.BlockRows, min(rows, (block+1)*segment.BlockRows))
	if err != nil {
		return err
	}
	all := int64(0)
	for _, s := range f.Ranges {
		all += s.N
	}
	var points []span
	for i := range v.Len {
		if v.IsNull(i) {
			continue
		}
		if x := v.DoubleAt(i); finite(x) {
			points = append(points, span{Min: x, Max: x})
		}
	}
	if len(points) == 0 {
		return nil // the bounds are better than nothing
	}
	for i := range points { // of n rows that stand for all
		points[i].N = all*int64(i+1)/int64(len(points)) - all*int64(i)/int64(len(points))
	}
	f.Ranges = points
	return nil
}

// thin joins ranges that lie side by side until they are few enough.
func (f *facts) thin() {
	if len(f.Ranges) <= sentRanges {
		return
	}
	slices.SortFunc(f.Ranges, func(a, b span) int { return cmp.Or(cmp.Compare(a.Min, b.Min), cmp.Compare(a.Max, b.Max)) })
	each := (len(f.Ranges) + sentRanges - 1) / sentRanges
	var out []span
	for part := range slices.Chunk(f.Ranges, each) {
		one := part[0]
		for _, s := range part[1:] {
			one.Max, one.N = max(one.Max, s.Max), one.N+s.N
		}
		out = append(out, one)
	}
	f.Ranges = out
}

// dictionary counts the values of a column of texts by its index, and notes them for the estimate
// of how many there are.
func (f *facts) dictionary(c segment.Column, info *segment.ColumnInfo) error {
	if info.Distinct < 0 || info.Distinct > estimatedValues {
		return nil
	}
	dict, err := c.Dict()
	if err != nil || dict == nil {
		return err
	}
	h := sketch.NewHLL(sketchLog, 0)
	for code := range dict.Len() {
		if err := h.AddBytes([]byte(dict.Value(uint32(code)))); err != nil {
			return err
		}
	}
	if f.Sketch, err = h.AppendBinary(nil); err != nil {
		return err
	}
	if dict.Len() > countedValues {
		return nil
	}
	counts, err := f.counts(c, info, dict.Len())
	if err != nil || counts == nil {
		return err
	}
	f.Values = map[string]int64{}
	for code, n := range counts {
		if value := dict.Value(uint32(code)); len(value) <= valueBytes {
			f.Values[string([]byte(value))] = n // the segment is released
		}
	}
	f.Counted = f.Rows
	f.few()
	return nil
}

// counts returns in how many rows each of n values is: by the index, or by reading the rows where
// there are too few of them for an index; nil: that would take too long.
func (f *facts) counts(c segment.Column, info *segment.ColumnInfo, n int) ([]int64, error) {
	counts := make([]int64, n)
	if info.Indexed {
		for code := range counts {
			rows, err := c.Bitmap(uint32(code))
			if err != nil || rows == nil {
				return nil, err
			}
			counts[code] = int64(rows.GetCardinality())
		}
		return counts, nil
	}
	if f.Rows >= segment.WorthIndexing {
		return nil, nil
	}
	v, err := c.Read(nil, 0, int(f.Rows))
	if err != nil {
		return nil, err
	}
	leaf := v
	if v.Type.Kind == vector.KindList {
		leaf = v.Child
	}
	if leaf.Type.Kind != vector.KindString || leaf.Dict == nil || leaf.Const {
		return nil, nil
	}
	seen := make([]int, n) // the row, plus one, that a value was met in
	for row := range v.Len {
		lo, hi := row, row+1
		switch {
		case v.IsNull(row):
			continue
		case leaf != v:
			lo, hi = v.ListAt(row)
		}
		for i := lo; i < hi; i++ {
			if code := leaf.Codes[i]; !leaf.IsNull(i) && seen[code] <= row {
				seen[code] = row + 1
				counts[code]++
			}
		}
	}
	return counts, nil
}

// few leaves the values that are there most often.
func (f *facts) few() {
	if len(f.Values) <= sentValues {
		return
	}
	for _, v := range most(f.Values)[sentValues:] {
		delete(f.Values, v.Value)
	}
}

// valueCount is a value and in how many rows it is.
type valueCount struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

// most returns counted values, the most frequent first.
func most(values map[string]int64) []valueCount {
	out := make([]valueCount, 0, len(values))
	for value, n := range values {
		out = append(out, valueCount{value, n})
	}
	slices.SortFunc(out, func(a, b valueCount) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value)) })
	return out
}

// merge adds what other segments say of the column.
func (f *facts) merge(g *facts) error {
	if f.Rows == f.Nulls && g.Rows != g.Nulls { // the type of no value is none
		f.Type = g.Type
	} else if g.Rows != g.Nulls && f.Type != g.Type {
		f.Mixed = true
	}
	f.Mixed = f.Mixed || g.Mixed
	f.Multi = f.Multi || g.Multi
	if err := f.mergeDistinct(g); err != nil {
		return err
	}
	f.Rows, f.Nulls, f.Bytes = f.Rows+g.Rows, f.Nulls+g.Nulls, f.Bytes+g.Bytes
	f.Longs, f.Doubles, f.Texts = wider(f.Longs, g.Longs), wider(f.Doubles, g.Doubles), wider(f.Texts, g.Texts)
	f.Loose, f.Unbound = f.Loose || g.Loose, f.Unbound || g.Unbound
	f.Ranges = append(f.Ranges, g.Ranges...)
	f.thin()
	if f.Values == nil && g.Values != nil {
		f.Values = map[string]int64{}
	}
	for value, n := range g.Values {
		f.Values[value] += n
	}
	f.Counted += g.Counted
	f.few()
	for path, t := range g.Paths {
		if f.Paths == nil {
			f.Paths = map[string]string{}
		}
		f.Paths[path] = t
	}
	return nil
}

func wider[T cmp.Ordered](a, b *[2]T) *[2]T {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &[2]T{min(a[0], b[0]), max(a[1], b[1])}
}

// mergeDistinct unites the different values: by sketches where both have one. Of numbers it is
// known that those of ranges side by side differ; of others there are at least as many as one of
// both has.
func (f *facts) mergeDistinct(g *facts) error {
	if g.Rows == g.Nulls {
		return nil
	}
	if f.Rows == f.Nulls {
		f.Distinct, f.Estimated, f.Sketch = g.Distinct, g.Estimated, g.Sketch
		return nil
	}
	apart := disjoint(f.Longs, g.Longs) || disjoint(f.Doubles, g.Doubles) || disjoint(f.Texts, g.Texts)
	switch {
	case f.Distinct < 0 || g.Distinct < 0:
		f.Distinct = -1
	case apart:
		f.Distinct += g.Distinct
	default:
		f.Distinct = max(f.Distinct, g.Distinct)
	}
	f.Estimated = f.Estimated || g.Estimated || !apart
	if len(f.Sketch) == 0 || len(g.Sketch) == 0 {
		f.Sketch = nil // it would be of a part
		return nil
	}
	h, err := sketch.ParseHLL(string(f.Sketch))
	if err != nil {
		return err
	}
	other, err := sketch.ParseHLL(string(g.Sketch))
	if err != nil {
		return err
	}
	if err := h.Merge(other); err != nil {
		return err
	}
	n, err := h.Estimate()
	if err != nil {
		return err
	}
	if f.Estimated && f.Distinct >= 0 {
		f.Distinct = max(f.Distinct, int64(math.Round(n)))
	}
	f.Sketch, err = h.AppendBinary(nil)
	return err
}

func disjoint[T cmp.Ordered](a, b *[2]T) bool {
	return a != nil && b != nil && (a[1] < b[0] || b[1] < a[0])
}
