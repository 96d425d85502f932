package rule

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hengedb/henge/internal/chrono"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// nullCopies is how many copies a load rule wants on the default tier if it names no tiers.
const nullCopies = 2

// maxRules bounds a list: each segment is held against each rule.
const maxRules = 10_000

// ruleJSON is a rule on the wire. Members that a kind does not have are absent, as in Druid's
// answers. See quirk Q014.
type ruleJSON struct {
	Period             *chrono.Period   `json:"period,omitempty"`
	Interval           *chrono.Interval `json:"interval,omitempty"`
	IncludeFuture      *bool            `json:"includeFuture,omitempty"`
	Replicas           *map[string]int  `json:"tieredReplicants,omitempty"`
	DefaultTierForNull *bool            `json:"useDefaultTierForNull,omitempty"`
	Type               string           `json:"type"`
}

// kind is how an action and a when are called on the wire.
type kind struct {
	action Action
	when   string
}

var kinds = map[string]kind{
	"loadForever": {Load, "Forever"}, "loadByPeriod": {Load, "ByPeriod"}, "loadByInterval": {Load, "ByInterval"},
	"dropForever": {Drop, "Forever"}, "dropByPeriod": {Drop, "ByPeriod"}, "dropByInterval": {Drop, "ByInterval"},
	"dropBeforeByPeriod": {Drop, "BeforeByPeriod"},
	"broadcastForever":   {Broadcast, "Forever"}, "broadcastByPeriod": {Broadcast, "ByPeriod"}, "broadcastByInterval": {Broadcast, "ByInterval"},
}

// Type returns the name of the rule type in JSON.
func (r Rule) Type() string {
	prefix := [...]string{Load: "load", Drop: "drop", Broadcast: "broadcast"}[r.Action]
	switch r.When.(type) {
	case Period:
		return prefix + "ByPeriod"
	case Before:
		return prefix + "BeforeByPeriod"
	case Interval:
		return prefix + "ByInterval"
	}
	return prefix + "Forever"
}

// MarshalJSON returns the rule with defaults.
func (r Rule) MarshalJSON() ([]byte, error) {
	w := ruleJSON{Type: r.Type()}
	switch when := r.When.(type) {
	case Period:
		w.Period, w.IncludeFuture = &when.Length, &when.Future
	case Before:
		w.Period = &when.Length
	case Interval:
		w.Interval = &when.Interval
	}
	if r.Action == Load {
		replicas := r.Replicas
		if replicas == nil {
			replicas = map[string]int{}
		}
		w.Replicas, w.DefaultTierForNull = &replicas, &r.DefaultTierForNull
	}
	return json.Marshal(w)
}

// Parse parses a list of rules. It ignores unknown members. The error is an InvalidInput fault for
// the author of the rules; JSON null is an error, too.
func Parse(text []byte) (List, error) {
	if string(bytes.TrimSpace(text)) == "null" {
		return nil, fault.InvalidInput("Rules cannot be null.")
	}
	var raw []map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, malformed(err)
	}
	if len(raw) > maxRules {
		return nil, fault.InvalidInput("There are [%d] rules; at most [%d] are allowed.", len(raw), maxRules)
	}
	list := make(List, len(raw))
	for i, members := range raw {
		r, err := parseRule(members)
		if err != nil {
			return nil, err
		}
		list[i] = r
	}
	return list, nil
}

// malformed says what is wrong with a text that is no list of objects.
func malformed(err error) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fault.InvalidInput("Rules must be a list of objects, not a JSON %s.", kind.Value).WithCause(err)
	}
	return fault.InvalidInput("Rules are not JSON: %s.", err).WithCause(err)
}

func parseRule(members map[string]json.RawMessage) (Rule, error) {
	var name string
	if err := member(members, "type", &name); err != nil {
		return Rule{}, err
	}
	if name == "" {
		return Rule{}, fault.InvalidInput("A rule has no member [type].")
	}
	k, ok := kinds[name]
	if !ok {
		known := make([]string, 0, len(kinds))
		for n := range kinds {
			known = append(known, n)
		}
		slices.Sort(known)
		return Rule{}, fault.InvalidInput("Rule type [%s] is unknown; known types are [%s].", name, strings.Join(known, ", "))
	}
	r := Rule{Action: k.action, When: Forever{}}
	var err error
	switch k.when {
	case "ByPeriod", "BeforeByPeriod":
		r.When, err = parsePeriod(members, k.when == "BeforeByPeriod")
	case "ByInterval":
		var text string
		if err = member(members, "interval", &text); err == nil && text == "" {
			err = fault.InvalidInput("interval must be specified")
		}
		if err == nil {
			var iv chrono.Interval
			iv, err = chrono.ParseInterval(text)
			r.When = Interval{iv}
		}
	}
	if err == nil && r.Action == Load {
		err = r.parseReplicas(members)
	}
	return r, err
}

func parsePeriod(members map[string]json.RawMessage, before bool) (When, error) {
	var text string
	if err := member(members, "period", &text); err != nil {
		return nil, err
	}
	if text == "" {
		return nil, fault.InvalidInput("period must be specified")
	}
	length, err := chrono.ParsePeriod(text)
	if err != nil {
		return nil, err
	}
	if before {
		return Before{length}, nil
	}
	future := true
	err = member(members, "includeFuture", &future)
	return Period{Length: length, Future: future}, err
}

func (r *Rule) parseReplicas(members map[string]json.RawMessage) error {
	r.DefaultTierForNull = true
	if err := member(members, "useDefaultTierForNull", &r.DefaultTierForNull); err != nil {
		return err
	}
	var tiers map[string]json.RawMessage
	if err := member(members, "tieredReplicants", &tiers); err != nil {
		return err
	}
	r.Replicas = make(map[string]int, len(tiers))
	if tiers == nil && r.DefaultTierForNull {
		r.Replicas[DefaultTier] = nullCopies
	}
	for _, tier := range sortedKeys(tiers) {
		text := string(bytes.TrimSpace(tiers[tier]))
		if text == "null" {
			return fault.InvalidInput("Invalid number of replicas for tier [%s]. Value must not be null.", tier)
		}
		n, err := strconv.ParseInt(strings.Trim(text, `"`), 10, 64)
		if err != nil || n > math.MaxInt32 {
			return fault.InvalidInput("Invalid number of replicas for tier [%s]. Value %s is not a whole number up to [%d].", tier, text, math.MaxInt32)
		}
		if n < 0 {
			return fault.InvalidInput("Invalid number of replicas for tier [%s]. Value [%d] must be positive.", tier, n)
		}
		r.Replicas[tier] = int(n)
	}
	return nil
}

// member reads one member into a value, which stays as it is if the member is absent or null.
func member(members map[string]json.RawMessage, name string, into any) error {
	raw, ok := members[name]
	if !ok {
		return nil
	}
	if err := jsontext.Read(raw, into); err != nil {
		if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fault.InvalidInput("Member [%s] of a rule can't be a JSON %s.", name, kind.Value).WithCause(err)
		}
		return fault.InvalidInput("Member [%s] of a rule is not readable.", name).WithCause(err)
	}
	return nil
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
