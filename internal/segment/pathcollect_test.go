package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/jsontext"
	"github.com/hengedb/henge/internal/vector"
)

var nestedOnly = []ColumnSpec{{Name: "j", Type: vector.JSON}}

// textsOf makes rows of one nested column; "" is a null.
func textsOf(texts ...string) rowsOf {
	var out rowsOf
	for _, s := range texts {
		if s == "" {
			out = append(out, []any{nil})
		} else {
			out = append(out, []any{s})
		}
	}
	return out
}

// pathsOf reads the columns of paths: type and values by name and path.
func pathsOf(t *testing.T, s *Segment) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range s.foot.columns {
		if m.Path == "" {
			continue
		}
		c, err := s.Column(PathName(m.Name, m.Path))
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Read(nil, 0, s.Info().Rows)
		if err != nil {
			t.Fatal(err)
		}
		text := []string{m.Type.String()}
		if m.Mixed {
			text = append(text, "mixed")
		}
		for i := range v.Len {
			text = append(text, fmt.Sprint(v.ValueAt(i)))
		}
		out[m.label()] = strings.Join(text, " ")
	}
	return out
}

func TestPathsBecomeColumns(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts []string
		want  map[string]string
	}{
		{"whole numbers", []string{`{"a":1}`, "", `{"a":-9223372036854775808}`, `{"b":[]}`}, map[string]string{"j $.a": "LONG 1 <nil> -9223372036854775808 <nil>"}},
		{"doubles", []string{`{"a":1.5}`, `{"a":1e2}`, `{"a":9223372036854775808}`}, map[string]string{"j $.a": "DOUBLE 1.5 100 9.223372036854776e+18"}},
		{"whole numbers, then others", []string{`{"a":1}`, `{"a":-0.0}`, `{"a":2}`}, map[string]string{"j $.a": "DOUBLE mixed 1 -0 2"}},
		{"others, then whole numbers", []string{`{"a":1.0}`, `{"a":9007199254740992}`}, map[string]string{"j $.a": "DOUBLE mixed 1 9.007199254740992e+15"}},
		{"a whole number that no double is", []string{`{"a":1.0}`, `{"a":9007199254740993}`}, nil},
		{"one before others", []string{`{"a":-9007199254740993}`, `{"a":1.0}`}, nil},
		{"texts", []string{`{"a":"x\u00e9\n"}`, `{"a":null}`, `{"a":""}`, `{"a":true}`, `{"a":"true"}`}, map[string]string{"j $.a": "STRING xé\n <nil>  true true"}},
		{"texts and numbers", []string{`{"a":"1","b":1}`, `{"a":1,"b":2}`}, map[string]string{"j $.b": "LONG 1 2"}},
		{"numbers and booleans", []string{`{"a":1}`, `{"a":true}`}, nil},
		{"objects beside scalars", []string{`{"a":1}`, `{"a":{"b":"x"}}`, `{"a":[7]}`}, map[string]string{"j $.a": "LONG 1 <nil> <nil>", "j $.a.b": "STRING <nil> x <nil>"}},
		{"the whole value", []string{`1`, ` {"a":2} `, `[3]`, `null`}, map[string]string{"j $": "LONG 1 <nil> <nil> <nil>", "j $.a": "LONG <nil> 2 <nil> <nil>"}},
		{"names", []string{`{"":1,"a.b":{"x y":2},"c\u0064":3,"'":4}`, `{"cd":5}`},
			map[string]string{"j $['']": "LONG 1 <nil>", "j $['a.b'].x y": "LONG 2 <nil>", "j $.cd": "LONG 3 5", "j $[''']": "LONG 4 <nil>"}},
		{"a name that no path has", []string{`{"a']b":1}`}, nil},
		{"a name twice", []string{`{"a":{"b":1},"c":1}`, `{"a":{"b":2},"a":{"b":3},"c":1}`, `{"a":{"b":4},"c":1}`}, map[string]string{"j $.c": "LONG 1 1 1"}},
		{"a name twice, once with an escape", []string{`{"a":1,"\u0061":2}`}, nil},
		{"no JSON", []string{`{"a":1}`, `{"a":`}, nil},
		{"more behind", []string{`{"a":1}`, `{"a":1} x`}, nil},
		{"nothing but nulls", []string{"", ""}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := textsOf(c.texts...)
			s := openBytes(t, writeRows(t, nestedOnly, rows, Options{}, 2))
			defer s.Release()
			if diff := cmp.Diff(c.want, pathsOf(t, s), cmp.Transformer("", func(m map[string]string) []string {
				var out []string
				for k, v := range m {
					out = append(out, k+": "+v)
				}
				slices.Sort(out)
				return out
			})); diff != "" {
				t.Error(diff)
			}
			if got, err := readRows(s, 4096); err != nil || len(s.Info().Columns) != 1 {
				t.Fatal(err, s.Info().Columns)
			} else if diff := difference(rows, got); diff != "" {
				t.Error(diff)
			}
			if err := s.Verify(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOnlyPathsOfManyRowsBecomeColumns(t *testing.T) {
	object := func(names int, value string) string {
		var members []string
		for i := range names {
			members = append(members, fmt.Sprintf(`"n%04d":%s`, i, value))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	deep := strings.Repeat(`{"d":`, maxPathDepth) + "1" + strings.Repeat("}", maxPathDepth)
	for _, c := range []struct {
		name  string
		texts []string
		want  int
	}{
		{"one in sixteen", slices.Concat([]string{`{"a":1}`}, slices.Repeat([]string{`{}`}, 15)), 1},
		{"one in seventeen", slices.Concat([]string{`{"a":1}`}, slices.Repeat([]string{`{}`}, 16)), 0},
		{"too many", []string{object(maxPathColumns+50, "1"), object(20, "1")}, maxPathColumns},
		{"more names than are looked at", []string{object(maxPathNodes+50, "[]"), `{"last":1}`}, 0},
		{"deep enough", []string{deep}, 1},
		{"too deep", []string{`{"d":` + deep + `}`}, 0},
		{"a long name", []string{`{"` + strings.Repeat("x", maxPathBytes) + `":1}`}, 0},
	} {
		s := openBytes(t, writeRows(t, nestedOnly, textsOf(c.texts...), Options{}, 7))
		got := pathsOf(t, s)
		if len(got) != c.want {
			t.Errorf("%s: %d columns of paths, want %d", c.name, len(got), c.want)
		}
		if c.name == "too many" && got["j $.n0019"] != "LONG 1 1" {
			t.Errorf("%s: the paths that most rows have are not among them", c.name)
		}
		s.Release()
	}
}

// randomNested returns values whose paths are of all kinds, some of one kind for certain.
func randomNested(r *rand.Rand, n int) rowsOf {
	scalars := []func() string{
		func() string { return fmt.Sprint(r.IntN(20) - 10) },
		func() string { return fmt.Sprint(r.Int64()) },
		func() string { return fmt.Sprintf("%.3f", r.NormFloat64()) },
		func() string { return fmt.Sprintf("%de%d", r.IntN(10), r.IntN(400)-200) },
		func() string { return fmt.Sprintf(`"t%d"`, r.IntN(9)) },
		func() string { return `"\u00e9\"\\ \ud83d\ude00 \ud800"` },
		func() string { return fmt.Sprint(r.IntN(2) == 0) },
		func() string { return "null" },
		func() string { return `[1,{"a":2}]` },
		func() string { return `{}` },
	}
	of := make([][]func() string, 12) // what each name may stand for
	for i := range of {
		for range 1 + r.IntN(2) {
			of[i] = append(of[i], scalars[r.IntN(len(scalars))])
		}
	}
	var object func(depth int) string
	object = func(depth int) string {
		var members []string
		for _, name := range r.Perm(len(of))[:r.IntN(len(of))] {
			value := of[name][r.IntN(len(of[name]))]
			text := value()
			if depth < 2 && r.IntN(4) == 0 {
				text = object(depth + 1)
			}
			key := fmt.Sprintf(`"%c"`, 'a'+name)
			if r.IntN(20) == 0 {
				key = fmt.Sprintf(`"\u00%x"`, 'a'+name)
			}
			members = append(members, strings.Repeat(" ", r.IntN(2))+key+":"+strings.Repeat("\n", r.IntN(2))+text)
		}
		if r.IntN(2000) == 0 {
			members = append(members, `"l":0`)
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	out := make(rowsOf, n)
	for i := range out {
		switch r.IntN(20) {
		case 0:
			out[i] = []any{nil}
		case 1:
			out[i] = []any{scalars[r.IntN(len(scalars))]()}
		default:
			out[i] = []any{object(0)}
		}
	}
	return out
}

// TestColumnsOfPathsAreWhatTextsSay: whichever paths of random values become columns, they hold row
// by row what is found in the texts; however the segment came about.
func TestColumnsOfPathsAreWhatTextsSay(t *testing.T) {
	seen, rounds := map[string]int{}, uint64(24)
	if testing.Short() {
		rounds = 9
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 77))
		rows := randomNested(r, 1+r.IntN(1000)+r.IntN(2)*4000)
		opts := Options{Threads: 1 + r.IntN(3), BitmapValues: r.IntN(20)}
		if seed%3 == 1 {
			opts.BufferBytes = 100_000 // runs that are merged
		}
		file := writeRows(t, nestedOnly, rows, opts, 500)
		if seed%3 == 2 {
			half := openBytes(t, writeRows(t, nestedOnly, rows[:len(rows)/2], Options{}, 500))
			rest := openBytes(t, writeRows(t, nestedOnly, rows[len(rows)/2:], Options{}, 500))
			path := filepath.Join(t.TempDir(), "merged")
			opts.Columns = nestedOnly
			if _, err := Merge(context.Background(), path, []Reader{half, rest}, opts); err != nil {
				t.Fatal(err)
			}
			half.Release()
			rest.Release()
			merged, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			comparePaths(t, merged, rows, seen)
			merged.Release()
		}
		s := openBytes(t, file)
		comparePaths(t, s, rows, seen)
		s.Release()
	}
	for _, kind := range []string{"LONG", "DOUBLE", "DOUBLE mixed", "STRING"} {
		if seen[kind] < 3 {
			t.Errorf("%d paths are [%s]", seen[kind], kind)
		}
	}
}

// comparePaths looks for the path of each column in the text of each row.
func comparePaths(t *testing.T, s *Segment, rows rowsOf, seen map[string]int) {
	t.Helper()
	for _, m := range s.foot.columns {
		if m.Path == "" {
			continue
		}
		kind := m.Type.String()
		if m.Mixed {
			kind += " mixed"
		}
		seen[kind]++
		path, err := jsontext.ParsePath(m.Path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Column(m.key())
		if err != nil {
			t.Fatal(err)
		}
		v, err := c.Read(nil, 0, len(rows))
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			var want any
			if text, ok := row[0].(string); ok {
				if raw, found := path.Find(text); found {
					want = scalarOf(t, raw, m)
				}
			}
			if got := v.ValueAt(i); got != want {
				t.Fatalf("path %s (%s) of row %d, %v: %#v, want %#v", m.Path, kind, i, row[0], got, want)
			}
		}
	}
}

// scalarOf is what the column of a path holds of a raw value. A value of another kind than the
// column's must not be there.
func scalarOf(t *testing.T, raw string, m *columnMeta) any {
	switch raw[0] {
	case '{', '[', 'n':
		return nil
	case '"', 't', 'f':
		if m.Type != vector.String {
			t.Fatalf("path %s (%s) has %s", m.Path, m.Type, raw)
		}
		if raw[0] == '"' {
			return jsontext.Text(raw)
		}
		return raw
	}
	long, double, whole := jsontext.Number(raw)
	switch {
	case m.Type == vector.Long && whole:
		return long
	case m.Type == vector.Double && !whole:
		return double
	case m.Type == vector.Double && m.Mixed && int64(float64(long)) == long:
		return float64(long)
	}
	t.Fatalf("path %s (%s) has %s", m.Path, m.Type, raw)
	return nil
}

// TestPathsDoWithoutMemory: with little memory there are fewer columns of paths, and the segment is
// written all the same.
func TestPathsDoWithoutMemory(t *testing.T) {
	var rows rowsOf
	for i := range 20_000 {
		rows = append(rows, []any{fmt.Sprintf(`{"id":"number %d","n":%d,"one":"same"}`, i, i)})
	}
	counts := map[int]bool{}
	for _, limit := range []int64{100_000_000, 10_000_000, 6_000_000, 5_000_000, 4_500_000, 4_000_000} {
		budget := &tightBudget{limit: limit}
		file := func() []byte {
			defer func() {
				if budget.used != 0 {
					t.Errorf("[%d] bytes stay reserved", budget.used)
				}
			}()
			return writeRows(t, nestedOnly, rows, Options{Budget: budget}, 4096)
		}()
		s := openBytes(t, file)
		paths := pathsOf(t, s)
		counts[len(paths)] = true
		if got, err := readRows(s, 4096); err != nil || difference(rows, got) != "" {
			t.Errorf("limit %d: %v, %s", limit, err, difference(rows, got))
		}
		s.Release()
	}
	if !counts[3] || len(counts) == 1 {
		t.Errorf("numbers of columns of paths: %v", counts)
	}
}

// TestHostilePathsAreRefused makes footers that say of paths what can't be.
func TestHostilePathsAreRefused(t *testing.T) {
	file := writeRows(t, []ColumnSpec{{Name: "j", Type: vector.JSON}, {Name: "s", Type: vector.String}},
		rowsOf{{`{"a":1,"b":0.5,"c":"x"}`, "y"}, {`{"a":2,"b":1,"c":"z"}`, nil}}, Options{}, 2)
	for name, harm := range map[string]func(f *footer){
		"no nested column": func(f *footer) { f.columns[2].Name = "s" },
		"no column":        func(f *footer) { f.columns[2].Name = "k" },
		"the same twice":   func(f *footer) { f.columns[3].Path = f.columns[2].Path },
		"of a path":        func(f *footer) { f.columns = f.columns[2:] },
		"type":             func(f *footer) { f.columns[3].Type = vector.Float },
		"mixed":            func(f *footer) { f.columns[2].Mixed = true },
		"mixed without":    func(f *footer) { f.columns[0].Mixed = true },
		"range":            func(f *footer) { f.columns[2].off = f.columns[3].off },
		"rows":             func(f *footer) { f.columns[4].Nulls = 3 },
		"sorted by":        func(f *footer) { f.sortOrder = []string{PathName("j", "$.a")} },
	} {
		f := openBytes(t, file).foot
		harm(f)
		if _, err := tryRead(withFooter(file, f.encode())); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := openBytes(t, file).foot
	for name, record := range map[string][]byte{
		"no path":        appendField(nil, tagPathColumn, f.columns[0].encode(false)),
		"path elsewhere": appendField(nil, tagColumn, f.columns[2].encode(false)),
	} {
		if _, err := tryRead(withFooter(file, append(f.encode(), record...))); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withFooter returns a file with another footer.
func withFooter(file, foot []byte) []byte {
	tail := bytes.Clone(file[len(file)-tailSize:])
	binary.LittleEndian.PutUint32(tail[8:], uint32(len(foot)))
	return reseal(slices.Concat(file[:binary.LittleEndian.Uint64(tail)], foot, tail))
}

// filling is the Source of a file that is there in part; it notes what was asked for.
type filling struct {
	file   *os.File
	whole  []byte
	filled [][2]int64
}

func (f *filling) Fill(_ context.Context, off, n int64) error {
	f.filled = append(f.filled, [2]int64{off, off + n})
	_, err := f.file.WriteAt(f.whole[off:off+n], off)
	return err
}

func (f *filling) Read([]byte, int64) error { return errors.New("nothing is read without a place") }
func (f *filling) Spoiled(int64, int64)     {}

// TestPathsArriveWithoutTexts: of a segment that is there in part the column of a path comes alone;
// where there is none, the texts do.
func TestPathsArriveWithoutTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	var rows rowsOf
	for range 5000 {
		rows = append(rows, []any{fmt.Sprintf(`{"a":%d,"b":"%x","c":[%d]}`, r.Int(), r.Uint64(), r.Int())})
	}
	whole := writeRows(t, nestedOnly, rows, Options{}, 500)
	path := filepath.Join(t.TempDir(), "part")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	source := &filling{file: file, whole: whole}
	s, err := OpenPartial(t.Context(), path, source)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	for _, c := range []struct{ ask, comes string }{{"$.b", "j $.b"}, {"$.c", "j"}, {"$.a", "j $.a"}} {
		source.filled = nil
		if err := Fetch(t.Context(), s, []string{PathName("j", c.ask)}); err != nil {
			t.Fatal(err)
		}
		for _, r := range source.filled {
			if r[1] <= headerSize {
				continue
			}
			if got := s.columnAt(r[1] - 1); got != c.comes || c.comes != "j" && s.columnAt(r[0]) != c.comes {
				t.Errorf("path %s: column [%s] came, want [%s]", c.ask, got, c.comes)
			}
		}
	}
	if got, err := readRows(s, 4096); err != nil || difference(rows, got) != "" {
		t.Error(err, difference(rows, got))
	}
}

// BenchmarkNested writes a segment of nested values of some 180 bytes with 9 paths, with columns of
// the paths and without.
func BenchmarkNested(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 5))
	rows := make(rowsOf, 100_000)
	for i := range rows {
		rows[i] = []any{fmt.Sprintf(`{"user":{"id":%d,"name":"user %d","country":"c%02d"},"page":"/shop/%d/item","ms":%d,"price":%.2f,"tags":["a","b"],"ok":%t,`+
			`"agent":"Mozilla/5.0 (X11; Linux) v%d","status":%d}`, r.IntN(50_000), r.IntN(50_000), r.IntN(40), r.IntN(2000), r.IntN(3000), r.Float64()*100,
			r.IntN(9) > 0, r.IntN(30), 200+r.IntN(5)*100)}
	}
	batches := batchesOf(nestedOnly, rows, 4096)
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("paths=%t", with), func(b *testing.B) {
			size := 0
			for b.Loop() {
				var out bytes.Buffer
				w, err := NewWriter(&out, Options{Columns: nestedOnly, run: !with})
				if err != nil {
					b.Fatal(err)
				}
				for _, batch := range batches {
					if err := w.Append(context.Background(), batch); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := w.Finish(context.Background()); err != nil {
					b.Fatal(err)
				}
				size = out.Len()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(rows)), "ns/row")
			b.ReportMetric(float64(size)/float64(len(rows)), "bytes/row")
		})
	}
}
