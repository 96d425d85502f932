package segment

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// manyTexts makes n rows of texts with common prefixes, some null, with enough different ones for a
// packed dictionary.
func manyTexts(r *rand.Rand, n, distinct int) rowsOf {
	rows := make(rowsOf, n)
	for i := range rows {
		k := r.IntN(distinct)
		switch {
		case r.IntN(20) == 0:
			rows[i] = []any{nil}
		case k == 0:
			rows[i] = []any{""}
		default:
			rows[i] = []any{fmt.Sprintf("%s/%x", strings.Repeat("path", k%3), k*2654435761)}
		}
	}
	return rows
}

var oneText = []ColumnSpec{{Name: "s", Type: vector.String}}

// packedFile is a file with one column whose dictionary is packed, and its rows.
func packedFile(t testing.TB, n, distinct int) ([]byte, rowsOf) {
	t.Helper()
	rows := manyTexts(rand.New(rand.NewPCG(5, uint64(n))), n, distinct)
	return writeRows(t, oneText, rows, Options{}, 4096), rows
}

func packedColumn(t testing.TB, s *Segment) *fileColumn {
	t.Helper()
	c, err := s.column(0)
	if err != nil {
		t.Fatal(err)
	}
	if c.packed == nil {
		t.Fatal("the dictionary is not packed")
	}
	return c
}

func TestPackedDictionariesReadAsWritten(t *testing.T) {
	file, rows := packedFile(t, 40_000, 20_000)
	s := openBytes(t, file)
	defer s.Release()
	c := packedColumn(t, s)
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	// Before the dictionary is decoded: a few rows, look-ups.
	few := []uint32{3, 4, 39_999}
	v, err := c.ReadRows(nil, few)
	if err != nil {
		t.Fatal(err)
	}
	if c.dict.Load() != nil {
		t.Error("a few rows decoded the whole dictionary")
	}
	for i, r := range few {
		if got := v.ValueAt(i); got != rows[r][0] {
			t.Errorf("row %d is %v, want %v", r, got, rows[r][0])
		}
	}
	values := map[string]bool{}
	for _, r := range rows {
		if x, ok := r[0].(string); ok {
			values[x] = true
		}
	}
	sorted := make([]string, 0, len(values))
	for x := range values {
		sorted = append(sorted, x)
	}
	slices.Sort(sorted)
	lookups := func() {
		t.Helper()
		for i := 0; i < len(sorted); i += 37 {
			if code, found, err := c.Lookup(sorted[i]); err != nil || !found || int(code) != i {
				t.Fatalf("Lookup(%q) = %d, %v, %v, want %d", sorted[i], code, found, err, i)
			}
			if code, found, err := c.Lookup(sorted[i] + "\x00"); err != nil || found || int(code) != i+1 {
				t.Fatalf("Lookup above %q = %d, %v, %v, want %d", sorted[i], code, found, err, i+1)
			}
		}
	}
	lookups()
	if c.dict.Load() != nil {
		t.Error("look-ups decoded the whole dictionary")
	}
	got, err := readRows(s, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(rows, got); diff != "" {
		t.Fatal(diff)
	}
	lookups()
	if c.meta.Distinct != len(sorted) || c.meta.Min != sorted[0] {
		t.Errorf("%d values from %q, want %d from %q", c.meta.Distinct, c.meta.Min, len(sorted), sorted[0])
	}
}

func TestPackedDictionaryOfLongValues(t *testing.T) {
	big := strings.Repeat("long", 1<<18)
	rows := rowsOf{{big + "b"}, {big}, {nil}, {"a"}, {big + "a"}, {"\xff" + big}}
	s := openBytes(t, writeRows(t, oneText, rows, Options{}, 3))
	defer s.Release()
	packedColumn(t, s)
	if err := s.Verify(); err != nil {
		t.Fatal(err)
	}
	got, err := readRows(s, 4)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(rows, got); diff != "" {
		t.Fatal(diff[:200])
	}
	one := rowsOf{{big}, {big}}
	s2 := openBytes(t, writeRows(t, oneText, one, Options{}, 3))
	defer s2.Release()
	packedColumn(t, s2)
	if got, err := readRows(s2, 4); err != nil || !cmp.Equal(got, one) {
		t.Fatalf("one long value does not come back: %v", err)
	}
}

func TestSelectCodesAgreesWithCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, distinct := range []int{1, 2, 100, 200, 255, 3000, 70_000} {
		n := 10_000
		if distinct > n {
			n = 2 * distinct
		}
		rows := manyTexts(r, n, distinct)
		s := openBytes(t, writeRows(t, oneText, rows, Options{}, 4096))
		c, err := s.Column("s")
		if err != nil {
			t.Fatal(err)
		}
		size := uint32(c.Info().Distinct)
		bits := make([]uint64, size/64+1)
		for range size / 3 {
			vector.Bitmap(bits).Set(r.IntN(int(size)))
		}
		filters := []CodeFilter{{First: size / 2}, {First: 0, Span: size / 2}, {First: size / 3, Span: size / 2}, {First: size - size/4 - 1, Span: size / 4}, {Bits: bits}}
		for n := range uint32(6) { // few entries, side by side or not
			few := make([]uint64, size/64+1)
			for k := range n {
				vector.Bitmap(few).Set(int(k * (size - 1) / n))
			}
			filters = append(filters, CodeFilter{Bits: few})
		}
		for _, f := range filters {
			for _, run := range [][2]int{{0, n}, {1, 4097}, {4096, 4099}, {n - 1, n}} {
				v, err := c.Codes(nil, run[0], run[1], nil)
				if err != nil {
					t.Fatal(err)
				}
				var want []uint32
				for i, code := range v.Codes {
					if v.Valid.Get(i) && (f.Bits == nil && code-f.First <= f.Span || f.Bits != nil && vector.Bitmap(f.Bits).Get(int(code))) {
						want = append(want, uint32(i))
					}
				}
				pass := vector.NewBitmap(run[1] - run[0])
				err = c.SelectCodes(f, run[0], run[1], pass)
				if out := pass.Rows(nil); err != nil || !slices.Equal(out, want) {
					t.Fatalf("%d values, rows %v: %d rows, %v, want %d", distinct, run, len(out), err, len(want))
				}
			}
		}
		s.Release()
	}
}

func TestDamagedPackedDictionariesAreNoticed(t *testing.T) {
	file, want := packedFile(t, 16_000, 16_000)
	r := rand.New(rand.NewPCG(6, 6))
	refused := 0
	for range 150 {
		at, flip := r.IntN(len(file)), byte(1+r.IntN(255))
		bad := bytes.Clone(file)
		bad[at] ^= flip
		got, err := tryRead(bad)
		switch {
		case err == nil:
			if diff := difference(want, got); diff != "" {
				t.Fatalf("byte %d ^ %#x reads as something else: %s", at, flip, diff)
			}
		case !errors.Is(err, ErrCorrupt):
			t.Fatalf("byte %d ^ %#x: not a corruption error: %v", at, flip, err)
		case at < len(file)-1000: // in the column
			if f := fault.Find(err); f == nil || !strings.Contains(f.Message, "[hostile]") || !strings.Contains(f.Message, "[s]") {
				t.Fatalf("byte %d: the error does not name file and column: %v", at, err)
			}
		}
		if _, err := tryRead(reseal(bad)); err != nil { // must not panic, and may be good
			refused++
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
				t.Fatalf("byte %d ^ %#x with good checksums: neither corrupt nor newer: %v", at, flip, err)
			}
		}
	}
	if refused == 0 {
		t.Fatal("nothing was refused")
	}
}

// countDictionaries makes decoded dictionaries count in memory during a test.
func countDictionaries(t *testing.T, memory *budget.Budget) {
	collectDictionaries() // of tests before
	decoded.Lock()
	held, lent := decoded.held, decoded.lent
	decoded.Unlock()
	if held != 0 || lent != 0 {
		t.Fatalf("[%d] bytes of dictionaries are kept and [%d] lent before the test", held, lent)
	}
	KeepDictionaries(memory)
	t.Cleanup(func() {
		collectDictionaries()
		decoded.Lock()
		defer decoded.Unlock()
		decoded.account, decoded.memory, decoded.limit = budget.Account{}, nil, 0
	})
}

// collectDictionaries takes those off the account that nobody holds any more.
func collectDictionaries() {
	runtime.GC()
	decoded.Lock()
	defer decoded.Unlock()
	decoded.collect()
}

func TestDecodedDictionariesMakeRoom(t *testing.T) {
	memory := budget.Root(16 << 20)
	countDictionaries(t, memory)
	file, rows := packedFile(t, 40_000, 30_000)
	var open []*Segment
	for range 8 {
		s := openBytes(t, file)
		open = append(open, s)
		for range 2 {
			got, err := readRows(s, 4096)
			if err != nil {
				t.Fatal(err)
			}
			if diff := difference(rows, got); diff != "" {
				t.Fatal(diff)
			}
		}
		collectDictionaries()
		if used := memory.Used(); used == 0 || used > 2<<20 {
			t.Errorf("decoded dictionaries take [%d] bytes, the limit is [%d]", used, 2<<20)
		}
	}
	for _, s := range open {
		s.Release()
	}
	collectDictionaries()
	if used := memory.Used(); used != 0 {
		t.Errorf("[%d] bytes are held for segments that are closed", used)
	}
}

// Where memory does not do to keep a dictionary, it is decoded once for all batches that are read
// one after the other.
func TestADictionaryThatIsNotKeptIsLent(t *testing.T) {
	countDictionaries(t, budget.Root(2<<20))
	file, _ := packedFile(t, 40_000, 30_000)
	s := openBytes(t, file)
	defer s.Release()
	c := packedColumn(t, s)
	var mine, other Buffer
	var first *vector.Dict
	for from := 0; from < 40_000; from += 4096 {
		to := min(from+4096, 40_000)
		v, err := c.Read(&mine, from, to)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = v.Dict
		}
		runtime.GC()
		w, err := c.Read(&other, from, to)
		if err != nil {
			t.Fatal(err)
		}
		if v.Dict != first || w.Dict != first {
			t.Fatalf("rows from %d have a dictionary of their own", from)
		}
	}
	if c.dict.Load() != nil {
		t.Error("the dictionary was kept")
	}
}

func FuzzPackedDict(f *testing.F) {
	file, _ := packedFile(f, 16_000, 16_000)
	s := openBytes(f, file)
	c := packedColumn(f, s)
	f.Add(c.packed.directory.b, c.packed.data.b, c.packed.n)
	f.Add(bytes.Clone(c.packed.directory.b[:dictBlockSize]), []byte{}, 1)
	f.Fuzz(func(t *testing.T, directory, data []byte, n int) {
		if n < 1 || n > 1<<20 || len(directory)%dictBlockSize != 0 || len(directory) == 0 {
			return
		}
		part := func(b []byte) *area {
			in := alignedBytes(len(b))
			copy(in, b)
			sums := []uint32{checksum(in)}
			return &area{file: "fuzz", column: "s", b: in, log2: 30, sums: sums, seen: make([]uint64, 1), damaged: new(atomic.Bool)}
		}
		d, err := openPackedDict(part(directory), part(data), n)
		if err == nil {
			_, err = d.all()
		}
		if err == nil {
			_, _, err = d.lookup("path")
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("not a corruption error: %v", err)
		}
	})
}

// Dictionaries that are lent count, and where there is no memory for one its column is read as
// texts.
func TestADictionaryBeyondTheMemoryIsReadByBlocks(t *testing.T) {
	file, rows := packedFile(t, 40_000, 30_000)
	memory := budget.Root(1 << 20)
	countDictionaries(t, memory)
	s := openBytes(t, file)
	defer s.Release()
	c := packedColumn(t, s)
	needs := c.packed.memory()
	hold := func(n int64) {
		t.Helper()
		if err := memory.Reserve(n); err != nil {
			t.Fatal(err)
		}
	}

	hold(memory.Limit() - needs) // there is just enough
	func() {
		d, err := c.Dict()
		if err != nil {
			t.Fatal(err)
		}
		if got := dictMemory(d); got != needs || memory.Used() != memory.Limit() {
			t.Errorf("a dictionary of [%d] bytes counts as [%d], [%d] of [%d] are used", got, needs, memory.Used(), memory.Limit())
		}
		runtime.KeepAlive(d)
	}()
	collectDictionaries()
	if used := memory.Used(); used != memory.Limit()-needs {
		t.Errorf("[%d] bytes are used after the loan, want [%d]", used, memory.Limit()-needs)
	}

	hold(1)
	if _, err := c.Dict(); !noRoom(err) || !strings.Contains(err.Error(), c.name) {
		t.Errorf("the dictionary is refused with [%v]", err)
	}
	got, err := readRows(s, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if diff := difference(rows, got); diff != "" {
		t.Error(diff)
	}
	memory.Release(memory.Limit() - needs + 1)
}

func BenchmarkPackedDict(b *testing.B) {
	rows := make(rowsOf, 60_000)
	for i := range rows {
		rows[i] = []any{fmt.Sprintf("user_%010x", i*7919*104729)}
	}
	s := openBytes(b, writeRows(b, oneText, rows, Options{}, 4096))
	defer s.Release()
	c, err := s.column(0)
	if err != nil {
		b.Fatal(err)
	}
	if c.packed == nil {
		b.Fatal("the dictionary is not packed")
	}
	b.SetBytes(int64(len(rows)))
	for b.Loop() {
		if _, err := c.packed.all(); err != nil {
			b.Fatal(err)
		}
	}
}
