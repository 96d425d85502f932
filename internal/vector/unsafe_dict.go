package vector

import (
	"encoding/binary"
	"sort"
	"sync/atomic"
	"unsafe"
)

// Dict is an immutable dictionary of strings: entry i is Blob[Offsets[i]:Offsets[i+1]]. The bytes
// may be in a mapped file; the owner of the batch determines how long they are valid (a segment:
// until its reference is released).
type Dict struct {
	Offsets []uint32
	Blob    []byte
	// Sorted is true if the entries are distinct and in ascending order of their bytes, so codes
	// compare like their strings.
	Sorted bool
	// Rows is the number of rows of the column of the dictionary, 0: not known. It determines whether
	// evaluating all entries is worthwhile.
	Rows int
	// Source is the stored dictionary from which this one was decoded, possibly more than once: values
	// cached for one copy are valid for all. Nil: the dictionary is its own source.
	Source *DictSource

	own   atomic.Pointer[DictSource]
	ascii atomic.Int32 // 0: nobody has asked, 1: yes, 2: no
}

// DictSource represents a stored dictionary. The reader of the store keeps it as long as the
// dictionary may be decoded again. It is large enough that the runtime does not pack several
// objects into one block, which would tie their lifetimes together.
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

// ASCII reports whether all entries are ASCII. It checks the entries once.
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

// Lookup returns the code of s in a sorted dictionary. If s is missing, it returns the code of the
// first greater entry (Len if there is none) and false.
func (d *Dict) Lookup(s string) (code uint32, found bool) {
	n := d.Len()
	i := sort.Search(n, func(i int) bool { return d.Value(uint32(i)) >= s })
	return uint32(i), i < n && d.Value(uint32(i)) == s
}
