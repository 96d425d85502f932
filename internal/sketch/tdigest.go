package sketch

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/hengedb/henge/internal/fault"
)

const (
	// digestVerbose and digestSmall are the encodings of a stored digest: centroids as doubles, or as
	// floats.
	digestVerbose = 1
	digestSmall   = 2

	// maxCompression bounds the centroids of a digest, of which there are at most some two per unit.
	maxCompression = 100_000
)

// Digest is a t-digest: quantiles estimated from the means of runs of the sorted values, which are
// short at both ends. It is the merging digest of the t-digest library 3.2 (Dunning and Ertl,
// "Computing Extremely Accurate Quantiles Using t-Digests"), whose bytes it reads and writes.
type Digest struct {
	compression float64
	min, max    float64
	// centroids are sorted by mean; total is the sum of their weights.
	centroids []centroid
	total     float64
	// pending are values that are not merged yet.
	pending []centroid
}

type centroid struct{ mean, weight float64 }

// CheckDigest refuses a compression that no digest can have.
func CheckDigest(compression float64) error {
	if !(compression >= 1 && compression <= maxCompression) {
		return fault.InvalidInput("The compression [%v] of a t-digest must be from 1 to %d", compression, maxCompression)
	}
	return nil
}

// NewDigest returns an empty digest. The compression, which CheckDigest accepts, bounds the error:
// half of it is about the number of centroids.
func NewDigest(compression float64) *Digest {
	return &Digest{compression: compression, min: math.Inf(1), max: math.Inf(-1)}
}

// Add adds a value; NaN is none.
func (d *Digest) Add(x float64) {
	if x == x {
		d.add(centroid{x, 1})
	}
}

func (d *Digest) add(c centroid) {
	if len(d.pending) >= d.buffer()-len(d.centroids)-1 {
		d.compress()
	}
	d.pending = append(d.pending, c)
}

// buffer is the number of values, merged ones among them, from which on values are merged: five per
// unit of compression.
func (d *Digest) buffer() int { return max(5*int(math.Ceil(d.compression)), 2*len(d.centroids)) }

// Merge adds the centroids of another digest.
func (d *Digest) Merge(other *Digest) {
	other.compress()
	for _, c := range other.centroids {
		d.add(c)
	}
}

// compress merges the pending values: neighbours become one centroid as long as its weight stays
// below what the place allows, which is little near the ends.
func (d *Digest) compress() {
	if len(d.pending) == 0 {
		return
	}
	all := append(d.pending, d.centroids...)
	for _, c := range d.pending {
		d.total += c.weight
	}
	slices.SortStableFunc(all, func(a, b centroid) int {
		switch {
		case a.mean < b.mean:
			return -1
		case a.mean > b.mean:
			return 1
		}
		return 0
	})
	normalizer := d.compression / (math.Pi * d.total)
	merged, before := make([]centroid, 1, len(d.centroids)+16), 0.0
	merged[0] = all[0]
	for _, c := range all[1:] {
		last := &merged[len(merged)-1]
		weight := last.weight + c.weight
		z, from, to := weight*normalizer, before/d.total, (before+weight)/d.total
		if z*z <= from*(1-from) && z*z <= to*(1-to) {
			last.weight = weight
			last.mean += (c.mean - last.mean) * c.weight / weight
			continue
		}
		before += last.weight
		merged = append(merged, c)
	}
	d.centroids, d.pending = merged, all[:0]
	d.min, d.max = math.Min(d.min, merged[0].mean), math.Max(d.max, merged[len(merged)-1].mean)
}

// Quantile estimates the value below which a fraction q, from 0 to 1, of the values lies; NaN if
// there are none.
func (d *Digest) Quantile(q float64) float64 {
	d.compress()
	n := len(d.centroids)
	if n == 0 {
		return math.NaN()
	}
	index := q * d.total
	first, last := d.centroids[0], d.centroids[n-1]
	if index < first.weight/2 {
		z1 := index / d.total * first.weight
		z2 := (first.weight/2 - index) / d.total * d.extremeWeight(first.weight)
		return interpolated(d.min, z2, first.mean, z1)
	}
	before := first.weight / 2
	for i := range n - 1 {
		a, b := d.centroids[i], d.centroids[i+1]
		dw := (a.weight + b.weight) / 2
		if before+dw > index {
			z1 := (index - before) / d.total * b.weight
			z2 := (before + dw - index) / d.total * a.weight
			return interpolated(a.mean, z2, b.mean, z1)
		}
		before += dw
	}
	z1 := (d.total - index) / d.total * last.weight
	z2 := (last.weight/2 - z1) * d.extremeWeight(last.weight)
	return interpolated(last.mean, z1, d.max, z2)
}

// extremeWeight is the weight that the least or the greatest value has beside the outermost
// centroid.
func (d *Digest) extremeWeight(weight float64) float64 {
	s := math.Sin(1 / d.compression / d.compression * math.Pi / 2)
	return math.Min(weight, s*s)
}

func interpolated(a, wa, b, wb float64) float64 {
	if a > b {
		a, wa, b, wb = b, wb, a, wa
	}
	return math.Max(a, math.Min((a*wa+b*wb)/(wa+wb), b))
}

// Bytes returns the memory held.
func (d *Digest) Bytes() int64 { return 96 + 16*int64(cap(d.centroids)+cap(d.pending)) }

// AppendBinary appends the stored form: encoding, least and greatest value, compression, then
// weight and mean of each centroid, all big endian.
func (d *Digest) AppendBinary(dst []byte) []byte {
	d.compress()
	dst = binary.BigEndian.AppendUint32(dst, digestVerbose)
	for _, x := range []float64{d.min, d.max, d.compression} {
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(x))
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(d.centroids)))
	for _, c := range d.centroids {
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(c.weight))
		dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(c.mean))
	}
	return dst
}

// ParseDigest reads a stored digest.
func ParseDigest(s string) (*Digest, error) {
	r := bytesReader{rest: []byte(s)}
	encoding := r.uint32()
	d := &Digest{min: r.float64(), max: r.float64()}
	n, width := 0, 0
	switch encoding {
	case digestVerbose:
		d.compression = r.float64()
		n, width = int(r.uint32()), 16
	case digestSmall:
		d.compression = float64(r.float32())
		r.take(4) // the sizes of buffers
		n, width = int(r.uint16()), 8
	default:
		return nil, badDigest()
	}
	if r.short || CheckDigest(d.compression) != nil || n != len(r.rest)/width || len(r.rest)%width != 0 {
		return nil, badDigest()
	}
	d.centroids = make([]centroid, n)
	for i := range d.centroids {
		c := &d.centroids[i]
		if width == 16 {
			c.weight, c.mean = r.float64(), r.float64()
		} else {
			c.weight, c.mean = float64(r.float32()), float64(r.float32())
		}
		if !(c.weight > 0) || math.IsInf(c.weight, 0) || c.mean != c.mean || i > 0 && c.mean < d.centroids[i-1].mean {
			return nil, badDigest()
		}
		d.total += c.weight
	}
	return d, nil
}

func badDigest() error { return fault.InvalidInput("The bytes of a t-digest are damaged") }

// bytesReader takes big endian numbers from the front of bytes; short tells that there were too
// few.
type bytesReader struct {
	rest  []byte
	short bool
}

func (r *bytesReader) take(n int) []byte {
	if len(r.rest) < n {
		r.short, r.rest = true, nil
		return make([]byte, n)
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}

func (r *bytesReader) uint8() uint8     { return r.take(1)[0] }
func (r *bytesReader) uint16() uint16   { return binary.BigEndian.Uint16(r.take(2)) }
func (r *bytesReader) uint32() uint32   { return binary.BigEndian.Uint32(r.take(4)) }
func (r *bytesReader) uint64() uint64   { return binary.BigEndian.Uint64(r.take(8)) }
func (r *bytesReader) float32() float32 { return math.Float32frombits(r.uint32()) }
func (r *bytesReader) float64() float64 { return math.Float64frombits(r.uint64()) }
