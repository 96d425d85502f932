package auth

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

func TestParseLimits(t *testing.T) {
	for text, want := range map[string]string{
		`{"rows":10,"cpuSeconds":0.5,"requestsPerSecond":0.1}`: "",
		`{}`: "", `null`: "",
		`{"rows":0}`: "above 0", `{"bytes":-1}`: "above 0", `{"rows":1.5}`: "whole number", `{"concurrentQueries":1e300}`: "above 0",
		`{"row":1}`: "Limit [row] is unknown", `{"Rows":1}`: "Limit [Rows] is unknown", `{"rows":"1"}`: "JSON object of numbers",
		`[]`: "JSON object", `{"rows":`: "JSON object", `1`: "JSON object", `{"rows":null}`: "above 0",
	} {
		_, err := ParseLimits([]byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestTheMostGenerousLimitCounts(t *testing.T) {
	both := map[LimitName]Bound{ReturnedRows: {5, "role [large]"}, ScannedBytes: {9, "role [small]"}}
	small, large := RoleLimits{"small", Limits{ReturnedRows: 1, ScannedBytes: 9}}, RoleLimits{"large", Limits{ReturnedRows: 5}}
	for name, test := range map[string]struct {
		own   Limits
		roles []RoleLimits
		want  map[LimitName]Bound
	}{
		"none":       {nil, nil, nil},
		"empty":      {Limits{}, []RoleLimits{{"r", nil}}, nil},
		"two roles":  {nil, []RoleLimits{small, large}, both},
		"other way":  {nil, []RoleLimits{large, small}, both},
		"own before": {Limits{ReturnedRows: 2}, []RoleLimits{large}, map[LimitName]Bound{ReturnedRows: {2, "user [ann]"}}},
		"own alone":  {Limits{CPUSeconds: 0.5}, nil, map[LimitName]Bound{CPUSeconds: {0.5, "user [ann]"}}},
	} {
		var got map[LimitName]Bound
		if b := BoundsOf("ann", test.own, test.roles); b != nil {
			got = b.Of
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// paced limits every user to so many requests a second.
type paced float64

func (paced) Decide(context.Context, *Identity, Need) (Grant, error) { return Grant{}, nil }

func (p paced) Bounds(id *Identity) *Bounds {
	return BoundsOf(id.Name, nil, []RoleLimits{{"r", Limits{RequestsPerSecond: float64(p)}}})
}

func TestPacer(t *testing.T) {
	for _, test := range []struct {
		rate float64
		// steps are pauses in milliseconds before a request, and whether it is refused.
		steps []string
	}{
		{2, []string{"0 yes", "0 yes", "0 no 1", "400 no 1", "100 yes", "0 no 1", "5000 yes", "0 yes", "0 no 1"}},
		{1, []string{"0 yes", "0 no 1", "999 no 1", "1 yes"}},
		{0.1, []string{"0 yes", "0 no 10", "5000 no 5", "5000 yes"}},
		{1000, []string{"0 yes", "0 yes", "0 yes"}},
	} {
		clock := fakeclock.New(time.Unix(0, 0))
		p, ann := NewPacer(clock), NewAccess(&Identity{Name: "ann"}, paced(test.rate))
		for i, step := range test.steps {
			var pause int
			var yes, seconds string
			_, _ = fmt.Sscan(step, &pause, &yes, &seconds) // a step may have no third word
			clock.Advance(time.Duration(pause) * time.Millisecond)
			err := p.Take(ann)
			if f := fault.Find(err); (f == nil) != (yes == "yes") || f != nil && f.Context[fault.RetryAfter] != seconds {
				t.Errorf("rate %v, step %d (%s): %v", test.rate, i, step, err)
			}
			if err := p.Take(NewAccess(&Identity{Name: fmt.Sprint("other", i)}, paced(1))); err != nil {
				t.Errorf("somebody else: %v", err)
			}
		}
		if err := p.Take(Unlimited("x")); err != nil {
			t.Error(err)
		}
	}
	var none *Pacer
	if err := none.Take(NewAccess(&Identity{Name: "ann"}, paced(1))); err != nil {
		t.Error(err)
	}
}
