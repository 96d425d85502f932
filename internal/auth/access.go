package auth

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/hengedb/henge/internal/fault"
)

// Grant is the answer to one need.
type Grant struct {
	Allowed bool
	// Rules are the rules on rows and columns under which it is allowed, one of each permission that
	// grants it; that of a permission without a rule is nil. No rules: all is shown.
	Rules []*Rule
}

// Authorizer decides for the identities that name it. It is safe for concurrent use.
type Authorizer interface {
	// Decide answers one need. An error says that no decision can be made, as while the roles are not
	// loaded yet; the request is then refused.
	Decide(ctx context.Context, id *Identity, need Need) (Grant, error)
}

// Access is what one request may do. It is safe for concurrent use. The zero Access may do nothing.
type Access struct {
	id      *Identity
	by      Authorizer
	o       *Options // nil: those of a process without security
	decided atomic.Bool
}

// NewAccess returns the access of an identity for one request.
func NewAccess(id *Identity, by Authorizer) *Access { return &Access{id: id, by: by} }

// Unlimited returns an access that may do all, for what the process does by itself and where no
// security is configured.
func Unlimited(name string) *Access {
	return NewAccess(&Identity{Name: name, Authorizer: AllowAll, By: AllowAll}, Everything{})
}

// Identity returns whose access it is; nil: nobody's.
func (a *Access) Identity() *Identity {
	if a == nil {
		return nil
	}
	return a.id
}

// Check returns nil if all needs are granted for whole resources, else a Forbidden fault, or the
// error of a decision that can't be made. A grant that rules limit is not enough.
func (a *Access) Check(ctx context.Context, needs ...Need) error { return a.check(ctx, false, needs) }

// CheckStatement is Check for what a planner reads by the rules of its reader: SQL and native
// queries. All needs of a statement are checked in one call.
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

// Roles returns the names of the roles of the identity, where the authorizer knows any.
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

// Refused is the fault of a permission that is missing. The client is not told which: the
// interface's word for all of them is one.
func Refused(missing string) error {
	return fault.Forbidden("Unauthorized").WithCause(refusal{missing})
}

// IsRefusal tells whether an error says that a permission is missing. A request can be forbidden
// for other reasons, too.
func IsRefusal(err error) bool {
	_, ok := errors.AsType[refusal](err)
	return ok
}

// Again returns the same access before any decision, for a handler that others have passed a
// request on to.
func (a *Access) Again() *Access { return &Access{id: a.id, by: a.by, o: a.o} }

// For returns the access of a user of the same authorizer, as far as it is known without the user's
// groups and tokens: what is kept of the user decides.
func (a *Access) For(user string) *Access {
	return &Access{id: &Identity{Name: user, Authorizer: a.id.Authorizer, By: a.id.By}, by: a.by, o: a.o}
}

// Options returns the settings of security.
func (a *Access) Options() Options {
	if a == nil || a.o == nil {
		return Options{}
	}
	return *a.o
}

// Name returns the name of the identity; "": nobody's.
func (a *Access) Name() string {
	if id := a.Identity(); id != nil {
		return id.Name
	}
	return ""
}

// Known tells whether a chain of authenticators has found the identity out.
func (a *Access) Known() bool { return a != nil && a.o != nil }

// Limited tells whether security is configured, so that there is something to refuse.
func (a *Access) Limited() bool {
	if a == nil {
		return true
	}
	_, all := a.by.(Everything)
	return !all
}

// May tells whether a need is granted, if only for a part that rules show, for lists that leave out
// what is not. A decision that can't be made is a no.
func (a *Access) May(ctx context.Context, need Need) bool {
	g, err := a.Grant(ctx, need)
	return err == nil && g.Allowed
}

// MayAll is May for what tells of the whole resource.
func (a *Access) MayAll(ctx context.Context, need Need) bool {
	g, err := a.Grant(ctx, need)
	return err == nil && g.Allowed && !g.Limited()
}

// Grant returns the answer to a need, with its rules on rows and columns.
func (a *Access) Grant(ctx context.Context, need Need) (Grant, error) {
	if a == nil || a.by == nil {
		return Grant{}, nil
	}
	a.decided.Store(true)
	return a.by.Decide(ctx, a.id, need)
}

// Pass notes that a request needs nothing but an identity.
func (a *Access) Pass() {
	if a != nil {
		a.decided.Store(true)
	}
}

// Decided tells whether anything was asked. An answer without a decision is a mistake in the code.
func (a *Access) Decided() bool { return a != nil && a.decided.Load() }

// AllowAll is the name of the authenticator and the authorizer that are there when nothing is
// configured.
const AllowAll = "allowAll"

// Everything grants every need.
type Everything struct{}

// Decide implements Authorizer.
func (Everything) Decide(context.Context, *Identity, Need) (Grant, error) {
	return Grant{Allowed: true}, nil
}

// ReadOnly grants reading of every resource, and no writing.
type ReadOnly struct{}

// Decide implements Authorizer.
func (ReadOnly) Decide(_ context.Context, _ *Identity, need Need) (Grant, error) {
	return Grant{Allowed: need.Action == Read}, nil
}

type accessKey struct{}

// With returns a context of a request with its access.
func With(ctx context.Context, a *Access) context.Context {
	return context.WithValue(ctx, accessKey{}, a)
}

// Find returns the access of the request that ctx belongs to; nil: there is none.
func Find(ctx context.Context) *Access {
	a, _ := ctx.Value(accessKey{}).(*Access)
	return a
}

// Of returns the access of the request that ctx belongs to; an access that may do nothing if there
// is none. Handlers read it once at the door and pass it on by name.
func Of(ctx context.Context) *Access {
	if a, ok := ctx.Value(accessKey{}).(*Access); ok {
		return a
	}
	return &Access{}
}

// MayRead tells whether a datasource may be read.
func (a *Access) MayRead(ctx context.Context, dataSource string) bool {
	return a.May(ctx, Reads(Datasource, dataSource))
}

// Readable returns the items of a list that are of datasources that may be read. An empty list is a
// decision, too. The list is not used afterwards.
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

// ReadableNames is Readable of names of datasources.
func ReadableNames(ctx context.Context, a *Access, names []string) []string {
	return Readable(ctx, a, names, func(name string) string { return name })
}
