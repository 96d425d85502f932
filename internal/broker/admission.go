package broker

import (
	"context"

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
	heavy, need := b.heavy(p, node)
	if !heavy {
		return func() {}, nil
	}
	return b.admission.Enter(ctx, id, need)
}

// heavy reports whether a plan may keep many rows or groups: it groups, sorts, joins or has
// windows, and reads many rows. What it may need is in bytes; without keys, rows and joins that is
// little.
func (b *Broker) heavy(p *Prepared, node plan.Node) (heavy bool, need int64) {
	keeps, many, rows := false, false, int64(0)
	t := b.tablesOf(p)
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
			for _, s := range t.visible(n) {
				rows += max(s.Rows, 0)
			}
		}
		return true
	})
	if many {
		need = rows * rowNeed
	}
	return keeps && rows >= lightRows, need
}

// Waiting returns how many queries wait for memory.
func (b *Broker) Waiting() int { return b.admission.Waiting() }
