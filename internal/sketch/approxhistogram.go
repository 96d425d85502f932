package sketch

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

const (
	// maxHistogramBins bounds the time that merging takes, which grows with the square.
	maxHistogramBins = 4096
	// maxCompact is the most values that the compact form can hold of either kind.
	maxCompact = math.MaxInt8
	// mergedBin marks in the stored form the count of a bin that was merged.
	mergedBin = 1 << 63
)

// ApproxHistogram is a histogram of a bounded number of bins, of which the nearest two are merged
// when there are too many: Ben-Haim and Tom-Tov, "A Streaming Parallel Decision Tree Algorithm".
// Bytes and quantiles are those of Druid's approximate histogram. See quirk Q008.
type ApproxHistogram struct {
	size            int
	bins            []histogramBin // sorted by position
	least, greatest float32
	count           int64
}

type histogramBin struct {
	position float32
	count    int64
	// merged says that the values were not all equal to the position.
	merged bool
}

// CheckHistogram refuses a number of bins that no histogram can have.
func CheckHistogram(bins int64) error {
	if bins < 2 || bins > maxHistogramBins {
		return fault.InvalidInput("The resolution [%d] of a histogram must be from 2 to %d", bins, maxHistogramBins)
	}
	return nil
}

// NewApproxHistogram returns an empty histogram of at most bins bins, which CheckHistogram accepts.
func NewApproxHistogram(bins int) *ApproxHistogram {
	return &ApproxHistogram{size: bins, least: float32(math.Inf(1)), greatest: float32(math.Inf(-1))}
}

// Add adds a value; NaN is none.
func (h *ApproxHistogram) Add(x float32) {
	if x != x {
		return
	}
	h.least, h.greatest = min(h.least, x), max(h.greatest, x)
	h.count++
	at, found := slices.BinarySearchFunc(h.bins, x, func(b histogramBin, x float32) int {
		switch {
		case b.position < x:
			return -1
		case b.position > x:
			return 1
		}
		return 0
	})
	switch {
	case found:
		h.bins[at].count++
		return
	case len(h.bins) < h.size:
		h.bins = slices.Insert(h.bins, at, histogramBin{position: x, count: 1})
		return
	}
	nearest, delta := h.nearest()
	into := -1
	if at < len(h.bins) && h.bins[at].position-x < delta {
		into, delta = at, h.bins[at].position-x
	}
	if at > 0 && x-h.bins[at-1].position < delta {
		into = at - 1
	}
	if into >= 0 {
		b := &h.bins[into]
		b.position = (b.position*float32(b.count) + x) / float32(b.count+1)
		b.count, b.merged = b.count+1, true
		return
	}
	h.join(nearest)
	if at > nearest {
		at--
	}
	h.bins = slices.Insert(h.bins, at, histogramBin{position: x, count: 1})
}

// nearest returns the first of the two neighbours that are nearest to each other, and their
// distance.
func (h *ApproxHistogram) nearest() (int, float32) {
	at, delta := -1, float32(math.Inf(1))
	for i := range len(h.bins) - 1 {
		if d := h.bins[i+1].position - h.bins[i].position; d < delta {
			at, delta = i, d
		}
	}
	return at, delta
}

// join merges bin i with the next.
func (h *ApproxHistogram) join(i int) {
	a, b := h.bins[i], h.bins[i+1]
	n := a.count + b.count
	position := float32((float64(a.position)*float64(a.count) + float64(b.position)*float64(b.count)) / float64(n))
	h.bins[i] = histogramBin{position: position, count: n, merged: true}
	h.bins = slices.Delete(h.bins, i+1, i+2)
}

// Merge adds the values of another histogram.
func (h *ApproxHistogram) Merge(other *ApproxHistogram) {
	h.least, h.greatest = min(h.least, other.least), max(h.greatest, other.greatest)
	h.count += other.count
	a, b := h.bins, other.bins
	h.bins = make([]histogramBin, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].position < b[0].position:
			h.bins, a = append(h.bins, a[0]), a[1:]
		case len(a) == 0 || a[0].position > b[0].position:
			h.bins, b = append(h.bins, b[0]), b[1:]
		default:
			h.bins = append(h.bins, histogramBin{a[0].position, a[0].count + b[0].count, a[0].merged || b[0].merged})
			a, b = a[1:], b[1:]
		}
	}
	for len(h.bins) > h.size {
		i, _ := h.nearest()
		h.join(max(i, 0))
	}
}

// Quantile estimates the value below which a fraction, above 0 and below 1, of the values lies, by
// the Uniform procedure of the paper; NaN if there are none.
func (h *ApproxHistogram) Quantile(fraction float32) float32 {
	if h.count == 0 {
		return float32(math.NaN())
	}
	s, sum, at := float64(fraction*float32(h.count)), int64(0), 0
	for i, b := range h.bins {
		if float64(sum+b.count) > s {
			at = i
			break
		}
		sum += b.count
	}
	if at == 0 {
		return h.least
	}
	left, right := h.bins[at-1], h.bins[at]
	a, b, c := right.count-left.count, 2*left.count, -2*(s-float64(sum))
	z := -c / float64(b)
	if a != 0 {
		z = (float64(-b) + math.Sqrt(float64(b*b)-4*float64(a)*c)) / float64(2*a)
	}
	x := float32(float64(left.position) + float64(right.position-left.position)*z)
	return min(x, h.greatest)
}

// Extremes returns the least and the greatest value.
func (h *ApproxHistogram) Extremes() (least, greatest float32) { return h.least, h.greatest }

// Bytes returns the memory held.
func (h *ApproxHistogram) Bytes() int64 { return 72 + 16*int64(cap(h.bins)) }

// AppendBinary appends the stored form, big endian: for few values the compact one, which lists
// them, otherwise the bins.
func (h *ApproxHistogram) AppendBinary(dst []byte) []byte {
	exact := int64(0)
	for _, b := range h.bins {
		if !b.merged {
			exact += b.count
		}
	}
	compact := 3 + 4*exact
	if exact != h.count {
		compact += 1 + 4*(h.count-exact) + 8
	}
	if exact <= maxCompact && h.count-exact <= maxCompact && compact < 16+12*int64(len(h.bins)) {
		return h.appendCompact(dst, exact)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.size))
	dst = binary.BigEndian.AppendUint32(dst, uint32(-len(h.bins)))
	for _, b := range h.bins {
		dst = appendFloat32(dst, b.position)
	}
	for _, b := range h.bins {
		n := uint64(b.count)
		if b.merged {
			n |= mergedBin
		}
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	return appendFloat32(appendFloat32(dst, h.least), h.greatest)
}

func (h *ApproxHistogram) appendCompact(dst []byte, exact int64) []byte {
	values := func(merged bool) {
		for _, b := range h.bins {
			for range b.count {
				if b.merged == merged {
					dst = appendFloat32(dst, b.position)
				}
			}
		}
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(-h.size))
	if exact != h.count {
		dst = append(dst, byte(exact-h.count))
		values(true)
		dst = appendFloat32(appendFloat32(dst, h.least), h.greatest)
	}
	dst = append(dst, byte(exact))
	values(false)
	return dst
}

func appendFloat32(dst []byte, x float32) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(x))
}

// ParseApproxHistogram reads a stored histogram.
func ParseApproxHistogram(s string) (*ApproxHistogram, error) {
	bad := fault.InvalidInput("The bytes of an approximate histogram are damaged")
	r := bytesReader{rest: []byte(s)}
	var h *ApproxHistogram
	if len(s) > 0 && s[0] >= 0x80 {
		h = parseCompactHistogram(&r)
	} else {
		h = parseHistogramBins(&r)
	}
	if h == nil || r.short || len(r.rest) > 0 {
		return nil, bad
	}
	return h, nil
}

func parseCompactHistogram(r *bytesReader) *ApproxHistogram {
	size := -int64(int16(r.uint16()))
	if CheckHistogram(size) != nil {
		return nil
	}
	h := NewApproxHistogram(int(size))
	n := int8(r.uint8())
	if n < 0 {
		for range -int(n) {
			h.Add(r.float32())
		}
		for i := range h.bins {
			h.bins[i].merged = true
		}
		h.least, h.greatest = r.float32(), r.float32()
		n = int8(r.uint8())
	}
	if n < 0 || r.short {
		return nil
	}
	for range n {
		h.Add(r.float32())
	}
	return h
}

func parseHistogramBins(r *bytesReader) *ApproxHistogram {
	size, n := int64(int32(r.uint32())), int64(int32(r.uint32()))
	stored := size // a dense form has room for all bins
	if n < 0 {
		n = -n
		stored = n
	}
	if CheckHistogram(size) != nil || n > size || int64(len(r.rest)) != 12*stored+8 {
		return nil
	}
	h := NewApproxHistogram(int(size))
	h.bins = make([]histogramBin, stored)
	for i := range h.bins {
		h.bins[i].position = r.float32()
	}
	for i := range h.bins {
		c := r.uint64()
		h.bins[i].count, h.bins[i].merged = int64(c&^mergedBin), c&mergedBin != 0
	}
	h.bins = h.bins[:n]
	for i, b := range h.bins {
		if b.position != b.position || b.count <= 0 || b.count > 1<<56 || i > 0 && b.position <= h.bins[i-1].position {
			return nil
		}
		h.count += b.count
	}
	h.least, h.greatest = r.float32(), r.float32()
	return h
}
