package basic

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/clock"
	"github.com/hengedb/henge/internal/fault"
)

// Member is a user of an authorizer.
type Member struct {
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
	// Limits are the user's own limits; nil: the limits of the roles apply.
	Limits auth.Limits `json:"limits,omitempty"`
}

// Role is a named list of permissions.
type Role struct {
	Name        string       `json:"name"`
	Permissions []Permission `json:"permissions"`
	// Limits are the limits of each user with the role.
	Limits auth.Limits `json:"limits,omitempty"`
}

// GroupMapping grants roles to the members of directory groups.
type GroupMapping struct {
	Name    string   `json:"name"`
	Pattern string   `json:"groupPattern"`
	Roles   []string `json:"roles"`
}

// Policy is the data of an authorizer: who has which roles, and the permissions of the roles.
type Policy struct {
	Users  map[string]Member
	Groups map[string]GroupMapping
	Roles  map[string]Role
}

// Roles changes the stored users, group mappings and roles of an authorizer. It is safe for
// concurrent use.
type Roles struct{ keeper }

// The names of the documents of Roles.
const (
	usersKey = iota
	groupsKey
	rolesKey
)

// NewRoles returns the roles of an authorizer in a store.
func NewRoles(store Store, name string, c clock.Clock) *Roles {
	r := &Roles{}
	r.store, r.clock, r.kind, r.name = store, c, AuditRoles, name
	prefix := "basic_authorization_" + name
	r.keys = []string{prefix + "_users", prefix + "_groupMappings", prefix + "_roles"}
	return r
}

// All returns the stored policy.
func (r *Roles) All(ctx context.Context) (Policy, error) {
	stored, err := r.store.Read(ctx, r.keys...)
	if err != nil {
		return Policy{}, err
	}
	return r.decode(stored)
}

func (r *Roles) decode(stored []json.RawMessage) (p Policy, err error) {
	if p.Users, err = decodeMap[Member](stored[usersKey], r.keys[usersKey]); err != nil {
		return p, err
	}
	if p.Groups, err = decodeMap[GroupMapping](stored[groupsKey], r.keys[groupsKey]); err != nil {
		return p, err
	}
	p.Roles, err = decodeMap[Role](stored[rolesKey], r.keys[rolesKey])
	return p, err
}

// User returns a user.
func (p Policy) User(name string) (Member, error) {
	u, found := p.Users[name]
	if !found {
		return u, noUser(name)
	}
	return u, nil
}

// Role returns a role.
func (p Policy) Role(name string) (Role, error) {
	r, found := p.Roles[name]
	if !found {
		return r, noRole(name)
	}
	return r, nil
}

// changeRole changes a role that is there.
func (p Policy) changeRole(name string, f func(*Role)) error {
	r, err := p.Role(name)
	if err != nil {
		return err
	}
	f(&r)
	p.Roles[name] = r
	return nil
}

// Group returns a group mapping.
func (p Policy) Group(name string) (GroupMapping, error) {
	g, found := p.Groups[name]
	if !found {
		return g, noGroup(name)
	}
	return g, nil
}

// Having returns the sorted names of the users and the group mappings that have a role.
func (p Policy) Having(role string) (users, groups []string) {
	users, groups = []string{}, []string{}
	for _, name := range Names(p.Users) {
		if slices.Contains(p.Users[name].Roles, role) {
			users = append(users, name)
		}
	}
	for _, name := range Names(p.Groups) {
		if slices.Contains(p.Groups[name].Roles, role) {
			groups = append(groups, name)
		}
	}
	return users, groups
}

// Named returns the existing roles with these names, sorted by name.
func (p Policy) Named(names []string) []Role {
	out := []Role{}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if role, found := p.Roles[name]; found {
			out = append(out, role)
		}
	}
	return out
}

// CreateUser adds a user without roles.
func (r *Roles) CreateUser(ctx context.Context, by *Author, name string) error {
	return r.change(ctx, by, "Create user["+name+"]", "create user["+name+"]", func(p Policy) error {
		if _, found := p.Users[name]; found {
			return fault.InvalidInput("User [%s] already exists.", name)
		}
		p.Users[name] = Member{Name: name, Roles: []string{}}
		return nil
	})
}

// DeleteUser removes a user.
func (r *Roles) DeleteUser(ctx context.Context, by *Author, name string) error {
	return r.change(ctx, by, "Delete user["+name+"]", "delete user["+name+"]", func(p Policy) error {
		if _, err := p.User(name); err != nil {
			return err
		}
		delete(p.Users, name)
		return nil
	})
}

// CreateRole adds a role without permissions.
func (r *Roles) CreateRole(ctx context.Context, by *Author, name string) error {
	return r.change(ctx, by, "Create role["+name+"]", "create role["+name+"]", func(p Policy) error {
		if _, found := p.Roles[name]; found {
			return fault.InvalidInput("Role [%s] already exists.", name)
		}
		p.Roles[name] = Role{Name: name, Permissions: []Permission{}}
		return nil
	})
}

// DeleteRole removes a role, and removes it from all users and group mappings.
func (r *Roles) DeleteRole(ctx context.Context, by *Author, name string) error {
	return r.change(ctx, by, "Delete role["+name+"]", "delete role["+name+"]", func(p Policy) error {
		if _, err := p.Role(name); err != nil {
			return err
		}
		delete(p.Roles, name)
		users, groups := p.Having(name)
		for _, u := range users {
			member := p.Users[u]
			member.Roles = without(member.Roles, name)
			p.Users[u] = member
		}
		for _, g := range groups {
			mapping := p.Groups[g]
			mapping.Roles = without(mapping.Roles, name)
			p.Groups[g] = mapping
		}
		return nil
	})
}

// Grant grants a role to a user.
func (r *Roles) Grant(ctx context.Context, by *Author, user, role string) error {
	what := "role[" + role + "] to user[" + user + "]"
	return r.change(ctx, by, "Assign "+what, "assign "+what, func(p Policy) error {
		u, err := r.userAndRole(p, user, role)
		if err != nil {
			return err
		}
		if slices.Contains(u.Roles, role) {
			return fault.InvalidInput("User [%s] already has role [%s].", user, role)
		}
		u.Roles = with(u.Roles, role)
		p.Users[user] = u
		return nil
	})
}

// Revoke revokes a role from a user.
func (r *Roles) Revoke(ctx context.Context, by *Author, user, role string) error {
	what := "role[" + role + "] from user[" + user + "]"
	return r.change(ctx, by, "Unassign "+what, "unassign "+what, func(p Policy) error {
		u, err := r.userAndRole(p, user, role)
		if err != nil {
			return err
		}
		if !slices.Contains(u.Roles, role) {
			return fault.InvalidInput("User [%s] does not have role [%s].", user, role)
		}
		u.Roles = without(u.Roles, role)
		p.Users[user] = u
		return nil
	})
}

// userAndRole looks for the role first, as the interface does.
func (r *Roles) userAndRole(p Policy, user, role string) (Member, error) {
	if _, err := p.Role(role); err != nil {
		return Member{}, err
	}
	return p.User(user)
}

// SetPermissions replaces the permissions of a role.
func (r *Roles) SetPermissions(ctx context.Context, by *Author, role string, permissions []Permission) error {
	list := make([]simplePermission, 0, len(permissions))
	for _, p := range permissions {
		list = append(list, p.simple())
	}
	shown, err := marshal(list)
	if err != nil {
		return err
	}
	text := "Set permissions" + string(shown) + " for role[" + role + "]"
	return r.change(ctx, by, text, "set permissions for role["+role+"]", func(p Policy) error {
		return p.changeRole(role, func(of *Role) { of.Permissions = permissions })
	})
}

// SetRoleLimits replaces the limits of a role; no limits: the role does not limit its users.
func (r *Roles) SetRoleLimits(ctx context.Context, by *Author, role string, limits auth.Limits) error {
	shown, err := marshal(limits)
	if err != nil {
		return err
	}
	text := "Set limits" + string(shown) + " for role[" + role + "]"
	return r.change(ctx, by, text, "set limits for role["+role+"]", func(p Policy) error {
		return p.changeRole(role, func(of *Role) { of.Limits = limits })
	})
}

// SetUserLimits replaces the limits of a user, which override the limits of the roles.
func (r *Roles) SetUserLimits(ctx context.Context, by *Author, user string, limits auth.Limits) error {
	shown, err := marshal(limits)
	if err != nil {
		return err
	}
	text := "Set limits" + string(shown) + " for user[" + user + "]"
	return r.change(ctx, by, text, "set limits for user["+user+"]", func(p Policy) error {
		of, err := p.User(user)
		if err != nil {
			return err
		}
		of.Limits = limits
		p.Users[user] = of
		return nil
	})
}

// CreateGroup adds a group mapping. Its roles need not exist yet.
func (r *Roles) CreateGroup(ctx context.Context, by *Author, mapping GroupMapping) error {
	if _, err := parseGroupPattern(mapping.Pattern); err != nil {
		return err
	}
	mapping.Roles = with(mapping.Roles)
	return r.change(ctx, by, "Create groupMapping["+mapping.Name+"]", "create groupMapping["+mapping.Name+"]", func(p Policy) error {
		if _, found := p.Groups[mapping.Name]; found {
			return fault.InvalidInput("Group mapping [%s] already exists.", mapping.Name)
		}
		p.Groups[mapping.Name] = mapping
		return nil
	})
}

// DeleteGroup removes a group mapping.
func (r *Roles) DeleteGroup(ctx context.Context, by *Author, name string) error {
	return r.change(ctx, by, "Delete groupMapping["+name+"]", "delete groupMapping["+name+"]", func(p Policy) error {
		if _, err := p.Group(name); err != nil {
			return err
		}
		delete(p.Groups, name)
		return nil
	})
}

// GrantGroup grants a role to a group mapping.
func (r *Roles) GrantGroup(ctx context.Context, by *Author, name, role string) error {
	what := "role[" + role + "] to groupMapping[" + name + "]"
	return r.change(ctx, by, "Assign "+what, "assign "+what, func(p Policy) error {
		g, err := r.groupAndRole(p, name, role)
		if err != nil {
			return err
		}
		if slices.Contains(g.Roles, role) {
			return fault.InvalidInput("Group mapping [%s] already has role [%s].", name, role)
		}
		g.Roles = with(g.Roles, role)
		p.Groups[name] = g
		return nil
	})
}

// RevokeGroup revokes a role from a group mapping.
func (r *Roles) RevokeGroup(ctx context.Context, by *Author, name, role string) error {
	what := "role[" + role + "] from groupMapping[" + name + "]"
	return r.change(ctx, by, "Unassign "+what, "unassign "+what, func(p Policy) error {
		g, err := r.groupAndRole(p, name, role)
		if err != nil {
			return err
		}
		if !slices.Contains(g.Roles, role) {
			return fault.InvalidInput("Group mapping [%s] does not have role [%s].", name, role)
		}
		g.Roles = without(g.Roles, role)
		p.Groups[name] = g
		return nil
	})
}

func (r *Roles) groupAndRole(p Policy, name, role string) (GroupMapping, error) {
	if _, err := p.Role(role); err != nil {
		return GroupMapping{}, err
	}
	return p.Group(name)
}

// Initial contains the users, roles and mappings that an authorizer has from its first start on.
type Initial struct {
	// Users are the users with their initial roles. An existing user keeps its roles.
	Users map[string][]string
	// Full are the roles with all permissions.
	Full []string
	// Widened are the roles of Full that receive the permissions on new resource types if the roles
	// already exist.
	Widened []string
	// Groups are the group mappings with their initial roles.
	Groups []GroupMapping
}

// Ensure creates the missing initial users, roles and mappings of an authorizer.
func (r *Roles) Ensure(ctx context.Context, o Initial) error {
	for _, g := range o.Groups {
		if _, err := parseGroupPattern(g.Pattern); err != nil {
			return err
		}
	}
	return r.change(ctx, nil, "", "create the initial users of authorizer["+r.name+"]", func(p Policy) error {
		for _, name := range o.Full {
			role, found := p.Roles[name]
			if found && !slices.Contains(o.Widened, name) {
				continue
			}
			role.Name = name
			for _, need := range everything() {
				if !slices.ContainsFunc(role.Permissions, func(p Permission) bool { return p.Need == need && p.Policy == nil }) {
					role.Permissions = append(role.Permissions, Permission{Need: need})
				}
			}
			p.Roles[name] = role
		}
		for name, roles := range o.Users {
			if _, found := p.Users[name]; !found {
				p.Users[name] = Member{Name: name, Roles: with(roles)}
			}
		}
		for _, g := range o.Groups {
			if _, found := p.Groups[g.Name]; !found {
				g.Roles = with(g.Roles)
				p.Groups[g.Name] = g
			}
		}
		return nil
	})
}

// everything are the permissions of a role that may do all.
func everything() []auth.Need {
	var out []auth.Need
	for _, kind := range auth.Kinds {
		out = append(out, auth.Reads(kind, ".*"), auth.Writes(kind, ".*"))
	}
	return out
}

func (r *Roles) change(ctx context.Context, by *Author, text, what string, change func(Policy) error) error {
	var all Policy
	return r.update(ctx, edit{by, text, what, func(stored []json.RawMessage) (err error) {
		all, err = r.decode(stored)
		return err
	}, func() ([]any, error) {
		err := change(all)
		return []any{all.Users, all.Groups, all.Roles}, err
	}})
}

// with returns a sorted list of names, each once, with more names.
func with(names []string, more ...string) []string {
	out := slices.Concat(names, more)
	slices.Sort(out)
	if out = slices.Compact(out); out == nil {
		return []string{}
	}
	return out
}

// without returns a list of names without one.
func without(names []string, name string) []string {
	out := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	if out == nil {
		return []string{}
	}
	return out
}

func noRole(name string) error { return fault.InvalidInput("Role [%s] does not exist.", name) }

func noGroup(name string) error {
	return fault.InvalidInput("Group mapping [%s] does not exist.", name)
}
