package segment

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hengedb/henge/internal/vector"
)

func newLive(t *testing.T, opts Options) *Live {
	t.Helper()
	opts.Columns = allTypes
	l, err := NewLive(opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func sameAs(t *testing.T, want rowsOf, r Reader, size int) {
	t.Helper()
	got, err := readRows(r, size)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// Readers of a growing segment see the rows that were there when they asked, also when many have
// been appended since, and the file that becomes of it is the one that a Writer makes.
func TestLiveRowsAreReadAsTheyWere(t *testing.T) {
	for _, nulls := range []float64{0, 0.3, 1} {
		r := rand.New(rand.NewPCG(21, uint64(10*nulls)))
		rows := randomRows(r, 800, nulls)
		opts := Options{SortOrder: []string{TimeColumn, "low"}, QueryGranularity: "HOUR", TempDir: t.TempDir()}
		l := newLive(t, opts)
		type seen struct {
			reader Reader
			rows   int
		}
		var all []seen
		for at := 0; ; {
			s := seen{l.Reader(), at}
			all = append(all, s)
			if again := l.Reader(); again != s.reader {
				t.Error("the same rows have two readers")
			} else {
				again.Release()
			}
			if len(all)%3 == 0 { // its columns are opened now, those of others when there are more rows
				sameAs(t, rows[:at], s.reader, 1000)
			}
			if at == len(rows) {
				break
			}
			to := min(len(rows), at+1+r.IntN(120))
			for _, b := range batchesOf(allTypes, rows[at:to], 97) {
				if err := l.Append(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			at = to
		}
		for _, s := range all {
			info := s.reader.Info()
			if info.Rows != s.rows || info.HasTimes != (s.rows > 0) {
				t.Fatalf("%d rows, want %d: %+v", info.Rows, s.rows, info)
			}
			sameAs(t, rows[:s.rows], s.reader, 61)
			checkLive(t, s.reader, rows[:s.rows])
			s.reader.Release()
		}
		path := filepath.Join(t.TempDir(), "persisted")
		if _, err := l.Persist(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, writeRows(t, allTypes, rows, opts, 500)) {
			t.Error("the persisted file is not the one that a Writer makes")
		}
		l.Release()
		if l.Reader() != nil {
			t.Error("a released segment is read")
		}
	}
}

// checkLive compares what a reader says of its rows with the rows.
func checkLive(t *testing.T, r Reader, rows rowsOf) {
	t.Helper()
	for i, info := range r.Info().Columns {
		nulls := 0
		for _, row := range rows {
			if row[i] == nil {
				nulls++
			}
			if ms, ok := row[i].(int64); ok && info.Name == TimeColumn && (ms < r.Info().MinTime || ms > r.Info().MaxTime) {
				t.Fatalf("a time of %d is not between %d and %d", ms, r.Info().MinTime, r.Info().MaxTime)
			}
		}
		if nulls != info.Nulls {
			t.Fatalf("column %s: %d nulls, says %d", info.Name, nulls, info.Nulls)
		}
		c, err := r.Column(info.Name)
		if err != nil {
			t.Fatal(err)
		}
		var some []uint32
		for k := 0; k < len(rows); k += 5 {
			some = append(some, uint32(k))
		}
		v, err := c.ReadRows(nil, some)
		if err != nil {
			t.Fatal(err)
		}
		for k, row := range some {
			if difference(rowsOf{{rows[row][i]}}, rowsOf{{v.ValueAt(k)}}) != "" {
				t.Fatalf("column %s row %d: %v, want %v", info.Name, row, v.ValueAt(k), rows[row][i])
			}
		}
	}
	if c, err := r.Column("of no column"); c != nil || err != nil {
		t.Fatal(c, err)
	}
}

func TestLiveIsReadWhileItGrows(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(22, 1)), 1500, 0.2)
	l := newLive(t, Options{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for n := 0; n < len(rows); {
				r := l.Reader()
				n = r.Info().Rows
				got, err := readRows(r, 700)
				if diff := difference(rows[:n], got); err != nil || diff != "" {
					t.Error(err, diff)
					n = len(rows)
				}
				r.Release()
			}
		})
	}
	for _, b := range batchesOf(allTypes, rows, 50) {
		if err := l.Append(t.Context(), b); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	l.Release()
}

// Rows that the memory does not allow are refused whole, and those before stay readable.
func TestLiveStaysWithinItsMemory(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(23, 1)), 6_000, 0.1)
	b := &tightBudget{limit: 2 << 20}
	l := newLive(t, Options{Budget: b, SortOrder: []string{TimeColumn}, TempDir: t.TempDir(), BufferBytes: 1 << 19})
	taken := 0
	var err error
	for _, batch := range batchesOf(allTypes, rows, 100) {
		if err = l.Append(t.Context(), batch); err != nil {
			break
		}
		taken += batch.N
	}
	if err == nil || !strings.Contains(err.Error(), "no memory left") || taken == 0 || l.Rows() != taken || b.peak > b.limit {
		t.Fatalf("%d rows, says %d, %d bytes at most: %v", taken, l.Rows(), b.peak, err)
	}
	r := l.Reader()
	sameAs(t, rows[:taken], r, 4096)
	if b.used == 0 {
		t.Error("nothing is reserved")
	}
	b.limit *= 3 // persisting needs memory of its own
	path := filepath.Join(t.TempDir(), "full")
	if info, err := l.Persist(t.Context(), path); err != nil || info.Rows != taken {
		t.Errorf("persisting: %v", err)
	}
	l.Release()
	if b.used == 0 {
		t.Error("the memory is free while it is read")
	}
	sameAs(t, rows[:taken], r, 4096)
	r.Release()
	if b.used != 0 {
		t.Errorf("%d bytes stay reserved", b.used)
	}
	if _, err := l.Persist(t.Context(), path); err == nil {
		t.Error("persisted after it was released")
	}
}

func TestLiveRefusesWhatDoesNotFit(t *testing.T) {
	if _, err := NewLive(Options{Columns: []ColumnSpec{{Name: "a"}}}); err == nil {
		t.Error("a column without type is taken")
	}
	l, err := NewLive(Options{Columns: []ColumnSpec{{Name: "a", Type: vector.Long}, {Name: "m", Type: vector.ListOf(vector.String), Multi: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	good := &vector.Batch{N: 2, Sel: []uint32{1}, Cols: []*vector.Vector{vector.FromLongs([]int64{1, 2}), vector.FromStrings([]string{"x", "y"})}}
	for _, b := range []*vector.Batch{
		{N: 1},
		{N: 1, Cols: []*vector.Vector{vector.FromLongs([]int64{1}), vector.FromLongs([]int64{1})}},
		{N: 2, Cols: []*vector.Vector{vector.FromLongs([]int64{1, 2}), vector.FromStrings([]string{"x"})}},
	} {
		if err := l.Append(t.Context(), b); err == nil {
			t.Errorf("%+v is taken", b)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Append(ended, good); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := l.Append(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	r := l.Reader()
	defer r.Release()
	sameAs(t, rowsOf{{int64(2), []any{"y"}}}, r, 10)
}

// Rows of a growing segment are merged with those of files.
func TestLiveIsAnInputOfMerges(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(24, 1)), 900, 0.1)
	l := newLive(t, Options{})
	defer l.Release()
	for _, b := range batchesOf(allTypes, rows[:500], 99) {
		if err := l.Append(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	r := l.Reader()
	defer r.Release()
	file := openBytes(t, writeRows(t, allTypes, rows[500:], Options{}, 100))
	defer file.Release()
	s, err := mergeBytes(t, []Reader{r, file}, Options{Columns: allTypes})
	if err != nil {
		t.Fatal(err)
	}
	sameAs(t, plainSingle(rows), s, 4096)
}

// Columns that come later have no value in the rows before; readers of these rows do not see them.
func TestLiveIsExtended(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(5, 5)), 200, 0.2)
	const early, columns = 130, 4
	l, err := NewLive(Options{Columns: allTypes[:columns]})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	short := make(rowsOf, early)
	for i := range short {
		short[i] = rows[i][:columns]
		rows[i] = append(append([]any(nil), rows[i][:columns]...), make([]any, len(allTypes)-columns)...)
	}
	appendAll := func(specs []ColumnSpec, rows rowsOf) {
		for _, b := range batchesOf(specs, rows, 33) {
			if err := l.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
	}
	appendAll(allTypes[:columns], short)
	before := l.Reader()
	defer before.Release()
	if err := l.Extend(allTypes[:1]); err == nil {
		t.Error("a column is there twice")
	}
	if err := l.Extend(allTypes[columns:]); err != nil {
		t.Fatal(err)
	}
	between := l.Reader()
	defer between.Release()
	sameAs(t, rows[:early], between, 50)
	appendAll(allTypes, rows[early:])
	after := l.Reader()
	defer after.Release()
	sameAs(t, short, before, 50)
	sameAs(t, rows[:early], between, 50)
	sameAs(t, rows, after, 50)
	checkLive(t, after, rows)
}

// Dictionaries of rows that are asked for again have sources, as long as no texts come.
func TestDictionariesOfLiveRowsThatComeAgainHaveSources(t *testing.T) {
	rows := randomRows(rand.New(rand.NewPCG(5, 5)), 200, 0)
	l := newLive(t, Options{TempDir: t.TempDir()})
	defer l.Release()
	dict := func() *vector.Dict {
		t.Helper()
		r := l.Reader()
		defer r.Release()
		c, err := r.Column("low")
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Dict()
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Read(nil, 0, r.Info().Rows)
		if err != nil || v.Dict != d {
			t.Fatalf("the values have another dictionary; %v", err)
		}
		return d
	}
	for at := 0; at < len(rows); at += 100 {
		for _, b := range batchesOf(allTypes, rows[at:at+100], 100) {
			if err := l.Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		first := dict()
		second, third := dict(), dict()
		if at == 0 && first.Source != nil || second.Source == nil || second != third {
			t.Errorf("after [%d] rows the sources are [%p], [%p] and [%p]", at+100, first.Source, second.Source, third.Source)
		}
		if first.Len() != second.Len() {
			t.Errorf("dictionaries of the same rows have [%d] and [%d] entries", first.Len(), second.Len())
		}
	}
}
