package chrono

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
)

func TestParseInterval(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"2015-09-12/2015-09-13", "2015-09-12T00:00:00.000Z/2015-09-13T00:00:00.000Z"},
		{"2015-09-12T00:00:00.000Z/2015-09-13T00:00:00.000Z", "2015-09-12T00:00:00.000Z/2015-09-13T00:00:00.000Z"},
		{"2015-09-12T00:00+02:00/PT1H", "2015-09-11T22:00:00.000Z/2015-09-11T23:00:00.000Z"},
		{"2020/P1M", "2020-01-01T00:00:00.000Z/2020-02-01T00:00:00.000Z"},
		{"P1D/2020-03-01", "2020-02-29T00:00:00.000Z/2020-03-01T00:00:00.000Z"},
		{"2000/2000", "2000-01-01T00:00:00.000Z/2000-01-01T00:00:00.000Z"},
		{"-146136543-09-08T08:23:32.096Z/146140482-04-24T15:36:27.903Z", Eternity.String()},
		{"2015-09-13/2015-09-12", ""},
		{"2015-09-13/P-1D", ""},
		{"2015-09-12", ""},
		{"P1D/P1D", ""},
		{"2015-09-12/", ""},
		{"/", ""},
		{"a/b", ""},
		{"2015-09-12/P", ""},
		{"2015-09-12 00:00/2015-09-13", ""},
	} {
		iv, err := ParseInterval(c.text)
		got := iv.String()
		if err != nil {
			got = ""
			if f := fault.Find(err); f == nil || f.Category != fault.CategoryInvalidInput {
				t.Errorf("%q: %v is not invalid input", c.text, err)
			}
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
	if Eternity.Start != -4611686018427387904 || Eternity.End != 4611686018427387903 {
		t.Errorf("eternity is %d/%d", Eternity.Start, Eternity.End)
	}
}

func TestParseIntervals(t *testing.T) {
	list, err := ParseIntervals("2015/2016, 2017/P1Y")
	if err != nil || len(list) != 2 || list[1].String() != "2017-01-01T00:00:00.000Z/2018-01-01T00:00:00.000Z" {
		t.Errorf("%v, %v", list, err)
	}
	if list, err := ParseIntervals("all"); err != nil || list[0] != Eternity {
		t.Errorf("all: %v, %v", list, err)
	}
	if _, err := ParseIntervals("2015/2016,"); err == nil {
		t.Error("an empty interval was accepted")
	}
}

func TestIntervalJSON(t *testing.T) {
	in := map[Interval][]Interval{{Start: 0, End: Day}: {{Start: Day, End: 2 * Day}}}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"1970-01-01T00:00:00.000Z/1970-01-02T00:00:00.000Z":["1970-01-02T00:00:00.000Z/1970-01-03T00:00:00.000Z"]}`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
	var out map[Interval][]Interval
	if err := json.Unmarshal(text, &out); err != nil || cmp.Diff(in, out) != "" {
		t.Errorf("%v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"x":[]}`), &out); fault.Find(err) == nil {
		t.Errorf("a bad interval gives %v", err)
	}
}

func TestIntervalRelations(t *testing.T) {
	iv := func(s, e int64) Interval { return Interval{Start: s, End: e} }
	for _, c := range []struct {
		a, b                       Interval
		overlaps, contains, abuts  bool
		intersectStart, intersectE int64
	}{
		{iv(0, 10), iv(5, 15), true, false, false, 5, 10},
		{iv(0, 10), iv(2, 3), true, true, false, 2, 3},
		{iv(0, 10), iv(0, 10), true, true, false, 0, 10},
		{iv(0, 10), iv(10, 20), false, false, true, 0, 0},
		{iv(10, 20), iv(0, 10), false, false, true, 0, 0},
		{iv(0, 10), iv(11, 20), false, false, false, 0, 0},
		{iv(0, 10), iv(5, 5), false, true, false, 0, 0},
	} {
		got, _ := c.a.Intersect(c.b)
		if c.a.Overlaps(c.b) != c.overlaps || c.b.Overlaps(c.a) != c.overlaps || c.a.Contains(c.b) != c.contains || c.a.Abuts(c.b) != c.abuts ||
			got != iv(c.intersectStart, c.intersectE) {
			t.Errorf("%d and %d: overlaps %v, contains %v, abuts %v, intersection %d",
				c.a, c.b, c.a.Overlaps(c.b), c.a.Contains(c.b), c.a.Abuts(c.b), got)
		}
	}
	if !iv(0, 10).ContainsInstant(0) || iv(0, 10).ContainsInstant(10) {
		t.Error("intervals are half-open")
	}
}

// TestSetOperations compares with sets of small numbers.
func TestSetOperations(t *testing.T) {
	const size = 24
	type set [size]bool
	r := rand.New(rand.NewPCG(9, 10))
	random := func() (list []Interval, s set) {
		for range r.IntN(5) {
			start := r.Int64N(size)
			iv := Interval{Start: start, End: start + r.Int64N(size-start+1)}
			list = append(list, iv)
			for i := iv.Start; i < iv.End; i++ {
				s[i] = true
			}
		}
		return list, s
	}
	members := func(list []Interval) (s set) {
		for _, iv := range list {
			for i := iv.Start; i < iv.End; i++ {
				s[i] = true
			}
		}
		return s
	}
	for range 5000 {
		a, sa := random()
		b, sb := random()
		before := slices.Clone(a)
		var union, minus, both set
		contained := true
		for i := range size {
			union[i], minus[i], both[i] = sa[i] || sb[i], sa[i] && !sb[i], sa[i] && sb[i]
			contained = contained && (sa[i] || !sb[i])
		}
		for name, c := range map[string]struct {
			got  []Interval
			want set
		}{"union": {Union(a, b), union}, "subtract": {Subtract(a, b), minus}, "intersect": {IntersectAll(a, b), both}} {
			if members(c.got) != c.want {
				t.Fatalf("%s of %d and %d: %d", name, a, b, c.got)
			}
			for i, iv := range c.got {
				if iv.IsEmpty() || i > 0 && c.got[i-1].End >= iv.Start {
					t.Fatalf("%s of %d and %d is not condensed: %d", name, a, b, c.got)
				}
			}
		}
		if ContainsAll(a, b) != contained {
			t.Fatalf("%d contains %d: %v", a, b, !contained)
		}
		if !slices.Equal(a, before) {
			t.Fatalf("an argument was changed from %d to %d", before, a)
		}
	}
	if span, ok := SpanAll([]Interval{{5, 6}, {1, 2}}); !ok || span != (Interval{1, 6}) {
		t.Errorf("span %d", span)
	}
}

func FuzzParseInterval(f *testing.F) {
	for _, s := range []string{"2015-09-12/2015-09-13", "P1D/2020", "2020/PT1H", "2020-W01/2020-366", "/", "P1D/P1D"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		iv, err := ParseInterval(s)
		if err != nil {
			if fault.Find(err) == nil {
				t.Fatalf("%q: %v is no fault", s, err)
			}
			return
		}
		if again, err := ParseInterval(iv.String()); err != nil || again != iv {
			t.Fatalf("%q is %s, which is %v, %v", s, iv, again, err)
		}
	})
}
