package broker

import (
	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/plan"
	"github.com/hengedb/henge/internal/query"
	"github.com/hengedb/henge/internal/querycontext"
)

// uncovered returns what the response context says of times that an optimized plan reads and that
// have no segments, where the statement's context asks for some of them.
func (b *Broker) uncovered(p *Prepared, node plan.Node) (string, error) {
	limit, err := querycontext.UncoveredIntervals.Read(p.Context)
	if err != nil || limit <= 0 {
		return "{}", err
	}
	var missing []chrono.Interval
	plan.Walk(node, func(n plan.Node) bool {
		scan, ok := n.(*plan.Scan)
		if !ok {
			return true
		}
		asked := scan.Intervals
		if asked == nil {
			asked = []chrono.Interval{chrono.Eternity}
		}
		var covered []chrono.Interval
		for visible := range b.Visible(p, scan) {
			covered = append(covered, visible)
		}
		for _, s := range b.tablesOf(p).growing(scan) {
			covered = append(covered, s.Of.ID.Interval)
		}
		missing = append(missing, chrono.Subtract(asked, chrono.Condense(covered))...)
		return true
	})
	return query.Uncovered(chrono.Condense(missing), limit)
}
