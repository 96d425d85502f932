package plan

import (
	"slices"

	"github.com/hengedb/henge/internal/agg"
)

// markMerging says of the aggregates of a plan, as it was written, which are over groups, constants
// and answers of other queries, because Druid doesn't merge what it makes of those. Rules may swap
// what the rows of a join come from, and put groups below them. See quirk Q020.
func markMerging(n Node) Node {
	n = MapInputs(n, markMerging)
	switch x := n.(type) {
	case *Aggregate:
		groups, answers := OverGroups(x.Input), overAnswers(x.Input)
		if !answers {
			return n
		}
		c := *x
		c.Aggs = slices.Clone(x.Aggs)
		for i := range c.Aggs {
			if f := agg.Lookup(c.Aggs[i].Agg.Name); groups || f != nil && !f.Sketch {
				c.Aggs[i].Agg.Merging = agg.MergedNot
			}
		}
		return &c
	case *Window:
		c := *x
		c.Calls = slices.Clone(x.Calls)
		for i := range c.Calls {
			c.Calls[i].Agg.Merging = agg.MergedNot
		}
		return &c
	}
	return n
}
