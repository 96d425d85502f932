package broker

import (
	"context"

	"github.com/hengedb/henge/internal/plan"
)

// lightRows is how many rows a query may read that begins at once whatever it does with them.
const lightRows = 200_000

// admit waits until there is memory for a plan, if it may need much; leave gives its place back.
func (b *Broker) admit(ctx context.Context, p *Prepared, node plan.Node, id string) (leave func(), err error) {
	if b.admission == nil || !b.heavy(p, node) {
		return func() {}, nil
	}
	return b.admission.Enter(ctx, id)
}

// heavy reports whether a plan may keep many rows or groups: it groups, sorts, joins or has windows, and reads many rows.
func (b *Broker) heavy(p *Prepared, node plan.Node) bool {
	keeps, rows := false, int64(0)
	t := b.tablesOf(p)
	plan.Walk(node, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.Aggregate:
			keeps = keeps || len(n.Keys) > 0 || len(n.Aggs) > 0
		case *plan.Sort, *plan.Join, *plan.Window, *plan.SetOp:
			keeps = true
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
	return keeps && rows >= lightRows
}

// Waiting returns how many queries wait for memory.
func (b *Broker) Waiting() int { return b.admission.Waiting() }
