package sketch

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The vectors of this file are sketches that Druid made of the values beside them.

func decoded(t *testing.T, text string) string {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var names = []string{"R1", "G1", "B1", "N1", "R2", "V1", "E1", "A1", "N2", "G2", "F1"}

func TestHLLBytes(t *testing.T) {
	for _, c := range []struct {
		log, typ int
		add      func(*HLL)
		want     string
	}{
		{12, 0, func(*HLL) {}, "AgEHDAMMAAA="},
		{7, 1, longs(1, 8), "AgEHBwMIBwQr8vsGhi/5DXWBZgeBvF0Ge2XmCPwtQgrB6RcF"},
		{8, 0, longs(1, 9), "AwEHCAUIAAEIAAAAgbxdBoYv+Q0r8vsGwekXBdIWcwd1gWYHe2XmCPwtQgo="},
		{4, 0, longs(1, 9), "CgEHBAAIAAKtqqoEAAAgQAAAAAAAQChAAAAAAAAAAAAKAAAAAAAAABABEAMAIAIA"},
		{4, 2, longs(1, 10), "CgEHBAAAAAqwCQcCoaMiQAAAAAAAgCZAAAAAAAAAAAAJAAAAAAAAAAABAQADAQMAAAAAAgIAAAA="},
		{12, 0, func(h *HLL) {
			for _, s := range names {
				if err := h.AddBytes(AppendUTF16(nil, s)); err != nil {
					panic(err)
				}
			}
		}, "AwEHDAUIAAELAAAAAG+dFUIlvQglNEQSyVxMCY3RPwtRbHgHKQXlBBN/vgY0+DMEOEU6Bh0dZAQ="},
	} {
		h := NewHLL(c.log, c.typ)
		c.add(h)
		got, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := base64.StdEncoding.EncodeToString(got); text != c.want {
			t.Errorf("HLL of lgK %d, type %d:\n%s, want\n%s", c.log, c.typ, text, c.want)
		}
		back, err := ParseHLL(string(got))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := h.Estimate()
		if b, err := back.Estimate(); err != nil || a != b {
			t.Errorf("read back: %v, %v, want %v", b, err, a)
		}
	}
}

func longs(from, to int64) func(*HLL) {
	return func(h *HLL) {
		for x := from; x < to; x++ {
			if err := h.AddLong(x); err != nil {
				panic(err)
			}
		}
	}
}

func TestHLLEstimates(t *testing.T) {
	h := NewHLL(12, 0)
	longs(1, 769)(h)
	e, err := h.Estimate()
	if err != nil || e != 764.4622368398921 {
		t.Errorf("of 768 values: %v, %v", e, err)
	}
	low, high, err := h.Bounds(2)
	if err != nil || math.Abs(low-744.9894856178615) > 1e-9 || math.Abs(high-784.5248057532662) > 1e-9 {
		t.Errorf("bounds %v, %v, %v", low, high, err)
	}
	if _, _, err := h.Bounds(0); err == nil {
		t.Error("bounds at 0 standard deviations")
	}
	for _, bad := range []struct {
		log int64
		typ string
	}{{3, "HLL_4"}, {22, "HLL_4"}, {12, "hll_4"}} {
		if _, err := CheckHLL(bad.log, bad.typ); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestThetaBytes(t *testing.T) {
	of := func(size int, keys ...uint64) string {
		u := NewThetaUnion(size)
		for _, k := range keys {
			u.Add(k)
		}
		return base64.StdEncoding.EncodeToString(u.Result().AppendBinary(nil))
	}
	for _, c := range []struct{ got, want string }{
		{of(16384), "AQMDAAAeAAA="},
		{of(16, HashLong(1)), "AQMDAAA6zJMV+X3LvYahBQ=="},
		{of(16, HashLong(2), HashLong(1)), "AgMDAAAazJMCAAAAAACAPxX5fcu9hqEFw5f8EoFwnR4="},
		{of(16, HashText([]byte("c"))), "AQMDAAA6zJO3DG7lqK9ACA=="},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	if HashText(nil) != 0 {
		t.Error("the empty text has a key")
	}
	if HashDouble(0) != HashDouble(math.Copysign(0, -1)) {
		t.Error("the zeros differ")
	}
}

// TestThetaIsTheSmallestKeys: whatever the order and however it is split, a union keeps the
// smallest keys below the next one.
func TestThetaIsTheSmallestKeys(t *testing.T) {
	const n, size = 5000, 64
	whole := NewThetaUnion(size)
	parts := [3]*ThetaUnion{NewThetaUnion(size), NewThetaUnion(size), NewThetaUnion(size)}
	var all []uint64
	for x := range int64(n) {
		k := HashLong(x)
		all = append(all, k)
		whole.Add(k)
		parts[x%3].Add(k)
		parts[x%2].Add(k)
	}
	slices.Sort(all)
	merged := NewThetaUnion(size)
	for _, p := range parts {
		s, err := ParseTheta(string(p.Result().AppendBinary(nil)))
		if err != nil {
			t.Fatal(err)
		}
		merged.Merge(s)
	}
	for _, s := range []*Theta{whole.Result(), merged.Result()} {
		if s.Theta() != all[size] || !slices.Equal(s.keys, all[:size]) {
			t.Errorf("[%d] keys below %d, want %d", s.Keys(), s.Theta(), all[size])
		}
		if e := s.Estimate(); math.Abs(e-n)/n > 0.3 {
			t.Errorf("estimate %v", e)
		}
		low, high, err := s.Bounds(2)
		if err != nil || low > n || high < n {
			t.Errorf("bounds %v %v %v", low, high, err)
		}
	}
	a, b := parts[0].Result(), parts[1].Result()
	both, without := IntersectTheta([]*Theta{a, b}), SubtractTheta(a, b)
	bound := min(a.theta, b.theta)
	for _, k := range a.keys {
		if k < bound && slices.Contains(b.keys, k) != slices.Contains(both.keys, k) || slices.Contains(without.keys, k) && slices.Contains(b.keys, k) {
			t.Errorf("key %d is on the wrong side", k)
		}
	}
}

func TestTupleBytes(t *testing.T) {
	u := NewTupleUnion(4096, 1)
	for i, n := range []float64{1, 2, 3, math.NaN(), 5, 1, 0, -1, 2, 20, 3} {
		if n == n {
			u.Add(HashText([]byte(names[i])), []float64{n})
		}
	}
	const want = "AQEJAwgBzJP/////////fwoAAAAAAAAAID5aCqq9DFUj0I9DxdaxEKYY/h2Ij9lvSeqIkERjgzbL9MADlADXb04cxQFYjtwb0lGe5nvAuEpjH219nhFLZeXMD6grJNsz" +
		"7+ii+qIr+i8AAAAAAAAAQAAAAAAAAAAAAAAAAAAA8D8AAAAAAAAIQAAAAAAAAPA/AAAAAAAA8L8AAAAAAAAAQAAAAAAAADRAAAAAAAAAFEAAAAAAAAAIQA=="
	got := u.Result()
	if text := base64.StdEncoding.EncodeToString(got.AppendBinary(nil)); text != want {
		t.Errorf("%s, want\n%s", text, want)
	}
	if got.Estimate() != 10 || got.Sums()[0] != 36 {
		t.Errorf("estimate %v, sums %v", got.Estimate(), got.Sums())
	}
	if err := u.Merge(&Tuple{width: 2, theta: maxTheta}); err == nil {
		t.Error("two values per key were merged into one")
	}
	back, err := ParseTuple(decoded(t, want))
	if err != nil {
		t.Fatal(err)
	}
	both, err := IntersectTuple([]*Tuple{got, back})
	if err != nil || both.Keys() != 10 || both.Sums()[0] != 72 {
		t.Errorf("intersection with itself: %+v %v", both, err)
	}
	if none, err := SubtractTuple(got, back); err != nil || none.Keys() != 0 || !none.Empty() {
		t.Errorf("difference with itself: %+v %v", none, err)
	}
}

func TestQuantiles(t *testing.T) {
	q := NewQuantiles(128)
	for _, x := range []float64{1, 2, 3, math.NaN(), 5, 1, 0, -1, 7, 2, 20, 3} {
		q.Add(x)
	}
	r := q.Ranks()
	for f, want := range map[float64]float64{0: -1, 0.25: 1, 0.5: 2, float64(float32(0.9)): 7, 0.99: 20, 1: 20} {
		if got := r.Quantile(f); got != want {
			t.Errorf("quantile %v is %v, want %v", f, got, want)
		}
	}
	if got := r.Rank(1); got != 4.0/11 {
		t.Errorf("rank of 1 is %v", got)
	}
	hist, err := r.Histogram([]float64{0.5, 2.5, 7.5})
	if d := cmp.Diff([]float64{2, 3.9999999999999996, 4, 1.0000000000000004}, hist); d != "" || err != nil {
		t.Error(d, err)
	}
	if _, err := r.CDF([]float64{2, 1}); err == nil {
		t.Error("points that descend were accepted")
	}
	if x := NewQuantiles(2).Ranks().Quantile(0.5); x == x {
		t.Errorf("quantile of nothing is %v", x)
	}
	for _, k := range []int64{0, 1, 3, 100, 65536} {
		if CheckQuantiles(k) == nil {
			t.Errorf("k %d was accepted", k)
		}
	}
}

// TestQuantilesEstimate: ranks stay within the error that k promises, also after merging sketches
// of several sizes.
func TestQuantilesEstimate(t *testing.T) {
	const n = 100_000
	merged := NewQuantiles(256)
	for part, k := range []int{256, 1024, 256, 512} {
		q := NewQuantiles(k)
		for i := part; i < n; i += 4 {
			q.Add(float64(i * 7919 % n))
		}
		back, err := ParseQuantiles(string(q.AppendBinary(nil)))
		if err != nil {
			t.Fatal(err)
		}
		merged.Merge(back)
	}
	if merged.N() != n || merged.Min() != 0 || merged.Max() != n-1 {
		t.Errorf("n %d from %v to %v", merged.N(), merged.Min(), merged.Max())
	}
	r := merged.Ranks()
	if r.Total() != n {
		t.Errorf("the kept values stand for [%d]", r.Total())
	}
	for _, f := range []float64{0.01, 0.25, 0.5, 0.9, 0.999} {
		if got := r.Rank(f * n); math.Abs(got-f) > 0.03 {
			t.Errorf("rank of %v is %v", f*n, got)
		}
	}
	coarse := NewQuantiles(256)
	coarse.Merge(merged)
	small := NewQuantiles(16)
	for i := range 1000 {
		small.Add(float64(i))
	}
	coarse.Merge(small)
	if coarse.K() != 16 || coarse.N() != n+1000 || coarse.Ranks().Total() != n+1000 {
		t.Errorf("merged with a coarse sketch: k %d, n %d, weights %d", coarse.K(), coarse.N(), coarse.Ranks().Total())
	}
}

func TestKLL(t *testing.T) {
	q, err := NewKLL[float64](200)
	if err != nil {
		t.Fatal(err)
	}
	empty, _ := q.AppendBinary(nil)
	q.Add(3.5)
	q.Add(math.NaN())
	one, _ := q.AppendBinary(nil)
	if a, b := base64.StdEncoding.EncodeToString(empty), base64.StdEncoding.EncodeToString(one); a != "AgEPAcgACAA=" || b != "AgIPBMgACAAAAAAAAAAMQA==" {
		t.Errorf("%s, %s", a, b)
	}
	for i := range 10_000 {
		q.Add(float64(i))
	}
	b, err := q.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseKLL[float64](string(b))
	if err != nil || back.N() != 10_001 {
		t.Fatal(err)
	}
	if got := back.Ranks().Quantile(0.5); math.Abs(got-5000) > 300 {
		t.Errorf("median %v", got)
	}
}

func TestIsText(t *testing.T) {
	for value, want := range map[string]bool{"11": true, `{"a":1}`: true, "[1.0]": true, "": false, "\x02\x01\x07": false} {
		if IsText(value) != want {
			t.Errorf("%q", value)
		}
	}
	for _, form := range [][]byte{
		NewThetaUnion(16).Result().AppendBinary(nil), NewQuantiles(2).AppendBinary(nil), NewTupleUnion(16, 1).Result().AppendBinary(nil),
		(&HyperUnique{}).AppendBinary(nil),
	} {
		if IsText(string(form)) {
			t.Errorf("%x looks like text", form)
		}
	}
}

// seeds gives a fuzz target stored sketches to start from.
func seeds(f *testing.F) {
	f.Add("")
	for _, text := range []string{
		"AgEHDAMIAgA0+DMEKQXlBA==", "AwEHCAUIAAEIAAAAgbxdBoYv+Q0r8vsGwekXBdIWcwd1gWYHe2XmCPwtQgo=",
		"CgEHBAAIAAKtqqoEAAAgQAAAAAAAQChAAAAAAAAAAAAKAAAAAAAAABABEAMAIAIA",
		"AgMDAAAazJMCAAAAAACAPxX5fcu9hqEFw5f8EoFwnR4=", "AQEJAwgBzJP/////////fwEAAAAAAAAAZzre9KKHRlkAAAAAAGh9QA==",
		"AgMIGgIAAAABAAAAAAAAAAAAAAAAAABAAAAAAAAAAEAAAAAAAAAAQA==", "AgIPBMgACAAAAAAAAAAMQA==",
		"BQEPAMgACAACAAAAAAAAAMgAAQDGAAAAAAAAAAAAAEAAAAAAgIQuQQAAAAAAAABAAAAAAICELkE=",
	} {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Add(strings.Repeat("\x02\x01\x07\x15\x1a\x08\x00\x01", 40))
	f.Add("\x05\x01\x0f\x00\xc8\x00\x08\x00" + strconv.Itoa(1<<40) + strings.Repeat("\xff", 64))
}

// Hostile bytes are errors or sketches that work, never a panic.

func FuzzParseHLL(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p string) {
		h, err := ParseHLL(p)
		if err != nil {
			return
		}
		into := NewHLL(10, 2)
		if err := into.Merge(h); err != nil {
			return
		}
		_, _ = into.Estimate()
		_, _ = into.Text(func(float64) string { return "" })
	})
}

func FuzzParseTheta(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p string) {
		s, err := ParseTheta(p)
		if err != nil {
			return
		}
		u := NewThetaUnion(16)
		u.Merge(s)
		if r := u.Result(); r.Keys() > 16 {
			t.Errorf("[%d] keys", r.Keys())
		}
		IntersectTheta([]*Theta{s, s})
		SubtractTheta(s, s)
	})
}

func FuzzParseTuple(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p string) {
		s, err := ParseTuple(p)
		if err != nil {
			return
		}
		u := NewTupleUnion(16, s.Width())
		if err := u.Merge(s); err != nil {
			t.Fatal(err)
		}
		u.Again().Sums()
		if _, err := IntersectTuple([]*Tuple{s, s}); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzParseQuantiles(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p string) {
		q, err := ParseQuantiles(p)
		if err != nil {
			return
		}
		into := NewQuantiles(16)
		into.Merge(q)
		into.Add(1)
		into.Ranks().Quantile(0.5)
	})
}

func FuzzParseKLL(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, p string) {
		q, err := ParseKLL[float64](p)
		if err != nil {
			return
		}
		into, err := NewKLL[float64](200)
		if err != nil {
			t.Fatal(err)
		}
		into.Merge(q)
		into.Ranks().Quantile(0.5)
	})
}
