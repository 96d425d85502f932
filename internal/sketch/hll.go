package sketch

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/apache/datasketches-go/hll"

	"github.com/hengedb/henge/internal/fault"
)

// Bounds of the logarithm of the number of registers of an HLL sketch.
const (
	MinHLLLog = 4
	MaxHLLLog = 21
)

// HLLTypes are the names of register widths, narrowest first.
var HLLTypes = []string{"HLL_4", "HLL_6", "HLL_8"}

// HLL estimates how many different values were added. Storage, estimators and union are those of
// the library; the stored form is the compact one of DataSketches. A sketch that only had values
// added is of the type asked for and estimates by history; one that others were merged into is of
// type HLL_4, and estimates from its registers once registers met registers, as Druid has it. It
// belongs to one goroutine. See quirk Q008.
type HLL struct {
	log   int
	typ   hll.TgtHllType
	plain hll.HllSketch // nil: nothing was added, or union is set
	union hll.Union
	// stored is what plain was read from, as long as it did not change: reading sorts the values of
	// small sketches anew.
	stored string
	groups bool // by MergeGroup
}

// NewHLL returns an empty sketch of 1<<log registers of the type that HLLTypes has at typ.
func NewHLL(log, typ int) *HLL { return &HLL{log: log, typ: hll.TgtHllType(typ)} }

// CheckHLL reports what is wrong with the parameters of a sketch, and the number of its type.
func CheckHLL(log int64, typ string) (int, error) {
	if log < MinHLLLog || log > MaxHLLLog {
		return 0, fault.InvalidInput("The lgK of an HLL sketch must be from [%d] to [%d], not [%d]", MinHLLLog, MaxHLLLog, log)
	}
	for i, name := range HLLTypes {
		if name == typ {
			return i, nil
		}
	}
	return 0, fault.InvalidInput("The type of an HLL sketch must be one of [%s], not [%s]", strings.Join(HLLTypes, ", "), typ)
}

// updater is what a plain sketch and a union share.
type updater interface {
	UpdateInt64(int64) error
	UpdateSlice([]byte) error
	GetUpdatableSerializationBytes() int
	IsEmpty() bool
}

func (h *HLL) target() (updater, error) {
	h.stored = ""
	switch {
	case h.union != nil:
		return h.union, nil
	case h.plain != nil:
		return h.plain, nil
	}
	var err error
	if h.plain, err = hll.NewHllSketch(h.log, h.typ); err != nil {
		return nil, hllFailed(err)
	}
	return h.plain, nil
}

// AddLong adds a whole number.
func (h *HLL) AddLong(x int64) error {
	u, err := h.target()
	if err == nil {
		err = u.UpdateInt64(x)
	}
	return hllFailed(err)
}

// AddDouble adds a double.
func (h *HLL) AddDouble(x float64) error { return h.AddLong(int64(canonicalBits(x))) }

// AddBytes adds text that is encoded as the sketch has it. Empty text adds nothing.
func (h *HLL) AddBytes(s []byte) error {
	if len(s) == 0 {
		return nil
	}
	u, err := h.target()
	if err == nil {
		err = u.UpdateSlice(s)
	}
	return hllFailed(err)
}

// AppendUTF16 appends text as UTF-16, little endian: what HLL sketches hash unless they are told to
// take UTF-8.
func AppendUTF16(dst []byte, s string) []byte {
	for _, r := range s {
		if r < 0x10000 {
			dst = append(dst, byte(r), byte(r>>8))
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		dst = append(dst, byte(hi), byte(hi>>8), byte(lo), byte(lo>>8))
	}
	return dst
}

// Merge adds everything that was added to o, which is left as it is.
func (h *HLL) Merge(o *HLL) error { return h.merge(o, o.stored) }

// merge is Merge for a sketch whose values come in the order of its stored form; "": in that of
// what was read from it.
func (h *HLL) merge(o *HLL, stored string) error {
	from, err := o.sketch()
	if err != nil || from == nil || from.IsEmpty() {
		return err
	}
	if h.union == nil {
		u, err := hll.NewUnion(h.log)
		if err != nil {
			return hllFailed(err)
		}
		if h.plain != nil {
			if u, err = unite(u, h.log, h.plain, h.stored); err != nil {
				return err
			}
		}
		h.union, h.plain, h.stored = u, nil, ""
	}
	u, err := unite(h.union, h.log, from, stored)
	if err != nil {
		return err
	}
	h.union = u
	return nil
}

// MergeGroup is Merge for the sketch of a group, of a query or of rows that are rolled up, whose
// values come in the order of what was read: what they make together is of the type asked for,
// registers too, and keeps the history that merging leaves.
func (h *HLL) MergeGroup(o *HLL) error {
	h.groups = true
	return h.merge(o, "")
}

// Adopt is Merge, but takes the first sketch as it is: a partial result of this one, not an input.
func (h *HLL) Adopt(o *HLL) error {
	if h.plain == nil && h.union == nil && o.plain != nil && o.log <= h.log {
		copied, err := o.plain.Copy()
		if err != nil {
			return hllFailed(err)
		}
		h.plain, h.stored = copied, o.stored
		return nil
	}
	return h.Merge(o)
}

// sketch returns the sketch as it is stored, nil if nothing was added.
func (h *HLL) sketch() (hll.HllSketch, error) {
	if h.union == nil {
		return h.plain, nil
	}
	s, err := h.union.GetResult(hll.TgtHllTypeHll4)
	return s, hllFailed(err)
}

// filled is sketch, but an empty one instead of nil.
func (h *HLL) filled() (hll.HllSketch, error) {
	s, err := h.sketch()
	if s == nil && err == nil {
		s, err = hll.NewHllSketch(h.log, h.typ)
	}
	return s, hllFailed(err)
}

// Empty reports whether nothing was added.
func (h *HLL) Empty() bool { return h.union == nil && (h.plain == nil || h.plain.IsEmpty()) }

// Estimate returns the estimated number of different values.
func (h *HLL) Estimate() (float64, error) {
	s, err := h.filled()
	if err != nil {
		return 0, err
	}
	e, err := s.GetEstimate()
	return e, hllFailed(err)
}

// Bounds returns bounds of the estimate at 1 to 3 standard deviations.
func (h *HLL) Bounds(deviations int) (low, high float64, err error) {
	if deviations < 1 || deviations > 3 {
		return 0, 0, fault.InvalidInput("The number of standard deviations must be 1, 2 or 3, not [%d]", deviations)
	}
	s, err := h.filled()
	if err != nil {
		return 0, 0, err
	}
	if low, err = s.GetLowerBound(deviations); err == nil {
		high, err = s.GetUpperBound(deviations)
	}
	return low, high, hllFailed(err)
}

// AppendBinary appends the stored form.
func (h *HLL) AppendBinary(dst []byte) ([]byte, error) {
	if h.stored != "" {
		return append(dst, h.stored...), nil
	}
	if h.groups {
		return h.AppendBinaryAs(int(h.typ), dst)
	}
	s, err := h.filled()
	if err != nil {
		return dst, err
	}
	b, err := s.ToCompactSlice()
	return append(dst, b...), hllFailed(err)
}

// AppendRead appends the stored form of what is read from the stored form of h: the values of a
// small sketch find other places then, and it is of the type asked for.
func (h *HLL) AppendRead(dst []byte) ([]byte, error) {
	b, err := h.AppendBinary(nil)
	if err != nil {
		return dst, err
	}
	if mode := &b[hllModeAt]; *mode&hllModeMask != hllModeArray { // values are stored the same for each type
		*mode = *mode&hllModeMask | byte(h.typ)<<2
	}
	if b[hllModeAt]&hllModeMask != hllModeSet {
		return append(dst, b...), nil
	}
	s, err := hll.NewHllSketchFromSlice(b, true)
	if err != nil {
		return dst, hllFailed(err)
	}
	b, err = s.ToCompactSlice()
	return append(dst, b...), hllFailed(err)
}

// AppendBinaryAs is AppendBinary for a sketch of the type that HLLTypes has at typ.
func (h *HLL) AppendBinaryAs(typ int, dst []byte) ([]byte, error) {
	s, err := h.filled()
	if err != nil {
		return dst, err
	}
	if s, err = s.CopyAs(hll.TgtHllType(typ)); err != nil {
		return dst, hllFailed(err)
	}
	b, err := s.ToCompactSlice()
	return append(dst, b...), hllFailed(err)
}

// Places in the stored form that the library does not show.
const (
	hllMinLength  = 8
	hllFamily     = 7
	hllOutOfOrder = 16
	hllModeMask   = 3
	hllModeList   = 0
	hllModeSet    = 1
	hllModeArray  = 2
	hllArrayStart = 40
	hllSetStart   = 12
)

// ParseHLL reads the stored form; no bytes at all are an empty sketch.
func ParseHLL(p string) (h *HLL, err error) {
	if p == "" {
		return NewHLL(12, 0), nil
	}
	if why := hllUnfit(p); why != "" {
		return nil, hllCorrupt(why)
	}
	defer func() {
		if recover() != nil { // the library trusts what it reads in places
			h, err = nil, hllCorrupt("its bytes are damaged")
		}
	}()
	s, err := hll.NewHllSketchFromSlice([]byte(p), true)
	if err != nil {
		return nil, hllCorrupt("its bytes are damaged")
	}
	return &HLL{log: s.GetLgConfigK(), typ: s.GetTgtHllType(), plain: s, stored: p}, nil
}

// Bytes returns the memory held.
func (h *HLL) Bytes() int64 {
	switch {
	case h.union != nil:
		return 320 + int64(h.union.GetUpdatableSerializationBytes())
	case h.plain != nil:
		return 240 + int64(h.plain.GetUpdatableSerializationBytes())
	}
	return 48
}

// Text describes the sketch in words, as Druid does. doubleText writes numbers. See quirk Q008.
func (h *HLL) Text(doubleText func(float64) string) (string, error) {
	b, err := h.AppendBinary(nil)
	if err != nil {
		return "", err
	}
	low, high, err := h.Bounds(1)
	if err != nil {
		return "", err
	}
	estimate, err := h.Estimate()
	if err != nil {
		return "", err
	}
	mode := [...]string{"LIST", "SET", "HLL", ""}[b[7]&hllModeMask]
	var t strings.Builder
	line := func(name, value string) { fmt.Fprintf(&t, "  %-15s: %s\n", name, value) }
	t.WriteString("### HLL SKETCH SUMMARY: \n")
	line("Log Config K", strconv.Itoa(int(b[3])))
	line("Hll Target", HLLTypes[b[7]>>2&3])
	line("Current Mode", mode)
	line("Memory", "false")
	line("LB", doubleText(low))
	line("Estimate", doubleText(estimate))
	line("UB", doubleText(high))
	line("OutOfOrder Flag", strconv.FormatBool(b[5]&hllOutOfOrder != 0))
	switch mode {
	case "LIST":
		line("Coupon Count", strconv.Itoa(int(b[6])))
	case "SET":
		line("Coupon Count", strconv.Itoa(int(binary.LittleEndian.Uint32(b[8:]))))
	default:
		number := func(at int) string { return doubleText(math.Float64frombits(binary.LittleEndian.Uint64(b[at:]))) }
		line("CurMin", strconv.Itoa(int(b[6])))
		line("NumAtCurMin", strconv.Itoa(int(binary.LittleEndian.Uint32(b[32:]))))
		line("HipAccum", number(8))
		line("KxQ0", number(16))
		line("KxQ1", number(24))
		line("Rebuild KxQ Flg", "false")
	}
	return t.String(), nil
}

func hllFailed(err error) error {
	if err == nil || fault.Find(err) != nil {
		return err
	}
	return fault.Defensive("An HLL sketch can't be computed: %v", err)
}

func hllCorrupt(why string) error {
	return fmt.Errorf("reading a sketch: %w", fault.InvalidInput("An HLL sketch can't be read: %s.", why))
}
