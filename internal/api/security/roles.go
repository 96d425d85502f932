package security

import (
	"context"
	"net/http"
	"strings"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/fault"
	"github.com/hengedb/henge/internal/jsontext"
)

// simplePermission is the inner part of a permission.
type simplePermission struct {
	Resource auth.Resource `json:"resource"`
	Action   auth.Action   `json:"action"`
	Policy   *auth.Rule    `json:"policy,omitempty"`
}

// simpleRole is a role with simple permissions. Users is null where nobody asked for them.
type simpleRole struct {
	Name        string             `json:"name"`
	Users       []string           `json:"users"`
	Permissions []simplePermission `json:"permissions"`
	Limits      auth.Limits        `json:"limits,omitempty"`
}

func simplified(role basic.Role, users []string) simpleRole {
	out := simpleRole{Name: role.Name, Users: users, Permissions: []simplePermission{}, Limits: role.Limits}
	for _, p := range role.Permissions {
		out.Permissions = append(out.Permissions, simplePermission{p.Resource, p.Action, p.Policy})
	}
	return out
}

// has reports whether a presence flag was given, whatever its value.
func has(r *http.Request, flag string) bool { return r.URL.Query().Has(flag) }

// cut divides a pattern in method and path.
func cut(pattern string) (method, path string, found bool) { return strings.Cut(pattern, " ") }

// onNamed adds a route below base for the part of a kind that the path names.
func onNamed[T any](
	a *API, mux *edge.Mux, base, kind string, parts map[string]T, pattern string, h func(w http.ResponseWriter, r *http.Request, of T) error,
) {
	method, path, _ := cut(pattern)
	a.on(mux, strings.TrimSpace(method+" "+base+"/db/{name}"+path), func(w http.ResponseWriter, r *http.Request) error {
		of, found := parts[r.PathValue("name")]
		if !found {
			return fault.InvalidInput("Basic %s with name [%s] does not exist.", kind, r.PathValue("name"))
		}
		return h(w, r, of)
	})
}

type rolesHandler func(w http.ResponseWriter, r *http.Request, of Authorizer) error

// roleRoutes adds the endpoints of authorizers.
func (a *API) roleRoutes(mux *edge.Mux) {
	on := func(pattern string, h rolesHandler) {
		onNamed(a, mux, roles, "authorizer", a.o.Authorizers, pattern, h)
	}
	a.shownRoles(on)
	a.changedRoles(on)
	for i, path := range []string{"/cachedSerializedUserMap", "/cachedSerializedGroupMappingMap"} {
		on("GET "+path, func(w http.ResponseWriter, r *http.Request, of Authorizer) error {
			return loaded(w, r, of.Parts[i], nil)
		})
	}
	on(" /{rest...}", func(w http.ResponseWriter, _ *http.Request, _ Authorizer) error {
		w.WriteHeader(http.StatusNotFound)
		return nil
	})
}

// shownRoles adds what reads the store.
func (a *API) shownRoles(on func(string, rolesHandler)) {
	show := func(pattern string, of func(r *http.Request, p basic.Policy) (any, error)) {
		on("GET "+pattern, func(w http.ResponseWriter, r *http.Request, z Authorizer) error {
			p, err := z.Roles.All(r.Context())
			if err != nil {
				return err
			}
			v, err := of(r, p)
			return answer(w, v, err)
		})
	}
	show("/users", func(_ *http.Request, p basic.Policy) (any, error) { return basic.Names(p.Users), nil })
	show("/roles", func(_ *http.Request, p basic.Policy) (any, error) { return basic.Names(p.Roles), nil })
	show("/groupMappings", func(_ *http.Request, p basic.Policy) (any, error) { return basic.Names(p.Groups), nil })
	show("/users/{user}", showUser)
	show("/roles/{role}", showRole)
	show("/roles/{role}/permissions", func(r *http.Request, p basic.Policy) (any, error) {
		role, err := p.Role(r.PathValue("role"))
		return role.Permissions, err
	})
	show("/roles/{role}/limits", func(r *http.Request, p basic.Policy) (any, error) {
		role, err := p.Role(r.PathValue("role"))
		return shownLimits(role.Limits), err
	})
	show("/users/{user}/limits", func(r *http.Request, p basic.Policy) (any, error) {
		u, err := p.User(r.PathValue("user"))
		return shownLimits(u.Limits), err
	})
	show("/groupMappings/{group}", func(r *http.Request, p basic.Policy) (any, error) {
		g, err := p.Group(r.PathValue("group"))
		if err != nil || !has(r, "full") {
			return g, err
		}
		return struct {
			Name    string       `json:"name"`
			Pattern string       `json:"groupPattern"`
			Roles   []basic.Role `json:"roles"`
		}{g.Name, g.Pattern, p.Named(g.Roles)}, nil
	})
}

func showUser(r *http.Request, p basic.Policy) (any, error) {
	u, err := p.User(r.PathValue("user"))
	if err != nil || !has(r, "full") {
		return u, err
	}
	type full struct {
		Name   string      `json:"name"`
		Roles  any         `json:"roles"`
		Limits auth.Limits `json:"limits,omitempty"`
	}
	named := p.Named(u.Roles)
	if !has(r, "simplifyPermissions") {
		return full{u.Name, named, u.Limits}, nil
	}
	simple := []simpleRole{}
	for _, role := range named {
		simple = append(simple, simplified(role, nil))
	}
	return full{u.Name, simple, u.Limits}, nil
}

func showRole(r *http.Request, p basic.Policy) (any, error) {
	role, err := p.Role(r.PathValue("role"))
	if err != nil {
		return nil, err
	}
	having, groups := p.Having(role.Name)
	switch full, simple := has(r, "full"), has(r, "simplifyPermissions"); {
	case full && simple:
		return simplified(role, having), nil
	case simple:
		return simplified(role, nil), nil
	case full:
		return struct {
			Name        string             `json:"name"`
			Users       []string           `json:"users"`
			Groups      []string           `json:"groups"`
			Permissions []basic.Permission `json:"permissions"`
			Limits      auth.Limits        `json:"limits,omitempty"`
		}{role.Name, having, groups, role.Permissions, role.Limits}, nil
	}
	return role, nil
}

// changedRoles adds what writes the store.
func (a *API) changedRoles(on func(string, rolesHandler)) {
	change := func(pattern string, do func(r *http.Request, of *basic.Roles) error) {
		on(pattern, func(w http.ResponseWriter, r *http.Request, z Authorizer) error {
			if err := do(r, z.Roles); err != nil {
				return err
			}
			return a.done(w, r, z.Parts)
		})
	}
	change("POST /users/{user}", func(r *http.Request, of *basic.Roles) error {
		return of.CreateUser(r.Context(), author(r), r.PathValue("user"))
	})
	change("DELETE /users/{user}", func(r *http.Request, of *basic.Roles) error {
		if err := a.keepInternal(r.PathValue("user")); err != nil {
			return err
		}
		return of.DeleteUser(r.Context(), author(r), r.PathValue("user"))
	})
	change("POST /roles/{role}", func(r *http.Request, of *basic.Roles) error {
		return of.CreateRole(r.Context(), author(r), r.PathValue("role"))
	})
	change("DELETE /roles/{role}", func(r *http.Request, of *basic.Roles) error {
		return of.DeleteRole(r.Context(), author(r), r.PathValue("role"))
	})
	change("POST /users/{user}/roles/{role}", func(r *http.Request, of *basic.Roles) error {
		return of.Grant(r.Context(), author(r), r.PathValue("user"), r.PathValue("role"))
	})
	change("DELETE /users/{user}/roles/{role}", func(r *http.Request, of *basic.Roles) error {
		return of.Revoke(r.Context(), author(r), r.PathValue("user"), r.PathValue("role"))
	})
	change("DELETE /groupMappings/{group}", func(r *http.Request, of *basic.Roles) error {
		return of.DeleteGroup(r.Context(), author(r), r.PathValue("group"))
	})
	change("POST /groupMappings/{group}/roles/{role}", func(r *http.Request, of *basic.Roles) error {
		return of.GrantGroup(r.Context(), author(r), r.PathValue("group"), r.PathValue("role"))
	})
	change("DELETE /groupMappings/{group}/roles/{role}", func(r *http.Request, of *basic.Roles) error {
		return of.RevokeGroup(r.Context(), author(r), r.PathValue("group"), r.PathValue("role"))
	})
	on("POST /roles/{role}/permissions", a.setPermissions)
	on("POST /roles/{role}/limits", a.setLimits("role", (*basic.Roles).SetRoleLimits))
	on("POST /users/{user}/limits", a.setLimits("user", (*basic.Roles).SetUserLimits))
	on("POST /groupMappings/{group}", a.createGroup)
}

func (a *API) setPermissions(w http.ResponseWriter, r *http.Request, of Authorizer) error {
	text, answered, err := a.body(w, r)
	if err != nil || answered {
		return err
	}
	role := r.PathValue("role")
	if text == nil {
		return fault.InvalidInput("The request has no permissions; [] clears those of role [%s].", role)
	}
	permissions, err := basic.ParsePermissions(text)
	if err != nil {
		return err
	}
	if err := of.Roles.SetPermissions(r.Context(), author(r), role, permissions); err != nil {
		return err
	}
	return a.done(w, r, of.Parts)
}

// shownLimits are limits as an object: none are {}.
func shownLimits(l auth.Limits) auth.Limits {
	if l == nil {
		return auth.Limits{}
	}
	return l
}

// setLimits replaces the limits of a user or a role, whose name is a part of the path.
func (a *API) setLimits(part string, set func(*basic.Roles, context.Context, *basic.Author, string, auth.Limits) error) rolesHandler {
	return func(w http.ResponseWriter, r *http.Request, of Authorizer) error {
		text, answered, err := a.body(w, r)
		if err != nil || answered {
			return err
		}
		name := r.PathValue(part)
		if text == nil {
			return fault.InvalidInput("The request has no limits; {} clears those of %s [%s].", part, name)
		}
		limits, err := auth.ParseLimits(text)
		if err != nil {
			return err
		}
		if err := set(of.Roles, r.Context(), author(r), name, limits); err != nil {
			return err
		}
		return a.done(w, r, of.Parts)
	}
}

func (a *API) createGroup(w http.ResponseWriter, r *http.Request, of Authorizer) error {
	text, answered, err := a.body(w, r)
	if err != nil || answered {
		return err
	}
	var body struct {
		Pattern *string  `json:"groupPattern"`
		Roles   []string `json:"roles"`
	}
	if text != nil {
		if err := jsontext.Unmarshal(text, &body); err != nil {
			return fault.InvalidInput("The group mapping can't be read: %s", fault.JSONProblem(err))
		}
	}
	name := r.PathValue("group")
	if body.Pattern == nil {
		return fault.InvalidInput("Group mapping [%s] has no [groupPattern].", name)
	}
	mapping := basic.GroupMapping{Name: name, Pattern: *body.Pattern, Roles: body.Roles}
	if err := of.Roles.CreateGroup(r.Context(), author(r), mapping); err != nil {
		return err
	}
	return a.done(w, r, of.Parts)
}
