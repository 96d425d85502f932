package agg

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/vector"
)

// TestKeptStates keeps the states of two parts as rolled-up columns do, merges those columns
// further, and compares with the whole.
func TestKeptStates(t *testing.T) {
	longs, times := vector.FromLongs([]int64{5, -3, 1 << 60, 8}), vector.FromLongs([]int64{40, 10, 30, 20})
	doubles, floats := vector.FromDoubles([]float64{0.5, 1.5, -2, 8}), vector.FromFloats([]float32{0.5, 1.5, -2, 8})
	texts := vector.FromStrings([]string{"a", "", "höher", "d"})
	withNull := vector.FromLongs([]int64{0, 2, 3, 4})
	withNull.Valid = vector.FullBitmap(4)
	withNull.Valid.Clear(0)
	for _, c := range []struct {
		name string
		args []*vector.Vector
		kept vector.Type
	}{
		{"LATEST", []*vector.Vector{longs, times}, TimedLongType}, {"EARLIEST", []*vector.Vector{doubles, times}, TimedDoubleType},
		{"LATEST_BY", []*vector.Vector{floats, times}, TimedFloatType}, {"EARLIEST_BY", []*vector.Vector{texts, times}, TimedTextType},
		{"LATEST", []*vector.Vector{withNull, times}, TimedLongType}, {"VAR_SAMP", []*vector.Vector{doubles}, VarianceType},
		{"STDDEV_POP", []*vector.Vector{withNull}, VarianceType}, {"AVG", []*vector.Vector{longs}, MeanType},
	} {
		spec := Spec{Name: c.name}
		for _, a := range c.args {
			spec.Args = append(spec.Args, a.Type)
		}
		whole := state(t, spec, 2)
		groups := []uint32{0, 0, 0, 0} // group 1 stays empty
		must(t, whole.Update(c.args, groups, 4))
		want, err := whole.Final(0, 2)
		must(t, err)
		kept, typ, ok := spec.Kept()
		if !ok || typ != c.kept {
			t.Fatalf("%s is kept as %v", c.name, typ)
		}
		column := vector.NewBuilder(typ, 4)
		for half := range 2 {
			part := state(t, kept, 2)
			args := make([]*vector.Vector, len(c.args))
			for i, a := range c.args {
				args[i] = a.Gather([]uint32{uint32(2 * half), uint32(2*half + 1)})
			}
			must(t, part.Update(args, groups, 2))
			v, err := part.Final(0, 2)
			must(t, err)
			for i := range 2 {
				if v.IsNull(i) {
					column.AppendNull()
				} else {
					column.AppendString(v.StringAt(i))
				}
			}
		}
		stored := column.Build() // groups 0, 1, 0, 1
		for _, args := range [][]vector.Type{{typ}, {typ, vector.Long}} {
			merged := Spec{Name: c.name, Args: args[:min(len(args), len(c.args))]}
			out := state(t, merged, 2)
			must(t, out.Update([]*vector.Vector{stored, nil}[:1], []uint32{0, 1, 0, 1}, 4))
			got, err := out.Final(0, 2)
			must(t, err)
			for i := range 2 {
				if d := cmp.Diff(want.ValueAt(i), got.ValueAt(i)); d != "" {
					t.Errorf("%s, group %d: %s", c.name, i, d)
				}
			}
		}
		folded, err := ParseMetric(kept.Metric(), typ)
		must(t, err)
		if partial, err := folded.IntermediateTypes(); err != nil || len(partial) != 1 || partial[0] != typ {
			t.Errorf("%s: the column folds as %v, %v", c.name, partial, err)
		}
	}
}

func TestDamagedStates(t *testing.T) {
	for _, typ := range []vector.Type{TimedLongType, TimedDoubleType, TimedFloatType, VarianceType, MeanType} {
		for _, text := range []string{"x", "123456789", "12345678901234567890123456789"} {
			name := map[vector.Type]string{VarianceType: "VAR_POP", MeanType: "AVG"}[typ]
			if name == "" {
				name = "LATEST"
			}
			b := vector.NewBuilder(typ, 1)
			b.AppendString(text)
			err := state(t, Spec{Name: name, Args: []vector.Type{typ}}, 1).Update([]*vector.Vector{b.Build()}, nil, 1)
			if want := "A value of type [" + typ.String() + "] that aggregation [" + name + "] reads is damaged"; err == nil || err.Error() != want {
				t.Errorf("[%s] as %s: %v, want %s", text, typ, err, want)
			}
		}
	}
}

func state(t *testing.T, s Spec, groups int) State {
	t.Helper()
	out, err := s.New()
	must(t, err)
	out.Grow(groups)
	return out
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
