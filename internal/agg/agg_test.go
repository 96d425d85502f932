package agg

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hengedb/henge/internal/sketch"
	"github.com/hengedb/henge/internal/vector"
)

var close9 = cmpopts.EquateApprox(1e-9, 1e-9)

func vec(t vector.Type, values ...any) *vector.Vector {
	b := vector.NewBuilder(t, len(values))
	for _, v := range values {
		b.Append(v)
	}
	return b.Build()
}

// final runs a spec over rows in one group.
func final(t *testing.T, s Spec, args ...*vector.Vector) any {
	t.Helper()
	st, err := s.New()
	if err != nil {
		t.Fatal(err)
	}
	st.Grow(1)
	n := 0
	if len(args) > 0 {
		n = args[0].Len
	}
	if err := st.Update(args, nil, n); err != nil {
		t.Fatal(err)
	}
	v, err := st.Final(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.ResultType()
	if err != nil || v.Type != want {
		t.Errorf("%s: Final has type %s, ResultType says %s, %v", s.Name, v.Type, want, err)
	}
	return v.ValueAt(0)
}

func TestResults(t *testing.T) {
	nan, negZero := math.NaN(), math.Copysign(0, -1)
	l := func(v ...any) *vector.Vector { return vec(vector.Long, v...) }
	d := func(v ...any) *vector.Vector { return vec(vector.Double, v...) }
	s := func(v ...any) *vector.Vector { return vec(vector.String, v...) }
	i := func(x int) any { return int64(x) }
	for _, c := range []struct {
		name   string
		params []any
		args   []*vector.Vector
		want   any
	}{
		{"COUNT", nil, []*vector.Vector{l(i(1), nil, i(3))}, i(2)},
		{"COUNT", nil, []*vector.Vector{vector.Nulls(vector.Long, 5)}, i(0)},
		{"COUNT", nil, []*vector.Vector{vector.Constant(vector.String, "x", 5)}, i(5)},
		{"SUM", nil, []*vector.Vector{l(i(1), nil, i(3), i(4), i(5), i(6))}, i(19)},
		{"SUM", nil, []*vector.Vector{l(int64(math.MaxInt64), i(1))}, int64(math.MinInt64)},
		{"SUM", nil, []*vector.Vector{l()}, nil},
		{"SUM", nil, []*vector.Vector{l(nil, nil)}, nil},
		{"SUM", nil, []*vector.Vector{vector.Constant(vector.Long, int64(7), 6)}, i(42)},
		{"SUM", nil, []*vector.Vector{vec(vector.Float, float32(0.5), float32(1))}, 1.5},
		{"SUM", nil, []*vector.Vector{d(1.5, 2.5, nil)}, 4.0},
		{"MIN", nil, []*vector.Vector{d(nan, 2.0, nil, 1.0)}, 1.0},
		{"MAX", nil, []*vector.Vector{d(1.0, nan, 2.0)}, nan},
		{"MIN", nil, []*vector.Vector{d(nan)}, nan},
		{"MIN", nil, []*vector.Vector{d(0.0, negZero)}, negZero},
		{"MAX", nil, []*vector.Vector{d(negZero, 0.0)}, 0.0},
		{"MAX", nil, []*vector.Vector{vec(vector.Float, float32(1), float32(3))}, float32(3)},
		{"MIN", nil, []*vector.Vector{s("b", nil, "a", "")}, ""},
		{"MAX", nil, []*vector.Vector{s("b", nil, "é", "a")}, "é"},
		{"MIN", nil, []*vector.Vector{s(nil)}, nil},
		{"MAX", nil, []*vector.Vector{vec(vector.ListOf(vector.Long), []any{i(1)}, []any{i(1), nil}, nil)}, []any{i(1), nil}},
		{"AVG", nil, []*vector.Vector{l(i(1), i(2), nil)}, 1.5},
		{"AVG", nil, []*vector.Vector{l()}, nil},
		{"ANY_VALUE", nil, []*vector.Vector{s(nil, "x")}, nil},
		{"ANY_VALUE", []any{i(2)}, []*vector.Vector{s("aéb")}, "a"},
		{"ANY_VALUE", nil, []*vector.Vector{s()}, nil},
		{"EARLIEST", nil, []*vector.Vector{s("b", "a", "c"), l(i(5), i(3), i(3))}, "a"},
		{"LATEST", nil, []*vector.Vector{s("b", "a", "c"), l(i(3), i(5), i(5))}, "c"},
		{"LATEST_BY", nil, []*vector.Vector{s("b", nil, "c"), l(i(3), i(5), nil)}, nil},
		{"EARLIEST_BY", []any{i(1)}, []*vector.Vector{s("long"), l(i(-3))}, "l"},
		{"EARLIEST", nil, []*vector.Vector{l(), l()}, nil},
		{"APPROX_COUNT_DISTINCT", nil, []*vector.Vector{l(i(1), i(2), i(2), nil)}, i(2)},
		{"APPROX_COUNT_DISTINCT_BUILTIN", nil, []*vector.Vector{s("a", "", "b", "a", nil)}, i(2)},
		{"APPROX_COUNT_DISTINCT", nil, []*vector.Vector{vec(vector.ListOf(vector.String), []any{"a", "b"}, nil, []any{"b", "c", nil})}, i(3)},
		{"APPROX_COUNT_DISTINCT", nil, []*vector.Vector{s()}, i(0)},
		{"ARRAY_AGG", nil, []*vector.Vector{s("b", nil, "a")}, []any{"b", nil, "a"}},
		{"ARRAY_AGG", nil, []*vector.Vector{s()}, nil},
		{"ARRAY_CONCAT_AGG", nil, []*vector.Vector{vec(vector.ListOf(vector.Long), []any{i(1)}, nil, []any{}, []any{i(2), nil})}, []any{i(1), i(2), nil}},
		{"ARRAY_CONCAT_AGG", nil, []*vector.Vector{vec(vector.ListOf(vector.Long), []any{})}, []any{}},
		{"ARRAY_CONCAT_AGG_DISTINCT", nil, []*vector.Vector{vec(vector.ListOf(vector.Long), []any{i(2), nil}, nil, []any{i(1), i(2), nil})}, []any{nil, i(1), i(2)}},
		{"EARLIEST_BY", []any{i(0)}, []*vector.Vector{s("long"), l(i(-3))}, ""},
		{"STRING_AGG", []any{","}, []*vector.Vector{s("a", nil, "", "b")}, "a,,b"},
		{"LISTAGG", nil, []*vector.Vector{s("a", "b")}, "ab"},
		{"STRING_AGG", []any{","}, []*vector.Vector{s(nil)}, nil},
		{"BIT_AND", nil, []*vector.Vector{l(i(7), nil, i(13))}, i(5)},
		{"BIT_OR", nil, []*vector.Vector{l(i(1), i(4))}, i(5)},
		{"BIT_XOR", nil, []*vector.Vector{l(i(7), i(2))}, i(5)},
		{"BIT_AND", nil, []*vector.Vector{l()}, nil},
		{"VAR_POP", nil, []*vector.Vector{l(i(1), i(2), i(3), i(4), nil)}, 1.25},
		{"VARIANCE", nil, []*vector.Vector{l(i(1), i(2), i(3), i(4))}, 5.0 / 3},
		{"STDDEV_POP", nil, []*vector.Vector{d(1e9, 1e9+2.0)}, 1.0},
		{"STDDEV", nil, []*vector.Vector{d(1.0)}, nil},
		{"VAR_POP", nil, []*vector.Vector{d(1.0)}, 0.0},
		{"VAR_POP", nil, []*vector.Vector{d()}, nil},
	} {
		spec := Spec{Name: c.name, Params: c.params}
		for _, a := range c.args {
			spec.Args = append(spec.Args, a.Type)
		}
		got := final(t, spec, c.args...)
		if diff := cmp.Diff(c.want, got, close9, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("%s%v: %s", c.name, c.args[0], diff)
		}
		if w, ok := c.want.(float64); ok && math.Signbit(w) != math.Signbit(got.(float64)) {
			t.Errorf("%s: sign of zero is lost", c.name)
		}
	}
	if got := final(t, Spec{Name: "COUNT"}); got != int64(0) {
		t.Errorf("COUNT(*) of nothing = %v", got)
	}
}

// TestPartialsMergeToTheSameResult splits random rows over workers and groups, and compares with
// one state per group.
func TestPartialsMergeToTheSameResult(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	value := func(typ vector.Type) any {
		if r.IntN(5) == 0 {
			return nil
		}
		switch typ.Kind {
		case vector.KindLong:
			return r.Int64N(50) - 25
		case vector.KindDouble:
			return float64(r.Int64N(50)) / 4
		case vector.KindFloat:
			return float32(r.Int64N(50)) / 4
		case vector.KindString:
			return strings.Repeat(string(rune('a'+r.IntN(5))), r.IntN(3))
		}
		out := make([]any, r.IntN(3))
		for i := range out {
			out[i] = int64(r.IntN(5))
		}
		return out
	}
	types := []vector.Type{vector.Long, vector.Double, vector.Float, vector.String, vector.ListOf(vector.Long)}
	for _, f := range Functions() {
		for _, typ := range types {
			spec := Spec{Name: f.Name, Args: []vector.Type{typ}}
			for len(spec.Args) < f.MinArgs {
				second := vector.Long
				if f.Casts == ToDouble {
					second = vector.Double
				}
				spec.Args = append(spec.Args, second)
			}
			switch {
			case f.MinParams > 0 && f.WithinGroup:
				spec.Params = []any{0.3}
			case f.MinParams > 0 && f.Name == "APPROX_TOP_K":
				spec.Params = []any{int64(3)}
			}
			if _, err := spec.New(); err != nil {
				continue
			}
			for _, dict := range []bool{false, true} {
				const rows, ngroups, workers = 300, 7, 3
				cols := make([]*vector.Vector, len(spec.Args))
				for c, at := range spec.Args {
					b := vector.NewBuilder(at, rows)
					for i := range rows {
						switch {
						case c == 1 && at == vector.Long:
							b.Append(int64(i * 37 % rows)) // all different: ties are arbitrary
						case f.Name == "ANY_VALUE" || f.Name == "ARRAY_AGG" || f.Name == "STRING_AGG" || f.Name == "ARRAY_CONCAT_AGG":
							b.Append(constantOf(at)) // order is arbitrary
						default:
							b.Append(value(at))
						}
					}
					cols[c] = b.Build()
				}
				if dict && typ.Kind == vector.KindString {
					entries := slices.Compact(slices.Sorted(slices.Values(cols[0].Strings)))
					d := vector.NewDict(entries)
					v := &vector.Vector{Type: vector.String, Len: rows, Codes: make([]uint32, rows), Dict: d, Valid: cols[0].Valid}
					for i, s := range cols[0].Strings {
						v.Codes[i], _ = d.Lookup(s)
					}
					cols[0] = v
				}
				groups := make([]uint32, rows)
				for i := range groups {
					groups[i] = uint32(r.IntN(ngroups - 1)) // the last group stays empty
				}
				var want []any
				for g := range ngroups {
					var sel []uint32
					for i, x := range groups {
						if int(x) == g {
							sel = append(sel, uint32(i))
						}
					}
					args := make([]*vector.Vector, len(cols))
					for c := range cols {
						args[c] = cols[c].Gather(sel)
					}
					want = append(want, final(t, spec, args...))
				}
				merged, _ := spec.New()
				merged.Grow(ngroups)
				other, _ := spec.New()
				absorbed, absorbs := other.(Absorbing)
				other.Grow(ngroups)
				for w := range workers {
					st, _ := spec.New()
					for i := w; i < rows; i += 10 * workers {
						st.Grow(ngroups)
						var sel []uint32
						for k := i; k < min(rows, i+10*workers); k += workers {
							sel = append(sel, uint32(k))
						}
						args, gs := make([]*vector.Vector, len(cols)), make([]uint32, len(sel))
						for c := range cols {
							args[c] = cols[c].Gather(sel)
						}
						for k, row := range sel {
							gs[k] = groups[row]
						}
						if err := st.Update(args, gs, len(sel)); err != nil {
							t.Fatal(err)
						}
						if i == w+10*workers { // looking at a state must not disturb it
							st.Partial(0, ngroups)
						}
					}
					parts := st.Partial(0, ngroups)
					pt, err := spec.IntermediateTypes()
					if err != nil || len(pt) != len(parts) {
						t.Fatalf("%s: [%d] intermediate vectors, types %v, %v", f.Name, len(parts), pt, err)
					}
					for i, p := range parts {
						if p.Type != pt[i] {
							t.Errorf("%s: intermediate value %d is %s, not %s", f.Name, i, p.Type, pt[i])
						}
					}
					id := make([]uint32, ngroups)
					for i := range id {
						id[i] = uint32(i)
					}
					if err := merged.Merge(parts, id, ngroups); err != nil {
						t.Fatal(err)
					}
					if absorbs {
						absorbed.Absorb(st, id, id)
					}
					if st.Bytes() <= 0 {
						t.Errorf("%s holds no memory", f.Name)
					}
				}
				got := make([]any, 0, ngroups)
				for _, bounds := range [][2]int{{0, 3}, {3, ngroups}} {
					v, err := merged.Final(bounds[0], bounds[1])
					if err != nil {
						t.Fatal(err)
					}
					for i := range v.Len {
						got = append(got, v.ValueAt(i))
					}
				}
				if absorbs {
					v, err := absorbed.Final(0, ngroups)
					if err != nil {
						t.Fatal(err)
					}
					for i := range v.Len {
						if x := v.ValueAt(i); !reflect.DeepEqual(x, got[i]) {
							t.Errorf("%s(%s): group [%d] is %v of absorbed states, %v of merged ones", f.Name, typ, i, x, got[i])
						}
					}
				}
				if f.Sketch {
					want, got = estimates(t, merged, want), estimates(t, merged, got)
				}
				if diff := cmp.Diff(want, got, close9); diff != "" {
					t.Errorf("%s(%s): %s", f.Name, typ, diff)
				}
			}
		}
	}
}

// estimates makes of sketches what they estimate: the bytes depend on the order in which values
// came.
func estimates(t *testing.T, of State, values []any) []any {
	t.Helper()
	out := slices.Clone(values)
	for i, v := range values {
		p, ok := v.(string)
		if !ok {
			continue
		}
		switch of.Partial(0, 1)[0].Type {
		case HLLType:
			h, err := sketch.ParseHLL(p)
			if err != nil {
				t.Fatal(err)
			}
			if out[i], err = h.Estimate(); err != nil {
				t.Fatal(err)
			}
		case KLLDoublesType:
			q, err := sketch.ParseKLL[float64](p)
			if err != nil {
				t.Fatal(err)
			}
			out[i] = []float64{float64(q.N()), q.Ranks().Quantile(0.25), q.Ranks().Quantile(0.9)}
		case KLLFloatsType:
			q, err := sketch.ParseKLL[float32](p)
			if err != nil {
				t.Fatal(err)
			}
			out[i] = []float64{float64(q.N()), q.Ranks().Quantile(0.25), q.Ranks().Quantile(0.9)}
		}
	}
	return out
}

func constantOf(t vector.Type) any {
	switch t.Kind {
	case vector.KindLong:
		return int64(3)
	case vector.KindDouble:
		return 3.5
	case vector.KindFloat:
		return float32(3.5)
	case vector.KindString:
		return "x"
	}
	return []any{int64(1)}
}

func TestArgumentsAreChecked(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Name: "SUM", Args: []vector.Type{vector.String}}, "Aggregation [SUM] does not support type [STRING]"},
		{Spec{Name: "MAX", Args: []vector.Type{HyperUniqueType}}, "Aggregation [MAX] does not support type [COMPLEX<hyperUnique>]"},
		{Spec{Name: "SUM"}, "Aggregate function [SUM] does not take [0] arguments"},
		{Spec{Name: "COUNT", Params: []any{int64(1)}}, "Aggregate function [COUNT] does not take [1] constants"},
		{Spec{Name: "FOO"}, "Aggregate function [FOO] is unknown"},
		{Spec{Name: "DS_TUPLE_DOUBLES", Args: []vector.Type{TupleType}, Params: []any{int64(16), int64(256)}}, "A tuple sketch has from [1] to [255] values per key"},
		{Spec{Name: "LATEST", Args: []vector.Type{vector.Long, vector.String}}, "does not support type [STRING]"},
	} {
		if _, err := c.spec.New(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.spec, err, c.want)
		}
	}
	st, err := Spec{Name: "ARRAY_AGG", Args: []vector.Type{vector.String}, Params: []any{int64(10)}}.New()
	if err != nil {
		t.Fatal(err)
	}
	st.Grow(1)
	if err := st.Update([]*vector.Vector{vec(vector.String, "0123456789abc")}, nil, 1); err == nil {
		t.Error("ARRAY_AGG went over its size")
	}
}

func TestCatalogIsComplete(t *testing.T) {
	for _, f := range Functions() {
		if f.Doc == "" || f.Signature == "" || f.result == nil || f.partial == nil || f.create == nil {
			t.Errorf("%s lacks a part", f.Name)
		}
		if Lookup(strings.ToLower(f.Name)) != f {
			t.Errorf("%s is not found in lower case", f.Name)
		}
	}
}

// TestSumOfValidRows: what lies under NULLs does not count, wherever they are: words of the
// validity map that are full, empty, mixed or cut off by the end.
func TestSumOfValidRows(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 3))
	for round := range 200 {
		n, groupCount := r.IntN(300), 1+r.IntN(5)
		values, valid := make([]int64, n), vector.NewBitmap(n)
		want := make([]any, groupCount)
		var groups []uint32
		if groupCount > 1 {
			groups = make([]uint32, n)
		}
		nulls := 0
		for i := range values {
			if i%64 == 0 {
				nulls = []int{0, 10, 50, 100}[r.IntN(4)] // per cent, in this word
			}
			if values[i] = r.Int64N(1000) - 500; groups != nil {
				groups[i] = uint32(r.IntN(groupCount))
			}
			if r.IntN(100) < nulls {
				continue
			}
			valid.Set(i)
			g := 0
			if groups != nil {
				g = int(groups[i])
			}
			total, _ := want[g].(int64)
			want[g] = total + values[i]
		}
		v := vector.FromLongs(values)
		v.Valid = valid
		state, err := Spec{Name: "SUM", Args: []vector.Type{vector.Long}}.New()
		if err != nil {
			t.Fatal(err)
		}
		state.Grow(groupCount)
		if err := state.Update([]*vector.Vector{v}, groups, n); err != nil {
			t.Fatal(err)
		}
		got, err := state.Final(0, groupCount)
		if err != nil {
			t.Fatal(err)
		}
		for g := range want {
			if got.ValueAt(g) != want[g] {
				t.Fatalf("round %d: group %d of %d rows: %v, want %v", round, g, n, got.ValueAt(g), want[g])
			}
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	const n = vector.BatchRows
	longs, doubles, valid := make([]int64, n), make([]float64, n), vector.FullBitmap(n)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range longs {
		longs[i], doubles[i] = int64(i), float64(i)
		if r.IntN(10) == 0 {
			valid.Clear(i)
		}
	}
	tenth := vector.FromLongs(longs)
	tenth.Valid = valid
	for _, groupCount := range []int{1, 16, 4096} {
		var groups []uint32
		if groupCount > 1 {
			groups = make([]uint32, n)
			for i := range groups {
				groups[i] = uint32(i*7919) % uint32(groupCount)
			}
		}
		for _, c := range []struct {
			name string
			arg  *vector.Vector
		}{{"SUM", vector.FromLongs(longs)}, {"SUM", vector.FromDoubles(doubles)}, {"SUM_NULLS", tenth}, {"MAX", vector.FromLongs(longs)}, {"COUNT", vector.FromLongs(longs)}} {
			b.Run(fmt.Sprintf("%s_%s_%d", c.name, c.arg.Type, groupCount), func(b *testing.B) {
				name, _, _ := strings.Cut(c.name, "_")
				st, err := Spec{Name: name, Args: []vector.Type{c.arg.Type}}.New()
				if err != nil {
					b.Fatal(err)
				}
				st.Grow(groupCount)
				b.SetBytes(8 * n)
				for b.Loop() {
					if err := st.Update([]*vector.Vector{c.arg}, groups, n); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
