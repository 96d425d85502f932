package segment

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hengedb/henge/internal/vector"
)

// rowsOf is a table as rows of boxed values, in which tests think.
type rowsOf [][]any

func batchesOf(specs []ColumnSpec, rows rowsOf, size int) []*vector.Batch {
	var out []*vector.Batch
	for at := 0; at < len(rows); at += size {
		part := rows[at:min(at+size, len(rows))]
		b := &vector.Batch{N: len(part)}
		for c, s := range specs {
			v := vector.NewBuilder(s.Type, len(part))
			for _, r := range part {
				v.Append(r[c])
			}
			b.Cols = append(b.Cols, v.Build())
		}
		out = append(out, b)
	}
	return out
}

func writeRows(t testing.TB, specs []ColumnSpec, rows rowsOf, opts Options, size int) []byte {
	t.Helper()
	opts.Columns = specs
	opts.TempDir = t.TempDir()
	var out bytes.Buffer
	w, err := NewWriter(&out, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batchesOf(specs, rows, size) {
		if err := w.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	info, err := w.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if info.Size != int64(out.Len()) {
		t.Fatalf("info says %d bytes, file has %d", info.Size, out.Len())
	}
	return out.Bytes()
}

func openBytes(t testing.TB, b []byte) *Segment {
	t.Helper()
	s, err := OpenAt(bytes.NewReader(b), int64(len(b)), "memory")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readRows reads every column in batches of the given size.
func readRows(r Reader, size int) (rowsOf, error) {
	out := make(rowsOf, r.Info().Rows)
	for _, ci := range r.Info().Columns {
		c, err := r.Column(ci.Name)
		if err != nil {
			return nil, err
		}
		var buf Buffer
		for at := 0; at < len(out); at += size {
			v, err := c.Read(&buf, at, min(at+size, len(out)))
			if err != nil {
				return nil, err
			}
			if v.Type != ci.Type {
				return nil, fmt.Errorf("column %s reads as %s and is %s", ci.Name, v.Type, ci.Type)
			}
			for i := range v.Len {
				out[at+i] = append(out[at+i], owned(v.ValueAt(i)))
			}
		}
	}
	return out, nil
}

// owned returns a value whose strings are copies: those of a segment are valid until its release.
func owned(x any) any {
	switch x := x.(type) {
	case string:
		return strings.Clone(x)
	case []any:
		for i := range x {
			x[i] = owned(x[i])
		}
	}
	return x
}

var allTypes = []ColumnSpec{
	{Name: TimeColumn, Type: vector.Long},
	{Name: "low", Type: vector.String},
	{Name: "high", Type: vector.String},
	{Name: "bare", Type: vector.String, NoIndex: true},
	{Name: "one", Type: vector.String},
	{Name: "none", Type: vector.String},
	{Name: "long", Type: vector.Long},
	{Name: "wide", Type: vector.Long},
	{Name: "hours", Type: vector.Long},
	{Name: "double", Type: vector.Double},
	{Name: "float", Type: vector.Float},
	{Name: "multi", Type: vector.ListOf(vector.String), Multi: true},
	{Name: "single", Type: vector.ListOf(vector.String), Multi: true},
	{Name: "strings", Type: vector.ListOf(vector.String)},
	{Name: "longs", Type: vector.ListOf(vector.Long)},
	{Name: "doubles", Type: vector.ListOf(vector.Double)},
	{Name: "nested", Type: vector.ListOf(vector.ListOf(vector.String))},
	{Name: "json", Type: vector.JSON},
	{Name: "jsons", Type: vector.JSON},
	{Name: "sketch", Type: vector.ComplexOf("HLLSketch"), Metric: "HLLSketchBuild"},
}

var oddDoubles = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1.5, -2.25, math.MaxFloat64, math.SmallestNonzeroFloat64}

var oddLongs = []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 40, -(1 << 33), 253402300800000, -62135596800001}

// randomRows returns rows of allTypes. Each value is null in a share of rows.
func randomRows(r *rand.Rand, n int, nulls float64) rowsOf {
	maybe := func(x any) any {
		if r.Float64() < nulls {
			return nil
		}
		return x
	}
	list := func(f func() any) any {
		out := []any{}
		for range r.IntN(4) {
			out = append(out, maybe(f()))
		}
		return maybe(out)
	}
	low := func() any { return fmt.Sprintf("v%d", r.IntN(12)) }
	out := make(rowsOf, n)
	for i := range out {
		sketch := make([]byte, r.IntN(40))
		for k := range sketch {
			sketch[k] = byte(r.Uint32())
		}
		out[i] = []any{
			1700000000000 + int64(r.IntN(n+1))*17,
			maybe(low()),
			maybe(fmt.Sprintf("user-%d-é-%s", r.IntN(10*n+1), strings.Repeat("x", r.IntN(30)))),
			maybe(fmt.Sprint(r.IntN(300))),
			maybe("only"),
			nil,
			maybe(int64(r.IntN(1000)) - 500),
			maybe(oddLongs[r.IntN(len(oddLongs))]),
			maybe(int64(r.IntN(50)) * 3600000),
			maybe(oddDoubles[r.IntN(len(oddDoubles))]),
			maybe(float32(r.NormFloat64())),
			list(low),
			maybe([]any{low()}),
			list(low),
			list(func() any { return oddLongs[r.IntN(len(oddLongs))] }),
			list(func() any { return r.NormFloat64() }),
			list(func() any { return list(low) }),
			maybe(fmt.Sprintf(`{"a":%d}`, r.IntN(5))),
			maybe(fmt.Sprintf(`{"id":%d,"text":"some words that repeat in every row"}`, r.Int())),
			maybe(string(sketch)),
		}
	}
	return out
}

// plainSingle is rows as they are read back: "single" is stored as plain strings.
func plainSingle(rows rowsOf) rowsOf {
	at := 0
	for allTypes[at].Name != "single" {
		at++
	}
	out := make(rowsOf, len(rows))
	for i, r := range rows {
		out[i] = append([]any(nil), r...)
		if l, ok := r[at].([]any); ok {
			out[i][at] = l[0]
		}
	}
	return out
}

func sortedByTime(rows rowsOf) rowsOf {
	out := append(rowsOf(nil), rows...)
	sort.SliceStable(out, func(a, b int) bool { return out[a][0].(int64) < out[b][0].(int64) })
	return out
}

// difference describes the first value that differs; it tells 0.0 from -0.0.
func difference(want, got rowsOf) string {
	for i := range want {
		if i >= len(got) {
			break
		}
		for c := range want[i] {
			if !cmp.Equal(want[i][c], got[i][c], cmpopts.EquateNaNs()) {
				return fmt.Sprintf("row %d column %s: wrote %#v, read %#v", i, allTypes[c].Name, want[i][c], got[i][c])
			}
			if x, ok := want[i][c].(float64); ok && math.Signbit(x) != math.Signbit(got[i][c].(float64)) && x == x {
				return fmt.Sprintf("row %d column %s: sign of %v is lost", i, allTypes[c].Name, x)
			}
		}
	}
	if len(want) != len(got) {
		return fmt.Sprintf("wrote %d rows, read %d", len(want), len(got))
	}
	return ""
}

func TestRowsComeBackAsWritten(t *testing.T) {
	for seed := range uint64(2) {
		for _, n := range []int{0, 1, 2, 63, 64, 65, 300, 9000} {
			for _, nulls := range []float64{0, 0.2, 1} {
				r := rand.New(rand.NewPCG(seed, uint64(n)))
				rows := randomRows(r, n, nulls)
				want := plainSingle(sortedByTime(rows))
				for _, size := range []int{3, 4096} {
					if n > 1000 && (size == 3 || seed > 0 || nulls == 1 || testing.Short()) {
						continue
					}
					t.Run(fmt.Sprintf("seed %d rows %d nulls %v batch %d", seed, n, nulls, size), func(t *testing.T) {
						s := openBytes(t, writeRows(t, allTypes, rows, Options{SortOrder: []string{TimeColumn}}, size))
						defer s.Release()
						for _, readSize := range []int{1, 3, 4096, 100000} {
							if readSize < 4 && n > 1000 {
								continue
							}
							got, err := readRows(s, readSize)
							if err != nil {
								t.Fatal(err)
							}
							if diff := difference(want, got); diff != "" {
								t.Fatalf("reading %d at a time: %s", readSize, diff)
							}
						}
						if err := s.Verify(); err != nil {
							t.Fatal(err)
						}
						checkStatistics(t, s, want)
						checkSelections(t, r, s, want)
						checkIndexes(t, s, want)
					})
				}
			}
		}
	}
}

func checkStatistics(t *testing.T, s *Segment, rows rowsOf) {
	t.Helper()
	for c, info := range s.Info().Columns {
		nulls := 0
		distinct := map[any]bool{}
		for i, r := range rows {
			x := r[c]
			if x == nil {
				nulls++
				continue
			}
			var low, high bool
			switch x := x.(type) {
			case int64:
				low, high = x < info.Min.(int64), x > info.Max.(int64)
			case float64:
				if x == x {
					low, high = x < info.Min.(float64), x > info.Max.(float64)
				}
			case float32:
				low, high = float64(x) < info.Min.(float64), float64(x) > info.Max.(float64)
			case string:
				if info.Type == vector.String {
					low, high = x < info.Min.(string), x > info.Max.(string)
				}
			}
			if low || high {
				t.Fatalf("column %s row %d: %v is not between %v and %v", info.Name, i, x, info.Min, info.Max)
			}
			if k, ok := x.(float64); ok {
				x = math.Float64bits(k)
			}
			if _, list := x.([]any); !list {
				distinct[x] = true
			}
		}
		if nulls != info.Nulls {
			t.Fatalf("column %s: %d nulls, says %d", info.Name, nulls, info.Nulls)
		}
		if info.Type.Kind != vector.KindList && info.DistinctExact && info.Distinct >= 0 && info.Distinct != len(distinct) {
			t.Fatalf("column %s: %d distinct values, says %d", info.Name, len(distinct), info.Distinct)
		}
	}
}

func checkSelections(t *testing.T, r *rand.Rand, s *Segment, rows rowsOf) {
	t.Helper()
	var sel []uint32
	for i := range rows {
		if r.IntN(5) == 0 {
			sel = append(sel, uint32(i))
		}
	}
	for ci, info := range s.Info().Columns {
		c, err := s.Column(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.ReadRows(nil, sel)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range sel {
			if got, want := v.ValueAt(i), rows[row][ci]; !cmp.Equal(got, want, cmpopts.EquateNaNs()) {
				t.Fatalf("column %s row %d: wrote %#v, selected %#v", info.Name, row, want, got)
			}
		}
		for b := 0; b*BlockRows < len(rows); b++ {
			var want Totals
			for row := b * BlockRows; row < min((b+1)*BlockRows, len(rows)); row++ {
				if rows[row][ci] != nil {
					want.Values++
				}
				switch x := rows[row][ci].(type) {
				case int64:
					want.Long += x
					if lo, hi, ok := c.LongRange(b); ok && (x < lo || x > hi) {
						t.Fatalf("column %s block %d: %d is not between %d and %d", info.Name, b, x, lo, hi)
					}
				case float64:
					want.Double += x
					if lo, hi, ok := c.DoubleRange(b); ok && !(x >= lo && x <= hi) {
						t.Fatalf("column %s block %d: %g is not between %g and %g", info.Name, b, x, lo, hi)
					}
				case float32:
					want.Double += float64(x)
				}
			}
			got, known := c.Totals(b)
			if k := info.Type.Kind; k != vector.KindLong && k != vector.KindDouble && k != vector.KindFloat {
				want.Long, want.Double = 0, 0
			} else if k == vector.KindLong {
				got.Double = 0 // the same bits
			} else {
				got.Long = 0
			}
			if !known || !cmp.Equal(got, want, cmpopts.EquateNaNs()) {
				t.Fatalf("column %s block %d: totals are %+v, %v, and not %+v", info.Name, b, got, known, want)
			}
		}
	}
}

func checkIndexes(t *testing.T, s *Segment, rows rowsOf) {
	t.Helper()
	for ci, info := range s.Info().Columns {
		c, err := s.Column(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Dict()
		if err != nil {
			t.Fatal(err)
		}
		if !info.Indexed {
			if d != nil {
				if b, err := c.Bitmap(0); b != nil || err != nil {
					t.Fatalf("column %s has no index and answers %v %v", info.Name, b, err)
				}
			}
			continue
		}
		want := map[string][]uint32{}
		for i, r := range rows {
			values, ok := r[ci].([]any)
			if !ok {
				values = []any{r[ci]}
			}
			for _, x := range values {
				if x, ok := x.(string); ok && (len(want[x]) == 0 || want[x][len(want[x])-1] != uint32(i)) {
					want[x] = append(want[x], uint32(i))
				}
			}
		}
		for code := range d.Len() {
			b, err := c.Bitmap(uint32(code))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[d.Value(uint32(code))], b.ToArray(), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("column %s entry %q: %s", info.Name, d.Value(uint32(code)), diff)
			}
		}
	}
}

func TestSpilledRunsMergeToTheSameFile(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(7, 7)), 3000, 0.1)
	opts := Options{SortOrder: []string{TimeColumn, "low", "multi", "wide", "double"}, QueryGranularity: "HOUR", Metadata: []byte(`{"by":"test"}`)}
	want := writeRows(t, allTypes, rows, opts, 500)
	opts.BufferBytes = 1 // every batch is a run
	got := writeRows(t, allTypes, rows, opts, 500)
	if !bytes.Equal(want, got) {
		a, _ := readRows(openBytes(t, want), 4096)
		b, _ := readRows(openBytes(t, got), 4096)
		t.Fatalf("files differ: %s", difference(a, b))
	}
}

func TestOpenMapsTheSameRows(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(8, 8)), 5000, 0.1)
	path := filepath.Join(t.TempDir(), "a.segment")
	w, err := Create(path, Options{Columns: allTypes, SortOrder: []string{TimeColumn}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batchesOf(allTypes, rows, 999) {
		if err := w.Append(context.Background(), b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Acquire() {
		t.Fatal("can't acquire an open segment")
	}
	s.Release()
	names := []string{"of no column"}
	for _, c := range allTypes {
		names = append(names, c.Name)
	}
	s.Advise(names) // a hint about any columns changes nothing
	got, err := readRows(s, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(plainSingle(sortedByTime(rows)), got); diff != "" {
		t.Fatal(diff)
	}
	var text bytes.Buffer
	a, err := Inspect(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		t.Log("\n" + text.String())
	}
	s.Release()
	if s.Acquire() {
		t.Fatal("acquired a closed segment")
	}
}
