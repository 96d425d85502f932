package auth

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/fault"
)

// Grant is the decision on one need.
type Grant struct {
	Allowed bool
	// Rules are the row and column rules that restrict the grant, one for each permission that grants
	// it; the rule of an unrestricted permission is nil. Without rules, the whole resource is visible.
	Rules []*Rule
}

// Authorizer makes decisions for the identities that name it. It is safe for concurrent use.
type Authorizer interface {
	// Decide decides on one need. An error means that a decision is not possible, for example because
	// the roles are not loaded yet; the request is then rejected.
	Decide(ctx context.Context, id *Identity, need Need) (Grant, error)
}

// Access is the access of one request. It is safe for concurrent use. The zero Access has no
// permissions.
type Access struct {
	id      *Identity
	by      Authorizer
	o       *Options // nil: those of a process without security
	decided atomic.Bool
}

// NewAccess returns the access of an identity for one request.
func NewAccess(id *Identity, by Authorizer) *Access { return &Access{id: id, by: by} }

// Unlimited returns an access with all permissions, for internal actions of the process and for
// processes without security.
func Unlimited(name string) *Access {
	return NewAccess(&Identity{Name: name, Authorizer: AllowAll, By: AllowAll}, Everything{})
}

// Identity returns the identity of the request; nil: there is none.
func (a *Access) Identity() *Identity {
	if a == nil {
		return nil
	}
	return a.id
}

// Check returns nil if all needs are granted for whole resources, otherwise a Forbidden fault or
// the error of an impossible decision. A grant restricted by rules is not sufficient.
func (a *Access) Check(ctx context.Context, needs ...Need) error { return a.check(ctx, false, needs) }

// CheckStatement is like Check, for SQL and native queries, whose planner applies row and column
// rules. All needs of a statement are checked in one call.
func (a *Access) CheckStatement(ctx context.Context, needs ...Need) error {
	return a.check(ctx, true, needs)
}

func (a *Access) check(ctx context.Context, limited bool, needs []Need) error {
	if a == nil || a.by == nil {
		return Refused("nobody")
	}
	a.decided.Store(true)
	for _, n := range needs {
		g, err := a.by.Decide(ctx, a.id, n)
		if err != nil {
			return err
		}
		switch {
		case !g.Allowed:
			return Refused(n.String())
		case !limited && g.Limited():
			return Refused(n.String() + " without rules")
		}
	}
	return nil
}

// Roles returns the names of the roles of the identity, if the authorizer knows them.
func (a *Access) Roles() []string {
	if a == nil || a.id == nil {
		return nil
	}
	if by, ok := a.by.(interface{ Roles(*Identity) []string }); ok {
		return by.Roles(a.id)
	}
	return a.id.Roles
}

// refusal is the private cause of a fault: what was missing, for the log.
type refusal struct{ missing string }

// Error returns the message.
func (r refusal) Error() string { return "missing " + r.missing }

// Refused returns the fault of a missing permission. It does not tell the client which permission
// is missing, because the API has one message for all.
func Refused(missing string) error {
	return fault.Forbidden("Unauthorized").WithCause(refusal{missing})
}

// IsRefusal reports whether an error means that a permission is missing. A request can be forbidden
// for other reasons as well.
func IsRefusal(err error) bool {
	_, ok := errors.AsType[refusal](err)
	return ok
}

// Again returns the same access without its decisions, for the handler of a forwarded request.
func (a *Access) Again() *Access { return &Access{id: a.id, by: a.by, o: a.o} }

// For returns the access of a user of the same authorizer, without the groups and tokens of the
// user. The decision depends only on what is stored for the user.
func (a *Access) For(user string) *Access { return a.As(Identity{Name: user}) }

// As returns the access of another identity with the same authorizer.
func (a *Access) As(id Identity) *Access {
	id.Authorizer, id.By = a.id.Authorizer, a.id.By
	return &Access{id: &id, by: a.by, o: a.o}
}

// Options returns the security settings.
func (a *Access) Options() Options {
	if a == nil || a.o == nil {
		return Options{}
	}
	return *a.o
}

// Name returns the name of the identity; "": there is none.
func (a *Access) Name() string {
	if id := a.Identity(); id != nil {
		return id.Name
	}
	return ""
}

// Known reports whether a chain of authenticators identified the user.
func (a *Access) Known() bool { return a != nil && a.o != nil }

// Limited reports whether security is configured, so that requests can be rejected.
func (a *Access) Limited() bool {
	if a == nil {
		return true
	}
	_, all := a.by.(Everything)
	return !all
}

// May reports whether a need is granted, possibly restricted by rules. It filters lists. An
// impossible decision counts as not granted.
func (a *Access) May(ctx context.Context, need Need) bool {
	g, err := a.Grant(ctx, need)
	return err == nil && g.Allowed
}

// MayAll is like May, but requires access to the whole resource.
func (a *Access) MayAll(ctx context.Context, need Need) bool {
	g, err := a.Grant(ctx, need)
	return err == nil && g.Allowed && !g.Limited()
}

// Grant returns the decision on a need, with its row and column rules.
func (a *Access) Grant(ctx context.Context, need Need) (Grant, error) {
	if a == nil || a.by == nil {
		return Grant{}, nil
	}
	a.decided.Store(true)
	return a.by.Decide(ctx, a.id, need)
}

// Pass records that a request needs only an identity.
func (a *Access) Pass() {
	if a != nil {
		a.decided.Store(true)
	}
}

// Decided reports whether any decision was made. A response without a decision is a bug.
func (a *Access) Decided() bool { return a != nil && a.decided.Load() }

// AllowAll is the name of the default authenticator and the default authorizer.
const AllowAll = "allowAll"

// Everything grants every need.
type Everything struct{}

// Decide implements Authorizer.
func (Everything) Decide(context.Context, *Identity, Need) (Grant, error) {
	return Grant{Allowed: true}, nil
}

// ReadOnly grants read access to every resource, and no write access.
type ReadOnly struct{}

// Decide implements Authorizer.
func (ReadOnly) Decide(_ context.Context, _ *Identity, need Need) (Grant, error) {
	return Grant{Allowed: need.Action == Read}, nil
}

type accessKey struct{}

// With returns ctx with the access of its request.
func With(ctx context.Context, a *Access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// Find returns the access of the request of ctx; nil: there is none.
func Find(ctx context.Context) *Access {
	a, _ := ctx.Value(accessKey{}).(*Access)
	return a
}

// Of returns the access of the request of ctx, or an access without permissions if there is none.
// Handlers call it once at the beginning and pass the access on explicitly.
func Of(ctx context.Context) *Access {
	if a, ok := ctx.Value(accessKey{}).(*Access); ok {
		return a
	}
	return &Access{}
}

// MayRead reports whether the user may read a datasource.
func (a *Access) MayRead(ctx context.Context, dataSource string) bool {
	return a.May(ctx, Reads(Datasource, dataSource))
}

// Readable returns the items of a list whose datasources the user may read. An empty list counts as
// a decision, too. The list must not be used afterwards.
func Readable[T any](ctx context.Context, a *Access, list []T, dataSource func(T) string) []T {
	a.Pass()
	known := map[string]bool{}
	return slices.DeleteFunc(list, func(item T) bool {
		name := dataSource(item)
		yes, asked := known[name]
		if !asked {
			yes = a.MayRead(ctx, name)
			known[name] = yes
		}
		return !yes
	})
}

// ReadableNames is like Readable, for names of datasources.
func ReadableNames(ctx context.Context, a *Access, names []string) []string {
	return Readable(ctx, a, names, func(name string) string { return name })
}
