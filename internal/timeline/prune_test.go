package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRangePossible(t *testing.T) {
	two := Range{Dimensions: []string{"a", "b"}, Start: Tuple{new("c"), new("m")}, End: Tuple{new("f"), new("p")}}
	for _, tt := range []struct {
		name string
		spec ShardSpec
		d    Domain
		want bool
	}{
		{"no restriction", two, Domain{}, true},
		{"other dimension", two, Domain{"z": Point("q")}, true},
		{"before", two, Domain{"a": Point("b")}, false},
		{"inside", two, Domain{"a": Point("d")}, true},
		{"after", two, Domain{"a": Point("g")}, false},
		{"at start, second before", two, Domain{"a": Point("c"), "b": Point("l")}, false},
		{"at start, second at start", two, Domain{"a": Point("c"), "b": Point("m")}, true},
		{"at end, second before end", two, Domain{"a": Point("f"), "b": Point("o")}, true},
		{"at end, second at end", two, Domain{"a": Point("f"), "b": Point("p")}, false},
		{"null", two, Domain{"a": Values{Null: true}}, false},
		{"nothing", two, Domain{"b": Values{}}, false},
		{"range touches start from below", two, Domain{"a": Values{Ranges: []ValueRange{{High: new("c"), HighOpen: true}}}}, false},
		{"range from below", two, Domain{"a": Values{Ranges: []ValueRange{{High: new("c")}}}}, true},
		{"range above", two, Domain{"a": Values{Ranges: []ValueRange{{Low: new("f"), LowOpen: true}}}}, false},
		{"open start takes null", Range{Dimensions: []string{"a"}, End: Tuple{new("c")}}, Domain{"a": Values{Null: true}}, true},
		{"end at null is empty", Range{Dimensions: []string{"a"}, End: Tuple{nil}}, Domain{"a": Point("")}, false},
		{"start at null", Range{Dimensions: []string{"a"}, Start: Tuple{nil}, End: Tuple{new("a")}}, Domain{"a": Values{Null: true}}, true},
		{"single", Single{Dimension: "a", Start: new("c")}, Domain{"a": Point("b")}, false},
		{"tombstone", Tombstone{}, Domain{}, false},
		{"value set hit", DimValueSet{Values: map[string][]string{"a": {"x", "y"}}}, Domain{"a": Point("y")}, true},
		{"value set miss", DimValueSet{Values: map[string][]string{"a": {"x", "y"}}}, Domain{"a": Point("z")}, false},
		{"numbered", Numbered{}, Domain{"a": Point("z")}, true},
	} {
		if got := tt.spec.Possible(tt.d); got != tt.want {
			t.Errorf("%s: got %v", tt.name, got)
		}
	}
}

// TestRangePossibleNeverLosesRows compares pruning with looking at every tuple of a small alphabet:
// a segment that has a matching tuple must be possible, and where gaps between letters don't matter
// (points only), one that has none must not be.
func TestRangePossibleNeverLosesRows(t *testing.T) {
	letters := []*string{nil, new("a"), new("b"), new("c"), new("d")}
	rank := func(v *string) int {
		for i, l := range letters {
			if equalValue(l, v) {
				return i
			}
		}
		return -1
	}
	less := func(a, b Tuple) bool {
		for i := range a {
			if x, y := rank(a[i]), rank(b[i]); x != y {
				return x < y
			}
		}
		return false
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func() *string { return letters[rnd.IntN(len(letters))] }
	for range 20000 {
		spec := Range{Dimensions: []string{"x", "y"}}
		if rnd.IntN(4) > 0 {
			spec.Start = Tuple{pick(), pick()}
		}
		if rnd.IntN(4) > 0 {
			spec.End = Tuple{pick(), pick()}
		}
		if spec.Start != nil && spec.End != nil && !less(spec.Start, spec.End) {
			continue
		}
		d, points := Domain{}, true
		for _, name := range spec.Dimensions {
			switch rnd.IntN(3) {
			case 0:
				points = false
			case 1:
				v := Values{Null: rnd.IntN(2) == 0}
				for range rnd.IntN(3) {
					v.Ranges = append(v.Ranges, Point(*letters[1+rnd.IntN(4)]).Ranges...)
				}
				d[name] = v
			case 2:
				points = false
				r := ValueRange{LowOpen: rnd.IntN(2) == 0, HighOpen: rnd.IntN(2) == 0}
				if rnd.IntN(3) > 0 {
					r.Low = letters[1+rnd.IntN(4)]
				}
				if rnd.IntN(3) > 0 {
					r.High = letters[1+rnd.IntN(4)]
				}
				d[name] = Values{Null: rnd.IntN(3) == 0, Ranges: []ValueRange{r}}
			}
		}
		want := false
		for _, x := range letters {
			for _, y := range letters {
				row := Tuple{x, y}
				if spec.Start != nil && less(row, spec.Start) || spec.End != nil && !less(row, spec.End) {
					continue
				}
				vx, rx := d["x"]
				vy, ry := d["y"]
				want = want || (!rx || vx.has(x)) && (!ry || vy.has(y))
			}
		}
		got := spec.Possible(d)
		if want && !got || points && got != want {
			t.Fatalf("range %v..%v, domain %+v: got %v, want %v", spec.Start, spec.End, d, got, want)
		}
	}
}

// The keys are written out by hand as Druid's JSON writer has them: a list with one list of texts
// for each dimension.
func TestHashedSegmentsArePrunedByTheHashOfTheirKeys(t *testing.T) {
	const buckets = 16
	bucket := func(key string) int { return int(GroupHash([]byte(key)) % buckets) }
	columns := []Column{{Name: "a", Type: "STRING"}, {Name: "b", Type: "STRING"}, {Name: "n", Type: "LONG"}, {Name: "m", Type: "STRING", MultiValue: true}}
	may := func(function string, d Domain, dimensions ...string) (in []int) {
		for i := range buckets {
			s := Segment{Schema: NewSchema(columns), Shard: Hashed{Partition: i, Core: buckets, Bucket: i, Buckets: buckets, Dimensions: dimensions, Function: function}}
			if s.MayHave(d) {
				in = append(in, i)
			}
		}
		return in
	}
	texts := func(list ...string) Values {
		v := Values{}
		for _, s := range list {
			v.Ranges = append(v.Ranges, Point(s).Ranges...)
		}
		return v
	}
	for _, tt := range []struct {
		name       string
		d          Domain
		dimensions []string
		keys       []string // nil: any bucket
	}{
		{"one value", Domain{"a": texts("x")}, []string{"a"}, []string{`[["x"]]`}},
		{"values that JSON escapes", Domain{"a": texts(`say "é\" </b>`)}, []string{"a"}, []string{`[["say \"é\\\" </b>"]]`}},
		{"several", Domain{"a": texts("x", "y")}, []string{"a"}, []string{`[["x"]]`, `[["y"]]`}},
		{"tuples", Domain{"a": texts("x", "y"), "b": texts("1")}, []string{"a", "b"}, []string{`[["x"],["1"]]`, `[["y"],["1"]]`}},
		{"one dimension open", Domain{"a": texts("x")}, []string{"a", "b"}, nil},
		{"null too", Domain{"a": Values{Null: true, Ranges: texts("x").Ranges}}, []string{"a"}, nil},
		{"a range", Domain{"a": Values{Ranges: []ValueRange{{Low: new("x")}}}}, []string{"a"}, nil},
		{"an empty text", Domain{"a": texts("")}, []string{"a"}, nil},
		{"a control character", Domain{"a": texts("\x1f")}, []string{"a"}, nil},
		{"a number", Domain{"n": texts("1")}, []string{"n"}, nil},
		{"several values in a row", Domain{"m": texts("x")}, []string{"m"}, nil},
		{"all dimensions", Domain{"a": texts("x")}, nil, nil},
	} {
		var want []int
		for i := range buckets {
			if tt.keys == nil || slices.ContainsFunc(tt.keys, func(k string) bool { return bucket(k) == i }) {
				want = append(want, i)
			}
		}
		if got := may(GroupHashFunction, tt.d, tt.dimensions...); !slices.Equal(got, want) {
			t.Errorf("%s: buckets %v may have rows, want %v", tt.name, got, want)
		}
	}
	if got := may("", Domain{"a": texts("x")}, "a"); len(got) != buckets {
		t.Errorf("without a function buckets %v may have rows, want all", got)
	}
}

func TestRangesSayNothingAboutTextsWhoseOrderDependsOnTheEncoding(t *testing.T) {
	s := Segment{Schema: NewSchema([]Column{{Name: "a", Type: "STRING"}}), Shard: Range{Dimensions: []string{"a"}, Start: Tuple{new("\uffee")}}}
	if !s.MayHave(Domain{"a": Point("\U0001f600")}) { // after the start in bytes, before it in UTF-16
		t.Error("a segment was pruned by an order that may not be its own")
	}
	s.Shard = Range{Dimensions: []string{"a"}, End: Tuple{new("\U0001f600")}}
	if !s.MayHave(Domain{"a": Point("\uffee")}) || s.MayHave(Domain{}) != true {
		t.Error("a segment was pruned by an order that may not be its own")
	}
	if s.Shard = (Range{Dimensions: []string{"a"}, Start: Tuple{new("m")}}); s.MayHave(Domain{"a": Point("b")}) {
		t.Error("a segment after the value was not pruned")
	}
}
