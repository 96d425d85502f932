package dispatch

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/timeline"
)

func TestPlacement(t *testing.T) {
	a, b, c := &Server{Name: "a"}, &Server{Name: "b"}, &Server{Name: "c", Rank: -1}
	live := []*Server{a, b, c}
	segments := func(holders ...[]*Server) []Segment {
		var out []Segment
		for i, h := range holders {
			out = append(out, Segment{Of: &timeline.Segment{Rows: 10}, ID: fmt.Sprint(i), Holders: h})
		}
		return out
	}
	for name, tc := range map[string]struct {
		segments     []Segment
		load         map[string]int64
		avoid, never []string
		want         map[string][]string
	}{
		"to who holds it":                       {segments: segments([]*Server{b}, []*Server{c}), want: map[string][]string{"b": {"0"}, "c": {"1"}}},
		"to the highest rank":                   {segments: segments(live), load: map[string]int64{"a": 9}, want: map[string][]string{"b": {"0"}}},
		"to who has the least to do":            {segments: segments(live, live, live), load: map[string]int64{"a": 15}, want: map[string][]string{"b": {"0", "1"}, "a": {"2"}}},
		"not to whom to avoid":                  {segments: segments(live), avoid: []string{"a"}, want: map[string][]string{"b": {"0"}}},
		"to whom to avoid rather than one cold": {segments: segments([]*Server{a}), avoid: []string{"a"}, want: map[string][]string{"a": {"0"}}},
		"to one cold when nobody else is left":  {segments: segments([]*Server{a}), never: []string{"a", "b"}, want: map[string][]string{"c": {"0"}}},
		"to nobody":                             {segments: segments([]*Server{a}), never: []string{"a", "b", "c"}},
	} {
		p := placement{live: live, load: map[string]int64{}, avoid: map[string]bool{}, never: map[string]bool{}}
		maps.Copy(p.load, tc.load)
		for _, s := range tc.avoid {
			p.avoid[s] = true
		}
		for _, s := range tc.never {
			p.never[s] = true
		}
		shares, err := p.place(tc.segments)
		if tc.want == nil {
			if fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryServiceUnavailable {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		got := map[string][]string{}
		for _, s := range shares {
			for _, seg := range s.segments {
				got[s.server.Name] = append(got[s.server.Name], seg.ID)
			}
		}
		if diff := cmp.Diff(tc.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestColdSegmentsStayWhereTheyAreWhenAServerLeaves(t *testing.T) {
	var live []*Server
	for i := range 10 {
		live = append(live, &Server{Name: fmt.Sprintf("host%d:8083", i)})
	}
	at := func(live []*Server) map[string]string {
		out := map[string]string{}
		for i := range 1000 {
			s := Segment{Of: &timeline.Segment{}, ID: fmt.Sprint("segment", i)}
			p := placement{live: live, load: map[string]int64{}}
			out[s.ID] = p.choose(&s).Name
		}
		return out
	}
	before, after := at(live), at(live[1:])
	count := map[string]int{}
	for id, server := range before {
		count[server]++
		if server != live[0].Name && after[id] != server {
			t.Errorf("segment [%s] went from [%s] to [%s]", id, server, after[id])
		}
	}
	for server, n := range count {
		if n < 60 || n > 150 {
			t.Errorf("server [%s] has [%d] of 1000 segments", server, n)
		}
	}
}
