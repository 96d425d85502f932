package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

func mergeBytes(t *testing.T, inputs []Reader, opts Options) (*Segment, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "merged.segment")
	if _, err := Merge(context.Background(), path, inputs, opts); err != nil {
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 0 {
			t.Errorf("a failed merge leaves %v", left)
		}
		return nil, err
	}
	s, err := Open(path)
	if err != nil {
		return nil, err
	}
	t.Cleanup(s.Release)
	return s, nil
}

// TestMergeEqualsWritingAtOnce splits rows among segments at random and merges them.
func TestMergeEqualsWritingAtOnce(t *testing.T) {
	order := []string{TimeColumn, "multi", "low", "double"}
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 9))
		rows := randomRows(r, 1500, []float64{0, 0.3}[seed%2])
		parts := make([]rowsOf, 1+r.IntN(6))
		for _, row := range rows {
			k := r.IntN(len(parts))
			parts[k] = append(parts[k], row)
		}
		var inputs []Reader
		var joined rowsOf
		for _, p := range parts {
			s := openBytes(t, writeRows(t, allTypes, p, Options{SortOrder: order}, 700))
			defer s.Release()
			inputs = append(inputs, s)
			joined = append(joined, p...)
		}
		s, err := mergeBytes(t, inputs, Options{Columns: allTypes, SortOrder: order})
		if err != nil {
			t.Fatal(err)
		}
		want, err := readRows(openBytes(t, writeRows(t, allTypes, joined, Options{SortOrder: order}, 4096)), 4096)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readRows(s, 4096)
		if err != nil {
			t.Fatal(err)
		}
		if diff := difference(want, got); diff != "" {
			t.Fatalf("seed %d, %d parts: %s", seed, len(parts), diff)
		}
		if err := s.Verify(); err != nil {
			t.Fatal(err)
		}
	}
}

var rollupColumns = []ColumnSpec{
	{Name: TimeColumn, Type: vector.Long},
	{Name: "page", Type: vector.String},
	{Name: "tags", Type: vector.ListOf(vector.String), Multi: true},
	{Name: "sum", Type: vector.Long, Metric: "longSum"},
	{Name: "all", Type: vector.ComplexOf("concat"), Metric: "concat"},
}

// testFold sums longs, null counting as nothing, and joins texts.
func testFold(spec ColumnSpec) (Fold, error) {
	return func(v *vector.Vector, starts []uint32) (*vector.Vector, error) {
		out := vector.NewBuilder(v.Type, len(starts)-1)
		for g := range len(starts) - 1 {
			sum, text, any := int64(0), "", false
			for i := int(starts[g]); i < int(starts[g+1]); i++ {
				if v.IsNull(i) {
					continue
				}
				any = true
				if spec.Type == vector.Long {
					sum += v.LongAt(i)
				} else {
					text += v.StringAt(i)
				}
			}
			switch {
			case !any:
				out.AppendNull()
			case spec.Type == vector.Long:
				out.AppendLong(sum)
			default:
				out.AppendString(text)
			}
		}
		return out.Build(), nil
	}, nil
}

func TestRollupCombinesEqualDimensions(t *testing.T) {
	for _, n := range []int{1, 50, 20000} {
		for _, groups := range []int{1, 7, 3000} {
			for _, spill := range []int64{0, 1} {
				t.Run(fmt.Sprintf("rows %d groups %d spill %d", n, groups, spill), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(n), uint64(groups)))
					var rows rowsOf
					type sums struct {
						key  []any
						sum  int64
						text []byte
						any  bool
					}
					want := map[string]*sums{}
					for range n {
						g := r.IntN(groups)
						key := []any{int64(g%5) * 3600000, fmt.Sprint("p", g%11), []any{"x", fmt.Sprint(g % 3)}}
						if g%4 == 0 {
							key[1] = nil
						}
						if g%6 == 0 {
							key[2] = nil
						}
						var x any
						if r.IntN(10) > 0 {
							x = int64(g + r.IntN(100))
						}
						c := string(rune('a' + r.IntN(26)))
						rows = append(rows, append(append([]any(nil), key...), x, c))
						k := fmt.Sprint(key)
						if want[k] == nil {
							want[k] = &sums{key: key}
						}
						if x != nil {
							want[k].sum += x.(int64)
							want[k].any = true
						}
						want[k].text = append(want[k].text, c[0])
					}
					s := openBytes(t, writeRows(t, rollupColumns, rows,
						Options{SortOrder: []string{TimeColumn}, Rollup: true, Fold: testFold, BufferBytes: spill}, 4000))
					defer s.Release()
					got, err := readRows(s, 4096)
					if err != nil {
						t.Fatal(err)
					}
					if len(got) != len(want) {
						t.Fatalf("%d rows, want %d", len(got), len(want))
					}
					if diff := cmp.Diff([]string{TimeColumn, "page", "tags"}, s.Info().SortOrder); diff != "" || !s.Info().Rollup {
						t.Fatal(diff)
					}
					for i, row := range got {
						w := want[fmt.Sprint(row[:3])]
						if w == nil {
							t.Fatalf("row %d %v: no such group", i, row)
						}
						var sum any
						if w.any {
							sum = w.sum
						}
						text := []byte(row[4].(string))
						if spill == 0 {
							if string(text) != string(w.text) { // arrival order is kept within a group
								t.Fatalf("group %v: texts %s, want %s", w.key, text, w.text)
							}
						}
						sortBytes(text)
						sortBytes(w.text)
						if row[3] != sum || !bytes.Equal(text, w.text) {
							t.Fatalf("group %v: %v %s, want %v %s", w.key, row[3], text, sum, w.text)
						}
					}
				})
			}
		}
	}
}

func sortBytes(b []byte) { slices.Sort(b) }

func TestMergeFillsMissingColumnsAndRefusesOtherTypes(t *testing.T) {
	a := openBytes(t, writeRows(t, []ColumnSpec{{Name: TimeColumn, Type: vector.Long}, {Name: "s", Type: vector.String}},
		rowsOf{{int64(1), "x"}, {int64(5), nil}}, Options{SortOrder: []string{TimeColumn}}, 10))
	defer a.Release()
	b := openBytes(t, writeRows(t, []ColumnSpec{{Name: TimeColumn, Type: vector.Long}, {Name: "n", Type: vector.ListOf(vector.Long)}},
		rowsOf{{int64(2), []any{int64(7)}}, {int64(3), nil}}, Options{SortOrder: []string{TimeColumn}}, 10))
	defer b.Release()
	opts := Options{Columns: []ColumnSpec{{Name: TimeColumn, Type: vector.Long}, {Name: "s", Type: vector.String}, {Name: "n", Type: vector.ListOf(vector.Long)},
		{Name: "nowhere", Type: vector.Double}}, SortOrder: []string{TimeColumn}}
	s, err := mergeBytes(t, []Reader{a, b}, opts)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRows(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf{{int64(1), "x", nil, nil}, {int64(2), nil, []any{int64(7)}, nil}, {int64(3), nil, nil, nil}, {int64(5), nil, nil, nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	opts.Columns[1].Type = vector.Long
	if _, err := mergeBytes(t, []Reader{a, b}, opts); err == nil || !strings.Contains(err.Error(), "column [s] of type [STRING]") {
		t.Fatalf("other type: %v", err)
	}
	opts.Columns = opts.Columns[:1]
	opts.SortOrder = []string{"s"}
	if _, err := mergeBytes(t, []Reader{a, b}, opts); err == nil {
		t.Fatal("sorted by a column that is not there")
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	opts.SortOrder = nil
	if _, err := Merge(canceled, filepath.Join(t.TempDir(), "x"), []Reader{a, b}, opts); !errors.Is(err, context.Canceled) {
		t.Fatalf("canceled: %v", err)
	}
}

// unsorted is a Reader as a live index may be one: its dictionary is in order of arrival and has
// entries that no row uses.
type unsorted struct{ *memoryTable }

func TestMergeSortsUnsortedDictionaries(t *testing.T) {
	dict := vector.NewDict([]string{"pear", "unused", "apple", "fig"})
	table := &memoryTable{info: Info{Rows: 5}, columns: make([]memoryColumn, 1)}
	v := vector.FromCodes([]uint32{0, 2, 3, 2, 1}, dict)
	v.Valid = vector.FullBitmap(5)
	v.Valid.Clear(4)
	table.columns[0] = memoryColumn{table: table, info: ColumnInfo{Name: "s", Type: vector.String, Nulls: 1, Distinct: -1}, values: v, dict: dict}
	table.info.Columns = []ColumnInfo{table.columns[0].info}
	s, err := mergeBytes(t, []Reader{unsorted{table}}, Options{Columns: []ColumnSpec{{Name: "s", Type: vector.String}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRows(s, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rowsOf{{"pear"}, {"apple"}, {"fig"}, {"apple"}, {nil}}, got); diff != "" {
		t.Fatal(diff)
	}
	c := s.Info().Column("s")
	if c.Distinct != 3 || c.Min != "apple" || c.Max != "pear" {
		t.Fatalf("%+v", c)
	}
}

func TestTimeRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	spec := []ColumnSpec{{Name: TimeColumn, Type: vector.Long}}
	for _, n := range []int{0, 1, 5, 4096, 9001} {
		var times []int64
		var rows rowsOf
		at := int64(-5000)
		for range n {
			at += int64(r.IntN(3)) * 50
			times = append(times, at)
			rows = append(rows, []any{at})
		}
		sorted := openBytes(t, writeRows(t, spec, rows, Options{SortOrder: []string{TimeColumn}}, 4096))
		defer sorted.Release()
		plain := openBytes(t, writeRows(t, spec, rows, Options{}, 4096))
		defer plain.Release()
		for range 200 {
			lo := int64(r.IntN(50*n+10000)) - 6000
			hi := lo + int64(r.IntN(5000)) - 100
			wantFrom := sort.Search(n, func(i int) bool { return times[i] >= lo })
			wantTo := sort.Search(n, func(i int) bool { return times[i] >= hi })
			from, to, err := TimeRows(sorted, lo, hi)
			if err != nil {
				t.Fatal(err)
			}
			if wantFrom >= wantTo && from >= to {
				continue
			}
			if from != wantFrom || to != wantTo {
				t.Fatalf("%d rows, [%d, %d): rows %d to %d, want %d to %d", n, lo, hi, from, to, wantFrom, wantTo)
			}
			if from, to, err = TimeRows(plain, lo, hi); err != nil || from > wantFrom || to < wantTo {
				t.Fatalf("unsorted: rows %d to %d, want at least %d to %d: %v", from, to, wantFrom, wantTo, err)
			}
		}
	}
}

// tightBudget gives up to limit bytes.
type tightBudget struct{ limit, used, peak int64 }

func (b *tightBudget) Reserve(n int64) error {
	if b.used+n > b.limit {
		return errors.New("no memory left")
	}
	b.used += n
	b.peak = max(b.peak, b.used)
	return nil
}

func (b *tightBudget) Release(n int64) { b.used -= n }

func TestWriterSpillsWhenTheBudgetEnds(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(11, 11)), 6000, 0.1)
	want := writeRows(t, allTypes, rows, Options{SortOrder: []string{TimeColumn}}, 500)
	b := &tightBudget{limit: 2 << 20}
	got := writeRows(t, allTypes, rows, Options{SortOrder: []string{TimeColumn}, Budget: b}, 500)
	if !bytes.Equal(want, got) {
		t.Error("files differ")
	}
	if b.used != 0 || b.peak == 0 {
		t.Errorf("%d bytes stay reserved, peak %d", b.used, b.peak)
	}
	w, err := Create(filepath.Join(t.TempDir(), "a"), Options{Columns: allTypes, Budget: b})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(context.Background(), batchesOf(allTypes, rows, 500)[0]); err != nil {
		t.Fatal(err)
	}
	w.Abort()
	w.Abort()
	if b.used != 0 {
		t.Errorf("%d bytes stay reserved after an abort", b.used)
	}
}

func TestWriterRefusesWhatDoesNotFit(t *testing.T) {
	for _, o := range []Options{
		{Columns: []ColumnSpec{{Name: "a", Type: vector.Long}, {Name: "a", Type: vector.Long}}},
		{Columns: []ColumnSpec{{Name: "a"}}},
		{Columns: []ColumnSpec{{Name: "a", Type: vector.Long, Multi: true}}},
		{Columns: []ColumnSpec{{Name: "a", Type: vector.Long}}, SortOrder: []string{"b"}},
		{Columns: []ColumnSpec{{Name: "a", Type: vector.Long}}, SortOrder: []string{"a", "a"}},
		{Columns: []ColumnSpec{{Name: "a", Type: vector.Long, Metric: "longSum"}}, Rollup: true, Fold: testFold},
		{Columns: []ColumnSpec{{Name: "a", Type: vector.Long}, {Name: "b", Type: vector.Long, Metric: "longSum"}}, Rollup: true},
		{Columns: []ColumnSpec{{Name: "a", Type: vector.Long}, {Name: "b", Type: vector.String, Metric: "x"}}, Rollup: true, Fold: testFold},
		{Metadata: []byte("{")},
	} {
		if w, err := NewWriter(&bytes.Buffer{}, o); err == nil {
			t.Errorf("%+v gives %v", o, w)
		}
	}
	ctx := context.Background()
	w, err := NewWriter(&bytes.Buffer{}, Options{Columns: []ColumnSpec{{Name: "a", Type: vector.Long}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*vector.Batch{
		{N: 1},
		{N: 1, Cols: []*vector.Vector{vector.FromStrings([]string{"x"})}},
		{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{1})}},
	} {
		if err := w.Append(ctx, b); err == nil {
			t.Errorf("%+v is taken", b)
		}
	}
	w.Abort()
	if _, err := w.Finish(ctx); err == nil {
		t.Error("finished after an abort")
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer full.Close()
		w, err := NewWriter(full, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Finish(ctx); err == nil || !strings.HasPrefix(err.Error(), "Disk is full") {
			t.Errorf("full disk: %v", err)
		}
	}
}

func TestBatchesInEveryEncodingAndSelection(t *testing.T) {
	specs := []ColumnSpec{{Name: "s", Type: vector.String}, {Name: "n", Type: vector.Long}, {Name: "m", Type: vector.ListOf(vector.String), Multi: true}}
	ctx := context.Background()
	var out bytes.Buffer
	w, err := NewWriter(&out, Options{Columns: specs})
	if err != nil {
		t.Fatal(err)
	}
	lists := vector.NewBuilder(specs[2].Type, 4)
	for _, x := range []any{[]any{"not used"}, []any{"a", "b"}, nil, []any{}} {
		lists.Append(x)
	}
	dict := vector.NewDict([]string{"z", "y", "unused"})
	for _, b := range []*vector.Batch{
		{N: 2, Cols: []*vector.Vector{vector.Constant(vector.String, "c", 2), vector.Constant(vector.Long, int64(4), 2), vector.FromStrings([]string{"p", "q"})}},
		{N: 1, Cols: []*vector.Vector{vector.Nulls(vector.String, 1), vector.Nulls(vector.Long, 1), vector.Nulls(specs[2].Type, 1)}},
		{N: 3, Sel: []uint32{0, 2}, Cols: []*vector.Vector{vector.FromCodes([]uint32{0, 1, 1}, dict), vector.FromLongs([]int64{1, 2, 3}), vector.FromCodes([]uint32{1, 1, 0}, dict)}},
		{N: 3, Cols: []*vector.Vector{vector.FromCodes([]uint32{1, 0, 1}, dict), vector.FromLongs([]int64{7, 8, 9}), lists.Build().Slice(1, 4)}},
	} {
		if err := w.Append(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	s := openBytes(t, out.Bytes())
	defer s.Release()
	got, err := readRows(s, 4096)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf{{"c", int64(4), []any{"p"}}, {"c", int64(4), []any{"q"}}, {nil, nil, nil}, {"z", int64(1), []any{"y"}}, {"y", int64(3), []any{"z"}},
		{"y", int64(7), []any{"a", "b"}}, {"z", int64(8), nil}, {"y", int64(9), []any{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if n := s.Info().Column("m").Distinct; n != 6 {
		t.Errorf("%d distinct values in lists, want 6: a b p q y z", n)
	}
}

func TestLongStringsAreCutInBounds(t *testing.T) {
	specs := []ColumnSpec{{Name: "s", Type: vector.String}, {Name: "j", Type: vector.JSON}}
	big := strings.Repeat("x", 1<<20)
	s := openBytes(t, writeRows(t, specs, rowsOf{{big + "a", `"` + big + `"`}, {big + "b", nil}, {strings.Repeat("\xff", 100), `1`}}, Options{}, 10))
	defer s.Release()
	got, err := readRows(s, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got[0][0] != big+"a" || got[0][1] != `"`+big+`"` {
		t.Error("long strings do not come back")
	}
	if c := s.Info().Column("s"); c.Min != nil || c.Max != nil {
		t.Errorf("bounds %v %v of strings that have no short upper bound", c.Min, c.Max)
	}
	s2 := openBytes(t, writeRows(t, specs, rowsOf{{big + "a", nil}, {big + "b", nil}}, Options{}, 10))
	defer s2.Release()
	c := s2.Info().Column("s")
	if c.MinExact || c.MaxExact || c.Min.(string) > big+"a" || c.Max.(string) < big+"b" || len(c.Max.(string)) > boundBytes {
		t.Errorf("bounds %+v", c)
	}
}
