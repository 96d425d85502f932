package sketch

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// Outliers says what becomes of values beyond the limits of a FixedBuckets.
type Outliers uint8

// The values of Outliers, in the order in which the stored form counts them: left out, counted
// apart, or put in the outermost bucket.
const (
	IgnoreOutliers Outliers = iota
	OverflowOutliers
	ClipOutliers
)

var outlierNames = [...]string{"ignore", "overflow", "clip"}

// ParseOutliers reads the name of a mode, in any case.
func ParseOutliers(name string) (Outliers, error) {
	for i, n := range outlierNames {
		if strings.EqualFold(n, name) {
			return Outliers(i), nil
		}
	}
	return 0, fault.InvalidInput("The outlier handling mode [%s] is not one of ignore, overflow, clip", name)
}

const (
	fixedVersion = 1
	fixedFull    = 1
	fixedSparse  = 2
	// maxFixedBuckets bounds the memory of a histogram to 8 MB.
	maxFixedBuckets = 1 << 20
)

// FixedLimits are what the histograms that are merged have in common.
type FixedLimits struct {
	Lower, Upper float64
	Buckets      int
	Outliers     Outliers
}

// Check refuses limits that no histogram can have.
func (l FixedLimits) Check() error {
	switch {
	case !(l.Upper > l.Lower) || math.IsInf(l.Upper-l.Lower, 0):
		return fault.InvalidInput("The upper limit [%v] of a histogram must be above the lower limit [%v]", l.Upper, l.Lower)
	case l.Buckets < 1 || l.Buckets > maxFixedBuckets:
		return fault.InvalidInput("The number [%d] of buckets must be from 1 to %d", l.Buckets, maxFixedBuckets)
	}
	return nil
}

// FixedBuckets is a histogram of buckets of one width. Bytes and estimates are those of Druid's
// fixed buckets histogram. See quirk Q008.
type FixedBuckets struct {
	FixedLimits
	width                 float64
	buckets               []int64
	count                 int64
	below, above, missing int64
	least, greatest       float64
}

// NewFixedBuckets returns an empty histogram with limits that Check accepts.
func NewFixedBuckets(l FixedLimits) *FixedBuckets {
	return &FixedBuckets{FixedLimits: l, width: (l.Upper - l.Lower) / float64(l.Buckets), buckets: make([]int64, l.Buckets),
		least: math.Inf(1), greatest: math.Inf(-1)}
}

// Add adds a value.
func (h *FixedBuckets) Add(x float64) {
	switch {
	case x < h.Lower:
		h.outlier(false)
	case x >= h.Upper:
		h.outlier(true)
	default:
		h.insert(min(int(javaInt((x-h.Lower)/h.width)), len(h.buckets)-1), x)
	}
}

// AddMissing counts a value that is NULL.
func (h *FixedBuckets) AddMissing() { h.missing++ }

func (h *FixedBuckets) insert(bucket int, x float64) {
	h.count++
	h.buckets[bucket]++
	h.greatest, h.least = math.Max(h.greatest, x), math.Min(h.least, x)
}

func (h *FixedBuckets) outlier(upper bool) {
	switch {
	case h.Outliers == OverflowOutliers && upper:
		h.above++
	case h.Outliers == OverflowOutliers:
		h.below++
	case h.Outliers == ClipOutliers && upper:
		h.insert(len(h.buckets)-1, h.Upper)
	case h.Outliers == ClipOutliers:
		h.insert(0, h.Lower)
	}
}

// Merge adds the values of another histogram with the same buckets.
func (h *FixedBuckets) Merge(other *FixedBuckets) error {
	if h.Lower != other.Lower || h.Upper != other.Upper || len(h.buckets) != len(other.buckets) {
		return fault.InvalidInput("Histograms from [%v] to [%v] in [%d] buckets and from [%v] to [%v] in [%d] can't be merged",
			h.Lower, h.Upper, len(h.buckets), other.Lower, other.Upper, len(other.buckets))
	}
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.missing += other.missing
	h.count += other.count
	h.greatest, h.least = math.Max(h.greatest, other.greatest), math.Min(h.least, other.least)
	switch h.Outliers {
	case OverflowOutliers:
		h.below += other.below
		h.above += other.above
	case ClipOutliers:
		if other.below > 0 {
			h.buckets[0] += other.below
			h.least = math.Min(h.least, h.Lower)
		}
		if other.above > 0 {
			h.buckets[len(h.buckets)-1] += other.above
			h.greatest = math.Max(h.greatest, h.Upper)
		}
		h.count += other.below + other.above
	}
	return nil
}

// Quantile estimates the value below which a fraction, from 0 to 1, of the values lies, taking the
// values of a bucket as spread evenly. It is a float as in Druid, and 0 if there are no values. See
// quirk Q003.
func (h *FixedBuckets) Quantile(fraction float64) float32 {
	percent := fraction * 100
	before, beforePercent, boundary := int64(0), 0.0, h.Lower
	for i, n := range h.buckets {
		next := before + n
		nextPercent := 100 * float64(next) / float64(h.count)
		nextBoundary := float64(i+1)*h.width + h.Lower
		if nextPercent >= percent {
			f := (percent - beforePercent) / (nextPercent - beforePercent)
			return float32(f*(nextBoundary-boundary) + boundary)
		}
		before, beforePercent, boundary = next, nextPercent, nextBoundary
	}
	return 0
}

// Counts returns the values counted within the limits, below, above and missing, and the least and
// greatest of those within.
func (h *FixedBuckets) Counts() (count, below, above, missing int64, least, greatest float64) {
	return h.count, h.below, h.above, h.missing, h.least, h.greatest
}

// Histogram returns the count of each bucket.
func (h *FixedBuckets) Histogram() []int64 { return h.buckets }

// Bytes returns the memory held.
func (h *FixedBuckets) Bytes() int64 { return 160 + 8*int64(len(h.buckets)) }

// AppendBinary appends the stored form, big endian: version, encoding, limits, counts, extremes,
// then the buckets, or if less than half of them are filled the numbers and counts of those.
func (h *FixedBuckets) AppendBinary(dst []byte) []byte {
	filled := 0
	for _, n := range h.buckets {
		if n != 0 {
			filled++
		}
	}
	sparse := filled < len(h.buckets)/2
	encoding := byte(fixedFull)
	if sparse {
		encoding = fixedSparse
	}
	dst = append(dst, fixedVersion, encoding)
	put := func(x uint64) { dst = binary.BigEndian.AppendUint64(dst, x) }
	put(math.Float64bits(h.Lower))
	put(math.Float64bits(h.Upper))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(h.buckets)))
	dst = append(dst, byte(h.Outliers))
	for _, n := range []int64{h.count, h.below, h.above, h.missing} {
		put(uint64(n))
	}
	put(math.Float64bits(h.greatest))
	put(math.Float64bits(h.least))
	if sparse {
		dst = binary.BigEndian.AppendUint32(dst, uint32(filled))
	}
	for i, n := range h.buckets {
		switch {
		case !sparse:
			put(uint64(n))
		case n != 0:
			dst = binary.BigEndian.AppendUint32(dst, uint32(i))
			put(uint64(n))
		}
	}
	return dst
}

// ParseFixedBuckets reads a stored histogram.
func ParseFixedBuckets(s string) (*FixedBuckets, error) {
	bad := fault.InvalidInput("The bytes of a fixed buckets histogram are damaged")
	r := bytesReader{rest: []byte(s)}
	version, encoding := r.uint8(), r.uint8()
	l := FixedLimits{Lower: r.float64(), Upper: r.float64(), Buckets: int(r.uint32()), Outliers: Outliers(r.uint8())}
	if r.short || version != fixedVersion || l.Outliers > ClipOutliers || l.Check() != nil {
		return nil, bad
	}
	h := NewFixedBuckets(l)
	for _, n := range []*int64{&h.count, &h.below, &h.above, &h.missing} {
		*n = int64(r.uint64())
	}
	h.greatest, h.least = r.float64(), r.float64()
	switch encoding {
	case fixedFull:
		for i := range h.buckets {
			h.buckets[i] = int64(r.uint64())
		}
	case fixedSparse:
		for n := int(r.uint32()); n > 0 && !r.short; n-- {
			bucket, count := int(r.uint32()), int64(r.uint64())
			if bucket >= len(h.buckets) {
				return nil, bad
			}
			h.buckets[bucket] = count
		}
	default:
		return nil, bad
	}
	if r.short || len(r.rest) > 0 {
		return nil, bad
	}
	return h, nil
}

// javaInt cuts a double to 32 bits as Java does: NaN to 0, what is beyond to the nearest.
func javaInt(x float64) int32 {
	switch {
	case x != x:
		return 0
	case x >= math.MaxInt32:
		return math.MaxInt32
	case x <= math.MinInt32:
		return math.MinInt32
	}
	return int32(x)
}
