package query

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// enter lets queries with these contexts in, one after the other, and tells which were refused.
func enter(t *testing.T, r *Running, contexts ...map[string]any) (refused []string, leave []func()) {
	t.Helper()
	for i, c := range contexts {
		ctx, q, err := r.Enter(t.Context(), Arrival{ID: fmt.Sprint(i), Context: c})
		if err != nil {
			f := fault.Find(err)
			if f == nil || f.Category != fault.CategoryCapacityExceeded || f.Legacy != fault.LegacyCapacity {
				t.Fatalf("query %d: %v", i, err)
			}
			refused = append(refused, fmt.Sprintf("%d: %s", i, f.Message))
			continue
		}
		leave = append(leave, func() { q.End(ctx, nil) })
	}
	return refused, leave
}

func TestLanes(t *testing.T) {
	low, plain := map[string]any{"priority": json.Number("-1")}, map[string]any{"priority": json.Number("3")}
	report := map[string]any{"lane": "report"}
	for name, test := range map[string]struct {
		limits   func() (Limits, error)
		contexts []map[string]any
		want     []string
	}{
		"none":        {func() (Limits, error) { return Limits{}, nil }, []map[string]any{low, plain, report}, nil},
		"total":       {func() (Limits, error) { return Limits{Total: 1}, nil }, []map[string]any{plain, low}, []string{"1: Too many concurrent queries, total query capacity of 1 exceeded. Please try your query again later."}},
		"hilo":        {func() (Limits, error) { return HiLo(0, 10, 11) }, []map[string]any{low, low, low, plain}, []string{"2: Too many concurrent queries for lane 'low', query capacity of 2 exceeded. Please try your query again later."}},
		"hilo, total": {func() (Limits, error) { return HiLo(4, 10, 25) }, []map[string]any{low, low, plain}, []string{"1: Too many concurrent queries for lane 'low', query capacity of 1 exceeded. Please try your query again later."}},
		"manual": {func() (Limits, error) { return Manual(0, 10, map[string]int64{"report": 1}, false) }, []map[string]any{report, low, report, {"lane": "other"}},
			[]string{"2: Too many concurrent queries for lane 'report', query capacity of 1 exceeded. Please try your query again later."}},
		"manual, percent": {func() (Limits, error) { return Manual(0, 10, map[string]int64{"report": 20}, true) }, []map[string]any{report, report, report},
			[]string{"2: Too many concurrent queries for lane 'report', query capacity of 2 exceeded. Please try your query again later."}},
	} {
		t.Run(name, func(t *testing.T) {
			limits, err := test.limits()
			if err != nil {
				t.Fatal(err)
			}
			r := NewRunning(clock.System(), RunningOptions{Limits: limits})
			refused, leave := enter(t, r, test.contexts...)
			if diff := cmp.Diff(test.want, refused); diff != "" {
				t.Error(diff)
			}
			for _, l := range leave {
				l()
			}
			if again, _ := enter(t, r, test.contexts[0]); again != nil {
				t.Errorf("after all have left: %v", again)
			}
		})
	}
}

func TestLimitsOfUsersAndDataSources(t *testing.T) {
	r := NewRunning(clock.System(), RunningOptions{Limits: Limits{
		Users: Quota{Each: 1, Named: map[string]int{"robot": 2, "root": 0}}, DataSources: Quota{Each: 2, Named: map[string]int{"wiki": 1}},
	}})
	enter := func(user string, sources ...string) (refusal string, leave func()) {
		t.Helper()
		ctx, q, err := r.Enter(t.Context(), Arrival{ID: "q", Identity: user})
		if err == nil {
			if err = q.Describe(t.Context(), SQLKind, sources, nil); err == nil {
				return "", func() { q.End(ctx, nil) }
			}
			q.End(ctx, err)
		}
		f := fault.Find(err)
		if f == nil || f.Category != fault.CategoryCapacityExceeded || f.Legacy != fault.LegacyCapacity {
			t.Fatalf("user [%s], datasources %v: %v", user, sources, err)
		}
		return f.Message, nil
	}
	const again = " Please try your query again later."
	var leaves []func()
	for i, step := range []struct {
		user    string
		sources []string
		refusal string
	}{
		{user: "ann", sources: []string{"wiki", "ads", "wiki"}},
		{user: "ann", refusal: "Too many concurrent queries for user 'ann', query capacity of 1 exceeded." + again},
		{user: "bob", sources: []string{"ads", "wiki"}, refusal: "Too many concurrent queries for datasource 'wiki', query capacity of 1 exceeded." + again},
		{user: "bob", sources: []string{"ads"}}, // what was refused counts nowhere
		{user: "robot", sources: []string{"ads"}, refusal: "Too many concurrent queries for datasource 'ads', query capacity of 2 exceeded." + again},
		{user: "robot", sources: []string{"logs"}},
		{user: "robot", sources: []string{"logs"}},
		{user: "robot", refusal: "Too many concurrent queries for user 'robot', query capacity of 2 exceeded." + again},
		{user: "root"},
		{user: "root"},
		{user: "", refusal: ""},
		{user: "", refusal: "Too many concurrent queries for user '', query capacity of 1 exceeded." + again},
	} {
		refusal, leave := enter(step.user, step.sources...)
		if refusal != step.refusal {
			t.Errorf("%d: %q, want %q", i, refusal, step.refusal)
		}
		if leave != nil {
			leaves = append(leaves, leave)
		}
	}
	for _, leave := range leaves {
		leave()
	}
	if refusal, leave := enter("ann", "wiki", "ads"); leave == nil {
		t.Errorf("after all have left: %s", refusal)
	} else {
		leave()
	}
	if g := &r.gate.mu; len(g.users)+len(g.sources)+len(g.lanes)+g.total != 0 {
		t.Errorf("something is left of queries that have gone: %+v", g)
	}
}

func TestLimitsThatMakeNoSense(t *testing.T) {
	for _, limits := range []func() (Limits, error){
		func() (Limits, error) { return HiLo(0, 10, 0) },
		func() (Limits, error) { return HiLo(0, 10, 101) },
		func() (Limits, error) { return Manual(0, 10, nil, false) },
		func() (Limits, error) { return Manual(0, 10, map[string]int64{"a": 0}, false) },
		func() (Limits, error) { return Manual(0, 10, map[string]int64{"a": 101}, true) },
		func() (Limits, error) { return Manual(0, 10, map[string]int64{"total": 1}, false) },
	} {
		if _, err := limits(); fault.Find(err) == nil {
			t.Errorf("got %v", err)
		}
	}
	for _, q := range []Quota{{Each: -1}, {Named: map[string]int{"wiki": -1}}} {
		if fault.Find(q.Validate("each", "named")) == nil {
			t.Errorf("%+v is valid", q)
		}
	}
	r := NewRunning(clock.System(), RunningOptions{})
	for _, c := range []map[string]any{{"priority": "high"}, {"lane": json.Number("3")}} {
		if _, _, err := r.Enter(t.Context(), Arrival{Context: c}); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryInvalidInput {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestBlocklist(t *testing.T) {
	rules := []BlockRule{
		{Type: "default", Name: "no scans of wiki", DataSources: []string{"wiki"}, QueryTypes: []string{"scan"}},
		{Type: "default", Name: "not by the old console", ContextMatches: map[string]any{"client": "console", "v": 1.0}},
	}
	r := NewRunning(fakeclock.New(time.Unix(0, 0)), RunningOptions{Blocklist: func() []BlockRule { return rules }})
	describe := func(context map[string]any, kind string, sources []string, kinds ...string) string {
		t.Helper()
		ctx, q, err := r.Enter(t.Context(), Arrival{ID: "q", Context: context})
		if err != nil {
			t.Fatal(err)
		}
		defer q.End(ctx, nil)
		if err := q.Describe(t.Context(), kind, sources, func() []string { return kinds }); err != nil {
			if fault.Find(err).Category != fault.CategoryForbidden {
				t.Errorf("got %v", err)
			}
			return fault.Find(err).Message
		}
		return ""
	}
	for _, test := range []struct {
		got, want string
	}{
		{describe(nil, "scan", []string{"wiki"}), "[no scans of wiki]"},
		{describe(nil, "sql", []string{"ads", "wiki"}, "groupBy", "scan"), "[no scans of wiki]"},
		{describe(nil, "sql", []string{"wiki"}, "groupBy"), ""},
		{describe(nil, "scan", []string{"ads"}), ""},
		{describe(map[string]any{"client": "console", "v": 1}, "sql", nil), "[not by the old console]"},
		{describe(map[string]any{"client": "console"}, "sql", nil), ""},
	} {
		if test.want == "" && test.got != "" || !strings.Contains(test.got, test.want) {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
	if err := (*Query)(nil).Describe(t.Context(), "scan", []string{"wiki"}, nil); err != nil {
		t.Errorf("a query that nobody registered: %v", err)
	}
	for _, bad := range []BlockRule{{Type: "other", Name: "a", DataSources: []string{"x"}}, {Type: "default", DataSources: []string{"x"}}, {Type: "default", Name: "all"}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}
