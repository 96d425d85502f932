package dispatch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/fault"
)

// TierOptions select the servers of a cluster that a Broker queries, by the settings of the public
// interface.
type TierOptions struct {
	// Setting is the name of the setting of Select, for messages; "": service.broker.select.tier.
	Setting string
	// Select is the strategy: highestPriority, lowestPriority, custom, preferred, strict or pooled.
	Select string
	// Custom are the ordered priorities for custom; Strict and Pooled are the only priorities that are
	// queried.
	Custom, Strict, Pooled []int
	// Preferred is the first tier for preferred, and PreferredPriority (highest, lowest; empty:
	// highest) the order inside and outside it.
	Preferred, PreferredPriority string
	// Watched, if not nil, are the tiers that are queried, and Ignored the tiers that are not.
	Watched, Ignored []string
}

// Tiers ranks servers by their tier and priority.
type Tiers struct {
	o      TierOptions
	ranks  map[int]int // of custom, strict and pooled, by priority
	listed bool        // others than those in ranks are not asked
	lowest bool
}

// first is above all priorities: ranks from there on are of servers that come before all others.
const first = 1 << 32

// NewTiers checks the options.
func NewTiers(o TierOptions) (*Tiers, error) {
	t := &Tiers{o: o}
	prefix := cmp.Or(o.Setting, "service.broker.select.tier")
	listed := func(name string, priorities []int) error {
		if len(priorities) == 0 {
			return fault.InvalidInput("Setting [%s.%s.priorities] is empty, but [%s] is [%[2]s]", prefix, name, prefix)
		}
		t.ranks, t.listed = map[int]int{}, true
		return nil
	}
	switch o.Select {
	case "highestPriority":
	case "lowestPriority":
		t.lowest = true
	case "custom":
		t.ranks = map[int]int{}
		for i, p := range o.Custom {
			t.ranks[p] = first + len(o.Custom) - i
		}
	case "strict":
		if err := listed(o.Select, o.Strict); err != nil {
			return nil, err
		}
		for _, p := range o.Strict {
			t.ranks[p] = p
		}
	case "pooled":
		if err := listed(o.Select, o.Pooled); err != nil {
			return nil, err
		}
		for _, p := range o.Pooled {
			t.ranks[p] = 0
		}
	case "preferred":
		if o.Preferred == "" {
			return nil, fault.InvalidInput("Setting [%s.preferred.tier] is empty, but [%[1]s] is [preferred]", prefix)
		}
		switch strings.ToLower(o.PreferredPriority) {
		case "", "highest":
		case "lowest":
			t.lowest = true
		default:
			return nil, fault.InvalidInput("Setting [%s.preferred.priority] is [%s], but must be highest or lowest", prefix, o.PreferredPriority)
		}
	default:
		return nil, fault.InvalidInput("Setting [%s] is [%s], but must be highestPriority, lowestPriority, custom, preferred, strict or pooled",
			prefix, o.Select)
	}
	if len(o.Watched) > 0 && len(o.Ignored) > 0 {
		return nil, fault.InvalidInput("Of the settings [service.broker.segment.watchedTiers] and [service.broker.segment.ignoredTiers] only one can be set")
	}
	return t, nil
}

// Restrict reports whether some servers are never queried.
func (t *Tiers) Restrict() bool { return t.listed || len(t.o.Watched) > 0 || len(t.o.Ignored) > 0 }

// Rank returns the rank of a server; higher ranks are queried first. false: the server is not
// queried.
func (t *Tiers) Rank(tier string, priority int) (rank int, asked bool) {
	if len(t.o.Watched) > 0 && !slices.Contains(t.o.Watched, tier) || slices.Contains(t.o.Ignored, tier) {
		return 0, false
	}
	rank, known := t.ranks[priority]
	switch {
	case known:
		return rank, true
	case t.listed:
		return 0, false
	case t.lowest:
		rank = -priority
	default:
		rank = priority
	}
	if t.o.Preferred == tier && t.o.Select == "preferred" {
		rank += first
	}
	return rank, true
}
