package vector

import (
	"encoding/binary"
	"sort"
	"sync/atomic"
	"unsafe"
)

// Dict is an immutable dictionary of strings: entry i is Blob[Offsets[i]:Offsets[i+1]]. The bytes
// may lie in a mapped file; they are valid for as long as the owner of the batch says (a segment:
// until its reference is released).
type Dict struct {
	Offsets []uint32
	Blob    []byte
	// Sorted says that the entries ascend by bytes and are distinct, so that codes compare as their
	// strings do.
	Sorted bool
	// Rows is how many rows the column has that the dictionary belongs to, 0: not known. It tells
	// whether evaluating all entries pays.
	Rows int
	// Source is what the dictionary was decoded from, which may happen more than once: what is
	// remembered of one is good for all. Nil: it has no source but itself.
	Source *DictSource

	own   atomic.Pointer[DictSource]
	ascii atomic.Int32 // 0: nobody has asked, 1: yes, 2: no
}

// DictSource stands for a stored dictionary. Whoever reads the store holds one as long as the
// dictionary may be decoded again. It has a size from which on the runtime does not let objects
// share a place, and with it their lives.
type DictSource struct{ _ [16]byte }

// source returns what stands for the dictionary.
func (d *Dict) source() *DictSource {
	if d.Source != nil {
		return d.Source
	}
	if d.own.Load() == nil {
		d.own.CompareAndSwap(nil, new(DictSource))
	}
	return d.own.Load()
}

// ASCII reports whether all entries are ASCII. It looks once.
func (d *Dict) ASCII() bool {
	known := d.ascii.Load()
	if known == 0 {
		known = 1
		if !ascii(d.Blob) {
			known = 2
		}
		d.ascii.Store(known)
	}
	return known == 1
}

func ascii(b []byte) bool {
	var bits uint64
	for ; len(b) >= 8; b = b[8:] {
		bits |= binary.LittleEndian.Uint64(b)
	}
	for _, x := range b {
		bits |= uint64(x)
	}
	return bits&0x8080808080808080 == 0
}

// NewDict returns a dictionary of the given entries, in their order.
func NewDict(entries []string) *Dict {
	size := 0
	for _, e := range entries {
		size += len(e)
	}
	d := &Dict{Offsets: make([]uint32, 1, len(entries)+1), Blob: make([]byte, 0, size), Sorted: true}
	for i, e := range entries {
		if i > 0 && entries[i-1] >= e {
			d.Sorted = false
		}
		d.Blob = append(d.Blob, e...)
		d.Offsets = append(d.Offsets, uint32(len(d.Blob)))
	}
	return d
}

// Len returns the number of entries.
func (d *Dict) Len() int {
	if len(d.Offsets) == 0 {
		return 0
	}
	return len(d.Offsets) - 1
}

// Value returns entry code without copying it.
func (d *Dict) Value(code uint32) string {
	lo, hi := d.Offsets[code], d.Offsets[code+1]
	if lo == hi {
		return ""
	}
	b := d.Blob[lo:hi]
	return unsafe.String(&b[0], len(b))
}

// Lookup returns the code of s in a sorted dictionary. When s is absent it returns the code of the
// first entry above s (Len, if there is none) and false.
func (d *Dict) Lookup(s string) (code uint32, found bool) {
	n := d.Len()
	i := sort.Search(n, func(i int) bool { return d.Value(uint32(i)) >= s })
	return uint32(i), i < n && d.Value(uint32(i)) == s
}
