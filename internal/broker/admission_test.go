package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/plan"
)

// A process has memory for three parts of queries. The fourth is refused when three quarters of its
// query's time are over; what keeps little, belongs to a query that is in, or waits for others
// begins at once.
func TestPartsOfQueriesAreAdmitted(t *testing.T) {
	b := &Broker{admission: budget.NewAdmission(budget.Root(64<<20), time.Hour, clock.System())}
	grouped := &exec.Fragment{Groups: true, Plan: &plan.Aggregate{
		Input: &plan.Scan{DataSource: "t", Limit: -1}, Keys: []int{0},
	}}
	ask := func(id string, change func(*dispatch.Request)) (leave func(), err error) {
		req := &dispatch.Request{QueryID: id, Groups: true, TimeoutMillis: 400, Segments: []dispatch.SentSegment{{ID: "s", Rows: lightRows}}}
		if change != nil {
			change(req)
		}
		return b.AdmitPart(t.Context(), req, grouped)
	}
	for _, id := range []string{"a", "b", "c"} {
		leave, err := ask(id, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	if _, err := ask("d", nil); fault.Find(err) == nil || fault.Find(err).Category != fault.CategoryCapacityExceeded ||
		!strings.Contains(err.Error(), "The query waited [300] ms") {
		t.Errorf("a fourth part: %v", err)
	}
	for name, change := range map[string]func(*dispatch.Request){
		"few rows":        func(r *dispatch.Request) { r.Segments[0].Rows-- },
		"a stream":        func(r *dispatch.Request) { r.Streamed = true },
		"a query that is": func(r *dispatch.Request) { r.QueryID = "a" },
		"merges": func(r *dispatch.Request) {
			r.Others = []dispatch.SentShare{{Segments: r.Segments}}
		},
	} {
		leave, err := ask("e", change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		leave()
	}
}
