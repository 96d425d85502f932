package sketch

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/hengedb/henge/internal/fault"
)

const (
	buckets    = 2048
	bucketMask = buckets - 1
	registers  = buckets / 2 // two registers of four bits share a byte: even buckets have the upper half
	maxNibble  = 15

	hyperVersion = 1
	hyperHeader  = 7
	wholeVersion = 2 // of AppendWhole
	// sparseBelow is the number of registers in use from which the stored form is dense.
	sparseBelow = 128
	// sparseMax bounds the observations kept one by one before the registers are allocated.
	sparseMax = 48
)

// Observation is what a hash adds to a HyperUnique: the bucket, and above it the position of the
// lowest set bit of the hash's first eight bytes. The zero Observation adds nothing.
type Observation uint32

func observe(h1, h2 uint64) Observation {
	// The bucket is the last two bytes of the sixteen, the later one lower.
	last := uint16(h2>>56) | uint16(h2>>48)<<8
	pos := uint32(64)
	if h1 != 0 {
		pos = uint32(bits.TrailingZeros64(h1)) + 1
	}
	return Observation(pos<<16 | uint32(last&bucketMask))
}

// ObserveText hashes text as UTF-8 with seed 0, as hyperUnique columns do. The empty text is a
// value whose hash is 0: it is kept as the largest there is, and adds nothing to estimates of few.
func ObserveText(s string) Observation { return observe(murmur3([]byte(s))) }

// ObserveChars hashes text as UTF-16, little endian: what counting a string column in a query does,
// whereas hyperUnique columns are made with ObserveText. The two must not be mixed.
func ObserveChars(s string) Observation {
	if h1, h2, ok := murmur3ASCII(s); ok {
		return observe(h1, h2)
	}
	var stack [256]byte
	return observe(murmur3(AppendUTF16(stack[:0], s)))
}

// The marks of texts that are numbers: ObserveMarked hashes the number behind them.
const (
	MarkLong   = "\x00L"
	MarkDouble = "\x00D"
	MarkFloat  = "\x00F"
)

// ObserveMarked hashes text as ObserveChars does, and what is marked as a number as that number:
// values of several types in one list.
func ObserveMarked(s string) Observation {
	if len(s) < 2 || s[0] != 0 {
		return ObserveChars(s)
	}
	switch number := s[2:]; s[:2] {
	case MarkLong:
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			return ObserveLong(n)
		}
	case MarkDouble:
		if x, err := strconv.ParseFloat(number, 64); err == nil {
			return ObserveDouble(x)
		}
	case MarkFloat:
		if x, err := strconv.ParseFloat(number, 32); err == nil {
			return ObserveFloat(float32(x))
		}
	}
	return ObserveChars(s)
}

// ObserveLong hashes a long by its eight bytes.
func ObserveLong(x int64) Observation { return observe(murmur3Long(uint64(x))) }

// ObserveDouble hashes a double by the bits of its value; every NaN is the same.
func ObserveDouble(x float64) Observation {
	if x != x {
		return observe(murmur3Long(0x7ff8000000000000))
	}
	return observe(murmur3Long(math.Float64bits(x)))
}

// ObserveFloat hashes a float by its four bytes.
func ObserveFloat(x float32) Observation {
	if x != x {
		return observe(murmur3Int(0x7fc00000))
	}
	return observe(murmur3Int(math.Float32bits(x)))
}

// HyperUnique estimates how many different values were added: HyperLogLog with 2,048 registers of
// four bits above a common offset, and one register more for the largest value that four bits can't
// hold. The standard error is 1.04/sqrt(2048), 2.3 %. The zero HyperUnique is empty. It belongs to
// one goroutine.
//
// The stored form is that of Druid:
//
//	0  1  version, 1
//	1  1  offset added to every register
//	2  2  registers that are not zero, big endian
//	4  1  largest value beyond four bits, 0: none
//	5  2  its bucket
//	7     sparse: for each pair of registers in use its index + 7 (2) and its byte;
//	      dense: 1,024 bytes
type HyperUnique struct {
	few       []Observation // before regs exists: different buckets, each with its largest position, and its largest that a register can hold
	regs      []byte
	offset    uint8
	nonZero   uint16
	overflow  uint8
	overflows uint16 // the bucket of overflow
	// beyond are observations below the overflow that no register could hold. They are not stored, but
	// once the offset is high enough they have a register: so what is estimated does not depend on the
	// order in which they came.
	beyond []Observation
}

// Add adds an observation and reports whether that changed anything, memory included.
func (h *HyperUnique) Add(o Observation) {
	if o == 0 {
		return
	}
	if h.regs == nil {
		for i, f := range h.few {
			if uint16(f) == uint16(o) && (f>>16 > maxNibble) == (o>>16 > maxNibble) {
				h.few[i] = max(f, o)
				return
			}
		}
		if len(h.few) < sparseMax {
			h.few = append(h.few, o)
			return
		}
		h.expand()
	}
	h.add(uint16(o), uint8(o>>16))
}

// Holds reports whether o is known to change nothing, as most are once there are many; false says
// nothing. It is quicker than Add.
func (h *HyperUnique) Holds(o Observation) bool {
	if h.regs == nil {
		return false
	}
	pos, bucket := uint8(o>>16), uint16(o)
	return pos <= h.offset || pos-h.offset <= h.regs[bucket>>1]>>(4*(^bucket&1))&0x0f
}

// Floor returns an observation below which all change nothing.
func (h *HyperUnique) Floor() Observation {
	if h.regs == nil {
		return 0
	}
	return Observation(uint32(h.offset)+1) << 16
}

// pair is two registers in use that share a byte, and its position.
type pair struct {
	position int
	b        byte
}

// fewPairs is what the registers would hold of few observations, in their order; ok is false when
// four bits can't hold one of them.
func (h *HyperUnique) fewPairs(buf []pair) (out []pair, ok bool) {
	for _, f := range h.few {
		bucket, pos := uint16(f), byte(f>>16)
		if pos > maxNibble {
			return nil, false
		}
		if bucket&1 == 0 {
			pos <<= 4
		}
		position := int(bucket >> 1)
		at := len(buf)
		for at > 0 && buf[at-1].position > position {
			at--
		}
		if at > 0 && buf[at-1].position == position {
			buf[at-1].b |= pos // the other register: each bucket comes once
			continue
		}
		buf = slices.Insert(buf, at, pair{position, pos})
	}
	return buf, true
}

// expanded returns a copy of a sketch of few observations that has registers.
func (h *HyperUnique) expanded() *HyperUnique {
	d := &HyperUnique{few: h.few}
	d.expand()
	return d
}

// expand allocates the registers and moves the observations there.
func (h *HyperUnique) expand() {
	h.regs = make([]byte, registers)
	for _, f := range h.few {
		h.add(uint16(f), uint8(f>>16))
	}
	h.few = nil
}

func (h *HyperUnique) add(bucket uint16, pos uint8) {
	if pos <= h.offset {
		return
	}
	if pos > h.offset+maxNibble {
		h.addBeyond(bucket, pos)
		return
	}
	x := pos - h.offset
	r := &h.regs[bucket>>1]
	if bucket&1 == 0 {
		if *r>>4 == 0 {
			h.nonZero++
		}
		*r = max(*r>>4, x)<<4 | *r&0x0f
	} else {
		if *r&0x0f == 0 {
			h.nonZero++
		}
		*r = *r&0xf0 | max(*r&0x0f, x)
	}
	if h.nonZero == buckets {
		h.raise()
	}
}

// addBeyond adds what four bits can't hold. The largest is the overflow, of equal ones that of the
// first bucket.
func (h *HyperUnique) addBeyond(bucket uint16, pos uint8) {
	switch {
	case pos > h.overflow || pos == h.overflow && bucket < h.overflows:
		pos, h.overflow = h.overflow, pos
		bucket, h.overflows = h.overflows, bucket
		h.add(bucket, pos)
	case pos < h.overflow || bucket != h.overflows:
		if o := Observation(pos)<<16 | Observation(bucket); !slices.Contains(h.beyond, o) {
			h.beyond = append(h.beyond, o)
		}
	}
}

// raise subtracts one from all registers, none of which is zero.
func (h *HyperUnique) raise() {
	h.offset++
	h.nonZero = 0
	for i := range h.regs {
		h.regs[i] -= 0x11
		if h.regs[i]&0xf0 != 0 {
			h.nonZero++
		}
		if h.regs[i]&0x0f != 0 {
			h.nonZero++
		}
	}
	beyond := h.beyond
	h.beyond = nil
	for _, o := range beyond {
		h.add(uint16(o), uint8(o>>16))
	}
}

// Merge adds everything that was added to o, which is left as it is.
func (h *HyperUnique) Merge(o *HyperUnique) {
	if o.regs == nil {
		for _, f := range o.few {
			h.Add(f)
		}
		return
	}
	if h.regs == nil {
		h.expand()
	}
	if h.offset < o.offset {
		// Fold the lower one into a copy of the higher, whose offset stands.
		low := *h
		*h = *o
		h.regs, h.beyond = slices.Clone(o.regs), slices.Clone(o.beyond)
		o = &low
	}
	diff := int(h.offset) - int(o.offset)
	for i, b := range o.regs {
		if b == 0 {
			continue
		}
		up, low := h.regs[i]>>4, h.regs[i]&0x0f
		newUp, newLow := max(int(up), int(b>>4)-diff), max(int(low), int(b&0x0f)-diff)
		if up == 0 && newUp > 0 {
			h.nonZero++
		}
		if low == 0 && newLow > 0 {
			h.nonZero++
		}
		h.regs[i] = byte(newUp<<4 | newLow)
	}
	if h.nonZero == buckets {
		h.raise()
	}
	h.add(o.overflows, o.overflow)
	for _, x := range o.beyond {
		h.add(uint16(x), uint8(x>>16))
	}
}

var (
	hyperAlpha  = 0.7213 / (1 + 1.079/float64(buckets))
	hyperFactor = hyperAlpha * buckets * buckets
	twoTo64     = math.Pow(2, 64)
	powers      = powersOfHalf() // 2 to the power of minus what a register says
)

func powersOfHalf() (out [maxNibble + 65]float64) {
	for i := range out {
		out[i] = math.Ldexp(1, -i)
	}
	return out
}

// Estimate returns the estimated number of different values.
func (h *HyperUnique) Estimate() float64 {
	if len(h.few) == 0 && h.regs == nil {
		return 0
	}
	if h.regs == nil {
		var buf [sparseMax]pair
		if pairs, ok := h.fewPairs(buf[:0]); ok {
			return h.estimateSparse(pairs, len(h.few))
		}
		return h.expanded().Estimate()
	}
	if h.nonZero < sparseBelow {
		var buf [sparseBelow]pair
		return h.estimateSparse(h.pairsInUse(buf[:0]), int(h.nonZero))
	}
	return h.estimateDense()
}

// EstimateHeld is Estimate as Druid does it for a sketch that it has not passed on, which has all
// registers: so the largest value counts, too, where there are few, but not where there is no
// other. See quirk Q008.
func (h *HyperUnique) EstimateHeld() float64 {
	if h.regs == nil {
		if !slices.ContainsFunc(h.few, func(f Observation) bool { return f>>16 > maxNibble }) {
			return h.Estimate()
		}
		h = h.expanded()
	}
	if h.nonZero == 0 && h.offset == 0 {
		return 0
	}
	return h.estimateDense()
}

// estimateDense estimates from all registers.
func (h *HyperUnique) estimateDense() float64 {
	sum, zeros := 0.0, 0
	var counts [maxNibble + 1]int
	special := -1
	if h.overflow != 0 {
		special = int(h.overflows >> 1)
	}
	for i, b := range h.regs {
		if i == special {
			continue
		}
		counts[b>>4]++
		counts[b&0x0f]++
	}
	for x, n := range counts {
		sum += float64(n) * powers[x+int(h.offset)]
	}
	zeros = counts[0]
	if special >= 0 {
		more, none := h.withOverflow(h.regs[special])
		sum += more
		zeros += none
	}
	return corrected(sum, zeros)
}

// withOverflow returns what a pair of registers adds to the sum, and how many of the two count as
// zero, when the largest value belongs to one of them.
func (h *HyperUnique) withOverflow(pair byte) (sum float64, zeros int) {
	up, low := int(pair>>4)+int(h.offset), int(pair&0x0f)+int(h.offset)
	if h.overflows&1 == 0 {
		up = max(up, int(h.overflow))
	} else {
		low = max(low, int(h.overflow))
	}
	// quirk Q008: Druid looks at the upper half of a value that it has already shifted down.
	if up&0xf0 == 0 {
		zeros++
	}
	if low&0x0f == 0 {
		zeros++
	}
	return powers[up] + powers[low], zeros
}

// estimateSparse estimates as Druid does from the sparse form, in which it passes on the states of
// few values. The positions there count from before the header and that of the largest value does
// not, so that this value is seen only where it meets another pair: such a bucket is as if it were
// empty. See quirk Q008.
func (h *HyperUnique) estimateSparse(inUse []pair, nonZero int) float64 {
	sum, zeros := 0.0, buckets
	entry := func(position int, b byte) {
		more, none := powers[b>>4+h.offset]+powers[b&0x0f+h.offset], 0
		if b>>4 == 0 {
			none++
		}
		if b&0x0f == 0 {
			none++
		}
		if h.overflow != 0 && position == int(h.overflows>>1) {
			more, none = h.withOverflow(b)
		}
		sum += more
		zeros += none - 2
	}
	for _, p := range inUse {
		entry(p.position+hyperHeader, p.b)
	}
	for range nonZero - len(inUse) {
		entry(0, 0)
	}
	return corrected(sum+float64(zeros), zeros)
}

// pairsInUse returns the registers in use.
func (h *HyperUnique) pairsInUse(buf []pair) []pair {
	for i, b := range h.regs {
		if b != 0 {
			buf = append(buf, pair{i, b})
		}
	}
	return buf
}

// corrected turns the sum over all registers into an estimate.
func corrected(sum float64, zeros int) float64 {
	e := hyperFactor / sum
	switch {
	case e <= 5*buckets/2.0:
		if zeros == 0 {
			return e
		}
		return buckets * math.Log(buckets/float64(zeros))
	case e > twoTo64/30:
		ratio := e / twoTo64
		if ratio >= 1 {
			return math.Inf(1)
		}
		return -twoTo64 * math.Log(1-ratio)
	}
	return e
}

// AppendBinary appends the stored form.
func (h *HyperUnique) AppendBinary(dst []byte) []byte {
	var buf [sparseBelow]pair
	var inUse []pair
	nonZero := int(h.nonZero)
	if h.regs == nil {
		var ok bool
		if inUse, ok = h.fewPairs(buf[:0]); !ok {
			return h.expanded().AppendBinary(dst)
		}
		nonZero = len(h.few)
	}
	dst = append(dst, hyperVersion, h.offset)
	dst = binary.BigEndian.AppendUint16(dst, uint16(nonZero))
	dst = append(dst, h.overflow)
	dst = binary.BigEndian.AppendUint16(dst, h.overflows)
	if nonZero >= sparseBelow {
		return append(dst, h.regs...)
	}
	if h.regs != nil {
		inUse = h.pairsInUse(buf[:0])
	}
	// quirk Q008: Druid sizes the sparse form for one entry per register and leaves the unused ones
	// zero.
	end := len(dst) + 3*nonZero
	for _, p := range inUse {
		dst = binary.BigEndian.AppendUint16(dst, uint16(p.position+hyperHeader))
		dst = append(dst, p.b)
	}
	for len(dst) < end {
		dst = append(dst, 0)
	}
	return dst
}

// AppendWhole appends a form that nothing is lost in, for what is merged later: the stored one, or
// before it, when there are observations that it has no place for, a version of its own, their
// number, and each in four bytes, big endian.
func (h *HyperUnique) AppendWhole(dst []byte) []byte {
	if slices.ContainsFunc(h.few, func(f Observation) bool { return f>>16 > maxNibble }) {
		h = h.expanded()
	}
	if len(h.beyond) == 0 || len(h.beyond) > math.MaxUint8 {
		return h.AppendBinary(dst)
	}
	dst = append(dst, wholeVersion, byte(len(h.beyond)))
	for _, o := range h.beyond {
		dst = binary.BigEndian.AppendUint32(dst, uint32(o))
	}
	return h.AppendBinary(dst)
}

// ParseHyperUnique reads either form; no bytes at all are an empty sketch.
func ParseHyperUnique(p string) (*HyperUnique, error) {
	if p == "" {
		return &HyperUnique{}, nil
	}
	if p[0] != wholeVersion {
		return parseStored(p)
	}
	if len(p) < 2 || len(p) < 2+4*int(p[1]) {
		return nil, hyperCorrupt("its length is wrong")
	}
	beyond := p[2 : 2+4*int(p[1])]
	h, err := parseStored(p[2+len(beyond):])
	if err != nil {
		return nil, err
	}
	for ; len(beyond) > 0; beyond = beyond[4:] {
		o := Observation(beyond[0])<<24 | Observation(beyond[1])<<16 | Observation(beyond[2])<<8 | Observation(beyond[3])
		if uint16(o) >= buckets || o>>16 > 64 {
			return nil, hyperCorrupt("an observation is out of range")
		}
		h.add(uint16(o), uint8(o>>16))
	}
	return h, nil
}

func parseStored(p string) (*HyperUnique, error) {
	h := &HyperUnique{}
	if len(p) < hyperHeader || p[0] != hyperVersion {
		return nil, hyperCorrupt("its header is unknown")
	}
	h.offset, h.nonZero, h.overflow = p[1], uint16(p[2])<<8|uint16(p[3]), p[4]
	h.overflows = uint16(p[5])<<8 | uint16(p[6])
	if h.offset > 64 || h.overflow > 64 || h.overflows >= buckets {
		return nil, hyperCorrupt("a number in its header is out of range")
	}
	switch body := p[hyperHeader:]; {
	case len(body) == registers:
		h.regs = []byte(body)
	case len(body)%3 != 0:
		return nil, hyperCorrupt("its length is wrong")
	case h.offset == 0 && h.overflow == 0 && len(body) <= 3*sparseMax: // so many registers are in use at most
		err := eachStored(body, func(at int, b byte) {
			if up := Observation(b >> 4); up > 0 {
				h.Add(up<<16 | Observation(2*at))
			}
			if low := Observation(b & 0x0f); low > 0 {
				h.Add(low<<16 | Observation(2*at+1))
			}
		})
		h.nonZero = 0
		return h, err
	default:
		h.regs = make([]byte, registers)
		if err := eachStored(body, func(at int, b byte) { h.regs[at] = b }); err != nil {
			return nil, err
		}
	}
	// Count anew: the number decides when registers are raised and must not be believed.
	h.nonZero = 0
	for _, b := range h.regs {
		if b&0xf0 != 0 {
			h.nonZero++
		}
		if b&0x0f != 0 {
			h.nonZero++
		}
	}
	if h.nonZero == buckets {
		h.raise()
	}
	return h, nil
}

// eachStored calls f with the pairs of registers of the sparse form.
func eachStored(body string, f func(at int, b byte)) error {
	for ; len(body) > 0; body = body[3:] {
		at := int(body[0])<<8 | int(body[1])
		if at == 0 && body[2] == 0 {
			continue
		}
		at -= hyperHeader
		if at < 0 || at >= registers {
			return hyperCorrupt("a register is out of range")
		}
		f(at, body[2])
	}
	return nil
}

func hyperCorrupt(why string) error {
	return fmt.Errorf("reading a sketch: %w", fault.InvalidInput("A hyperUnique sketch can't be read: %s.", why))
}

// Bytes returns the memory held.
func (h *HyperUnique) Bytes() int64 { return 64 + int64(cap(h.regs)) + 4*int64(cap(h.few)) }
