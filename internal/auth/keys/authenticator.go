package keys

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/hengedb/henge/internal/auth"
	"github.com/hengedb/henge/internal/auth/basic"
	"github.com/hengedb/henge/internal/fault"
)

// Authenticator authenticates requests by API keys. It is safe for concurrent use.
type Authenticator struct {
	name, authorizer string
	ring             *Ring
	proxies          []netip.Prefix
}

// New builds an authenticator of type keys.
func New(p auth.Part, ring *Ring) (*Authenticator, error) {
	authorizer, err := p.Required("authorizerName")
	if err != nil {
		return nil, err
	}
	a := &Authenticator{name: p.Name, authorizer: authorizer, ring: ring}
	if a.proxies, err = parseNetworks(p.Settings.List(p.Prefix + "trustedProxies")); err != nil {
		return nil, fault.InvalidInput("Setting [%strustedProxies] can't be read: %s", p.Prefix, fault.Classify(err).Message)
	}
	return a, nil
}

// Authenticate implements auth.Authenticator. A bearer token or password that does not have the
// form of a key is passed on to the next authenticator. The response is the same for all kinds of
// invalid keys.
func (a *Authenticator) Authenticate(_ context.Context, r *auth.Request) (*auth.Identity, error) {
	id, secret, ok := keyOf(r.Header)
	if !ok {
		return nil, nil //nolint:nilnil // the next authenticator is asked
	}
	if !a.ring.loaded() {
		return nil, fault.Unavailable("The API keys are not loaded yet; try again in a moment")
	}
	k := a.ring.find(id, secret, a.peer(r))
	if k == nil {
		return nil, fault.Unauthorized("The API key is not valid.")
	}
	return &auth.Identity{Name: k.name(), Authorizer: a.authorizer, By: a.name, Roles: slices.Clone(k.Roles)}, nil
}

// Challenge implements auth.Authenticator.
func (*Authenticator) Challenge() string { return "Bearer" }

// keyOf finds a key as a bearer token, or as the password of any user: clients that know nothing
// but users and passwords have no other place for it.
func keyOf(h http.Header) (id, secret string, ok bool) {
	header := h.Get("Authorization")
	if scheme, token, found := strings.Cut(header, " "); found && strings.EqualFold(scheme, "Bearer") {
		return parse(strings.TrimSpace(token))
	}
	if _, password, outcome := basic.ParseHeader(header); outcome == basic.Right {
		return parse(password)
	}
	return "", "", false
}

// peer returns the address that a request comes from. Proxies that are trusted say for whom they
// pass it on: of those the last one that is no such proxy counts, since all before it can be
// forged.
func (a *Authenticator) peer(r *auth.Request) netip.Addr {
	peer := addressOf(r.Peer)
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(forwarded) - 1; i >= 0 && a.trusts(peer) && strings.TrimSpace(forwarded[i]) != ""; i-- {
		peer = addressOf(strings.TrimSpace(forwarded[i]))
	}
	return peer
}

func (a *Authenticator) trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(a.proxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// addressOf returns the address of a peer with or without a port; what is none is in no network.
func addressOf(peer string) netip.Addr {
	if host, _, err := net.SplitHostPort(peer); err == nil {
		peer = host
	}
	a, err := netip.ParseAddr(strings.Trim(peer, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}
