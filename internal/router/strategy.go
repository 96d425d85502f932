// Package router chooses the Brokers to which a Router sends a query.
//
// The central type is Choice, created from the settings of a Router: tiers with the service of
// their Brokers, and strategies that are evaluated in order. If no strategy decides, the retention
// rules do: the query goes to the Brokers of the first tier on which the rule for its intervals
// loads segments. Package role forwards queries; Brokers query the tiers of their own settings
// (dispatch.Tiers).
package router

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/duty/rule"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/native"
	"github.com/hengedb/henge/internal/querycontext"
)

// Options are the settings of a Router.
type Options struct {
	// Default is the service of the Brokers that get what nothing else decides, DefaultRule the rules
	// that follow those of each datasource.
	Default, DefaultRule string
	// Tiers is a JSON object of tiers with the service of their Brokers; the first is the most
	// important one.
	Tiers string
	// Strategies is a JSON list of what is asked first.
	Strategies string
	// SQL says that strategies are asked about SQL, too.
	SQL bool
	// Aliases are further names of the product, with which names of services may begin.
	Aliases []string
}

// Choice says which Brokers get a query. It is immutable.
type Choice struct {
	o          Options
	tiers      []tier
	strategies []strategy
}

// tier is a tier with the service of its Brokers.
type tier struct{ name, service string }

// strategy gives the service of the Brokers for a query; false: it does not decide.
type strategy func(c *Choice, q native.Query, context map[string]any) (service string, decided bool)

// New checks the options.
func New(o Options) (*Choice, error) {
	c := &Choice{o: o}
	c.o.Default = Service(o.Default, o.Aliases)
	var err error
	if c.tiers, err = readTiers(o.Tiers); err != nil {
		return nil, fault.InvalidInput("Setting [service.router.tierToBrokerMap] is not an object of tiers with names of services: %v", err)
	}
	for i := range c.tiers {
		c.tiers[i].service = Service(c.tiers[i].service, o.Aliases)
	}
	if len(c.tiers) == 0 {
		c.tiers = []tier{{rule.DefaultTier, c.o.Default}}
	}
	var list []struct {
		Type        string
		MinPriority *int   `json:"minPriority"`
		MaxPriority *int   `json:"maxPriority"`
		Manual      string `json:"defaultManualBrokerService"`
	}
	if err := json.Unmarshal([]byte(o.Strategies), &list); err != nil {
		return nil, fault.InvalidInput("Setting [service.router.strategies] is not a list of strategies: %v", err)
	}
	for _, s := range list {
		switch s.Type {
		case "timeBoundary":
			c.strategies = append(c.strategies, timeBoundary)
		case "priority":
			least, most := 0, 1
			if s.MinPriority != nil {
				least = *s.MinPriority
			}
			if s.MaxPriority != nil {
				most = *s.MaxPriority
			}
			c.strategies = append(c.strategies, priority(least, most))
		case "manual":
			c.strategies = append(c.strategies, manual(Service(s.Manual, o.Aliases)))
		default:
			return nil, fault.InvalidInput("Strategy [%s] in [service.router.strategies] is not supported; use timeBoundary, priority or manual", s.Type)
		}
	}
	return c, nil
}

// readTiers reads an object in the order of its members.
func readTiers(text string) ([]tier, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("it is not a JSON object"), err)
	}
	var out []tier
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		one := tier{name: name.(string)} // members have texts for names
		if err := dec.Decode(&one.service); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind it")
	}
	return out, nil
}

// Service returns the name of a service under the name of the product itself.
func Service(name string, aliases []string) string {
	if product, rest, ok := strings.Cut(name, "/"); ok && slices.Contains(aliases, product) {
		return "service/" + rest
	}
	return name
}

// timeBoundary gives queries for the ends of the time to the most important tier.
func timeBoundary(c *Choice, q native.Query, _ map[string]any) (string, bool) {
	_, is := q.(*native.TimeBoundary)
	return c.tiers[0].service, is
}

// priority gives queries whose priority is not from least to most to the default Brokers.
func priority(least, most int) strategy {
	return func(c *Choice, _ native.Query, context map[string]any) (string, bool) {
		p, err := querycontext.Priority.Read(context)
		return c.o.Default, err == nil && (p < least || p > most)
	}
}

// manual gives queries to the Brokers that their context names, or to those of a service.
func manual(otherwise string) strategy {
	return func(c *Choice, _ native.Query, context map[string]any) (string, bool) {
		named, _ := querycontext.BrokerService.In(context).(string)
		for _, service := range []string{Service(named, c.o.Aliases), otherwise} {
			if slices.ContainsFunc(c.tiers, func(t tier) bool { return t.service == service }) {
				return service, true
			}
		}
		return "", false
	}
}

// Default is the service of the Brokers that get what nothing else decides.
func (c *Choice) Default() string { return c.o.Default }

// Chooses reports whether there is something to choose: else all queries go to the default Brokers.
func (c *Choice) Chooses() bool {
	return slices.ContainsFunc(c.tiers, func(t tier) bool { return t.service != c.o.Default })
}

// ChoosesSQL is Chooses for SQL.
func (c *Choice) ChoosesSQL() bool { return c.o.SQL && c.Chooses() }

func (c *Choice) decided(q native.Query, context map[string]any) (string, bool) {
	for _, s := range c.strategies {
		if service, decided := s(c, q, context); decided {
			return service, true
		}
	}
	return "", false
}

// SQL returns the service for a statement with a context.
func (c *Choice) SQL(context map[string]any) string {
	if c.o.SQL {
		if service, decided := c.decided(nil, context); decided {
			return service
		}
	}
	return c.o.Default
}

// Native returns the service for a native query. Rules are those of all datasources; now is in
// milliseconds.
func (c *Choice) Native(q native.Query, rules map[string]rule.List, now int64) string {
	parts := q.Parts()
	if service, decided := c.decided(q, parts.ContextValues()); decided {
		return service
	}
	list := rules[c.o.DefaultRule]
	if tables := native.ScannedTables(parts.DataSource.DataSource); len(tables) > 0 {
		list = slices.Concat(rules[tables[0]], list)
	}
	last := -1 // the rule that is the latest in the list of those that the intervals have
	for _, iv := range parts.When() {
		last = max(last, slices.IndexFunc(list, func(r rule.Rule) bool { return r.Action == rule.Load && r.Matches(iv, now) }))
	}
	if last < 0 {
		return c.o.Default
	}
	for _, t := range c.tiers {
		if _, named := list[last].Replicas[t.name]; named {
			return t.service
		}
	}
	return c.o.Default
}
