package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/timeline"
)

// sharesOf returns a share of each of n servers; every third of them is of the release before if
// mixed.
func sharesOf(n int, mixed bool) []share {
	out := make([]share, n)
	for i := range out {
		s := &Server{Name: fmt.Sprint("s", i), URL: fmt.Sprint("http://s", i), Protocol: Version}
		if mixed && i%3 == 0 {
			s.Protocol = versionOthers - 1
		}
		out[i] = share{server: s, segments: []Segment{{Of: &timeline.Segment{Rows: int64(i * 7 % 5)}, ID: fmt.Sprint("g", i), Holders: []*Server{s}}}}
	}
	return out
}

func TestSharesAreMergedInATree(t *testing.T) {
	d := New(Options{})
	for _, mixed := range []bool{false, true} {
		for _, n := range []int{1, 2, 3, 4, 5, 16, 17, 40, 200, 300} {
			for _, fanIn := range []int{2, 4, 16} {
				shares := sharesOf(n, mixed)
				top := tree(shares, fanIn, d.merges)
				seen, depth := map[string]int{}, 0
				var walk func(list []share, level int)
				walk = func(list []share, level int) {
					if len(list) > 0 {
						depth = max(depth, level)
					}
					if len(list) > fanIn {
						t.Errorf("%d servers, fan-in %d: one merges the parts of %d", n, fanIn, len(list))
					}
					for _, s := range list {
						seen[s.server.Name]++
						if len(s.others) > 0 && !d.merges(s.server) {
							t.Errorf("server [%s] does not know how to merge", s.server.Name)
						}
						walk(s.others, level+1)
					}
				}
				walk(top, 1)
				if len(seen) != n || slices.Max(values(seen)) != 1 {
					t.Errorf("%d servers, fan-in %d: asked are %v", n, fanIn, seen)
				}
				levels := 1
				for reach := fanIn; reach < n; reach *= fanIn {
					levels++
				}
				if !mixed && depth > levels {
					t.Errorf("%d servers, fan-in %d: %d levels, want at most %d", n, fanIn, depth, levels)
				}
			}
		}
	}
	if old := New(Options{Protocol: versionOthers - 1}); len(tree(sharesOf(9, false), 2, old.merges)) != 9 {
		t.Error("a Broker of the release before asks servers to merge")
	}
	if len(tree(sharesOf(9, false), -1, d.merges)) != 9 {
		t.Error("shares are divided without a fan-in")
	}
}

func values(m map[string]int) (out []int) {
	for _, n := range m {
		out = append(out, n)
	}
	return out
}

// What a server is to merge survives the request: the one that reads it has the same shares, with
// the same holders.
func TestOthersSurviveTheirBytes(t *testing.T) {
	d := New(Options{})
	shares := sharesOf(9, false)
	shares[4].segments[0].Holders = nil // to be read from deep storage
	shares[4].segments[0].Of.Locate([]byte(`{"type":"local","path":"/x"}`))
	top := tree(shares, 2, d.merges)
	req := &Request{QueryID: "q", Plan: []byte("p")}
	req.Segments = top[0].sent(nil)
	req.Servers, req.Others = top[0].sentOthers()
	text, err := req.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRequest(bytes.NewReader(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(req.Others, got.Others); diff != "" {
		t.Error(diff)
	}
	far := d.Relay(got, nil, nil).(*remote)
	describe := func(list []share) (out []string) {
		for i := range list {
			for s := range list[i].all() {
				for _, of := range s.segments {
					line := fmt.Sprint(s.server.Name, s.server.URL, len(s.others), of.ID, of.Of.Rows, string(of.Of.LoadSpec()))
					for _, h := range of.Holders {
						line += h.Name
					}
					out = append(out, line)
				}
			}
		}
		return out
	}
	if diff := cmp.Diff(describe(top[0].others), describe(far.shares)); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(r *Request){
		"of an unknown server": func(r *Request) { r.Others[0].Server = len(r.Servers) },
		"of a negative server": func(r *Request) { r.Others[0].Others[0].Server = -1 },
		"of an unknown holder": func(r *Request) { r.Others[0].Segments[0].Holders = []int{99} },
		"of the first version": func(r *Request) { r.Version = versionOthers - 1 },
		"streamed":             func(r *Request) { r.Streamed = true },
		"endless": func(r *Request) {
			for range maxDepth + 1 {
				r.Others = []SentShare{{Others: r.Others}}
			}
		},
	} {
		bad, err := ReadRequest(bytes.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		change(bad)
		text, err := bad.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRequest(bytes.NewReader(text), int(bad.Version)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("others %s are taken: %v", name, err)
		}
	}
}
