package vector

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var allTypes = []Type{Long, Double, Float, String, ListOf(String), ListOf(Long), ListOf(ListOf(Double)), JSON}

// randomValue returns a boxed value of t, or nil.
func randomValue(r *rand.Rand, t Type, nulls bool) any {
	if nulls && r.IntN(4) == 0 {
		return nil
	}
	switch t.Kind {
	case KindLong:
		return []int64{0, 1, -1, math.MaxInt64, math.MinInt64, r.Int64()}[r.IntN(6)]
	case KindDouble:
		return []float64{0, math.Copysign(0, -1), 1.5, -1.5, math.NaN(), math.Inf(1), math.Inf(-1), r.NormFloat64()}[r.IntN(8)]
	case KindFloat:
		return []float32{0, 1.5, -1.5, float32(math.NaN()), float32(math.Inf(1)), r.Float32()}[r.IntN(6)]
	case KindString, KindComplex:
		return []string{"", "a", "a\x00", "a\x00b", "ab", "\xff", "é", fmt.Sprint(r.IntN(50))}[r.IntN(8)]
	case KindList:
		out := make([]any, r.IntN(4))
		for i := range out {
			out[i] = randomValue(r, t.Elem(), true)
		}
		return out
	}
	return nil
}

// randomVector returns n rows of t in one of its encodings.
func randomVector(r *rand.Rand, t Type, n int, nulls bool) *Vector {
	if n > 0 && r.IntN(5) == 0 {
		return Constant(t, randomValue(r, t, nulls), n)
	}
	b := NewBuilder(t, n)
	for range n {
		b.Append(randomValue(r, t, nulls))
	}
	v := b.Build()
	if t == String && n > 0 && r.IntN(2) == 0 {
		entries := append([]string{}, v.Strings...)
		slices.Sort(entries)
		entries = slices.Compact(entries)
		d := NewDict(entries)
		codes := make([]uint32, n)
		for i, s := range v.Strings {
			codes[i], _ = d.Lookup(s)
		}
		v = &Vector{Type: String, Len: n, Codes: codes, Dict: d, Valid: v.Valid}
	}
	return v
}

func values(b *Batch) [][]any {
	b = b.Compact()
	out := make([][]any, b.N)
	for i := range out {
		for _, c := range b.Cols {
			out[i] = append(out[i], c.ValueAt(i))
		}
	}
	return out
}

var sameValues = cmpopts.EquateNaNs()

func TestCompareAgreesWithSortKeysAndSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, typ := range allTypes {
		for range 30 {
			a, b := randomVector(r, typ, 20, true), randomVector(r, typ, 20, true)
			for _, o := range []Order{{}, {Desc: true}, {NullsFirst: true}, {Desc: true, NullsFirst: true}} {
				ka, kb := NewSortKeys([]*Vector{a}, []Order{o}, 20), NewSortKeys([]*Vector{b}, []Order{o}, 20)
				for i := range 20 {
					for j := range 20 {
						want := Compare(a, i, b, j)
						if an, bn := a.IsNull(i), b.IsNull(j); an != bn {
							want = map[bool]int{true: -1, false: 1}[an == o.NullsFirst]
						} else if o.Desc {
							want = -want
						}
						if got := ka.Compare(i, kb, j); got != want {
							t.Fatalf("%s %+v: %v against %v: keys say %d, want %d", typ, o, a.ValueAt(i), b.ValueAt(j), got, want)
						}
						if i < j && ka.Prefix(i) < ka.Prefix(j) && ka.Compare(i, ka, j) >= 0 {
							t.Fatalf("%s: prefix order is wrong for %v and %v", typ, a.ValueAt(i), a.ValueAt(j))
						}
					}
				}
			}
			for _, n := range []int{20, 1000} {
				v := randomVector(r, typ, n, r.IntN(2) == 0)
				rows := NewSortKeys([]*Vector{v}, []Order{{NullsFirst: true}}, n).Order()
				for i := 1; i < n; i++ {
					if c := Compare(v, int(rows[i-1]), v, int(rows[i])); c > 0 || c == 0 && rows[i-1] > rows[i] {
						t.Fatalf("%s: rows %d and %d are in the wrong order", typ, rows[i-1], rows[i])
					}
				}
			}
			ha, hb := make([]uint64, 20), make([]uint64, 20)
			HashRows([]*Vector{a}, ha)
			HashRows([]*Vector{b}, hb)
			for i := range 20 {
				for j := range 20 {
					same := Same(a, i, b, j)
					if text := bytes.Equal(KeyText(nil, a, i), KeyText(nil, b, j)); text != same {
						t.Fatalf("%s: %v and %v: Same %v, KeyText %v", typ, a.ValueAt(i), b.ValueAt(j), same, text)
					}
					if same && ha[i] != hb[j] {
						t.Fatalf("%s: %v and %v are one group with two hashes", typ, a.ValueAt(i), b.ValueAt(j))
					}
					if Compare(a, i, b, j) == 0 && !same {
						t.Fatalf("%s: %v and %v compare equal and are two groups", typ, a.ValueAt(i), b.ValueAt(j))
					}
				}
			}
		}
	}
}

func TestHashStringUsesEveryByte(t *testing.T) {
	for n := range 70 {
		s := bytes.Repeat([]byte{'x'}, n)
		h := HashString(string(s))
		for i := range s {
			s[i] = 'y'
			if HashString(string(s)) == h {
				t.Errorf("length %d: byte %d does not change the hash", n, i)
			}
			s[i] = 'x'
		}
	}
}

func TestFrameKeepsRowsAndTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for trial := range 200 {
		n := []int{0, 1, 3, 64, 65, 200}[trial%6]
		b := &Batch{N: n}
		for range r.IntN(5) {
			b.Cols = append(b.Cols, randomVector(r, allTypes[r.IntN(len(allTypes))], n, r.IntN(2) == 0))
		}
		if n > 1 && r.IntN(3) == 0 {
			b.Sel = []uint32{0, uint32(n - 1)}
		}
		want := values(b)
		frame, err := AppendFrame([]byte("before"), b)
		if err != nil {
			t.Fatal(err)
		}
		got, used, err := DecodeFrame(append(frame[len("before"):], "after"...))
		if err != nil {
			t.Fatal(err)
		}
		if used != len(frame)-len("before") {
			t.Errorf("frame of [%d] bytes decoded as [%d]", len(frame)-len("before"), used)
		}
		if diff := cmp.Diff(want, values(got), sameValues); diff != "" {
			t.Fatalf("trial %d: %s", trial, diff)
		}
		for i, c := range got.Cols {
			if c.Type != b.Cols[i].Type {
				t.Errorf("type %s became %s", b.Cols[i].Type, c.Type)
			}
		}
	}
}

func TestFrameSendsOnlyUsedDictionaryEntries(t *testing.T) {
	entries := make([]string, 10_000)
	for i := range entries {
		entries[i] = fmt.Sprintf("entry %05d with some length", i)
	}
	v := FromCodes([]uint32{9999, 5, 9999}, NewDict(entries))
	frame, err := AppendFrame(nil, &Batch{N: 3, Cols: []*Vector{v}})
	if err != nil {
		t.Fatal(err)
	}
	if len(frame) > 300 {
		t.Errorf("three rows took [%d] bytes", len(frame))
	}
	got, _, err := DecodeFrame(frame)
	if err != nil || got.Cols[0].StringAt(2) != entries[9999] || got.Cols[0].StringAt(1) != entries[5] {
		t.Errorf("decoded %v, %v", got, err)
	}
}

func TestFrameStream(t *testing.T) {
	var buf bytes.Buffer
	w := NewFrameWriter(&buf)
	big := make([]string, 40)
	for i := range big {
		big[i] = string(bytes.Repeat([]byte{byte('a' + i%26)}, 1<<20))
	}
	for _, b := range []*Batch{{N: 0}, {N: 2, Cols: []*Vector{FromLongs([]int64{1, 2})}}, {N: 40, Cols: []*Vector{FromStrings(big)}}} {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	whole := buf.Bytes()
	r := NewFrameReader(bytes.NewReader(whole))
	rows, frames := 0, 0
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows += b.N
		frames++
	}
	if rows != 42 || frames < 4 {
		t.Errorf("read [%d] rows in [%d] frames; a batch of 40 MiB should have been cut", rows, frames)
	}
	for _, cut := range []int{1, 19, 25, len(whole) - 1} {
		r := NewFrameReader(bytes.NewReader(whole[:cut]))
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, ErrCorruptFrame) {
			t.Errorf("stream cut at [%d]: %v", cut, err)
		}
	}
}

func TestFlippedBitsAreNoticed(t *testing.T) {
	frame, err := AppendFrame(nil, &Batch{N: 2, Cols: []*Vector{FromStrings([]string{"abc", "d"}), FromDoubles([]float64{1, 2})}})
	if err != nil {
		t.Fatal(err)
	}
	for bit := range len(frame) * 8 {
		frame[bit/8] ^= 1 << (bit % 8)
		if _, _, err := DecodeFrame(frame); err == nil {
			t.Errorf("flipping bit [%d] went unnoticed", bit)
		}
		frame[bit/8] ^= 1 << (bit % 8)
	}
}

// FuzzDecodeFrame repairs the checksum, so that the decoder behind it sees damage too.
func FuzzDecodeFrame(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, t := range allTypes {
		frame, err := AppendFrame(nil, &Batch{N: 5, Cols: []*Vector{randomVector(r, t, 5, true), randomVector(r, t, 5, false)}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if size, err := frameSize(p); err == nil && frameHeader+size <= len(p) {
			p = slices.Clone(p)
			sum := frameSum(p[:16], p[frameHeader:frameHeader+size])
			p[16], p[17], p[18], p[19] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
		}
		b, _, err := DecodeFrame(p)
		if err != nil || b.N > 1<<12 { // constants may claim many rows in few bytes
			return
		}
		want := values(b)
		again, err := AppendFrame(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		c, _, err := DecodeFrame(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, values(c), sameValues); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestBatchBuilderAppendsAnyEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, typ := range allTypes {
		bb := NewBatchBuilder([]Type{typ, Long}, 0)
		var want [][]any
		for range 20 {
			n := 1 + r.IntN(10)
			b := &Batch{N: n, Cols: []*Vector{randomVector(r, typ, n, r.IntN(2) == 0), randomVector(r, Long, n, false)}}
			switch r.IntN(3) {
			case 0:
				b.Sel = []uint32{uint32(n - 1)}
			case 1:
				b.Sel = []uint32{}
			}
			bb.Append(b)
			want = append(want, values(b)...)
		}
		if bb.Rows() != len(want) || bb.Bytes() <= 0 {
			t.Errorf("%s: Rows [%d], Bytes [%d]", typ, bb.Rows(), bb.Bytes())
		}
		got := bb.Build()
		if diff := cmp.Diff(want, values(got), sameValues); diff != "" {
			t.Fatalf("%s: %s", typ, diff)
		}
		if own := got.Cols[0].OwnStrings(); cmp.Diff(values(&Batch{N: got.N, Cols: []*Vector{own}}), values(&Batch{N: got.N, Cols: got.Cols[:1]}), sameValues) != "" {
			t.Errorf("%s: OwnStrings changed values", typ)
		}
	}
}

func BenchmarkHashRows(b *testing.B) {
	longs := make([]int64, BatchRows)
	texts := make([]string, BatchRows)
	for i := range longs {
		longs[i], texts[i] = int64(i), fmt.Sprintf("value number %d", i)
	}
	out := make([]uint64, BatchRows)
	for name, cols := range map[string][]*Vector{"long": {FromLongs(longs)}, "string": {FromStrings(texts)}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				HashRows(cols, out)
			}
		})
	}
}

// Rows over a dictionary of many entries come back, and a frame has each of their texts once.
func TestFramesOfALargeDictionary(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	texts := make([]string, 50_000)
	for i := range texts {
		texts[i] = fmt.Sprintf("%x", r.Uint32())
	}
	d := NewDict(texts)
	for _, n := range []int{1, 3, 4, 100, 4096} {
		v := &Vector{Type: String, Len: n, Dict: d, Codes: make([]uint32, n), Valid: FullBitmap(n)}
		different := map[uint32]bool{}
		for i := range n {
			v.Codes[i] = uint32(len(texts) - 1 - r.IntN(1+n*2/3))
			if r.IntN(10) == 0 {
				v.Valid.Clear(i)
			} else {
				different[v.Codes[i]] = true
			}
		}
		frame, err := AppendFrame(nil, &Batch{N: n, Cols: []*Vector{v}})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := DecodeFrame(frame)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if want := v.ValueAt(i); got.Cols[0].ValueAt(i) != want {
				t.Fatalf("row %d of %d is %v, want %v", i, n, got.Cols[0].ValueAt(i), want)
			}
		}
		if d := got.Cols[0].Dict; d != nil && d.Len() != max(len(different), 1) {
			t.Errorf("%d entries for %d different texts", d.Len(), len(different))
		}
	}
}

func BenchmarkFrameOfALargeDictionary(b *testing.B) {
	r := rand.New(rand.NewPCG(23, 24))
	texts := make([]string, 1_000_000)
	for i := range texts {
		texts[i] = fmt.Sprintf("%016x", r.Uint64())
	}
	v := &Vector{Type: String, Len: 4096, Dict: NewDict(texts), Codes: make([]uint32, 4096)}
	for i := range v.Codes {
		v.Codes[i] = r.Uint32N(uint32(len(texts)))
	}
	var buf []byte
	for b.Loop() {
		var err error
		if buf, err = AppendFrame(buf[:0], &Batch{N: 4096, Cols: []*Vector{v}}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	some := func(n int) Bitmap {
		if r.IntN(4) == 0 {
			return nil
		}
		b := NewBitmap(n)
		for i := range n {
			if r.IntN(2) == 0 {
				b.Set(i)
			}
		}
		return b
	}
	for _, n := range []int{0, 1, 63, 64, 65, 200} {
		for range 20 {
			taken := NewBitmap(n)
			for w := range taken {
				taken[w] = r.Uint64() // what lies beyond n is no row
			}
			a, b := some(n), some(n)
			got := Choose(taken, a, b, n)
			for i := range n {
				want := b.Get(i)
				if taken.Get(i) {
					want = a.Get(i)
				}
				if got.Get(i) != want {
					t.Fatalf("row %d of %d is %t, want %t", i, n, got.Get(i), want)
				}
			}
			if got != nil && got.Count(n) != len(got.Rows(nil)) {
				t.Fatalf("bits are set beyond row %d", n)
			}
		}
	}
}

// Keys that have their first hundred bytes in common are ordered by what follows, and equal ones
// stay as they come.
func TestOrderOfKeysWithMuchInCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, n := range []int{comparisonSortRows - 1, comparisonSortRows, 5000} {
		texts, numbers := NewBuilder(String, n), NewBuilder(Long, n)
		for range n {
			s := strings.Repeat("same", 25*r.IntN(2)+1) + strings.Repeat("x", r.IntN(20)) + strconv.Itoa(r.IntN(50))
			if r.IntN(20) == 0 {
				texts.AppendNull()
			} else {
				texts.AppendString(s)
			}
			numbers.AppendLong(int64(r.IntN(3)))
		}
		cols := []*Vector{texts.Build(), numbers.Build()}
		for _, o := range []Order{{}, {Desc: true}, {NullsFirst: true}, {Desc: true, NullsFirst: true}} {
			keys := NewSortKeys(cols, []Order{o, {Desc: !o.Desc}}, n)
			want := make([]uint32, n)
			for i := range want {
				want[i] = uint32(i)
			}
			slices.SortStableFunc(want, func(a, b uint32) int { return bytes.Compare(keys.Key(int(a)), keys.Key(int(b))) })
			if got := keys.Order(); !slices.Equal(got, want) {
				t.Errorf("%d rows, %+v: wrong order", n, o)
			}
		}
	}
}
