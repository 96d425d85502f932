package arrow

import "encoding/binary"

// flatWriter writes a FlatBuffer from its beginning to its end: a table first, then what it refers
// to. Positions count from the beginning of the buffer, where 8-byte alignment begins.
type flatWriter struct{ b []byte }

// slot is a field of a table: a number of so many bytes, or a reference to what write writes.
// A size of 0 leaves the field out.
type slot struct {
	size  int
	value uint64
	write func(w *flatWriter) (at int)
}

func number(size int, v int64) slot { return slot{size: size, value: uint64(v)} }

func flag(v bool) slot {
	if v {
		return number(1, 1)
	}
	return number(1, 0)
}

func refer(write func(w *flatWriter) int) slot { return slot{size: 4, write: write} }

func text(s string) slot {
	return refer(func(w *flatWriter) int {
		w.align(4, 0)
		at := len(w.b)
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(s)))
		w.b = append(append(w.b, s...), 0)
		return at
	})
}

// tables is a vector of references to n tables.
func tables(n int, write func(w *flatWriter, i int) int) slot {
	return refer(func(w *flatWriter) int {
		w.align(4, 0)
		at := len(w.b)
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(n))
		w.b = append(w.b, make([]byte, 4*n)...)
		for i := range n {
			w.point(at+4+4*i, write(w, i))
		}
		return at
	})
}

// int32s is a vector of numbers.
func int32s(list []int32) slot {
	return refer(func(w *flatWriter) int {
		w.align(4, 0)
		at := len(w.b)
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(list)))
		for _, n := range list {
			w.b = binary.LittleEndian.AppendUint32(w.b, uint32(n))
		}
		return at
	})
}

// structs is a vector of structs of two numbers.
func structs(pairs [][2]int64) slot {
	return refer(func(w *flatWriter) int {
		w.align(8, 4)
		at := len(w.b)
		w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(pairs)))
		for _, p := range pairs {
			w.b = binary.LittleEndian.AppendUint64(w.b, uint64(p[0]))
			w.b = binary.LittleEndian.AppendUint64(w.b, uint64(p[1]))
		}
		return at
	})
}

// align pads so that what stands behind so many more bytes is aligned.
func (w *flatWriter) align(to, behind int) {
	for (len(w.b)+behind)%to != 0 {
		w.b = append(w.b, 0)
	}
}

// point makes the offset at a position point to a target behind it.
func (w *flatWriter) point(position, target int) {
	binary.LittleEndian.PutUint32(w.b[position:], uint32(target-position))
}

// table writes a table and what it refers to.
func (w *flatWriter) table(slots ...slot) int {
	offsets := make([]int, len(slots))
	size := 4
	for i, s := range slots {
		if s.size > 0 {
			size = (size + s.size - 1) / s.size * s.size
			offsets[i] = size
			size += s.size
		}
	}
	vtable := 4 + 2*len(slots)
	w.align(8, vtable)
	w.b = binary.LittleEndian.AppendUint16(w.b, uint16(vtable))
	w.b = binary.LittleEndian.AppendUint16(w.b, uint16(size))
	for _, p := range offsets {
		w.b = binary.LittleEndian.AppendUint16(w.b, uint16(p))
	}
	at := len(w.b)
	w.b = append(w.b, make([]byte, size)...)
	binary.LittleEndian.PutUint32(w.b[at:], uint32(vtable))
	for i, s := range slots {
		field := w.b[at+offsets[i]:]
		switch {
		case s.size == 0 || s.write != nil:
		case s.size == 1:
			field[0] = byte(s.value)
		case s.size == 2:
			binary.LittleEndian.PutUint16(field, uint16(s.value))
		case s.size == 4:
			binary.LittleEndian.PutUint32(field, uint32(s.value))
		default:
			binary.LittleEndian.PutUint64(field, s.value)
		}
	}
	for i, s := range slots {
		if s.write != nil {
			w.point(at+offsets[i], s.write(w))
		}
	}
	return at
}

// flat writes a buffer with the table that root writes.
func flat(root func(w *flatWriter) int) []byte {
	w := &flatWriter{b: make([]byte, 4, 512)}
	w.point(0, root(w))
	w.align(8, 0)
	return w.b
}

// flatReader reads a FlatBuffer that nobody has checked. What points outside of the buffer sets bad
// and reads as nothing.
type flatReader struct {
	b     []byte
	bad   bool
	texts int // bytes of texts that were read; several references may share one
}

// flatTable is a table of it; the zero table has no fields.
type flatTable struct {
	r      *flatReader
	at     int
	vtable []byte // the offsets of fields
	size   int
}

// within reports whether n bytes are there.
func (r *flatReader) within(at, n int) bool {
	if at < 0 || n < 0 || at > len(r.b) || n > len(r.b)-at {
		r.bad = true
		return false
	}
	return true
}

// follow returns where the offset at a position points to.
func (r *flatReader) follow(position int) int {
	if !r.within(position, 4) {
		return -1
	}
	offset := binary.LittleEndian.Uint32(r.b[position:])
	if offset == 0 || int64(offset) > int64(len(r.b)) {
		r.bad = true
		return -1
	}
	return position + int(offset)
}

// tableAt reads the table at a position.
func (r *flatReader) tableAt(at int) flatTable {
	if at < 0 || !r.within(at, 4) {
		r.bad = true
		return flatTable{r: r}
	}
	vtable := int64(at) - int64(int32(binary.LittleEndian.Uint32(r.b[at:])))
	if vtable < 0 || vtable > int64(len(r.b)) || !r.within(int(vtable), 4) {
		r.bad = true
		return flatTable{r: r}
	}
	length, size := int(binary.LittleEndian.Uint16(r.b[vtable:])), int(binary.LittleEndian.Uint16(r.b[vtable+2:]))
	if length < 4 || size < 4 || !r.within(int(vtable), length) || !r.within(at, size) {
		r.bad = true
		return flatTable{r: r}
	}
	return flatTable{r: r, at: at, vtable: r.b[int(vtable)+4 : int(vtable)+length], size: size}
}

// root returns the table of the buffer.
func (r *flatReader) root() flatTable { return r.tableAt(r.follow(0)) }

// position returns where a field of so many bytes is, -1: it is not there.
func (t flatTable) position(field, size int) int {
	if 2*field+2 > len(t.vtable) {
		return -1
	}
	offset := int(binary.LittleEndian.Uint16(t.vtable[2*field:]))
	if offset == 0 {
		return -1
	}
	if offset+size > t.size {
		t.r.bad = true
		return -1
	}
	return t.at + offset
}

// number reads a signed number of so many bytes.
func (t flatTable) number(field, size int, missing int64) int64 {
	at := t.position(field, size)
	if at < 0 {
		return missing
	}
	switch size {
	case 1:
		return int64(t.r.b[at])
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(t.r.b[at:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(t.r.b[at:])))
	}
	return int64(binary.LittleEndian.Uint64(t.r.b[at:]))
}

// table reads a table that a field refers to; ok: there is one.
func (t flatTable) table(field int) (of flatTable, ok bool) {
	at := t.position(field, 4)
	if at < 0 {
		return flatTable{r: t.r}, false
	}
	return t.r.tableAt(t.r.follow(at)), true
}

// vector reads where the elements of a vector are, each of so many bytes.
func (t flatTable) vector(field, size int) (at, n int) {
	position := t.position(field, 4)
	if position < 0 {
		return 0, 0
	}
	at = t.r.follow(position)
	if at < 0 || !t.r.within(at, 4) {
		return 0, 0
	}
	count := int64(binary.LittleEndian.Uint32(t.r.b[at:]))
	if count > int64(len(t.r.b)) || !t.r.within(at+4, int(count)*size) {
		t.r.bad = true
		return 0, 0
	}
	return at + 4, int(count)
}

func (t flatTable) text(field int) string {
	at, n := t.vector(field, 1)
	if t.r.texts += n; t.r.texts > maxMetadata {
		t.r.bad = true
		return ""
	}
	return string(t.r.b[at : at+n])
}

// int64s reads n numbers of a place that was checked.
func (r *flatReader) int64s(at, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(r.b[at+8*i:]))
	}
	return out
}
