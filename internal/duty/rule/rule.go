// Package rule gives retention rules: their JSON, and which segments they are about.
//
// The central types are Rule, one of ten kinds, each an Action with a When; and List, the rules of
// a datasource in their order. Find says which rule decides about a segment: the first that
// matches, of the datasource's list and then of the default one. Everything here is a pure function
// of a segment's interval and one instant. Who stores rules is package metastore; what is done
// about a match is decided by the duties and by who loads segments.
package rule

import (
	"github.com/hengedb/henge/internal/chrono"
)

// Default is the name under which the rules that follow every datasource's own are stored.
const Default = "_default"

// DefaultTier is the tier of servers that name none.
const DefaultTier = "_default_tier"

// Action is what a rule does with the segments that it matches.
type Action uint8

const (
	// Load keeps copies on the tiers that the rule names.
	Load Action = iota
	// Drop marks segments unused.
	Drop
	// Broadcast keeps a copy on every server.
	Broadcast
)

// When chooses segments by their time: Forever, Period, Before or Interval.
type When interface{ isWhen() }

// Forever chooses all segments.
type Forever struct{}

// Period chooses the segments of a time up to now, and with Future the later ones too.
type Period struct {
	Length chrono.Period
	Future bool
}

// Before chooses what ended a period ago; only drop rules have it.
type Before struct{ Length chrono.Period }

// Interval chooses the segments of a fixed time.
type Interval struct{ chrono.Interval }

func (Forever) isWhen()  {}
func (Period) isWhen()   {}
func (Before) isWhen()   {}
func (Interval) isWhen() {}

// Rule is one retention rule. It is immutable.
type Rule struct {
	Action Action
	When   When
	// Replicas is how many copies a Load rule wants by tier. Other tiers get none; without any tier
	// the segments are only in deep storage.
	Replicas map[string]int
	// DefaultTierForNull is what a Load rule said about a null tieredReplicants, kept for those who
	// read the rule back.
	DefaultTierForNull bool
}

// Matches reports whether the rule is about segments of the interval; now is the instant of the
// rule run, in milliseconds. Load and broadcast rules match by overlap, drop rules by containment,
// so that a segment on the border is kept.
func (r Rule) Matches(iv chrono.Interval, now int64) bool { return r.bound(now).holds(iv) }

// Copies returns how many copies of a matching segment the rule wants on a tier that has the given
// number of servers.
func (r Rule) Copies(tier string, servers int) int {
	switch r.Action {
	case Load:
		return r.Replicas[tier]
	case Broadcast:
		return servers
	}
	return 0
}

// List is the rules of a datasource, in the order in which they are asked.
type List []Rule

// LoadForever returns the list that keeps everything with a number of copies on the default tier.
func LoadForever(copies int) List {
	return List{{Action: Load, When: Forever{}, Replicas: map[string]int{DefaultTier: copies}, DefaultTierForNull: true}}
}

// Find returns the first rule of the lists that matches; false if none does, and then the segment
// stays as it is.
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
