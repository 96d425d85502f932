package arrow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/vector"
)

// columns are of all types that results have.
func testColumns() []Column {
	dictionary := &Encoding{ID: 1, Index: Int32}
	return []Column{
		{Field: Field{Name: "long", Type: Int64, Nullable: true}},
		{Field: Field{Name: "double", Type: Float64, Nullable: true}},
		{Field: Field{Name: "float", Type: Float32, Nullable: true}},
		{Field: Field{Name: "bool", Type: Boolean, Nullable: true}},
		{Field: Field{Name: "time", Type: Instant, Nullable: true}},
		{Field: Field{Name: "day", Type: Days, Nullable: true}, Whole: func(ms int64) int64 { return floorDiv(ms, 86_400_000) }},
		{Field: Field{Name: "text", Type: Text, Nullable: true, Dictionary: dictionary}},
		{Field: Field{Name: "plain", Type: Text, Nullable: true}},
		{Field: Field{Name: "bytes", Type: Bytes, Nullable: true}},
		{Field: Field{Name: "longs", Type: ListOf(Int64), Nullable: true}},
		{Field: Field{Name: "lists", Type: ListOf(ListOf(Text)), Nullable: true}},
	}
}

var vectorTypes = []vector.Type{
	vector.Long, vector.Double, vector.Float, vector.Long, vector.Long, vector.Long, vector.String, vector.String, vector.ComplexOf("x"),
	vector.ListOf(vector.Long), vector.ListOf(vector.ListOf(vector.String)),
}

// randomValue is a value of a type of vectors.
func randomValue(r *rand.Rand, t vector.Type, words int) any {
	if r.IntN(5) == 0 {
		return nil
	}
	switch t.Kind {
	case vector.KindLong:
		return r.Int64N(1<<42) - 1<<41
	case vector.KindDouble:
		return r.NormFloat64()
	case vector.KindFloat:
		return float32(r.NormFloat64())
	case vector.KindList:
		out := []any{}
		for range r.IntN(4) {
			out = append(out, randomValue(r, t.Elem(), words))
		}
		return out
	}
	return strings.Repeat("é", r.IntN(3)) + fmt.Sprint(r.IntN(words))
}

// randomBatch makes rows, sometimes as constants, by dictionaries, or chosen among more.
func randomBatch(r *rand.Rand, rows, words int) *vector.Batch {
	b := &vector.Batch{N: rows}
	for _, t := range vectorTypes {
		if r.IntN(8) == 0 {
			b.Cols = append(b.Cols, vector.Constant(t, randomValue(r, t, words), rows))
			continue
		}
		builder := vector.NewBuilder(t, rows)
		for range rows {
			builder.Append(randomValue(r, t, words))
		}
		v := builder.Build()
		if t == vector.String && r.IntN(2) == 0 {
			v = encoded(v)
		}
		b.Cols = append(b.Cols, v)
	}
	if r.IntN(3) == 0 {
		b.Sel = []uint32{}
		for i := range rows {
			if r.IntN(3) > 0 {
				b.Sel = append(b.Sel, uint32(i))
			}
		}
	}
	return b
}

// encoded makes codes of a vector of strings.
func encoded(v *vector.Vector) *vector.Vector {
	codes, entries, known := make([]uint32, v.Len), []string{""}, map[string]uint32{}
	for i := range v.Len {
		if v.IsNull(i) {
			continue
		}
		s := v.StringAt(i)
		if _, ok := known[s]; !ok {
			known[s] = uint32(len(entries))
			entries = append(entries, s)
		}
		codes[i] = known[s]
	}
	out := vector.FromCodes(codes, vector.NewDict(entries))
	out.Valid = v.Valid
	return out
}

// wanted is what a value of a column reads as.
func wanted(c *Column, v any) any {
	switch x := v.(type) {
	case int64:
		switch c.Type {
		case Boolean:
			return x > 0
		case Days:
			return c.Whole(x) * 86_400_000
		}
	case string:
		if c.Type == Bytes {
			return []byte(x)
		}
		return wellFormed(x)
	}
	return v
}

func write(t testing.TB, columns []Column, flush func(i int) bool, batches ...*vector.Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	f := NewFramed(&out)
	w := NewWriter(columns, f.Message)
	for i, b := range batches {
		if err := w.Batch(b); err != nil {
			t.Fatal(err)
		}
		if flush(i) {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Flush(), f.End()); err != nil {
		t.Fatal(err)
	}
	if f.Bytes() != int64(out.Len()) {
		t.Errorf("[%d] bytes are [%d]", out.Len(), f.Bytes())
	}
	return out.Bytes()
}

// read returns the rows of a stream.
func read(stream []byte) (*Schema, [][]any, error) {
	r := NewReader(bytes.NewReader(stream))
	s, err := r.Schema()
	if err != nil {
		return nil, nil, err
	}
	var rows [][]any
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s, rows, nil
		}
		if err != nil {
			return s, rows, err
		}
		for i := range b.Rows {
			var row []any
			for _, c := range b.Columns {
				row = append(row, c.Value(i))
			}
			rows = append(rows, row)
		}
	}
}

func TestWhatIsWrittenReadsBack(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		columns := testColumns()
		words := []int{2, 50, 100_000}[r.IntN(3)]
		var batches []*vector.Batch
		var want [][]any
		for range r.IntN(6) {
			b := randomBatch(r, r.IntN(1500), words)
			batches = append(batches, b)
			for i := range b.Rows() {
				at := i
				if b.Sel != nil {
					at = int(b.Sel[i])
				}
				var row []any
				for k, v := range b.Cols {
					row = append(row, wanted(&columns[k], v.ValueAt(at)))
				}
				want = append(want, row)
			}
		}
		stream := write(t, columns, func(int) bool { return r.IntN(2) == 0 }, batches...)
		s, got, err := read(stream)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if diff := cmp.Diff(SchemaOf(columns), s); diff != "" {
			t.Fatalf("seed %d: schema %s", seed, diff)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestNumbersThatAreNone(t *testing.T) {
	columns := []Column{{Field: Field{Name: "d", Type: Float64}}, {Field: Field{Name: "t", Type: Text}}}
	b := &vector.Batch{N: 2, Cols: []*vector.Vector{
		vector.FromDoubles([]float64{math.NaN(), math.Inf(-1)}), vector.FromStrings([]string{"a\xff", "\x00"}),
	}}
	_, rows, err := read(write(t, columns, func(int) bool { return false }, b))
	if err != nil || !math.IsNaN(rows[0][0].(float64)) || rows[1][0] != math.Inf(-1) || rows[0][1] != "a\uFFFD" || rows[1][1] != "\x00" {
		t.Errorf("%v, %v", rows, err)
	}
}

// A stream may end anywhere, and any byte may be another one: it is an answer or a fault of the
// input, in bounded memory.
func TestDamagedStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	stream := write(t, testColumns(), func(int) bool { return true }, randomBatch(r, 5, 5), randomBatch(r, 3, 50))
	check := func(what string, b []byte) {
		t.Helper()
		_, _, err := read(b)
		if err == nil {
			return
		}
		f := fault.Find(err)
		if f == nil || f.Category != fault.CategoryInvalidInput && f.Category != fault.CategoryUnsupported {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for n := range stream {
		check(fmt.Sprintf("cut at %d", n), stream[:n])
	}
	for n := range stream {
		b := bytes.Clone(stream)
		b[n] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(r.Uint32())}[r.IntN(6)]
		check(fmt.Sprintf("byte %d is %d", n, b[n]), b)
	}
}

func TestInputsThatAreNoStreams(t *testing.T) {
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}
	empty := func(w *flatWriter) int { return w.table() }
	big := func(w *flatWriter) int { return w.table(number(2, 1)) }
	of := func(t *Type) []byte { return framed(EncodeSchema(&Schema{Fields: []Field{{Name: "n", Type: t}}})) }
	deep := Int64
	for range 40 {
		deep = ListOf(deep)
	}
	for name, tc := range map[string]struct {
		in   []byte
		want string
	}{
		"nothing":             {nil, "it has no schema"},
		"only an end":         {huge[:4], "ends within a message"},
		"text":                {[]byte("{\"a\":1}\n{\"a\":2}"), "bytes, more than"},
		"metadata of 2^31":    {huge, "has [2147483647] bytes"},
		"an IPC file":         {append([]byte("ARROW1\x00\x00"), huge...), "bytes, more than"},
		"a batch first":       {framed(message(headBatch, 0, empty)), "not with its schema"},
		"a body of 2^40":      {framed(message(headSchema, 1<<40, empty)), "the body of a message has"},
		"a body that is cut":  {framed(message(headSchema, 1<<29, empty)), "ends within a message"},
		"big-endian":          {framed(message(headSchema, 0, big)), "big-endian"},
		"an interval":         {of(&Type{Kind: 11}), "[n] of type [interval]"},
		"a list without type": {of(&Type{Kind: List}), "[n] has [0] parts"},
		"an int of 7 bits":    {of(&Type{Kind: Int, Bits: 7}), "[n] can't be"},
		"fields too deep":     {of(deep), "nested deeper than"},
		"too many fields":     {framed(EncodeSchema(&Schema{Fields: make20k()})), "more than [20000] fields"},
	} {
		_, _, err := read(tc.in)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func make20k() (out []Field) {
	for range maxFields + 1 {
		out = append(out, Field{Name: "n", Type: Int64})
	}
	return out
}

func framed(metadata []byte) []byte {
	var out bytes.Buffer
	_ = NewFramed(&out).Message(&Message{Metadata: metadata})
	return out.Bytes()
}

// Few bytes can't claim many values.
func TestValuesWithoutBytesAreBounded(t *testing.T) {
	for name, typ := range map[string]*Type{
		"null": Undefined, "struct": {Kind: Struct}, "binary": {Kind: FixedBinary},
		"list": {Kind: FixedList, Children: []Field{{Name: "item", Type: Int64}}},
	} {
		schema := &Schema{Fields: []Field{{Name: "n", Type: typ}}}
		stream := framed(EncodeSchema(schema))
		nodes := [][2]int64{{1 << 30, 0}}
		buffers := make([][]byte, map[string]int{"null": 0, "struct": 1, "binary": 2, "list": 1}[name])
		if name == "list" {
			nodes, buffers = append(nodes, [2]int64{0, 0}), append(buffers, nil, nil)
		}
		var out bytes.Buffer
		if err := NewFramed(&out).Message(batchMessage(headBatch, 1<<30, nodes, buffers, nil)); err != nil {
			t.Fatal(err)
		}
		_, _, err := read(append(stream, out.Bytes()...))
		if err == nil || !strings.Contains(err.Error(), "values without bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFailuresOfTheReceiver(t *testing.T) {
	gone := errors.New("gone")
	w := NewWriter(testColumns(), func(*Message) error { return gone })
	if err := w.Batch(randomBatch(rand.New(rand.NewPCG(1, 1)), 5, 5)); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 3))
	f.Add(write(f, testColumns(), func(int) bool { return true }, randomBatch(r, 3, 5), randomBatch(r, 2, 50)))
	f.Add(write(f, testColumns()[:1], func(int) bool { return true }))
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, _, err := read(in); err != nil && fault.Find(err) == nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkWriteTwoLongs(b *testing.B) {
	const rows = 4096
	x := make([]int64, rows)
	for i := range x {
		x[i] = int64(i)
	}
	columns := []Column{{Field: Field{Name: "a", Type: Int64}}, {Field: Field{Name: "b", Type: Int64}}}
	batch := &vector.Batch{N: rows, Cols: []*vector.Vector{vector.FromLongs(x), vector.FromLongs(x)}}
	f := NewFramed(io.Discard)
	w := NewWriter(columns, f.Message)
	for b.Loop() {
		if err := w.Batch(batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// TestSizesOfValues counts what values take that few bytes stand for, and stops above a limit.
func TestSizesOfValues(t *testing.T) {
	long := &Array{Type: Text, Len: 1, data: bytes.Repeat([]byte("x"), 1000), offsets: []byte{0, 0, 0, 0, 0xe8, 3, 0, 0}}
	words := &Array{Type: Text, Len: 4, index: Int32, data: make([]byte, 16), valid: []byte{0b1011},
		dictionary: &dictionary{parts: []*Array{long}, ends: []int{1}, n: 1}}
	list := &Array{Type: ListOf(Text), Len: 2, offsets: []byte{0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0}, children: []*Array{words}}
	member := &Array{Type: &Type{Kind: Struct, Children: []Field{{Name: "a", Type: Text}, {Name: "b", Type: ListOf(Text)}}}, Len: 2,
		children: []*Array{words, list}}
	for _, c := range []struct {
		of         *Array
		i          int
		most, want int64
	}{
		{words, 0, 1 << 20, 1016},
		{words, 2, 1 << 20, 16},
		{list, 0, 1 << 20, 16 + 2*1016 + 16},
		{list, 1, 1 << 20, 16 + 1016},
		{list, 0, 500, 16 + 1016},
		{member, 0, 1 << 20, 16 + 1016 + 16 + 2*1016 + 16},
		{member, 0, 500, 16 + 1016},
	} {
		if got := c.of.Size(c.i, c.most); got != c.want {
			t.Errorf("value %d of a column of %v takes [%d], want [%d]", c.i, c.of.Type.Kind, got, c.want)
		}
	}
}
