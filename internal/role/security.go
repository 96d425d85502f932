package role

import (
	"maps"

	"github.com/hengedb/henge/internal/api/edge"
	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/obs"
)

// builders are those of the parts of security that this process knows, by type.
func (n *Node) builders() auth.Builders {
	b := auth.BuiltIn()
	b.Authenticators["basic"], b.Authorizers["basic"] = n.users.authenticator, n.users.authorizer
	b.Authenticators["keys"], b.Authenticators["oidc"] = n.tokens.keys, n.tokens.oidc
	b.Authenticators["kerberos"], b.Escalators["kerberos"] = n.ticketsOf, n.ticketsFor
	maps.Copy(b.Authenticators, n.o.Security.Authenticators)
	maps.Copy(b.Authorizers, n.o.Security.Authorizers)
	maps.Copy(b.Escalators, n.o.Security.Escalators)
	return b
}

// openSecurity builds what the settings say of who may do what. Without such settings everybody may
// do all, and nothing is built.
func (n *Node) openSecurity() (err error) {
	n.users, n.tokens = newUserbase(n), &tokens{n: n}
	if auth.Configured(n.settings) {
		if n.security, err = auth.Open(n.settings, n.builders()); err != nil {
			return err
		}
		n.security.Pacer = auth.NewPacer(n.o.Clock)
	}
	return nil
}

// gateOf returns what lets requests of a port in; nil: everybody may do all.
func (n *Node) gateOf(errors *edge.Errors) *edge.Gate {
	if n.security == nil {
		return nil
	}
	g := &edge.Gate{
		Security: n.security, Errors: errors, Methods: n.settings.List("service.server.http.allowedHttpMethods"),
	}
	g.Audit, g.Internal = n.audit, n.security.Escalator().Identity().Name
	if n.security.Metrics {
		count := func(metric string) { n.meter.Count(obs.Occurrence{Service: "auth", Metric: metric}, 1) }
		errors.Forbidden = func() { count("auth/forbidden") }
		errors.Unknown = func() { count("auth/exception") }
	}
	return g
}
