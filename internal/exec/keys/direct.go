package keys

import (
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/vector"
)

const (
	// maxDirectCells bounds the array of a direct-address table: 16 MiB for each worker.
	maxDirectCells = 1 << 22
	// maxDirectLongs is how many different values a Long column may have before a direct-address table
	// gives up on it.
	maxDirectLongs = 1 << 14
	// directCellShare is how many cells there may be for each row seen so far: as many will come, and
	// clearing a cell costs far less than looking a row up in the table.
	directCellShare = 16
)

// directTable is an array in front of a Table. Each combination of dictionary codes, and of the
// values of Long or Double columns with few values, has a cell that remembers the key's number. It
// serves as long as the dictionaries stay the same, which is one segment, and is only made when it
// has fewer cells than a small multiple of the rows that came with these dictionaries.
type directTable struct {
	dims  []directDim
	cells []uint32 // number+1, 0: not known
	rows  int      // seen with these dictionaries, while cells are not made
	// runs says that cells are for one value of each Long column at a time: there would be too many
	// for all values together.
	runs bool
	off  bool     // this table's keys are not for direct addressing
	at   []uint32 // scratch: by row its cell
	miss []uint32 // scratch: the first row of each cell that is not known
	more []uint32 // scratch: the others of these cells
}

// pendingLookup is what a cell has while its key is looked up.
const pendingLookup = 1<<32 - 1

// directDim is one key column of a direct-address table.
type directDim struct {
	dict  *vector.Dict
	only  string // the one value of the column when it is constant; dict is oneText then
	longs *longSet
	value int64  // the present one of a Long column, of which there are runs; longs is nil then
	size  uint32 // different ordinals, the null one included
	step  uint32 // cells from one ordinal to the next
}

// oneText stands for the dictionary of a constant.
var oneText = vector.NewDict([]string{""})

func (f *directTable) Bytes() int64 {
	return 4 * int64(cap(f.cells)+cap(f.at)+cap(f.miss)+cap(f.more))
}

// Find fills out with the numbers of the rows whose cell is known and returns one row of each other
// cell, which learn is called with. It reports false if the rows are not for direct addressing, and
// out was not touched.
func (f *directTable) Find(t *Table, keys []*vector.Vector, n int, out []uint32) (misses []uint32, ok bool) {
	if f.off || len(keys) == 0 || n == 0 {
		return nil, false
	}
	if f.dims == nil {
		for i := range t.Cols {
			if k := t.Cols[i].typ.Kind; k != vector.KindString && k != vector.KindLong && k != vector.KindDouble || len(t.Cols) > 8 {
				f.off = true
				return nil, false
			}
		}
		f.dims = make([]directDim, len(keys))
	}
	if !f.allocate(keys, n) {
		return nil, false
	}
	f.at, f.miss, f.more = vector.Sized(f.at, n), f.miss[:0], f.more[:0]
	switch codes := plainCodes(keys); len(codes) {
	case 1:
		f.lookup(codes[0][:n], out[:n])
		return f.miss, true
	case 2:
		f.addressTwo(codes[0][:n], codes[1][:n])
		f.lookup(f.at[:n], out[:n])
		return f.miss, true
	}
	for d := range f.dims {
		if !f.address(&f.dims[d], keys[d], n, d == 0) {
			return nil, false // a Long column has got more values: next time there is room for them
		}
	}
	f.lookup(f.at[:n], out[:n])
	return f.miss, true
}

// plainCodes returns the codes of one or two columns without nulls, whose addresses are quickly
// made; nil: the columns are others.
func plainCodes(keys []*vector.Vector) (codes [][]uint32) {
	if len(keys) > 2 {
		return nil
	}
	for _, k := range keys {
		if k.Dict == nil || k.Const || k.Valid != nil {
			return nil
		}
		codes = append(codes, k.Codes)
	}
	return codes
}

// lookup sets out to the numbers of the rows with the given cells, eight at a time: that of a cell
// which is not known wraps around, so that one test tells whether any of them is.
func (f *directTable) lookup(at, out []uint32) {
	cells, row := f.cells, 0
	for len(at) >= 8 && len(out) >= 8 {
		c, o := (*[8]uint32)(at), (*[8]uint32)(out)
		o[0], o[1], o[2], o[3] = cells[c[0]]-1, cells[c[1]]-1, cells[c[2]]-1, cells[c[3]]-1
		o[4], o[5], o[6], o[7] = cells[c[4]]-1, cells[c[5]]-1, cells[c[6]]-1, cells[c[7]]-1
		if int32(o[0]|o[1]|o[2]|o[3]|o[4]|o[5]|o[6]|o[7]) < 0 {
			f.missed(row, c[:])
		}
		at, out, row = at[8:], out[8:], row+8
	}
	for i, c := range at {
		if out[i] = cells[c] - 1; int32(out[i]) < 0 {
			f.missed(row+i, at[i:i+1])
		}
	}
}

// missed notes which of the rows from row on, with the given cells, are misses, and their
// addresses.
func (f *directTable) missed(row int, at []uint32) {
	for i, c := range at {
		switch f.cells[c] {
		case 0:
			f.cells[c] = pendingLookup
			f.miss = append(f.miss, uint32(row+i))
		case pendingLookup:
			f.more = append(f.more, uint32(row+i))
		default:
			continue
		}
		f.at[row+i] = c
	}
}

// addressTwo sets the addresses of pairs of codes.
func (f *directTable) addressTwo(first, second []uint32) {
	at, step := f.at[:len(first)], f.dims[1].step
	for ; len(at) >= 8 && len(first) >= 8 && len(second) >= 8; at, first, second = at[8:], first[8:], second[8:] {
		a, b, c := (*[8]uint32)(at), (*[8]uint32)(first), (*[8]uint32)(second)
		a[0], a[1], a[2], a[3] = b[0]+c[0]*step, b[1]+c[1]*step, b[2]+c[2]*step, b[3]+c[3]*step
		a[4], a[5], a[6], a[7] = b[4]+c[4]*step, b[5]+c[5]*step, b[6]+c[6]*step, b[7]+c[7]*step
	}
	for i, c := range first {
		at[i] = c + second[i]*step
	}
}

// learn sets the cells of the rows that find has returned, and which were found in the table, and
// the numbers of all rows of these cells.
func (f *directTable) learn(found, out []uint32) {
	for i, r := range f.miss {
		out[r] = found[i]
		f.cells[f.at[r]] = found[i] + 1
	}
	for _, r := range f.more {
		out[r] = f.cells[f.at[r]] - 1
	}
}

// allocate makes cells for the dictionaries of keys, if they are worth it.
func (f *directTable) allocate(keys []*vector.Vector, n int) bool {
	changed := false
	for i, k := range keys {
		d := &f.dims[i]
		before := *d
		if !d.fit(k, n, f.runs) {
			f.cells = nil // columns before may have changed
			return false
		}
		if d.longs != nil && (len(d.longs.values) > maxDirectLongs || d.longs.far) {
			f.off, f.cells = true, nil
			return false
		}
		changed = changed || *d != before
	}
	if !changed && f.cells != nil {
		return true
	}
	if changed {
		f.cells, f.rows = f.cells[:0], 0
	}
	f.rows += n
	total := uint64(1)
	for i := range f.dims {
		f.dims[i].step = uint32(total)
		if total *= uint64(f.dims[i].size); total > maxDirectCells {
			f.cells = nil
			if !f.runs && slices.ContainsFunc(f.dims, func(d directDim) bool { return d.longs != nil }) {
				f.runs = true
				return f.allocate(keys, n)
			}
			return false
		}
	}
	if total > 1<<12 && total > uint64(directCellShare*f.rows) {
		f.cells = nil
		return false
	}
	f.cells = vector.Sized(f.cells, int(total))
	clear(f.cells)
	return true
}

// fit makes d the dimension of a column of such values; false if it can't be one. With runs the n
// values of a Long column must be equal.
func (d *directDim) fit(k *vector.Vector, n int, runs bool) bool {
	switch {
	case k.Type.Kind == vector.KindLong && runs:
		d.longs, d.size = nil, 1
		if k.Valid != nil || slices.ContainsFunc(k.Longs[1:min(n, len(k.Longs))], func(x int64) bool { return x != k.Longs[0] }) {
			return false
		}
		d.value = k.Longs[0]
	case k.Type.Kind == vector.KindDouble && runs:
		return false
	case k.Type.Kind == vector.KindLong || k.Type.Kind == vector.KindDouble:
		if d.longs == nil {
			d.longs = &longSet{}
		}
		d.size = d.longs.room()
	case k.AllNull():
		if d.dict == nil { // any will do: null has an ordinal in each
			d.dict, d.size = oneText, 2
		}
	case k.Dict != nil:
		d.dict, d.only, d.size = k.Dict, "", uint32(k.Dict.Len())+1
	case k.Const:
		d.dict, d.only, d.size = oneText, k.Strings[0], 2
	default:
		return false
	}
	return true
}

// address adds a column's share to the cell of each row.
func (f *directTable) address(d *directDim, v *vector.Vector, n int, first bool) bool {
	at, step := f.at[:n], d.step
	if first {
		clear(at)
	}
	switch {
	case d.longs == nil:
	case v.Type.Kind == vector.KindDouble:
		return d.longs.addressDoubles(v, at, step, d.size)
	case v.Valid == nil && !v.Const:
		return d.longs.addressLongs(v.Longs[:n], at, step, d.size)
	default:
		return d.longs.address(v, at, step, d.size)
	}
	if d.size == 1 { // a run
		return true
	}
	null := (d.size - 1) * step
	switch {
	case v.Const && v.Valid != nil && !v.Valid.Get(0):
		for i := range at {
			at[i] += null
		}
	case v.Const && v.Dict == nil: // ordinal 0
	case v.Const:
		for i := range at {
			at[i] += v.Codes[0] * step
		}
	case v.Valid == nil:
		codes := v.Codes[:n]
		for i, c := range codes {
			at[i] += c * step
		}
	default:
		for i, c := range v.Codes[:n] {
			add := c * step
			if v.Valid[i>>6]>>(i&63)&1 == 0 { // a move on a condition, not a branch to mispredict
				add = null
			}
			at[i] += add
		}
	}
	return true
}

// longSet gives the values of a column of Longs, or the bits of one of Doubles, ordinals, in the
// order they come; ordinal 0 is null.
type longSet struct {
	values []int64
	slots  []uint32 // ordinal, 0: free
	// near has the ordinals of the values from base on, 0: none, as far as it was made.
	near []uint32
	base int64
	far  bool // Doubles: most of the last batch were not found there
}

// nearValues is how many values around the first one have their ordinals in an array: identifiers,
// days and the like mostly do.
const nearValues = 1 << 16

// room returns a number of ordinals that leaves space for values to come, in powers of two so that
// it seldom changes.
func (s *longSet) room() uint32 {
	return uint32(1) << bits.Len(uint(max(len(s.values)+1, 16)))
}

// address adds ordinal*step of each row; it reports false when a value would have an ordinal of
// room or more.
func (s *longSet) address(v *vector.Vector, at []uint32, step, room uint32) bool {
	if v.Const {
		o := s.ordinalAt(v, 0)
		if o >= room {
			return false
		}
		for i := range at {
			at[i] += o * step
		}
		return true
	}
	var lastValue int64
	var last uint32 // ordinal of lastValue, 0: none
	nulls := v.Valid != nil
	for i, x := range v.Longs[:len(at)] {
		if nulls && !v.Valid.Get(i) {
			continue
		}
		if last == 0 || x != lastValue {
			if last, lastValue = s.ordinal(x), x; last >= room {
				return false
			}
		}
		at[i] += last * step
	}
	return true
}

func (s *longSet) ordinalAt(v *vector.Vector, i int) uint32 {
	if v.IsNull(i) {
		return 0
	}
	return s.ordinal(v.LongAt(i))
}

func (s *longSet) ordinal(x int64) uint32 {
	at := uint64(x) - uint64(s.base)
	if at < uint64(len(s.near)) && s.near[at] != 0 {
		return s.near[at]
	}
	o := s.search(x)
	if o <= uint32(len(s.values)) {
		s.keepNear(x, o)
	}
	return o
}

// search returns the ordinal of x, which it gets if it is new.
func (s *longSet) search(x int64) uint32 {
	if s.slots == nil {
		s.slots = make([]uint32, 64)
	}
	mask := uint64(len(s.slots) - 1)
	at := vector.HashLong(uint64(x)) & mask
	for ; s.slots[at] != 0; at = (at + 1) & mask {
		if s.values[s.slots[at]-1] == x {
			return s.slots[at]
		}
	}
	if len(s.values) > maxDirectLongs {
		return 1 << 31 // beyond any room: the direct-address table gives up
	}
	s.values = append(s.values, x)
	s.slots[at] = uint32(len(s.values))
	if 2*len(s.values) > len(s.slots) {
		old := s.values
		s.slots = make([]uint32, 4*len(s.slots))
		mask = uint64(len(s.slots) - 1)
		for i, y := range old {
			at := vector.HashLong(uint64(y)) & mask
			for s.slots[at] != 0 {
				at = (at + 1) & mask
			}
			s.slots[at] = uint32(i + 1)
		}
	}
	return uint32(len(s.values))
}
