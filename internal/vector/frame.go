package vector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/invariant"
)

// A frame is a batch as bytes: what exchanges send and what spilling writes. All numbers are little
// endian.
//
//	 0  4  "HGVF"
//	 4  1  version
//	 5  1  flags, 0
//	 6  2  columns
//	 8  4  rows
//	12  4  bytes of payload
//	16  4  CRC-32C of bytes 0..16 and the payload
//	20     payload: the columns
//
// A column is its type, an encoding byte (0 flat, 1 constant, 2 dictionary; bit 7: nulls follow),
// and its values:
//
//	type     kind byte, followed by the element type of a list, or by a length byte and the name of a
//	         complex type
//	nulls    ceil(n/64) words of validity, n being 1 for constants
//	long, double  8 bytes each;  float  4 bytes each
//	text     n+1 offsets of 4 bytes, then the bytes
//	codes    sorted byte, entries (4), entries+1 offsets, the bytes, then n codes of 4 bytes
//	list     n+1 offsets, child length (4), the child's encoding and values
//
// A frame travels between releases: a new meaning gets a new version, and decoders refuse versions
// they do not know.
const (
	frameMagic   = "HGVF"
	frameVersion = 1
	frameHeader  = 20

	encodingFlat  = 0
	encodingConst = 1
	encodingDict  = 2
	encodingNulls = 0x80
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCorruptFrame marks frames that are damaged or hostile.
var ErrCorruptFrame = errors.New("corrupt frame")

// AppendFrame appends the selected rows of b as a frame.
func AppendFrame(dst []byte, b *Batch) ([]byte, error) {
	b = b.Compact()
	if b.N > maxFrameRows || len(b.Cols) > maxFrameColumns {
		return dst, fault.ResourceLimit("A batch of [%d] rows and [%d] columns is larger than a frame may be.", b.N, len(b.Cols))
	}
	start := len(dst)
	dst = append(dst, frameMagic...)
	dst = append(dst, frameVersion, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(b.Cols)))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.N))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, c := range b.Cols {
		dst = appendType(dst, c.Type)
		dst = appendColumn(dst, c, b.N)
	}
	size := len(dst) - start - frameHeader
	if size > maxFrameBytes {
		return dst[:start], fault.ResourceLimit("A batch of [%d] bytes is larger than a frame may be.", size)
	}
	head := dst[start:]
	binary.LittleEndian.PutUint32(head[12:], uint32(size))
	binary.LittleEndian.PutUint32(head[16:], frameSum(head[:16], head[frameHeader:]))
	return dst, nil
}

func frameSum(head, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, payload)
}

func appendType(dst []byte, t Type) []byte {
	dst = append(dst, byte(t.Kind))
	switch t.Kind {
	case KindList:
		return appendType(dst, t.Elem())
	case KindComplex:
		name := t.ComplexName()
		if len(name) > math.MaxUint8 {
			name = name[:math.MaxUint8]
		}
		return append(append(dst, byte(len(name))), name...)
	}
	return dst
}

func appendColumn(dst []byte, v *Vector, n int) []byte {
	enc := byte(encodingFlat)
	switch {
	case v.Const:
		enc = encodingConst
		if n > 0 {
			n = 1
		} else {
			enc = encodingFlat
		}
	case v.Dict != nil:
		enc = encodingDict
		if !smallDict(v.Dict, n) {
			v = shrinkDict(v, n)
		}
	}
	if v.Valid != nil {
		dst = append(dst, enc|encodingNulls)
		for w := range (n + 63) / 64 {
			dst = binary.LittleEndian.AppendUint64(dst, v.Valid[w])
		}
	} else {
		dst = append(dst, enc)
	}
	switch {
	case enc == encodingDict:
		dst = append(dst, boolByte(v.Dict.Sorted))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(v.Dict.Len()))
		if v.Dict.Len() == 0 {
			dst = binary.LittleEndian.AppendUint32(dst, 0)
		} else {
			base := v.Dict.Offsets[0]
			for _, o := range v.Dict.Offsets {
				dst = binary.LittleEndian.AppendUint32(dst, o-base)
			}
			dst = append(dst, v.Dict.Blob[base:v.Dict.Offsets[v.Dict.Len()]]...)
		}
		for _, c := range v.Codes[:n] {
			dst = binary.LittleEndian.AppendUint32(dst, c)
		}
	case v.Type.Kind == KindLong:
		for _, x := range v.Longs[:n] {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
		}
	case v.Type.Kind == KindDouble:
		for _, x := range v.Doubles[:n] {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	case v.Type.Kind == KindFloat:
		for _, x := range v.Floats[:n] {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	case v.Type.Kind == KindString, v.Type.Kind == KindComplex:
		text := func(i int) string {
			if v.IsNull(i) {
				return ""
			}
			return v.StringAt(i)
		}
		end := uint32(0)
		dst = binary.LittleEndian.AppendUint32(dst, 0)
		for i := range n {
			end += uint32(len(text(i)))
			dst = binary.LittleEndian.AppendUint32(dst, end)
		}
		for i := range n {
			dst = append(dst, text(i)...)
		}
	case v.Type.Kind == KindList:
		lo, hi := uint32(0), uint32(0)
		if n > 0 {
			lo, hi = v.Offsets[0], v.Offsets[n]
		}
		dst = binary.LittleEndian.AppendUint32(dst, 0)
		for i := range n {
			dst = binary.LittleEndian.AppendUint32(dst, v.Offsets[i+1]-lo)
		}
		dst = binary.LittleEndian.AppendUint32(dst, hi-lo)
		dst = appendColumn(dst, v.Child.Slice(int(lo), int(hi)), int(hi-lo))
	}
	return dst
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// smallDict reports whether sending all of d costs less than looking for the entries that n rows
// use.
func smallDict(d *Dict, n int) bool { return d.Len() <= n/2 || d.Len() <= 16 }

// shrinkDict returns v over a dictionary that has only the entries its rows use.
func shrinkDict(v *Vector, n int) *Vector {
	// A small hash table of the codes seen, plus one, and their positions among the entries: n rows of
	// a dictionary that may have millions.
	shift := 31 - bits.Len(uint(max(n, 4)-1))
	seen, positions := make([]uint32, 1<<(32-shift)), make([]uint32, 1<<(32-shift))
	entries := make([]string, 0, n)
	codes := make([]uint32, n)
	for i, c := range v.Codes[:n] {
		if !v.Valid.Get(i) {
			continue
		}
		slot := c * 0x9e3779b1 >> shift
		for seen[slot] != 0 && seen[slot] != c+1 {
			slot = (slot + 1) & uint32(len(seen)-1)
		}
		if seen[slot] == 0 {
			seen[slot], positions[slot] = c+1, uint32(len(entries))
			entries = append(entries, v.Dict.Value(c))
		}
		codes[i] = positions[slot]
	}
	if len(entries) == 0 {
		entries = []string{""}
	}
	out := *v
	out.Codes, out.Dict = codes, NewDict(entries)
	return &out
}

// DecodeFrame decodes the frame at the start of p and returns its length. It copies all values, so
// p may be reused. The error for a damaged frame matches ErrCorruptFrame.
func DecodeFrame(p []byte) (*Batch, int, error) {
	size, err := frameSize(p)
	if err != nil {
		return nil, 0, err
	}
	if len(p) < frameHeader+size {
		return nil, 0, corrupt("it is cut short")
	}
	payload := p[frameHeader : frameHeader+size]
	if frameSum(p[:16], payload) != binary.LittleEndian.Uint32(p[16:]) {
		return nil, 0, corrupt("its checksum is wrong")
	}
	b := &Batch{N: int(binary.LittleEndian.Uint32(p[8:]))}
	d := frameDecoder{p: payload}
	for range int(binary.LittleEndian.Uint16(p[6:])) {
		t := d.typ(0)
		v := d.column(t, b.N)
		if d.err != nil {
			return nil, 0, d.err
		}
		b.Cols = append(b.Cols, v)
	}
	if len(d.p) != 0 {
		return nil, 0, corrupt("bytes are left over")
	}
	return b, frameHeader + size, nil
}

// frameSize checks a header and returns the bytes of payload.
func frameSize(p []byte) (int, error) {
	if len(p) < frameHeader || string(p[:4]) != frameMagic {
		return 0, corrupt("it has no header")
	}
	if p[4] != frameVersion || p[5] != 0 {
		return 0, fault.Unsupported("A frame of version [%d] is not known to this release.", p[4])
	}
	size := binary.LittleEndian.Uint32(p[12:])
	if size > maxFrameBytes || binary.LittleEndian.Uint32(p[8:]) > maxFrameRows {
		return 0, corrupt("it claims to be larger than frames are")
	}
	return int(size), nil
}

func corrupt(why string) error {
	return fmt.Errorf("reading a batch: %w", fault.Runtime("A frame of rows can't be read: %s.", why).WithCause(ErrCorruptFrame))
}

type frameDecoder struct {
	p   []byte
	err error
}

func (d *frameDecoder) fail(why string) {
	if d.err == nil {
		d.err = corrupt(why)
	}
}

// take returns n bytes, or nil after an error.
func (d *frameDecoder) take(n int) []byte {
	if d.err != nil {
		return nil
	}
	if n < 0 || n > len(d.p) {
		d.fail("a column ends early")
		return nil
	}
	b := d.p[:n]
	d.p = d.p[n:]
	return b
}

func (d *frameDecoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *frameDecoder) u32() int {
	if b := d.take(4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (d *frameDecoder) typ(depth int) Type {
	if depth > maxTypeDepth {
		d.fail("its types nest too deep")
		return Type{}
	}
	switch k := Kind(d.byte()); k {
	case KindLong, KindDouble, KindFloat, KindString:
		return Type{Kind: k}
	case KindList:
		elem := d.typ(depth + 1)
		if d.err != nil {
			return Type{}
		}
		return ListOf(elem)
	case KindComplex:
		name := d.take(int(d.byte()))
		if d.err != nil {
			return Type{}
		}
		return ComplexOf(string(name))
	}
	d.fail("a type is unknown")
	return Type{}
}

func (d *frameDecoder) column(t Type, rows int) *Vector {
	v := &Vector{Type: t, Len: rows}
	n := rows
	enc := d.byte()
	nulls := enc&encodingNulls != 0
	enc &^= encodingNulls
	switch {
	case enc == encodingConst && rows > 0:
		v.Const, n = true, 1
	case enc == encodingDict && t.Kind == KindString, enc == encodingFlat:
	default:
		d.fail("an encoding is unknown")
	}
	if nulls {
		if b := d.take((n + 63) / 64 * 8); b != nil {
			v.Valid = NewBitmap(n)
			for i := range v.Valid {
				v.Valid[i] = binary.LittleEndian.Uint64(b[8*i:])
			}
		}
	}
	switch {
	case d.err != nil:
	case enc == encodingDict:
		d.dict(v, n)
	case t.Kind == KindLong:
		if b := d.take(8 * n); b != nil {
			v.Longs = make([]int64, n)
			for i := range v.Longs {
				v.Longs[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
			}
		}
	case t.Kind == KindDouble:
		if b := d.take(8 * n); b != nil {
			v.Doubles = make([]float64, n)
			for i := range v.Doubles {
				v.Doubles[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			}
		}
	case t.Kind == KindFloat:
		if b := d.take(4 * n); b != nil {
			v.Floats = make([]float32, n)
			for i := range v.Floats {
				v.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
			}
		}
	case t.Kind == KindList:
		v.Offsets = d.offsets(n)
		m := d.u32()
		if d.err == nil && (m > maxFrameRows || int(v.Offsets[n]) != m) {
			d.fail("a list does not fit its elements")
		}
		if d.err == nil {
			v.Child = d.column(t.Elem(), m)
		}
	default:
		offs := d.offsets(n)
		if d.err != nil {
			break
		}
		text := string(d.take(int(offs[n])))
		if d.err == nil {
			v.Strings = make([]string, n)
			for i := range v.Strings {
				v.Strings[i] = text[offs[i]:offs[i+1]]
			}
		}
	}
	return v
}

// offsets reads n+1 ascending offsets that start at 0.
func (d *frameDecoder) offsets(n int) []uint32 {
	b := d.take(4 * (n + 1))
	if b == nil {
		return nil
	}
	offs := make([]uint32, n+1)
	for i := range offs {
		offs[i] = binary.LittleEndian.Uint32(b[4*i:])
		if i == 0 && offs[0] != 0 || i > 0 && offs[i] < offs[i-1] {
			d.fail("offsets go backwards")
			return nil
		}
	}
	return offs
}

func (d *frameDecoder) dict(v *Vector, n int) {
	sorted := d.byte() != 0
	entries := d.u32()
	if entries > maxFrameRows {
		d.fail("a dictionary is too large")
		return
	}
	offs := d.offsets(entries)
	if d.err != nil {
		return
	}
	v.Dict = &Dict{Offsets: offs, Blob: slices.Clone(d.take(int(offs[entries]))), Sorted: sorted}
	if d.err != nil {
		return
	}
	for i := 1; sorted && i < entries; i++ {
		if v.Dict.Value(uint32(i-1)) >= v.Dict.Value(uint32(i)) {
			d.fail("a dictionary is not in order")
			return
		}
	}
	b := d.take(4 * n)
	if b == nil {
		return
	}
	v.Codes = make([]uint32, n)
	for i := range v.Codes {
		v.Codes[i] = binary.LittleEndian.Uint32(b[4*i:])
		if int(v.Codes[i]) >= entries {
			d.fail("a code is outside its dictionary")
			return
		}
	}
}

// FrameWriter writes batches to a stream, one frame each; batches too large for a frame are split.
type FrameWriter struct {
	w   io.Writer
	buf []byte
}

// NewFrameWriter returns a writer to w.
func NewFrameWriter(w io.Writer) *FrameWriter { return &FrameWriter{w: w} }

// Write writes the selected rows of b; without rows, it writes nothing.
func (f *FrameWriter) Write(b *Batch) error {
	n := b.Rows()
	if n == 0 {
		return nil
	}
	if n > 1 && (n > maxFrameRows || b.Bytes() > splitFrameBytes) {
		if err := f.Write(b.Slice(0, n/2)); err != nil {
			return err
		}
		return f.Write(b.Slice(n/2, n))
	}
	var err error
	if f.buf, err = AppendFrame(f.buf[:0], b); err != nil {
		return err
	}
	_, err = f.w.Write(f.buf)
	invariant.Poison(f.buf) // a writer that still holds it breaks its contract
	return err
}

// FrameReader reads the batches of a stream of frames.
type FrameReader struct {
	r   io.Reader
	buf []byte
}

// NewFrameReader returns a reader from r, which should be buffered.
func NewFrameReader(r io.Reader) *FrameReader { return &FrameReader{r: r} }

// Next returns the next batch, which does not share memory with the reader, or io.EOF at the end of
// the stream.
func (f *FrameReader) Next() (*Batch, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, f.broken(err)
	}
	size, err := frameSize(head[:])
	if err != nil {
		return nil, err
	}
	f.buf = append(f.buf[:0], head[:]...)
	// Grow with what arrives, not with what the header claims.
	for len(f.buf) < frameHeader+size {
		step := min(frameHeader+size-len(f.buf), 1<<20)
		at := len(f.buf)
		f.buf = slices.Grow(f.buf, step)[:at+step]
		if _, err := io.ReadFull(f.r, f.buf[at:]); err != nil {
			return nil, f.broken(err)
		}
	}
	b, _, err := DecodeFrame(f.buf)
	invariant.Poison(f.buf) // the batch shares nothing with it
	return b, err
}

func (f *FrameReader) broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return corrupt("the stream is cut short")
	}
	return fmt.Errorf("reading a batch: %w", err)
}
