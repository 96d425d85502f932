// Package rule implements retention rules: their JSON, and the segments that they match.
//
// The central types are Rule, one of ten kinds, each an Action with a When; and List, the ordered
// rules of a datasource. Find returns the rule that applies to a segment: the first matching rule
// of the list of the datasource, then of the default list. Everything here is a pure function of
// the interval of a segment and one instant. Package metastore stores rules; the duties and the
// servers that load segments apply them.
package rule

import (
	"github.com/hengedb/henge/internal/chrono"
)

// Default is the name under which the cluster's default rules are stored. They are appended to the
// rules of every datasource.
const Default = "_default"

// DefaultTier is the tier of servers without a configured tier.
const DefaultTier = "_default_tier"

// Action is the effect of a rule on the segments that it matches.
type Action uint8

const (
	// Load keeps copies on the tiers of the rule.
	Load Action = iota
	// Drop marks segments unused.
	Drop
	// Broadcast keeps a copy on every server.
	Broadcast
)

// When selects segments by their time: Forever, Period, Before or Interval.
type When interface{ isWhen() }

// Forever selects all segments.
type Forever struct{}

// Period selects the segments of a period up to now and, with Future, later segments as well.
type Period struct {
	Length chrono.Period
	Future bool
}

// Before selects segments that ended at least a period ago. Only drop rules use it.
type Before struct{ Length chrono.Period }

// Interval selects the segments of a fixed interval.
type Interval struct{ chrono.Interval }

func (Forever) isWhen()  {}
func (Period) isWhen()   {}
func (Before) isWhen()   {}
func (Interval) isWhen() {}

// Rule is one retention rule. It is immutable.
type Rule struct {
	Action Action
	When   When
	// Replicas is the number of copies by tier for a Load rule. Other tiers have no copies. If it is
	// empty, the segments are only in deep storage.
	Replicas map[string]int
	// DefaultTierForNull is the member of a Load rule about a null tieredReplicants. It is only stored
	// and returned.
	DefaultTierForNull bool
}

// Matches reports whether the rule matches segments of the interval. now is the instant of the
// evaluation, in milliseconds. Load and broadcast rules match by overlap, drop rules by
// containment, so that segments on the boundary are kept.
func (r Rule) Matches(iv chrono.Interval, now int64) bool { return r.bound(now).holds(iv) }

// Copies returns the number of copies of a matching segment on a tier with the given number of
// servers.
func (r Rule) Copies(tier string, servers int) int {
	switch r.Action {
	case Load:
		return r.Replicas[tier]
	case Broadcast:
		return servers
	}
	return 0
}

// List contains the rules of a datasource, in the order of evaluation.
type List []Rule

// LoadForever returns the list of rules that keeps everything with a number of copies on the
// default tier.
func LoadForever(copies int) List {
	return List{{Action: Load, When: Forever{}, Replicas: map[string]int{DefaultTier: copies}, DefaultTierForNull: true}}
}

// Find returns the first rule of the lists that matches. It returns false if no rule matches; the
// segment is then unchanged.
func Find(iv chrono.Interval, now int64, lists ...List) (Rule, bool) {
	for _, list := range lists {
		for i := range list {
			if list[i].Matches(iv, now) {
				return list[i], true
			}
		}
	}
	return Rule{}, false
}
