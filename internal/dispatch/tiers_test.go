package dispatch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestTiersSayWhoIsAsked(t *testing.T) {
	type server struct {
		tier     string
		priority int
	}
	servers := []server{{"hot", 2}, {"warm", 1}, {"warm", 0}, {"cold", -1}}
	for name, tc := range map[string]struct {
		o    TierOptions
		want string // priorities in the order in which they are asked; those of one rank together
	}{
		"the highest":                       {TierOptions{Select: "highestPriority"}, "2 > 1 > 0 > -1"},
		"the lowest":                        {TierOptions{Select: "lowestPriority"}, "-1 > 0 > 1 > 2"},
		"an order, and then the highest":    {TierOptions{Select: "custom", Custom: []int{0, 7, -1}}, "0 > -1 > 2 > 1"},
		"an order of none is the highest":   {TierOptions{Select: "custom"}, "2 > 1 > 0 > -1"},
		"a tier, in it the highest":         {TierOptions{Select: "preferred", Preferred: "warm"}, "1 > 0 > 2 > -1"},
		"a tier, in it the lowest":          {TierOptions{Select: "preferred", Preferred: "warm", PreferredPriority: "Lowest"}, "0 > 1 > -1 > 2"},
		"only some":                         {TierOptions{Select: "strict", Strict: []int{1, -1}}, "1 > -1"},
		"only some, like each other":        {TierOptions{Select: "pooled", Pooled: []int{1, -1}}, "1 -1"},
		"only some tiers":                   {TierOptions{Select: "highestPriority", Watched: []string{"hot", "cold"}}, "2 > -1"},
		"all but some tiers":                {TierOptions{Select: "lowestPriority", Ignored: []string{"hot", "cold"}}, "0 > 1"},
		"only some, and only of some tiers": {TierOptions{Select: "strict", Strict: []int{1, -1}, Ignored: []string{"cold"}}, "1"},
		"nothing that is known":             {TierOptions{Select: "fastest"}, "must be highestPriority"},
		"nothing that is known, of tasks":   {TierOptions{Setting: "x.tier", Select: "fastest"}, "Setting [x.tier] is [fastest]"},
		"none in order to be strict":        {TierOptions{Select: "strict"}, "[service.broker.select.tier.strict.priorities] is empty"},
		"none that are pooled":              {TierOptions{Select: "pooled"}, "[service.broker.select.tier.pooled.priorities] is empty"},
		"no tier that is preferred":         {TierOptions{Select: "preferred"}, "[service.broker.select.tier.preferred.tier] is empty"},
		"no order in the tier":              {TierOptions{Select: "preferred", Preferred: "hot", PreferredPriority: "x"}, "must be highest or lowest"},
		"tiers that are, and that are not":  {TierOptions{Select: "custom", Watched: []string{"hot"}, Ignored: []string{"cold"}}, "only one can be set"},
	} {
		tiers, err := NewTiers(tc.o)
		if err != nil {
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		type ranked struct{ rank, priority int }
		var list []ranked
		for _, s := range servers {
			if rank, asked := tiers.Rank(s.tier, s.priority); asked {
				list = append(list, ranked{rank, s.priority})
			}
		}
		slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.rank, a.rank) })
		var got strings.Builder
		for i, r := range list {
			if i > 0 && list[i-1].rank != r.rank {
				got.WriteString(" >")
			}
			fmt.Fprintf(&got, " %d", r.priority)
		}
		if got := strings.TrimSpace(got.String()); got != tc.want {
			t.Errorf("%s: [%s] instead of [%s]", name, got, tc.want)
		}
		if tiers.Restrict() != (len(list) < len(servers)) {
			t.Errorf("%s: servers are left out: %t", name, tiers.Restrict())
		}
	}
}
