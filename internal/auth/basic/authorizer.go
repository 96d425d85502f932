package basic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/fault"
)

// AuthorizerOptions define the sources of the roles of an identity.
type AuthorizerOptions struct {
	// Directory says that group mappings grant roles, in addition to the roles of the user.
	Directory bool
	// GroupFilters, if not nil, are patterns of the groups that are used.
	GroupFilters []string
	Log          *slog.Logger
}

// Authorizer makes decisions based on the roles of users. It is safe for concurrent use.
type Authorizer struct {
	name    string
	o       AuthorizerOptions
	filters []groupPattern

	loading sync.Mutex
	state   atomic.Pointer[state]
}

// state is what an authorizer knows at one time. It does not change, apart from what it remembers.
type state struct {
	// members and groups are nil while they were not loaded.
	members map[string][]string
	groups  []mapping
	roles   map[string]*grants
	// limits are those of users that have some of their own; limited says that some user or role has.
	limits  map[string]auth.Limits
	limited bool
	// known and inGroups are what was found out of it: decisions, and the roles of groups.
	known    *memory[decisionKey, auth.Grant]
	inGroups *memory[string, []string]
}

func newState() *state {
	return &state{known: newMemory[decisionKey, auth.Grant](), inGroups: newMemory[string, []string]()}
}

type mapping struct {
	pattern groupPattern
	roles   []string
}

// NewAuthorizer returns an authorizer without users and roles.
func NewAuthorizer(name string, o AuthorizerOptions) (*Authorizer, error) {
	a := &Authorizer{name: name, o: o}
	for _, text := range o.GroupFilters {
		p, err := parseGroupPattern(text)
		if err != nil {
			return nil, err
		}
		a.filters = append(a.filters, p)
	}
	a.state.Store(newState())
	return a, nil
}

// Name returns the name of the authorizer.
func (a *Authorizer) Name() string { return a.name }

// Loaded reports whether the users and roles were loaded, and the group mappings if they are used.
func (a *Authorizer) Loaded() bool {
	s := a.state.Load()
	return s.members != nil && (s.groups != nil || !a.o.Directory)
}

// Decide implements auth.Authorizer.
func (a *Authorizer) Decide(_ context.Context, id *auth.Identity, need auth.Need) (auth.Grant, error) {
	if !a.Loaded() {
		return auth.Grant{}, fault.Unavailable("The roles of authorizer [%s] are not loaded yet; try again in a moment", a.name)
	}
	if id == nil {
		return auth.Grant{}, nil
	}
	s := a.state.Load()
	roles, own := a.rolesOf(s, id)
	if !own || len(roles) <= fewPatterns {
		return s.decide(roles, need), nil
	}
	key := decisionKey{user: id.Name, subject: subject{need.Resource.Kind, need.Action}, name: need.Resource.Name}
	out, found := s.known.get(key)
	if !found {
		out = s.decide(roles, need)
		s.known.put(key, out)
	}
	return out, nil
}

// decide unites what roles say. Names of roles that don't exist say nothing.
func (s *state) decide(roles []string, need auth.Need) auth.Grant {
	var out auth.Grant
	for _, name := range roles {
		role, found := s.roles[name]
		if !found {
			continue
		}
		g := role.decide(s.known, need)
		if g.Allowed && g.Rules == nil {
			return g
		}
		out.Allowed = out.Allowed || g.Allowed
		out.Rules = append(out.Rules, g.Rules...)
	}
	return out
}

// Roles returns the names of the roles of an identity. Some of the roles may not exist.
func (a *Authorizer) Roles(id *auth.Identity) []string {
	roles, _ := a.rolesOf(a.state.Load(), id)
	return with(roles)
}

// limit notes whether there are limits at all.
func (s *state) limit() {
	s.limited = len(s.limits) > 0
	for _, role := range s.roles {
		s.limited = s.limited || len(role.limits) > 0
	}
}

// Bounds returns the limits of an identity; nil: unlimited.
func (a *Authorizer) Bounds(id *auth.Identity) *auth.Bounds {
	s := a.state.Load()
	if !s.limited {
		return nil
	}
	roles, _ := a.rolesOf(s, id)
	var of []auth.RoleLimits
	for _, name := range roles {
		if role := s.roles[name]; role != nil && len(role.limits) > 0 {
			of = append(of, auth.RoleLimits{Role: name, Limits: role.limits})
		}
	}
	return auth.BoundsOf(id.Name, s.limits[id.Name], of)
}

// rolesOf returns the roles of an identity, and whether they are only those of the user of its
// name.
func (a *Authorizer) rolesOf(s *state, id *auth.Identity) (roles []string, own bool) {
	roles = s.members[id.Name]
	if len(id.Roles) == 0 && (!a.o.Directory || len(id.Groups) == 0) {
		return roles, true
	}
	out := append(append(make([]string, 0, len(roles)+len(id.Roles)), roles...), id.Roles...)
	if a.o.Directory {
		for _, group := range id.Groups {
			out = append(out, a.groupRoles(s, group)...)
		}
	}
	return out, false
}

// groupRoles returns the roles that the mappings give to the members of a directory group. Values
// that are not names of groups have none.
func (a *Authorizer) groupRoles(s *state, group string) []string {
	if roles, found := s.inGroups.get(group); found {
		return roles
	}
	var roles []string
	if parts, err := parseDN(group); err == nil && a.counts(parts) {
		for _, m := range s.groups {
			if m.pattern.matches(parts) {
				roles = append(roles, m.roles...)
			}
		}
	}
	s.inGroups.put(group, roles)
	return roles
}

func (a *Authorizer) counts(group []component) bool {
	if a.o.GroupFilters == nil {
		return true
	}
	for _, f := range a.filters {
		if f.matches(group) {
			return true
		}
	}
	return false
}

// userMap and groupMap are the serialized forms in which processes tell each other the maps.
type userMap struct {
	Users map[string]Member          `json:"userMap"`
	Roles map[string]json.RawMessage `json:"roleMap"`
}

type groupMap struct {
	Groups map[string]GroupMapping    `json:"groupMappingMap"`
	Roles  map[string]json.RawMessage `json:"roleMap"`
}

// SerializedUsers returns the users and roles of a policy in the form of LoadUsers.
func (p Policy) SerializedUsers() ([]byte, error) {
	return marshal(struct {
		Users map[string]Member `json:"userMap"`
		Roles map[string]Role   `json:"roleMap"`
	}{p.Users, p.Roles})
}

// SerializedGroups returns the group mappings and roles of a policy in the form of LoadGroups.
func (p Policy) SerializedGroups() ([]byte, error) {
	return marshal(struct {
		Groups map[string]GroupMapping `json:"groupMappingMap"`
		Roles  map[string]Role         `json:"roleMap"`
	}{p.Groups, p.Roles})
}

// LoadUsers replaces the users and roles.
func (a *Authorizer) LoadUsers(text []byte) error {
	var m userMap
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("reading the users of authorizer [%s]: %w", a.name, err)
	}
	if m.Users == nil || m.Roles == nil {
		return fault.InvalidInput("The users of authorizer [%s] do not have [userMap] or [roleMap]", a.name)
	}
	members, limits := make(map[string][]string, len(m.Users)), map[string]auth.Limits{}
	for name, u := range m.Users {
		members[name] = u.Roles
		if len(u.Limits) > 0 {
			limits[name] = u.Limits
		}
	}
	return a.take(m.Roles, func(next *state) { next.members, next.limits = members, limits })
}

// LoadGroups replaces the group mappings and roles.
func (a *Authorizer) LoadGroups(text []byte) error {
	var m groupMap
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("reading the group mappings of authorizer [%s]: %w", a.name, err)
	}
	if m.Groups == nil || m.Roles == nil {
		return fault.InvalidInput("The group mappings of authorizer [%s] do not have [groupMappingMap] or [roleMap]", a.name)
	}
	groups := make([]mapping, 0, len(m.Groups))
	for _, name := range Names(m.Groups) {
		g := m.Groups[name]
		p, err := parseGroupPattern(g.Pattern)
		if err != nil {
			a.o.Log.Warn("skipping a group mapping with an invalid pattern", "authorizer", a.name, "groupMapping", name)
			continue
		}
		groups = append(groups, mapping{p, g.Roles})
	}
	return a.take(m.Roles, func(next *state) { next.groups = groups })
}

// take replaces the roles, and what change does beside them. What was decided before is forgotten.
func (a *Authorizer) take(serialized map[string]json.RawMessage, change func(next *state)) error {
	a.loading.Lock()
	defer a.loading.Unlock()
	old := a.state.Load()
	roles, err := a.read(old, serialized)
	if err != nil {
		return err
	}
	next := newState()
	next.members, next.groups, next.roles, next.limits = old.members, old.groups, roles, old.limits
	change(next)
	next.limit()
	a.state.Store(next)
	return nil
}

// read makes roles of their serialized forms. Those that are as they were keep their patterns,
// which cost much more to compile than to compare.
func (a *Authorizer) read(old *state, texts map[string]json.RawMessage) (map[string]*grants, error) {
	out := make(map[string]*grants, len(texts))
	for name, text := range texts {
		if known, found := old.roles[name]; found && bytes.Equal(known.text, text) {
			out[name] = known
			continue
		}
		var role Role
		if err := json.Unmarshal(text, &role); err != nil {
			return nil, fmt.Errorf("reading role [%s] of authorizer [%s]: %w", name, a.name, err)
		}
		out[name] = &grants{name: name, text: text, permissions: role.Permissions, limits: role.Limits, log: a.o.Log}
	}
	return out, nil
}

// grants are the permissions of a role in the form in which decisions are made. Their patterns are
// compiled when the role is first used: most roles of a large cluster are not, in most processes.
type grants struct {
	name        string
	text        []byte
	permissions []Permission
	limits      auth.Limits
	log         *slog.Logger

	once sync.Once
	by   map[subject]*bundle
}

// subject is what a permission is about, apart from the name.
type subject struct {
	kind   auth.Kind
	action auth.Action
}

// bundle are the permissions of a role for one subject.
type bundle struct {
	all      bool // .* without rules
	names    map[string]bool
	patterns []*pattern
	limited  []limited
}

// limited is a permission with rules on rows and columns.
type limited struct {
	pattern *pattern
	rule    *auth.Rule
}

// fewPatterns is how many patterns are faster matched than looked up.
const fewPatterns = 8

func (g *grants) compile() {
	g.by = map[subject]*bundle{}
	for _, p := range g.permissions {
		c, err := compile(p.Resource.Name)
		if err != nil { // it was refused when it was set, so another release has written it
			g.log.Warn("skipping a permission with an invalid pattern", "role", g.name, "pattern", p.Resource.Name, "error", err)
			continue
		}
		s := subject{p.Resource.Kind, p.Action}
		b := g.by[s]
		if b == nil {
			b = &bundle{names: map[string]bool{}}
			g.by[s] = b
		}
		switch {
		case p.Policy != nil:
			rule := *p.Policy
			rule.Role = g.name
			b.limited = append(b.limited, limited{c, &rule})
		case c.form == anyName:
			b.all = true
		case c.form == exactName:
			b.names[c.exact] = true
		default:
			b.patterns = append(b.patterns, c)
		}
	}
	g.permissions = nil
}

// decide tells what a role says to a need. A grant without rules shows all.
func (g *grants) decide(known *memory[decisionKey, auth.Grant], need auth.Need) auth.Grant {
	g.once.Do(g.compile)
	b := g.by[subject{need.Resource.Kind, need.Action}]
	if b == nil {
		return auth.Grant{}
	}
	name := need.Resource.Name
	if b.all || b.names[name] {
		return auth.Grant{Allowed: true}
	}
	if len(b.patterns)+len(b.limited) <= fewPatterns {
		return b.match(name)
	}
	key := decisionKey{by: b, name: name}
	out, found := known.get(key)
	if !found {
		out = b.match(name)
		known.put(key, out)
	}
	return out
}

func (b *bundle) match(name string) auth.Grant {
	for _, p := range b.patterns {
		if p.matches(name) {
			return auth.Grant{Allowed: true}
		}
	}
	var out auth.Grant
	for _, l := range b.limited {
		if l.pattern.matches(name) {
			out.Allowed, out.Rules = true, append(out.Rules, l.rule)
		}
	}
	return out
}

// decisionKey names a decision: of a role with many patterns, or of a user with many roles.
type decisionKey struct {
	by      *bundle // nil: of the user
	user    string
	subject subject
	name    string
}
