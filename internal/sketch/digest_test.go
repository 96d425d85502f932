package sketch

import (
	"encoding/base64"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDigestOfFewValuesInterpolates(t *testing.T) {
	d := NewDigest(100)
	for _, x := range []float64{1, 2, 3, 4, 5, 6, math.NaN()} {
		d.Add(x)
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 3.5, 1: 6, 0.98: 6} {
		if got := d.Quantile(q); math.Abs(got-want) > 0.01 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := NewDigest(100).Quantile(0.5); got == got {
		t.Errorf("no values have the median %v", got)
	}
}

func TestDigestStaysSmallAndNear(t *testing.T) {
	whole, parts := NewDigest(100), NewDigest(100)
	for part := range 10 {
		d := NewDigest(100)
		for i := range 10_000 {
			x := float64((i*7919 + part) % 100_003)
			d.Add(x)
			whole.Add(x)
		}
		stored, err := ParseDigest(string(d.AppendBinary(nil)))
		if err != nil {
			t.Fatal(err)
		}
		parts.Merge(stored)
	}
	for _, d := range []*Digest{whole, parts} {
		if n := len(d.AppendBinary(nil)); n > 32+16*210 {
			t.Errorf("the stored form has %d bytes", n)
		}
		for _, q := range []float64{0.001, 0.25, 0.5, 0.9, 0.999} {
			if got, want := d.Quantile(q), q*100_003; math.Abs(got-want) > 1000 {
				t.Errorf("quantile %v is %v, want about %v", q, got, want)
			}
		}
	}
}

func TestDigestBytes(t *testing.T) {
	d := NewDigest(100)
	d.Add(1)
	d.Add(2.5)
	const want = "AAAAAT/wAAAAAAAAQAQAAAAAAABAWQAAAAAAAAAAAAI/8AAAAAAAAD/wAAAAAAAAP/AAAAAAAABABAAAAAAAAA=="
	if got := base64.StdEncoding.EncodeToString(d.AppendBinary(nil)); got != want {
		t.Errorf("the stored form is %s", got)
	}
}

func TestHistogramsOfReference(t *testing.T) {
	h := NewApproxHistogram(5)
	for _, x := range []float32{23, 19, 10, 16, 36, 2, 9, 32, 30, 45} { // the example of the paper
		h.Add(x)
	}
	var positions []float32
	var counts []int64
	for _, b := range h.bins {
		positions, counts = append(positions, b.position), append(counts, b.count)
	}
	if diff := cmp.Diff([]float32{2, 9.5, 19.33, 32.67, 45}, rounded(positions)); diff != "" {
		t.Errorf("positions (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]int64{1, 2, 3, 3, 1}, counts); diff != "" {
		t.Errorf("counts (-want +got)\n%s", diff)
	}
}

func rounded(x []float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(math.Round(float64(v)*100) / 100)
	}
	return out
}

func TestHistogramFormsReadBack(t *testing.T) {
	for _, n := range []int{0, 1, 20, 60, 500, 5000} {
		h := NewApproxHistogram(50)
		for i := range n {
			h.Add(float32(i * 37 % 1009))
		}
		stored := h.AppendBinary(nil)
		back, err := ParseApproxHistogram(string(stored))
		if err != nil {
			t.Fatalf("%d values: %v", n, err)
		}
		if diff := cmp.Diff(stored, back.AppendBinary(nil)); diff != "" {
			t.Errorf("%d values (-want +got)\n%s", n, diff)
		}
		a, b := h.Quantile(0.5), back.Quantile(0.5)
		if a != b && (a == a || b == b) {
			t.Errorf("%d values: median %v became %v", n, a, b)
		}
	}
}

func TestFixedBuckets(t *testing.T) {
	limits := FixedLimits{Lower: 0, Upper: 10, Buckets: 5}
	add := func(mode Outliers, values ...float64) *FixedBuckets {
		l := limits
		l.Outliers = mode
		h := NewFixedBuckets(l)
		for _, x := range values {
			h.Add(x)
		}
		return h
	}
	values := []float64{2.5, 4, 5, 6, 6.5, 7, 7.9, -1, 10, 20}
	if got := add(IgnoreOutliers, values...).Quantile(0.75); got != 7.125 {
		t.Errorf("the 75th percentile is %v, want 7.125", got)
	}
	if diff := cmp.Diff([]int64{1, 1, 2, 4, 2}, add(ClipOutliers, values...).Histogram()); diff != "" {
		t.Errorf("clipped (-want +got)\n%s", diff)
	}
	if _, below, above, _, _, _ := add(OverflowOutliers, values...).Counts(); below != 1 || above != 2 {
		t.Errorf("%d below and %d above, want 1 and 2", below, above)
	}
	for _, values := range [][]float64{nil, {1}, values} {
		h := add(OverflowOutliers, values...)
		back, err := ParseFixedBuckets(string(h.AppendBinary(nil)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, back, cmp.AllowUnexported(FixedBuckets{})); diff != "" {
			t.Errorf("read back (-want +got)\n%s", diff)
		}
	}
}

func TestBloomFinds(t *testing.T) {
	b := NewBloom(1000)
	for i := range 1000 {
		b.AddLong(int64(i))
	}
	b.AddText("a")
	b.AddNull()
	b.AddDouble(1.5)
	b.AddFloat(2.5)
	stored, err := ParseBloom(string(b.AppendBinary(nil)))
	if err != nil {
		t.Fatal(err)
	}
	if !stored.HasText("a") || !stored.HasNull() || !stored.HasDouble(1.5) || !stored.HasFloat(2.5) {
		t.Error("a value is lost")
	}
	wrong := 0
	for i := range 10_000 {
		if i < 1000 && !stored.HasLong(int64(i)) {
			t.Fatalf("%d is lost", i)
		}
		if stored.HasLong(int64(i + 5000)) {
			wrong++
		}
	}
	if wrong > 1000 {
		t.Errorf("%d of 10000 values seem to be there", wrong)
	}
	// The size of a filter for 100,000 values is in Druid's documentation.
	if head := base64.StdEncoding.EncodeToString(NewBloom(100_000).AppendBinary(nil)[:6]); head[:7] != "BAAAJhA" {
		t.Errorf("the filter begins with %s", head)
	}
}

func FuzzParseSummaries(f *testing.F) {
	d, h, fixed := NewDigest(20), NewApproxHistogram(4), NewFixedBuckets(FixedLimits{Upper: 1, Buckets: 3})
	for i := range 40 {
		d.Add(float64(i))
		h.Add(float32(i))
		fixed.Add(float64(i) / 40)
	}
	for _, p := range [][]byte{d.AppendBinary(nil), h.AppendBinary(nil), fixed.AppendBinary(nil), NewBloom(10).AppendBinary(nil)} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if d, err := ParseDigest(string(p)); err == nil {
			d.Quantile(0.5)
			d.Merge(d)
		}
		if h, err := ParseApproxHistogram(string(p)); err == nil {
			h.Quantile(0.5)
			h.Merge(NewApproxHistogram(4))
		}
		if h, err := ParseFixedBuckets(string(p)); err == nil {
			h.Quantile(0.5)
		}
		if b, err := ParseBloom(string(p)); err == nil {
			b.AddText("x")
		}
	})
}

func TestIncompleteBeta(t *testing.T) {
	for _, c := range []struct{ x, a, b, want float64 }{
		{0.5, 2, 3, 0.6875}, {0.3, 1, 1, 0.3}, {0.9, 5, 0.5, 0.3166428},
		{5.0 / (5 + 4), 2.5, 0.5, 0.10193947}, // a t of 2 with 5 degrees of freedom, two-sided
	} {
		if got := incompleteBeta(c.x, c.a, c.b); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("I(%v; %v, %v) is %v, want %v", c.x, c.a, c.b, got, c.want)
		}
	}
}
