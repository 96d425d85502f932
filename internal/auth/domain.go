package auth

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/hengedb/henge/internal/fault"
)

// lookupTime is how long the name of a peer is looked up.
const lookupTime = 2 * time.Second

// trustedDomain knows everybody who comes from some hosts.
type trustedDomain struct {
	id Identity
	// network is set where the domain is a network in CIDR notation, else suffix is.
	network netip.Prefix
	suffix  string
	// forwarded says that the first entry of X-Forwarded-For is believed, which clients can forge.
	forwarded bool
	// names returns the names of an address, and addresses the addresses of a name.
	names, addresses func(ctx context.Context, of string) ([]string, error)
}

func newTrustedDomain(p Part) (Authenticator, error) {
	domain, err := p.Required("domain")
	if err != nil {
		return nil, err
	}
	authorizer, err := p.Required("authorizerName")
	if err != nil {
		return nil, err
	}
	d := &trustedDomain{
		id:     Identity{Name: p.Text("identity"), Authorizer: authorizer, By: p.Name},
		suffix: strings.ToLower(strings.Trim(domain, ".")), forwarded: p.Bool("useForwardedHeaders"),
		names: net.DefaultResolver.LookupAddr, addresses: net.DefaultResolver.LookupHost,
	}
	if strings.Contains(domain, "/") {
		if d.network, err = netip.ParsePrefix(domain); err != nil {
			return nil, fault.InvalidInput("Value [%s] of setting [%sdomain] is not a network in CIDR notation", domain, p.Prefix)
		}
		d.network = d.network.Masked()
	} else if d.suffix == "" {
		return nil, fault.InvalidInput("Value [%s] of setting [%sdomain] is not a domain", domain, p.Prefix)
	}
	return d, nil
}

// Authenticate implements Authenticator.
func (d *trustedDomain) Authenticate(ctx context.Context, r *Request) (*Identity, error) {
	peer := hostOf(r.Peer)
	if d.forwarded {
		if first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-For"), ","); strings.TrimSpace(first) != "" {
			peer = hostOf(strings.TrimSpace(first))
		}
	}
	if !d.trusts(ctx, peer) {
		return nil, nil
	}
	return &d.id, nil
}

// Challenge implements Authenticator.
func (*trustedDomain) Challenge() string { return "" }

// hostOf returns a peer without its port and brackets.
func hostOf(peer string) string {
	if host, _, err := net.SplitHostPort(peer); err == nil {
		peer = host
	}
	return strings.Trim(peer, "[]")
}

// trusts tells whether a host is in the network, or an address or a name of it ends with the domain
// at the boundary of a label. An address is looked up only if the domain isn't made of numbers; a
// name counts only if it leads back to the address.
func (d *trustedDomain) trusts(ctx context.Context, host string) bool {
	address, err := netip.ParseAddr(host)
	isAddress := err == nil
	if d.network.IsValid() {
		return isAddress && d.network.Contains(address.Unmap().WithZone(""))
	}
	if isAddress {
		host = address.Unmap().WithZone("").String()
	}
	if under(host, d.suffix) {
		return true
	}
	if !isAddress || !strings.ContainsFunc(d.suffix, func(r rune) bool { return r >= 'g' && r <= 'z' }) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	names, err := d.names(ctx, host)
	if err != nil {
		return false
	}
	for _, name := range names {
		if !under(strings.TrimSuffix(name, "."), d.suffix) {
			continue
		}
		if addresses, err := d.addresses(ctx, name); err == nil && slices.Contains(addresses, host) {
			return true
		}
	}
	return false
}

// under tells whether a name is a domain or ends with it.
func under(name, domain string) bool {
	rest, ok := strings.CutSuffix(strings.ToLower(name), domain)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}
