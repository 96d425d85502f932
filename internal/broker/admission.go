package broker

import (
	"context"
	"time"

	"github.com/hengedb/henge/internal/budget"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/dispatch"
	"github.com/hengedb/henge/internal/exec"
	"github.com/hengedb/henge/internal/plan"
)

// lightRows is how many rows a query may read that begins at once whatever it does with them.
const lightRows = 200_000

// rowNeed is how many bytes a row is taken to need that may be a group of its own, or is sorted.
const rowNeed = 64

// admit waits until there is memory for a plan, if it may need much; leave gives its place back.
func (b *Broker) admit(ctx context.Context, p *Prepared, node plan.Node, id string) (leave func(), err error) {
	if b.admission == nil {
		return func() {}, nil
	}
	t := b.tablesOf(p)
	heavy, need := heavy(node, func(scan *plan.Scan) (rows int64) {
		if scan.Intervals == nil && t.readsAll() {
			rows = b.schemas.of(scan.DataSource, pin{p.State, p.live}).stored
		} else {
			for _, s := range t.visible(scan) {
				rows += max(s.Rows, 0)
			}
		}
		for _, s := range t.growing(scan) {
			rows += s.Of.Rows
		}
		return rows
	})
	if !heavy {
		return func() {}, nil
	}
	var wait time.Duration
	if deadline, ok := ctx.Deadline(); ok {
		wait = patience(deadline.Sub(clock.System().Now())) // contexts end by the system's clock
	}
	return b.admission.Enter(ctx, budget.Work{ID: id, Need: need, Height: queryHeight, Wait: wait})
}

// patience is how much of what is left of a query's time it waits for memory, so that it is told
// why it did not begin.
func patience(left time.Duration) time.Duration { return max(left/4*3, 1) }

// queryHeight is above that of every part of a query: a query waits for its parts, which wait for
// no query.
const queryHeight = 1 << 10

// AdmitPart implements fragments.Engine. Parts with streamed rows need little memory and may wait
// for their reader, so they start immediately. Other parts end regardless of their reader.
func (b *Broker) AdmitPart(ctx context.Context, req *dispatch.Request, f *exec.Fragment) (leave func(), err error) {
	if b.admission == nil || req.Streamed {
		return func() {}, nil
	}
	heavy, need := heavy(f.Plan, func(*plan.Scan) int64 { return req.Rows() })
	if !heavy {
		return func() {}, nil
	}
	var wait time.Duration
	if req.TimeoutMillis > 0 {
		wait = patience(time.Duration(req.TimeoutMillis) * time.Millisecond)
	}
	return b.admission.Enter(ctx, budget.Work{ID: req.QueryID, Need: need, Height: req.Height(), Wait: wait})
}

// heavy reports whether a plan may keep many rows or groups: it groups, sorts, joins or has
// windows, and reads many rows; scanned says how many a scan does. What it may need is in bytes;
// without keys, rows and joins that is little.
func heavy(node plan.Node, scanned func(*plan.Scan) int64) (heavy bool, need int64) {
	keeps, many, rows := false, false, int64(0)
	plan.Walk(node, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.Aggregate:
			keeps = keeps || len(n.Keys) > 0 || len(n.Aggs) > 0
			many = many || len(n.Keys) > 0
		case *plan.Sort, *plan.Join, *plan.Window, *plan.SetOp:
			keeps, many = true, true
		case *plan.External: // nobody knows how many
			rows += lightRows
		case *plan.Inline:
			rows += int64(n.Rows.Rows())
		case *plan.Scan:
			rows += scanned(n)
		}
		return true
	})
	if many {
		need = rows * rowNeed
	}
	return keeps && rows >= lightRows, need
}

// Waiting returns the number of queries that wait for memory.
func (b *Broker) Waiting() int { return b.admission.Waiting() }
