package query

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/testkit/fakeclock"
)

// A query whose client went can be cancelled for a while: clients that cancel close their request
// first. Queries that ended otherwise are unknown.
func TestQueriesWhoseClientWent(t *testing.T) {
	c := fakeclock.New(time.Unix(0, 0))
	r := NewRunning(c, RunningOptions{})
	end := func(id string, gone bool, err error) {
		t.Helper()
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		inner, q, enterErr := r.Enter(ctx, Arrival{ID: id, Identity: "somebody"})
		if enterErr != nil {
			t.Fatal(enterErr)
		}
		if gone {
			leave()
		}
		q.End(inner, err)
	}
	want := func(what, id string, n int) {
		t.Helper()
		if got := r.Find(id); len(got) != n {
			t.Errorf("%s: %d queries, want %d", what, len(got), n)
		}
	}
	end("ended", false, nil)
	end("failed", false, fault.Runtime("m"))
	end("whole", true, nil)
	end("gone", true, context.Canceled)
	for id, n := range map[string]int{"ended": 0, "failed": 0, "whole": 0, "gone": 1} {
		want(id, id, n)
	}
	ctx, q, err := r.Enter(t.Context(), Arrival{ID: "stopped"})
	if err != nil || r.Cancel("stopped") != 1 {
		t.Fatal(err)
	}
	q.End(ctx, ctx.Err())
	want("one that was cancelled by its id", "stopped", 0)
	if r.Cancel("gone") != 0 {
		t.Error("a query that ended counts as cancelled")
	}
	want("cancelled once", "gone", 0)
	end("gone", true, context.Canceled)
	c.Advance(leftFor + time.Millisecond)
	want("after a while", "gone", 0)
	for i := range mostLeft + 5 {
		end(fmt.Sprint(i), true, context.Canceled)
	}
	want("the first of too many", "4", 0)
	want("the last", fmt.Sprint(mostLeft+4), 1)
	if len(r.mu.left) != mostLeft {
		t.Errorf("%d are known", len(r.mu.left))
	}
}
